/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups: requests whose critical paths have the same shape should take the same time. A group
 * holds what is needed to measure how far they do not, in memory that does not grow with
 * traffic: moments, a sketch, a reservoir of whole edge vectors with their keys (Vitter 1985,
 * algorithm R, seeded), and exemplars.
 */
#ifndef ANALYSIS_GROUP_H
#define ANALYSIS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/critpath.h"
#include "analysis/moments.h"
#include "base/rng.h"

/* A key is a value that is known for each request at one position of the path. */
enum key_kind { KEY_FIELD, KEY_NODE, KEY_PROCESS, KEY_THREAD, KEY_ITERATIONS };

struct key {
	uint8_t kind; /* enum key_kind */
	/* Enum value_type; NODE, PROCESS ("node/pid") and THREAD ("node/tid"): VALUE_TEXT;
	 * ITERATIONS: VALUE_UINT */
	uint8_t type;
	uint32_t token; /* token of the shape; ITERATIONS: the first one of the body */
	uint32_t field; /* FIELD: of the token's label; ITERATIONS: the loop */
};

struct trace_id {
	uint64_t high, low;
};

struct sample { /* one request of the reservoir, or of the slowest */
	struct trace_id id;
	int64_t total_ns;
	uint64_t number;  /* of the request among the group's, from 1 */
	uint64_t order;   /* of the request among all that were added to the groups, from 1 */
	double *edges_ns; /* [nedges] */
	/* [nkeys]: numbers; for texts the number given by `texts`; NAN: missing */
	double *keys;
};

struct exemplar {
	struct trace_id id;
	int64_t total_ns; /* negative: none */
};

struct group {
	/* Of the first trace, with the loops of later ones appended at the ends of edges and
	 * loops, so that numbers stay the same. times_ns and iterations are the first trace's. */
	struct shape shape;
	uint32_t type; /* label of request_begin */
	/* Its requests stand for those that come before and after them, not only for the time in which they came. */
	bool stands_for_more;
	/* Response times in ns, without excluded waits; so are all following times. */
	struct moments total;
	struct moments_high total_high; /* of the same */
	struct moments ignored;         /* ns of excluded waits */
	/* [nedges]: x is the edge's time in ns, y the response time; 0 for an excluded edge */
	struct comoments *edges;
	bool *edge_ignored;    /* [nedges]: the edge is an excluded wait */
	uint64_t *passed;      /* [nedges]: traces that took the edge ... */
	uint64_t *passes;      /* [nedges]: ... and how often all of them together did */
	struct sketch *sketch; /* of response times */
	uint32_t nkeys;
	struct key *keys; /* of all tokens in their order; iterations last */
	/* Numbers of textual keys; at most 256 texts, at most 128 of them processes and
	 * threads; further ones are NAN */
	struct texts *texts;
	uint32_t nsamples, samples_max;
	struct sample *samples;
	/* The slowest requests of all, a heap with the fastest of them first; of equal times the
	 * earlier request counts as slower. None while the reservoir has all requests, and none
	 * if there was no memory for them. */
	uint32_t nslow, slow_max;
	struct sample *slow;
	struct exemplar slowest, fastest;
	/* Requests that were slower than groups_options.tail_ns, and the sums of their response
	 * times and of their times by edge, ns. */
	uint64_t ntail;
	double tail_total_ns, *tail_ns; /* tail_ns: [nedges] */
	uint64_t lossy;                 /* number of lossy traces */
	uint64_t moved; /* steps on its traces' paths that came before their cause */
	struct rng rng;
};

struct groups;

struct groups_options {
	uint32_t groups_max;  /* further shapes are counted as "other" */
	uint32_t samples_max; /* size of each group's reservoir */
	/* Requests that are kept as the slowest ones of each group, beside its reservoir; at most
	 * half of samples_max. 0: none. */
	uint32_t slow_max;
	/* Requests that took longer than this are counted as the tail; 0: none is. */
	double tail_ns;
	/* Of all groups together. Above half of it, further shapes are "other"; above all of
	 * it, reservoirs do not grow. 0: no bound. */
	size_t memory_max_bytes;
	uint64_t seed;
	/* Excluded waits: patterns (fnmatch) of labels, ending with NULL, or NULL. The time of
	 * an edge from or to such a label is subtracted from the response time. */
	const char *const *ignore;
};

/* Traces that are in no group. */
struct groups_other {
	uint64_t traces;     /* in total */
	uint64_t collisions; /* of these: their key was that of another shape */
	/* Of these: their edges did not add up to the response time; must be 0. */
	uint64_t inexact;
	struct moments total; /* response times in ns of all of these */
};

/* Whether request `a` counts as slower than `b`. */
static inline bool
sample_is_slower(const struct sample *a, const struct sample *b)
{
	return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a->number < b->number;
}

/* Whether a request of the reservoir is among the slowest that are kept, too. */
static inline bool
sample_is_slow(const struct group *g, const struct sample *s)
{
	return g->nslow > 0 && !sample_is_slower(&g->slow[0], s);
}

struct groups *groups_new(
    const struct groups_options *o, const struct labels *labels); /* NULL: out of memory */
void groups_free(struct groups *g);

/* Adds a trace to the group of its shape. Returns the group, or NULL if there is no room
 * (counted as other). `node_names`: texts by the engine's node number. O(edges), plus O(keys +
 * loops^2) for a trace that enters the reservoir. */
struct group *groups_add(struct groups *g, const struct trace *t, const struct critpath *p,
    const struct shape *s, const char *const *node_names);

uint32_t groups_count(const struct groups *g);
/* In order of their first traces. */
struct group *groups_at(const struct groups *g, uint32_t i);
/* By shape.key; or NULL */
struct group *groups_find(const struct groups *g, struct hash128 key);
const struct groups_other *groups_other(const struct groups *g);

/* The trace of the reservoir that is nearest to the group's median. total_ns is negative if
 * there is none. O(samples). */
struct exemplar group_median(const struct group *g);

/* Merges `from`, which has the same labels, into `into`: moments, exemplars, and reservoirs in
 * proportion to the traffic. For shards. O(groups x (edges + samples x (edges + keys))).
 * ERR_MEMORY: part of it may have been merged. */
int groups_merge(struct groups *into, const struct groups *from, struct err *e);

#endif
