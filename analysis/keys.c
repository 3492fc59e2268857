/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which keys explain the times of edges: 1. every key is tested against every edge
 * (key_significance.c); 2. all p values are corrected together; 3. keys that explain enough are
 * kept; 4. of these, redundant ones are left out.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key_significance.h"

enum { SAMPLES_MIN = 8 };

#define MISSING_MAX 0.2

struct key_trial {
	const struct group *g;
	struct ordering *keys; /* [nkeys] */
	struct ordering edge;  /* the current edge */
	struct key_scratch *scratch;
	struct key_finding *findings; /* [nedges x nkeys] */
	uint32_t nfindings;
	double q, explain_min;
};

static bool
is_numeric(const struct key *k)
{
	return k->type == VALUE_INT || k->type == VALUE_UINT || k->type == VALUE_REAL;
}

static int
trial_begin(struct key_trial *s, const struct group *g, uint32_t nedges, struct arena *a)
{
	s->keys = arena_alloc(a, g->nkeys * sizeof *s->keys);
	s->findings = arena_calloc(a, (size_t)nedges * g->nkeys, sizeof *s->findings);
	s->scratch = key_scratch_new(g->nsamples, a);
	if (s->keys == NULL || s->findings == NULL || s->scratch == NULL)
		return ERR_MEMORY;
	for (uint32_t k = 0; k < g->nkeys; k++)
		if (ordering_of_key(&s->keys[k], g, k, a) != 0)
			return ERR_MEMORY;
	return 0;
}

static int
try_edge(struct key_trial *s, uint32_t edge, struct arena *a)
{
	if (ordering_of_edge(&s->edge, s->g, edge, a) != 0)
		return ERR_MEMORY;
	for (uint32_t k = 0; k < s->g->nkeys && s->edge.distinct > 1; k++) {
		struct key_finding *f = &s->findings[s->nfindings];

		*f = (struct key_finding){ .edge = edge, .key = k };
		if (s->keys[k].n < SAMPLES_MIN || s->keys[k].n < (1 - MISSING_MAX) * s->g->nsamples)
			continue;
		s->nfindings += is_numeric(&s->g->keys[k]) ? key_significance_of_number(f,
								 &s->keys[k], &s->edge, s->scratch)
		                                           : key_significance_of_category(f,
								 &s->keys[k], &s->edge, s->scratch);
	}
	return 0;
}

static int
by_p(const void *a, const void *b)
{
	const struct key_finding *x = a, *y = b;

	return x->p != y->p         ? (x->p > y->p) - (x->p < y->p)
	       : x->edge != y->edge ? (x->edge > y->edge) - (x->edge < y->edge)
	                            : (x->key > y->key) - (x->key < y->key);
}

/* Benjamini & Hochberg 1995: p times the number of tests, divided by its rank; never more than
 * that of a larger p. */
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

static void
keep_significant(struct key_trial *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nfindings; i++)
		if (s->findings[i].p <= s->q && s->findings[i].explains >= s->explain_min)
			s->findings[n++] = s->findings[i];
	s->nfindings = n;
}

/* ---- order ---- */

