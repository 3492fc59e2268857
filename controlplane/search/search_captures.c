/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_captures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/critpath.h"
#include "base/hash_map.h"
#include "controlplane/search/search_hypothesis.h"

enum { LISTED = 256 };

/* The requests that are compared, with their critical paths; all in the scratch arena. */
struct compared {
	uint32_t slow, usual;
	struct captured_request *requests; /* [slow + usual]: slow ones first */
	struct critpath *paths;
	uint32_t nedges;
	struct compared_edge {
		uint32_t from, to; /* labels */
		bool handed_over;  /* it lies between two units */
	} * edges;
	double *ns; /* [slow + usual][nedges] */
};

static int
no_memory(const struct diagnosis *d, struct err *e)
{
	return err_set(e, ERR_MEMORY, "%s: out of memory for captured requests", d->run->type);
}

/* ---- which requests ---- */

static int
newest_first(const void *a, const void *b)
{
	const struct captured_request *x = a, *y = b;

	return (y->at_ns > x->at_ns) - (y->at_ns < x->at_ns);
}

static bool
is_slow(const struct captured_request *r, int64_t over_ns)
{
	return r->trace->end_ns - r->trace->begin_ns > over_ns;
}

/* Not too old, and slow, or one to compare with. */
static bool
counts(const struct captured_request *r, const struct diagnosis *d)
{
	return r->at_ns >= d->begun.ns - CAPTURED_BEFORE_NS &&
	       (r->usual ? !is_slow(r, d->rare.over_ns) : is_slow(r, d->rare.over_ns));
}

static bool
is_complete(const struct captured_request *r, uint64_t recorded)
{
	return r->whole && !r->lacks && r->recorded == recorded;
}

/* Nodes that had a recorder for the newest outlier: only requests of which the same had one have the same tracepoints. */
static uint64_t
recorded_of(const struct captured_request *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!all[i].usual && all[i].whole && !all[i].lacks)
			return all[i].recorded;
	return 0;
}

/* Outliers that overlap may have one cause, that one stop, and say no more than one of them: the newest is left of each such cluster. */
static uint32_t
keep_apart(struct captured_request *all, uint32_t n)
{
	uint64_t recorded = recorded_of(all, n);
	int64_t since_ns = INT64_MAX;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!all[i].usual && is_complete(&all[i], recorded)) {
			if (all[i].trace->end_ns >= since_ns)
				continue;
			since_ns = all[i].trace->begin_ns;
		}
		all[kept++] = all[i];
	}
	return kept;
}

/* Those that count, the newest first. *n of them; NULL: out of memory. */
static struct captured_request *
list_requests(struct search_port *port, const struct diagnosis *d, uint32_t *n)
{
	struct captured_request *all = arena_calloc(port->scratch, LISTED, sizeof *all);
	uint32_t listed = all == NULL ? 0
	                              : port->calls->captured(port->owner, d->type, all, LISTED);

	*n = 0;
	for (uint32_t i = 0; i < listed; i++)
		if (counts(&all[i], d))
			all[(*n)++] = all[i];
	if (*n > 1)
		qsort(all, *n, sizeof *all, newest_first);
	*n = keep_apart(all, *n);
	return all;
}

/* Without what was captured. */
static struct rare_facts
facts_of_times(struct search_port *port, const struct diagnosis *d, bool ends)
{
	struct rare_facts f = { .searched = d->nsearches > 0,
		.ends = ends,
		.asked = d->rare.asked,
		.over_ns = d->rare.over_ns,
		.cut_min = port->settings.conditions.traces_min,
		.lasts_ns = mono_since_ns(port->now, d->begun),
		.wait_ns = port->settings.outlier_wait_ns };
	uint64_t under = 0;

	if (f.asked)
		f.recording = port->calls->capturing(port->owner, d->type, &f.recorded);
	if (f.over_ns > 0) {
		sketch_counts(&d->sketch, &f.over_ns, 1, &under);
		f.over = d->sketch.n - under;
		f.carries = sketch_tail_carries(&d->sketch, (double)f.over / (double)d->sketch.n);
	}
	return f;
}

bool
search_captures_hold(struct search_port *port, const struct diagnosis *d)
{
	const struct rare_facts f = facts_of_times(port, d, false);

	return rare_is_left(&f);
}

