/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole requests that honed keeps, with what their groups and the newest verdict say about them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/answers/answer_inside.h"
#include "report/request.h"

enum { LIMIT_MAX = 100000, PAGE_EVENTS = 20000 }; /* about 8 MB of JSON in one answer */

/* The newest verdict of the type; in_group: the search began in the request's group. */
static json_t *
verdict_json(const struct forest *f, const char *type, const struct always_on_path *path)
{
	const struct run *r = answer_last_verdict(f, type);
	const struct verdict *v = r != NULL ? forest_verdict(f, r->id, 1) : NULL;
	const struct hypothesis *root;

	if (v == NULL)
		return json_null();
	root = answer_root(f, forest_get(f, v->hypothesis));
	return json_pack("{s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:b}", "run", (json_int_t)r->id,
	    "kind", verdict_word(v->kind), "problem", verdict_problem_word(v->problem), "from",
	    answer_text(v->from), "to", answer_text(v->to), "tracepoint",
	    answer_text(v->tracepoint), "share", number_json(v->share), "in_group",
	    root != NULL && path != NULL && root->group_key[0] == path->shape.key.a &&
		root->group_key[1] == path->shape.key.b);
}

static const char *
type_name(struct engine_parts *p, const struct trace *t)
{
	struct request_type *type = request_types_known(&p->types, t->type);

	return type != NULL ? type->name : NULL;
}

static json_t *
one_json(
    struct engine *g, const struct forest *f, const struct answer_context *c, const struct trace *t)
{
	struct engine_parts *p = engine_parts(g);
	struct arena scratch = { 0 };
	struct always_on_path path;
	const struct always_on_path *found = NULL;
	const char *type = type_name(p, t);
	json_t *j;

	/* A path beyond the bounds of memory is as one that does not exist. */
	if (always_on_path_extract(
		&path, t, p->labels, report_options(p->live.report)->bins, &scratch, NULL) == 0)
		found = &path;
	j = request_json(&(struct request_facts){ .trace = t,
			     .path = found != NULL ? &path.path : NULL,
			     .shape = found != NULL ? &path.shape : NULL,
			     .report = p->live.report,
			     .labels = p->labels,
			     .nodes = p->nodes.names,
			     .wall_offset_ns = c->when.ns - c->now.ns },
	    &scratch);
	if (j != NULL)
		json_object_set_new(
		    j, "verdict", type != NULL ? verdict_json(f, type, found) : json_null());
	arena_release(&scratch);
	return j;
}

/* From the list, without the first `skip`, as many as fit into one answer. */
static json_t *
page_json(struct engine *g, const struct forest *f, const struct answer_context *c,
    const struct trace **list, uint32_t n, int64_t skip)
{
	json_t *all = json_array();
	uint64_t events = 0;
	uint32_t i = skip < n ? (uint32_t)skip : n;

	for (; i < n && events < PAGE_EVENTS; i++) {
		json_t *one = one_json(g, f, c, list[i]);

		if (one == NULL) {
			json_decref(all);
			return NULL;
		}
		json_array_append_new(all, one);
		events += list[i]->nevents + list[i]->nunits;
	}
	return json_pack("{s:o, s:I, s:I}", "requests", all, "left", (json_int_t)(n - i),
	    "too_large", (json_int_t)engine_parts_of(g)->kept.too_large);
}

static json_t *
answer_list(struct engine *g, const struct forest *f, const struct answer_context *c,
    const json_t *ask, const struct trace **list, uint32_t n)
{
	const char *trace = json_string_value(json_object_get(ask, "trace"));
	int64_t limit, skip;
	struct trace_id id;
	uint32_t found = 0;

	if (!answer_whole(ask, "limit", 1, LIMIT_MAX, LIMIT_MAX, &limit) ||
	    !answer_whole(ask, "skip", 0, LIMIT_MAX, 0, &skip))
		return answer_refuse(ERR_INPUT,
		    "\"limit\" must be a whole number from 1 to %d, \"skip\" from 0", LIMIT_MAX);
	if (trace == NULL)
		return page_json(g, f, c, list, n < limit ? n : (uint32_t)limit, skip);
	if (!answer_read_id(trace, &id))
		return answer_refuse(
		    ERR_INPUT, "%.40s: not a trace id: 16 or 32 hex digits, not 0", trace);
	for (uint32_t i = 0; i < n; i++)
		if (answer_same_id((struct trace_id){ list[i]->id_high, list[i]->id }, id))
			list[found++] = list[i];
	if (found == 0)
		return answer_refuse(ERR_MISSING,
		    "honed does not have this trace: of each request type it keeps the %d slowest, and %d others",
		    KEPT_SLOW, KEPT_SAMPLE);
	return page_json(g, f, c, list, found, skip);
}

json_t *
ask_requests(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	struct engine_parts *p = engine_parts(g);
	const char *name = json_string_value(json_object_get(ask, "type"));
	struct request_type *type = NULL;
	const struct trace **list;
	uint32_t n;
	struct err e;
	json_t *a;
	int rc;

	if (p->live.report == NULL)
		return answer_refuse(
		    ERR_MISSING, "no requests are kept: analysis.report_max is 0 in honed.conf");
	if (name != NULL && (rc = request_types_find(&p->types, p->labels, name, &type, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	if (report_judge_type(p->live.report, type != NULL ? type->label : LABEL_NONE,
		c->part == ANSWER_READ, &e) != 0)
		return answer_refuse(e.code, "%s", e.text);
	n = kept_traces_list(&p->kept, type != NULL ? type->label : LABEL_NONE, &list);
	if (n == UINT32_MAX)
		return NULL;
	a = answer_list(g, f, c, ask, list, n);
	free(list);
	return a;
}
