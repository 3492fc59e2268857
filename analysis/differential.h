/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions and which states of a thread slow requests have more of than the others, within an edge. Pure functions.
 *
 * A request spends the edge in parts: for a time it was in a state, at a place that is given as a folded stack
 * ("main;serve;append() at dd.c:27;fsync", the outermost function first). A function has all parts on whose stack it is
 * (inclusive), and those where it is the innermost (self). So the differences of the states add up to that of the whole, as
 * do those of self times.
 */
#ifndef ANALYSIS_DIFFERENTIAL_H
#define ANALYSIS_DIFFERENTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/variance.h"
#include "base/arena.h"
#include "base/err.h"

enum {
	DIFFERENTIAL_SLOW_MIN = 8,    /* with fewer slow requests, or others, nothing is compared */
	DIFFERENTIAL_STATES_MAX = 32, /* of a thread; a larger state counts as the last */
	DIFFERENTIAL_ITEMS_MAX =
	    8192, /* functions and states; those that come later are not compared */
	DIFFERENTIAL_DEPTH_MAX = 256,  /* entries of a stack; inner ones beyond it are ignored */
	DIFFERENTIAL_NODES_MAX = 4096, /* of the tree */
};

struct request_part {
	const char *folded; /* NULL or "": the place is unknown */
	size_t len;
	uint32_t state;
	int64_t ns;
};

struct request_parts { /* of one request in the edge */
	const struct request_part *parts;
	uint32_t count;
	bool slow;
};

enum difference_of { DIFFERENCE_STATE, DIFFERENCE_SELF, DIFFERENCE_INCLUSIVE };

struct difference {
	enum difference_of of;
	uint32_t state;       /* of DIFFERENCE_STATE */
	const char *function; /* of the others, without "() at FILE:LINE"; in the arena */
	double slow_ns,
	    usual_ns; /* mean of a slow request, and of another one; 0 counts for those that have none */
	struct interval
	    more_ns; /* of slow_ns - usual_ns: Welch's t interval, of this difference alone */
	double p;    /* see differential_of() */
	uint32_t slow, usual; /* requests that have it at all */
};

struct differential {             /* all in the arena */
	struct difference *items; /* by slow_ns - usual_ns, the largest first */
	uint32_t count, nslow, nusual;
	double slow_ns, usual_ns; /* of the whole edge */
	double confidence;        /* of the intervals */
	double
	    slow_from_ns; /* the least response time of a slow request; differential_of() leaves it 0 */
	uint32_t left_out; /* over DIFFERENTIAL_ITEMS_MAX */
};

/*
 * p of an item: the probability that any of its kind differs as much by chance. Differences are in standard errors, of the
 * pooled variance; p is the share of `rounds` random divisions into as many slow requests and others whose largest
 * difference of that kind is as large (Westfall & Young, Resampling-Based Multiple Testing, 1993: maxT).
 *
 * count is 0 with fewer than DIFFERENTIAL_SLOW_MIN slow requests or others. O(entries of stacks + rounds x items that the
 * requests have): 0.1 s for 500 requests with 20 parts of 15 entries, 199 rounds. Uses the arena. ERR_MEMORY.
 */
int differential_of(struct differential *ret, const struct request_parts *requests, uint32_t n,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

struct difference_node {          /* of a tree of stacks, which a flame graph shows */
	const char *text;         /* the entry, in the arena; "" for the root */
	uint32_t parent;          /* index; nodes come after their parents */
	double slow_ns, usual_ns; /* inclusive, means as above */
};

/* The tree of all stacks; node 0 is the root, whose times are those of the edge. A stack of an unknown place is in the root
 * only, as are entries that do not fit into DIFFERENTIAL_NODES_MAX in their parent only. leaves: DIFFERENTIAL_STATES_MAX texts,
 * what parts in that state have as one more entry, innermost (NULL: nothing); or NULL. Children are in order of their first
 * appearance. O(entries). ERR_MEMORY. */
int differential_tree(struct difference_node **ret, uint32_t *count,
    const struct request_parts *requests, uint32_t n, const char *const *leaves, struct arena *a,
    struct err *e);

/* Leaves all states, the first functions with at most that p, so many by self time and so many inclusive, and entries of the tree that have
 * share_min of its root (0 to 1), if their parents have. In place, O(items + *count). */
void differential_shorten(struct differential *d, struct difference_node *tree, uint32_t *count,
    double p_max, uint32_t self, uint32_t inclusive, double share_min);

#endif
