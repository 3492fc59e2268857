/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From spots to candidates: a tracepoint is switched by its name, wherever it is, so
 * the spots of one label are one candidate. It stands where the walk passes the
 * label first, or else where its spots are on average.
 */
#include <stdlib.h>
#include <string.h>

#include "searchspace/match_inside.h"
#include "searchspace/span.h"

enum { NONE = UINT32_MAX };

struct found {
	uint64_t count, traces,
	    end_count; /* end_count: of the step to the partner; the most frequent wins */
	double offset_ns;
	uint32_t label, partner; /* partner: index into found, or NONE */
	uint32_t spot;  /* that it stands at: on the walk the first one, else the most frequent */
	uint32_t after; /* how many of the walk's spots lie before it */
	uint32_t out;   /* its index among the candidates; NONE: it is none */
	bool drawn;
};

struct collecting {
	struct matching *m;
	struct found *found;
	uint32_t n, *at; /* at: of each label, where in found + 1 */
};

static void
stand(struct found *f, const struct matching *m, uint32_t spot)
{
	f->spot = spot;
	f->after = m->at[spot].after;
}

static void
merge(struct collecting *c, uint32_t spot)
{
	const struct matching *m = c->m;
	const struct place *p = place_of(m, spot);
	bool drawn = m->at[spot].walk_at != 0;
	struct found *f;

	if (c->at[p->label] == 0) {
		c->found[c->n] = (struct found){ .label = p->label, .partner = NONE, .spot = NONE };
		c->at[p->label] = ++c->n;
	}
	f = &c->found[c->at[p->label] - 1];
	f->count += p->count;
	f->traces += p->traces;
	if (drawn ? !f->drawn || m->at[spot].walk_at < m->at[f->spot].walk_at
		  : !f->drawn && (f->spot == NONE || p->count > place_of(m, f->spot)->count))
		stand(f, m, spot);
	if (drawn)
		f->offset_ns = m->at[f->spot].when_ns;
	else if (!f->drawn)
		f->offset_ns += (m->at[spot].when_ns - f->offset_ns) * (double)p->count /
		                (double)(f->count > 0 ? f->count : 1);
	f->drawn |= drawn;
}

/* ---- spans ---- */

static struct found *
found_of(const struct collecting *c, uint32_t label)
{
	return label != LABEL_NONE && c->at[label] != 0 ? &c->found[c->at[label] - 1] : NULL;
}

static void
pair_up(struct collecting *c, struct found *begin, struct found *end, uint64_t count)
{
	const struct labels *l = c->m->labels;

	if (begin == NULL || begin == end || count <= begin->end_count || count <= end->end_count ||
	    !spans_pair(labels_get(l, begin->label), labels_get(l, end->label)))
		return;
	if (begin->partner != NONE)
		c->found[begin->partner].partner = NONE;
	if (end->partner != NONE)
		c->found[end->partner].partner = NONE;
	begin->partner = (uint32_t)(end - c->found);
	end->partner = (uint32_t)(begin - c->found);
	begin->end_count = end->end_count = count;
}

/* A span's end follows on something in it, or if it is empty on its begin; and lies in another span
 * than that, unless it called itself. */
static void
find_partners(struct collecting *c)
{
	const struct matching *m = c->m;

	for (uint32_t i = 0; i < m->inside.n; i++) {
		const struct place *p = place_of(m, m->inside.at[i]);

		for (uint32_t w = m->g->spots[m->inside.at[i]].out; w != GRAPH_NONE;
		     w = m->g->ways[w].next_out) {
			const struct way *way = &m->g->ways[w];
			const struct place *next = place_of(m, way->to);
			struct found *end;

			if ((m->at[way->to].marks & INSIDE) == 0 || next->span == p->label)
				continue;
			end = found_of(c, next->label);
			if (next->span == p->span)
				pair_up(c, found_of(c, p->label), end, way->count);
			if (p->span != LABEL_NONE)
				pair_up(c, found_of(c, p->span), end, way->count);
		}
	}
}

/* ---- in order ---- */

