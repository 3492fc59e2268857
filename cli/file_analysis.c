/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for nftw(), sbrk() */
#include "cli/file_analysis.h"

#include <fnmatch.h>
#include <ftw.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/call.h"
#include "cli/kernel_traces.h"
#include "cli/progress.h"
#include "cli/trace_dag.h"
#include "cli/trace_queue.h"
#include "formats/correlate.h"
#include "formats/reading.h"
#include "mapping/map.h"
#include "report/document.h"
#include "report/request.h"

enum {
	TAKE_MS = 100,
	BAR_AFTER_MS = 300,
	POOL_KEEPS_BYTES = 32 << 20,
	POOL_BYTES = 64 << 20,
	POOL_SMALL_BYTES = 4 << 20
};

struct chosen { /* a request of the slowest */
	int64_t took_ns;
	struct trace_id id;
};

struct choosing { /* what analysis_requests() has beyond the analysis */
	const struct request_choice *choice;
	struct trace_id id;  /* of choice->trace */
	struct chosen *slow; /* a heap with the fastest first; in the second pass sorted by id */
	uint32_t nslow;
	bool second; /* pass: requests are handed out */
	take_request *take;
	void *ctx;
	uint64_t taken;
	struct arena scratch;
};

struct analysis {
	struct invocation *call;
	enum analysis_extent extent;
	char *const *files;
	int nfiles;
	struct labels *labels;
	struct bins *bins;
	struct mapping *map; /* or NULL */
	struct reading *reading;
	struct kernel_traces
	    *kernel; /* instead of reading, if all files are recordings of the kernel; or NULL */
	struct choosing *choosing; /* or NULL */
	json_t *requests;          /* graphs of single requests; NULL: none are wanted */
	struct trace_queue *queue;
	struct report *report;
	json_t *failed;           /* [{"file", "why"}]: files that cannot be read */
	struct err ended;         /* the error that ended reading, or code 0 */
	atomic_ullong done_bytes; /* size of the files read completely */
	uint64_t all_bytes;       /* size of all files; 0: unknown */
	struct mono begun;
	struct progress progress;
	double traces;
};

/* ---- the reader's thread ---- */

static int
take(void *ctx, struct trace *t, struct err *e)
{
	struct analysis *a = ctx;

	if (trace_queue_put(a->queue, t))
		return 0;
	return err_set(e, ERR_BUSY, "the analysis has ended");
}

/* for add_size(), since nftw() passes no context; analysing thread only */
static uint64_t tree_bytes;

static int
add_size(const char *path, const struct stat *st, int what, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	if (what == FTW_F)
		tree_bytes += (uint64_t)st->st_size;
	return 0;
}

/* Sets all_bytes; the size of standard input is unknown. */
static void
measure(struct analysis *a)
{
	bool known = true;

	tree_bytes = 0;
	for (int i = 0; i < a->nfiles; i++) {
		known &= strcmp(a->files[i], "-") != 0;
		nftw(a->files[i], add_size, 16, FTW_PHYS);
	}
	a->all_bytes = known ? tree_bytes : 0;
}

static void
note_failure(struct analysis *a, const char *file, const struct err *e)
{
	json_array_append_new(
	    a->failed, json_pack("{s:o, s:o}", "file", text_json(file, strlen(file)), "why",
			   text_json(e->text, strlen(e->text))));
}

/* The reading thread. A file that cannot be read is noted, and the others are read all the same. */
static void *
read_files(void *arg)
{
	struct analysis *a = arg;
	struct err e;
	struct stat st;
	int rc = a->kernel != NULL ? kernel_traces_read(a->kernel, a->files, a->nfiles, &e) : 0;

	for (int i = 0; a->kernel == NULL && i < a->nfiles && rc == 0; i++) {
		reading_ahead(a->reading, i + 1 < a->nfiles ? a->files[i + 1] : NULL);
		rc = reading_file(a->reading, a->files[i], &e);
		if (rc == ERR_INPUT || rc == ERR_SYSTEM || rc == ERR_MISSING) {
			note_failure(a, a->files[i], &e);
			rc = 0;
		}
		if (strcmp(a->files[i], "-") != 0 && stat(a->files[i], &st) == 0 &&
		    S_ISREG(st.st_mode))
			atomic_fetch_add(&a->done_bytes, (unsigned long long)st.st_size);
	}
	if (rc == 0 && a->kernel == NULL)
		rc = reading_end(a->reading, &e);
	if (rc != 0)
		a->ended = e;
	trace_queue_end(a->queue);
	return NULL;
}

