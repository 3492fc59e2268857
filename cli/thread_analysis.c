/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/thread_analysis.h"

#include "cli/call.h"
#include "cli/kernel_progress.h"
#include "cli/thread_document.h"

struct thread_reading {
	struct invocation *call;
	struct kernel_names names;
	struct kernel_graph *graph;
	struct kernel_progress progress;
};

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct thread_reading *r = of;

	kernel_progress_event(&r->progress);
	return kernel_graph_take(r->graph, ev, e);
}

/* What was read, and what was odd in it. */
static json_t *
document_of(const struct thread_reading *r, const struct kernel_files_counts *n)
{
	struct kernel_graph_counts g = kernel_graph_counts(r->graph);
	uint64_t lost = n->lost > g.lost ? n->lost : g.lost;
	json_t *odd = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "lost",
	    (json_int_t)(lost > 0 ? lost : g.losses), "back", (json_int_t)g.back, "unexpected",
	    (json_int_t)g.unexpected, "unwoken", (json_int_t)g.unwoken, "open_contexts",
	    (json_int_t)g.open_contexts, "stray_contexts", (json_int_t)g.stray_contexts, "reused",
	    (json_int_t)g.reused, "without_context", (json_int_t)g.without_context, "ambiguous",
	    (json_int_t)g.ambiguous);

	for (int i = 0; i < KERNEL_ODDITIES; i++)
		if (n->odd[i].count > 0)
			json_object_set_new(
			    odd, kernel_oddity_word(i), json_integer((json_int_t)n->odd[i].count));
	return json_pack("{s:I, s:I, s:I, s:i, s:i, s:o}", "events", (json_int_t)n->events,
	    "from_ns", (json_int_t)n->first_ns, "to_ns", (json_int_t)n->last_ns, "hosts",
	    (int)n->hosts, "cpus", (int)n->cpus, "odd", odd);
}

static int
write_page(struct invocation *c, const json_t *document, struct err *e)
{
	struct buf page = { 0 };
	int rc;

	if (c->value[FLAG_HTML] == NULL)
		return 0;
	if ((rc = thread_page_write(&page, document, e)) == 0)
		rc = call_write(c, c->value[FLAG_HTML], &page, e);
	buf_release(&page);
	return rc;
}

/* The segments of the paths are for the page, and printed only if asked for. */
static void
drop_timelines(json_t *document)
{
	json_t *thread;
	size_t i;

	json_array_foreach (json_object_get(document, "threads"), i, thread)
		json_object_del(json_object_get(thread, "path"), "timeline");
}

static int
read_all(struct thread_reading *r, json_t **document, struct err *e)
{
	struct invocation *c = r->call;
	size_t memory_bytes = call_memory_bytes(c, true);
	struct kernel_files_options o = { .format = c->value[FLAG_FORMAT],
		.meta = c->value[FLAG_MAP],
		.memory_max_bytes = memory_bytes / 4,
		.take = take,
		.of = r,
		.progress = &r->progress.at };
	struct kernel_files_counts counts;
	int rc;

	if ((rc = kernel_names_new(&r->names, e)) != 0 ||
	    (rc = kernel_graph_new(&r->graph,
		 &(struct kernel_graph_options){ .memory_max_bytes = memory_bytes / 4 * 3 },
		 &r->names, e)) != 0)
		return rc;
	rc = kernel_files_read(c->arguments, c->narguments, &o, &r->names, &counts, e);
	kernel_progress_end(&r->progress);
	if (rc != 0 || (rc = kernel_graph_end(r->graph, e)) != 0)
		return rc;
	if ((*document = document_of(r, &counts)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	return thread_document(*document, r->graph, &r->names, c->value[FLAG_THREAD],
	    c->value[FLAG_SAMPLES] != NULL || c->value[FLAG_HTML] != NULL, e);
}

enum exit_code
thread_analysis(struct invocation *c)
{
	struct thread_reading r = { .call = c, .progress.call = c };
	json_t *document = NULL;
	struct err e = { 0 };
	int rc = read_all(&r, &document, &e);

	if (rc == 0)
		rc = write_page(c, document, &e);
	if (rc == 0) {
		if (c->value[FLAG_SAMPLES] == NULL)
			drop_timelines(document);
		if (c->output == &output_json)
			c->output->analysis(c->out, document);
		else
			threads_print(c->out, document);
	}
	json_decref(document);
	kernel_graph_free(r.graph);
	if (r.names.texts != NULL)
		kernel_names_release(&r.names);
	return rc == 0 ? DONE : call_failed(c, &e);
}