static uint32_t
distance_between(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static uint32_t
distance(const struct group *g, const struct key_finding *f)
{
	const struct shape_edge *edge = &g->shape.edges[f->edge];
	uint32_t from = distance_between(g->keys[f->key].token, edge->from_token),
		 to = distance_between(g->keys[f->key].token, edge->to_token);

	return from < to ? from : to;
}

/* Best first; among equals the nearest, then the coarsest kind. */
static int
by_explained(const void *a, const void *b, void *group)
{
	const struct key_finding *x = a, *y = b;
	const struct group *g = group;
	uint32_t far_x = distance(g, x), far_y = distance(g, y);

	if (x->edge != y->edge)
		return x->edge < y->edge ? -1 : 1;
	if (x->explains != y->explains)
		return (x->explains < y->explains) - (x->explains > y->explains);
	if (far_x != far_y)
		return far_x < far_y ? -1 : 1;
	if (g->keys[x->key].kind != g->keys[y->key].kind)
		return g->keys[x->key].kind < g->keys[y->key].kind ? -1 : 1;
	return x->key < y->key ? -1 : 1;
}

/* Whether another finding of the same edge explains all that this one explains. `i` is its
 * index. */
static bool
is_redundant(
    struct key_trial *s, const struct key_finding *f, uint32_t first, uint32_t n, uint32_t i)
{
	for (uint32_t j = first; j < first + n; j++) {
		enum key_nesting nested;

		if (j == i || s->findings[j].numeric)
			continue;
		nested = key_nesting(&s->keys[f->key], &s->keys[s->findings[j].key], &s->edge, s->q,
		    s->explain_min, s->scratch);
		if (nested == NESTED_ADDS_NOTHING || (nested == NESTED_SAME && j < i))
			return true;
	}
	return false;
}

/* Removes the redundant findings of one edge; the others keep their order. Returns their
 * number. */
static uint32_t
leave_out_redundant(struct key_trial *s, uint32_t first, uint32_t n, bool *out)
{
	uint32_t left = 0;

	for (uint32_t i = first; i < first + n; i++)
		out[i] = !s->findings[i].numeric && is_redundant(s, &s->findings[i], first, n, i);
	for (uint32_t i = first; i < first + n; i++)
		if (!out[i])
			s->findings[first + left++] = s->findings[i];
	return left;
}

/* Copies the findings, which are in order of edge numbers, in the order in which edges were
 * asked. Returns their number, or ERR_MEMORY. */
static int
by_edges_asked(struct key_trial *s, struct key_finding *ret, const uint32_t *edges, uint32_t nedges,
    struct arena *a)
{
	bool *out = arena_alloc(a, s->nfindings * sizeof *out + 1);
	uint32_t n = 0;

	if (out == NULL)
		return ERR_MEMORY;
	for (uint32_t e = 0; e < nedges; e++) {
		uint32_t first = 0, count = 0;

		while (first < s->nfindings && s->findings[first].edge != edges[e])
			first++;
		while (first + count < s->nfindings && s->findings[first + count].edge == edges[e])
			count++;
		if (count > 1 && ordering_of_edge(&s->edge, s->g, edges[e], a) != 0)
			return ERR_MEMORY;
		if (count > 1)
			count = leave_out_redundant(s, first, count, out);
		memcpy(&ret[n], &s->findings[first], count * sizeof *ret);
		n += count;
	}
	return (int)n;
}

int
keys_explain_edges(struct key_finding **ret, const struct group *g, const uint32_t *edges,
    uint32_t nedges, double q, double explain_min, uint32_t *tried, struct arena *a, struct err *e)
{
	struct key_trial s = { .g = g, .q = q, .explain_min = explain_min };
	int n = trial_begin(&s, g, nedges, a);

	for (uint32_t i = 0; i < nedges && n == 0; i++)
		n = try_edge(&s, edges[i], a);
	if (n != 0)
		return err_set(e, ERR_MEMORY, "no memory to try %u keys", g->nkeys);
	if (tried != NULL)
		*tried = s.nfindings;
	correct(s.findings, s.nfindings);
	keep_significant(&s);
	qsort_r(s.findings, s.nfindings, sizeof *s.findings, by_explained, (void *)(uintptr_t)g);
	*ret = arena_alloc(a, s.nfindings * sizeof **ret + 1);
	n = *ret != NULL ? by_edges_asked(&s, *ret, edges, nedges, a) : ERR_MEMORY;
	return n >= 0 ? n : err_set(e, ERR_MEMORY, "no memory to try %u keys", g->nkeys);
}

int
keys_explain(struct key_finding **ret, const struct group *g, uint32_t edge, double q,
    double explain_min, struct arena *a, struct err *e)
{
	return keys_explain_edges(ret, g, &edge, 1, q, explain_min, NULL, a, e);
}

/* ---- text ---- */

void
key_print(const struct group *g, const struct key *k, const struct labels *labels, struct buf *out)
{
	const struct label *label = labels_get(labels, g->shape.tokens[k->token]);

	assert(k->token < g->shape.ntokens);
	switch (k->kind) {
	case KEY_NODE:
		buf_printf(out, "node of %s", label->text);
		break;
	case KEY_PROCESS:
		buf_printf(out, "process of %s", label->text);
		break;
	case KEY_THREAD:
		buf_printf(out, "thread of %s", label->text);
		break;
	case KEY_ITERATIONS:
		buf_printf(out, "iterations of ( %s ... )+", label->text);
		break;
	default:
		buf_printf(out, "%s.%s", label->text, label->fields[k->field]);
	}
}
