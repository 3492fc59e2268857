/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The chain of events that made a request take as long as it did: from its end
 * backwards in program order; at a join, into the child if the child's last
 * event is later than what the parent did before (then the parent waited), back
 * out of it at its fork. (VAIF, SoCC 2021, section 4.2; Dapper, 2010.)
 * Work that nobody joins is off the path.
 *
 * Time only goes forward along it: where clocks disagree, an effect is moved to
 * its cause and counted. The edges add up to the response time exactly.
 *
 * Structure with a silent label (label.h) ties units, and is no step.
 */
#ifndef ANALYSIS_CRITPATH_H
#define ANALYSIS_CRITPATH_H

#include "analysis/trace.h"
#include "base/hash.h"

enum { BIN_NONE = 0 };

struct step {
	int64_t time_ns; /* on the root's clock, made causal */
	uint32_t event;  /* index into the trace's events */
	uint32_t label;
	uint32_t unit_label; /* label of the event that began the step's unit; where that is silent,
	                        of its first that is not */
	uint32_t owner; /* label of the event that began the unit in which the time before this step
	                   passed; LABEL_NONE: on the way from one unit to another */
	uint32_t bin;   /* of a developer-chosen key (bins.h), else BIN_NONE */
};

struct critpath {
	uint32_t nsteps;    /* >= 2; edges are between neighbours */
	struct step *steps; /* first: request_begin, last: request_end */
	uint32_t moved;     /* steps that came before their cause */
};

/* The path through all events whose label is always on (any structure event), or in `keep` (NULL:
 * all). In the arena. O(events). ERR_MEMORY; ERR_INPUT: the trace has no path from its end to its
 * begin. */
int critpath_extract(struct critpath *ret, const struct trace *t, const struct labels *labels,
    const struct label_set *keep, struct arena *a, struct err *e);

/*
 * The shape: labels of the path (with their bins), folded. The path is read from
 * its begin; as soon as the last k labels are the same as the k before them, k at
 * most 64, the shortest such k first, they were one more round of a loop, and are
 * laid on the round before: A B C B C B C D is A ( B C )+ D. What is left is the
 * row of tokens, and only it tells shapes apart: a loop is not part of it, its body
 * may as well have run once, so A B C D has the same key. An edge is what lies
 * between two labels that follow each other in the row; times of all rounds add up
 * on it. Going round a loop is an edge from its last label back to its first, which is
 * there if the path did so.
 *
 * What holds:
 * - Every step is on one token, every stretch of the path on one edge, whatever the
 *   path: the edges' times add up to the path's.
 * - The row has no repeat next to itself (of up to 64 labels), but where two loops cross
 *   in such a way that laying rounds on each other would lead forward past labels
 *   that were never passed; these stay as they were read.
 * - Where each label stands at one place of the program and a loop's body, the loops
 *   inside it taken once, has no more than 64 labels, the row is the same however
 *   often each loop went round, once or more: it is the program read with every
 *   loop taken once. Reason: leaving out one of two equal rounds leaves a path that
 *   the same program could have gone, and of these only the one with every loop
 *   taken once has no repeat.
 * - Where a label stands at several places, the row is still a function of the path
 *   alone, but the number of rounds may show: X A ( Y X )+ A Y reads as X A Y when its loop
 *   went round once, and as X A Y X A Y else. A choice within a loop shows as well: rounds that
 *   differ are no repeats.
 */
struct shape_edge {
	uint32_t from, to;             /* labels */
	uint32_t from_unit, to_unit;   /* labels of the events that began their units */
	uint32_t owner;                /* of the first step on it, see struct step */
	uint32_t from_token, to_token; /* to <= from: it goes round a loop */
};

struct shape_loop {
	uint32_t first, last; /* tokens: the body */
	uint32_t edge;        /* from last back to first */
};

struct shape {
	struct hash128 key; /* of the tokens' label texts and bins: the same on every run */
	uint32_t ntokens, nedges, nloops;
	uint32_t *tokens; /* labels */
	uint32_t *bins;   /* [ntokens] */
	struct shape_edge
	    *edges; /* the first ntokens - 1 lead from token i to i + 1, then one for each loop */
	struct shape_loop
	    *loops; /* by length, then by place: inner ones before those around them */
	/* of this one path: */
	int64_t *times_ns;    /* [nedges]; their sum is the response time */
	uint32_t *passes;     /* [nedges]: how often the path went that way */
	uint64_t *iterations; /* [nloops]: how often the body ran, in all */
	uint32_t *first_step; /* [ntokens]: the first step of the path on that token */
};

/* Folds. In the arena. O(steps) for looking up labels, and for a label that was there within the
 * last 64, up to 64 comparisons for each of these places: never more than O(steps x 64 x 32),
 * whatever the loops, and O(steps) as a rule. ERR_MEMORY. */
int shape_of(struct shape *ret, const struct critpath *p, const struct labels *labels,
    struct arena *a, struct err *e);

/* Whether the edges add up to the trace's response time. They do, for every trace: debug builds
 * (HONE_DEBUG) and those with a sanitizer stop if not, others count it: group.h and `hone status`
 * show how many. O(edges). */
bool shape_exact(const struct shape *s, const struct trace *t);

/* How often a body ran, also where it is no loop of this shape: how often the path came to its
 * first token from elsewhere than that body, and round the loop. O(loops). */
uint64_t shape_runs(const struct shape *s, uint32_t first, uint32_t last);

/* How many loops begin before that token, and end behind it. O(loops). */
uint32_t shape_opens(const struct shape *s, uint32_t token);
uint32_t shape_closes(const struct shape *s, uint32_t token);

/* "label -> ( label )+ -> label" of a shape; at most `max` labels, the middle left out. Appends. */
void shape_print(const struct shape *s, const struct labels *labels, uint32_t max, struct buf *out);

#endif
