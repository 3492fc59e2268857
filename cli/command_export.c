/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone export: requests of honed or of trace files, with what Hone knows about them, in formats of other tools: to a file, or to a back end. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/shared_object.h"
#include "cli/call.h"
#include "cli/client.h"
#include "cli/export/export_formats.h"
#include "cli/export/push.h"
#include "cli/file_analysis.h"

struct export
{
	struct invocation *call;
	struct request_choice choice;
	char *const *files;
	int nfiles;
	const char *format;
	FILE *to;
	struct export_sink *sink; /* NULL: with --json, requests are printed as they are */
	uint64_t requests, spans, left_off, too_large;
	struct rng rng;
	struct arena arena;
};

/* ---- the command line ---- */

static bool
is_trace_id(const char *s)
{
	size_t len = strlen(s);

	return (len == 16 || len == 32) && strspn(s, "0123456789abcdefABCDEF") == len &&
	       strspn(s, "0") < len;
}

static enum exit_code
choose(struct export *x)
{
	struct invocation *c = x->call;
	bool some = c->value[FLAG_SLOWEST] != NULL || c->value[FLAG_ALL] != NULL;
	enum exit_code code = call_either(c, FLAG_SLOWEST, FLAG_ALL);

	if (code != DONE)
		return code;
	x->files = c->arguments;
	x->nfiles = c->narguments;
	x->choice.slowest = c->value[FLAG_SLOWEST] != NULL ? (uint32_t)c->number[FLAG_SLOWEST] : 0;
	if (some)
		return DONE;
	if (c->narguments == 0)
		return call_misused(
		    c, "export", "needs the id of a trace, --slowest N or --all", NULL);
	if (!is_trace_id(c->arguments[0]))
		return call_misused(c, c->arguments[0],
		    "is no trace id (16 or 32 hex digits, not 0); of files say also --all or --slowest N",
		    NULL);
	x->choice.trace = x->files[0];
	x->files++;
	x->nfiles--;
	return DONE;
}

static enum exit_code
check_format(struct export *x)
{
	struct invocation *c = x->call;
	const char *format = c->value[FLAG_FORMAT], *all = "";
	bool json = c->value[FLAG_JSON] != NULL, push = c->value[FLAG_TO] != NULL;

	x->format = format != NULL ? format : "otlp";
	for (const struct export_format *f = export_formats; f->name != NULL; f++)
		all = pen_printf(c->err, "%s%s%s", all,
		    f == export_formats ? ""
		    : f[1].name != NULL ? ", "
					: " or ",
		    f->name);
	if (export_format(x->format) == NULL)
		return call_misused(c, pen_printf(c->err, "--format %s", format),
		    pen_printf(c->err, "must be %s", all), NULL);
	if (push && !push_knows(x->format))
		return call_misused(c, pen_printf(c->err, "--to with --format %s", x->format),
		    "only otlp and zipkin can be sent", NULL);
	if (push && c->value[FLAG_OUTPUT] != NULL)
		return call_either(c, FLAG_TO, FLAG_OUTPUT);
	if (json && !push && format != NULL)
		return call_either(c, FLAG_FORMAT, FLAG_JSON);
	return DONE;
}

/* ---- taking requests ---- */

static int
open_output(struct export *x, struct err *e)
{
	const char *path = x->call->value[FLAG_OUTPUT];
	bool here = path == NULL || strcmp(path, "-") == 0;

	if (here && isatty(STDOUT_FILENO) && strcmp(x->format, "pprof") == 0 &&
	    x->call->value[FLAG_JSON] == NULL)
		return err_set(e, ERR_INPUT,
		    "a profile is no text for a terminal: --output FILE writes it to a file");
	if ((x->to = here ? x->call->out->out : fopen(path, "w")) == NULL)
		return err_errno(e, "%s", path);
	return x->call->value[FLAG_JSON] != NULL
	           ? 0
	           : export_format(x->format)->open(&x->sink, x->to, e);
}

static void
print_request(struct export *x, const json_t *request)
{
	fputs(x->requests > 0 ? ",\n" : "{\"requests\": [\n", x->to);
	json_dumpf(request, x->to, JSON_COMPACT | JSON_PRESERVE_ORDER);
}

static int
take(void *ctx, const json_t *request, struct err *e)
{
	struct export *x = ctx;
	struct exported made;
	int rc;

	/* Nothing is written before there is something to write. */
	if (x->call->value[FLAG_TO] == NULL && x->to == NULL && (rc = open_output(x, e)) != 0)
		return rc;
	rc = exported_of(&made, request, e);
	if (rc == 0 && x->sink == NULL)
		print_request(x, request);
	else if (rc == 0)
		rc = x->sink->put(x->sink, &made, e);
	x->requests++;
	x->spans += made.n;
	x->left_off += made.left_off;
	exported_release(&made);
	return rc;
}

