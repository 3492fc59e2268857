/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/call.h"
#include "cli/kernel_progress.h"
#include "cli/kernel_verbs.h"
#include "kernel/files/ctf_writer.h"

enum { NAMES_SHOWN = 6 };

struct kernel_reading {
	struct invocation *call;
	struct kernel_ctf_writer *writer; /* NULL: nothing is written */
	struct kernel_files_counts counts;
	struct kernel_progress progress;
	struct kernel_names names;
	uint64_t written, bytes;
};

/* ---- reading ---------------------------------------------------------------- */

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct kernel_reading *r = of;

	kernel_progress_event(&r->progress);
	return r->writer != NULL ? kernel_ctf_take(r->writer, ev, e) : 0;
}

static int
read_all(struct kernel_reading *r, struct err *e)
{
	struct invocation *c = r->call;
	const struct kernel_files_options o = {
		.format = c->value[FLAG_FORMAT],
		.meta = c->value[FLAG_MAP],
		.counted = c->value[FLAG_COUNT],
		.memory_max_bytes = (size_t)c->number[FLAG_MEMORY] << 20,
		.take = take,
		.of = r,
		.progress = &r->progress.at,
	};
	const char *folder = c->value[FLAG_WRITE];
	struct err closing = { 0 };
	int rc = kernel_names_new(&r->names, e);

	if (rc == 0 && folder != NULL &&
	    (rc = kernel_ctf_open(&r->writer, folder, &r->names, NULL, e)) != 0)
		return rc;
	if (rc == 0)
		rc = kernel_files_read(
		    c->arguments + 1, c->narguments - 1, &o, &r->names, &r->counts, e);
	if (r->writer == NULL)
		return rc;
	if (rc == 0 && (rc = kernel_ctf_flush(r->writer, e)) == 0)
		kernel_ctf_written(r->writer, &r->written, &r->bytes);
	kernel_ctf_close(r->writer, &closing);
	return rc;
}

/* ---- the document ----------------------------------------------------------- */

static json_t *
kinds_json(const struct kernel_files_counts *n)
{
	json_t *kinds = json_object();

	for (int k = 0; k < KERNEL_KINDS; k++)
		json_object_set_new(
		    kinds, kernel_event_word(k), json_integer((json_int_t)n->given[k]));
	return kinds;
}

static json_t *
unused_json(struct pen *p, const struct kernel_files_counts *n)
{
	json_t *names = json_array();

	for (uint32_t i = 0; i < n->nnames; i++)
		json_array_append_new(
		    names, json_pack("{s:s, s:I}", "name", pen_clean(p, n->names[i].name), "count",
			       (json_int_t)n->names[i].count));
	return json_pack("{s:I, s:o}", "count", (json_int_t)n->unused, "names", names);
}

static json_t *
oddities_json(struct pen *p, const struct kernel_files_counts *n)
{
	json_t *all = json_array();

	for (int o = 0; o < KERNEL_ODDITIES; o++) {
		const struct kernel_first *f = &n->odd[o];

		if (f->count > 0)
			json_array_append_new(
			    all, json_pack("{s:s, s:s, s:I, s:s, s:o, s:s}", "kind",
				     kernel_oddity_word(o), "text", kernel_oddity_text(o), "count",
				     (json_int_t)f->count, "file", pen_clean(p, f->file), "offset",
				     f->placed ? json_integer((json_int_t)f->offset) : json_null(),
				     "why", pen_clean(p, f->why)));
	}
	return all;
}

static json_t *
document(struct kernel_reading *r)
{
	const struct kernel_files_counts *n = &r->counts;
	struct pen *p = r->call->out;
	json_t *hosts = json_array(), *o;

	for (uint32_t i = 0; i < texts_count(r->names.hosts); i++)
		json_array_append_new(
		    hosts, json_string(pen_clean(p, texts_get(r->names.hosts, i))));
	o = json_pack("{s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o}",
	    "ok", 1, "hosts", hosts, "cpus", (json_int_t)n->cpus, "threads", (json_int_t)n->threads,
	    "first_ns", (json_int_t)n->first_ns, "last_ns", (json_int_t)n->last_ns,
	    "wall_offset_ns", (json_int_t)n->wall_offset_ns, "events", (json_int_t)n->events,
	    "used", (json_int_t)n->used, "lost", (json_int_t)n->lost, "kinds", kinds_json(n),
	    "new_threads_woken", (json_int_t)n->given_new, "unused", unused_json(p, n), "oddities",
	    oddities_json(p, n));
	if (r->call->value[FLAG_WRITE] != NULL)
		json_object_set_new(o, "written",
		    json_pack("{s:s, s:I, s:I}", "folder", pen_clean(p, r->call->value[FLAG_WRITE]),
			"events", (json_int_t)r->written, "bytes", (json_int_t)r->bytes));
	return o;
}

