/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures: whole traces of the slowest requests, and where they spent what usual ones do not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/outlier.h"
#include "controlplane/answers/answer_inside.h"
#include "report/request.h"

enum {
	PAGE_EVENTS = 20000, /* about 8 MB of JSON in one answer */
	EDGES_MAX = 5,       /* of one request */
	SECONDS_MAX = 604800 /* a week */
};
static const double QUANTILE_LEAST = 0.5, QUANTILE_MOST = 0.9999, OVER_MOST_MS = 86400000;

/* ---- capture ---- */

static json_t *
options_of(struct capture_options *o, const json_t *ask)
{
	const json_t *quantile = json_object_get(ask, "quantile"),
		     *over = json_object_get(ask, "over_ms");
	double seconds = json_object_get(ask, "seconds") != NULL
	                     ? json_number_value(json_object_get(ask, "seconds"))
	                     : 60,
	       over_ms = json_number_value(over);
	int64_t count;

	*o = (struct capture_options){ .quantile = json_number_value(quantile) };
	if ((quantile == NULL) == (over == NULL))
		return answer_refuse(ERR_INPUT, "one of \"quantile\" and \"over_ms\" is needed");
	if (quantile != NULL && !(o->quantile >= QUANTILE_LEAST && o->quantile <= QUANTILE_MOST))
		return answer_refuse(ERR_INPUT, "\"quantile\" must be from 0.5 to 0.9999");
	if (over != NULL && !(over_ms >= 0.001 && over_ms <= OVER_MOST_MS))
		return answer_refuse(ERR_INPUT, "\"over_ms\" must be from 0.001 to 86400000");
	if (!(seconds >= 1 && seconds <= SECONDS_MAX))
		return answer_refuse(ERR_INPUT, "\"seconds\" must be from 1 to %d", SECONDS_MAX);
	if (!answer_whole(ask, "count", 1, CAPTURE_COUNT_MAX, 1, &count))
		return answer_refuse(
		    ERR_INPUT, "\"count\" must be from 1 to %d", CAPTURE_COUNT_MAX);
	o->over_ns = (int64_t)(over_ms * 1e6);
	o->count = (uint32_t)count;
	o->for_ns = (int64_t)(seconds * 1e9);
	return NULL;
}

json_t *
ask_capture(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	struct capture_options o;
	json_t *no;
	struct err e;
	uint64_t id;
	int rc;

	(void)f;
	if (type == NULL)
		return answer_refuse(ERR_INPUT, "the field \"type\" is missing");
	if ((no = options_of(&o, ask)) != NULL)
		return no;
	if ((rc = engine_capture(g, type, &o, c->now, &id, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	return json_pack("{s:I}", "capture", (json_int_t)id);
}

/* ---- the state of a capture ---- */

static const char *
state_word(const struct capture *x)
{
	if (x->standing)
		return "standing";
	if (x->end != CAPTURE_ACTIVE && !capture_is_whole(x))
		return "active";
	switch (x->end) {
	case CAPTURE_ENOUGH:
		return "enough";
	case CAPTURE_TIME:
		return "time";
	case CAPTURE_STOPPED:
		return "stopped";
	case CAPTURE_ACTIVE:
		break;
	}
	return x->ready.ns == 0 ? "preparing" : "active";
}

static json_t *
type_json(struct engine *g, uint32_t type)
{
	const struct request_type *t = request_types_known(&engine_parts(g)->types, type);
	const struct label *l = labels_get(engine_labels(g), type);

	return t != NULL ? answer_text(t->name) : json_stringn(l->name, l->name_len);
}

static uint32_t
count_whole(const struct capture *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->n; i++)
		n += x->list[i]->whole_at.ns != 0;
	return n;
}

/* The nodes whose recorder is wanted now. */
static json_t *
nodes_json(struct engine *g)
{
	const struct engine_parts *p = engine_parts_of(g);
	json_t *all = json_array();

	for (uint32_t i = 0; i < p->recorder.n && p->recorder.on; i++) {
		const struct recorder_node *r = &p->recorder.items[i];
		const struct node *n = &p->nodes.items[i];
		bool assumed;

		if (!n->connected)
			continue;
		json_array_append_new(all,
		    json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "node",
			answer_text(n->name), "providers", (json_int_t)r->n, "left_out",
			(json_int_t)r->left_out, "on", (json_int_t)n->status.recorder, "bytes",
			(json_int_t)n->status.recorder_bytes, "predicted",
			number_json(r->predicted), "measured",
			number_json(
			    recorder_measured(n, overhead_record_ns(p->overhead, i, &assumed))),
			"missing", answer_text(n->recorder_missing)));
	}
	return all;
}

static json_t *
capture_json(struct engine *g, const struct capture *x, const struct answer_context *c)
{
	double left = (double)(x->options.for_ns - mono_since_ns(c->now, x->begun)) / 1e9;

	return json_pack(
	    "{s:I, s:o, s:s, s:o, s:o, s:o, s:I, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I}",
	    "capture", (json_int_t)x->id, "type", type_json(g, x->type), "state", state_word(x),
	    "quantile", x->options.quantile > 0 ? number_json(x->options.quantile) : json_null(),
	    "over_ms",
	    x->options.quantile > 0 ? json_null() : number_json((double)x->options.over_ns / 1e6),
	    "limit_ms", x->limit_ns > 0 ? number_json((double)x->limit_ns / 1e6) : json_null(),
	    "count", (json_int_t)x->options.count, "left_s",
	    x->end == CAPTURE_ACTIVE && !x->standing ? number_json(fmax(left, 0)) : json_null(),
	    "by",
	    x->standing            ? "recorder"
	    : x->options.diagnosis ? "diagnosis"
				   : "user",
	    "seen", (json_int_t)x->seen, "slow", (json_int_t)x->slow, "missed",
	    (json_int_t)x->missed, "captured", (json_int_t)x->n, "whole",
	    (json_int_t)count_whole(x), "usual", (json_int_t)x->nusual);
}

/* ---- its requests ---- */

struct edges { /* of one request */
	uint32_t n;
	struct outlier_edge *list;
};

/* Whether something of the request may be missing: what differs then may be what is missing. */
static bool
lacks(const struct captured *x)
{
	return captured_lacks(x) || captured_unrecorded(x) != 0;
}

/* The critical paths of the usual requests that are whole; complete: and lack nothing. Those without a path are left out. */
static uint32_t
usual_paths(struct engine *g, const struct capture *x, bool complete,
    struct critpath paths[CAPTURE_USUAL], struct arena *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->nusual; i++)
		if (x->usual[i]->whole_at.ns != 0 && !(complete && lacks(x->usual[i])) &&
		    critpath_extract(
			&paths[n], x->usual[i]->trace, engine_labels(g), NULL, a, NULL) == 0)
			n++;
	return n;
}