static struct rare_facts
facts_of(struct search_port *port, const struct diagnosis *d, bool ends)
{
	struct rare_facts f = facts_of_times(port, d, ends);
	struct captured_request *all;
	uint64_t recorded;
	uint32_t n = 0;

	if (!ends || f.over_ns == 0 || (all = list_requests(port, d, &n)) == NULL)
		return f;
	recorded = recorded_of(all, n);
	for (uint32_t i = 0; i < n; i++) {
		f.slow += !all[i].usual && is_complete(&all[i], recorded);
		f.usual += all[i].usual && is_complete(&all[i], recorded);
		f.pending += !all[i].whole;
	}
	return f;
}

/* ---- their edges ---- */

static uint64_t
edge_key(const struct critpath *p, uint32_t step)
{
	return (uint64_t)p->steps[step - 1].label << 32 | p->steps[step].label;
}

/* Takes those with a path: the newest of each kind, slow ones first. */
static int
take_paths(struct compared *c, struct search_port *port, const struct diagnosis *d, struct err *e)
{
	uint32_t n;
	struct captured_request *all = list_requests(port, d, &n);
	uint64_t recorded = all != NULL ? recorded_of(all, n) : 0;

	c->requests = arena_calloc(port->scratch, n + 1, sizeof *c->requests);
	c->paths = arena_calloc(port->scratch, n + 1, sizeof *c->paths);
	if (all == NULL || c->requests == NULL || c->paths == NULL)
		return no_memory(d, e);
	for (uint32_t usual = 0; usual <= 1; usual++)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t *count = usual ? &c->usual : &c->slow;
			int rc;

			if (all[i].usual != usual || !is_complete(&all[i], recorded) ||
			    *count == (usual ? CAPTURED_USUAL_MAX : CAPTURED_SLOW_MAX))
				continue;
			rc = critpath_extract(&c->paths[c->slow + c->usual], all[i].trace,
			    port->labels, NULL, port->scratch, NULL);
			if (rc == ERR_MEMORY)
				return no_memory(d, e);
			if (rc == 0) {
				c->requests[c->slow + c->usual] = all[i];
				++*count;
			}
		}
	return 0;
}

/* The edges of all paths, and the time of each request in each. */
static int
take_edges(struct compared *c, struct search_port *port, const struct diagnosis *d, struct err *e)
{
	uint32_t n = c->slow + c->usual, steps = 0;
	struct map known = { 0 };
	bool ok;

	for (uint32_t i = 0; i < n; i++)
		steps += c->paths[i].nsteps;
	ok = (c->edges = arena_calloc(port->scratch, steps + 1, sizeof *c->edges)) != NULL;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 1; ok && k < c->paths[i].nsteps; k++) {
			const struct step *to = &c->paths[i].steps[k];
			struct compared_edge *x = map_get(&known, edge_key(&c->paths[i], k));

			if (x == NULL) {
				x = &c->edges[c->nedges++];
				*x = (struct compared_edge){ to[-1].label, to->label, false };
				ok = map_put(&known, edge_key(&c->paths[i], k), x);
			}
			x->handed_over |= to->owner == LABEL_NONE;
		}
	ok = ok && (c->ns = arena_calloc(
			port->scratch, (size_t)n * c->nedges + 1, sizeof *c->ns)) != NULL;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 1; ok && k < c->paths[i].nsteps; k++) {
			const struct step *to = &c->paths[i].steps[k];
			struct compared_edge *x = map_get(&known, edge_key(&c->paths[i], k));

			c->ns[(size_t)i * c->nedges + (size_t)(x - c->edges)] +=
			    (double)(to->time_ns - to[-1].time_ns);
		}
	map_release(&known);
	return ok ? 0 : no_memory(d, e);
}

/* ---- the verdict ---- */

static int64_t
took_ns(const struct captured_request *r)
{
	return r->trace->end_ns - r->trace->begin_ns;
}

static struct trace_id
id_of(const struct captured_request *r)
{
	return (struct trace_id){ r->trace->id_high, r->trace->id };
}

/* Of the slow requests, the one with the path to show: the slowest of those that have most of their excess in the edge. */
static uint32_t
example_of(const struct compared *c, uint32_t edge)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < c->slow; i++)
		if (c->ns[(size_t)i * c->nedges + edge] > c->ns[(size_t)best * c->nedges + edge])
			best = i;
	return best;
}

