/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/gap.h"

#include <assert.h>

static bool is_from(const struct shape *s, uint32_t token, const struct gap *gap);
static bool is_to(const struct shape *s, uint32_t token, const struct gap *gap);

struct gap
gap_of(const struct shape *s, uint32_t edge)
{
	assert(edge < s->nedges);
	const struct shape_edge *x = &s->edges[edge];
	struct gap gap = { .from = x->from,
		.to = x->to,
		.from_unit = x->from_unit,
		.to_unit = x->to_unit,
		.back = x->to_token <= x->from_token };

	for (uint32_t i = 0; i < x->from_token; i++)
		gap.nth += is_from(s, i, &gap);
	gap.only = gap_is_only(s, &gap);
	return gap;
}

bool
gap_is_only(const struct shape *s, const struct gap *gap)
{
	uint32_t from = 0, to = 0;

	for (uint32_t i = 0; i < s->ntokens; i++) {
		from += is_from(s, i, gap);
		to += is_to(s, i, gap);
	}
	return from == 1 && to == 1;
}

bool
gap_same_ends(const struct gap *a, const struct gap *b)
{
	return a->from == b->from && a->to == b->to && a->from_unit == b->from_unit &&
	       a->to_unit == b->to_unit;
}

bool
gap_same(const struct gap *a, const struct gap *b)
{
	return gap_same_ends(a, b) && a->nth == b->nth && a->back == b->back;
}

uint32_t
shape_unit(const struct shape *s, uint32_t token)
{
	assert(token < s->ntokens && s->ntokens >= 2);
	return token + 1 < s->ntokens ? s->edges[token].from_unit : s->edges[token - 1].to_unit;
}

static bool
is_from(const struct shape *s, uint32_t token, const struct gap *gap)
{
	return s->tokens[token] == gap->from && shape_unit(s, token) == gap->from_unit;
}

static bool
is_to(const struct shape *s, uint32_t token, const struct gap *gap)
{
	return s->tokens[token] == gap->to && shape_unit(s, token) == gap->to_unit;
}

/* The shortest loop that has this token and, before it, an end of the gap; or NULL. */
static const struct shape_loop *
loop_back(const struct shape *s, uint32_t token, const struct gap *gap)
{
	const struct shape_loop *best = NULL;

	for (uint32_t i = 0; i < s->nloops; i++) {
		const struct shape_loop *l = &s->loops[i];
		bool has_to = false;

		if (token < l->first || token > l->last ||
		    (best != NULL && best->last - best->first <= l->last - l->first))
			continue;
		for (uint32_t j = l->first; j <= token && !has_to; j++)
			has_to = is_to(s, j, gap);
		if (has_to)
			best = l;
	}
	return best;
}

/* The token where the gap begins, or UINT32_MAX: the path has the begin fewer than nth + 1 times.
 */
static uint32_t
gap_begin(const struct shape *s, const struct gap *gap)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < s->ntokens; i++)
		if (is_from(s, i, gap) && before++ == gap->nth)
			return i;
	return UINT32_MAX;
}

/* The first end of the gap after this begin and before the next begin; or UINT32_MAX. */
static uint32_t
end_after(const struct shape *s, uint32_t begin, const struct gap *gap)
{
	for (uint32_t i = begin + 1; i < s->ntokens; i++)
		if (is_to(s, i, gap))
			return i;
		else if (is_from(s, i, gap))
			break;
	return UINT32_MAX;
}

/* Marks the tokens where the gap's edges begin, if the end comes after the begin. */
static bool
mark_forward(const struct shape *s, uint32_t begin, const struct gap *gap, bool *from)
{
	uint32_t end = end_after(s, begin, gap);

	for (uint32_t i = begin; end != UINT32_MAX && i < end; i++)
		from[i] = true;
	return end != UINT32_MAX;
}

/* The same of a gap that leads round a loop: from its begin to the loop's last token, and from the
 * loop's first token to the gap's end. The first iteration passes these edges before the gap
 * begins; since iterations are folded, the two cannot be distinguished. */
