/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Request types with known truth: edges with times of given distributions, groups of them, keys
 * without effect. For the calibration: its short form is a unit test, its long one `make
 * calibrate`. Its random generator is not that of the bootstrap.
 */
#ifndef TESTS_ANALYSIS_SIMULATED_H
#define TESTS_ANALYSIS_SIMULATED_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/variance.h"
#include "base/rng.h"

/* ---- distributions, of variance 1 ---- */

enum family { NORMAL, GAMMA_2, LOGNORMAL_05, QUEUE, GAMMA_05, LOGNORMAL_1, MISS, FAMILIES };

static const char *const family_names[FAMILIES] = { "normal", "gamma 2", "lognormal 0.5",
	"queue wait", "gamma 0.5", "lognormal 1", "miss in 5 %" };

static inline double
exponential_of(struct rng *r)
{
	return -log1p(-rng_unit(r));
}

static inline double
lognormal_of(struct rng *r, double sigma)
{
	double v = exp(sigma * sigma);

	return exp(sigma * rng_normal(r)) / sqrt((v - 1) * v);
}

static inline double
square_of_normal(struct rng *r)
{
	double x = rng_normal(r);

	return x * x;
}

/*
 * QUEUE: every other request waits, exponentially distributed. MISS: gamma of shape 4; 5 % take 20
 * standard deviations more.
 */
static inline double
family_draw(enum family f, struct rng *r)
{
	switch (f) {
	case NORMAL:
		return 6 + rng_normal(r);
	case GAMMA_2:
		return (exponential_of(r) + exponential_of(r)) / sqrt(2);
	case LOGNORMAL_05:
		return lognormal_of(r, 0.5);
	case QUEUE:
		return rng_unit(r) < 0.5 ? exponential_of(r) / sqrt(0.75) : 0;
	case GAMMA_05:
		return square_of_normal(r) / sqrt(2);
	case LOGNORMAL_1:
		return lognormal_of(r, 1);
	default:
		return ((exponential_of(r) + exponential_of(r) + exponential_of(r) +
			    exponential_of(r)) /
			       2 +
			   (rng_unit(r) < 0.05 ? 20 + 2 * rng_normal(r) : 0)) /
		       sqrt(1 + 0.05 * 4 + 0.0475 * 400);
	}
}

static inline double
family_mean(enum family f)
{
	switch (f) {
	case NORMAL:
		return 6;
	case GAMMA_2:
		return sqrt(2);
	case LOGNORMAL_05:
		return exp(0.125) / sqrt((exp(0.25) - 1) * exp(0.25));
	case QUEUE:
		return 0.5 / sqrt(0.75);
	case GAMMA_05:
		return 1 / sqrt(2);
	case LOGNORMAL_1:
		return exp(0.5) / sqrt((exp(1) - 1) * exp(1));
	default:
		return (2 + 0.05 * 20) / sqrt(1 + 0.05 * 4 + 0.0475 * 400);
	}
}

/* ---- request types ---- */

enum { SIM_EDGES_MAX = 100, SIM_SHAPES_MAX = 4, HEALTHY_EDGES_MAX = 8 };

struct sim_shape {
	uint32_t nedges;
	uint32_t label[SIM_EDGES_MAX + 1];
	struct shape shape;
	struct event events[SIM_EDGES_MAX + 1];
	struct step steps[SIM_EDGES_MAX + 1];
	struct group *group; /* NULL: no request yet */
};

struct sim {
	struct labels *labels;
	struct groups *groups;
	struct arena shapes, scratch;
	struct sim_shape shape[SIM_SHAPES_MAX];
	uint64_t traces;
};

static inline void
sim_die(const char *what)
{
	fprintf(stderr, "simulated: %s\n", what);
	exit(1);
}

static inline void
sim_begin(struct sim *s, uint32_t samples_max, uint64_t seed)
{
	struct groups_options o = { .groups_max = 16, .samples_max = samples_max, .seed = seed };

	*s = (struct sim){ .labels = labels_new() };
	if (s->labels == NULL || (s->groups = groups_new(&o, s->labels)) == NULL)
		sim_die("out of memory");
}

static inline void
sim_end(struct sim *s)
{
	groups_free(s->groups);
	labels_free(s->labels);
	arena_release(&s->shapes);
	arena_release(&s->scratch);
}

