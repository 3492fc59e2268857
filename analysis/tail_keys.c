/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/tail_keys.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/moments.h"
#include "analysis/strata.h"

/* Differences that are as near as that to the largest one count as equal. */
static const double NEARLY = 0.02;

struct valued {
	double value;
	uint32_t sample;
};

struct divided_samples {
	uint32_t nslow, nusual;
	bool *slow; /* [n], by sample */
};

static double
time_of(const struct sample *s, uint32_t edge)
{
	return edge == TAIL_KEYS_WHOLE ? (double)s->total_ns : s->edges_ns[edge];
}

/* A request that does not pass the edge has neither its time there nor most keys of its path. */
static bool
passes(const struct sample *s, uint32_t edge)
{
	return edge == TAIL_KEYS_WHOLE || s->edges_ns[edge] > 0;
}

/* ---- one key ---- */

static int
by_value(const void *a, const void *b)
{
	const struct valued *x = a, *y = b;

	return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
	                            : (x->sample > y->sample) - (x->sample < y->sample);
}

static void
consider(struct tail_key *best, enum tail_has has, double value, double slow, double usual)
{
	if (slow - usual <= best->slow - best->usual)
		return;
	best->has = has;
	best->value = value;
	best->slow = slow;
	best->usual = usual;
}

/* The largest difference of one key, whose values are in their order. */
static struct tail_key
largest_of(const struct valued *v, uint32_t n, bool ordered, const struct divided_samples *d)
{
	struct tail_key best = { .nslow = d->nslow, .nusual = d->nusual };
	double all_slow = 0, all_usual = 0, slow = 0, usual = 0;

	for (uint32_t i = 0; i < n; i++) {
		all_slow += d->slow[v[i].sample];
		all_usual += !d->slow[v[i].sample];
	}
	for (uint32_t i = 0, next; i < n; i = next) {
		double slow_here = 0, usual_here = 0;

		for (next = i; next < n && v[next].value == v[i].value; next++) {
			slow_here += d->slow[v[next].sample];
			usual_here += !d->slow[v[next].sample];
		}
		consider(&best, TAIL_HAS_EQUAL, v[i].value, slow_here / d->nslow,
		    usual_here / d->nusual);
		if (ordered)
			consider(&best, TAIL_HAS_AT_LEAST, v[i].value, (all_slow - slow) / d->nslow,
			    (all_usual - usual) / d->nusual);
		slow += slow_here;
		usual += usual_here;
		if (ordered)
			consider(&best, TAIL_HAS_AT_MOST, v[i].value, slow / d->nslow,
			    usual / d->nusual);
	}
	return best;
}

/* ---- all keys ---- */

struct key_values { /* of one key, in their order; samples without the key are left out */
	uint32_t n;
	struct valued *each;
	bool ordered;
};

static int
values_of(struct key_values *ret, const struct group *g, uint32_t key, const struct strata *s,
    struct arena *a)
{
	const struct key *k = &g->keys[key];

	*ret = (struct key_values){ .each = arena_alloc(a, s->n * sizeof *ret->each),
		.ordered = k->kind == KEY_ITERATIONS ||
		           (k->kind == KEY_FIELD && k->type != VALUE_TEXT) };
	if (ret->each == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < s->n; i++)
		if (!isnan(s->samples[i]->keys[key]))
			ret->each[ret->n++] = (struct valued){ s->samples[i]->keys[key], i };
	qsort(ret->each, ret->n, sizeof *ret->each, by_value);
	return 0;
}

static double
apart(const struct tail_key *k)
{
	return k->slow - k->usual;
}

static double
largest_of_all(const struct key_values *v, uint32_t nkeys, const struct divided_samples *d)
{
	double most = 0;

	for (uint32_t k = 0; k < nkeys; k++) {
		const struct tail_key its = largest_of(v[k].each, v[k].n, v[k].ordered, d);

		most = fmax(most, apart(&its));
	}
	return most;
}

static void
shuffle(struct divided_samples *d, struct rng *rng)
{
	uint32_t n = d->nslow + d->nusual;

	for (uint32_t i = 0; i + 1 < n; i++) {
		uint32_t at = i + (uint32_t)rng_below(rng, n - i);
		bool swap = d->slow[i];

		d->slow[i] = d->slow[at];
		d->slow[at] = swap;
	}
}

static double
chance_of(double most, const struct key_values *v, uint32_t nkeys, struct divided_samples *d,
    uint32_t rounds, uint64_t seed)
{
	uint32_t as_large = 0;
	struct rng rng;

	rng_seed(&rng, seed);
	for (uint32_t i = 0; i < rounds; i++) {
		shuffle(d, &rng);
		as_large += largest_of_all(v, nkeys, d) >= most;
	}
	return (1.0 + as_large) / (1.0 + rounds);
}