/* ---- the analysing thread ---- */

static void
show_progress(struct analysis *a)
{
	struct pen *p = a->call->err;
	uint64_t at, size;
	double done, share = -1;

	if (!p->live || mono_since_ns(clock_mono(), a->begun) < BAR_AFTER_MS * INT64_C(1000000))
		return;
	if (a->kernel != NULL)
		kernel_traces_progress(a->kernel, &at, &size);
	else
		reading_progress(a->reading, &at, &size);
	done = (double)at + (double)atomic_load(&a->done_bytes);
	if (a->all_bytes > 0)
		share = done < (double)a->all_bytes ? done / (double)a->all_bytes : 1;
	progress_show(&a->progress, share, pen_printf(p, "%s traces", pen_count(p, a->traces)),
	    share < 0 ? pen_printf(p, "%s MiB", pen_count(p, done / 1048576))
		      : pen_printf(p, "%s of %s MiB",
			    pen_count(p, share * (double)a->all_bytes / 1048576),
			    pen_count(p, (double)a->all_bytes / 1048576)));
	arena_reset(&p->texts);
}

/* ---- single requests ---- */

static bool
is_faster(const struct chosen *a, const struct chosen *b)
{
	if (a->took_ns != b->took_ns)
		return a->took_ns < b->took_ns;
	return a->id.high != b->id.high ? a->id.high < b->id.high : a->id.low < b->id.low;
}

static void
sift_down(struct chosen *heap, uint32_t n)
{
	struct chosen top = heap[0];
	uint32_t at = 0;

	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && is_faster(&heap[child + 1], &heap[child]))
			child++;
		if (!is_faster(&heap[child], &top))
			break;
		heap[at] = heap[child];
	}
	heap[at] = top;
}