/* request_begin, points with two fields each, request_end. */
static inline void
sim_shape(struct sim *s, uint32_t shape, uint32_t nedges)
{
	static const char *const fields[2] = { "size", "kind" };
	struct sim_shape *p = &s->shape[shape];
	struct critpath path = { .nsteps = nedges + 1, .steps = p->steps };
	char text[64];

	p->nedges = nedges;
	for (uint32_t i = 0; i <= nedges; i++) {
		enum record_kind kind = i == 0        ? RECORD_REQUEST_BEGIN
		                        : i == nedges ? RECORD_REQUEST_END
		                                      : RECORD_POINT;
		bool point = kind == RECORD_POINT;

		snprintf(text, sizeof text,
		    point    ? "s/app:p%u_%u"
		    : i == 0 ? "s/hone:request_begin(R)"
			     : "s/hone:request_end(R)",
		    shape, i);
		p->label[i] = labels_intern(
		    s->labels, kind, text, strlen(text), fields, point ? 2 : 0);
		p->events[i] = (struct event){ .time_ns = i, .label = p->label[i] };
		p->steps[i] = (struct step){ i, i, p->label[i], p->label[0], p->label[0],
			BIN_NONE };
	}
	if (shape_of(&p->shape, &path, s->labels, &s->shapes, NULL) != 0)
		sim_die("no shape");
}

/* Adds one request. values: two for each point, or NULL. */
static inline struct group *
sim_add(struct sim *s, uint32_t shape, const double *edges_ns, const struct value *values,
    uint32_t node, uint32_t pid, uint32_t tid)
{
	static const char *const nodes[] = { "alpha", "beta", "gamma" };
	struct sim_shape *p = &s->shape[shape];
	struct trace t = { .id = ++s->traces,
		.type = p->label[0],
		.nevents = p->nedges + 1,
		.events = p->events };
	struct critpath path = { .nsteps = p->nedges + 1, .steps = p->steps };

	for (uint32_t i = 0; i <= p->nedges; i++) {
		struct event *e = &p->events[i];

		if (i > 0) {
			p->shape.times_ns[i - 1] = edges_ns[i - 1] > 0 ? llround(edges_ns[i - 1])
			                                               : 0;
			e->time_ns = p->events[i - 1].time_ns + p->shape.times_ns[i - 1];
		}
		p->steps[i].time_ns = e->time_ns;
		e->node = node;
		e->pid = pid;
		e->tid = tid;
		e->nvalues = i > 0 && i < p->nedges && values != NULL ? 2 : 0;
		e->values = e->nvalues > 0 ? &values[2 * (i - 1)] : NULL;
	}
	t.begin_ns = p->events[0].time_ns;
	t.end_ns = p->events[p->nedges].time_ns;
	if ((p->group = groups_add(s->groups, &t, &path, &p->shape, nodes)) == NULL)
		sim_die("no room for a request");
	return p->group;
}

/* ---- known shares ---- */

/*
 * Three edges. The first has `share` of the variance, the third the rest; the second is constant.
 * common: variance of a part that the first and the third have in common (`sign` -1: with opposite
 * signs).
 */
struct share_cell {
	enum family first, third;
	double share, common;
	int sign;
};

static inline double
cell_share(const struct share_cell *c)
{
	double both = (1 + c->sign) * (1 + c->sign) * c->common;

	return (c->share + (1 + c->sign) * c->common) / (1 + both);
}

static inline double
cell_cv(const struct share_cell *c)
{
	double mean = 41 + sqrt(c->share) * family_mean(c->first) +
	              sqrt(1 - c->share) * family_mean(c->third) +
	              (1 + c->sign) * sqrt(c->common) * family_mean(GAMMA_2);

	return sqrt(1 + (1 + c->sign) * (1 + c->sign) * c->common) / mean;
}

static inline struct group *
cell_add(struct sim *s, const struct share_cell *c, struct rng *r)
{
	double common = c->common > 0 ? sqrt(c->common) * family_draw(GAMMA_2, r) : 0;
	double x[3] = { 20 + common + sqrt(c->share) * family_draw(c->first, r), 1,
		20 + c->sign * common + sqrt(1 - c->share) * family_draw(c->third, r) };

	for (int e = 0; e < 3; e++)
		x[e] *= 1e6;
	return sim_add(s, 0, x, NULL, 0, 1, 1);
}

struct covered {
	uint32_t runs, held, below, above; /* truth below, above the interval */
	uint32_t wide;                     /* from 0 to 1 at least: no information */
};

static inline void
covered_count(struct covered *c, struct interval v, double truth)
{
	c->runs++;
	c->held += v.low <= truth && truth <= v.high;
	c->below += truth < v.low;
	c->above += truth > v.high;
	c->wide += v.low <= 0 && v.high >= 1;
}

static inline void
covered_add(struct covered *into, const struct covered *c)
{
	into->runs += c->runs;
	into->held += c->held;
	into->below += c->below;
	into->above += c->above;
	into->wide += c->wide;
}

/*
 * n requests of the cell, `runs` times: counts how often the first edge's interval contains its
 * share and, if cv is not NULL, how often the group's interval contains its CV.
 */
