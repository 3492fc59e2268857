/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone annotate: what the kernel did for each span of a trace. */
#define _GNU_SOURCE /* nftw() */
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/annotate_live.h"
#include "cli/annotation.h"
#include "cli/call.h"
#include "formats/correlate.h"
#include "formats/span_writer.h"

/* Flags that only requests have that the kernel shows. */
static bool
by_messages(const struct invocation *c)
{
	return c->value[FLAG_GATEWAY] != NULL || c->value[FLAG_RULE] != NULL ||
	       c->value[FLAG_TEXTS] != NULL;
}

static enum exit_code
check(struct invocation *c)
{
	const char *correlate = c->value[FLAG_CORRELATE], *format = c->value[FLAG_FORMAT];
	bool live = c->pids[0] != NULL;
	const char *flag;
	struct err e;

	if (live && c->spans[0] != NULL)
		return call_misused(c, "annotate",
		    "--pid records running processes, --spans names a recording: give one of both",
		    NULL);
	if (live && c->narguments > 1)
		return call_misused(c, c->arguments[1], "with --pid give one folder only", NULL);
	if (!live && c->narguments == 0)
		return call_misused(c, "annotate",
		    "needs a recording of the kernel, with --spans FILE or without, or --pid N of a running program",
		    NULL);
	if (by_messages(c) &&
	    (c->spans[0] != NULL || c->value[FLAG_MAP] != NULL || correlate != NULL))
		return call_misused(c, "annotate",
		    "--gateway, --rule and --texts are of requests that the kernel shows; --spans, --map and --correlate of those that programs record",
		    NULL);
	if (kernel_traces_check(c->value[FLAG_GATEWAY], c->value[FLAG_RULE], &flag, &e) != 0)
		return call_misused(c, flag, e.text, NULL);
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

/* The page has the spans that the text has. */
static int
write_page(struct invocation *c, const json_t *document, struct err *e)
{
	json_t *copy, *spans, *shown;
	struct buf page = { 0 };
	int rc;

	if (c->value[FLAG_HTML] == NULL)
		return 0;
	copy = json_copy((json_t *)(uintptr_t)document);
	spans = json_object_get(document, "spans");
	shown = json_array();
	for (size_t i = 0; i < json_array_size(spans) && (double)i < c->number[FLAG_LIMIT]; i++)
		json_array_append(shown, json_array_get(spans, i));
	if (copy == NULL || json_object_set_new(copy, "spans", shown) != 0)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	else if ((rc = annotation_page_write(&page, copy, e)) == 0)
		rc = call_write(c, c->value[FLAG_HTML], &page, e);
	json_decref(copy);
	buf_release(&page);
	return rc;
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
	if (write_page(c, d, e) != 0) {
		json_decref(d);
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
annotate_files(struct invocation *c, const char *const *spans, char *const *recordings, int n)
{
	enum exit_code code;
	struct annotation a;
	struct err e = { 0 };

	if (annotation_make(&a, c, spans, recordings, n, &e) != 0) {
		if (c->pids[0] != NULL && spans != NULL && a.spans.nlist == 0 &&
		    e.code == ERR_INPUT)
			err_set(&e, ERR_INPUT,
			    "no request was recorded: libhone samples requests while an agent runs, or with HONE_SAMPLE=1; or none began and ended in this time");
		code = call_failed(c, &e);
	} else {
		code = report(c, &a, &e);
	}
	annotation_release(&a);
	return code;
}

static int
remove_one(const char *path, const struct stat *st, int what, struct FTW *ftw)
{
	(void)st;
	(void)what;
	(void)ftw;
	remove(path);
	return 0;
}

/* Whether LTTng-UST, which libhone records by, is in one of the processes; one that cannot be looked into may have it. */
static bool
has_tracer(const struct invocation *c)
{
	char path[64], line[PATH_MAX + 128];
	bool found = false;
	FILE *f;

	for (int i = 0; c->pids[i] != NULL && !found; i++) {
		snprintf(path, sizeof path, "/proc/%s/maps", c->pids[i]);
		if ((f = fopen(path, "r")) == NULL)
			return true;
		while (!found && fgets(line, sizeof line, f) != NULL)
			found = strstr(line, "/liblttng-ust.so") != NULL;
		fclose(f);
	}
	return found;
}

/* Records running processes, then annotates what was recorded. Without a folder the recording is thrown away. */
static enum exit_code
annotate_now(struct invocation *c)
{
	char own[] = "/tmp/hone-annotate.XXXXXX", spans[PATH_MAX], kernel[PATH_MAX];
	const char *folder = c->narguments > 0 ? c->arguments[0] : mkdtemp(own);
	const char *const span_files[] = { spans, NULL };
	bool programs_record = !by_messages(c) && has_tracer(c);
	char *const recordings[] = { kernel };
	enum exit_code code;
	uint64_t taken;
	struct err e = { 0 };

	if (folder == NULL) {
		err_errno(&e, "%s", own);
		return call_failed(c, &e);
	}
	snprintf(spans, sizeof spans, "%s/spans", folder);
	snprintf(kernel, sizeof kernel, "%s/kernel", folder);
	if (annotate_live(c, folder, programs_record, &taken, &e) != 0) {
		code = call_failed(c, &e);
	} else {
		code = annotate_files(c, programs_record ? span_files : NULL, recordings, 1);
	}
	if (c->narguments == 0)
		nftw(own, remove_one, 16, FTW_PHYS | FTW_DEPTH);
	return code;
}

static enum exit_code
run_annotate(struct invocation *c)
{
	enum exit_code code = check(c);

	c->type = NULL; /* the argument is no request type */
	if (code != DONE)
		return code;
	if (c->pids[0] != NULL)
		return annotate_now(c);
	return annotate_files(
	    c, c->spans[0] != NULL ? c->spans : NULL, c->arguments, c->narguments);
}

const struct command command_annotate = {
	.name = "annotate",
	.arguments = "[RECORDING...]",
	.arguments_min = 0,
	.arguments_max = INT_MAX,
	.flags = FLAG_BIT(SPANS) | FLAG_BIT(OVER) | FLAG_BIT(CALL_OVER) | FLAG_BIT(CALLS) |
	         FLAG_BIT(OUTPUT) | FLAG_BIT(FORMAT) | FLAG_BIT(MAP) | FLAG_BIT(CORRELATE) |
	         FLAG_BIT(EVENTS) | FLAG_BIT(COUNT) | FLAG_BIT(HOST) | FLAG_BIT(LIMIT) |
	         FLAG_BIT(MEMORY) | FLAG_BIT(HTML) | FLAG_BIT(PID) | FLAG_BIT(SECONDS) |
	         FLAG_BIT(TRACEPOINT) | FLAG_BIT(GATEWAY) | FLAG_BIT(RULE) | FLAG_BIT(TEXTS),
	.run = run_annotate,
	.help = "show what the kernel did for each span of a trace",
	.more =
	    "Attributes system calls, states, preemptions, page faults and waits to the spans of --spans, from a RECORDING\n"
	    "of the kernel (hone kernel record, LTTng, perf, ftrace). Without --spans they are the requests that the RECORDING itself\n"
	    "shows, by messages of TCP (--gateway, --rule). With --pid it records both first, for --seconds: requests of libhone\n"
	    "programs, with the tracepoints of --tracepoint, or else requests by their messages (--texts: with method and path of\n"
	    "HTTP/1), and the kernel; in the folder RECORDING, if one is given.\n"
	    "With --format otlp, jaeger or zipkin and --output the traces are written with the system calls as spans. --count names\n"
	    "events that are counted for each span (*page_fault*), --events what --pid records (sched,net,syscalls,faults,stacks).",
};
