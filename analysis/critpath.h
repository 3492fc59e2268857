/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The critical path: the chain of events that determined the response time of a request. Found
 * from the end of the request backwards, in program order: at a join it continues in the child
 * if the last event of the child is later than what the parent did before (then the parent
 * waited), and returns to the parent at the child's fork. (VAIF, SoCC 2021, section 4.2;
 * Dapper, 2010.) Work that is never joined is not on the path.
 *
 * Time never goes backwards along the path: where clocks disagree, an effect is moved to its
 * cause and counted. The edges add up to the response time exactly.
 *
 * Structure with a silent label (label.h) links units but is no step.
 */
#ifndef ANALYSIS_CRITPATH_H
#define ANALYSIS_CRITPATH_H

#include "analysis/trace.h"
#include "base/hash.h"

enum { BIN_NONE = 0 };

struct step {
	int64_t time_ns; /* on the root's clock, not before the previous step */
	uint32_t event;  /* index into the trace's events */
	uint32_t label;
	/* Label of the event that began the step's unit; if that is silent, of the first one
	 * that is not. */
	uint32_t unit_label;
	/* Label of the event that began the unit in which the time before this step passed;
	 * LABEL_NONE: the time passed between two units. */
	uint32_t owner;
	uint32_t bin; /* from bins.h, otherwise BIN_NONE */
	/* The call in which the path is immediately before this step: the innermost unit that was
	 * entered, and either ends on the path or is returned to. TRACE_NONE: none. A unit that
	 * hands the work on for good is no call: what follows it is as deep as the unit. */
	uint32_t within;
};

struct critpath {
	uint32_t nsteps;    /* >= 2; edges connect neighbours */
	struct step *steps; /* first: request_begin, last: request_end */
	uint32_t moved;     /* number of steps that came before their cause */
};

/*
 * Extracts the path through all events whose label is a structure label or in `keep` (NULL: all
 * events). In the arena. O(events), plus O(log units) for each join of a link that began several
 * units, and O(units log units) once for each such link. ERR_MEMORY; ERR_INPUT: no path leads from the end of
 * the request to its begin.
 */
int critpath_extract(struct critpath *ret, const struct trace *t, const struct labels *labels,
    const struct label_set *keep, struct arena *a, struct err *e);

/*
 * The shape: the labels of a path (with their bins), folded. The path is read from its begin.
 * As soon as its last k labels equal the k before them (k <= 64, the shortest k first), and both
 * lie within one call, from its level to its level, they are one more iteration of a loop and are
 * merged into the iteration before: A B C B C B C D becomes A ( B C )+ D. So an iteration is a
 * sequence of steps of one unit and of complete calls below it; the end of one call and the
 * begin of the next, which have the same labels in each such pair, are no iteration, and nor
 * are the levels of a recursion. The remaining labels are the tokens, and they alone identify the shape:
 * a loop is not part of it, as its body may run only once, so A B C D has the same shape. An
 * edge lies between two consecutive tokens; times of all iterations are added up. Going back in
 * a loop is an edge from the last token of the body to its first one, which exists if the path
 * went that way.
 *
 * Properties:
 * - Every step is on one token and all time between steps on one edge: the times of edges add
 *   up to that of the path, for every path.
 * - No k <= 64 tokens within one call are followed by the same k tokens, except where two loops
 *   cross such that merging iterations would lead forward past labels that the path never
 *   passed; these stay unfolded.
 * - If each label is at one place in the program, which is not recursive, and the body of each loop, with inner loops
 *   taken once, has at most 64 labels, then the tokens do not depend on how often loops ran:
 *   they are the program with every loop taken once. Reason: removing one of two equal
 *   iterations leaves a path that the same program could have taken, and of these paths only
 *   the one with every loop taken once has no repetition.
 * - If a label is at several places, the tokens are still a function of the path alone, but may
 *   depend on the number of iterations: X A ( Y X )+ A Y gives X A Y when its loop ran once,
 *   and X A Y X A Y otherwise. A branch within a loop matters, too: iterations that differ are
 *   no repetition.
 */
struct shape_edge {
	uint32_t from, to;             /* labels */
	uint32_t from_unit, to_unit;   /* labels of the events that began their units */
	uint32_t owner;                /* of the first step on the edge, see struct step */
	uint32_t from_token, to_token; /* to <= from: goes back in a loop */
};

struct shape_loop {
	uint32_t first, last; /* tokens of the body */
	uint32_t edge;        /* from `last` back to `first` */
};

struct shape {
	/* Hash of the tokens' label texts and bins: the same on every run. */
	struct hash128 key;
	uint32_t ntokens, nedges, nloops;
	uint32_t *tokens; /* [ntokens]: labels */
	uint32_t *bins;   /* [ntokens] */
	/* The first ntokens - 1 edges lead from token i to i + 1; then one for each loop. */
	struct shape_edge *edges;
	struct shape_loop *loops; /* by length, then by position: inner loops before outer ones */
	/* of this one path: */
	int64_t *times_ns;    /* [nedges]; their sum is the response time */
	uint32_t *passes;     /* [nedges]: how often the path took the edge */
	uint64_t *iterations; /* [nloops]: how often the body ran, in total */
	uint32_t *first_step; /* [ntokens]: the first step of the path on the token */
};

/* Folds a path. In the arena. O(steps), plus up to 64 comparisons for each occurrence of the
 * same label within the last 64 tokens: at most O(steps x 64 x 32). ERR_MEMORY. */
int shape_of(struct shape *ret, const struct critpath *p, const struct labels *labels,
    struct arena *a, struct err *e);

/* The edge that leads to each step of the path: in the arena, [nsteps]; UINT32_MAX for the first. O(steps x loops that end at
 * one token), and as shape_of(). ERR_MEMORY. */
int shape_edges_of_steps(uint32_t **ret, const struct critpath *p, const struct shape *s,
    struct arena *a, struct err *e);

/* Whether the edges add up to the response time of the trace. They do for every trace; debug
 * builds (HONE_DEBUG) stop if not, others count it (groups_other.inexact, shown by `hone
 * status`). O(edges). */
bool shape_exact(const struct shape *s, const struct trace *t);

/* How often the tokens first..last ran as a body, also if they are no loop of this shape: how
 * often the path reached the first token from elsewhere, plus how often it went back from
 * `last` or behind it. O(loops). */
uint64_t shape_runs(const struct shape *s, uint32_t first, uint32_t last);

/* The number of loops whose body begins, or ends, at that token. O(loops). */
uint32_t shape_opens(const struct shape *s, uint32_t token);
uint32_t shape_closes(const struct shape *s, uint32_t token);

/* Appends "label -> ( label )+ -> label"; of more than `max` labels the middle ones are left
 * out. O(tokens x loops). */
void shape_print(const struct shape *s, const struct labels *labels, uint32_t max, struct buf *out);

#endif
