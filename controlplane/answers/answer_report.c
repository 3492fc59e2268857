/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of all traffic, as the analysis document. */
#include "controlplane/answers/answer_inside.h"

#include <stdio.h>
#include <string.h>

static void
add_skipped(json_t *all, const char *reason, uint64_t count, const char *why)
{
	if (count > 0)
		json_array_append_new(
		    all, json_pack("{s:s, s:I, s:n, s:n, s:o}", "reason", reason, "count",
			     (json_int_t)count, "file", "offset", "why", answer_text(why)));
}

static json_t *
source_json(const struct engine *g)
{
	struct assemble_counts n;
	struct report_counts r;
	json_t *skipped = json_array();

	engine_counts(g, &n);
	report_counts(engine_parts_of(g)->live.report, &r);
	add_skipped(skipped, "pathless", r.pathless, r.pathless_why);
	add_skipped(skipped, "untyped", r.untyped, "");
	return json_pack("{s:[], s:b, s:o, s:[], s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:o}", "files",
	    "live", 1, "since", wall_json(engine_parts_of(g)->live.since), "failed", "counts",
	    "events", (json_int_t)(n.used - engine_parts_of(g)->live.used_before), "traces",
	    (json_int_t)r.traces, "moved", (json_int_t)r.moved, "other_groups", (json_int_t)r.other,
	    "collisions", (json_int_t)r.collisions, "inexact", (json_int_t)r.inexact, "skipped",
	    skipped);
}

/* ---- what diagnoses saw below the tracepoints ---- */

static bool
is_text(const json_t *o, const char *key, const char *text)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL && strcmp(s, text) == 0;
}

/* The list's first object that has this text there; or NULL. */
static json_t *
with_text(const json_t *list, const char *key, const char *text)
{
	json_t *o;
	size_t i;

	json_array_foreach (list, i, o)
		if (is_text(o, key, text))
			return o;
	return NULL;
}

static json_t *
edge_between(const json_t *group, const char *from, const char *to)
{
	json_t *edge;
	size_t i;

	json_array_foreach (json_object_get(group, "edges"), i, edge)
		if (is_text(edge, "from", from) && is_text(edge, "to", to))
			return edge;
	return NULL;
}

/* The edge of the verdict, or of the nearest hypothesis above it that the group has; NULL: it has none. */
static json_t *
edge_around(const json_t *group, const struct forest *f, const struct verdict *v)
{
	json_t *edge = edge_between(group, v->from, v->to);

	for (const struct hypothesis *h = forest_get(f, v->hypothesis); h != NULL && edge == NULL;
	     h = h->parent != 0 ? forest_get(f, h->parent) : NULL)
		edge = edge_between(group, h->edge_from, h->edge_to);
	return edge;
}

static int
add_verdict(json_t *type, const struct forest *f, const struct verdict *v)
{
	const struct hypothesis *root = answer_root(f, forest_get(f, v->hypothesis));
	char key[33];
	json_t *edge, *below;

	if (root == NULL)
		return 0;
	snprintf(key, sizeof key, "%016llx%016llx", (unsigned long long)root->group_key[0],
	    (unsigned long long)root->group_key[1]);
	edge = edge_around(with_text(json_object_get(type, "groups"), "group", key), f, v);
	if (edge == NULL)
		return 0;
	if ((below = answer_differential(v)) == NULL)
		return ERR_MEMORY;
	if (json_is_object(below)) {
		json_object_set_new(below, "run", json_integer((json_int_t)v->run));
		json_object_set_new(below, "from", answer_text(v->from));
		json_object_set_new(below, "to", answer_text(v->to));
		json_object_set(edge, "below", below);
	}
	json_decref(below);
	return 0;
}

/* Gives edges of the document member `below` (docs/report.md), of diagnoses since that time: in the group that the diagnosis began with the
 * edge of its verdict, else the smallest one around it that its search had. O(runs + edges). ERR_MEMORY. */
static int
add_below(json_t *document, const struct forest *f, struct wall since, struct err *e)
{
	const json_t *types = json_object_get(document, "types");
	const struct verdict *v;
	const struct run *r;
	uint64_t at = 0;
	json_t *type;

	while ((r = forest_run_next(f, &at)) != NULL)
		for (uint32_t rank = 1; (v = forest_verdict(f, r->id, rank)) != NULL; rank++) {
			if (v->below_differential[0] == '\0' || v->when.ns < since.ns ||
			    (type = with_text(types, "type", r->type)) == NULL)
				continue;
			if (add_verdict(type, f, v) != 0)
				return err_set(e, ERR_MEMORY, "no memory for the report");
		}
	return 0;
}

static json_t *
report_json(struct engine *g, const struct forest *f, const struct answer_context *c,
    uint32_t label, bool samples, struct err *e)
{
	struct document_options o = { .made = c->when,
		.samples = samples,
		.label = label,
		.wall_offset_ns = c->when.ns - c->now.ns };
	json_t *document;

	if (report_judge_type(engine_parts_of(g)->live.report, label, c->part == ANSWER_READ, e) !=
	    0)
		return NULL;
	o.source = source_json(g);
	if ((document = document_new(engine_parts_of(g)->live.report, &o)) == NULL)
		err_set(e, ERR_MEMORY, "no memory for the report");
	else if (add_below(document, f, engine_parts_of(g)->live.since, e) != 0) {
		json_decref(document);
		return NULL;
	}
	return document;
}

json_t *
ask_report(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *name = json_string_value(json_object_get(ask, "type"));
	struct request_type *type = NULL;
	bool reset = json_is_true(json_object_get(ask, "reset")) && c->part != ANSWER_READ;
	json_t *document = NULL;
	struct err e;
	int rc;

	if (engine_parts_of(g)->live.report == NULL)
		return answer_refuse(
		    ERR_MISSING, "no report is kept: analysis.report_max is 0 in honed.conf");
	if (name != NULL && (rc = request_types_find(&engine_parts(g)->types,
				 engine_parts(g)->labels, name, &type, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	if (c->part != ANSWER_CHANGE &&
	    (document = report_json(g, f, c, type != NULL ? type->label : LABEL_NONE,
		 json_is_true(json_object_get(ask, "samples")), &e)) == NULL)
		return answer_refuse(e.code, "%s", e.text);
	if (reset && (rc = engine_report_reset(g, c->when, &e)) != 0) {
		json_decref(document);
		return answer_refuse(rc, "%s", e.text);
	}
	return c->part == ANSWER_CHANGE ? json_object() : json_pack("{s:o}", "report", document);
}