static uint32_t
distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* Whether key b of nearly equal ones is preferred; see step 4. */
static bool
preferred(const struct group *g, uint32_t b, uint32_t a, uint32_t token)
{
	const struct key *x = &g->keys[a], *y = &g->keys[b];

	return x->kind != y->kind ? y->kind < x->kind
	                          : distance(y->token, token) < distance(x->token, token);
}

/* ---- the division ---- */

/* Of times in their order: the best limit; NAN, if it does not divide them enough. */
static double
best_limit(uint32_t *nslow, const struct valued *v, uint32_t nvalues, const struct strata *s)
{
	double n = 0, sum = 0, m2 = 0, below = 0, below_sum = 0, most = 0, limit = NAN;

	for (uint32_t i = 0; i < nvalues; i++) {
		double w = strata_weight(s, v[i].sample), d = v[i].value - (n > 0 ? sum / n : 0);

		m2 += w * d * d * n / (n + w);
		n += w;
		sum += w * v[i].value;
	}
	for (uint32_t i = 0; i + 1 < nvalues; i++) {
		double w = strata_weight(s, v[i].sample), between, apart_ns;

		below += w;
		below_sum += w * v[i].value;
		if (v[i + 1].value == v[i].value || n - below > TAIL_KEYS_FEW_MAX * n)
			continue;
		apart_ns = (sum - below_sum) / (n - below) - below_sum / below;
		between = below * (n - below) / n * apart_ns * apart_ns;
		if (between > most) {
			most = between;
			limit = v[i].value;
			*nslow = nvalues - 1 - i;
		}
	}
	return most >= TAIL_KEYS_DIVIDES_MIN * m2 ? limit : NAN;
}

int
tail_division(double *ret, uint32_t *nslow, const struct group *g, uint32_t edge, uint64_t seed,
    struct arena *a, struct err *e)
{
	struct strata s;
	struct valued *v;
	uint32_t n = 0;

	assert(edge == TAIL_KEYS_WHOLE || edge < g->shape.nedges);
	if (strata_of(&s, g, seed, a) != 0 || (v = arena_alloc(a, (s.n + 1) * sizeof *v)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory to divide the requests of a group");
	for (uint32_t i = 0; i < s.n; i++)
		if (passes(s.samples[i], edge))
			v[n++] = (struct valued){ time_of(s.samples[i], edge), i };
	qsort(v, n, sizeof *v, by_value);
	*nslow = 0;
	*ret = best_limit(nslow, v, n, &s);
	return 0;
}

int
tail_key_of(struct tail_key *ret, const struct group *g, uint32_t edge, double above_ns,
    uint32_t token, double p_max, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e)
{
	struct key_values *v = arena_calloc(a, g->nkeys + 1, sizeof *v);
	struct tail_key *largest = arena_calloc(a, g->nkeys + 1, sizeof *largest), best = { 0 };
	struct divided_samples d = { 0 };
	struct strata s;
	uint32_t n = 0;
	double most = 0;

	*ret = (struct tail_key){ .key = UINT32_MAX };
	if (v == NULL || largest == NULL || strata_of(&s, g, seed, a) != 0 ||
	    (d.slow = arena_calloc(a, s.n + 1, sizeof *d.slow)) == NULL)
		goto no_memory;
	for (uint32_t i = 0; i < s.n; i++)
		if (passes(s.samples[i], edge))
			s.samples[n++] = s.samples[i];
	s.n = n;
	for (uint32_t i = 0; i < s.n; i++) {
		d.slow[i] = time_of(s.samples[i], edge) > above_ns;
		d.nslow += d.slow[i];
	}
	d.nusual = s.n - d.nslow;
	ret->nslow = d.nslow;
	ret->nusual = d.nusual;
	/* 1 */
	if (d.nslow < TAIL_KEYS_SLOW_MIN || d.nusual < d.nslow)
		return 0;
	for (uint32_t k = 0; k < g->nkeys; k++) {
		if (values_of(&v[k], g, k, &s, a) != 0)
			goto no_memory;
		largest[k] = largest_of(v[k].each, v[k].n, v[k].ordered, &d);
		largest[k].key = k;
		most = fmax(most, apart(&largest[k]));
	}
	/* 2 */
	if (most < TAIL_KEYS_APART_MIN)
		return 0;
	/* 4 */
	best.key = UINT32_MAX;
	for (uint32_t k = 0; k < g->nkeys; k++)
		if (apart(&largest[k]) >= most - NEARLY &&
		    (best.key == UINT32_MAX || preferred(g, k, best.key, token)))
			best = largest[k];
	/* 3 */
	best.p = chance_of(apart(&best), v, g->nkeys, &d, rounds, seed);
	if (best.p <= p_max)
		*ret = best;
	return 0;
no_memory:
	return err_set(e, ERR_MEMORY, "no memory to compare the slow requests of a group");
}