/* All that honed has, in answers of several requests each. */
static int
take_live(struct export *x, struct err *e)
{
	struct invocation *c = x->call;
	struct client *client = NULL;
	json_t *answer = NULL, *request;
	double left = 1;
	size_t i, skip = 0;
	int rc;

	if ((rc = call_connect(c, &client, e)) < 0)
		return rc;
	while (rc == 0 && left > 0) {
		json_t *question = json_pack("{s:s, s:s*, s:s*, s:I}", "ask", "requests", "trace",
		    x->choice.trace, "type", c->value[FLAG_TYPE], "skip", (json_int_t)skip);

		if (question != NULL && x->choice.slowest > 0)
			json_object_set_new(question, "limit", json_integer(x->choice.slowest));
		if ((rc = client_ask(client, question, &answer, e)) == 0) {
			json_array_foreach (json_object_get(answer, "requests"), i, request) {
				if (rc == 0)
					rc = take(x, request, e);
			}
			left = i > 0 ? number_of(answer, "left") : 0;
			skip += i;
			x->too_large = (uint64_t)number_of(answer, "too_large");
		}
		json_decref(question);
		json_decref(answer);
		answer = NULL;
	}
	client_close(client);
	if (rc == 0 && x->requests == 0)
		return err_set(e, ERR_MISSING,
		    "honed has no complete request yet; hone status shows what it sees");
	return rc;
}

static int
take_all(struct export *x, struct err *e)
{
	struct invocation *c = x->call;

	if (x->nfiles == 0)
		return take_live(x, e);
	c->value[FLAG_FORMAT] = NULL; /* of the files: by their content */
	return analysis_requests(c, x->files, x->nfiles, &x->choice, take, x, e);
}

/* ---- to a file ---- */

static void
tell_left_off(const struct export *x)
{
	FILE *err = x->call->err->out;

	if (x->left_off > 0)
		fprintf(err,
		    "hone: export: %llu attributes beyond the limit of %d of a span were left out\n",
		    (unsigned long long)x->left_off, (int)EXPORTED_ATTRIBUTES_MAX);
	if (x->too_large > 0)
		fprintf(err, "hone: export: honed did not keep %llu requests of over 2 MiB\n",
		    (unsigned long long)x->too_large);
}

static int
close_output(struct export *x, int rc, struct err *e)
{
	const char *path = x->call->value[FLAG_OUTPUT];
	struct err closing = { 0 };
	int closed = 0;

	if (x->sink != NULL)
		closed = x->sink->close(x->sink, &closing);
	else if (x->to != NULL && rc == 0)
		fputs("\n]}\n", x->to);
	if (x->to != NULL && (fflush(x->to) != 0 || ferror(x->to)) && closed == 0)
		closed = err_errno(&closing, "cannot be written");
	if (x->to != NULL && x->to != x->call->out->out && fclose(x->to) != 0 && closed == 0)
		closed = err_errno(&closing, "cannot be written");
	if (rc != 0 || closed == 0)
		return rc;
	*e = closing;
	if (path != NULL)
		err_prefix(e, "%s", path);
	return closed;
}

static enum exit_code
to_file(struct export *x)
{
	struct invocation *c = x->call;
	const char *path = c->value[FLAG_OUTPUT];
	struct err e = { 0 };
	int rc = take_all(x, &e);

	if ((rc = close_output(x, rc, &e)) != 0)
		return call_failed(c, &e);
	tell_left_off(x);
	if (path != NULL && strcmp(path, "-") != 0)
		fprintf(c->out->out, "%s: %s requests, %s spans\n", pen_clean(c->out, path),
		    pen_count(c->out, (double)x->requests), pen_count(c->out, (double)x->spans));
	return DONE;
}

/* ---- to a back end ---- */

static void
wait_ms(void *ctx, int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	(void)ctx;
	while (nanosleep(&t, &t) != 0)
		;
}

static double
random_share(void *ctx)
{
	struct export *x = ctx;

	return rng_unit(&x->rng);
}

static int
load_push(const struct push_calls **ret, struct err *e)
{
	void *found;
	int rc = shared_object_symbol(
	    &found, "push.so", "push_calls", "cannot load push.so, which uses libcurl", e);

	if (rc == 0)
		*ret = found;
	return rc;
}

static const char *
environment(const char *of_traces, const char *of_all)
{
	const char *s = getenv(of_traces);

	return s != NULL && s[0] != '\0' ? s : getenv(of_all);
}

