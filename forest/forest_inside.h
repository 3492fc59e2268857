/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of a forest, for forest.c (runs, hypotheses, verdicts) and forest_log.c (switches,
 * evidence, the audit) only.
 */
#ifndef FOREST_FOREST_INSIDE_H
#define FOREST_FOREST_INSIDE_H

#include "base/hash_table.h"
#include "base/texts.h"
#include "forest/forest.h"

/* The first member of each is what callers see: a pointer to the one is a pointer to the other. */
struct tree_hypothesis {
	struct hypothesis hypothesis;
	struct tree_hypothesis *next; /* of its run, by ascending id */
	uint32_t nevidence;
	bool touched; /* is among the changes */
};

struct tree_verdict {
	struct verdict verdict;
	bool touched;
};

struct tree_run {
	struct run run;
	struct tree_hypothesis *first, *last;
	struct tree_verdict **verdicts; /* [nverdicts], by rank */
	uint32_t nverdicts, verdicts_cap;
	bool touched;
};

/* Evidence by trace: the table finds the first row of a trace by its id's low half, `next` the
 * following ones, newest run first. */
struct trace_index {
	struct hash_table first; /* row of forest.evidence */
	uint32_t *next;          /* [evidence_cap] row + 1; 0 ends */
	uint32_t next_cap;
	uint64_t seed; /* ids come from outside */
};

struct forest {
	struct tree_run **runs; /* by ascending id */
	struct tree_hypothesis **hypotheses;
	uint32_t nruns, runs_cap, nhypotheses, hypotheses_cap;
	uint32_t nverdicts; /* of all runs */
	/* Oldest first; the last changes.nswitched (nevidence, naudit) of them are not written yet. */
	struct switched *switched;
	struct evidence *evidence;
	struct audit *audit;
	uint32_t nswitched, switched_cap, nevidence, evidence_cap, naudit, audit_cap;
	struct trace_index traces;
	struct texts *texts; /* of switches and audit; equal texts are one */
	uint64_t texts_due;  /* number of texts at which those without a row are dropped */
	uint64_t next_run, next_hypothesis; /* ids */
	struct forest_changes changes;
	uint32_t changed_runs_cap, changed_hypotheses_cap, changed_verdicts_cap;
};

/* ERR_INPUT: a number of a state, kind or reason that does not exist, or an id that no row has. O(1). */
int run_check(const struct run *r, struct err *e);
int hypothesis_check(const struct hypothesis *h, struct err *e);
int verdict_check(const struct verdict *v, struct err *e);
int switched_check(const struct switched *s, struct err *e);
int audit_check(const struct audit *a, struct err *e);

void forest_log_release(struct forest *f);
/* Removes evidence and switches whose run the forest no longer has, and audit rows and switches of
 * no run from before `before`. O(log). */
void forest_log_forget(struct forest *f, struct wall before);
/* Drops texts that no row has, when there may be many: texts of rows move. O(1) amortised. */
void forest_log_tidy(struct forest *f);

#endif
