/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forest: runs (diagnoses), each with a tree of hypotheses and a verdict, a
 * log of what was switched and why, and the audit: who asked for it. In memory for the
 * engine; what changed goes to the store in one transaction a cycle, before the toggles
 * of that cycle go out.
 */
#ifndef FOREST_FOREST_H
#define FOREST_FOREST_H

#include "base/err.h"
#include "forest/hypothesis.h"
#include "forest/verdict.h"

enum run_state { RUN_ACTIVE, RUN_FOUND, RUN_NOT_FOUND, RUN_STOPPED, RUN_UNSURE, RUN_STATES };

const char *run_word(enum run_state s); /* "active", "found", "not found", "stopped", "unsure": a
                                   verdict whose edge may as well have nothing of the problem */

struct run {
	uint64_t id; /* within the database, from 1 */
	char *type;  /* the request type's name */
	char *strategy;
	uint64_t seed;
	enum run_state state;
	uint64_t verdict;   /* the hypothesis of its first verdict; 0: none */
	enum reason reason; /* why it has no verdict; active: NOTHING_LEARNED, where that is so */
	char *subject;      /* of the reason: a tracepoint; "" */
	char *text; /* the sentence that a Hone before schema 4 kept for its verdict or reason; else
	               "" */
	uint32_t cycles, tracepoints,
	    tracepoints_all;       /* turned on in all; of how many that are known */
	uint32_t tracepoints_most; /* on at once */
	uint64_t requests;         /* whose traces were looked at */
	uint32_t effort;           /* cycles that it might take */
	char *version;             /* of the search space; "" */
	char *by;                  /* who started it, by name; "": not known */
	struct wall begun, ended;  /* ended.ns 0: not yet */
};

/* One change that went (or is about to go) out. */
struct switched {
	uint64_t run, hypothesis;
	uint32_t cycle;
	bool on;
	const char *tracepoint; /* "provider:event" */
	enum reason reason;
	const char *subject; /* of the reason: an agent; "" or NULL */
	const char *text;    /* the reason as a Hone before schema 4 wrote it; else "" or NULL */
	struct wall when;
};

enum audit_outcome {
	AUDIT_DONE,
	AUDIT_FAILED,
	AUDIT_REFUSED,
	AUDIT_OUTCOMES
}; /* refused: who asked may not */

const char *audit_word(enum audit_outcome o); /* "done", "failed", "refused" */

/* Something that somebody asked for, and that changes something; or that Hone did unasked. */
struct audit {
	struct wall when;
	int64_t uid, pid;  /* -1: Hone itself */
	const char *user;  /* its name, or what of Hone it was: "the budget", "agent n1" */
	const char *asked; /* the question as compact JSON, or a few words */
	enum audit_outcome outcome;
	uint64_t run;       /* 0: none. Not a reference: the row may outlive it */
	uint64_t times;     /* that it stands for: refusals in quick succession share a row */
	enum reason reason; /* Hone itself: why */
	const char
	    *text; /* what came of it: the error, what was stopped, which queue was full; "" */
};

struct forest;

struct forest *forest_new(void); /* NULL: out of memory */
void forest_free(struct forest *f);

/* New ones get the next id; the returned pointer is the forest's, valid while it lives. NULL: out
 * of memory. After changing what it points to, say forest_touch_*(), or the change is not stored.
 * The run and the parent (0: none) are the forest's. O(1). */
struct run *forest_run_new(struct forest *f, const char *type);
struct hypothesis *forest_hypothesis_new(struct forest *f, uint64_t run, uint64_t parent);
void forest_touch_run(struct forest *f, const struct run *r);
void forest_touch(struct forest *f, const struct hypothesis *h);
int forest_switched(struct forest *f, const struct switched *s, struct err *e); /* copies */
/* Of the newest AUDIT_KEPT at least are in memory; the store has those before. Copies. ERR_MEMORY.
 * O(1) expected. */
enum { AUDIT_KEPT = 10000 };
int forest_audit_add(struct forest *f, const struct audit *a, struct err *e);
/* An audit row for something that Hone did by itself: `by` ("the budget") did `did` ("off: a
 * tracepoint"); run: 0 if it concerns no diagnosis. text: what the reason does not say, or NULL.
 * Copies. Without memory the row is left out. */
void forest_audit_own(struct forest *f, const char *by, const char *did, uint64_t run,
    enum reason reason, const char *text, struct wall when);

struct run *forest_run(const struct forest *f, uint64_t id); /* or NULL */
struct run *forest_run_latest(
    const struct forest *f, const char *type); /* newest of that type (NULL: of all), or NULL */
struct hypothesis *forest_get(const struct forest *f, uint64_t id); /* or NULL */
/* A verdict of this run: copied, ranked among those there are (the sure first, then by cost), whose
 * ranks and run.verdict follow. The hypothesis is the run's and has none yet; v->rank is not looked
 * at. NULL: out of memory. O(those of the run). */
const struct verdict *forest_verdict_new(struct forest *f, const struct verdict *v);
const struct verdict *forest_verdict(
    const struct forest *f, uint64_t run, uint32_t rank); /* or NULL */
/* Kept for as long as the run is. At most EVIDENCE_MAX of a hypothesis, further ones are left out,
 * as is a trace that it has already. The run and the hypothesis are the forest's. ERR_MEMORY. O(1)
 * expected. */
