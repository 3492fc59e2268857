/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone annotate: what the kernel did for each span of a trace. */
#include <limits.h>
#include <string.h>

#include "cli/annotation.h"
#include "cli/call.h"
#include "formats/correlate.h"
#include "formats/span_writer.h"

static enum exit_code
check(struct invocation *c)
{
	const char *correlate = c->value[FLAG_CORRELATE], *format = c->value[FLAG_FORMAT];
	struct err e;

	if (c->spans[0] == NULL)
		return call_misused(
		    c, "annotate", "needs --spans FILE, whose spans are annotated", NULL);
	if (correlate != NULL && correlate_check(correlate, &e) != 0)
		return call_misused(
		    c, pen_printf(c->err, "--correlate %s", correlate), e.text, NULL);
	if (format != NULL && !span_writer_knows(format))
		return call_misused(c, pen_printf(c->err, "--format %s", format),
		    "must be otlp, jaeger or zipkin", NULL);
	if ((format != NULL) != (c->value[FLAG_OUTPUT] != NULL))
		return call_misused(c, "annotate", "--format and --output belong together", NULL);
	return call_either(c, FLAG_MAP, FLAG_CORRELATE);
}

static enum exit_code
report(struct invocation *c, const struct annotation *a, struct err *e)
{
	const char *path = c->value[FLAG_OUTPUT];
	uint64_t written;
	json_t *d;

	if (path != NULL && annotation_export(a, c->value[FLAG_FORMAT], path, &written, e) != 0)
		return call_failed(c, e);
	if (path != NULL && strcmp(path, "-") == 0)
		return DONE;
	if ((d = annotation_document(a)) == NULL) {
		err_set(e, ERR_MEMORY, "out of memory");
		return call_failed(c, e);
	}
	if (c->value[FLAG_JSON] != NULL)
		output_json.done(c->out, d);
	else
		annotation_print(c->out, d, c->number[FLAG_LIMIT]);
	if (path != NULL && c->value[FLAG_JSON] == NULL)
		fprintf(c->out->out, "%s: %s spans\n", pen_clean(c->out, path),
		    pen_count(c->out, (double)written));
	json_decref(d);
	return DONE;
}

static enum exit_code
run_annotate(struct invocation *c)
{
	enum exit_code code = check(c);
	struct annotation a;
	struct err e = { 0 };

	c->type = NULL; /* the argument is no request type */
	if (code != DONE)
		return code;
	if (annotation_make(&a, c, c->spans, c->arguments, c->narguments, &e) != 0)
		code = call_failed(c, &e);
	else
		code = report(c, &a, &e);
	annotation_release(&a);
	return code;
}

const struct command command_annotate = {
	.name = "annotate",
	.arguments = "RECORDING...",
	.arguments_min = 1,
	.arguments_max = INT_MAX,
	.flags = FLAG_BIT(SPANS) | FLAG_BIT(OVER) | FLAG_BIT(CALL_OVER) | FLAG_BIT(CALLS) |
	         FLAG_BIT(OUTPUT) | FLAG_BIT(FORMAT) | FLAG_BIT(MAP) | FLAG_BIT(CORRELATE) |
	         FLAG_BIT(EVENTS) | FLAG_BIT(HOST) | FLAG_BIT(LIMIT) | FLAG_BIT(MEMORY),
	.run = run_annotate,
	.help = "show what the kernel did for each span of a trace",
	.more =
	    "Attributes system calls, states, preemptions, page faults and waits to the spans of --spans, from a RECORDING\n"
	    "of the kernel (hone kernel record, LTTng, perf, ftrace). With --format otlp, jaeger or zipkin and --output the\n"
	    "traces are written with the system calls as spans. --events names the events that are counted (*page_fault*).",
	.few = "needs a recording of the kernel",
};