static void
sift_up(struct chosen *heap, uint32_t at)
{
	struct chosen new = heap[at];

	for (; at > 0 && is_faster(&new, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = new;
}

static void
note_slow(struct choosing *s, const struct trace *t)
{
	struct chosen new = { t->end_ns - t->begin_ns, { t->id_high, t->id } };

	if (s->nslow < s->choice->slowest) {
		s->slow[s->nslow] = new;
		sift_up(s->slow, s->nslow++);
	} else if (is_faster(&s->slow[0], &new)) {
		s->slow[0] = new;
		sift_down(s->slow, s->nslow);
	}
}

static int
by_id(const void *a, const void *b)
{
	const struct trace_id *x = &((const struct chosen *)a)->id,
			      *y = &((const struct chosen *)b)->id;

	return x->high != y->high ? (x->high > y->high) - (x->high < y->high)
	                          : (x->low > y->low) - (x->low < y->low);
}

static bool
is_of_type(const struct analysis *a, const struct trace *t)
{
	char name[LABEL_TEXT_MAX + 1];
	const char *pattern = a->call->value[FLAG_TYPE], *s;
	size_t len;

	if (pattern == NULL || t->type == LABEL_NONE)
		return pattern == NULL;
	s = report_type_name(a->report, t->type, &len);
	snprintf(name, sizeof name, "%.*s", (int)len, s);
	return fnmatch(pattern, name, 0) == 0;
}

static bool
is_chosen(const struct choosing *s, const struct trace *t)
{
	struct chosen key = { .id = { t->id_high, t->id } };

	if (s->choice->trace != NULL)
		return t->id == s->id.low &&
		       (t->id_high == s->id.high || s->id.high == 0 || t->id_high == 0);
	return s->choice->slowest == 0 ||
	       (s->nslow > 0 && bsearch(&key, s->slow, s->nslow, sizeof key, by_id) != NULL);
}

/* The path is as report_add() has it. A request without one is handed out all the same. */
static int
hand_out(struct analysis *a, struct trace *t, const char *const *nodes, struct err *e)
{
	struct choosing *s = a->choosing;
	struct request_facts f = {
		.trace = t, .report = a->report, .labels = a->labels, .nodes = nodes
	};
	struct critpath path;
	struct shape shape;
	json_t *request;
	int rc = critpath_extract(&path, t, a->labels, NULL, &s->scratch, e);

	if (rc == 0) {
		bins_apply(report_options(a->report)->bins, t, a->labels, &path);
		if ((rc = shape_of(&shape, &path, a->labels, &s->scratch, e)) == 0) {
			f.path = &path;
			f.shape = &shape;
		}
	}
	if (rc == 0 || rc == ERR_INPUT) {
		request = request_json(&f, &s->scratch);
		rc = request != NULL ? s->take(s->ctx, request, e)
		                     : err_set(e, ERR_MEMORY, "out of memory");
		json_decref(request);
		s->taken++;
	}
	arena_reset(&s->scratch);
	return rc;
}

static int
choose(struct analysis *a, struct trace *t, const char *const *nodes, struct err *e)
{
	struct choosing *s = a->choosing;

	if (!is_of_type(a, t))
		return 0;
	if (s->second)
		return is_chosen(s, t) ? hand_out(a, t, nodes, e) : 0;
	if (s->choice->slowest > 0)
		note_slow(s, t);
	return 0;
}

static int
add_batch(struct analysis *a, struct trace_batch *b, int rc, struct err *e)
{
	const char *const *nodes = a->kernel != NULL ? kernel_traces_nodes(a->kernel)
	                                             : reading_nodes(a->reading);

	for (uint32_t i = 0; i < b->n; i++) {
		if (a->choosing != NULL)
			rc = rc != 0 ? rc : choose(a, b->traces[i], nodes, e);
		if (a->requests != NULL && json_array_size(a->requests) < TRACE_DAGS_MAX)
			json_array_append_new(
			    a->requests, trace_dag(b->traces[i], a->labels, nodes));
		if (rc == 0 && (a->choosing == NULL || !a->choosing->second))
			rc = report_add(a->report, b->traces[i], nodes, e);
		trace_free(b->traces[i]);
	}
	a->traces += b->n;
	return rc;
}

static int
take_all(struct analysis *a, struct err *e)
{
	struct trace_batch *b;
	struct mono shown = a->begun;
	bool over = false;
	int rc = 0;

	while (!over) {
		if ((b = trace_queue_take(a->queue, TAKE_MS, &over)) != NULL &&
		    (rc = add_batch(a, b, rc, e)) != 0)
			trace_queue_close(a->queue);
		if (mono_since_ns(clock_mono(), shown) > TAKE_MS * INT64_C(1000000)) {
			shown = clock_mono();
			show_progress(a);
		}
	}
	return rc;
}

static int
read_and_add(struct analysis *a, struct err *e)
{
	pthread_t reader;
	int rc;

	progress_open(&a->progress, a->call->err);
	if (pthread_create(&reader, NULL, read_files, a) != 0)
		return err_set(e, ERR_SYSTEM, "cannot start a thread to read files");
	rc = take_all(a, e);
	pthread_join(reader, NULL);
	if (a->progress.open)
		progress_close(&a->progress);
	if (rc == 0 && a->ended.code != 0) {
		*e = a->ended;
		rc = e->code;
	}
	return rc;
}

/* ---- the document ---- */

static const char *
skip_word(enum skip s)
{
	static const char *const words[SKIPS] = {
#define X(name, word, what) [SKIP_##name] = word,
#include "formats/skips.tbl.h"
#undef X
	};

	return words[s];
}

static json_t *
skipped_json(const struct reading_counts *n, const struct report_counts *r)
{
	json_t *all = json_array();

	for (int i = 0; i < SKIPS; i++) {
		const struct skipped *s = &n->skipped[i];

		if (s->count > 0)
			json_array_append_new(
			    all, json_pack("{s:s, s:I, s:o, s:o, s:o}", "reason",
				     skip_word((enum skip)i), "count", (json_int_t)s->count, "file",
				     s->file[0] != '\0' ? text_json(s->file, strlen(s->file))
							: json_null(),
				     "offset",
				     s->placed ? json_integer((json_int_t)s->offset) : json_null(),
				     "why", text_json(s->why, strlen(s->why))));
	}
	if (r->pathless > 0)
		json_array_append_new(
		    all, json_pack("{s:s, s:I, s:n, s:n, s:o}", "reason", skip_word(SKIP_PATHLESS),
			     "count", (json_int_t)r->pathless, "file", "offset", "why",
			     text_json(r->pathless_why, strlen(r->pathless_why))));
	if (r->untyped > 0)
		json_array_append_new(
		    all, json_pack("{s:s, s:I, s:n, s:n, s:s}", "reason", "untyped", "count",
			     (json_int_t)r->untyped, "file", "offset", "why",
			     "traces beyond the request type limit"));
	return all;
}

static json_t *
source_json(const struct analysis *a)
{
	struct reading_counts n;
	struct report_counts r;
	json_t *files = json_array(), *skipped;

	reading_counts(a->reading, &n);
	report_counts(a->report, &r);
	skipped = skipped_json(&n, &r);
	if (a->kernel != NULL) {
		n.files = (uint64_t)a->nfiles;
		n.events = kernel_traces_events(a->kernel);
		n.traces = kernel_traces_made(a->kernel);
		kernel_traces_skipped(a->kernel, skipped);
	}
	for (int i = 0; i < a->nfiles; i++)
		json_array_append_new(files, text_json(a->files[i], strlen(a->files[i])));
	return json_pack(
	    "{s:o, s:b, s:O, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}, s:o}",
	    "files", files, "live", 0, "failed", a->failed, "counts", "files", (json_int_t)n.files,
	    "files_failed", (json_int_t)n.files_failed, "spans", (json_int_t)n.spans, "spans_used",
	    (json_int_t)n.spans_used, "events", (json_int_t)n.events, "traces",
	    (json_int_t)n.traces, "passed_over", (json_int_t)r.passed_over, "corrected",
	    (json_int_t)n.skipped[SKIP_SKEW].count, "moved", (json_int_t)r.moved, "other_groups",
	    (json_int_t)r.other, "collisions", (json_int_t)r.collisions, "inexact",
	    (json_int_t)r.inexact, "skipped", skipped);
}

static void
print_failures(const struct analysis *a)
{
	struct pen *p = a->call->err;
	size_t i;
	json_t *f;

	json_array_foreach (a->failed, i, f) {
		const char *file = text_of(p, f, "file"), *why = text_of(p, f, "why");

		bool named = strcmp(file, "-") == 0 || strstr(why, file) != NULL;

		fprintf(p->out, "hone: %s%s%s\n", named ? "" : file, named ? "" : ": ", why);
	}
}

/* The error for an input without a usable trace: the most frequent reason why data was not used. */
static int
fail_without_trace(struct analysis *a, const struct report_counts *r, struct err *e)
{
	static const char *const whats[SKIPS] = {
#define X(name, word, what) [SKIP_##name] = what,
#include "formats/skips.tbl.h"
#undef X
	};
	struct reading_counts n;
	const struct skipped *most;

	reading_counts(a->reading, &n);
	most = &n.skipped[SKIP_FILE + 1];
	for (const struct skipped *s = most; s < n.skipped + SKIPS; s++)
		if (s->count > most->count)
			most = s;
	if (r->pathless > 0 || r->passed_over > 0)
		return err_set(e, ERR_INPUT, "no trace could be analysed%s%s",
		    r->passed_over > 0 ? ": none is of a type that matches --type" : "",
		    r->pathless > 0 ? ": no trace has a path from its end to its begin" : "");
	if (a->kernel != NULL)
		return err_set(e, ERR_INPUT,
		    "no trace could be analysed: no request is in the %llu kernel events; they need messages that are sent and received (hone kernel record has them), and --gateway says who begins requests",
		    (unsigned long long)kernel_traces_events(a->kernel));
	if (most->count == 0)
		return err_set(e, ERR_INPUT, "no trace could be analysed");
	return err_set(e, ERR_INPUT, "no trace could be analysed: %llu %s; first%s%s%s: %s",
	    (unsigned long long)most->count, whats[most - n.skipped],
	    most->file[0] != '\0' ? " " : "", most->file,
	    most->placed
		? pen_printf(a->call->err, " at byte %llu", (unsigned long long)most->offset)
		: "",
	    most->why);
}

static int
judge(struct analysis *a, json_t **document, struct err *e)
{
	struct document_options o = {
		.made = clock_wall(), .samples = a->extent == ANALYSIS_SAMPLES, .label = LABEL_NONE
	};
	struct report_counts n;
	int rc;

	print_failures(a);
	report_counts(a->report, &n);
	if (n.traces == 0)
		return fail_without_trace(a, &n, e);
	if ((rc = report_judge(a->report, e)) != 0)
		return rc;
	o.source = source_json(a);
	*document = document_new(a->report, &o);
	if (*document != NULL && a->requests != NULL)
		json_object_set(*document, "requests", a->requests);
	return *document != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}

/* ---- the whole analysis ---- */

static int
check_format(const char *name, struct err *e)
{
	const struct format *const *f = formats;
	char names[128];

	while (name != NULL && *f != NULL && strcmp((*f)->name, name) != 0)
		f++;
	return name == NULL || *f != NULL || kernel_traces_format(name)
	           ? 0
	           : err_set(e, ERR_INPUT, "unknown format; known are %s; ftrace and psv",
			 formats_names(names, sizeof names));
}

static int
check_bins(const char *const *rules, struct err *e)
{
	struct bins *b = bins_new();
	int rc = b != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");

	for (; rc == 0 && *rules != NULL; rules++)
		rc = bins_add(b, *rules, e);
	bins_free(b);
	return rc;
}

enum exit_code
analysis_check(struct invocation *c)
{
	const char *correlate = c->value[FLAG_CORRELATE], *flag = "--format",
		   *value = c->value[FLAG_FORMAT];
	struct err e;
	int rc = check_format(value, &e);

	if (rc == 0 && correlate != NULL && (rc = correlate_check(correlate, &e)) != 0) {
		flag = "--correlate";
		value = correlate;
	}
	if (rc == 0 &&
	    (rc = kernel_traces_check(c->value[FLAG_GATEWAY], c->value[FLAG_RULE], &flag, &e)) != 0)
		value = strcmp(flag, "--rule") == 0 ? c->value[FLAG_RULE] : "";
	if (rc == 0 && (rc = check_bins(c->bins, &e)) != 0) {
		flag = "--bin";
		value = "";
	}
	if (rc == 0)
		return call_either(c, FLAG_MAP, FLAG_CORRELATE);
	fprintf(c->err->out, "hone: %s%s%s: %s\n", flag, value[0] != '\0' ? " " : "",
	    pen_clean(c->err, value), pen_clean(c->err, e.text));
	return MISUSED;
}

/* Sets a->kernel if the files are recordings of the kernel, and nothing says that they are to be read as something else. */
static int
open_kernel(struct analysis *a, size_t memory_bytes, struct err *e)
{
	struct invocation *c = a->call;
	struct kernel_traces_options o = { .gateways = c->value[FLAG_GATEWAY],
		.format = c->value[FLAG_FORMAT],
		.meta = c->value[FLAG_MAP],
		.counted = c->value[FLAG_COUNT],
		.all = c->value[FLAG_RULE] != NULL && strcmp(c->value[FLAG_RULE], "all") == 0,
		.memory_max_bytes = memory_bytes,
		.take = take,
		.ctx = a };
	bool some;

	if (c->value[FLAG_FORMAT] != NULL || c->value[FLAG_MAP] != NULL ||
	    c->value[FLAG_CORRELATE] != NULL)
		return 0;
	if (!kernel_traces_are(a->files, a->nfiles, &some))
		return some
		           ? err_set(e, ERR_INPUT,
				 "recordings of the kernel cannot be analysed together with other traces")
		           : 0;
	return kernel_traces_new(&a->kernel, &o, a->labels, e);
}

/* Of a reader, for the pass that begins: a quarter of the memory for spans, a sixteenth for names. */
static int
open_reading(struct analysis *a, struct err *e)
{
	struct invocation *c = a->call;
	size_t memory_bytes = (size_t)c->number[FLAG_MEMORY] << 20;
	struct reading_options o = { .memory_max_bytes = memory_bytes / 4,
		.names_max_bytes = memory_bytes / 16,
		.format = a->kernel != NULL ? NULL : c->value[FLAG_FORMAT],
		.correlate = c->value[FLAG_CORRELATE],
		.map = a->map,
		.take = take,
		.ctx = a };

	return reading_new(&a->reading, &o, a->labels, e);
}

/* Five eighths of the memory are for groups, a quarter for spans of incomplete traces, an eighth for
 * names and their labels. */
static int
open_all(struct analysis *a, struct err *e)
{
	struct invocation *c = a->call;
	size_t memory_bytes = (size_t)c->number[FLAG_MEMORY] << 20;
	struct report_options ro = report_defaults();
	int rc = 0;

	a->labels = labels_new();
	a->bins = bins_new();
	a->queue = trace_queue_new();
	a->failed = json_array();
	if (a->labels == NULL || a->bins == NULL || a->queue == NULL || a->failed == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = open_kernel(a, memory_bytes / 4, e)) != 0)
		return rc;
	if (c->value[FLAG_MAP] != NULL && a->kernel == NULL)
		rc = map_load(&a->map, c->value[FLAG_MAP], e);
	for (int i = 0; c->bins[i] != NULL && rc == 0; i++)
		rc = bins_add(a->bins, c->bins[i], e);
	if (rc != 0)
		return rc;
	ro.conditions.cv_max = c->number[FLAG_CV];
	ro.conditions.confidence = c->number[FLAG_CONFIDENCE];
	ro.conditions.traces_min = (uint32_t)c->number[FLAG_MIN_TRACES];
	ro.memory_max_bytes = memory_bytes / 8 * 5;
	if (a->extent == ANALYSIS_TEXT) {
		ro.calls_max = 0;
		ro.details = PROBLEMS_SHOWN;
	}
	ro.seed = (uint64_t)c->number[FLAG_SEED];
	ro.type = c->value[FLAG_TYPE];
	ro.ignore = c->ignore[0] != NULL ? c->ignore : NULL;
	ro.bins = c->bins[0] != NULL ? a->bins : NULL;
	ro.bin_rules = c->bins[0] != NULL ? c->bins : NULL;
	if ((a->report = report_new(&ro, a->labels)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = open_reading(a, e)) != 0)
		return rc;
	if (c->value[FLAG_DOT] != NULL || a->extent == ANALYSIS_SAMPLES)
		a->requests = json_array();
	return 0;
}

/*
 * Traces are allocated on one thread and freed on another, so one malloc() arena reuses their
 * memory soonest. The heap of a long input gets huge pages of 2 MiB where the system provides them:
 * page faults of 4 KiB took a tenth of the run time. A short input does not reach that part of the
 * heap.
 */
static void
set_up_pool(void)
{
	const uintptr_t page = 2 << 20;
	uintptr_t from, end;
	void *first;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, POOL_BYTES + POOL_KEEPS_BYTES);
	mallopt(M_MMAP_THRESHOLD, POOL_KEEPS_BYTES / 8);
	mallopt(M_TOP_PAD, POOL_BYTES);
	first = malloc(POOL_SMALL_BYTES / 2);
	mallopt(M_TOP_PAD, 128 << 10);
	from = ((uintptr_t)first + POOL_SMALL_BYTES + page - 1) & ~(page - 1);
	end = (uintptr_t)sbrk(0) & ~(page - 1);
	if (first != NULL && from < end && end - from <= POOL_BYTES)
		madvise((void *)from, end - from, MADV_HUGEPAGE);
	free(first);
}

