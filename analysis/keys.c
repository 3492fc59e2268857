/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which keys tell why an edge takes long. A number is tried by Pearson's r and
 * by Spearman's rho, each against Student's t with n - 2 degrees of freedom; the
 * key's p is twice the smaller one, since two questions were asked. A text is
 * tried by the one-way analysis of variance. The p of all keys that were tried are
 * then corrected together.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "analysis/variance.h"

enum { SAMPLES_MIN = 8 };

#define MISSING_MAX 0.2

struct pair {
	double x, y, rank_x, rank_y;
};

struct columns {
	struct pair *pairs;
	uint32_t n;
};

static int
by_x(const void *a, const void *b)
{
	double x = ((const struct pair *)a)->x, y = ((const struct pair *)b)->x;

	return (x > y) - (x < y);
}

static int
by_y(const void *a, const void *b)
{
	double x = ((const struct pair *)a)->y, y = ((const struct pair *)b)->y;

	return (x > y) - (x < y);
}

static bool
is_numeric(const struct key *k)
{
	return k->type == VALUE_INT || k->type == VALUE_UINT || k->type == VALUE_REAL;
}

/* The key's values beside the edge's times, where both are known. */
static void
pick(struct columns *c, const struct group *g, uint32_t key, uint32_t edge)
{
	c->n = 0;
	for (uint32_t i = 0; i < g->nsamples; i++)
		if (!isnan(g->samples[i].keys[key]))
			c->pairs[c->n++] = (struct pair){ g->samples[i].keys[key], g->samples[i].edges_ns[edge], 0, 0 };
}

/* Equal values share the mean of their ranks. */
static void
rank_pairs(struct columns *c)
{
	struct pair *p = c->pairs;
	uint32_t end;

	qsort(p, c->n, sizeof *p, by_y);
	for (uint32_t i = 0; i < c->n; i = end) {
		for (end = i + 1; end < c->n && p[end].y == p[i].y; end++)
			;
		for (uint32_t j = i; j < end; j++)
			p[j].rank_y = (i + end - 1) / 2.0;
	}
	qsort(p, c->n, sizeof *p, by_x);
	for (uint32_t i = 0; i < c->n; i = end) {
		for (end = i + 1; end < c->n && p[end].x == p[i].x; end++)
			;
		for (uint32_t j = i; j < end; j++)
			p[j].rank_x = (i + end - 1) / 2.0;
	}
}

static double
correlation(const struct columns *c, bool of_ranks)
{
	struct comoments m = { 0 };
	struct moments y = { 0 };

	for (uint32_t i = 0; i < c->n; i++) {
		const struct pair *p = &c->pairs[i];

		comoments_add(&m, of_ranks ? p->rank_x : p->x, of_ranks ? p->rank_y : p->y);
		moments_add(&y, of_ranks ? p->rank_y : p->y);
	}
	return m.m2_x > 0 && y.m2 > 0 ? fmax(-1, fmin(1, m.c_xy / sqrt(m.m2_x) / sqrt(y.m2))) : 0;
}

static double
p_of_r(double r, uint32_t n)
{
	double rest = 1 - r * r;

	return rest > 0 ? 2 * gsl_cdf_tdist_Q(fabs(r) * sqrt((n - 2) / rest), n - 2) : 0;
}

static bool
try_number(struct key_finding *f, struct columns *c)
{
	rank_pairs(c);
	if (c->pairs[0].x == c->pairs[c->n - 1].x)
		return false;
	f->numeric = true;
	f->r = correlation(c, false);
	f->rho = correlation(c, true);
	f->p = fmin(1, 2 * fmin(p_of_r(f->r, c->n), p_of_r(f->rho, c->n)));
	return true;
}

/* F = (between / (k - 1)) / (within / (n - k)). With categories of a sample or two each there is nothing to see. */
static bool
try_category(struct key_finding *f, struct columns *c)
{
	struct moments all = { 0 };
	double within = 0, between;
	uint32_t k = 0, end;

	qsort(c->pairs, c->n, sizeof *c->pairs, by_x);
	for (uint32_t i = 0; i < c->n; i = end, k++) {
		struct moments one = { 0 };

		for (end = i; end < c->n && c->pairs[end].x == c->pairs[i].x; end++)
			moments_add(&one, c->pairs[end].y);
		within += one.m2;
		moments_merge(&all, &one);
	}
	if (k < 2 || k > c->n / 2)
		return false;
	between = fmax(0, all.m2 - within);
	f->share = all.m2 > 0 ? between / all.m2 : 0;
	f->p = within > 0 ? gsl_cdf_fdist_Q(between / (k - 1) / (within / (c->n - k)), k - 1, c->n - k) : 0;
	return true;
}

