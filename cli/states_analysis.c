/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings of the kernel go to the execution graph, and to the requests of programs without instrumentation. If trace files are given, too,
 * the operations are their spans instead: joined with the recording by host, thread and time.
 */
#include "cli/states_analysis.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "cli/call.h"
#include "cli/kernel_progress.h"
#include "formats/reading.h"
#include "kernel/patterns/states_of_trace.h"
#include "kernel/requests/requests.h"
#include "report/baseline_files.h"
#include "report/document.h"

struct states_reading {
	struct invocation *call;
	struct kernel_names names;
	struct kernel_graph *graph;
	struct gateways *gateways;
	struct requests *requests; /* NULL: spans of trace files */
	struct reading *reading;   /* of these, or NULL */
	struct labels *labels;
	struct trace **traces;
	uint32_t ntraces, cap;
	size_t bytes, bytes_max;
	uint64_t over;        /* traces that there was no room for */
	uint64_t no_evidence; /* parts of them are missing */
	uint64_t lossy;       /* of the others, those that may lack a part */
	struct kernel_files_counts files;
	struct kernel_progress progress;
};

static int
take_event(void *of, const struct kernel_event *ev, struct err *e)
{
	struct states_reading *r = of;
	int rc;

	kernel_progress_event(&r->progress);
	if ((rc = kernel_graph_take(r->graph, ev, e)) == 0 && r->requests != NULL)
		rc = requests_event(r->requests, ev, e);
	return rc;
}

