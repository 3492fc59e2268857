/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone capture: whole traces of the slowest requests, with all tracepoints, after the fact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/call.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/progress.h"

enum { POLL_MS = 300, SECONDS = 60, COUNT_MOST = 100 };

static bool
read_number(const char *s, double min, double max, double *ret)
{
	char *end;

	*ret = strtod(s, &end);
	return end != s && *end == '\0' && *ret >= min && *ret <= max;
}

/* The question that begins it; NULL after an error. */
static json_t *
question_of(struct invocation *c, const char *type)
{
	const char *over = c->value[FLAG_OVER], *count = c->value[FLAG_COUNT];
	bool quantile = over[0] == 'p';
	double limit, n = 1;

	if (quantile ? !read_number(over + 1, 50, 99.99, &limit)
		     : !read_number(over, 0.001, 86400000, &limit)) {
		call_misused(c, pen_printf(c->err, "--over %s", over),
		    "must be a quantile from p50 to p99.99, or a number of milliseconds", NULL);
		return NULL;
	}
	if (count != NULL && (!read_number(count, 1, COUNT_MOST, &n) || n != floor(n))) {
		call_misused(c, pen_printf(c->err, "--count %s", count),
		    "must be a whole number from 1 to 100", NULL);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:f, s:I, s:f}", "ask", "capture", "type", type,
	    quantile ? "quantile" : "over_ms", quantile ? limit / 100 : limit, "count",
	    (json_int_t)n, "seconds",
	    c->value[FLAG_SECONDS] != NULL ? c->number[FLAG_SECONDS] : SECONDS);
}

static bool
has_ended(const json_t *capture)
{
	const char *state = json_string_value(json_object_get(capture, "state"));

	return state == NULL || (strcmp(state, "preparing") != 0 && strcmp(state, "active") != 0);
}

static void
show(struct invocation *c, struct progress *g, const json_t *k)
{
	double count = number_of(k, "count");

	progress_show(g, count > 0 ? number_of(k, "whole") / count : 0,
	    capture_state_text(c->err, k),
	    pen_printf(c->err, "%.0f of %.0f captured, %s requests, %s left", number_of(k, "whole"),
		count, pen_count(c->err, number_of(k, "seen")),
		pen_seconds(c->err, ceil(number_of(k, "left_s")))));
	arena_reset(&c->err->texts);
}

/* Waits for its end. */
static int
wait_for(struct invocation *c, json_int_t id, struct err *e)
{
	struct progress g;
	bool ended = false;
	int rc = 0;

	progress_open(&g, c->err);
	while (!ended && rc == 0) {
		json_t *answer = NULL;

		rc = call_ask_once(
		    c, json_pack("{s:s, s:I}", "ask", "captured", "capture", id), &answer, e);
		if (rc == 0) {
			const json_t *k = json_array_get(json_object_get(answer, "captures"), 0);

			show(c, &g, k);
			ended = has_ended(k);
		}
		json_decref(answer);
		if (!ended && rc == 0)
			nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
	}
	progress_close(&g);
	return rc;
}

/* All of its requests: one answer may not have them all. */
static int
fetch(struct invocation *c, json_int_t id, json_t **ret, struct err *e)
{
	json_t *all = json_array(), *answer = NULL;
	size_t left = 1;
	int rc = 0;

	while (left > 0 && rc == 0) {
		json_decref(answer);
		answer = NULL;
		rc = call_ask_once(c,
		    json_pack("{s:s, s:I, s:b, s:I}", "ask", "captured", "capture", id, "requests",
			1, "skip", (json_int_t)json_array_size(all)),
		    &answer, e);
		left = (size_t)number_of(answer, "left");
		if (rc != 0 || json_array_size(json_object_get(answer, "requests")) == 0)
			break;
		json_array_extend(all, json_object_get(answer, "requests"));
	}
	if (rc == 0)
		json_object_set(answer, "requests", all);
	json_decref(all);
	if (rc != 0)
		json_decref(answer);
	else
		*ret = answer;
	return rc;
}

