/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A unit on node b that was forked on node a, with x = b's clock - a's clock:
 *
 *	a   fork f ------------------------ j join	f <= g - x, e - x <= j
 *	        \                          /		e - j <= x <= g - f
 *	b        '--> g begin ==== end e --'
 *
 * A fork always comes before the beginning of its unit. The end of a unit should come before
 * the join, but a program may answer first and record the end later; so where the two bounds
 * contradict each other, the upper one is right.
 *
 * After the correction by round trips, two clocks drift by twice the drift of one, and each may
 * be slewed: bounds of pairs widen at that rate.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/clocks_inside.h"

enum { PAIRS_MAX = 65536, PAIR_DRIFT_PPM = 2 * (CLOCK_DRIFT_PPM + CLOCK_SLEW_PPM) };
enum { UNSEEN, ON_CHAIN, SETTLED };

/* ---- pairs ---- */

static struct clock_pair *
pair_find(const struct clocks *c, uint32_t a, uint32_t b)
{
	return map_get(&c->pair_of, a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a);
}

static struct clock_pair *
pair_for(struct clocks *c, uint32_t a, uint32_t b)
{
	struct clock_pair *p = pair_find(c, a, b);

	if (p != NULL || c->counts.pairs == PAIRS_MAX || (p = malloc(sizeof *p)) == NULL)
		return p;
	*p = (struct clock_pair){
		.next = c->pairs, .a = a < b ? a : b, .b = a < b ? b : a, .bounds = NO_BOUNDS
	};
	if (!map_put(&c->pair_of, (uint64_t)p->a << 32 | p->b, p)) {
		free(p);
		return NULL;
	}
	c->pairs = p;
	c->counts.pairs++;
	return p;
}

void
pairs_forget(struct clocks *c, uint32_t node)
{
	for (struct clock_pair *p = c->pairs; p != NULL; p = p->next)
		if (p->a == node || p->b == node) {
			p->bounds = NO_BOUNDS;
			p->has_best = false;
		}
}

/* By how much bounds of the pair and those of an earlier time can differ: a trace that waited for a slow node comes after ones that ended
 * later (assemble.h). */
static int64_t
earlier_ns(const struct clock_pair *p, int64_t now_ns)
{
	return now_ns < p->bounds.at_ns
	           ? minus(p->bounds.at_ns, now_ns) / (1000000 / PAIR_DRIFT_PPM)
	           : 0;
}

/* The bounds of the pair at this time: from traces, and from round trips where both agree. */
static struct bounds
pair_bounds(const struct clocks *c, const struct clock_pair *p, int64_t now_ns)
{
	int64_t a_ns = node_error_ns(c, p->a, now_ns), b_ns = node_error_ns(c, p->b, now_ns);
	int64_t error_ns = plus(a_ns, b_ns);
	int64_t wider_ns = earlier_ns(p, now_ns);
	struct bounds b = p->bounds;

	if (b.low_ns != INT64_MIN)
		b.low_ns = minus(b.low_ns, wider_ns);
	if (b.high_ns != INT64_MAX)
		b.high_ns = plus(b.high_ns, wider_ns);
	if (error_ns == INT64_MAX || b.low_ns > error_ns || b.high_ns < -error_ns)
		return b;
	b.low_ns = b.low_ns > -error_ns ? b.low_ns : -error_ns;
	b.high_ns = b.high_ns < error_ns ? b.high_ns : error_ns;
	return b;
}

static bool
both_here(const struct clocks *c, const struct clock_pair *p, int64_t at_ns)
{
	return node_was_here(c, p->a, at_ns) && node_was_here(c, p->b, at_ns);
}

