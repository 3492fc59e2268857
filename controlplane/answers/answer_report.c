/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of all traffic, as the analysis document. */
#include "controlplane/answers/answer_inside.h"

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

	assemble_counts(engine_parts_of(g)->assemble, &n);
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

static json_t *
report_json(
    struct engine *g, const struct answer_context *c, uint32_t label, bool samples, struct err *e)
{
	struct document_options o = { .made = c->when,
		.samples = samples,
		.label = label,
		.wall_offset_ns = c->when.ns - c->now.ns };
	json_t *document;

	if (report_judge(engine_parts_of(g)->live.report, e) != 0)
		return NULL;
	o.source = source_json(g);
	if ((document = document_new(engine_parts_of(g)->live.report, &o)) == NULL)
		err_set(e, ERR_MEMORY, "no memory for the report");
	return document;
}

json_t *
ask_report(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *name = json_string_value(json_object_get(ask, "type"));
	struct request_type *type = NULL;
	json_t *document;
	struct err e;
	int rc;

	(void)f;
	if (engine_parts_of(g)->live.report == NULL)
		return answer_refuse(
		    ERR_MISSING, "no report is kept: analysis.report_max is 0 in honed.conf");
	if (name != NULL && (rc = request_types_find(&engine_parts(g)->types,
				 engine_parts(g)->labels, name, &type, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	document = report_json(g, c, type != NULL ? type->label : LABEL_NONE,
	    json_is_true(json_object_get(ask, "samples")), &e);
	if (document == NULL)
		return answer_refuse(e.code, "%s", e.text);
	if (json_is_true(json_object_get(ask, "reset")) &&
	    (rc = engine_report_reset(g, c->when, &e)) != 0) {
		json_decref(document);
		return answer_refuse(rc, "%s", e.text);
	}
	return json_pack("{s:o}", "report", document);
}