/* Of the variables of OpenTelemetry's specification ("OpenTelemetry Protocol Exporter"). */
static int
open_push(struct export *x, struct push_options *o, const char *url, struct err *e)
{
	const char *headers[PUSH_HEADERS_MAX + 1] = { NULL };
	const char *list = environment(
	    "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
	const char *ca = environment(
	    "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE");
	int rc = 0;

	if (list != NULL && (rc = push_headers(headers, list, &x->arena, e)) != 0) {
		err_prefix(e, "OTEL_EXPORTER_OTLP_HEADERS");
		return rc;
	}
	if ((rc = load_push(&o->calls, e)) != 0)
		return rc;
	return o->calls->open(&o->connection, url, headers, ca != NULL && ca[0] != '\0' ? ca : NULL,
	    x->call->timeout_ms, e);
}

static void
print_pushed(struct export *x, const char *url, const struct push_counts *n)
{
	struct pen *p = x->call->out;
	json_t *j;

	if (x->call->value[FLAG_JSON] != NULL) {
		j = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "to", url,
		    "requests", (json_int_t)x->requests, "spans", (json_int_t)n->spans, "batches",
		    (json_int_t)n->batches, "bytes", (json_int_t)n->bytes, "retries",
		    (json_int_t)n->retries, "rejected", (json_int_t)n->rejected, "dropped",
		    (json_int_t)n->dropped, "why", n->why);
		output_json.done(p, j);
		json_decref(j);
		return;
	}
	fprintf(p->out,
	    "%s: %s spans of %s requests, in %s batches of %.1f kB in all; %s retries\n",
	    pen_clean(p, url), pen_count(p, (double)n->spans), pen_count(p, (double)x->requests),
	    pen_count(p, (double)n->batches), (double)n->bytes / 1e3,
	    pen_count(p, (double)n->retries));
}

static enum exit_code
to_back_end(struct export *x)
{
	struct invocation *c = x->call;
	struct push_counts n = { 0 };
	struct push_options o = {
		.format = x->format, .wait = wait_ms, .random = random_share, .ctx = x, .counts = &n
	};
	struct err e = { 0 }, closing;
	const char *url;
	int rc;

	if ((rc = push_url(&url, c->value[FLAG_TO], x->format, &x->arena, &e)) == ERR_INPUT)
		return call_misused(
		    c, pen_printf(c->err, "--to %s", c->value[FLAG_TO]), e.text, NULL);
	rng_seed(&x->rng, (uint64_t)clock_mono().ns ^ (uint64_t)getpid());
	if (rc == 0 && (rc = open_push(x, &o, url, &e)) == 0 &&
	    (rc = push_open(&x->sink, &o, &e)) == 0) {
		rc = take_all(x, &e);
		if (x->sink->close(x->sink, &closing) != 0 && rc == 0) {
			e = closing;
			rc = e.code;
		}
	}
	if (o.connection != NULL)
		o.calls->close(o.connection);
	if (rc == 0 || n.batches > 0)
		print_pushed(x, url, &n);
	if (rc != 0)
		return call_failed(c, &e);
	tell_left_off(x);
	if (n.rejected + n.dropped > 0)
		fprintf(c->err->out,
		    "hone: export: %llu spans were rejected by the back end and %llu in %llu batches dropped; the first because: %s\n",
		    (unsigned long long)n.rejected, (unsigned long long)n.dropped,
		    (unsigned long long)n.dropped_batches, pen_clean(c->err, n.why));
	return n.rejected + n.dropped > 0 ? FAILED : DONE;
}

static enum exit_code
run_export(struct invocation *c)
{
	struct export x = { .call = c };
	enum exit_code code;

	c->type = NULL; /* the argument is no request type */
	if ((code = choose(&x)) == DONE && (code = check_format(&x)) == DONE) {
		const char *format = c->value[FLAG_FORMAT];

		c->value[FLAG_FORMAT] = NULL;
		code = analysis_check(c);
		c->value[FLAG_FORMAT] = format;
	}
	if (code == DONE)
		code = c->value[FLAG_TO] != NULL ? to_back_end(&x) : to_file(&x);
	arena_release(&x.arena);
	return code;
}

const struct command command_export = {
	.name = "export",
	.arguments = "[TRACE] [FILE...]",
	.arguments_min = 0,
	.arguments_max = INT_MAX,
	.flags = FLAGS_ASK | FLAGS_ANALYSE | FLAG_BIT(SLOWEST) | FLAG_BIT(ALL) | FLAG_BIT(OUTPUT) |
	         FLAG_BIT(TO),
	.run = run_export,
	.help = "give requests to other tools, with what Hone knows about them",
	.more =
	    "Writes requests that the controller keeps (the slowest of each type, and a sample of all) or, with FILE, requests of\n"
	    "trace files: one by its TRACE id, the --slowest, or --all. Formats: otlp, zipkin and jaeger (spans with attributes hone.*),\n"
	    "chrome (for Perfetto and speedscope), folded and pprof (stacks of the critical path). --to sends otlp or zipkin to a back end,\n"
	    "with the headers of OTEL_EXPORTER_OTLP_HEADERS; the exit status is 1 if it did not take all.",
};
