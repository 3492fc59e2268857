/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merged graph of one request type; for space.c and for the door that keeps it in a file. */
#ifndef SEARCHSPACE_GRAPH_H
#define SEARCHSPACE_GRAPH_H

#include "base/hash_map.h"
#include "searchspace/space.h"
#include "searchspace/span.h"

enum {
	GRAPH_NONE = UINT32_MAX,
	GRAPH_PLACES_MAX = 1 << 20, /* of one type; traces of bad input must not take all memory */
	GRAPH_STEPS_MAX = 1 << 22,
	GRAPH_LINKS_MAX = 1 << 20,
	GRAPH_KEYS_MAX = 1 << 22,
	KEY_TEXTS_MAX = 256 /* more different texts than this are not told apart */
};

/*
 * What was seen in no whole trace, but where only some tracepoints were on
 * (space_learn_more()), is glimpsed: `first` is 0, its counts stop at what they would be
 * if every trace had it, and they begin anew when a whole trace shows it.
 */
struct vertex {
	struct place place;
	uint64_t first, last; /* numbers of the traces that had it first and last, from 1 */
	uint32_t out, in;     /* its newest steps, or GRAPH_NONE */
	uint32_t keys;        /* its first key, or GRAPH_NONE */
	uint32_t twin; /* the next older one of the same unit and label: see graph_newest() */
	uint32_t same; /* another one of the same label in any unit; in a ring of all of these */
};

struct graph_step {                 /* a step that was taken */
	uint32_t from, to;          /* vertices */
	uint32_t next_out, next_in; /* the next older one of the same from, of the same to */
	uint64_t count; /* 0: it was glimpsed only, between vertices that are known whole since */
	double mean_ns;
};

struct graph_link { /* a vertex hands work to a unit, or gets it back; the unit has a vertex of that
	         label, in no span */
	uint32_t vertex, unit;
	uint64_t count;
};

struct graph_key {             /* values of one field, of one type, at one vertex */
	uint32_t vertex, next; /* the vertex's next key, or GRAPH_NONE */
	uint16_t field;        /* among its label's */
	uint8_t type;          /* enum value_type */
	uint32_t ntexts, texts_cap;
	uint64_t count;
	double low, high;
	uint32_t *texts; /* hashes of the different ones, in a table; 0: free */
};

struct graph {
	uint32_t type;     /* label of request_begin */
	uint64_t traces;   /* whole ones */
	uint64_t glimpses; /* others, since it is in memory */
	struct vertex *vertices;
	struct graph_step *steps;
	struct graph_link *links;
	struct graph_key *keys;
	uint32_t nvertices, vertices_cap, nsteps, steps_cap, nlinks, links_cap, nkeys, keys_cap,
	    ncontexts;
	struct map context_of; /* unit << 32 | span -> number of the pair + 1 */
	struct map vertex_of;  /* that number << 32 | label -> vertex + 1 */
	struct map step_of;    /* from << 32 | to -> way + 1 */
	struct map link_of;    /* vertex << 32 | unit -> link + 1 */
	struct map newest_of;  /* unit << 32 | label -> newest vertex + 1 */
	struct map same_of;    /* label -> first vertex + 1 */
	struct graph_export {  /* what space_export() gave out */
		struct place *places;
		struct space_step *steps;
		struct concurrency *concurrency;
		struct place_key *keys;
	} exported;
};

void graph_release(struct graph *g); /* of its type, it is empty then */

/* Found or made; GRAPH_NONE: out of memory, or of what a graph may take. O(1). */
uint32_t graph_vertex(struct graph *g, uint32_t unit, uint32_t span, uint32_t label);
uint32_t graph_step(struct graph *g, uint32_t from, uint32_t to);
uint32_t graph_link(struct graph *g, uint32_t vertex, uint32_t unit);
uint32_t graph_key(
    struct graph *g, uint32_t vertex, uint32_t field, uint8_t type); /* O(keys of the vertex) */
/* The number of a pair of unit and span that some vertex lies in, or GRAPH_NONE; the vertex of
 * exactly this context, or GRAPH_NONE. O(1). */
uint32_t graph_context(const struct graph *g, uint32_t unit, uint32_t span);
uint32_t graph_find(const struct graph *g, uint32_t unit, uint32_t span, uint32_t label);

/* The newest vertex of this label in this unit, whatever span it lies in, or GRAPH_NONE;
 * vertices[].twin leads to the others. O(1). */
uint32_t graph_newest(const struct graph *g, uint32_t unit, uint32_t label);

/* A whole trace shows what so far was glimpsed, or new. O(its steps and keys). */
void graph_confirm(struct graph *g, uint32_t vertex);
/* As many traces as a glimpsed vertex may claim. */
uint64_t graph_glimpses_max(const struct graph *g);

bool key_value(struct graph_key *k, const struct value *v); /* adds one; false: out of memory */
bool key_text(
    struct graph_key *k, uint32_t hash); /* adds a text by its hash, not 0, if it is new */

/* Adds what the traces of `from` taught, as if they had come after those of g. 0 or ERR_MEMORY.
 * O(size of from). */
int graph_merge(struct graph *g, const struct graph *from, struct err *e);

/* Do its rows contradict each other? NULL: no; "": out of memory; else what does, in words that a
 * place's number follows, which is in *at: steps that lead from unit to unit, spans that lie in
 * nothing but each other, more steps to or from a place than it was seen. O(size). */
const char *graph_check(const struct graph *g, const struct labels *labels, uint32_t *at);

/* ---- of a space ---- */

struct space {
	const struct labels *labels;
	struct graph **graphs; /* in the order they were learned */
	uint32_t ngraphs, graphs_cap;
	struct space_version version;
	struct spans spans;
	uint32_t *at, at_cap;       /* of the events of the trace being learned: their vertices */
	uint32_t *names, names_cap; /* of its units */
};

struct graph *space_find(const struct space *s, uint32_t type); /* or NULL */
const struct labels *space_labels(const struct space *s);
const struct graph *space_graph(
    const struct space *s, uint32_t i); /* in the order they were learned, or NULL */
struct graph *space_graph_of(
    struct space *s, uint32_t type); /* found or made; NULL: out of memory */

#endif
