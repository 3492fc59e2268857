/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/rest.h"

#include <math.h>

struct passing { /* a group, and which of its edges are in the known cause, and in the place */
	const struct group *group;
	bool *known, *place;
};

struct means {
	double weight, x, rest, t; /* ns */
};

static double
time_in(const bool *inside, const struct group *g, const struct sample *s)
{
	double ns = 0;

	for (uint32_t i = 0; i < g->shape.nedges; i++)
		ns += inside[i] ? s->edges_ns[i] : 0;
	return ns;
}

static double
weight_of(const struct group *g)
{
	return g->nsamples > 0 ? (double)g->total.n / g->nsamples : 0;
}

static int
find_edges(struct passing *p, struct group *const *groups, uint32_t n, const struct gap *known,
    const struct gap *place, struct arena *a)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct group *g = groups[i];

		p[i] = (struct passing){ g, arena_calloc(a, g->shape.nedges + 1, sizeof(bool)),
			arena_calloc(a, g->shape.nedges + 1, sizeof(bool)) };
		if (p[i].known == NULL || p[i].place == NULL)
			return ERR_MEMORY;
		gap_edges(&g->shape, known, p[i].known, a);
		gap_edges(&g->shape, place, p[i].place, a);
	}
	return 0;
}

static struct means
means_of(const struct passing *p, uint32_t n)
{
	struct means m = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const struct group *g = p[i].group;

		for (uint32_t k = 0; k < g->nsamples; k++) {
			const struct sample *s = &g->samples[k];

			m.weight += weight_of(g);
			m.x += weight_of(g) * time_in(p[i].place, g, s);
			m.rest += weight_of(g) * ((double)s->total_ns - time_in(p[i].known, g, s));
			m.t += weight_of(g) * (double)s->total_ns;
		}
	}
	if (m.weight > 0) {
		m.x /= m.weight;
		m.rest /= m.weight;
		m.t /= m.weight;
	}
	return m;
}

/* What a request adds to the numerator and to the denominator of the share. */
static void
add_of(const struct passing *p, const struct sample *s, const struct means *m, bool by_latency,
    double *part, double *whole)
{
	double x = time_in(p->place, p->group, s), t = (double)s->total_ns,
	       rest = t - time_in(p->known, p->group, s);

	*part = by_latency ? x : (x - m->x) * (rest - m->rest);
	*whole = by_latency ? t : (t - m->t) * (t - m->t);
}

static void
sum_share(struct rest_share *ret, const struct passing *p, uint32_t n, const struct means *m,
    bool by_latency)
{
	double part, whole, parts = 0, wholes = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < p[i].group->nsamples; k++) {
			add_of(&p[i], &p[i].group->samples[k], m, by_latency, &part, &whole);
			parts += weight_of(p[i].group) * part;
			wholes += weight_of(p[i].group) * whole;
		}
	if (wholes <= 0)
		return;
	ret->share = parts / wholes;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < p[i].group->nsamples; k++) {
			double weight = weight_of(p[i].group);

			add_of(&p[i], &p[i].group->samples[k], m, by_latency, &part, &whole);
			part -= ret->share * whole;
			squares += weight * weight * part * part;
		}
	ret->se = sqrt(squares) / wholes;
}

int
rest_share_of(struct rest_share *ret, struct group *const *groups, uint32_t n,
    const struct gap *known, const struct gap *place, bool by_latency, struct arena *a,
    struct err *e)
{
	struct passing *p = arena_calloc(a, n + 1, sizeof *p);
	struct means m;

	*ret = (struct rest_share){ 0 };
	if (p == NULL || find_edges(p, groups, n, known, place, a) != 0)
		return err_set(e, ERR_MEMORY, "out of memory for what is left of a problem");
	m = means_of(p, n);
	sum_share(ret, p, n, &m, by_latency);
	return 0;
}
