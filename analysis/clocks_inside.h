/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds of an offset between two clocks; for clocks.c, which has nodes, and clocks_trace.c, which
 * has pairs of them. */
#ifndef ANALYSIS_CLOCKS_INSIDE_H
#define ANALYSIS_CLOCKS_INSIDE_H

#include "analysis/clocks.h"
#include "base/hash_map.h"

struct bounds {
	int64_t low_ns, high_ns; /* INT64_MIN, INT64_MAX: none */
	int64_t
	    at_ns; /* true at this time; later they are as much wider as clocks may have drifted */
};

#define NO_BOUNDS                               \
	(struct bounds)                         \
	{                                       \
		INT64_MIN, INT64_MAX, INT64_MIN \
	}

/* Times come from outside and may be anything: sums stop at the ends. */
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

/* Lets them grow old until now. What does not make a nanosecond yet is kept for the next time. */
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

/* What was known when a sample had come, for traces that end after it: however much more is known
 * by the time that they are complete, which depends on all other nodes. */
struct clock_snapshot {
	int64_t since_ns; /* what had been mapped by then */
	struct bounds bounds;
	int64_t used_ns;
	bool here;
};

enum { SNAPSHOTS_MAX = 64 }; /* half a minute of round trips, as honed asks for them */

struct node_clock {
	struct bounds bounds; /* ours minus its */
	bool known, used;
	int64_t used_ns, used_at_ns; /* the offset in use; slewed up to that time of its clock */
	int64_t last_ns;             /* the latest that was mapped, by its clock */
	uint64_t steps;
	struct clock_snapshot snapshots[SNAPSHOTS_MAX]; /* a ring */
	uint64_t nsnapshots;
};

struct clock_pair {
	struct clock_pair *next; /* all of them */
	uint32_t a, b;           /* a < b */
	struct bounds bounds;    /* of how far b's mapped clock is ahead of a's */
	bool has_best;           /* the middle, when they were closest: */
	int64_t best_ns, best_error_ns, best_at_ns;
};

struct link_seen { /* of a unit on another node than its fork: where its result went */
	uint64_t link;
	uint32_t unit; /* TRACE_NONE: free */
	uint32_t end;  /* its unit_end, an event; TRACE_NONE: it has none */
};

struct clocks {
	struct node_clock *nodes;
	uint32_t nnodes;
	struct map pair_of; /* a << 32 | b */
	struct clock_pair *pairs;
	struct clocks_counts counts;
	/* for the trace at hand */
	int64_t *moves_ns; /* of each unit; what is added to its times */
	uint32_t *chain;
	uint8_t *state;
	struct link_seen *links;
	uint32_t unit_cap, link_cap;
};

/* A node's mapped clock lay within this of ours at that time; INT64_MAX: nobody knew. O(samples
 * since). */
int64_t node_error_ns(const struct clocks *c, uint32_t node, int64_t at_ns);
bool node_was_here(const struct clocks *c, uint32_t node, int64_t at_ns);
void pairs_forget(struct clocks *c, uint32_t node);

#endif