static bool
try_key(struct key_finding *f, const struct group *g, uint32_t key, uint32_t edge, struct columns *c)
{
	pick(c, g, key, edge);
	*f = (struct key_finding){ .key = key, .n = c->n };
	if (c->n < SAMPLES_MIN || c->n < (1 - MISSING_MAX) * g->nsamples)
		return false;
	return is_numeric(&g->keys[key]) ? try_number(f, c) : try_category(f, c);
}

static int
by_p(const void *a, const void *b)
{
	const struct key_finding *x = a, *y = b;

	return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->key > y->key) - (x->key < y->key);
}

/* Benjamini & Hochberg's correction: p times how many were tried, over its rank; never more than for a larger p. */
static void
correct(struct key_finding *f, uint32_t n)
{
	double least = 1;

	qsort(f, n, sizeof *f, by_p);
	for (uint32_t i = n; i-- > 0;) {
		least = fmin(least, f[i].p * n / (i + 1));
		f[i].p = least;
	}
}

static double
explains(const struct key_finding *f)
{
	return f->numeric ? fmax(f->r * f->r, f->rho * f->rho) : f->share;
}

struct near {
	const struct group *g;
	const struct shape_edge *edge;
};

static uint32_t
apart(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static uint32_t
distance(const struct near *near, const struct key_finding *f)
{
	uint32_t token = near->g->keys[f->key].token;
	uint32_t from = apart(token, near->edge->from_token), to = apart(token, near->edge->to_token);

	return from < to ? from : to;
}

static int
by_worth(const void *a, const void *b, void *near)
{
	double x = explains(a), y = explains(b);
	uint32_t far_a = distance(near, a), far_b = distance(near, b);

	if (x != y)
		return (x < y) - (x > y);
	if (far_a != far_b)
		return far_a < far_b ? -1 : 1;
	return ((const struct key_finding *)a)->key < ((const struct key_finding *)b)->key ? -1 : 1;
}

static bool
edge_varies(const struct group *g, uint32_t edge)
{
	for (uint32_t i = 1; i < g->nsamples; i++)
		if (g->samples[i].edges_ns[edge] != g->samples[0].edges_ns[edge])
			return true;
	return false;
}

int
keys_explain(struct key_finding **ret, const struct group *g, uint32_t edge, double q, double explain_min,
    struct arena *a, struct err *e)
{
	struct columns c = { arena_alloc(a, g->nsamples * sizeof *c.pairs), 0 };
	struct key_finding *found = arena_alloc(a, g->nkeys * sizeof *found);
	struct near near = { g, &g->shape.edges[edge] };
	uint32_t tried = 0, n = 0;

	*ret = found;
	if (c.pairs == NULL || found == NULL)
		return err_set(e, ERR_MEMORY, "no memory to try %u keys", g->nkeys);
	if (!edge_varies(g, edge))
		return 0;
	for (uint32_t k = 0; k < g->nkeys; k++)
		tried += try_key(&found[tried], g, k, edge, &c);
	correct(found, tried);
	for (uint32_t i = 0; i < tried; i++)
		if (found[i].p <= q && explains(&found[i]) >= explain_min)
			found[n++] = found[i];
	qsort_r(found, n, sizeof *found, by_worth, &near);
	return (int)n;
}

void
key_print(const struct group *g, const struct key *k, const struct labels *labels, struct buf *out)
{
	const struct shape *s = &g->shape;
	uint32_t token = k->token;

	if (k->kind == KEY_NODE) {
		buf_printf(out, "node");
		return;
	}
	while (s->tokens[token] == SHAPE_OPEN)
		token++;
	if (k->kind == KEY_ITERATIONS)
		buf_printf(out, "iterations of ( %s ... )+", labels_get(labels, s->tokens[token])->text);
	else
		buf_printf(out, "%s.%s", labels_get(labels, s->tokens[token])->text,
		    labels_get(labels, s->tokens[token])->fields[k->field]);
}