/* b's clock minus a's, in use. */
static int64_t
pair_ahead_ns(const struct clocks *c, const struct clock_pair *p, int64_t now_ns)
{
	struct bounds b = pair_bounds(c, p, now_ns);
	bool unknown = node_error_ns(c, p->a, now_ns) == INT64_MAX &&
	               node_error_ns(c, p->b, now_ns) == INT64_MAX;

	/* The same clock, or clocks without any evidence that they are two (trace files): units
	 * are not moved without need. */
	if (bounds_both(&p->bounds) && p->has_best &&
	    !(bounds_hold(&b, 0) && (unknown || both_here(c, p, now_ns))))
		return p->best_ns < b.low_ns    ? b.low_ns
		       : p->best_ns > b.high_ns ? b.high_ns
		                                : p->best_ns;
	return p->bounds.low_ns > 0    ? p->bounds.low_ns
	       : p->bounds.high_ns < 0 ? p->bounds.high_ns
	                               : 0;
}

/* Keeps the middle of the bounds when they were closest: it comes from the fastest messages in
 * both directions and is better than the middle of the latest ones. */
static void
keep_best(const struct clocks *c, struct clock_pair *p, int64_t now_ns)
{
	struct bounds b = pair_bounds(c, p, now_ns);
	int64_t error_ns = bounds_both(&p->bounds) ? minus(b.high_ns, bounds_middle(&b)) : 0;
	int64_t loosened_ns = minus(now_ns, p->best_at_ns) / (1000000 / PAIR_DRIFT_PPM);

	p->has_best &= bounds_both(&p->bounds) && bounds_hold(&b, p->best_ns);
	if (!bounds_both(&p->bounds) ||
	    (p->has_best && plus(p->best_error_ns, loosened_ns) < error_ns))
		return;
	p->has_best = true;
	p->best_ns = bounds_middle(&b);
	p->best_error_ns = error_ns;
	p->best_at_ns = now_ns;
}

/*
 * Learns from two stamps on two nodes, `from` being the cause of `to`: their difference is the
 * delay plus the offset. !sure: `from` may have been recorded late. Returns false if round
 * trips exclude the offset. Bounds of earlier traces that this one excludes are out of date and
 * dropped.
 */
static bool
learn(struct clocks *c, const struct event *from, const struct event *to, bool sure, int64_t now_ns)
{
	struct clock_pair *p = from->node != to->node ? pair_for(c, from->node, to->node) : NULL;
	int64_t apart_ns = minus(to->time_ns, from->time_ns), error_ns, bound_ns;
	bool upper, crosses;

	if (p == NULL)
		return true;
	upper = to->node == p->b;
	bound_ns = upper ? apart_ns : -apart_ns;
	error_ns = plus(node_error_ns(c, p->a, now_ns), node_error_ns(c, p->b, now_ns));
	bounds_age(&p->bounds, now_ns, PAIR_DRIFT_PPM);
	bound_ns = upper ? plus(bound_ns, earlier_ns(p, now_ns))
	                 : minus(bound_ns, earlier_ns(p, now_ns));
	crosses = upper ? bound_ns < p->bounds.low_ns : bound_ns > p->bounds.high_ns;
	if (!sure &&
	    (crosses || apart_ns < -error_ns || (apart_ns < 0 && both_here(c, p, now_ns)))) {
		c->counts.late_ends++;
		return true;
	}
	if (apart_ns < -error_ns)
		return false;
	if (upper) {
		p->bounds.low_ns = crosses ? INT64_MIN : p->bounds.low_ns;
		p->bounds.high_ns = bound_ns < p->bounds.high_ns ? bound_ns : p->bounds.high_ns;
	} else {
		p->bounds.high_ns = crosses ? INT64_MAX : p->bounds.high_ns;
		p->bounds.low_ns = bound_ns > p->bounds.low_ns ? bound_ns : p->bounds.low_ns;
	}
	keep_best(c, p, now_ns);
	return true;
}

/* ---- a trace ---- */

static inline uint32_t
node_of(const struct trace *t, uint32_t unit)
{
	return t->events[t->units[unit].first].node;
}