static inline struct covered
cell_run(const struct share_cell *c, uint32_t n, uint32_t samples_max, uint32_t runs,
    uint32_t rounds, uint64_t seed, struct covered *cv)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	struct covered held = { 0 };
	struct rng r;

	rng_seed(&r, seed);
	for (uint32_t run = 0; run < runs; run++) {
		struct finding f;
		struct group *g = NULL;
		struct sim s;

		sim_begin(&s, samples_max, rng_next(&r));
		sim_shape(&s, 0, 3);
		for (uint32_t i = 0; i < n; i++)
			g = cell_add(&s, c, &r);
		if (finding_of(&f, g, &usual, 0, rounds, rng_next(&r), &s.scratch, NULL) != 0)
			sim_die("no finding");
		covered_count(&held, f.edges[0].interval, cell_share(c));
		if (cv != NULL)
			covered_count(cv, f.cv_interval, cell_cv(c));
		sim_end(&s);
	}
	return held;
}

/* ---- types without a fault ---- */

struct healthy_group {
	uint32_t nedges;
	enum family family[HEALTHY_EDGES_MAX];
	double deviation_ns[HEALTHY_EDGES_MAX], base_ns[HEALTHY_EDGES_MAX];
	double weight, cv, mean_ns;
};

struct healthy {
	uint32_t ngroups;
	struct healthy_group group[SIM_SHAPES_MAX];
	double slow_ns; /* the type's true 95th percentile, estimated from 20,000 requests */
};

/* CVs from 2 to 9 %, a third of them 9 %: below the threshold, but near it. */
static inline void
healthy_group(struct healthy_group *g, double mean_ns, struct rng *r)
{
	double weights[HEALTHY_EDGES_MAX], sum = 0, squares = 0;

	*g = (struct healthy_group){ .nedges = 2 + (uint32_t)rng_below(r, HEALTHY_EDGES_MAX - 1),
		.mean_ns = mean_ns,
		.cv = rng_below(r, 3) == 0 ? 0.09 : 0.02 + 0.07 * rng_unit(r),
		.weight = 0.1 + rng_unit(r) };
	for (uint32_t e = 0; e < g->nedges; e++) {
		g->family[e] = (enum family)rng_below(r, FAMILIES);
		weights[e] = 0.05 + rng_unit(r) * rng_unit(r);
		squares += weights[e] * weights[e];
	}
	for (uint32_t e = 0; e < g->nedges; e++) {
		g->deviation_ns[e] = weights[e] / sqrt(squares) * g->cv * mean_ns;
		sum += g->deviation_ns[e] * family_mean(g->family[e]);
	}
	for (uint32_t e = 0; e < g->nedges; e++)
		g->base_ns[e] = (mean_ns - sum) / g->nedges;
}

static inline double
healthy_draw(const struct healthy_group *g, double *x, struct rng *r)
{
	double total = 0;

	for (uint32_t e = 0; e < g->nedges; e++)
		total += x[e] = g->base_ns[e] + g->deviation_ns[e] * family_draw(g->family[e], r);
	return total;
}

static inline uint32_t
healthy_pick(const struct healthy *h, struct rng *r)
{
	double sum = 0, at;
	uint32_t i;

	for (i = 0; i < h->ngroups; i++)
		sum += h->group[i].weight;
	at = rng_unit(r) * sum;
	for (i = 0; i + 1 < h->ngroups && at >= h->group[i].weight; i++)
		at -= h->group[i].weight;
	return i;
}

static inline int
by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * One to four groups with means up to 15 % apart. A type with a group whose mean exceeds the 95th
 * percentile is slow by definition, thus has a fault: another type is drawn.
 */
static inline void
healthy_type(struct healthy *h, struct rng *r)
{
	enum { TRUTH = 20000 };
	double *totals = malloc(TRUTH * sizeof *totals), x[HEALTHY_EDGES_MAX], most;

	if (totals == NULL)
		sim_die("out of memory");
	do {
		*h = (struct healthy){ .ngroups = 1 + (uint32_t)rng_below(r, SIM_SHAPES_MAX) };
		most = 0;
		for (uint32_t i = 0; i < h->ngroups; i++) {
			healthy_group(&h->group[i], 1e7 * (1 + 0.15 * rng_unit(r)), r);
			most = fmax(most, h->group[i].mean_ns);
		}
		for (int i = 0; i < TRUTH; i++)
			totals[i] = healthy_draw(&h->group[healthy_pick(h, r)], x, r);
		qsort(totals, TRUTH, sizeof *totals, by_double);
		h->slow_ns = totals[TRUTH * 95 / 100];
	} while (most > h->slow_ns);
	free(totals);
}

/*
 * Keys without effect. Numbers: normal, lognormal of sigma 2, small counts, constant. Categories: 2
 * to 40, or nearly always the same one. Some or most values are missing. The point determines
 * which, so that each key is of one sort.
 */
