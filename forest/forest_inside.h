/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a forest is made of: for forest.c (runs, hypotheses, verdicts) and
 * forest_log.c (switches, evidence, the audit), and nobody else.
 */
#ifndef FOREST_FOREST_INSIDE_H
#define FOREST_FOREST_INSIDE_H

#include "base/texts.h"
#include "forest/forest.h"

struct node {
	struct hypothesis hypothesis; /* first: a pointer to one is a pointer to the other */
	struct node *next;            /* of its run, in order of id */
	uint32_t nevidence;
	bool touched;
};

struct tree_verdict {
	struct verdict verdict; /* first, too */
	bool touched;
};

struct tree_run {
	struct run run; /* first, too */
	struct node *nodes, *last;
	struct tree_verdict **verdicts; /* [nverdicts], by rank */
	uint32_t nverdicts;
	bool touched;
};

/* Evidence by trace: chains through the array, each with the newest run first. */
struct by_trace {
	uint32_t *heads, *next; /* [cap] each; index + 1, 0 ends */
	uint32_t cap;           /* a power of two */
	uint64_t seed;          /* trace ids come from outside */
};

struct forest {
	struct tree_run **runs;
	struct node **nodes;
	uint32_t nruns, runs_cap, nnodes, nodes_cap;
	uint32_t nverdicts, verdicts_cap; /* of all runs; room among the changes */
	struct switched *switched;        /* oldest first; the last ones are not written yet */
	struct evidence *evidence;        /* the same */
	struct audit *audit;              /* the same */
	uint32_t nswitched, switched_cap, nevidence, evidence_cap, naudit, audit_cap;
	struct by_trace by_trace; /* of evidence; has its capacity */
	struct texts *texts;      /* of switched and audit; equal ones are one */
	uint64_t texts_due;       /* when there are so many, those that no row has any more go */
	uint64_t next_run, next_hypothesis;
	struct forest_changes changes;
};

bool forest_grow(
    void *array, uint32_t cap, size_t size_bytes); /* false: out of memory, unchanged */
/* Room for what is kept of switches, evidence and the audit; what they leave out has no run any
 * more. */
void forest_log_release(struct forest *f);
void forest_log_forget(struct forest *f, struct wall before);
void forest_log_tidy(struct forest *f); /* texts of rows move. O(1) amortised */

#endif
