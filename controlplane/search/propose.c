/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/propose.h"

#include <assert.h>
#include <math.h>

#include "controlplane/search/enabled.h"
#include "controlplane/search/explore.h"
#include "controlplane/search/narrow.h"
#include "controlplane/search/search_hypothesis.h"
#include "searchspace/match.h"

/* Share of the requests from which on all pass a candidate. */
static const double ALL_PASS = 0.9;
/* Mean passages of a request up to which a candidate is passed once. */
static const double ONCE = 1.05;

/* Passages in the gap of what made an agent shed load, or was over the budget, by those of what may be so as well: there may be more of these than were learned. */
static const double AS_OFTEN = 16;

/* ---- candidates ---- */

static bool
add_all(struct label_set *to, const struct label_set *from)
{
	for (uint32_t w = 0; w < from->nwords; w++)
		for (uint64_t left = from->words[w]; left != 0; left &= left - 1)
			if (!label_set_add(to, w * 64 + (uint32_t)__builtin_ctzll(left)))
				return false;
	return true;
}

/* Labels that are no candidates: tried, enabled, beside the gap, or of the preload layer, whose turn is
 * later. */
static bool
excluded(struct label_set *ret, struct search_port *port, const struct search *s)
{
	if (!label_set_copy(ret, &s->enabled.tried) || !add_all(ret, &s->enabled.beside) ||
	    !add_all(ret, preload_set(port->preload)))
		return false;
	for (uint32_t i = 0; i < s->enabled.n; i++)
		if (!label_set_add(ret, s->enabled.picks[i].label))
			return false;
	return true;
}

/* Keeps the candidates in their order; one loses the other end of a span that was removed. */
static int
keep(struct candidate *c, int n, bool (*kept)(const struct candidate *), uint32_t *number)
{
	int left = 0;

	for (int i = 0; i < n; i++)
		number[i] = kept(&c[i]) ? (uint32_t)left++ : UINT32_MAX;
	for (int i = 0; i < n; i++) {
		struct candidate x = c[i];

		if (number[i] == UINT32_MAX)
			continue;
		x.partner = x.partner != UINT32_MAX ? number[x.partner] : UINT32_MAX;
		x.around = x.around != UINT32_MAX ? number[x.around] : UINT32_MAX;
		c[number[i]] = x;
	}
	return left;
}

/* While two sides are compared, only a tracepoint that both pass cuts both. */
static bool
is_common(const struct candidate *c)
{
	return c->share >= ALL_PASS;
}

/* A request passes it once at most: as an end of a gap it says where that is, whatever else is
 * enabled. Where a path passes a label many times, which of them the gap is cannot always be told. */
static bool
is_once(const struct candidate *c)
{
	return c->per_trace <= ONCE;
}

/* A request passes it once at most where it passes the gap. Elsewhere it may pass it as well, mostly in units of another kind, which the gap's are
 * told from. */
static bool
is_once_in_gap(const struct candidate *c)
{
	return c->in_gap <= ONCE;
}

/* What lies beside this gap lies beside every part of it, too, whose ends may say less of where they are.
 * Only requests that pass it in another order than on average could have it inside: then the gap stays
 * a little larger. */
static bool
remember_beside(struct search *s, const struct candidate *c, int n)
{
	for (int i = 0; i < n; i++)
		if (c[i].beside && !label_set_add(&s->enabled.beside, c[i].label))
			return false;
	return true;
}

static bool
is_not_beside(const struct candidate *c)
{
	return !c->beside;
}

static bool
is_too_often(const struct search *s, const struct candidate *c)
{
	return s->budget.passes_most > 0 && c->in_gap > s->budget.passes_most;
}

static bool
fits(const struct search_port *port, const struct search *s, const struct candidate *c)
{
	return !is_too_often(s, c) && is_affordable(port, s, c->label);
}

/* One of these can be enabled. */
static bool
any_fits(const struct search_port *port, const struct search *s, const struct candidate *c, int n,
    bool (*is)(const struct candidate *))
{
	int i = 0;

	while (i < n && !(is(&c[i]) && fits(port, s, &c[i])))
		i++;
	return i < n;
}

