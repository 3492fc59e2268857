/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone check: whether the instrumentation is right, by what honed observes for some seconds, or by trace
 * files. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/call.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/file_analysis.h"
#include "cli/file_check.h"
#include "cli/progress.h"

enum { POLL_MS = 250, SECONDS_MAX = 120 };

#define FLAGS_FILES \
	(FLAG_BIT(FORMAT) | FLAG_BIT(CORRELATE) | FLAG_BIT(MAP) | FLAG_BIT(TYPE) | FLAG_BIT(MEMORY))

/* Waits while honed observes requests. */
static void
observe(struct invocation *c, double seconds)
{
	struct mono begun = clock_mono();
	struct progress g;
	double left;

	progress_open(&g, c->err);
	while ((left = seconds - (double)mono_since_ns(clock_mono(), begun) / 1e9) > 0) {
		progress_show(&g, 1 - left / seconds, "observing requests",
		    pen_printf(c->err, "%s left", pen_seconds(c->err, ceil(left))));
		arena_reset(&c->err->texts);
		nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
	}
	progress_close(&g);
}

/* 0: right. 1: mistakes, or nothing was observed. */
static enum exit_code
code_of(const json_t *answer)
{
	bool seen = json_array_size(json_object_get(answer, "requests")) > 0;

	return seen && json_array_size(json_object_get(answer, "mistakes")) == 0 ? DONE : FAILED;
}

static enum exit_code
print_answer(struct invocation *c, json_t *answer)
{
	enum exit_code code = code_of(answer);

	(c->value[FLAG_JSON] != NULL ? output_json.status : check_print)(c->out, answer);
	json_decref(answer);
	return code;
}

/* MISUSED after an error if one of the flags was given. */
static enum exit_code
refuse_flags(struct invocation *c, uint64_t flags, const char *why)
{
	for (int f = 0; f < FLAGS; f++)
		if ((flags >> f & 1) != 0 && c->value[f] != NULL)
			return call_misused(c, flag_texts[f].name, why, NULL);
	return DONE;
}

static enum exit_code
check_files(struct invocation *c)
{
	enum exit_code code = refuse_flags(
	    c, FLAG_BIT(SECONDS), "is for live requests, and the argument is a file");
	json_t *answer = NULL;
	struct err e;

	if (code != DONE || (code = analysis_check(c)) != DONE)
		return code;
	if (file_check(c, c->arguments, c->narguments, &answer, &e) != 0)
		return call_failed(c, &e);
	return print_answer(c, answer);
}

static enum exit_code
check_live(struct invocation *c)
{
	double seconds = c->number[FLAG_SECONDS];
	json_t *answer = NULL;
	struct err e;

	if (refuse_flags(c, FLAGS_FILES, "is for trace files, and no argument is one") != DONE)
		return MISUSED;
	if (c->narguments > 1)
		return call_misused(c, c->arguments[1],
		    "give one request type, or files; the first argument is no file", NULL);
	if (seconds > SECONDS_MAX)
		return call_misused(c, "--seconds", "must be from 1 to 120", NULL);
	/* an error that waiting would not mend is told at once */
	if (call_ask_once(c,
		json_pack("{s:s, s:s*, s:f}", "ask", "check", "type", c->type, "seconds", seconds),
		&answer, &e) < 0)
		return call_failed(c, &e);
	json_decref(answer);
	observe(c, seconds);
	if (call_ask_once(c,
		json_pack("{s:s, s:s*, s:f}", "ask", "check", "type", c->type, "seconds", seconds),
		&answer, &e) < 0)
		return call_failed(c, &e);
	return print_answer(c, answer);
}

static enum exit_code
run_check(struct invocation *c)
{
	return c->type != NULL && is_trace_file(c->type) ? check_files(c) : check_live(c);
}

const struct command command_check = {
	.name = "check",
	.arguments = "[TYPE | FILE...]",
	.arguments_min = 0,
	.arguments_max = INT_MAX,
	.flags = FLAGS_ASK | FLAG_BIT(SECONDS) | FLAGS_FILES,
	.run = run_check,
	.help = "check whether the instrumentation is right",
	.more =
	    "Observes requests for some seconds under load: do all forks, units and requests pair, do all\n"
	    "carriers arrive, is all that is waited for joined. With files, or - for standard input, the same\n"
	    "of the requests in them; needs no controller. The exit status is 1 if there are mistakes, or no\n"
	    "request came.",
};