static enum exit_code
print_to(struct invocation *c, const json_t *answer, void (*text)(struct pen *, const json_t *))
{
	const char *path = c->value[FLAG_OUTPUT];
	FILE *to = path == NULL || strcmp(path, "-") == 0 ? c->out->out : fopen(path, "w");
	struct pen pen;
	struct err e;
	int rc = 0;

	if (to == NULL) {
		err_errno(&e, "%s", path);
		return call_failed(c, &e);
	}
	if (to == c->out->out) {
		(c->value[FLAG_JSON] != NULL ? output_json.status : text)(c->out, answer);
		return DONE;
	}
	pen_open(&pen, to);
	(c->value[FLAG_JSON] != NULL ? output_json.status : text)(&pen, answer);
	pen_release(&pen);
	if (fclose(to) != 0)
		rc = err_errno(&e, "%s", path);
	return rc != 0 ? call_failed(c, &e) : DONE;
}

static enum exit_code
print_capture(struct invocation *c, json_int_t id)
{
	json_t *answer = NULL;
	enum exit_code code;
	struct err e;

	if (fetch(c, id, &answer, &e) != 0)
		return call_failed(c, &e);
	code = print_to(c, answer, capture_print);
	if (code == DONE && json_array_size(json_object_get(answer, "requests")) == 0)
		code = NOTHING_FOUND;
	json_decref(answer);
	return code;
}

static enum exit_code
list_captures(struct invocation *c)
{
	json_t *answer = NULL;
	enum exit_code code;
	struct err e;

	if (call_ask_once(c, json_pack("{s:s}", "ask", "captured"), &answer, &e) != 0)
		return call_failed(c, &e);
	code = print_to(c, answer, captures_print);
	json_decref(answer);
	return code;
}

static enum exit_code
run_capture(struct invocation *c)
{
	const char *type = c->type != NULL ? c->type : c->value[FLAG_TYPE];
	json_t *question, *answer = NULL;
	json_int_t id;
	struct err e;

	if (c->type != NULL && c->value[FLAG_TYPE] != NULL)
		return call_misused(c, "--type", "the request type is given twice", NULL);
	if (c->value[FLAG_RUN] != NULL && (type != NULL || c->value[FLAG_OVER] != NULL))
		return call_misused(c, "--run", "shows a capture that was begun before", NULL);
	if (c->value[FLAG_RUN] != NULL)
		return print_capture(c, (json_int_t)c->number[FLAG_RUN]);
	if (type == NULL && c->value[FLAG_OVER] == NULL)
		return list_captures(c);
	if (type == NULL || c->value[FLAG_OVER] == NULL)
		return call_misused(c, "capture", "needs a request type and --over", NULL);
	if ((question = question_of(c, type)) == NULL)
		return MISUSED;
	if (call_ask_once(c, question, &answer, &e) != 0)
		return call_failed(c, &e);
	id = (json_int_t)number_of(answer, "capture");
	json_decref(answer);
	if (wait_for(c, id, &e) != 0)
		return call_failed(c, &e);
	return print_capture(c, id);
}

const struct command command_capture = {
	.name = "capture",
	.arguments = "[TYPE]",
	.arguments_min = 0,
	.arguments_max = 1,
	.flags = FLAGS_ASK | FLAG_BIT(TYPE) | FLAG_BIT(OVER) | FLAG_BIT(COUNT) | FLAG_BIT(SECONDS) |
	         FLAG_BIT(RUN) | FLAG_BIT(OUTPUT),
	.run = run_capture,
	.help = "whole traces of the slowest requests, with all tracepoints",
	.more =
	    "Turns the flight recorders of the nodes on: all tracepoints are recorded into memory, where new\n"
	    "records replace the oldest. When a request took longer than --over, a quantile of its type as p99.9\n"
	    "or a number of milliseconds, its nodes are asked for what they have of it. Ends after --count\n"
	    "requests (1) or --seconds (60). Of each it shows the edges that take more than in usual requests,\n"
	    "and what is missing. Without a type it lists captures; --run N shows one of them again. They go on\n"
	    "if hone is ended; hone stop TYPE ends them. The exit status is 3 if no request was that slow.",
};
