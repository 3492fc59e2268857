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
 */
#ifndef ANALYSIS_CRITPATH_H
#define ANALYSIS_CRITPATH_H

#include "analysis/trace.h"
#include "base/hash.h"

struct step {
	int64_t  time_ns;	/* on the root's clock, made causal */
	uint32_t event;		/* index into the trace's events */
	uint32_t label;
	uint32_t unit_label;	/* label of the event that began the step's unit */
};

struct critpath {
	uint32_t nsteps;	/* >= 2; edges are between neighbours */
	struct step *steps;	/* first: request_begin, last: request_end */
	uint32_t moved;		/* steps that came before their cause */
};

/* The path through all events whose label is always on (any structure event), or in `keep` (NULL: all).
 * In the arena. O(events). ERR_MEMORY; ERR_INPUT: the trace has no path from its end to its begin. */
int critpath_extract(struct critpath *ret, const struct trace *t, const struct labels *labels,
    const struct label_set *keep, struct arena *a, struct err *e);

/*
 * The shape: labels of the path with adjacent repeats folded, nested ones too:
 * A B C B C B C D is A ( B C )+ D. An edge of the shape is what lies between two
 * labels that follow each other in it; times of repeats add up on it. Going round
 * a loop is the edge from its last label to its first.
 */
enum { SHAPE_OPEN = UINT32_MAX - 1, SHAPE_CLOSE = UINT32_MAX - 2 };	/* "(" and ")+" among the labels */

struct shape_edge {
	uint32_t from, to;		/* labels */
	uint32_t from_unit, to_unit;	/* labels of the events that began their units */
	uint32_t from_token, to_token;	/* where in tokens */
};

struct shape {
	struct hash128 key;		/* of the tokens' label texts: the same on every run */
	uint32_t ntokens, nedges, nloops;
	uint32_t *tokens;		/* labels, SHAPE_OPEN, SHAPE_CLOSE */
	struct shape_edge *edges;
	/* of this one path: */
	int64_t  *times_ns;		/* [nedges]; their sum is the response time */
	uint64_t *iterations;		/* [nloops], in the order of their SHAPE_OPEN */
	uint32_t *first_step;		/* [ntokens]: the first step of the path on that token; brackets: TRACE_NONE */
};

/* Folds. In the arena. O(steps x longest loop body tried (64)) for each loop there is. ERR_MEMORY. */
int shape_of(struct shape *ret, const struct critpath *p, const struct labels *labels, struct arena *a,
    struct err *e);

#endif
