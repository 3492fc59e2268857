/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/strata.h"
#include "analysis/trace_callers.h"
#include "report/document_inside.h"

struct unit_path { /* what the critical path did in a unit */
	int64_t path_ns;
	int64_t edges_ns; /* of the request on the unit's edges */
	double usual_ns, share;
	bool on_path, judged;
};

struct request_view {
	const struct request_facts *f;
	const struct judged *judged; /* NULL: not known */
	struct unit_path *units;     /* [nunits] */
};

/* ---- the path, by units ---- */

static uint32_t
unit_of_step(const struct request_facts *f, const struct step *s)
{
	uint32_t unit = f->trace->events[s->event].unit, fork = f->trace->units[unit].fork;

	if (labels_get(f->labels, s->label)->kind == RECORD_UNIT_BEGIN && fork != TRACE_NONE)
		return f->trace->events[fork].unit;
	return unit;
}

/* Each request numbers its loops in its own order; the group has all of them. UINT32_MAX: the group does not have it. */
static uint32_t
edge_of_group(const struct shape *own, const struct shape *group, uint32_t edge)
{
	const struct shape_edge *e = &own->edges[edge];

	if (edge + 1 < own->ntokens)
		return edge < group->nedges ? edge : UINT32_MAX;
	for (uint32_t i = group->ntokens - 1; i < group->nedges; i++)
		if (group->edges[i].from_token == e->from_token &&
		    group->edges[i].to_token == e->to_token)
			return i;
	return UINT32_MAX;
}

static void
add_edge(struct request_view *r, uint32_t unit, uint32_t edge)
{
	struct unit_path *u = &r->units[unit];
	uint32_t in_group;

	u->edges_ns += r->f->shape->times_ns[edge];
	if (r->judged == NULL)
		return;
	in_group = edge_of_group(r->f->shape, &r->judged->group->shape, edge);
	if (in_group >= r->judged->finding.nedges)
		return;
	u->judged = true;
	u->share += r->judged->finding.edges[in_group].share;
	u->usual_ns += r->judged->edges != NULL ? r->judged->edges[in_group].p50_ns : (double)NAN;
}

static int
by_pair(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A unit may be on an edge several times, as in a loop: the edge counts once. */
static bool
follow_path(struct request_view *r, struct arena *a)
{
	const struct request_facts *f = r->f;
	const struct critpath *p = f->path;
	uint64_t *pairs = arena_alloc(a, p->nsteps * sizeof *pairs);
	uint32_t *edges, n = 0;

	if (pairs == NULL || shape_edges_of_steps(&edges, p, f->shape, a, NULL) != 0)
		return false;
	for (uint32_t i = 1; i < p->nsteps; i++) {
		uint32_t unit = unit_of_step(f, &p->steps[i]);

		r->units[unit].path_ns += p->steps[i].time_ns - p->steps[i - 1].time_ns;
		r->units[unit].on_path = true;
		r->units[f->trace->events[p->steps[i].event].unit].on_path = true;
		pairs[n++] = (uint64_t)unit << 32 | edges[i];
	}
	qsort(pairs, n, sizeof *pairs, by_pair);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || pairs[i] != pairs[i - 1])
			add_edge(r, (uint32_t)(pairs[i] >> 32), (uint32_t)pairs[i]);
	return true;
}

/* ---- units ---- */

static json_t *
value_json(const struct value *v)
{
	switch (v->type) {
	case VALUE_INT:
		return json_integer((json_int_t)v->i);
	case VALUE_UINT:
		return v->u <= INT64_MAX ? json_integer((json_int_t)v->u) : json_real((double)v->u);
	case VALUE_REAL:
		return number_json(v->d);
	case VALUE_TEXT:
		return text_json(v->text, v->len);
	}
	return json_null();
}

/* What libhone says of the request itself is in the trace. */
static bool
is_own(const struct label *l, const char *field)
{
	if (l->kind == RECORD_UNIT_BEGIN)
		return strcmp(field, "via") == 0;
	return l->kind == RECORD_REQUEST_BEGIN && trace_callers_of_request(field);
}

/* Adds the values of a record; a name that is there already gets the later value. */
static void
put_fields(json_t *fields, const struct event *e, const struct label *l)
{
	for (uint32_t i = 0; i < e->nvalues && i < l->nfields; i++) {
		json_t *name = text_json(l->fields[i], strlen(l->fields[i]));

		if (name != NULL && !is_own(l, l->fields[i]))
			put(fields, json_string_value(name), value_json(&e->values[i]));
		json_decref(name);
	}
}

static json_t *
record_json(const struct request_facts *f, const struct event *e, const struct label *l)
{
	json_t *j = json_object(), *fields = json_object();

	put(j, "at_ns", json_integer((json_int_t)(e->time_ns - f->trace->begin_ns)));
	put(j, "record",
	    text_json(l->text + l->service_len + 1, strlen(l->text + l->service_len + 1)));
	put_fields(fields, e, l);
	put(j, "fields", fields);
	return j;
}

static bool
is_joined(const struct request_facts *f, const struct event *fork)
{
	const struct unit *u = &f->trace->units[fork->unit];

	for (uint32_t i = u->first; i < u->first + u->count; i++)
		if (f->trace->events[i].link_id == fork->link_id &&
		    labels_get(f->labels, f->trace->events[i].label)->kind == RECORD_JOIN)
			return true;
	return false;
}

