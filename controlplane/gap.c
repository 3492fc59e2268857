/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which edges of a path a gap has become. */
#include "controlplane/search.h"

struct gap
gap_of(const struct shape_edge *edge)
{
	return (struct gap){ edge->from, edge->to, edge->from_unit, edge->to_unit };
}

bool
same_gap(const struct gap *a, const struct gap *b)
{
	return a->from == b->from && a->to == b->to && a->from_unit == b->from_unit && a->to_unit == b->to_unit;
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

		if (token < l->first || token > l->last || (best != NULL && best->last - best->first <= l->last - l->first))
			continue;
		for (uint32_t j = l->first; j <= token && !has_to; j++)
			has_to = is_to(s, j, gap);
		if (has_to)
			best = l;
	}
	return best;
}

/* From which tokens the gap's edges lead, if its end is behind its begin. A begin without an end behind it leads
 * nowhere. */
static void
mark_ahead(const struct shape *s, const struct gap *gap, bool *from)
{
	uint32_t begun = UINT32_MAX;

	for (uint32_t i = 0; i < s->ntokens; i++) {
		if (begun != UINT32_MAX && is_to(s, i, gap)) {
			for (uint32_t j = begun; j < i; j++)
				from[j] = true;
			begun = UINT32_MAX;
		}
		if (is_from(s, i, gap))
			begun = i;
	}
}

/* And if it goes round a loop: to that loop's last token, and from its first one to the gap's end. What lies there
 * is passed in the first round as well, before the gap: rounds are laid on each other, and cannot be told apart. */
static void
mark_back(const struct shape *s, const struct gap *gap, bool *from, bool *end)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		const struct shape_loop *l = is_from(s, i, gap) ? loop_back(s, i, gap) : NULL;
		uint32_t to;

		if (l == NULL)
			continue;
		for (uint32_t j = i; j <= l->last; j++)
			from[j] = true;
		for (to = l->first; !is_to(s, to, gap); to++)
			from[to] = true;
		end[to] = true;
	}
}

bool
gap_edges(const struct shape *s, const struct gap *gap, bool *inside, struct arena *a)
{
	bool *from = arena_calloc(a, s->ntokens, sizeof *from), *end = arena_calloc(a, s->ntokens, sizeof *end);
	bool seen = false, ahead = false, any = false;

	if (from == NULL || end == NULL)
		return false;
	for (uint32_t i = 0; i < s->ntokens; i++) {
		ahead |= seen && is_to(s, i, gap);
		seen |= is_from(s, i, gap);
	}
	if (ahead)
		mark_ahead(s, gap, from);
	else
		mark_back(s, gap, from, end);
	for (uint32_t i = 0; i < s->nedges; i++) {
		const struct shape_edge *x = &s->edges[i];
		bool back = x->to_token <= x->from_token;

		inside[i] = from[x->from_token] && (back != ahead || from[x->to_token] || end[x->to_token]);
		any |= inside[i];
	}
	return any;
}

uint32_t
gap_edge(const struct shape *s, const struct gap *gap)
{
	for (uint32_t i = 0; i < s->nedges; i++) {
		struct gap its = gap_of(&s->edges[i]);

		if (same_gap(&its, gap))
			return i;
	}
	return UINT32_MAX;
}
