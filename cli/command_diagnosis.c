/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands that ask honed one question and print the answer: start, stop, status, learn,
 * agents, tracepoints. With --wait, start and learn then ask for the status until they have ended.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/call.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/state_text.h"
#include "cli/verdict_text.h"
#include "wire/question.h"

enum { POLL_MS = 250, QUIET_MS = 6000 };

static enum exit_code
run_status(struct invocation *c)
{
	return call_ask_and_print(c, json_pack("{s:s}", "ask", "status"), c->output->status);
}

const struct command command_status = {
	.name = "status",
	.arguments = "",
	.arguments_min = 0,
	.arguments_max = 0,
	.flags = FLAGS_ASK,
	.run = run_status,
	.help = "show what the controller is doing",
	.more = "",
};

static enum exit_code
run_agents(struct invocation *c)
{
	return call_ask_and_print(c, json_pack("{s:s}", "ask", "agents"), c->output->agents);
}

const struct command command_agents = {
	.name = "agents",
	.arguments = "",
	.arguments_min = 0,
	.arguments_max = 0,
	.flags = FLAGS_ASK,
	.run = run_agents,
	.help = "list the agents: queues, losses and cost",
	.more = "",
};

static enum exit_code
run_tracepoints(struct invocation *c)
{
	return call_ask_and_print(c,
	    json_pack("{s:s, s:s*}", "ask", "tracepoints", "tracepoint", c->type),
	    c->output->tracepoints);
}

const struct command command_tracepoints = {
	.name = "tracepoints",
	.arguments = "[PATTERN]",
	.arguments_min = 0,
	.arguments_max = 1,
	.flags = FLAGS_ASK,
	.run = run_tracepoints,
	.help = "list all tracepoints, and which are enabled",
	.more = "In PATTERN, * stands for any text: 'shop_cart:*'.",
};

static enum exit_code
run_stop(struct invocation *c)
{
	return call_ask_and_print(
	    c, json_pack("{s:s, s:s*}", "ask", "stop", "type", c->type), c->output->stopped);
}

const struct command command_stop = {
	.name = "stop",
	.arguments = "[TYPE]",
	.arguments_min = 0,
	.arguments_max = 1,
	.flags = FLAGS_ASK,
	.run = run_stop,
	.help = "stop the diagnosis of a type, or all diagnoses and learning",
	.more = "All tracepoints that were added for it are disabled.",
};

/* ---- waiting for the end ---- */

static void
sleep_poll(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
}

static const json_t *
run_of(const json_t *status, double id)
{
	size_t i;
	json_t *r;

	json_array_foreach (json_object_get(status, "runs"), i, r)
		if (number_of(r, "run") == id)
			return r;
	return NULL;
}

static double
traces_of(const json_t *status, const char *type)
{
	size_t i;
	json_t *t;

	json_array_foreach (json_object_get(status, "types"), i, t) {
		const char *name = json_string_value(json_object_get(t, "type"));

		if (name != NULL && strcmp(name, type) == 0)
			return number_of(t, "traces");
	}
	return 0;
}

static void
show_run(struct progress *g, const json_t *status, const json_t *run, double traces)
{
	struct pen *p = g->pen;
	const char *text = pen_printf(p, "%s: cycle %.0f, %.0f tracepoint%s enabled%s",
	    text_of(p, run, "type"), number_of(run, "cycles"), number_of(status, "added"),
	    number_of(status, "added") == 1 ? "" : "s",
	    is_true(status, "paused") ? ", paused" : "");

	progress_show(g, -1, text,
	    pen_printf(p, "| %s | %s traces | %s", pen_seconds(p, number_of(run, "seconds")),
		pen_count(p, traces),
		text_of_put(p, phase_text_put, json_object_get(run, "phase"))));
}

/* Says once for each reason why the diagnosis gets nothing that it can use. */
static void
say_no_evidence(struct progress *g, const json_t *run, char said[80])
{
	const json_t *lack = json_object_get(run, "no_evidence");
	const char *word = json_is_object(lack) ? text_of(g->pen, lack, "reason") : "";

	if (strncmp(said, word, 79) == 0)
		return;
	snprintf(said, 80, "%s", word);
	if (word[0] == '\0')
		return;
	progress_close(g);
	fprintf(g->pen->out, "hone: %s: nothing that can be used comes: %s\n",
	    text_of(g->pen, run, "type"), text_of_reason(g->pen, lack, "reason"));
	fflush(g->pen->out);
	progress_open(g, g->pen);
}

/* Shows the progress until the run is no longer among the active ones. */
static int
await_run(struct invocation *c, struct client *client, double id, struct err *e)
{
	struct progress g;
	json_t *status;
	char said[80] = "";
	double first = -1;
	bool active = true;
	int rc = 0;

	progress_open(&g, c->err);
	while (active &&
	       (rc = call_ask(c, client, json_pack("{s:s}", "ask", "status"), &status, e)) == 0) {
		const json_t *run = run_of(status, id);

		if ((active = run != NULL)) {
			double traces = traces_of(status, text_of(c->err, run, "type"));

			first = first < 0 ? traces : first;
			say_no_evidence(&g, run, said);
			show_run(&g, status, run, traces - first);
		}
		json_decref(status);
		arena_reset(&c->err->texts);
		if (active)
			sleep_poll();
	}
	progress_close(&g);
	return rc;
}

