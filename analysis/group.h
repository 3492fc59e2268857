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
enum key_kind { KEY_FIELD, KEY_NODE, KEY_ITERATIONS };

struct key {
	uint8_t kind;		/* enum key_kind */
	uint8_t type;		/* enum value_type; KEY_NODE: VALUE_TEXT, KEY_ITERATIONS: VALUE_UINT */
	uint32_t token;		/* where in the shape; ITERATIONS: of its SHAPE_OPEN */
	uint32_t field;		/* FIELD: of the token's label */
};

struct sample {			/* one request of the reservoir */
	uint64_t trace_id;
	int64_t  total_ns;
	double  *edges_ns;	/* [nedges] */
	double  *keys;		/* [nkeys]: numbers; of texts and nodes the number that `texts` gave; NAN: missing */
};

struct exemplar {
	uint64_t trace_id;	/* 0: none */
	int64_t  total_ns;
};

struct group {
	struct shape shape;	/* of its first trace, in its own memory; times_ns and iterations are that trace's */
	uint32_t type;		/* label of request_begin */
	struct moments total;		/* ns */
	struct comoments *edges;	/* [nedges], x the edge's ns, y the response time's */
	struct sketch *sketch;		/* of response times */
	uint32_t nkeys;
	struct key *keys;		/* of all tokens, in their order */
	struct texts *texts;		/* what the numbers of textual keys stand for; at most 256, then NAN */
	uint32_t nsamples, samples_max;
	struct sample *samples;
	struct exemplar slowest, fastest;
	uint64_t lossy;			/* of its traces */
	struct rng rng;
};

struct groups;

struct groups_options {
	uint32_t groups_max;		/* further shapes are counted as "other" */
	uint32_t samples_max;		/* of each group's reservoir */
	uint64_t seed;
};

struct groups *groups_new(const struct groups_options *o, const struct labels *labels);	/* NULL: out of memory */
void groups_free(struct groups *g);

/* Puts a trace where its shape belongs; that group, or NULL when there is no room (counted). `node_names`:
 * texts by the engine's node number, for the key. O(edges + keys). */
struct group *groups_add(struct groups *g, const struct trace *t, const struct critpath *p, const struct shape *s,
    const char *const *node_names);

uint32_t groups_count(const struct groups *g);
struct group *groups_at(const struct groups *g, uint32_t i);	/* in the order they were first seen */
struct group *groups_find(const struct groups *g, struct hash128 key);	/* or NULL */
uint64_t groups_other(const struct groups *g);	/* traces that found no room */

/* "label -> ( label )+ -> label" of a shape; at most `max` labels, the middle left out. Appends. */
void shape_print(const struct shape *s, const struct labels *labels, uint32_t max, struct buf *out);

#endif
