/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone forest, why, history, diff: the results of diagnoses and how they were reached. */
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/call.h"
#include "cli/command.h"
#include "forest/forest.h"

/* ---- forest ---- */

static enum exit_code
salvage(struct invocation *c)
{
	struct salvaged n;
	struct err e;
	json_t *done;

	c->type = NULL;
	if (store_salvage(c->arguments[0], c->arguments[1], &n, &e) != 0)
		return call_failed(c, &e);
	done = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "runs",
	    (json_int_t)n.runs, "hypotheses", (json_int_t)n.hypotheses, "verdicts",
	    (json_int_t)n.verdicts, "switches", (json_int_t)n.switches, "evidence",
	    (json_int_t)n.evidence, "audits", (json_int_t)n.audits, "orphans",
	    (json_int_t)n.orphans, "unreadable", (json_int_t)n.unreadable, "words",
	    json_sprintf(
		"recovered %llu diagnoses with %llu hypotheses and %llu verdicts; left out %llu rows without an "
		"owner; %llu page%s could not be read",
		(unsigned long long)n.runs, (unsigned long long)n.hypotheses,
		(unsigned long long)n.verdicts, (unsigned long long)n.orphans,
		(unsigned long long)n.unreadable, n.unreadable == 1 ? "" : "s"));
	c->output->done(c->out, done);
	json_decref(done);
	return DONE;
}

static enum exit_code
check_salvage(struct invocation *c)
{
	static const enum flag others[] = { FLAG_RUN, FLAG_DOT, FLAG_HTML };
	enum exit_code code = DONE;

	for (size_t i = 0; i < sizeof others / sizeof others[0] && code == DONE; i++)
		code = call_either(c, FLAG_SALVAGE, others[i]);
	if (code == DONE && c->narguments != 2)
		code = call_misused(c, "--salvage", "needs the damaged file and a new file", NULL);
	return code;
}

static enum exit_code
check_forest(struct invocation *c)
{
	const char *dot = c->value[FLAG_DOT], *html = c->value[FLAG_HTML];
	enum exit_code code = call_either(c, FLAG_DOT, FLAG_JSON);

	if (code == DONE && c->narguments > 1)
		code = call_misused(c, c->arguments[1], "give one request type only", NULL);
	if (code == DONE && html != NULL && strcmp(html, "-") == 0)
		code = call_misused(c, "--html -", "needs the name of a file", NULL);
	if (code == DONE && dot != NULL && html != NULL && strcmp(dot, html) == 0)
		code = call_misused(c, "--html", "not the same file as of --dot", NULL);
	return code;
}

static int
write_drawings(struct invocation *c, const json_t *answer, struct err *e)
{
	struct buf text = { 0 };
	int rc = 0;

	if (c->value[FLAG_HTML] != NULL && (rc = forest_page_write(&text, answer, e)) == 0)
		rc = call_write(c, c->value[FLAG_HTML], &text, e);
	if (rc == 0 && c->value[FLAG_DOT] != NULL) {
		buf_reset(&text);
		dot_forest(&text, answer);
		rc = text.failed ? err_set(e, ERR_MEMORY, "out of memory")
		                 : call_write(c, c->value[FLAG_DOT], &text, e);
	}
	buf_release(&text);
	return rc;
}

static enum exit_code
run_forest(struct invocation *c)
{
	json_t *question, *answer = NULL;
	enum exit_code code = c->value[FLAG_SALVAGE] != NULL ? check_salvage(c) : check_forest(c);
	struct err e;
	int rc;

	if (code != DONE)
		return code;
	if (c->value[FLAG_SALVAGE] != NULL)
		return salvage(c);
	question = json_pack("{s:s, s:s*}", "ask", "forest", "type", c->type);
	if (question != NULL && c->value[FLAG_RUN] != NULL)
		json_object_set_new(question, "run", json_integer((json_int_t)c->number[FLAG_RUN]));
	if ((rc = call_ask_once(c, question, &answer, &e)) == 0 &&
	    (rc = write_drawings(c, answer, &e)) == 0 &&
	    (c->value[FLAG_DOT] == NULL || strcmp(c->value[FLAG_DOT], "-") != 0))
		c->output->forest(c->out, answer);
	json_decref(answer);
	return rc == 0 ? DONE : call_failed(c, &e);
}

const struct command command_forest = {
	.name = "forest",
	.arguments = "[TYPE]",
	.arguments_min = 0,
	.arguments_max = 2,
	.flags = FLAGS_ASK | FLAG_BIT(RUN) | FLAG_BIT(DOT) | FLAG_BIT(HTML) | FLAG_BIT(SALVAGE),
	.run = run_forest,
	.help = "show the hypotheses of each diagnosis as a tree",
	.more =
	    "Prints the newest diagnosis of each type, the newest of TYPE, or that of --run N.\n"
	    "hone forest --salvage FILE NEW recovers the readable rows of a damaged database into a new\n"
	    "file, without the controller.",
};