static void
close_all(struct analysis *a)
{
	reading_free(a->reading);
	kernel_traces_free(a->kernel);
	json_decref(a->requests);
	map_free(a->map);
	trace_queue_free(a->queue);
	report_free(a->report);
	bins_free(a->bins);
	labels_free(a->labels);
	json_decref(a->failed);
}

int
analysis_run(struct invocation *c, char *const *files, int nfiles, enum analysis_extent extent,
    json_t **document, struct err *e)
{
	struct analysis a = {
		.call = c, .files = files, .nfiles = nfiles, .extent = extent, .begun = clock_mono()
	};
	int rc;

	set_up_pool();
	rc = open_all(&a, e);
	measure(&a);
	if (rc == 0)
		rc = read_and_add(&a, e);
	if (rc == 0)
		rc = judge(&a, document, e);
	close_all(&a);
	return rc;
}

/* The first pass, and what it says of the groups. */
static int
read_groups(struct analysis *a, struct err *e)
{
	struct report_counts n;
	int rc = read_and_add(a, e);

	if (rc != 0)
		return rc;
	print_failures(a);
	report_counts(a->report, &n);
	if (n.traces == 0)
		return fail_without_trace(a, &n, e);
	return report_judge(a->report, e);
}

/* The second pass: the same labels, so that a request finds its group. */
static int
read_again(struct analysis *a, struct err *e)
{
	struct choosing *s = a->choosing;
	int rc;

	reading_free(a->reading);
	kernel_traces_free(a->kernel);
	trace_queue_free(a->queue);
	a->reading = NULL;
	a->kernel = NULL;
	a->traces = 0;
	a->ended = (struct err){ 0 };
	atomic_store(&a->done_bytes, 0);
	a->begun = clock_mono();
	if (s->nslow > 0)
		qsort(s->slow, s->nslow, sizeof *s->slow, by_id);
	s->second = true;
	if ((a->queue = trace_queue_new()) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = open_kernel(a, ((size_t)a->call->number[FLAG_MEMORY] << 20) / 4, e)) != 0 ||
	    (rc = open_reading(a, e)) != 0 || (rc = read_and_add(a, e)) != 0)
		return rc;
	if (s->taken > 0)
		return 0;
	return s->choice->trace != NULL
	           ? err_set(e, ERR_MISSING, "no file has the trace %s", s->choice->trace)
	           : err_set(e, ERR_MISSING, "no request is as chosen");
}

int
analysis_requests(struct invocation *c, char *const *files, int nfiles,
    const struct request_choice *choice, take_request *take_it, void *ctx, struct err *e)
{
	struct choosing s = { .choice = choice, .take = take_it, .ctx = ctx };
	struct analysis a = { .call = c,
		.files = files,
		.nfiles = nfiles,
		.extent = ANALYSIS_DOCUMENT,
		.begun = clock_mono(),
		.choosing = &s };
	int rc = 0;

	for (int i = 0; i < nfiles; i++)
		if (strcmp(files[i], "-") == 0)
			return err_set(e, ERR_INPUT, "standard input cannot be read twice");
	if (choice->trace != NULL)
		s.id = trace_id_of(choice->trace, strlen(choice->trace));
	s.slow = calloc((size_t)choice->slowest + 1, sizeof *s.slow);
	if (s.slow == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	set_up_pool();
	rc = open_all(&a, e);
	measure(&a);
	if (rc == 0 && (rc = read_groups(&a, e)) == 0)
		rc = read_again(&a, e);
	close_all(&a);
	arena_release(&s.scratch);
	free(s.slow);
	return rc;
}