static json_t *
kept_json(struct engine *g, const struct captured *x)
{
	const struct nodes *nodes = &engine_parts_of(g)->nodes;
	json_t *all = json_array();

	for (uint32_t i = 0; i < x->nnodes; i++) {
		const struct captured_node *n = &x->nodes[i];

		json_array_append_new(all,
		    json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "node",
			answer_text(nodes->items[n->node].name), "result",
			kept_result_word(n->result), "rings", (json_int_t)n->rings, "overwritten",
			(json_int_t)n->overwritten, "unlisted", (json_int_t)n->unlisted,
			"undecoded", (json_int_t)n->undecoded, "cut", (json_int_t)n->cut, "records",
			(json_int_t)n->nrecords, "failure", answer_text(n->failure)));
	}
	return json_pack("{s:o, s:I, s:I, s:I, s:b}", "nodes", all, "added",
	    (json_int_t)x->merged.added, "duplicate", (json_int_t)x->merged.duplicate, "strays",
	    (json_int_t)x->merged.strays, "lacks", lacks(x));
}

static json_t *
edge_json(const struct labels *l, const struct outlier_edge *e)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "from", answer_text(labels_get(l, e->from)->text),
	    "to", answer_text(labels_get(l, e->to)->text), "ms", number_json(e->slow_ns / 1e6),
	    "usual_ms", number_json(e->usual_ns / 1e6));
}

static json_t *
one_json(struct engine *g, const struct answer_context *c, const struct captured *x,
    const struct critpath *usual, uint32_t nusual)
{
	struct engine_parts *p = engine_parts(g);
	json_t *j, *list = json_array();
	struct arena scratch = { 0 };
	struct critpath path;
	struct shape shape;
	struct outlier_edge *edges = NULL;
	uint32_t n = 0;
	bool found = critpath_extract(&path, x->trace, p->labels, NULL, &scratch, NULL) == 0 &&
	             shape_of(&shape, &path, p->labels, &scratch, NULL) == 0;

	if (found && nusual > 0)
		outlier_edges(&edges, &n, &path, usual, nusual, &scratch, NULL);
	for (uint32_t i = 0; i < n && i < EDGES_MAX && edges[i].slow_ns > edges[i].usual_ns; i++)
		json_array_append_new(list, edge_json(p->labels, &edges[i]));
	j = request_json(&(struct request_facts){ .trace = x->trace,
			     .path = found ? &path : NULL,
			     .shape = found ? &shape : NULL,
			     .report = NULL,
			     .labels = p->labels,
			     .nodes = p->nodes.names,
			     .wall_offset_ns = c->when.ns - c->now.ns },
	    &scratch);
	arena_release(&scratch);
	if (j == NULL) {
		json_decref(list);
		return NULL;
	}
	json_object_set_new(j, "kept", kept_json(g, x));
	json_object_set_new(j, "edges", list);
	return j;
}

/* The edge that takes most more than usual, of each request that lacks nothing: the one of most requests. */
struct top_edge {
	uint32_t from, to, requests;
	double excess_ns,
	    more_ns; /* sums: of the edge, and of the response times beyond the usual mean */
};

static int
by_requests(const void *a, const void *b)
{
	const struct top_edge *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return x->excess_ns > y->excess_ns ? -1 : x->excess_ns < y->excess_ns;
}

