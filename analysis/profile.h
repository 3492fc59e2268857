/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the traces of one request type do, whatever group they fall into: the
 * tree of their calls, each in the context of its callers (Ammons, Ball & Larus
 * 1997), with how often it is called, how long it keeps the request waiting by
 * itself, how long the way to it and back takes, and what is done after what. Two
 * profiles, of a healthy window and of now, tell what changed (report/change.h).
 */
#ifndef ANALYSIS_PROFILE_H
#define ANALYSIS_PROFILE_H

#include "analysis/critpath.h"
#include "analysis/moments.h"
#include "base/err.h"
#include "base/hash_map.h"

enum {
	PROFILE_NONE = UINT32_MAX,
	PROFILE_BUCKETS =
	    272 /* eight to an octave, from 128 ns to 36 min; the ends hold what is beyond */
};

struct profile_times { /* of calls, in ns */
	struct moments ns;
	uint32_t buckets[PROFILE_BUCKETS];
};

/*
 * A call: a unit, by the label of what began it, under its caller. A unit that does
 * nothing but hand on to one unit of another service (the client's side of a remote
 * call, in spans) is told apart by whom it calls: `far`.
 */
struct profile_call {
	uint32_t parent;     /* PROFILE_NONE: the request itself; else less than its own number */
	uint32_t label, far; /* far: LABEL_NONE */
	uint64_t traces, calls;
	struct profile_times
	    *self; /* time on the path in the unit, for each call that has some; NULL: none had */
	struct profile_times *way; /* time on the path between the caller and it, there and back */
	uint64_t last;             /* trace that it was last seen in */
};

/* In a call: after this one, that one came next. */
struct profile_step {
	uint32_t node;
	uint32_t after, then; /* nodes under it; PROFILE_NONE: its begin, its end */
	uint64_t count;
};

struct profile {
	uint32_t nodes_max, steps_max;
	uint32_t nnodes, nsteps;
	struct profile_call *nodes;
	struct profile_step *steps;
	uint64_t traces;                 /* whose calls and steps were counted */
	uint64_t lossy;                  /* traces with a part that is lost: their times only */
	uint64_t calls_lost, steps_lost; /* for want of room */
	struct map node_index, step_index;
	struct arena arena, scratch;
};

/* For at most nodes_max calls in context, and eight times as many steps; what finds no place is
 * counted. At most 3 KiB for each call. NULL: out of memory. */
struct profile *profile_new(uint32_t nodes_max);
void profile_free(struct profile *p);

/* O(events + steps of the path). ERR_MEMORY: nothing more was added, what is there stays good. */
int profile_add(struct profile *p, const struct trace *t, const struct critpath *path,
    const struct labels *labels, struct err *e);

/* The bucket of a time, and the least time in a bucket. */
uint32_t profile_bucket(double ns);
double profile_bucket_ns(uint32_t bucket);

#endif