static bool
mark_back(const struct shape *s, uint32_t begin, const struct gap *gap, bool *from, bool *end)
{
	const struct shape_loop *l = loop_back(s, begin, gap);
	uint32_t to;

	if (l == NULL)
		return false;
	for (uint32_t i = begin; i <= l->last; i++)
		from[i] = true;
	for (to = l->first; !is_to(s, to, gap); to++)
		from[to] = true;
	return end[to] = true;
}

static bool
mark_position(
    const struct shape *s, uint32_t begin, const struct gap *gap, bool back, bool *from, bool *end)
{
	return back ? mark_back(s, begin, gap, from, end) : mark_forward(s, begin, gap, from);
}

struct marks { /* [ntokens] */
	bool *from, *end;
};

static bool
mark_everywhere(const struct shape *s, const struct gap *gap, bool back, struct marks *m)
{
	bool any = false;

	for (uint32_t i = 0; i < s->ntokens; i++)
		any |= is_from(s, i, gap) && mark_position(s, i, gap, back, m->from, m->end);
	return any;
}

/*
 * ways[0]: where the path passes the gap forward, ways[1]: round a loop.
 *
 * 1. The gap was found where the path has its ends once: all positions. The way back of a loop is
 *    also passed forward, between iterations that differ.
 * 2. Its own position.
 * 3. The path lacks that (fewer begins, or folded differently): all positions.
 */
static void
mark_all(const struct shape *s, const struct gap *gap, struct marks ways[2])
{
	uint32_t begin = gap_begin(s, gap);
	struct marks *own = &ways[gap->back];
	bool any;

	/* 1 */
	if (gap->only) {
		any = mark_everywhere(s, gap, false, &ways[0]);
		if (gap->back)
			any |= mark_everywhere(s, gap, true, &ways[1]);
		if (any)
			return;
	}
	/* 2 */
	if (begin != UINT32_MAX && mark_position(s, begin, gap, gap->back, own->from, own->end))
		return;
	/* 3 */
	if (!mark_everywhere(s, gap, false, &ways[0]))
		mark_everywhere(s, gap, true, &ways[1]);
}

bool
gap_edges(const struct shape *s, const struct gap *gap, bool *inside, struct arena *a)
{
	struct marks ways[2];
	bool any = false;

	for (int back = 0; back < 2; back++) {
		ways[back].from = arena_calloc(a, s->ntokens, sizeof(bool));
		ways[back].end = arena_calloc(a, s->ntokens, sizeof(bool));
		if (ways[back].from == NULL || ways[back].end == NULL)
			return false;
	}
	mark_all(s, gap, ways);
	for (uint32_t i = 0; i < s->nedges; i++) {
		const struct shape_edge *x = &s->edges[i];
		bool closes_loop = x->to_token <= x->from_token;

		inside[i] = false;
		for (int back = 0; back < 2; back++)
			inside[i] |= ways[back].from[x->from_token] &&
			             (closes_loop == back || ways[back].from[x->to_token] ||
					 ways[back].end[x->to_token]);
		any |= inside[i];
	}
	return any;
}

uint32_t
gap_edge(const struct shape *s, const struct gap *gap)
{
	/* the same ends at one position only: no other edge can be the gap */
	uint32_t only = UINT32_MAX, n = 0;

	for (uint32_t i = 0; i < s->nedges; i++) {
		struct gap its = gap_of(s, i);

		if (gap_same(&its, gap))
			return i;
		if (gap_same_ends(&its, gap)) {
			only = i;
			n++;
		}
	}
	return n == 1 ? only : UINT32_MAX;
}

/* Of two edges from the same token, the one that closes a loop is passed first. */
static bool
is_before(const struct shape_edge *a, const struct shape_edge *b)
{
	if (a->from_token != b->from_token)
		return a->from_token < b->from_token;
	return a->to_token < b->to_token;
}

uint32_t
gap_positions(const struct shape *s, uint32_t edge, uint32_t *before)
{
	const struct gap of = gap_of(s, edge);
	uint32_t n = 0;

	*before = 0;
	for (uint32_t i = 0; i < s->nedges; i++) {
		const struct gap its = gap_of(s, i);

		n += gap_same_ends(&its, &of);
		*before += gap_same_ends(&its, &of) && is_before(&s->edges[i], &s->edges[edge]);
	}
	return n;
}
