/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bounds of the offset between two clocks. Shared by clocks.c (nodes) and clocks_trace.c (pairs
 * of nodes).
 */
#ifndef ANALYSIS_CLOCKS_INSIDE_H
#define ANALYSIS_CLOCKS_INSIDE_H

#include "analysis/clocks.h"
#include "base/hash_map.h"
#include "base/hash_table.h"

struct bounds {
	int64_t low_ns, high_ns; /* INT64_MIN, INT64_MAX: none */
	int64_t at_ns; /* Valid at this time; afterwards they widen by the maximum drift. */
};

#define NO_BOUNDS                               \
	(struct bounds)                         \
	{                                       \
		INT64_MIN, INT64_MAX, INT64_MIN \
	}

/* Sums and differences limited to the range of int64_t: times come from outside and may be
 * anything. */
static inline int64_t
plus(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

static inline int64_t
minus(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b > 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

static inline bool
bounds_both(const struct bounds *b)
{
	return b->low_ns != INT64_MIN && b->high_ns != INT64_MAX;
}

static inline bool
bounds_hold(const struct bounds *b, int64_t offset_ns)
{
	return b->low_ns <= offset_ns && offset_ns <= b->high_ns;
}

static inline int64_t
bounds_middle(const struct bounds *b)
{
	return b->low_ns + (int64_t)(((uint64_t)b->high_ns - (uint64_t)b->low_ns) / 2);
}

/* Widens the bounds up to now_ns. A time that is too short for a whole nanosecond is carried
 * over. */
static inline void
bounds_age(struct bounds *b, int64_t now_ns, int64_t drift_ppm)
{
	int64_t wider_ns;

	if (b->at_ns == INT64_MIN || now_ns <= b->at_ns) {
		b->at_ns = b->at_ns == INT64_MIN ? now_ns : b->at_ns;
		return;
	}
	wider_ns = minus(now_ns, b->at_ns) / (1000000 / drift_ppm);
	if (wider_ns == 0)
		return;
	if (b->low_ns != INT64_MIN)
		b->low_ns = minus(b->low_ns, wider_ns);
	if (b->high_ns != INT64_MAX)
		b->high_ns = plus(b->high_ns, wider_ns);
	b->at_ns += wider_ns * (1000000 / drift_ppm);
}

/* What was known when a sample had arrived, for traces that end after it. Without it, what is
 * known when a trace completes would depend on all other nodes. */
struct clock_snapshot {
	int64_t since_ns; /* the latest time mapped before the sample */
	struct bounds bounds;
	int64_t used_ns;
	bool here;
};

/* 32 s of round trips, at the two per second that honed makes */
enum { SNAPSHOTS_MAX = 64 };

struct node_clock {
	struct bounds bounds; /* controller's clock minus node's clock */
	bool known, used;
	/* The offset in use, and the node's time up to which it was slewed. */
	int64_t used_ns, used_at_ns;
	int64_t last_ns; /* the latest time that was mapped, by the node's clock */
	uint64_t steps;
	struct clock_snapshot snapshots[SNAPSHOTS_MAX]; /* a ring */
	uint64_t nsnapshots;
};

struct clock_pair {
	struct clock_pair *next; /* list of all pairs */
	uint32_t a, b;           /* a < b */
	struct bounds bounds;    /* of b's mapped clock minus a's */
	bool has_best;           /* the middle of the bounds when they were closest: */
	int64_t best_ns, best_error_ns, best_at_ns;
};

struct clocks {
	struct node_clock *nodes;
	uint32_t nnodes, nodes_cap;
	struct map pair_of; /* a << 32 | b */
	struct clock_pair *pairs;
	struct clocks_counts counts;
	/* of the current trace: */
	int64_t *moves_ns; /* of each unit: what is added to its times */
	uint32_t *chain;
	uint8_t *state;
	/* Hash of a link to the last unit that was begun by it on another node. */
	struct hash_table unit_of;
	uint32_t *ends; /* of these units: the event of the unit's end, or TRACE_NONE */
	uint32_t unit_cap;
};

/* Maximum difference between a node's mapped clock and the controller's at that time;
 * INT64_MAX: unknown. O(snapshots since). */
int64_t node_error_ns(const struct clocks *c, uint32_t node, int64_t at_ns);
bool node_was_here(const struct clocks *c, uint32_t node, int64_t at_ns);
void pairs_forget(struct clocks *c, uint32_t node);

#endif