static inline void
healthy_values(struct value *v, uint32_t npoints, char (*texts)[8], struct rng *r)
{
	for (uint32_t i = 0; i < npoints; i++) {
		double size[4] = { rng_normal(r), exp(2 * rng_normal(r)), (double)rng_below(r, 4),
			7 };
		uint64_t kind[4] = { rng_below(r, 2), rng_below(r, 40),
			rng_below(r, 50) == 0 ? 1 + rng_below(r, 3) : 0, rng_below(r, 6) };

		v[2 * i] = (struct value){ .type = VALUE_REAL, .d = size[i % 4] };
		if (rng_below(r, 100) < (i % 3 == 1 ? 10 : i % 5 == 4 ? 90 : 0))
			v[2 * i] = (struct value){ .type = VALUE_NONE };
		snprintf(texts[i], sizeof texts[i], "k%u", (unsigned)kind[i % 4]);
		v[2 * i + 1] = (struct value){
			.type = VALUE_TEXT, .len = (uint32_t)strlen(texts[i]), .text = texts[i]
		};
	}
}

struct false_findings {
	uint32_t types, groups, looks;
	uint32_t unpredictable, slow, key, any; /* types with such a finding at any check */
	uint32_t naive; /* types with one if each check is taken for the only one */
	uint32_t
	    /* types with a key of p <= q at the last check, however little it explains */
	    key_any_p;
};

/* Judges all groups of a type; the threshold of "slow" is estimated, as in operation. */
static inline void
healthy_look(struct sim *s, const struct healthy *h, double slow_ns, uint32_t rounds,
    struct false_findings *f, uint64_t seed)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	static const uint32_t edges[HEALTHY_EDGES_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct key_finding *keys;
	struct finding x;
	int found;

	for (uint32_t i = 0; i < h->ngroups; i++) {
		struct group *g = s->shape[i].group;

		if (g == NULL || g->total.n < usual.traces_min)
			continue;
		f->looks++;
		if (finding_of(&x, g, &usual, slow_ns, rounds, seed, &s->scratch, NULL) != 0)
			sim_die("no finding");
		f->unpredictable |= x.problem == PROBLEM_UNPREDICTABLE;
		f->slow |= x.problem == PROBLEM_SLOW;
		f->naive |= x.cv_interval.low > usual.cv_max;
		found = keys_explain_edges(
		    &keys, g, edges, h->group[i].nedges, 0.01, 0.5, NULL, &s->scratch, NULL);
		f->key |= found != 0;
		arena_reset(&s->scratch);
	}
}

/* A type is checked at 30, 60, 120, ... requests for each group. */
static inline struct false_findings
healthy_run(uint32_t doublings, uint32_t rounds, uint64_t seed)
{
	static const uint32_t edges[HEALTHY_EDGES_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct false_findings f = { .types = 1 };
	struct sketch *all = calloc(1, sizeof *all);
	struct key_finding *keys;
	struct healthy h;
	struct sim s;
	struct rng r;

	if (all == NULL)
		sim_die("out of memory");
	rng_seed(&r, seed);
	healthy_type(&h, &r);
	f.groups = h.ngroups;
	sim_begin(&s, 512, seed);
	for (uint32_t i = 0; i < h.ngroups; i++)
		sim_shape(&s, i, h.group[i].nedges);
	for (uint32_t i = 1, look = 30 * h.ngroups; i <= 30 * h.ngroups << doublings; i++) {
		uint32_t at = healthy_pick(&h, &r), tid = (uint32_t)rng_below(&r, 12);
		struct value values[2 * HEALTHY_EDGES_MAX];
		char texts[HEALTHY_EDGES_MAX][8];
		double x[HEALTHY_EDGES_MAX];

		healthy_values(values, h.group[at].nedges - 1, texts, &r);
		sketch_add(all, llround(healthy_draw(&h.group[at], x, &r)));
		sim_add(&s, at, x, values, tid % 3, 100 + tid % 6, 1000 + tid);
		if (i == look) {
			healthy_look(&s, &h, sketch_quantile(all, 0.95), rounds, &f, rng_next(&r));
			look *= 2;
		}
	}
	for (uint32_t i = 0; i < h.ngroups; i++)
		f.key_any_p |= s.shape[i].group != NULL &&
		               keys_explain_edges(&keys, s.shape[i].group, edges, h.group[i].nedges,
				   0.01, 0, NULL, &s.scratch, NULL) != 0;
	f.any = f.unpredictable | f.slow | f.key;
	sim_end(&s);
	free(all);
	return f;
}

static inline void
false_findings_add(struct false_findings *into, const struct false_findings *f)
{
	into->types += f->types;
	into->groups += f->groups;
	into->looks += f->looks;
	into->unpredictable += f->unpredictable;
	into->slow += f->slow;
	into->key += f->key;
	into->any += f->any;
	into->naive += f->naive;
	into->key_any_p += f->key_any_p;
}

#endif