static double
mean_of_usual(const struct critpath *usual, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)(usual[i].steps[usual[i].nsteps - 1].time_ns -
				usual[i].steps[0].time_ns);
	return sum / n;
}

static void
add_top(struct top_edge *tops, uint32_t *n, const struct outlier_edge *e, double more_ns)
{
	uint32_t i = 0;

	while (i < *n && (tops[i].from != e->from || tops[i].to != e->to))
		i++;
	if (i == *n)
		tops[(*n)++] = (struct top_edge){ .from = e->from, .to = e->to };
	tops[i].requests++;
	tops[i].excess_ns += e->slow_ns - e->usual_ns;
	tops[i].more_ns += more_ns;
}

/* null: there is no usual request, or none that lacks nothing. */
static json_t *
top_json(struct engine *g, const struct capture *x, const struct critpath *usual, uint32_t nusual)
{
	struct top_edge tops[CAPTURE_COUNT_MAX];
	uint32_t n = 0, of = 0;

	for (uint32_t i = 0; nusual > 0 && i < x->n; i++) {
		const struct captured *t = x->list[i];
		struct arena scratch = { 0 };
		struct outlier_edge *edges;
		struct critpath path;
		uint32_t nedges = 0;

		if (t->whole_at.ns != 0 && !lacks(t) &&
		    critpath_extract(&path, t->trace, engine_labels(g), NULL, &scratch, NULL) ==
			0 &&
		    outlier_edges(&edges, &nedges, &path, usual, nusual, &scratch, NULL) == 0 &&
		    nedges > 0) {
			add_top(tops, &n, &edges[0],
			    (double)(t->trace->end_ns - t->trace->begin_ns) -
				mean_of_usual(usual, nusual));
			of++;
		}
		arena_release(&scratch);
	}
	if (n == 0)
		return json_null();
	qsort(tops, n, sizeof *tops, by_requests);
	return json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "from",
	    answer_text(labels_get(engine_labels(g), tops[0].from)->text), "to",
	    answer_text(labels_get(engine_labels(g), tops[0].to)->text), "requests",
	    (json_int_t)tops[0].requests, "of", (json_int_t)of, "excess_ms",
	    number_json(tops[0].excess_ns / tops[0].requests / 1e6), "more_ms",
	    number_json(tops[0].more_ns / tops[0].requests / 1e6));
}

static json_t *
requests_json(
    struct engine *g, const struct answer_context *c, const struct capture *x, int64_t skip)
{
	struct critpath usual[CAPTURE_USUAL], complete[CAPTURE_USUAL];
	struct arena a = { 0 };
	uint32_t nusual = usual_paths(g, x, false, usual, &a),
		 ncomplete = usual_paths(g, x, true, complete, &a), i = 0, events = 0, left = 0;
	json_t *list = json_array(), *one = list, *top = top_json(g, x, complete, ncomplete);

	for (; one != NULL && i < x->n; i++) {
		if (x->list[i]->whole_at.ns == 0 || i < skip)
			continue;
		if (events >= PAGE_EVENTS) {
			left = x->n - i;
			break;
		}
		if ((one = one_json(g, c, x->list[i], usual, nusual)) != NULL)
			json_array_append_new(list, one);
		events += x->list[i]->trace->nevents + x->list[i]->trace->nunits;
	}
	arena_release(&a);
	if (one == NULL) {
		json_decref(list);
		json_decref(top);
		return NULL;
	}
	return json_pack("{s:o, s:I, s:o, s:I}", "requests", list, "left", (json_int_t)left, "edge",
	    top, "compared", (json_int_t)nusual);
}

json_t *
ask_captured(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const struct captures *all = &engine_parts_of(g)->captures;
	const struct capture *x;
	json_t *list, *answer;
	int64_t id, skip;

	(void)f;
	if (!answer_whole(ask, "capture", 1, INT64_MAX, 0, &id) ||
	    !answer_whole(ask, "skip", 0, CAPTURE_COUNT_MAX, 0, &skip))
		return answer_refuse(ERR_INPUT,
		    "\"capture\" must be a whole number of at least 1, \"skip\" from 0 to %d",
		    CAPTURE_COUNT_MAX);
	if (id == 0) {
		list = json_array();
		for (uint32_t i = 0; i < all->n; i++)
			json_array_append_new(list, capture_json(g, all->items[i], c));
		for (uint32_t i = 0; i < all->nstanding; i++)
			json_array_append_new(list, capture_json(g, all->standing[i], c));
		return json_pack("{s:o, s:o}", "captures", list, "nodes", nodes_json(g));
	}
	if ((x = captures_find(all, (uint64_t)id)) == NULL)
		return answer_refuse(ERR_MISSING,
		    "there is no capture %lld: the last %d are kept, until honed ends",
		    (long long)id, CAPTURES_MAX);
	answer = json_is_true(json_object_get(ask, "requests")) ? requests_json(g, c, x, skip)
	                                                        : json_object();
	if (answer == NULL)
		return NULL;
	json_object_set_new(answer, "captures", json_pack("[o]", capture_json(g, x, c)));
	json_object_set_new(answer, "nodes", nodes_json(g));
	return answer;
}
