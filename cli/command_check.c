/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone check: whether the instrumentation is right, by what honed observes for some seconds. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/call.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/progress.h"

enum { POLL_MS = 250, SECONDS_MAX = 120 };

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
run_check(struct invocation *c)
{
	double seconds = c->number[FLAG_SECONDS];
	json_t *answer = NULL;
	enum exit_code code;
	struct err e;

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
	(c->value[FLAG_JSON] != NULL ? output_json.status : check_print)(c->out, answer);
	code = code_of(answer);
	json_decref(answer);
	return code;
}

const struct command command_check = {
	.name = "check",
	.arguments = "[TYPE]",
	.arguments_min = 0,
	.arguments_max = 1,
	.flags = FLAGS_ASK | FLAG_BIT(SECONDS),
	.run = run_check,
	.help = "check whether the instrumentation is right",
	.more =
	    "Observes requests for some seconds under load: do all forks, units and requests pair, do all\n"
	    "carriers arrive, is all that is waited for joined. The exit status is 1 if there are mistakes, or\n"
	    "no request came.",
};
