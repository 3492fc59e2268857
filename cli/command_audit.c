/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone audit: lists who asked for what. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/call.h"
#include "cli/command.h"

/* Parses a duration before now: "90s", "10min", "2h", "3d". *ret in seconds since 1970. */
static bool
ago(const char *s, double now_s, double *ret)
{
	static const struct {
		const char *unit;
		double s;
	} units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *end;
	double n = strtod(s, &end);

	for (size_t i = 0; end != s && i < sizeof units / sizeof units[0]; i++)
		if (strcmp(end, units[i].unit) == 0 && isfinite(n) && n >= 0) {
			*ret = now_s - n * units[i].s;
			return true;
		}
	return false;
}

/* Parses a date, or date and time, in local time, or with a final Z in UTC. *ret in seconds since
 * 1970. */
static bool
date(const char *s, double *ret)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
		"%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(s, forms[i], &tm);

		if (end == NULL || (strcmp(end, "") != 0 && strcmp(end, "Z") != 0))
			continue;
		*ret = (double)(*end == 'Z' ? timegm(&tm) : mktime(&tm));
		return true;
	}
	return false;
}

static enum exit_code
run_audit(struct invocation *c)
{
	const char *since = c->value[FLAG_SINCE];
	json_t *question = json_pack(
	    "{s:s, s:I}", "ask", "audit", "limit", (json_int_t)c->number[FLAG_LIMIT]);
	double since_s = 0;

	if (since != NULL && !ago(since, (double)time(NULL), &since_s) && !date(since, &since_s)) {
		json_decref(question);
		return call_misused(c, pen_printf(c->err, "--since %s", since),
		    "must be 90s, 10min, 2h or 3d (ago), or 2026-11-21 or 2026-11-21T14:30", NULL);
	}
	if (question != NULL && since != NULL)
		json_object_set_new(question, "since", json_real(since_s));
	return call_ask_and_print(c, question, c->output->audit);
}

const struct command command_audit = {
	.name = "audit",
	.arguments = "",
	.arguments_min = 0,
	.arguments_max = 0,
	.flags = FLAGS_ASK | FLAG_BIT(SINCE) | FLAG_BIT(LIMIT),
	.run = run_audit,
	.help = "list who asked for what, newest first",
	.more =
	    "Lists all requests of operators that change something, with their result; requests that were\n"
	    "refused; and what Hone disabled by itself.",
};