enum { EVIDENCE_MAX = 128 };
int forest_evidence_add(struct forest *f, const struct evidence *v, struct err *e);
/* Of that trace (high 0: any high half), newest runs first; *at = 0 begins, NULL ends. O(1)
 * expected each. It, and what the next one gives, is valid until something is added or forgotten.
 */
const struct evidence *forest_evidence(const struct forest *f, struct trace_id id, uint64_t *at);
/* The log of switches, oldest first: of a tracepoint ("provider:event"), or (NULL) of all. Valid
 * until something is added, forgotten or written. All together O(log). */
const struct switched *forest_switched_next(
    const struct forest *f, const char *tracepoint, uint64_t *at);
/* The audit, newest first: *at = 0 begins, NULL ends. Valid until something is added, forgotten or
 * written. O(1). */
const struct audit *forest_audit_next(const struct forest *f, uint64_t *at);
/* All of a run, or all runs, in order of id, parents before their children: *at = 0 begins, NULL
 * ends. */
struct hypothesis *forest_next(const struct forest *f, uint64_t run, uint64_t *at);
struct run *forest_run_next(const struct forest *f, uint64_t *at);

/* ---- the store: a door. store_sqlite.c is the one there is. ---- */
struct store;

/* Opens or creates. ERR_STORE (no database, of another application, damaged, not to be written),
 * ERR_FULL, ERR_VERSION (made by a newer Hone: names both versions), ERR_BUSY (another controller
 * has it: names its pid; path.lock is what it holds, until it closes or dies). On success *ret is
 * the caller's, for one thread at a time. Checks its integrity, so O(size); steps an older schema
 * up, one transaction for each step. */
int store_open(struct store **ret, const char *path, struct err *e);
void store_close(struct store *s); /* NULL is fine */
/* All that was touched or switched since the last call, in one transaction; durable when it returns
 * 0. On failure (ERR_FULL: no space left; ERR_STORE, ERR_BUSY) nothing is forgotten: the next call
 * tries again. What a database had before must have been loaded. O(changes). */
int store_commit(struct store *s, struct forest *f, struct err *e);
/* Reads all runs of the last `days` (0: all), and those that never ended, with their hypotheses
 * into an empty forest; ids continue after the largest of the whole database. On failure the forest
 * is of no use. O(rows). */
int store_load(struct store *s, struct forest *f, unsigned days, struct err *e);

/* Deletes whole runs that have ended, oldest first: those that ended before `before` (ns 0: none),
 * and, while what is used of the file is more than max_bytes (0: any size), further ones; never the
 * newest of a type, which an engine may still hold. Switches of no run, and the audit, go with the
 * runs of their time; and the oldest of the audit where the file is too large and no run can go.
 * Gives the space back to the disk. Also from *f, whatever of it waited to be written. How many
 * runs, or a negative code. A call does a few runs and megabytes, in one transaction of some ms:
 * call again until it says 0. What was there before must have been loaded. O(forest in memory). */
int store_prune(
    struct store *s, struct forest *f, struct wall before, int64_t max_bytes, struct err *e);

/* What of a damaged database can still be read goes into a new one at `to`, which must not exist;
 * `from` is only read, with the log of writes beside it, and copied for that (so there has to be
 * room for it twice beside `to`). Rows without those they belong to are left out and counted.
 * ERR_STORE: nothing of it can be read, or `to` is there; ERR_BUSY: a controller has it; ERR_FULL,
 * ERR_VERSION. O(size), in time and memory. */
struct salvaged {
	uint64_t runs, hypotheses, verdicts, switches, evidence, audits; /* saved */
	uint64_t orphans, unreadable; /* rows left out; gaps where pages could not be read */
};
int store_salvage(const char *from, const char *to, struct salvaged *ret, struct err *e);

/* for the store: what is to be written */
struct forest_changes {
	struct run **runs;
	struct hypothesis **hypotheses;
	struct switched *switched;
	struct verdict **verdicts;
	struct evidence *evidence;
	struct audit *audit;
	uint32_t nruns, nhypotheses, nswitched, nverdicts, nevidence, naudit;
};
const struct forest_changes *forest_changes(struct forest *f);
void forest_written(struct forest
	*f); /* the changes are safe: forget that they are changes. O(changes) amortised */
/* for the store, on load: in order of id, which is kept; takes over the texts, on failure they stay
 * the caller's. ERR_INPUT: an id again, a state that there is not, a run or parent that is missing.
 */
int forest_put_run(struct forest *f, struct run *r, struct err *e);
int forest_put(struct forest *f, struct hypothesis *h, struct err *e);
/* Of each run by rank, from 1. */
int forest_put_verdict(struct forest *f, struct verdict *v, struct err *e);
/* These copy, and want a forest without changes. */
int forest_put_switched(struct forest *f, const struct switched *s, struct err *e);
int forest_put_evidence(struct forest *f, const struct evidence *v, struct err *e);
int forest_put_audit(struct forest *f, const struct audit *a, struct err *e);
/* Removes these runs with all that is theirs, and what was switched for no run, or audited, before
 * then. O(all). */
void forest_forget(struct forest *f, const uint64_t *runs, uint32_t n, struct wall before);
void forest_touch_all(struct forest *f); /* all of it is to be written: into another store */
void forest_continue(
    struct forest *f, uint64_t last_run, uint64_t last_hypothesis); /* ids go on after these */

#endif