static inline bool
crosses(const struct trace *t, uint32_t unit)
{
	uint32_t fork = t->units[unit].fork;

	return fork != TRACE_NONE && t->events[fork].node != node_of(t, unit);
}

static bool
make_room(struct clocks *c, uint32_t nunits)
{
	uint32_t cap = c->unit_cap != 0 ? c->unit_cap : 64;

	if (nunits <= c->unit_cap)
		return true;
	while (cap < nunits)
		cap *= 2;
	free(c->moves_ns);
	free(c->chain);
	free(c->state);
	free(c->ends);
	c->moves_ns = malloc(cap * sizeof *c->moves_ns);
	c->chain = malloc(cap * sizeof *c->chain);
	c->state = malloc(cap);
	c->ends = malloc(cap * sizeof *c->ends);
	c->unit_cap = c->moves_ns != NULL && c->chain != NULL && c->state != NULL &&
	                      c->ends != NULL && hash_table_reserve(&c->unit_of, cap)
	                  ? cap
	                  : 0;
	return c->unit_cap != 0;
}

static void
link_set(struct clocks *c, uint64_t link, uint32_t unit)
{
	struct hash_slot *s = hash_table_first(&c->unit_of, hash_u64(link));

	if (s != NULL)
		s->entry = unit;
	else
		hash_table_put(&c->unit_of, hash_u64(link), unit); /* make_room() reserved it */
}

/* The first event of this kind and link in the unit, or TRACE_NONE. */
static uint32_t
unit_event(
    const struct trace *t, uint32_t unit, const struct labels *labels, uint8_t kind, uint64_t link)
{
	const struct unit *u = &t->units[unit];

	for (uint32_t i = u->first; i < u->first + u->count; i++)
		if (t->events[i].link_id == link &&
		    labels_get(labels, t->events[i].label)->kind == kind)
			return i;
	return TRACE_NONE;
}

/* Learns from the beginnings of units on other nodes. Stores their links and ends for the
 * joins. */
static bool
learn_forks(struct clocks *c, const struct trace *t, const struct labels *labels)
{
	bool fits = true;

	hash_table_clear(&c->unit_of);
	for (uint32_t u = 0; u < t->nunits; u++) {
		const struct event *fork;
		uint32_t begin;

		if (!crosses(t, u))
			continue;
		fork = &t->events[t->units[u].fork];
		link_set(c, fork->link_id, u);
		c->ends[u] = unit_event(t, u, labels, RECORD_UNIT_END, fork->link_id);
		begin = unit_event(t, u, labels, RECORD_UNIT_BEGIN, fork->link_id);
		if (begin != TRACE_NONE)
			fits &= learn(c, fork, &t->events[begin], true, t->end_ns);
	}
	return fits;
}

static void
learn_joins(struct clocks *c, const struct trace *t, const struct labels *labels)
{
	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct event *join = &t->events[i];
		uint32_t unit;

		if (join->link_id == 0 || labels_get(labels, join->label)->kind != RECORD_JOIN)
			continue;
		unit = hash_table_find(&c->unit_of, hash_u64(join->link_id));
		if (unit != HASH_TABLE_NONE && c->ends[unit] != TRACE_NONE &&
		    t->events[c->ends[unit]].node != join->node)
			learn(c, &t->events[c->ends[unit]], join, false, t->end_ns);
	}
}

/* What converts times of b's clock to a's. */
static int64_t
move_ns(const struct clocks *c, uint32_t a, uint32_t b, int64_t now_ns)
{
	const struct clock_pair *p = a != b ? pair_find(c, a, b) : NULL;

	if (p == NULL)
		return 0;
	return p->b == b ? -pair_ahead_ns(c, p, now_ns) : pair_ahead_ns(c, p, now_ns);
}

/* Sets the move of a unit: follows the chain of forks to the root, or to a unit that is settled
 * already, then adds up the offsets on the way back. A chain that ends elsewhere because its
 * beginning was lost, or that forms a circle, is treated as if the root's node had forked it. */
