/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests whose critical paths have the same shape ought to cost the same. A
 * group keeps what is needed to say how far they do not, in memory that does not
 * grow with its traffic: moments, a sketch, a reservoir of whole edge vectors with
 * the keys seen on the way (Vitter 1985, algorithm R, seeded), three exemplars.
 */
#ifndef ANALYSIS_GROUP_H
#define ANALYSIS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/critpath.h"
#include "analysis/moments.h"
#include "base/rng.h"

/* A key is something known of each request at one place of the path. */
enum key_kind { KEY_FIELD, KEY_NODE, KEY_PROCESS, KEY_THREAD, KEY_ITERATIONS };

struct key {
	uint8_t kind;   /* enum key_kind */
	uint8_t type;   /* enum value_type; NODE, PROCESS ("node/pid") and THREAD ("node/tid"):
	                   VALUE_TEXT;   ITERATIONS: VALUE_UINT */
	uint32_t token; /* where in the shape; ITERATIONS: the body's first */
	uint32_t field; /* FIELD: of the token's label; ITERATIONS: the loop */
};

struct trace_id {
	uint64_t high, low;
};

struct sample { /* one request of the reservoir */
	struct trace_id id;
	int64_t total_ns;
	double *edges_ns; /* [nedges] */
	double *keys; /* [nkeys]: numbers; of texts the number that `texts` gave; NAN: missing */
};

struct exemplar {
	struct trace_id id;
	int64_t total_ns; /* negative: none */
};

struct group {
	struct shape shape;   /* of its first trace, with the loops of those that came since (at the
	                         ends of edges   and loops: what has a number keeps it); times_ns and
	                         iterations are the first   trace's */
	uint32_t type;        /* label of request_begin */
	struct moments total; /* ns; without what is ignored, as all that follows */
	struct moments_high total_high; /* of the same */
	struct moments ignored;         /* ns of meant waits */
	struct comoments
	    *edges; /* [nedges], x the edge's ns, y the response time's; an ignored edge's are 0 */
	bool *edge_ignored;    /* [nedges] */
	struct sketch *sketch; /* of response times */
	uint32_t nkeys;
	struct key *keys;    /* of all tokens, in their order; iterations last */
	struct texts *texts; /* what the numbers of textual keys stand for; at most 256, then NAN */
	uint32_t nsamples, samples_max;
	struct sample *samples;
	struct exemplar slowest, fastest;
	uint64_t lossy; /* of its traces */
	uint64_t moved; /* steps of its traces' paths that came before their cause */
	struct rng rng;
};

struct groups;

struct groups_options {
	uint32_t groups_max;     /* further shapes are counted as "other" */
	uint32_t samples_max;    /* of each group's reservoir */
	size_t memory_max_bytes; /* of all groups; past half of it further shapes are "other", past
	                            all of it reservoirs stay as large as they are. 0: no bound */
	uint64_t seed;
	const char *const *ignore; /* meant waits: patterns (fnmatch) of labels, NULL at the end, or
	                              NULL. The time of an edge that leads from or to such a label
	                              is taken out of the response time */
};

/* What happened to those that found no place. */
struct groups_other {
	uint64_t traces;     /* in all */
	uint64_t collisions; /* of these: their key was another shape's */
	uint64_t inexact; /* of these: their edges did not add up to the response time. Must be 0 */
	struct moments total; /* ns, of all of these */
};

struct groups *groups_new(
    const struct groups_options *o, const struct labels *labels); /* NULL: out of memory */
void groups_free(struct groups *g);

/* Puts a trace where its shape belongs; that group, or NULL when there is no room (counted).
 * `node_names`: texts by the engine's node number, for the key. O(edges + keys). */
struct group *groups_add(struct groups *g, const struct trace *t, const struct critpath *p,
    const struct shape *s, const char *const *node_names);

uint32_t groups_count(const struct groups *g);
struct group *groups_at(const struct groups *g, uint32_t i); /* in the order they were first seen */
struct group *groups_find(const struct groups *g, struct hash128 key); /* or NULL */
const struct groups_other *groups_other(const struct groups *g);

/* The trace of the reservoir that is nearest to the group's median. O(samples). */
struct exemplar group_median(const struct group *g);

/* Adds all that `from` knows, which has the same labels; its exemplars and reservoirs too, in
 * proportion to the traffic. For shards. O(groups x (edges + samples)). 0 or ERR_MEMORY. */
int groups_merge(struct groups *into, const struct groups *from, struct err *e);

#endif