/* Waits up to QUIET_MS until all agents have confirmed that all added tracepoints are off. *status
 * is the last status, the caller's. Returns early if another diagnosis is running. */
static int
await_quiet(struct invocation *c, struct client *client, json_t **status, struct err *e)
{
	struct mono begun = clock_mono();
	int rc;

	for (;;) {
		if ((rc = call_ask(c, client, json_pack("{s:s}", "ask", "status"), status, e)) < 0)
			return rc;
		if (is_true(*status, "quiet") ||
		    json_array_size(json_object_get(*status, "runs")) > 0 ||
		    mono_since_ns(clock_mono(), begun) > QUIET_MS * INT64_C(1000000))
			return 0;
		json_decref(*status);
		sleep_poll();
	}
}

static enum exit_code
print_end(struct invocation *c, struct client *client, double id)
{
	json_t *after = NULL, *runs = NULL, *answer;
	struct err e;
	enum exit_code code = FAILED;
	const char *state;

	if (await_quiet(c, client, &after, &e) < 0 ||
	    call_ask(c, client, json_pack("{s:s, s:I}", "ask", "forest", "run", (json_int_t)id),
		&runs, &e) < 0) {
		json_decref(after);
		return call_failed(c, &e);
	}
	/* built like the answer to "verdict", which would be about the newest run of the type */
	answer = json_pack("{s:i, s:b, s:O}", "version", ANSWER_VERSION, "ok", 1, "run",
	    json_array_get(json_object_get(runs, "runs"), 0));
	if (answer != NULL) {
		c->output->verdict(c->out, answer, after);
		state = json_string_value(json_object_get(json_object_get(answer, "run"), "state"));
		code = state == NULL                              ? FAILED
		       : strcmp(state, "found") == 0              ? DONE
		       : strcmp(state, "baseline") == 0           ? DONE
		       : strcmp(state, "nothing stands out") == 0 ? NOTHING_FOUND
		       : strcmp(state, "gone") == 0               ? PROBLEM_GONE
		                                                  : FAILED;
	}
	json_decref(answer);
	json_decref(runs);
	json_decref(after);
	return code;
}

static json_t *
start_question(const struct invocation *c)
{
	json_t *q = json_pack("{s:s, s:s, s:s*}", "ask", "start", "type", c->type, "strategy",
	    c->value[FLAG_STRATEGY]);

	if (q != NULL && c->value[FLAG_K] != NULL)
		json_object_set_new(q, "k", json_integer((json_int_t)c->number[FLAG_K]));
	if (q != NULL && c->value[FLAG_SEED] != NULL)
		json_object_set_new(q, "seed", json_integer((json_int_t)c->number[FLAG_SEED]));
	if (q != NULL && c->value[FLAG_EFFORT] != NULL)
		json_object_set_new(q, "effort", json_integer((json_int_t)c->number[FLAG_EFFORT]));
	if (q != NULL && c->value[FLAG_EFFECT] != NULL)
		json_object_set_new(q, "effect", json_real(c->number[FLAG_EFFECT]));
	if (q != NULL && c->value[FLAG_CAUSES] != NULL)
		json_object_set_new(q, "causes", json_integer((json_int_t)c->number[FLAG_CAUSES]));
	if (q != NULL && c->value[FLAG_TAIL] != NULL)
		json_object_set_new(q, "tail", json_real(c->number[FLAG_TAIL]));
	if (q != NULL && (c->value[FLAG_BELOW] != NULL || c->value[FLAG_NO_BELOW] != NULL))
		json_object_set_new(q, "below", json_boolean(c->value[FLAG_BELOW] != NULL));
	if (q != NULL && c->value[FLAG_HEALTHY] != NULL)
		json_object_set_new(q, "healthy", json_true());
	if (q != NULL && c->value[FLAG_NO_BASELINE] != NULL)
		json_object_set_new(q, "baseline", json_false());
	return q;
}

/* With --healthy nothing is searched, so flags of a search have no meaning. */
static enum exit_code
check_healthy(struct invocation *c)
{
	static const enum flag of_searches[] = { FLAG_STRATEGY, FLAG_K, FLAG_SEED, FLAG_EFFORT,
		FLAG_EFFECT, FLAG_CAUSES, FLAG_TAIL, FLAG_BELOW, FLAG_NO_BELOW, FLAG_NO_BASELINE };

	for (size_t i = 0; i < sizeof of_searches / sizeof of_searches[0]; i++)
		if (c->value[of_searches[i]] != NULL)
			return call_misused(c, flag_texts[of_searches[i]].name,
			    "with --healthy nothing is searched", NULL);
	return DONE;
}