static void
settle_unit(struct clocks *c, const struct trace *t, uint32_t unit)
{
	uint32_t n = 0, from_node;
	int64_t sum_ns;

	while (c->state[unit] == UNSEEN) {
		c->state[unit] = ON_CHAIN;
		c->chain[n++] = unit;
		if (unit == t->root || t->units[unit].fork == TRACE_NONE)
			break;
		unit = t->events[t->units[unit].fork].unit;
	}
	if (n == 0)
		return;
	sum_ns = c->state[unit] == SETTLED ? c->moves_ns[unit] : 0;
	from_node = c->state[unit] == SETTLED ? node_of(t, unit) : node_of(t, t->root);
	while (n-- > 0) {
		unit = c->chain[n];
		sum_ns = plus(sum_ns, move_ns(c, from_node, node_of(t, unit), t->end_ns));
		from_node = node_of(t, unit);
		c->moves_ns[unit] = sum_ns;
		c->state[unit] = SETTLED;
	}
}

static bool
has_end(const struct trace *t, uint32_t unit, const struct labels *labels)
{
	const struct unit *u = &t->units[unit];

	for (uint32_t i = u->first; i < u->first + u->count; i++)
		if (labels_get(labels, t->events[i].label)->kind == RECORD_REQUEST_END)
			return true;
	return false;
}

bool
clocks_trace(struct clocks *c, struct trace *t, const struct labels *labels)
{
	uint32_t root_node = node_of(t, t->root);
	bool apart = false, moved = false, fits;

	for (uint32_t u = 0; u < t->nunits && !apart; u++)
		apart = node_of(t, u) != root_node;
	if (!apart || !make_room(c, t->nunits))
		return true;
	fits = learn_forks(c, t, labels);
	learn_joins(c, t, labels);
	memset(c->state, UNSEEN, t->nunits);
	for (uint32_t u = 0; u < t->nunits; u++)
		settle_unit(c, t, u);
	for (uint32_t u = 0; u < t->nunits; u++) {
		const struct unit *unit = &t->units[u];

		if (c->moves_ns[u] == 0 || u == t->root || has_end(t, u, labels))
			continue;
		for (uint32_t i = unit->first; i < unit->first + unit->count; i++)
			t->events[i].time_ns = plus(t->events[i].time_ns, c->moves_ns[u]);
		if (t->units[u].shared_ns != 0)
			t->units[u].shared_ns = plus(t->units[u].shared_ns, c->moves_ns[u]);
		moved = true;
	}
	for (uint32_t i = 0; i < t->nbelow && moved; i++) {
		uint32_t u = t->below[i].unit;

		if (u != t->root && !has_end(t, u, labels))
			t->below[i].time_ns = plus(t->below[i].time_ns, c->moves_ns[u]);
	}
	c->counts.corrected += moved;
	c->counts.contradictory += !fits;
	return fits;
}

bool
clocks_pair(
    const struct clocks *c, uint32_t a, uint32_t b, int64_t *ahead_ns, int64_t *uncertain_ns)
{
	const struct clock_pair *p = a != b ? pair_find(c, a, b) : NULL;
	struct bounds bounds;
	int64_t x_ns;

	if (p == NULL || (p->bounds.low_ns == INT64_MIN && p->bounds.high_ns == INT64_MAX))
		return false;
	bounds = pair_bounds(c, p, p->bounds.at_ns);
	x_ns = pair_ahead_ns(c, p, p->bounds.at_ns);
	*ahead_ns = p->b == b ? x_ns : -x_ns;
	*uncertain_ns = !bounds_both(&bounds)                          ? INT64_MAX
	                : bounds.high_ns - x_ns > x_ns - bounds.low_ns ? bounds.high_ns - x_ns
	                                                               : x_ns - bounds.low_ns;
	return true;
}