/* ---- why ---- */

static bool
all_hex(const char *s)
{
	return s[strspn(s, "0123456789abcdefABCDEF")] == '\0';
}

/* An argument of hexadecimal digits with at least one decimal digit counts as a trace id and must be well-formed. */
static enum exit_code
trace_or_type(struct invocation *c, const char **key)
{
	const char *word = c->arguments[0];
	size_t len = strlen(word);

	if (strcmp(word, "slowest") == 0) {
		c->type = c->narguments > 1 ? c->arguments[1] : NULL;
		*key = "type";
		return DONE;
	}
	if (c->narguments > 1)
		return call_misused(
		    c, c->arguments[1], "one trace or request type at a time", NULL);
	*key = all_hex(word) && (len == 16 || len == 32) ? "trace" : "type";
	if (strcmp(*key, "type") == 0 && len >= 8 && strpbrk(word, "0123456789") != NULL &&
	    all_hex(strncmp(word, "0x", 2) == 0 ? word + 2 : word))
		return call_misused(
		    c, word, "malformed trace id: it has 16 or 32 hex digits", NULL);
	return DONE;
}

static enum exit_code
run_why(struct invocation *c)
{
	const char *tracepoint = c->value[FLAG_TRACEPOINT], *key = "type";
	enum exit_code code;

	if (tracepoint != NULL && c->narguments > 0)
		return call_misused(
		    c, c->arguments[0], "cannot be combined with --tracepoint", NULL);
	if (tracepoint != NULL)
		return call_ask_and_print(c,
		    json_pack("{s:s, s:s}", "ask", "why", "tracepoint", tracepoint),
		    c->output->why);
	if (c->narguments == 0)
		return call_misused(
		    c, "why", "which trace? its id, slowest, or the type of the slowest", NULL);
	if ((code = trace_or_type(c, &key)) != DONE)
		return code;
	return call_ask_and_print(
	    c, json_pack("{s:s, s:s*}", "ask", "why", key, c->type), c->output->why);
}

const struct command command_why = {
	.name = "why",
	.arguments = "TRACE-ID | [slowest] [TYPE]",
	.arguments_min = 0,
	.arguments_max = 2,
	.flags = FLAGS_ASK | FLAG_BIT(TRACEPOINT),
	.run = run_why,
	.help = "explain a trace or a tracepoint",
	.more =
	    "For a trace: the hypotheses that it belongs to, and its times beside the usual times of its\n"
	    "group. slowest is the slowest trace of the newest verdict (of TYPE). With --tracepoint:\n"
	    "which diagnoses enabled it, when, for which hypothesis, and with which outcome.",
};

/* ---- history, diff ---- */

static enum exit_code
run_history(struct invocation *c)
{
	return call_ask_and_print(c,
	    json_pack("{s:s, s:s*, s:I}", "ask", "history", "type", c->type, "limit",
		(json_int_t)c->number[FLAG_LIMIT]),
	    c->output->history);
}

const struct command command_history = {
	.name = "history",
	.arguments = "[TYPE]",
	.arguments_min = 0,
	.arguments_max = 1,
	.flags = FLAGS_ASK | FLAG_BIT(LIMIT),
	.run = run_history,
	.help = "list all diagnoses, newest first",
	.more = "",
};

static enum exit_code
run_diff(struct invocation *c)
{
	json_int_t run[2];

	for (int i = 0; i < 2; i++) {
		const char *word = c->arguments[i];

		run[i] = strtoll(word, NULL, 10);
		if (word[0] == '\0' || word[strspn(word, "0123456789")] != '\0' ||
		    strlen(word) > 15 || run[i] == 0)
			return call_misused(
			    c, word, "no number of a diagnosis; hone history lists them", NULL);
	}
	if (run[0] == run[1])
		return call_misused(c, c->arguments[1], "the same diagnosis twice", NULL);
	c->type = NULL;
	return call_ask_and_print(c,
	    json_pack("{s:s, s:[I, I]}", "ask", "diff", "runs", run[0], run[1]), c->output->diff);
}

const struct command command_diff = {
	.name = "diff",
	.arguments = "RUN RUN",
	.arguments_min = 2,
	.arguments_max = 2,
	.flags = FLAGS_ASK,
	.run = run_diff,
	.help = "compare two diagnoses of a request type",
	.more = "Shows which verdicts are gone, new or moved, and whether predictions came true.",
	.few = "needs two diagnoses; hone history lists them",
	.many = "give exactly two diagnoses",
};