static void
put_path(struct request_view *r, json_t *j, uint32_t unit)
{
	const struct unit_path *u = &r->units[unit];
	bool edges = u->edges_ns > 0 || u->judged;

	put(j, "critical", json_boolean(u->on_path));
	put(j, "path_ms", u->on_path ? number_json((double)u->path_ns / 1e6) : json_null());
	put(j, "edges_ms", edges ? number_json((double)u->edges_ns / 1e6) : json_null());
	put(j, "usual_ms", u->judged ? number_json(u->usual_ns / 1e6) : json_null());
	put(j, "share", u->judged ? number_json(u->share) : json_null());
}

/* Records of structure give the unit its name, times and fields; the others are listed. */
static json_t *
unit_json(struct request_view *r, uint32_t unit)
{
	const struct request_facts *f = r->f;
	const struct unit *u = &f->trace->units[unit];
	const struct event *first = &f->trace->events[u->first], *end = NULL;
	const struct event *fork = u->fork != TRACE_NONE ? &f->trace->events[u->fork] : NULL;
	const struct label *begin = labels_get(f->labels, first->label);
	json_t *j = json_object(), *fields = json_object(), *records = json_array();

	for (uint32_t i = u->first; i < u->first + u->count; i++) {
		const struct event *e = &f->trace->events[i];
		const struct label *l = labels_get(f->labels, e->label);

		if (l->kind == RECORD_UNIT_END || l->kind == RECORD_REQUEST_END)
			end = e;
		if (begin->silent && !l->silent)
			begin = l;
		if (l->silent)
			continue;
		if (l->kind == RECORD_POINT)
			json_array_append_new(records, record_json(f, e, l));
		else
			put_fields(fields, e, l);
	}
	put(j, "unit", json_sprintf("%016llx", (unsigned long long)u->id));
	put(j, "parent", fork != NULL ? json_integer((json_int_t)fork->unit) : json_null());
	put(j, "joined", json_boolean(fork != NULL && is_joined(f, fork)));
	put(j, "service", text_json(begin->text, begin->service_len));
	put(j, "name",
	    begin->name_len > 0 ? text_json(begin->name, begin->name_len)
				: text_json(begin->event, begin->event_len));
	put(j, "node", text_json(f->nodes[first->node], strlen(f->nodes[first->node])));
	put_count(j, "pid", first->pid);
	put_count(j, "tid", first->tid);
	put(j, "begin_ns", json_integer((json_int_t)(first->time_ns - f->trace->begin_ns)));
	put(j, "end_ns",
	    end != NULL ? json_integer((json_int_t)(end->time_ns - f->trace->begin_ns))
			: json_null());
	put_path(r, j, unit);
	put(j, "fields", fields);
	put(j, "records", records);
	return j;
}

/* ---- the request ---- */

static json_t *
label_json(const struct labels *l, uint32_t label)
{
	const char *text = labels_get(l, label)->text;

	return text_json(text, strlen(text));
}

static json_t *
group_json(const struct request_view *r)
{
	const struct judged *judged = r->judged;
	const struct finding *f = judged != NULL ? &judged->finding : NULL;
	const struct shape_edge *top;
	json_t *j;

	if (judged == NULL || f->nedges == 0)
		return json_null();
	j = json_object();
	top = &judged->group->shape.edges[f->top];
	put(j, "group", document_hash(judged));
	put_count(j, "count", judged->group->total.n);
	put_ms(j, "usual_ms", group_quantile(judged->group, 0.50));
	put_number(j, "cv", f->cv);
	put(j, "problem", json_string(problem_word(f->problem)));
	put(j, "from", label_json(r->f->labels, top->from));
	put(j, "to", label_json(r->f->labels, top->to));
	put_number(j, "share", f->edges[f->top].share);
	return j;
}

json_t *
request_json(const struct request_facts *f, struct arena *a)
{
	const struct trace *t = f->trace;
	const struct label *type = t->type != LABEL_NONE ? labels_get(f->labels, t->type) : NULL;
	struct request_view r = { .f = f,
		.units = arena_calloc(a, t->nunits + 1, sizeof *r.units) };
	json_t *j, *units;

	if (f->report != NULL && f->shape != NULL)
		r.judged = report_judged(f->report, f->shape->key);
	if (r.units == NULL || (f->path != NULL && !follow_path(&r, a)) ||
	    (j = json_object()) == NULL)
		return NULL;
	put(j, "trace", trace_id_json(t->id_high, t->id));
	put(j, "type",
	    type == NULL         ? json_null()
	    : type->name_len > 0 ? text_json(type->name, type->name_len)
				 : text_json(type->text, strlen(type->text)));
	put(j, "begin_ns", json_integer((json_int_t)(t->begin_ns + f->wall_offset_ns)));
	put_ms(j, "total_ms", (double)(t->end_ns - t->begin_ns));
	put(j, "probed", json_boolean(t->probed));
	put(j, "lossy", json_boolean(t->lossy));
	put(j, "incomplete",
	    t->incomplete != INCOMPLETE_NONE
		? json_string(incomplete_word((enum incomplete)t->incomplete))
		: json_null());
	put(j, "group", group_json(&r));
	put(j, "root", t->root != TRACE_NONE ? json_integer((json_int_t)t->root) : json_null());
	put(j, "units", units = json_array());
	for (uint32_t u = 0; u < t->nunits; u++)
		json_array_append_new(units, unit_json(&r, u));
	return j;
}
