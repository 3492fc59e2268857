/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the traces of one request type call, in whichever group they are: the tree of calls,
 * each in the context of its callers (Ammons, Ball & Larus 1997), with the number of calls, the
 * time on the critical path within a call and between it and its caller, and which call follows
 * which. Comparing two profiles, of a healthy window and of now, shows what changed
 * (report/change.h).
 */
#ifndef ANALYSIS_PROFILE_H
#define ANALYSIS_PROFILE_H

#include "analysis/critpath.h"
#include "analysis/moments.h"
#include "analysis/slices.h"
#include "base/err.h"
#include "base/hash_map.h"

enum {
	PROFILE_NONE = UINT32_MAX,
	/* 8 per octave, from 128 ns to 36 min; the first and the last also hold what is beyond */
	PROFILE_BUCKETS = 272
};

struct profile_times { /* of calls, in ns */
	struct moments ns;
	uint32_t buckets[PROFILE_BUCKETS];
};

/* A call: a unit, identified by the label that began it and by its caller. A unit that only
 * forwards to one unit of another service (the client side of a remote call, in spans) is
 * distinguished by the label that it calls: `far`. */
struct profile_call {
	/* PROFILE_NONE: the request itself; otherwise less than its own number. */
	uint32_t parent;
	uint32_t label, far; /* far: LABEL_NONE if it does not apply */
	uint64_t traces, calls;
	/* Time on the path within the call, for calls that have some; NULL: none had. */
	struct profile_times *self;
	/* Time on the path between caller and call, both directions together. */
	struct profile_times *way;
	uint64_t last; /* the last trace with this call */
};

/* Within a call: after this call came that one. */
struct profile_step {
	uint32_t node;
	uint32_t after, then; /* calls under it; PROFILE_NONE: its begin, its end */
	uint64_t count;
};

struct profile {
	uint32_t nodes_max, steps_max;
	uint32_t nnodes, nsteps, nodes_cap, steps_cap;
	struct profile_call *nodes;
	struct profile_step *steps;
	uint64_t traces; /* whose calls and steps were counted */
	uint64_t lossy;  /* traces with a part missing: only their times were counted */
	uint64_t calls_lost, steps_lost; /* not counted for lack of room */
	struct map node_index, step_index;
	/* All counts and times above again, for each slice of time by the begin of the traces, with the
	 * numbers of nodes and steps; and the buckets of response times. */
	struct slices slices;
	struct arena arena, scratch;
};

/* A profile of at most nodes_max calls in context and eight times as many steps; what exceeds
 * this is counted as lost. At most 3 KiB per call, and as much for the slices. NULL: out of memory. */
struct profile *profile_new(uint32_t nodes_max);
void profile_free(struct profile *p);

/* Adds a trace. O(events + steps of the path x log depth of units). ERR_MEMORY: part of the trace
 * may have been added; the profile stays consistent. */
int profile_add(struct profile *p, const struct trace *t, const struct critpath *path,
    const struct labels *labels, struct err *e);

/* The bucket of a time, and the least time of a bucket. */
uint32_t profile_bucket(double ns);
double profile_bucket_ns(uint32_t bucket);

#endif