static void
print_path(const struct critpath *p, const struct labels *labels, struct buf *out)
{
	for (uint32_t i = 0; i < p->nsteps; i++)
		buf_printf(
		    out, "%s%s", i > 0 ? "\n" : "", labels_get(labels, p->steps[i].label)->text);
	buf_u8(out, 0);
}

static void
fill_requests(struct verdict *v, const struct compared *c, const struct diagnosis *d)
{
	struct moments times = { 0 };
	uint64_t under = 0;
	uint32_t slowest = 0, fastest = c->slow;

	for (uint32_t i = 0; i < c->slow + c->usual; i++) {
		moments_add(&times, (double)took_ns(&c->requests[i]));
		if (took_ns(&c->requests[i]) > took_ns(&c->requests[slowest]))
			slowest = i;
		if (took_ns(&c->requests[i]) < took_ns(&c->requests[fastest]))
			fastest = i;
	}
	v->traces = c->slow + c->usual;
	v->effective_traces = (double)v->traces;
	v->mean_ns = times.mean;
	v->cv = moments_cv(&times);
	v->slowest = id_of(&c->requests[slowest]);
	v->slowest_ns = took_ns(&c->requests[slowest]);
	v->fastest = id_of(&c->requests[fastest]);
	v->fastest_ns = took_ns(&c->requests[fastest]);
	sketch_counts(&d->sketch, &d->rare.over_ns, 1, &under);
	v->tail_ns = (double)d->rare.over_ns;
	v->tail_requests = c->slow;
	v->tail_quantile = 1 - fmax(1, (double)(d->sketch.n - under)) / (double)d->sketch.n;
	v->tail_carries = NAN;
}

static void
fill_finding(struct verdict *v, const struct compared *c, const struct captured_finding *f)
{
	v->passing = 0;
	for (uint32_t i = 0; i < c->slow + c->usual; i++)
		v->passing += c->ns[(size_t)i * c->nedges + f->edge] > 0;
	v->passes = NAN;
	v->share = (double)f->with / c->slow;
	v->share_low = f->share.low;
	v->share_high = f->share.high;
	v->latency_share = f->usual_share;
	v->probability = 1 - f->p;
	v->tail_p = f->p;
	v->cost_ns = f->excess_ns * f->with;
	v->handed_over = c->edges[f->edge].handed_over;
}

static int
add_evidence(struct search_port *port, const struct hypothesis *h, const struct compared *c,
    uint32_t edge, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->slow + c->usual && rc == 0; i++)
		rc = forest_evidence_add(port->forest,
		    &(struct evidence){ .trace = id_of(&c->requests[i]),
			.run = h->run,
			.hypothesis = h->id,
			.total_ns = took_ns(&c->requests[i]),
			.edge_ns = (int64_t)c->ns[(size_t)i * c->nedges + edge] },
		    e);
	return rc;
}

/* The hypothesis that the verdict is of: a root, as no search led to it. */
static struct hypothesis *
new_hypothesis(
    struct search_port *port, const struct diagnosis *d, const struct verdict *v, bool sure)
{
	struct hypothesis *h = hypothesis_new_from(port, d, NULL);

	if (h == NULL || !hypothesis_text(&h->edge_from, v->from) ||
	    !hypothesis_text(&h->edge_to, v->to) || !hypothesis_text(&h->group_shape, v->path))
		return NULL;
	h->traces = h->settled_traces = v->traces;
	h->mean_ns = v->mean_ns;
	h->cv = v->cv;
	h->latency_share = v->latency_share;
	h->share = h->settled_share = v->share;
	h->share_low = h->settled_low = v->share_low;
	h->share_high = h->settled_high = v->share_high;
	h->cost_ns = v->cost_ns;
	h->exemplar_slow = v->slowest.low;
	h->exemplar_fast = v->fastest.low;
	hypothesis_settle(port, h, sure ? HYPOTHESIS_BOTTOM : HYPOTHESIS_ISOLATES);
	return h;
}

