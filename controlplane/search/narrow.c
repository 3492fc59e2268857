/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/narrow.h"

#include <assert.h>
#include <stdlib.h>

/* Share of what the search began with that `most` has at least. */
static const double MOST = 0.5;

void
narrow(struct search *s, const struct measured *m, const struct part *part)
{
	bool first = s->origin.share == 0;
	double usual = search_usual_variance(s), whole;
	struct decide_context c;

	assert(m->nparts > 0 && part >= m->parts && part < m->parts + m->nparts);
	if (first) {
		s->origin.share = m->share;
		s->at.most = s->at.gap;
	}
	if (m->nparts == 1 && !first)
		return;
	c = search_decide_context(s);
	if (decide_of_root(&c, m, part) >= MOST)
		s->at.most = part->gap;
	s->at.gap = part->gap;
	s->at.share = part->share;
	s->at.of_root *= decide_of_gap(m, part);
	whole = s->at.by_latency ? m->all.t : m->all.whole;
	/* a few requests may have had much of the problem */
	if (!s->at.by_latency && usual > 0 && usual < whole)
		whole = usual;
	s->at.carried = part->share * whole;
}

int
follow_slow_side(struct search *s, const struct separation *sep, struct err *e)
{
	struct label_set *side = sep->with ? &s->sides.must : &s->sides.must_not;

	assert(sep->label != LABEL_NONE);
	if (!label_set_add(side, sep->label) ||
	    (!sep->with && !label_set_add(&s->enabled.absent, sep->label)))
		return search_no_memory(s, e);
	s->sides.separation = *sep;
	s->sides.since = s->at.gap;
	s->sides.followed = SIDE_SLOW;
	return 0;
}

/* Where a path passes the ends of the gap several times, the other labels of the path say which time it is: without one of them the
 * iterations of a loop around it are folded in another way. */
static bool
tells_position(const struct search *s, uint32_t label)
{
	if (s->at.gap.only)
		return false;
	for (uint32_t i = 0; i < s->at.npath; i++)
		if (s->at.path[i] == label)
			return true;
	return false;
}

bool
is_needed(const struct search *s, uint32_t label)
{
	if (s->layer.state != LAYER_CLOSED &&
	    (label == s->layer.above.from || label == s->layer.above.to))
		return true;
	return label == s->at.gap.from || label == s->at.gap.to || label == s->at.most.from ||
	       label == s->at.most.to || label == s->sides.separation.label ||
	       label_set_has(&s->sides.must, label) || label_set_has(&s->sides.must_not, label) ||
	       tells_position(s, label);
}

/* ---- the path ---- */

static int
reserve_path(struct search *s, uint32_t n, struct err *e)
{
	uint32_t *path = reallocarray(s->at.path, n, sizeof *path), *units;

	s->at.path = path != NULL ? path : s->at.path;
	units = path != NULL ? reallocarray(s->at.units, n, sizeof *units) : NULL;
	if (units == NULL)
		return search_no_memory(s, e);
	s->at.units = units;
	s->at.npath = 0;
	return 0;
}

/* The tokens between which the path has the gap for the first time. */
static void
find_gap(const struct shape *shape, const struct gap *gap, const bool *inside, uint32_t *first,
    uint32_t *last)
{
	uint32_t edge = gap_edge(shape, gap), i = 0;

	if (edge != UINT32_MAX) {
		*first = shape->edges[edge].from_token;
		*last = shape->edges[edge].to_token;
		return;
	}
	while (i + 1 < shape->ntokens && !inside[i])
		i++;
	*first = i;
	while (i + 1 < shape->ntokens && inside[i])
		i++;
	*last = i;
}

int
remember_path(struct search *s, const struct shape *shape, struct arena *a, struct err *e)
{
	bool *inside = arena_calloc(a, shape->nedges, sizeof *inside);
	uint32_t first, last;
	int rc;

	if (inside == NULL)
		return search_no_memory(s, e);
	if ((rc = reserve_path(s, shape->ntokens, e)) != 0)
		return rc;
	gap_edges(shape, &s->at.gap, inside, a);
	find_gap(shape, &s->at.gap, inside, &first, &last);
	for (uint32_t i = 0; i < shape->ntokens; i++) {
		if (i > first && i < last)
			continue;
		if (i == first)
			s->at.from = s->at.npath;
		if (i == last)
			s->at.to = s->at.npath;
		s->at.path[s->at.npath] = shape->tokens[i];
		s->at.units[s->at.npath++] = shape_unit(shape, i);
	}
	return 0;
}