/* States are known when all events are, so traces wait until then. */
static int
take_trace(void *of, struct trace *t, struct err *e)
{
	struct states_reading *r = of;

	r->lossy += t->lossy;
	if (t->incomplete != INCOMPLETE_NONE) {
		r->no_evidence++;
		trace_free(t);
		return 0;
	}
	if (r->bytes + t->arena.total_bytes > r->bytes_max) {
		r->over++;
		trace_free(t);
		return 0;
	}
	if (!array_reserve(r->traces, r->cap, r->ntraces + 1)) {
		trace_free(t);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	r->bytes += t->arena.total_bytes;
	r->traces[r->ntraces++] = t;
	return 0;
}

static void
release(struct states_reading *r)
{
	for (uint32_t i = 0; i < r->ntraces; i++)
		trace_free(r->traces[i]);
	free(r->traces);
	requests_free(r->requests);
	reading_free(r->reading);
	gateways_free(r->gateways);
	kernel_graph_free(r->graph);
	if (r->names.texts != NULL)
		kernel_names_release(&r->names);
	labels_free(r->labels);
}

/* ---- reading ---- */

static int
read_spans(struct states_reading *r, char *const *files, int nfiles, struct err *e)
{
	struct reading_options o = { .take = take_trace,
		.ctx = r,
		.memory_max_bytes = call_memory_bytes(r->call, true) / 4,
		.format = r->call->value[FLAG_FORMAT] };
	int rc = reading_new(&r->reading, &o, r->labels, e);

	for (int i = 0; i < nfiles && rc == 0; i++)
		rc = reading_file(r->reading, files[i], e);
	return rc == 0 ? reading_end(r->reading, e) : rc;
}

static int
open_requests(struct states_reading *r, struct err *e)
{
	const char *gateways = r->call->value[FLAG_GATEWAY], *rule = r->call->value[FLAG_RULE];
	struct requests_options o = requests_defaults();
	int rc;

	if (gateways != NULL) {
		if ((r->gateways = gateways_new()) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		if ((rc = gateways_add(r->gateways, gateways, e)) != 0)
			return rc;
		o.gateways = r->gateways;
	}
	o.rule = rule != NULL && strcmp(rule, "all") == 0 ? RULE_ALL : RULE_CURRENT;
	o.take = take_trace;
	o.ctx = r;
	return requests_new(&r->requests, &o, &r->names, r->labels, e);
}

/* The recordings first, then the trace files, of `files`, which is reordered. *nkernel: how many recordings. */
static int
sort_files(char **files, int nfiles, int *nkernel, struct err *e)
{
	int n = 0;

	for (int i = 0; i < nfiles; i++)
		if (strcmp(files[i], "-") == 0 || kernel_files_is(files[i])) {
			char *swap = files[i];

			memmove(files + n + 1, files + n, (size_t)(i - n) * sizeof *files);
			files[n++] = swap;
		}
	*nkernel = n;
	return n > 0
	           ? 0
	           : err_set(e, ERR_INPUT,
			 "%s: no recording of the kernel; hone kernel record makes one, and hone(1) lists others that can be read",
			 nfiles > 0 ? files[0] : "no file");
}

static int
read_all(struct states_reading *r, char **files, int nfiles, struct err *e)
{
	size_t memory_bytes = call_memory_bytes(r->call, true);
	struct kernel_files_options o = { .memory_max_bytes = memory_bytes / 8,
		.take = take_event,
		.of = r,
		.progress = &r->progress.at };
	int rc, nkernel;

	r->bytes_max = memory_bytes / 4;
	if ((r->labels = labels_new()) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = sort_files(files, nfiles, &nkernel, e)) != 0 ||
	    (rc = kernel_names_new(&r->names, e)) != 0 ||
	    (rc = kernel_graph_new(&r->graph,
		 &(struct kernel_graph_options){ .memory_max_bytes = memory_bytes / 2 }, &r->names,
		 e)) != 0)
		return rc;
	rc = nkernel < nfiles ? read_spans(r, files + nkernel, nfiles - nkernel, e)
	                      : open_requests(r, e);
	if (rc == 0)
		rc = kernel_files_read(files, nkernel, &o, &r->names, &r->files, e);
	kernel_progress_end(&r->progress);
	if (rc == 0 && r->requests != NULL)
		rc = requests_end(r->requests, e);
	return rc == 0 ? kernel_graph_end(r->graph, e) : rc;
}

/* Of spans: the host of each node by its name; if the recording has one host only, all are of it. */
static int
hosts_of_nodes(struct states_reading *r, struct states_source *from, struct arena *a, struct err *e)
{
	const char *const *nodes = reading_nodes(r->reading);
	uint32_t *hosts, n = 0;

	for (uint32_t i = 0; i < r->ntraces; i++)
		for (uint32_t k = 0; k < r->traces[i]->nevents; k++)
			n = r->traces[i]->events[k].node < n ? n : r->traces[i]->events[k].node + 1;
	if ((hosts = arena_alloc(a, ((size_t)n + 1) * sizeof *hosts)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < n; i++)
		hosts[i] = texts_count(r->names.hosts) == 1
		               ? 0
		               : texts_find(r->names.hosts, nodes[i], strlen(nodes[i]));
	from->hosts = hosts;
	from->nhosts = n;
	return 0;
}

static bool
matches(const struct states_reading *r, const struct operations *o)
{
	const char *pattern = r->call->value[FLAG_TYPE];

	return pattern == NULL || glob_matches(pattern, o->list[0].name);
}

/* Calls `add` with the operations of each trace. */
static int
each_request(struct states_reading *r,
    int (*add)(void *of, const struct operations *o, struct err *e), void *of, struct err *e)
{
	struct states_source from = { .graph = r->graph };
	struct arena a = { 0 }, hosts = { 0 };
	int rc = r->reading != NULL ? hosts_of_nodes(r, &from, &hosts, e) : 0;

	for (uint32_t i = 0; i < r->ntraces && rc == 0; i++) {
		struct operations o;

		arena_reset(&a);
		rc = operations_of_trace(&o, r->traces[i], r->labels, &from, &a, e);
		if (rc == 0 && o.n > 0 && matches(r, &o))
			rc = add(of, &o, e);
	}
	arena_release(&a);
	arena_release(&hosts);
	return rc;
}

/* What was read, as a member of documents. */
static json_t *
source_json(const struct states_reading *r)
{
	struct kernel_graph_counts g = kernel_graph_counts(r->graph);

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "lossy", (json_int_t)r->lossy,
	    "events", (json_int_t)r->files.events, "requests", (json_int_t)r->ntraces,
	    "no_evidence", (json_int_t)r->no_evidence, "over_memory", (json_int_t)r->over, "lost",
	    (json_int_t)(r->files.lost > g.lost ? r->files.lost : g.lost), "without_context",
	    (json_int_t)g.without_context, "back", (json_int_t)g.back);
}

/* ---- the verbs ---- */

int
states_check_any(const json_t *document, const char *name, struct err *e)
{
	return states_is(document) ? states_check(document, name, e)
	                           : document_check(document, name, e);
}

bool
states_wanted(const struct invocation *c)
{
	json_t *document = NULL;
	bool ret = c->value[FLAG_BASELINE] != NULL &&
	           baseline_load_as(c->value[FLAG_BASELINE], states_check_any, &document, NULL) ==
	               0 &&
	           states_is(document);

	json_decref(document);
	return ret;
}

static int
learn(void *of, const struct operations *o, struct err *e)
{
	return states_learner_add(of, o, e);
}

static int
save(struct states_reading *r, char **files, int nfiles, json_t **document, struct err *e)
{
	struct states_options o = { .support = r->call->number[FLAG_SUPPORT],
		.seed = (uint64_t)r->call->number[FLAG_SEED],
		.memory_bytes = call_memory_bytes(r->call, true) / 2 };
	struct states_baseline *b = NULL;
	struct states_learner *l = NULL;
	json_t *made = wall_json(clock_wall());
	int rc = read_all(r, files, nfiles, e);

	if (rc == 0)
		rc = states_learner_new(&l, &o, e);
	if (rc == 0)
		rc = each_request(r, learn, l, e);
	if (rc == 0)
		rc = states_learner_finish(l, &b, e);
	if (rc == 0) {
		*document = states_json(b, json_string_value(made));
		if (*document == NULL ||
		    json_object_set_new(*document, "source", source_json(r)) != 0)
			rc = err_set(e, ERR_MEMORY, "out of memory");
	}
	json_decref(made);
	states_learner_free(l);
	states_baseline_free(b);
	return rc;
}

/* A copy of the list, since it is reordered. */
static char **
list_of(char *const *files, int nfiles, struct err *e)
{
	char **list = calloc((size_t)nfiles + 1, sizeof *list);

	if (list == NULL)
		err_set(e, ERR_MEMORY, "out of memory");
	else
		memcpy(list, files, (size_t)nfiles * sizeof *list);
	return list;
}

enum exit_code
states_save(struct invocation *c, const char *name, char *const *files, int nfiles)
{
	struct states_reading r = { .call = c, .progress.call = c };
	json_t *document = NULL;
	struct err e = { 0 };
	char **list;
	int rc;

	if (nfiles == 0)
		return call_misused(
		    c, "baseline save --states", "needs a recording of the kernel", NULL);
	list = list_of(files, nfiles, &e);
	rc = list == NULL ? ERR_MEMORY : baseline_name_check(name, &e);

	if (rc == 0)
		rc = save(&r, list, nfiles, &document, &e);
	if (rc == 0)
		rc = baseline_save_as(name, document, states_check, &e);
	if (rc == 0 && c->output == &output_text)
		states_print(c->out, document);
	else if (rc == 0)
		c->output->analysis(c->out, document);
	json_decref(document);
	release(&r);
	free(list);
	return rc == 0 ? DONE : call_failed(c, &e);
}

static int
compare_one(void *of, const struct operations *o, struct err *e)
{
	return states_comparer_add(of, o, NULL, e);
}

static int
compare(struct states_reading *r, char **files, int nfiles, const struct states_baseline *b,
    json_t **document, struct err *e)
{
	struct states_comparison *comparison = NULL;
	struct states_comparer *comparer = NULL;
	int rc = read_all(r, files, nfiles, e);

	if (rc == 0)
		rc = states_comparer_new(&comparer, b, e);
	if (rc == 0)
		rc = each_request(r, compare_one, comparer, e);
	if (rc == 0)
		rc = states_comparer_finish(comparer, &comparison, e);
	if (rc == 0 && comparison->requests == 0)
		rc = err_set(e, ERR_INPUT, "no request with operations whose states are known");
	if (rc == 0) {
		*document = states_comparison_json(comparison, r->call->value[FLAG_BASELINE]);
		if (*document == NULL ||
		    json_object_set_new(*document, "source", source_json(r)) != 0)
			rc = err_set(e, ERR_MEMORY, "out of memory");
	}
	states_comparison_free(comparison);
	states_comparer_free(comparer);
	return rc;
}

static int
write_page(struct invocation *c, const json_t *document, struct err *e)
{
	struct buf page = { 0 };
	int rc;

	if (c->value[FLAG_HTML] == NULL)
		return 0;
	if ((rc = states_page_write(&page, document, e)) == 0)
		rc = call_write(c, c->value[FLAG_HTML], &page, e);
	buf_release(&page);
	return rc;
}

enum exit_code
states_compare(struct invocation *c)
{
	struct states_reading r = { .call = c, .progress.call = c };
	struct states_baseline *b = NULL;
	json_t *baseline = NULL, *document = NULL;
	struct err e = { 0 };
	char **list;
	int rc;

	if (c->value[FLAG_DOT] != NULL)
		return call_misused(
		    c, "--dot", "is not for a comparison with a baseline of states", NULL);
	list = list_of(c->arguments, c->narguments, &e);
	rc = list == NULL ? ERR_MEMORY
	                  : baseline_load_as(c->value[FLAG_BASELINE], states_check, &baseline, &e);

	if (rc == 0)
		rc = states_read(&b, baseline, c->value[FLAG_BASELINE], &e);
	if (rc == 0)
		rc = compare(&r, list, c->narguments, b, &document, &e);
	if (rc == 0)
		rc = write_page(c, document, &e);
	if (rc == 0 && c->output == &output_text)
		states_comparison_print(c->out, document);
	else if (rc == 0)
		c->output->analysis(c->out, document);
	json_decref(baseline);
	json_decref(document);
	states_baseline_free(b);
	release(&r);
	free(list);
	return rc == 0 ? DONE : call_failed(c, &e);
}
