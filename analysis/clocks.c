/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A round trip that the controller starts at A, that arrives at c, leaves at w and is back at
 * B, with o = controller's clock - node's clock:
 *
 *	controller  A-------------------------B		A <= c + o, w + o <= B
 *	             \                       /		A - c <= o <= B - w
 *	node          '---> c --------- w --'
 *
 * The offset in use follows the estimate slowly enough to keep the order of records: while the
 * node's clock advances by d, the offset changes by at most d / 2500, so the mapping is
 * strictly increasing.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/clocks_inside.h"
#include "base/array.h"

/* Unsolicited messages on the same machine arrive faster than this. */
#define HERE_NS INT64_C(1000000000)
#define TIME_MAX_NS (INT64_MAX / 4) /* 73 years after boot: no clock reports that */

int
clocks_new(struct clocks **ret, struct err *e)
{
	*ret = calloc(1, sizeof **ret);
	return *ret != NULL ? 0 : err_set(e, ERR_MEMORY, "no memory for clocks");
}

void
clocks_free(struct clocks *c)
{
	if (c == NULL)
		return;
	for (struct clock_pair *p = c->pairs, *next; p != NULL; p = next) {
		next = p->next;
		free(p);
	}
	map_release(&c->pair_of);
	free(c->nodes);
	free(c->moves_ns);
	free(c->chain);
	free(c->state);
	free(c->ends);
	hash_table_release(&c->unit_of);
	free(c);
}

int
clocks_reset(struct clocks *c, uint32_t node, struct err *e)
{
	if (!array_reserve(c->nodes, c->nodes_cap, node + 1))
		return err_set(e, ERR_MEMORY, "no memory for the clock of node %u", node);
	for (; c->nnodes <= node; c->nnodes++)
		c->nodes[c->nnodes] = (struct node_clock){ .bounds = NO_BOUNDS };
	c->nodes[node] = (struct node_clock){ .bounds = NO_BOUNDS, .steps = c->nodes[node].steps };
	pairs_forget(c, node);
	return 0;
}

static inline bool
is_time(int64_t ns)
{
	return -TIME_MAX_NS <= ns && ns <= TIME_MAX_NS;
}

static bool
is_here(const struct node_clock *n)
{
	if (bounds_both(&n->bounds))
		return bounds_hold(&n->bounds, 0);
	return n->bounds.high_ns >= 0 && n->bounds.high_ns < HERE_NS;
}

/* The best estimate of the offset. An unsolicited message is assumed to take no time. */
static int64_t
best_ns(const struct node_clock *n)
{
	if (!n->known || is_here(n))
		return 0;
	return bounds_both(&n->bounds) ? bounds_middle(&n->bounds) : n->bounds.high_ns;
}

/* Whether the offset in use is further outside of the bounds than slewing should correct. */
static bool
is_lost(const struct node_clock *n)
{
	const struct bounds *b = &n->bounds;

	return (b->high_ns != INT64_MAX && minus(n->used_ns, CLOCK_SLEW_MAX_NS) > b->high_ns) ||
	       (b->low_ns != INT64_MIN && plus(n->used_ns, CLOCK_SLEW_MAX_NS) < b->low_ns);
}

static void
take_snapshot(struct node_clock *n)
{
	n->snapshots[n->nsnapshots++ % SNAPSHOTS_MAX] = (struct clock_snapshot){
		n->used ? plus(n->last_ns, n->used_ns) : INT64_MIN, n->bounds,
		n->used ? n->used_ns : best_ns(n),
		n->known && is_here(n) && (!n->used || n->used_ns == 0)
	};
}

bool
clocks_sample(struct clocks *c, uint32_t node, const struct clock_sample *s)
{
	struct bounds sample = {
		s->asked_ns == INT64_MIN ? INT64_MIN : minus(s->asked_ns, s->came_ns),
		minus(s->back_ns, s->went_ns), s->asked_ns == INT64_MIN ? s->back_ns : s->asked_ns
	};
	struct node_clock *n;
	bool lost;

	if (node >= c->nnodes || sample.low_ns > sample.high_ns || s->came_ns > s->went_ns ||
	    !is_time(s->back_ns) || !is_time(s->came_ns) || !is_time(s->went_ns) ||
	    !is_time(sample.at_ns) || s->back_ns < sample.at_ns)
		return false;
	n = &c->nodes[node];
	/* The round trip itself took time. */
	bounds_age(&sample, s->back_ns, CLOCK_DRIFT_PPM);
	bounds_age(&n->bounds, s->back_ns, CLOCK_DRIFT_PPM);
	if (!n->known || sample.low_ns > n->bounds.high_ns || sample.high_ns < n->bounds.low_ns) {
		n->steps += n->known && bounds_both(&n->bounds);
		n->bounds = sample;
	} else {
		n->bounds.low_ns = sample.low_ns > n->bounds.low_ns ? sample.low_ns
		                                                    : n->bounds.low_ns;
		n->bounds.high_ns = sample.high_ns < n->bounds.high_ns ? sample.high_ns
		                                                       : n->bounds.high_ns;
	}
	n->known = true;
	lost = n->used && is_lost(n);
	n->used &= !lost;
	take_snapshot(n);
	if (lost)
		pairs_forget(c, node);
	return lost;
}