static int
keep(struct search_port *port, struct diagnosis *d, const struct compared *c,
    const struct captured_finding *f, struct err *e)
{
	struct verdict v = { .kind = VERDICT_CAPTURED,
		.problem = PROBLEM_TAIL,
		.run = d->run->id,
		.confidence = port->settings.conditions.confidence,
		.from = (char *)labels_get(port->labels, c->edges[f->edge].from)->text,
		.to = (char *)labels_get(port->labels, c->edges[f->edge].to)->text,
		.effect = NAN,
		.pool_utilisation = NAN,
		.pool_service_ns = NAN,
		.pool_service_cv = NAN,
		.pool_wait_ns = NAN,
		.pool_expected_ns = NAN,
		.pool_low = NAN,
		.new_part = NAN,
		.new_low = NAN,
		.cv_now = NAN,
		.cv_then = NAN,
		.cv_then_low = NAN,
		.cv_then_high = NAN,
		.p50_then_ns = NAN,
		.p95_now_ns = NAN,
		.p95_then_ns = NAN,
		.p99_now_ns = NAN,
		.p99_then_ns = NAN,
		.key_p = 1,
		.when = port->when };
	struct buf path = { 0 };
	int rc = 0;

	print_path(&c->paths[example_of(c, f->edge)], port->labels, &path);
	v.path = (char *)path.data;
	fill_requests(&v, c, d);
	fill_finding(&v, c, f);
	if (path.failed || (d->rare.h = new_hypothesis(port, d, &v, f->sure)) == NULL)
		rc = no_memory(d, e);
	if (rc == 0) {
		v.hypothesis = d->rare.h->id;
		rc = forest_verdict_new(port->forest, &v) != NULL
		         ? add_evidence(port, d->rare.h, c, f->edge, e)
		         : no_memory(d, e);
	}
	buf_release(&path);
	return rc;
}

/* When the outliers came. */
static void
note_times(struct diagnosis *d, const struct compared *c)
{
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

	for (uint32_t i = 0; i < c->slow; i++) {
		const struct trace *t = c->requests[i].trace;

		first_ns = t->begin_ns < first_ns ? t->begin_ns : first_ns;
		last_ns = t->end_ns > last_ns ? t->end_ns : last_ns;
	}
	d->rare.from_ns = first_ns - d->begun.ns;
	d->rare.to_ns = last_ns - d->begun.ns;
	d->rare.n = c->slow;
}

/* 1: it waits for more outliers. */
static int
decide_captured(
    struct search_port *port, struct diagnosis *d, const struct rare_facts *rare, struct err *e)
{
	struct compared c = { 0 };
	struct captured_facts facts;
	struct captured_finding f;
	int rc;

	if ((rc = take_paths(&c, port, d, e)) != 0 || c.slow == 0 ||
	    c.usual < CAPTURED_USUAL_LEAST || (rc = take_edges(&c, port, d, e)) != 0)
		return rc;
	facts = (struct captured_facts){ .slow = c.slow,
		.usual = c.usual,
		.nedges = c.nedges,
		.slow_ns = c.ns,
		.usual_ns = &c.ns[(size_t)c.slow * c.nedges],
		.confidence = port->settings.conditions.confidence };
	if ((rc = captured_judge(&f, &facts, port->scratch, e)) != 0 || f.edge == UINT32_MAX)
		return rc;
	if (rare_wait_on(rare, &f, c.slow)) {
		d->rare.judged = rare->slow;
		return 1;
	}
	note_times(d, &c);
	return keep(port, d, &c, &f, e);
}

int
search_captures(struct search_port *port, struct diagnosis *d, bool ends, struct err *e)
{
	struct rare_facts f;

	if (d->rare.h != NULL)
		return 0;
	if (!d->rare.asked)
		d->rare.over_ns = captured_limit_ns(&d->sketch);
	f = facts_of(port, d, ends);
	switch (rare_next(&f)) {
	case RARE_ASK:
		d->rare.asked = true;
		if (port->calls->capture(port->owner, d->type, d->rare.over_ns))
			return ends;
		f.asked = true; /* without one, what others captured has to do */
		f.recording = false;
		return ends && rare_next(&f) == RARE_DECIDE ? decide_captured(port, d, &f, e) : 0;
	case RARE_WAIT:
		return 1;
	case RARE_DECIDE:
		if (f.slow == d->rare.judged && rare_may_wait(&f))
			return 1;
		return decide_captured(port, d, &f, e);
	case RARE_NOT:
		/* so many have come that they can be cut, and no search has begun: what it waited with is still what it knows */
		if (ends && d->rare.judged > 0)
			return decide_captured(port, d, &f, e);
		break;
	}
	return 0;
}