/* ---- text ------------------------------------------------------------------- */

static const char *
several(struct pen *p, double n, const char *one, const char *many)
{
	return pen_printf(p, "%s %s", pen_count(p, n), n == 1 ? one : many);
}

static void
print_kinds(struct pen *p, const json_t *kinds)
{
	struct columns t;

	columns_open(&t, "lrl");
	columns_add(&t, "kind");
	columns_add(&t, "events");
	columns_add(&t, "");
	for (int k = 0; k < KERNEL_KINDS; k++) {
		double n = number_of(kinds, kernel_event_word(k));

		if (n == 0)
			continue;
		columns_add(&t, kernel_event_word(k));
		columns_add(&t, pen_count(p, n));
		columns_add(&t, kernel_event_text(k));
	}
	columns_print(&t, p);
}

static void
print_unused(struct pen *p, const json_t *unused)
{
	const json_t *names = json_object_get(unused, "names"), *name;
	const char *list = "";
	size_t i;

	if (number_of(unused, "count") == 0)
		return;
	json_array_foreach (names, i, name) {
		if (i < NAMES_SHOWN)
			list = pen_printf(p, "%s%s%s %s", list, i == 0 ? "" : ", ",
			    text_of(p, name, "name"), pen_count(p, number_of(name, "count")));
		else if (i == NAMES_SHOWN)
			list = pen_printf(p, "%s, others", list);
	}
	pen_wrap(p, "",
	    pen_printf(p, "no kind stands for %s: %s",
		several(p, number_of(unused, "count"), "event", "events"), list));
}

static void
print_oddities(struct pen *p, const json_t *all)
{
	const json_t *o;
	size_t i;

	json_array_foreach (all, i, o) {
		const char *file = text_of(p, o, "file"), *at = "";

		if (file[0] != '\0')
			at = is_null(o, "offset") ? pen_printf(p, "%s: ", file)
			                          : pen_printf(p, "%s, byte %s: ", file,
							pen_count(p, number_of(o, "offset")));
		pen_wrap(p, "",
		    pen_printf(p, "%s: %s; the first: %s%s", pen_count(p, number_of(o, "count")),
			text_of(p, o, "text"), at, text_of(p, o, "why")));
	}
}

static void
print_text(struct pen *p, const json_t *o)
{
	const json_t *hosts = json_object_get(o, "hosts"), *written = json_object_get(o, "written"),
		     *host;
	double span_s = (number_of(o, "last_ns") - number_of(o, "first_ns")) / 1e9;
	const char *list = "";
	size_t i;

	json_array_foreach (hosts, i, host) {
		const char *name = pen_clean(p, json_string_value(host));

		list = pen_printf(
		    p, "%s%s%s", list, i == 0 ? "" : ", ", name[0] != '\0' ? name : "(no name)");
	}
	pen_wrap(p, "",
	    pen_printf(p, "%s in %s, of %s, %s and %s",
		several(p, number_of(o, "events"), "event", "events"), pen_seconds(p, span_s), list,
		several(p, number_of(o, "cpus"), "CPU", "CPUs"),
		several(p, number_of(o, "threads"), "thread", "threads")));
	fputc('\n', p->out);
	print_kinds(p, json_object_get(o, "kinds"));
	fputc('\n', p->out);
	print_unused(p, json_object_get(o, "unused"));
	if (number_of(o, "lost") > 0)
		pen_wrap(p, "",
		    pen_printf(p, "the tracer lost %s",
			several(p, number_of(o, "lost"), "event", "events")));
	print_oddities(p, json_object_get(o, "oddities"));
	if (written != NULL)
		pen_wrap(p, "",
		    pen_printf(p, "%s written: %s, %s bytes", text_of(p, written, "folder"),
			several(p, number_of(written, "events"), "event", "events"),
			pen_count(p, number_of(written, "bytes"))));
}

/* ---- the action ------------------------------------------------------------- */

enum exit_code
kernel_read_run(struct invocation *c)
{
	struct kernel_reading r = { .call = c, .progress.call = c };
	struct err e = { 0 };
	json_t *o;
	int rc;

	rc = read_all(&r, &e);
	kernel_progress_end(&r.progress);
	if (rc == 0) {
		o = document(&r);
		if (c->value[FLAG_JSON] != NULL)
			output_json.done(c->out, o);
		else
			print_text(c->out, o);
		json_decref(o);
	}
	kernel_names_release(&r.names);
	return rc == 0 ? DONE : call_failed(c, &e);
}