static int
find_candidates(struct candidate **ret, bool *loops, struct gap_time *time,
    struct search_port *port, struct search *s, struct err *e)
{
	const struct match_path path = { .ntokens = s->at.npath,
		.tokens = s->at.path,
		.units = s->at.units,
		.edge = s->at.from,
		.edge_to = s->at.to };
	struct label_set without = { 0 };
	uint32_t *number;
	int n;

	*loops = false;
	assert(s->at.npath > 0);
	if (excluded(&without, port, s))
		n = match_between(ret, time, port->space, s->diagnosis->type, &path,
		    &s->enabled.absent, &without, &s->rng, port->scratch, e);
	else
		n = search_no_memory(s, e);
	label_set_release(&without);
	if (n <= 0)
		return n;
	if ((number = arena_calloc(port->scratch, (size_t)n, sizeof *number)) == NULL)
		return search_no_memory(s, e);
	if (s->sides.separation.label != LABEL_NONE && s->sides.followed != SIDE_SLOW)
		n = keep(*ret, n, is_common, number);
	if (!remember_beside(s, *ret, n))
		return search_no_memory(s, e);
	n = keep(*ret, n, is_not_beside, number);
	if (any_fits(port, s, *ret, n, is_once))
		return keep(*ret, n, is_once, number);
	if (any_fits(port, s, *ret, n, is_once_in_gap))
		return keep(*ret, n, is_once_in_gap, number);
	*loops = n > 0;
	return n;
}

int
count_candidates(struct search_port *port, struct search *s, struct err *e)
{
	struct gap_time time;
	struct candidate *some;
	bool loops;

	return find_candidates(&some, &loops, &time, port, s, e);
}

/* ---- within the budget ---- */

struct offer { /* candidates, in their order */
	struct candidate *some;
	uint32_t n;
	bool *out; /* [n]: was picked, or is over budget */
	uint32_t over_budget;
};

/* The candidate that was picked, or the nearest one that is affordable, of two equally near the
 * later one; UINT32_MAX: none is. */
static uint32_t
nearest_affordable(
    struct offer *o, const struct search_port *port, const struct search *s, uint32_t pick)
{
	for (uint32_t away = 0; away < o->n; away++)
		for (int side = 0; side < (away > 0 ? 2 : 1); side++) {
			uint32_t i = side == 0 ? pick + away : pick - away;

			/* before the first one the difference wraps, and is past the last one too */
			if (i >= o->n || o->out[i])
				continue;
			o->out[i] = true;
			if (fits(port, s, &o->some[i]))
				return i;
			o->over_budget++;
		}
	return UINT32_MAX;
}

/* No tracepoint that may lie in the gap is affordable: once for each gap, the forest gets a
 * withdrawn hypothesis. */
static int
give_up_gap(struct search_port *port, struct search *s, uint32_t label, struct err *e)
{
	struct hypothesis *h;

	if (gap_same(&s->budget.given_up, &s->at.gap))
		return 0;
	s->budget.given_up = s->at.gap;
	if ((h = hypothesis_new_tracepoint(port, s, label, e)) == NULL)
		return ERR_MEMORY;
	hypothesis_withdraw(port, h, REASON_OVER_BUDGET);
	return 0;
}

static int
enable_picked(struct search_port *port, struct search *s, struct offer *o, const uint32_t *picked,
    uint32_t n, struct err *e)
{
	int enabled = 0, rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		uint32_t at = nearest_affordable(o, port, s, picked[i]);

		if (at == UINT32_MAX)
			break;
		if ((rc = enable_candidate(port, s, o->some[at].label, e)) == 0)
			s->enabled.picks[s->enabled.n - 1].passes = o->some[at].in_gap;
		enabled++;
	}
	s->budget.left_out += enabled > 0 ? 0 : o->over_budget;
	if (rc == 0 && enabled == 0)
		rc = give_up_gap(port, s, o->some[picked[0]].label, e);
	return rc != 0 ? rc : enabled;
}

static uint32_t
enabled_in_all(const struct diagnosis *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nsearches; i++)
		n += d->searches[i]->enabled.n;
	return n;
}

