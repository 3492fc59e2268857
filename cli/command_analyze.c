/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone analyze, hone report: compare an analysis document with a baseline, write it as a page,
 * print it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/call.h"
#include "cli/file_analysis.h"
#include "cli/client.h"
#include "cli/states_analysis.h"
#include "cli/thread_analysis.h"
#include "report/baseline_files.h"
#include "report/change.h"
#include "report/document.h"
#include "report/page.h"

enum {
	REPORT_MS = 330000
}; /* a process of honed judges the groups of all types for it, in 300 s at most */

/* ---- what both do with the document ---- */

static int
compare(struct invocation *c, json_t *document, struct err *e)
{
	struct change_options o = { .confidence = number_of(
					json_object_get(document, "options"), "confidence") };
	json_t *then = NULL, *change;
	int rc;

	if (c->value[FLAG_BASELINE] == NULL)
		return 0;
	if ((rc = baseline_load(c->value[FLAG_BASELINE], &then, e)) != 0)
		return rc;
	if ((change = change_json(document, then, c->value[FLAG_BASELINE], &o, e)) == NULL)
		rc = e->code;
	else if (json_object_set_new(document, "baseline", change) != 0)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	json_decref(then);
	return rc;
}

/* The page needs single requests; they are printed only if asked for. */
static void
drop_samples(json_t *document)
{
	size_t i, k;
	json_t *type, *group;

	json_array_foreach (json_object_get(document, "types"), i, type)
		json_array_foreach (json_object_get(type, "groups"), k, group) {
			json_object_del(group, "samples");
			json_object_del(group, "sample_keys");
		}
}

static int
write_page(struct invocation *c, const json_t *document, struct err *e)
{
	const char *path = c->value[FLAG_HTML];
	struct buf page = { 0 };
	FILE *f = NULL;
	int rc;

	if (path == NULL)
		return 0;
	if ((rc = page_write(&page, document, e)) == 0 &&
	    ((f = fopen(path, "w")) == NULL || fwrite(page.data, 1, page.len, f) != page.len ||
		fflush(f) != 0))
		rc = err_errno(e, "%s: cannot be written", path);
	if (f != NULL)
		fclose(f);
	buf_release(&page);
	return rc;
}

static bool
to_standard_output(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

static int
write_graphs(struct invocation *c, const json_t *document, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	if (c->value[FLAG_DOT] == NULL)
		return 0;
	dot_requests(&text, json_object_get(document, "requests"));
	rc = text.failed ? err_set(e, ERR_MEMORY, "out of memory")
	                 : call_write(c, c->value[FLAG_DOT], &text, e);
	buf_release(&text);
	return rc;
}

/* Compares, writes and prints the document; takes ownership of it. */
static enum exit_code
finish(struct invocation *c, json_t *document, struct err *e)
{
	int rc;

	if ((rc = compare(c, document, e)) == 0)
		rc = write_graphs(c, document, e);
	if (c->value[FLAG_SAMPLES] == NULL)
		json_object_del(document, "requests");
	if (rc == 0)
		rc = write_page(c, document, e);
	if (rc == 0 && c->value[FLAG_SAMPLES] == NULL)
		drop_samples(document);
	if (rc == 0 && !to_standard_output(c->value[FLAG_DOT]))
		c->output->analysis(c->out, document);
	json_decref(document);
	return rc == 0 ? DONE : call_failed(c, e);
}

static bool
wants_samples(const struct invocation *c)
{
	return c->value[FLAG_SAMPLES] != NULL || c->value[FLAG_HTML] != NULL;
}

/* The text alone needs less than a document, and is then made in less time. */
static enum analysis_extent
extent_of(const struct invocation *c)
{
	if (c->output == &output_text && c->value[FLAG_BASELINE] == NULL &&
	    c->value[FLAG_HTML] == NULL)
		return ANALYSIS_TEXT;
	return wants_samples(c) ? ANALYSIS_SAMPLES : ANALYSIS_DOCUMENT;
}

/* ---- the commands ---- */

static enum exit_code
run_analyze(struct invocation *c)
{
	json_t *document = NULL;
	struct err e = { 0 };

	enum exit_code code;

	c->type = NULL;
	if (c->value[FLAG_THREAD] != NULL)
		return thread_analysis(c);
	if ((code = analysis_check(c)) == DONE && to_standard_output(c->value[FLAG_DOT]))
		code = call_either(c, FLAG_DOT, FLAG_JSON);
	if (code != DONE)
		return code;
	if (states_wanted(c))
		return states_compare(c);
	if (analysis_run(c, c->arguments, c->narguments, extent_of(c), &document, &e) != 0)
		return call_failed(c, &e);
	return finish(c, document, &e);
}

const struct command command_analyze = {
	.name = "analyze",
	.arguments = "FILE...",
	.arguments_min = 1,
	.arguments_max = INT_MAX,
	.flags = FLAGS_ANALYSE | FLAG_BIT(BASELINE) | FLAG_BIT(SAMPLES) | FLAG_BIT(HTML) |
	         FLAG_BIT(THREAD) | FLAG_BIT(DOT),
	.run = run_analyze,
	.help = "find slow and unpredictable requests in trace files",
	.more =
	    "Reads files and folders in all formats that hone(1) lists, also compressed by gzip; - is\n"
	    "standard input. Recordings of the kernel (hone kernel record, LTTng, perf, ftrace, MiSeRTrace)\n"
	    "show the requests of programs without instrumentation. Needs no controller. The exit status is 1 only if no trace could be analysed.",
	.few = "needs a file; - is standard input",
};

int
report_fetch(struct invocation *c, const char *type, bool samples, json_t **document, struct err *e)
{
	json_t *question = json_pack("{s:s, s:s*, s:b, s:b}", "ask", "report", "type", type,
		   "samples", samples, "reset", c->value[FLAG_RESET] != NULL),
	       *answer = NULL;
	struct client *client = NULL;
	int rc;

	if (c->value[FLAG_TIMEOUT] == NULL)
		c->timeout_ms = REPORT_MS;
	if ((rc = call_connect(c, &client, e)) < 0)
		json_decref(question);
	else if ((rc = call_ask(c, client, question, &answer, e)) == 0) {
		*document = json_incref(json_object_get(answer, "report"));
		if ((rc = document_check(*document, "honed", e)) != 0)
			json_decref(*document);
	}
	json_decref(answer);
	client_close(client);
	return rc;
}

static enum exit_code
run_report(struct invocation *c)
{
	json_t *document = NULL;
	struct err e = { 0 };

	if (report_fetch(c, c->type, wants_samples(c), &document, &e) != 0)
		return call_failed(c, &e);
	return finish(c, document, &e);
}

const struct command command_report = {
	.name = "report",
	.arguments = "[TYPE]",
	.arguments_min = 0,
	.arguments_max = 1,
	.flags = FLAGS_ASK | FLAG_BIT(BASELINE) | FLAG_BIT(SAMPLES) | FLAG_BIT(HTML) |
	         FLAG_BIT(RESET),
	.run = run_report,
	.help = "the same for the traffic that the controller sees",
	.more = "Covers all sampled requests since honed was started, or since --reset.",
};