static enum exit_code
run_start(struct invocation *c)
{
	struct client *client = NULL;
	json_t *answer = NULL;
	enum exit_code code;
	struct err e;

	if (c->value[FLAG_BELOW] != NULL && c->value[FLAG_NO_BELOW] != NULL)
		return call_misused(
		    c, "--below and --no-below", "only one of them can be obeyed", NULL);
	if (c->value[FLAG_HEALTHY] != NULL && (code = check_healthy(c)) != DONE)
		return code;
	if (c->value[FLAG_WAIT] == NULL)
		return call_ask_and_print(c, start_question(c), c->output->started);
	if (call_connect(c, &client, &e) < 0)
		return call_failed(c, &e);
	if (call_ask(c, client, start_question(c), &answer, &e) < 0) {
		code = call_failed(c, &e);
	} else {
		const json_t *run = json_object_get(answer, "run");
		double id = number_of(run, "run");

		if (!is_null(run, "reason"))
			fprintf(c->err->out, "%s: %s\n", c->type,
			    text_of_reason(c->err, run, "reason"));
		code = await_run(c, client, id, &e) < 0 ? call_failed(c, &e)
		                                        : print_end(c, client, id);
	}
	json_decref(answer);
	client_close(client);
	return code;
}

const struct command command_start = {
	.name = "start",
	.arguments = "TYPE",
	.arguments_min = 1,
	.arguments_max = 1,
	.flags = FLAGS_ASK | FLAG_BIT(WAIT) | FLAG_BIT(STRATEGY) | FLAG_BIT(K) | FLAG_BIT(SEED) |
	         FLAG_BIT(EFFORT) | FLAG_BIT(EFFECT) | FLAG_BIT(CAUSES) | FLAG_BIT(TAIL) |
	         FLAG_BIT(BELOW) | FLAG_BIT(NO_BELOW) | FLAG_BIT(HEALTHY) | FLAG_BIT(NO_BASELINE),
	.run = run_start,
	.help = "start the diagnosis of a request type",
	.more =
	    "Searches for the step that makes requests of this type slow or unpredictable, by enabling\n"
	    "and disabling tracepoints. With --wait it shows the progress and then the verdict; the exit\n"
	    "status is 1 if no problem was found, 3 if nothing stands out, and 4 if the problem has stopped.",
	.few = "needs a request type; hone status lists them",
};

/* Shows the progress until learning has ended; *status is then the last one, the caller's. */
static int
await_learned(struct invocation *c, struct client *client, json_t **status, struct err *e)
{
	struct progress g;
	const json_t *l;
	int rc;

	progress_open(&g, c->err);
	for (;;) {
		if ((rc = call_ask(c, client, json_pack("{s:s}", "ask", "status"), status, e)) < 0)
			break;
		l = json_object_get(*status, "learning");
		if (!json_is_object(l))
			break;
		progress_show(&g, 1 - number_of(l, "left_s") / c->number[FLAG_SECONDS], "learning",
		    pen_printf(c->err, "%s left, %s traces, %s places%s",
			pen_seconds(c->err, number_of(l, "left_s")),
			pen_count(c->err, number_of(l, "traces")),
			pen_count(c->err, number_of(l, "places")),
			is_null(l, "unseen")
			    ? ""
			    : pen_printf(c->err, ", about %s unseen",
				  pen_count(c->err, ceil(number_of(l, "unseen"))))));
		json_decref(*status);
		arena_reset(&c->err->texts);
		sleep_poll();
	}
	progress_close(&g);
	return rc;
}

static enum exit_code
run_learn(struct invocation *c)
{
	json_t *question = json_pack("{s:s, s:f, s:s*}", "ask", "learn", "seconds",
		   c->number[FLAG_SECONDS], "name", c->value[FLAG_VERSION]),
	       *answer = NULL, *status = NULL;
	struct client *client = NULL;
	enum exit_code code = DONE;
	struct err e;

	if (c->value[FLAG_WAIT] == NULL)
		return call_ask_and_print(c, question, c->output->learning);
	if (call_connect(c, &client, &e) < 0) {
		json_decref(question);
		return call_failed(c, &e);
	}
	if (call_ask(c, client, question, &answer, &e) < 0 ||
	    await_learned(c, client, &status, &e) < 0)
		code = call_failed(c, &e);
	else
		c->output->learned(c->out, status);
	json_decref(answer);
	json_decref(status);
	client_close(client);
	return code;
}

const struct command command_learn = {
	.name = "learn",
	.arguments = "",
	.arguments_min = 0,
	.arguments_max = 0,
	.flags = FLAGS_ASK | FLAG_BIT(WAIT) | FLAG_BIT(SECONDS) | FLAG_BIT(VERSION),
	.run = run_learn,
	.help = "learn which tracepoints occur in which requests",
	.more =
	    "Enables all tracepoints for a limited time. Put load on the application that uses all of it.\n"
	    "With --version NAME the result is kept apart from that of other versions.",
};