static int
by_place(const void *x, const void *y)
{
	const struct found *a = *(struct found *const *)x, *b = *(struct found *const *)y;

	if (a->offset_ns != b->offset_ns)
		return a->offset_ns < b->offset_ns ? -1 : 1;
	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	return a->spot < b->spot ? -1 : 1;
}

/* Those on the walk are in order; the others are sorted and go in between, each behind what lies
 * before it. */
static bool
put_in_order(struct collecting *c, struct found **order)
{
	const struct matching *m = c->m;
	struct found **others = arena_alloc(m->tmp, (c->n + 1) * sizeof *others);
	uint32_t n = 0, nothers = 0, at = 0;

	if (others == NULL)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		if (!c->found[i].drawn)
			others[nothers++] = &c->found[i];
	qsort(others, nothers, sizeof *others, by_place);
	for (uint32_t i = 0; i < m->walk.n; i++) {
		struct found *f = found_of(c, place_of(m, m->walk.at[i])->label);

		if (f == NULL || f->spot != m->walk.at[i])
			continue;
		while (at < nothers && by_place(&others[at], &f) < 0)
			order[n++] = others[at++];
		order[n++] = f;
	}
	while (at < nothers)
		order[n++] = others[at++];
	return true;
}

/* The innermost span around that is a candidate and comes before; so going outwards comes to an
 * end. */
static uint32_t
around(const struct collecting *c, const struct found *f)
{
	uint32_t self = f->out;

	for (uint32_t left = 64; left > 0; left--) {
		const struct found *span = found_of(c, place_of(c->m, f->spot)->span);

		if (span == NULL || span == f)
			return NONE;
		if (span->out != NONE && span->out < self)
			return span->out;
		f = span;
	}
	return NONE;
}

static void
give_out(const struct collecting *c, struct found *const *order, uint32_t n, uint64_t passing,
    struct candidate *out)
{
	const struct matching *m = c->m;
	double traces = m->g->traces > 0 ? (double)m->g->traces : 1,
	       through = passing > 0 ? (double)passing : 1;

	for (uint32_t i = 0; i < n; i++) {
		const struct found *f = order[i];
		struct candidate *o = &out[i];
		uint64_t everywhere = place_of(m, f->spot)->count;

		*o = (struct candidate){ .label = f->label,
			.around = around(c, f),
			.drawn = f->drawn,
			.count = f->count,
			.offset_ns = f->offset_ns,
			.partner = f->partner != NONE ? c->found[f->partner].out : NONE };
		o->share = (double)f->traces < through ? (double)f->traces / through : 1;
		for (uint32_t s = m->g->spots[f->spot].same; s != f->spot; s = m->g->spots[s].same)
			everywhere += place_of(m, s)->count;
		o->per_trace = (double)everywhere / traces;
	}
}

int
match_collect(struct matching *m, uint64_t passing, const struct label_set *without,
    struct candidate **ret, struct arena *a, struct err *e)
{
	struct collecting c = { m };
	struct found **order = arena_alloc(m->tmp, (m->inside.n + 1) * sizeof *order);
	uint32_t n = 0;

	if (m->inside.n == 0)
		return 0;
	c.found = arena_alloc(m->tmp, m->inside.n * sizeof *c.found);
	c.at = arena_calloc(m->tmp, labels_count(m->labels) + 1, sizeof *c.at);
	if (order == NULL || c.found == NULL || c.at == NULL)
		goto full;
	for (uint32_t i = 0; i < m->inside.n; i++)
		if (kind_in(m->kinds, place_of(m, m->inside.at[i])->label) == RECORD_POINT)
			merge(&c, m->inside.at[i]);
	find_partners(&c);
	if (!put_in_order(&c, order))
		goto full;
	for (uint32_t i = 0; i < c.n; i++) {
		order[i]->out = without != NULL && label_set_has(without, order[i]->label) ? NONE
		                                                                           : n;
		if (order[i]->out != NONE)
			order[n++] = order[i];
	}
	if ((*ret = arena_alloc(a, (n + 1) * sizeof **ret)) == NULL)
		goto full;
	give_out(&c, order, n, passing, *ret);
	return (int)n;
full:
	return err_set(e, ERR_MEMORY, "search space: out of memory");
}