/* Moves the offset in use towards the estimate. Time that is too short for a whole nanosecond
 * of slewing is carried over. */
static void
slew(struct node_clock *n, int64_t its_ns)
{
	int64_t off_ns = minus(best_ns(n), n->used_ns);
	int64_t most_ns = minus(its_ns, n->used_at_ns) / (1000000 / CLOCK_SLEW_PPM);
	int64_t room_ns = minus(its_ns, n->last_ns) - 1; /* keeps the mapping increasing */

	if (off_ns == 0) {
		n->used_at_ns = its_ns;
		return;
	}
	n->used_at_ns += most_ns * (1000000 / CLOCK_SLEW_PPM);
	most_ns = most_ns < room_ns ? most_ns : room_ns;
	n->used_ns += off_ns > most_ns ? most_ns : off_ns < -most_ns ? -most_ns : off_ns;
}

int64_t
clocks_map(struct clocks *c, uint32_t node, int64_t its_ns)
{
	struct node_clock *n;

	if (node >= c->nnodes)
		return its_ns;
	n = &c->nodes[node];
	if (!is_time(its_ns))
		return plus(its_ns, n->used_ns);
	if (!n->used) {
		n->used = true;
		n->used_ns = best_ns(n);
		n->used_at_ns = n->last_ns = its_ns;
	} else if (its_ns > n->last_ns) {
		slew(n, its_ns);
		n->last_ns = its_ns;
	}
	return plus(its_ns, n->used_ns);
}

int64_t
clocks_near(const struct clocks *c, uint32_t node, int64_t its_ns)
{
	const struct node_clock *n = node < c->nnodes ? &c->nodes[node] : NULL;

	return n != NULL ? plus(its_ns, n->used ? n->used_ns : best_ns(n)) : its_ns;
}

/* The maximum error of an offset with those bounds. */
static int64_t
error_ns(const struct bounds *b, int64_t used_ns)
{
	int64_t above_ns = minus(b->high_ns, used_ns), below_ns = minus(used_ns, b->low_ns);

	return !bounds_both(b) ? INT64_MAX : above_ns > below_ns ? above_ns : below_ns;
}

/* What was known at that time. NULL: no sample yet. For a time before the oldest snapshot that
 * is kept, the oldest one. */
static const struct clock_snapshot *
snapshot_at(const struct clocks *c, uint32_t node, int64_t at_ns)
{
	const struct node_clock *n = node < c->nnodes ? &c->nodes[node] : NULL;
	const struct clock_snapshot *k = NULL;

	for (uint64_t i = n != NULL ? n->nsnapshots : 0; i > 0 && n->nsnapshots - i < SNAPSHOTS_MAX;
	     i--) {
		k = &n->snapshots[(i - 1) % SNAPSHOTS_MAX];
		if (k->since_ns <= at_ns)
			break;
	}
	return k;
}

int64_t
node_error_ns(const struct clocks *c, uint32_t node, int64_t at_ns)
{
	const struct clock_snapshot *k = snapshot_at(c, node, at_ns);
	struct bounds b;

	if (k == NULL)
		return INT64_MAX;
	b = k->bounds;
	bounds_age(&b, at_ns,
	    CLOCK_DRIFT_PPM + CLOCK_SLEW_PPM); /* the offset in use may have moved since */
	return error_ns(&b, k->used_ns);
}

bool
node_was_here(const struct clocks *c, uint32_t node, int64_t at_ns)
{
	const struct clock_snapshot *k = snapshot_at(c, node, at_ns);

	return k != NULL && k->here;
}

void
clocks_state(const struct clocks *c, uint32_t node, int64_t now_ns, struct clock_state *ret)
{
	const struct node_clock *n;
	struct bounds b;

	*ret = (struct clock_state){ .uncertain_ns = INT64_MAX };
	if (node >= c->nnodes)
		return;
	n = &c->nodes[node];
	b = n->bounds;
	bounds_age(&b, now_ns, CLOCK_DRIFT_PPM);
	*ret = (struct clock_state){ .known = n->known,
		.bounded = bounds_both(&n->bounds),
		.steps = n->steps,
		.here = n->known && is_here(n),
		.offset_ns = n->used ? n->used_ns : best_ns(n) };
	ret->uncertain_ns = error_ns(&b, ret->offset_ns);
}

void
clocks_counts(const struct clocks *c, struct clocks_counts *ret)
{
	*ret = c->counts;
}
