/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which edges of a path a gap has become. */
#include "controlplane/search/search.h"

static bool is_from(const struct shape *s, uint32_t token, const struct gap *gap);

struct gap
gap_of(const struct shape *s, uint32_t edge)
{
	const struct shape_edge *x = &s->edges[edge];
	struct gap gap = { .from = x->from,
		.to = x->to,
		.from_unit = x->from_unit,
		.to_unit = x->to_unit,
		.back = x->to_token <= x->from_token };

	for (uint32_t i = 0; i < x->from_token; i++)
		gap.nth += is_from(s, i, &gap);
	return gap;
}

bool
same_ends(const struct gap *a, const struct gap *b)
{
	return a->from == b->from && a->to == b->to && a->from_unit == b->from_unit &&
	       a->to_unit == b->to_unit;
}

bool
same_gap(const struct gap *a, const struct gap *b)
{
	return same_ends(a, b) && a->nth == b->nth && a->back == b->back;
}

uint32_t
shape_unit(const struct shape *s, uint32_t token)
{
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

/* The smallest loop with that token and a gap's end before it; or NULL. */
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

/* Where the gap begins, or UINT32_MAX: the path has fewer of its begins. */
static uint32_t
begin_of(const struct shape *s, const struct gap *gap)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < s->ntokens; i++)
		if (is_from(s, i, gap) && before++ == gap->nth)
			return i;
	return UINT32_MAX;
}

/* The gap's end behind that begin of it, before the next begin; or UINT32_MAX. */
static uint32_t
end_behind(const struct shape *s, uint32_t begin, const struct gap *gap)
{
	for (uint32_t i = begin + 1; i < s->ntokens; i++)
		if (is_to(s, i, gap))
			return i;
		else if (is_from(s, i, gap))
			break;
	return UINT32_MAX;
}

/* From which tokens the gap's edges lead, if its end is behind its begin. */
static bool
mark_ahead(const struct shape *s, uint32_t begin, const struct gap *gap, bool *from)
{
	uint32_t end = end_behind(s, begin, gap);

	for (uint32_t i = begin; end != UINT32_MAX && i < end; i++)
		from[i] = true;
	return end != UINT32_MAX;
}

/* And if it goes round a loop: to that loop's last token, and from its first one to the gap's end.
 * What lies there is passed in the first round as well, before the gap: rounds are laid on each
 * other, and cannot be told apart. */
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
mark(const struct shape *s, uint32_t begin, const struct gap *gap, bool back, bool *from, bool *end)
{
	return back ? mark_back(s, begin, gap, from, end) : mark_ahead(s, begin, gap, from);
}

/* The place that the gap knows; on a path that has it otherwise, with fewer begins or another fold,
 * all that it may be. *back: how the gap leads there. */
static void
mark_all(const struct shape *s, const struct gap *gap, bool *back, bool *from, bool *end)
{
	uint32_t begin = begin_of(s, gap);
	bool any = begin != UINT32_MAX && mark(s, begin, gap, *back = gap->back, from, end);

	for (int way = 0; way < 2 && !any; way++) {
		*back = way > 0;
		for (uint32_t i = 0; i < s->ntokens; i++)
			any |= is_from(s, i, gap) && mark(s, i, gap, *back, from, end);
	}
}

bool
gap_edges(const struct shape *s, const struct gap *gap, bool *inside, struct arena *a)
{
	bool *from = arena_calloc(a, s->ntokens, sizeof *from),
	     *end = arena_calloc(a, s->ntokens, sizeof *end);
	bool round = false, any = false;

	if (from == NULL || end == NULL)
		return false;
	mark_all(s, gap, &round, from, end);
	for (uint32_t i = 0; i < s->nedges; i++) {
		const struct shape_edge *x = &s->edges[i];
		bool back = x->to_token <= x->from_token;

		inside[i] = from[x->from_token] &&
		            (back == round || from[x->to_token] || end[x->to_token]);
		any |= inside[i];
	}
	return any;
}

/* Where the path has the same ends at one place only, there is no other that could be meant. */
uint32_t
gap_edge(const struct shape *s, const struct gap *gap)
{
	uint32_t only = UINT32_MAX, n = 0;

	for (uint32_t i = 0; i < s->nedges; i++) {
		struct gap its = gap_of(s, i);

		if (same_gap(&its, gap))
			return i;
		if (same_ends(&its, gap)) {
			only = i;
			n++;
		}
	}
	return n == 1 ? only : UINT32_MAX;
}

/* Going round comes before going on from the same token. */
static bool
is_before(const struct shape_edge *a, const struct shape_edge *b)
{
	if (a->from_token != b->from_token)
		return a->from_token < b->from_token;
	return a->to_token < b->to_token;
}

uint32_t
gap_places(const struct shape *s, uint32_t edge, uint32_t *before)
{
	const struct gap of = gap_of(s, edge);
	uint32_t n = 0;

	*before = 0;
	for (uint32_t i = 0; i < s->nedges; i++) {
		const struct gap its = gap_of(s, i);

		n += same_ends(&its, &of);
		*before += same_ends(&its, &of) && is_before(&s->edges[i], &s->edges[edge]);
	}
	return n;
}