int
propose(struct search_port *port, struct search *s, struct err *e)
{
	struct diagnosis *d = s->diagnosis;
	struct gap_time time;
	struct offer o = { 0 };
	uint32_t *picked, n, in_all;
	bool loops;
	int left = find_candidates(&o.some, &loops, &time, port, s, e), enabled, first;

	s->budget.left_out = s->budget.unexplored;
	if (left <= 0)
		return left;
	if (loops && (first = explore_before_loops(port, s, e)) != 0)
		return first < 0 ? first : 0;
	o.n = (uint32_t)left;
	picked = arena_calloc(port->scratch, o.n, sizeof *picked);
	o.out = arena_calloc(port->scratch, o.n, sizeof *o.out);
	if (picked == NULL || o.out == NULL)
		return search_no_memory(s, e);
	n = d->strategy->propose(o.some, o.n, &time, d->k, &s->rng, picked);
	/* what is enabled belongs to the cycle that begins */
	d->run->cycles++;
	if ((enabled = enable_picked(port, s, &o, picked, n, e)) <= 0) {
		d->run->cycles--;
		return enabled;
	}
	d->npicks = (uint32_t)enabled;
	if ((in_all = enabled_in_all(d)) > d->run->tracepoints_most)
		d->run->tracepoints_most = in_all;
	forest_touch_run(port->forest, d->run);
	return enabled;
}

/* ---- ends ---- */

static int
enable_end(struct search_port *port, struct search *s, uint32_t label, uint32_t *over_budget,
    enum reason reason, struct err *e)
{
	if (!is_affordable(port, s, label)) {
		*over_budget = label;
		return 0;
	}
	return enable(port, s, &(struct pick){ label, false, s->origin.hypothesis }, reason, e);
}

int
enable_ends(struct search_port *port, struct search *s, uint32_t *over_budget, struct err *e)
{
	const struct label_set *lacked = &s->sides.must_not;
	int rc = 0;

	*over_budget = LABEL_NONE;
	for (uint32_t i = 0; i < s->at.npath && rc == 0; i++) {
		uint32_t label = s->at.path[i];

		if (labels_get(port->labels, label)->kind == RECORD_POINT && is_needed(s, label) &&
		    !label_set_has(&s->enabled.labels, label))
			rc = enable_end(port, s, label, over_budget, REASON_EDGE_END, e);
	}
	for (uint32_t w = 0; w < lacked->nwords && rc == 0; w++)
		for (uint64_t left = lacked->words[w]; left != 0 && rc == 0; left &= left - 1)
			rc = enable_end(port, s, w * 64 + (uint32_t)__builtin_ctzll(left),
			    over_budget, REASON_SPLITS_TRACES, e);
	return rc;
}

static void
avoid_from(struct search *s, double passes)
{
	double *most = &s->budget.passes_most;

	if (passes <= ONCE)
		return;
	s->diagnosis->disturbed = true;
	if (*most <= 0 || passes / AS_OFTEN < *most)
		*most = fmax(ONCE, passes / AS_OFTEN);
}

void
avoid_as_often(struct search *s)
{
	double oftenest = 0;

	for (uint32_t i = 0; i < s->enabled.n; i++)
		if (s->enabled.picks[i].fresh)
			oftenest = fmax(oftenest, s->enabled.picks[i].passes);
	avoid_from(s, oftenest);
}

bool
disable_newest(struct search_port *port, struct search *s)
{
	struct diagnosis *d = s->diagnosis;
	bool any = false;

	for (uint32_t i = s->enabled.n; i-- > 0;) {
		struct pick pick = s->enabled.picks[i];

		if (!pick.fresh)
			continue;
		disable(port, s, i, REASON_OVER_BUDGET);
		port->calls->audit(port->owner, &(struct audit){ .when = port->when,
						    .actor = ACTOR_BUDGET,
						    .action = ACTION_DISABLE_ONE,
						    .run = d->run->id,
						    .reason = REASON_OVER_BUDGET });
		avoid_from(s, pick.passes);
		/* a candidate again: it is refused then, and counted as over budget */
		if (label_set_add(&d->over_budget, pick.label))
			label_set_del(&s->enabled.tried, pick.label);
		hypothesis_withdraw(port, pick.hypothesis, REASON_OVER_BUDGET);
		any = true;
		if (s->task != TASK_PROBE_LAYER)
			break;
	}
	return any;
}
