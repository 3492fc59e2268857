/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The learned graph of one request type. For the files of this room: graph*.c, space*.c,
 * learn.c, match*.c.
 */
#ifndef SEARCHSPACE_GRAPH_H
#define SEARCHSPACE_GRAPH_H

#include "analysis/trace.h"
#include "base/hash_map.h"
#include "searchspace/space_content.h"

enum {
	GRAPH_NONE = UINT32_MAX,
	/* Of one type; limits the memory that bad input can take. */
	GRAPH_PLACES_MAX = 1 << 20,
	GRAPH_STEPS_MAX = 1 << 22,
	GRAPH_LINKS_MAX = 1 << 20,
	GRAPH_KEYS_MAX = 1 << 22,
	KEY_TEXTS_MAX = 256 /* further texts are not counted as different */
};

/*
 * A place as a vertex of the graph.
 *
 * A place is glimpsed if no whole trace showed it, only traces with some tracepoints enabled
 * (space_learn_more()): `first` is 0, its counts do not exceed what they would be if every
 * trace had it, and they start again when a whole trace shows it.
 */
struct vertex {
	struct place place;
	uint64_t first, last; /* numbers of the first and last trace that had it, from 1 */
	uint32_t out, in;     /* its newest steps, or GRAPH_NONE */
	uint32_t keys;        /* its first key, or GRAPH_NONE */
	/* Next older vertex of the same unit and label; see graph_newest(). */
	uint32_t twin;
	uint32_t same; /* next vertex of the same label, in any unit; these form a ring */
};

struct graph_step {        /* an edge of the graph: two places in succession */
	uint32_t from, to; /* vertices */
	/* Next older step with the same from, with the same to. */
	uint32_t next_out, next_in;
	/* 0: only glimpsed, between vertices that whole traces showed later */
	uint64_t count;
	double mean_ns;
};

/* A vertex hands work to a unit, or receives its result; the unit has a vertex with its own
 * label outside of spans. */
struct graph_link {
	uint32_t vertex, unit;
	uint64_t count;
};

struct graph_key {             /* values of one field, of one type, at one vertex */
	uint32_t vertex, next; /* next: next key of the vertex, or GRAPH_NONE */
	uint16_t field;        /* index among the fields of its label */
	uint8_t type;          /* enum value_type */
	uint32_t ntexts, texts_cap;
	uint64_t count;
	double low, high;
	uint32_t *texts; /* hash set of the hashes of texts; 0: free */
};

struct graph {
	uint32_t type;     /* label of request_begin */
	uint64_t traces;   /* whole traces */
	uint64_t glimpses; /* other traces, since the graph is in memory */
	struct vertex *vertices;
	struct graph_step *steps;
	struct graph_link *links;
	struct graph_key *keys;
	uint32_t nvertices, vertices_cap, nsteps, steps_cap, nlinks, links_cap, nkeys, keys_cap,
	    ncontexts;
	/* Unit << 32 | span -> number of the pair, the context, + 1. */
	struct map context_of;
	struct map vertex_of; /* context << 32 | label -> vertex + 1 */
	struct map step_of;   /* from << 32 | to -> step + 1 */
	struct map link_of;   /* vertex << 32 | unit -> link + 1 */
	struct map newest_of; /* unit << 32 | label -> newest vertex + 1 */
	struct map same_of;   /* label -> first vertex + 1 */
	struct graph_export { /* arrays returned by space_export() */
		struct place *places;
		struct space_step *steps;
		struct concurrency *concurrency;
		struct place_key *keys;
		uint32_t places_cap, steps_cap, concurrency_cap, keys_cap;
	} exported;
};

/* Frees the content; the graph is then empty, of the same type. */
void graph_release(struct graph *g);

/* Find or add; GRAPH_NONE: out of memory, or over the limit above. O(1) expected. */
uint32_t graph_vertex(struct graph *g, uint32_t unit, uint32_t span, uint32_t label);
uint32_t graph_step(struct graph *g, uint32_t from, uint32_t to);
uint32_t graph_link(struct graph *g, uint32_t vertex, uint32_t unit);
/* O(keys of the vertex). */
uint32_t graph_key(struct graph *g, uint32_t vertex, uint32_t field, uint8_t type);
/* The number of a context, a pair of unit and span, or GRAPH_NONE; the vertex of exactly this
 * context, or GRAPH_NONE. O(1) expected. */
uint32_t graph_context(const struct graph *g, uint32_t unit, uint32_t span);
uint32_t graph_find(const struct graph *g, uint32_t unit, uint32_t span, uint32_t label);

/* The newest vertex of this label in this unit, in any span, or GRAPH_NONE; vertices[].twin
 * leads to the others. O(1) expected. */
uint32_t graph_newest(const struct graph *g, uint32_t unit, uint32_t label);

/* Called when a whole trace shows a vertex that was glimpsed, or is new: its counts start
 * again. O(its steps and keys). */
void graph_confirm(struct graph *g, uint32_t vertex);
/* The number of traces that a glimpsed vertex may count at most. */
uint64_t graph_glimpses_max(const struct graph *g);

/* Adds a value; false: out of memory. */
bool key_value(struct graph_key *k, const struct value *v);
/* Adds a text by its hash, which is not 0, if it is new. */
bool key_text(struct graph_key *k, uint32_t hash);

/* Adds what `from` learned, as if its traces had come after those of g. O(size of from).
 * ERR_MEMORY: out of memory or over a limit; part of it may have been added. */
int graph_merge(struct graph *g, const struct graph *from, struct err *e);

/*
 * Checks whether rows contradict each other: steps from unit to unit, spans that are only
 * within each other, more steps to or from a place than it was seen. NULL: consistent; "": out
 * of memory; otherwise what is wrong, as text to be followed by the number of the vertex in
 * *at. O(size).
 */
const char *graph_check(const struct graph *g, const struct labels *labels, uint32_t *at);

#endif
