/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forest: runs (diagnoses), each with a tree of hypotheses and its verdicts; the log of switches
 * (what was enabled and disabled, and why); the evidence; and the audit (who asked for what). The
 * engine works on it in memory. Each cycle, store_commit() writes what has changed in one
 * transaction, before the switches of that cycle are sent to the agents.
 */
#ifndef FOREST_FOREST_H
#define FOREST_FOREST_H

#include "base/err.h"
#include "forest/congestion.h"
#include "forest/hypothesis.h"
#include "forest/verdict.h"

/* RUN_UNSURE: it has verdicts, none of them is sure (verdict_sure()), and one may be worth mending (verdict_open()); or no sure one is worth
 * mending (verdict_worth()), and one that is not sure would be. RUN_NOTHING: it has verdicts, and no effect of one is worth mending, or all
 * sure ones together are not (worth_state()). RUN_GONE: the problem was there from problem_from to
 * problem_to, and is not any more; it may have verdicts. RUN_BASELINE: its type was said to be healthy, and its baseline is kept. */
enum run_state {
	RUN_ACTIVE,
	RUN_FOUND,
	RUN_NOT_FOUND,
	RUN_STOPPED,
	RUN_UNSURE,
	RUN_NOTHING,
	RUN_GONE,
	RUN_BASELINE,
	RUN_STATES
};

/* "active", "found", "not found", "stopped", "unsure", "nothing stands out", "gone", "baseline"; "?" for other numbers. */
const char *run_word(enum run_state s);

enum { RUN_PROGRAMS_MAX = 8 };

struct run {
	uint64_t id; /* in the database, from 1 */
	char *type;  /* name of the request type */
	char *strategy;
	uint64_t seed;
	enum run_state state;
	uint64_t verdict;   /* hypothesis of its first verdict; 0: it has none */
	enum reason reason; /* why it has no verdict; while it is active: NOTHING_LEARNED or NONE */
	char *subject;      /* of the reason: a tracepoint; "" */
	/* The sentence that a Hone before schema 4 kept for its verdict or reason; else "". */
	char *text;
	uint32_t cycles;
	uint32_t tracepoints;      /* enabled in all its cycles */
	uint32_t tracepoints_all;  /* known when it began */
	uint32_t tracepoints_most; /* enabled at the same time, at most */
	uint64_t requests;         /* whose traces were examined */
	uint32_t effort;           /* limit of cycles */
	double effect_min; /* the least effect of a verdict that is worth mending; NAN: not known */
	/* [6] What is left of a problem is searched until so many causes are named; 0: not known. */
	uint32_t causes_max;
	double
	    left; /* [6] effect of what its verdicts leave of the first one's problem; NAN: not known */
	/* [6] GONE: when the problem was there; ns 0: not known */
	struct wall problem_from, problem_to;
	double tail_quantile; /* the tail beyond it is searched; 0: none is, or it is not known */
	char *version;        /* of the learned space; "" */
	char *by;             /* name of the user who started it; "": not known */
	struct wall begun, ended; /* ended.ns 0: active */
	/* Programs of the request type that ended while it was active, at most RUN_PROGRAMS_MAX: a line
	 * "PID NODE SERVICE" for each, separated by tabs; "". */
	char *ended_programs;
	bool healthy; /* [7] its type was said to be healthy: it only keeps a baseline */
	/* [7] What the edges carried, if later runs may compare with it (controlplane/search/baseline.h has the form); "". */
	char *baseline;
	uint64_t
	    compared; /* [7] the run whose baseline its verdicts are compared with; 0: there was none */
};

/* An entry of the log of switches: a change that was sent to the agents, or is about to be. */
struct switched {
	uint64_t run, hypothesis; /* 0: of no run, as in learning */
	uint32_t cycle;
	bool on;
	const char *tracepoint; /* "provider:event" */
	enum reason reason;
	const char *subject; /* of the reason: an agent; "" or NULL */
	const char *text;    /* the reason as a Hone before schema 4 wrote it; else "" or NULL */
	struct wall when;
};

/* AUDIT_REFUSED: the user has no access. */
enum audit_outcome { AUDIT_DONE, AUDIT_FAILED, AUDIT_REFUSED, AUDIT_OUTCOMES };

const char *audit_word(enum audit_outcome o); /* "done", "failed", "refused"; "?" */

enum audit_actor {
#define ACTOR(name, number, word, text) ACTOR_##name = number,
#include "forest/audit.tbl.h"
#undef ACTOR
};

enum audit_action {
#define ACTION(name, number, word, text) ACTION_##name = number,
#include "forest/audit.tbl.h"
#undef ACTION
};

/* "budget", "disable-one"; "" for NONE, "?" for numbers that are not in the table. Static. */
const char *audit_actor_word(enum audit_actor a);
const char *audit_action_word(enum audit_action a);

/* A question that changes something, or an action of Hone that nobody asked for. Fields marked [5]
 * came with schema 5 of the database; an older row has their zero where its text has no such meaning. */
struct audit {
	struct wall when;
	int64_t uid, pid; /* -1: Hone itself. QUARANTINE: of the program; -1: unknown */
	const char
	    *user; /* name of the user; "": an action of Hone (older rows: who acted, as text) */
	const char
	    *asked; /* the question as compact JSON, or "" (older rows: the action, as text) */
	enum audit_outcome outcome;
	uint64_t run;   /* 0: none. The row may outlive the run */
	uint64_t times; /* number of events in the row: refusals in quick succession share one */
	enum reason reason;       /* of an action of Hone */
	const char *text;         /* the error; QUARANTINE: the program's name; "" or NULL */
	enum audit_actor actor;   /* [5] the part of Hone that acted; NONE: a user did */
	enum audit_action action; /* [5] what was done; NONE: what was asked */
	const char *node;         /* [5] that it concerns; "" or NULL */
	uint32_t count;           /* [5] DISABLE_COUNT: of tracepoints */
	/* [5] Congestion was the cause: MAILBOX_FULL, QUEUE_FULL, LOAD_SHED; else NONE. The queue of
	 * `node`, and its fill, 0 to 1. */
	enum reason cause;
	enum queue queue;
	double fill;
	const char *types; /* [5] request types that were stopped, one on each line; "" or NULL */
};

struct forest;

struct forest *forest_new(void); /* NULL: out of memory */
void forest_free(struct forest *f);

/* New runs and hypotheses get the next id. The result is the forest's and valid until
 * forest_forget() or forest_free(). NULL: out of memory. After a change of its members call
 * forest_touch_run() or forest_touch(), or the change is not stored. Preconditions: the run exists;
 * the parent is 0 or a hypothesis of that run. O(log n). */
struct run *forest_run_new(struct forest *f, const char *type);
struct hypothesis *forest_hypothesis_new(struct forest *f, uint64_t run, uint64_t parent);
void forest_touch_run(struct forest *f, const struct run *r);    /* O(1), does not fail */
void forest_touch(struct forest *f, const struct hypothesis *h); /* O(1), does not fail */

/* Appends to the log of switches. Copies. ERR_MEMORY. O(1) amortised. */
int forest_switched(struct forest *f, const struct switched *s, struct err *e);
/* Appends to the audit. Copies. ERR_MEMORY. O(1) amortised. At least the newest AUDIT_KEPT rows stay
 * in memory; older ones are in the store only. */
enum { AUDIT_KEPT = 10000 };
int forest_audit_add(struct forest *f, const struct audit *a, struct err *e);
/* An audit row for something that Hone did by itself; its user, uid, pid, outcome and times are
 * ignored. Copies. Without memory the row is left out. */
void forest_audit_own(struct forest *f, const struct audit *own);

/* By id. NULL: it does not exist. O(log n). */
struct run *forest_run(const struct forest *f, uint64_t id);
struct hypothesis *forest_get(const struct forest *f, uint64_t id);
/* The newest run of the type, or (NULL) of all. NULL: there is none. O(runs). */
struct run *forest_run_latest(const struct forest *f, const char *type);

/* The run with whose baseline a run of this type is compared: the newest that has one. NULL: there is none. O(runs). */
struct run *forest_run_baseline(const struct forest *f, const char *type);

/* Copies the verdict and gives it its rank in the run: those that are sure and worth mending first, then those that would be worth
 * mending if they were sure, then other sure ones, then the rest. Among those that are worth mending, first a process that stands still: that is seen, while the rest is inferred. The others are in the order of their effects where these are a part of the variance and not alike; then by cost, then by age; other ranks and run.verdict change with it, v->rank is ignored.
 * Preconditions: the hypothesis is of the run and has no verdict yet. NULL: out of memory. O(verdicts
 * of the run). */
const struct verdict *forest_verdict_new(struct forest *f, const struct verdict *v);
/* Gives a verdict of the forest the effect and the pool fields of `now`, and its rank by these. O(verdicts of the run). */
void forest_verdict_pool(struct forest *f, const struct verdict *v, const struct verdict *now);
/* Gives it what its requests waited for in the edge (wait_cause and what belongs to it), which is copied. False: out of memory; nothing has
 * changed then. */
bool forest_verdict_wait(struct forest *f, const struct verdict *v, const struct verdict *now);
const struct verdict *forest_verdict(
    const struct forest *f, uint64_t run, uint32_t rank); /* rank from 1; NULL: none */

/* Adds evidence, which is kept as long as its run. Left out, and 0 returned: beyond EVIDENCE_MAX of
 * a hypothesis, and a trace that the hypothesis already has. Precondition: the hypothesis is of the
 * run. ERR_MEMORY. O(evidence of the same trace). */
enum { EVIDENCE_MAX = 128 };
int forest_evidence_add(struct forest *f, const struct evidence *v, struct err *e);
/* The evidence of a trace (id.high 0: any high half), newest runs first. *at = 0 begins, NULL ends.
 * The result and *at are valid until something is added or forgotten. O(1) expected for each. */
const struct evidence *forest_evidence(const struct forest *f, struct trace_id id, uint64_t *at);

/* The log of switches, oldest first, of a tracepoint ("provider:event") or (NULL) of all. *at = 0
 * begins, NULL ends. Valid until something is added, forgotten or written. O(log) for all. */
const struct switched *forest_switched_next(
    const struct forest *f, const char *tracepoint, uint64_t *at);
/* The audit, newest first. *at = 0 begins, NULL ends. Valid until something is added, forgotten or
 * written. O(1). */
const struct audit *forest_audit_next(const struct forest *f, uint64_t *at);
/* Hypotheses of a run, or all runs, by ascending id, so parents before their children. *at = 0
 * begins, NULL ends. O(log n). */
struct hypothesis *forest_next(const struct forest *f, uint64_t run, uint64_t *at);
struct run *forest_run_next(const struct forest *f, uint64_t *at);

/* ---- the store: a door, implemented by store_sqlite.c ---- */
struct store;

/* Opens or creates the database. Checks its integrity (O(size)) and migrates an older schema, one
 * transaction for each version. *ret is the caller's, for one thread at a time. ERR_STORE: not a
 * database, of another application, damaged, or not writable; ERR_FULL; ERR_VERSION: written by a
 * newer Hone; ERR_BUSY: another controller has it (its lock is on path.lock, until it closes the
 * store or dies). */
int store_open(struct store **ret, const char *path, struct err *e);
void store_close(struct store *s); /* NULL is permitted */
/* Writes everything that was touched or added since the last call, in one transaction, which is
 * durable when it returns 0. On failure (ERR_FULL, ERR_STORE, ERR_BUSY) nothing is written, and the
 * next call tries again. ERR_STORE: the database has rows that were not loaded. O(changes). */
int store_commit(struct store *s, struct forest *f, struct err *e);
/* Reads into an empty forest all runs that began in the last `days` days (0: all), have not ended, or have a baseline, with their
 * rows; new ids continue after the largest in the database. After a failure the forest
 * must be freed. O(rows). */
int store_load(struct store *s, struct forest *f, unsigned days, struct err *e);

/* The time of the newest row of the audit; ns 0: it has none. O(log rows). */
int store_newest(struct store *s, struct wall *ret, struct err *e);

/* Deletes whole runs that have ended, oldest first, from the database and from *f: those that ended
 * before `before` (ns 0: none), and others while the used part of the file exceeds max_bytes (0: no
 * limit); never the newest of a type, which an engine may hold, and those of forest_run_baseline(). Switches of no run and audit rows go
 * with the runs of their time; if the file is too large and no run can go, the oldest audit rows go.
 * Freed pages are returned to the file system. A call deletes a few runs and pages in one
 * transaction of some ms. Returns the number of runs, or a negative code: call it until it returns
 * 0. Precondition: the database has been loaded, else ERR_STORE. O(forest in memory). */
int store_prune(
    struct store *s, struct forest *f, struct wall before, int64_t max_bytes, struct err *e);

struct salvaged {
	uint64_t runs, hypotheses, verdicts, switches, evidence, audits; /* saved */
	uint64_t orphans;    /* rows left out: what they refer to was not saved */
	uint64_t unreadable; /* gaps between rows where pages could not be read */
};
/* Writes the readable rows of a damaged database into a new one at `to`, which must not exist. `from`
 * is only read, together with its write-ahead log; a copy of both is made beside `to`, so there has to
 * be space for twice the size. ERR_STORE: no row can be read, or `to` exists; ERR_BUSY: a controller
 * has the database; ERR_FULL, ERR_VERSION. O(size), in time and memory. */
int store_salvage(const char *from, const char *to, struct salvaged *ret, struct err *e);

/* ---- for the store ---- */

/* What is to be written. Borrowed from the forest until its next change. */
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
/* The changes have been written. O(changes) amortised. */
void forest_written(struct forest *f);

/* Rows of the database, by ascending id (verdicts: by run and rank), into a forest without changes.
 * Runs, hypotheses and verdicts: the forest takes over the texts on success; on failure they stay the
 * caller's. The others copy. ERR_INPUT: a repeated or descending id, an unknown number of a state, kind
 * or reason, or a reference to a row that the forest does not have. ERR_MEMORY. */
int forest_put_run(struct forest *f, struct run *r, struct err *e);
int forest_put(struct forest *f, struct hypothesis *h, struct err *e);
int forest_put_verdict(struct forest *f, struct verdict *v, struct err *e);
int forest_put_switched(struct forest *f, const struct switched *s, struct err *e);
int forest_put_evidence(struct forest *f, const struct evidence *v, struct err *e);
int forest_put_audit(struct forest *f, const struct audit *a, struct err *e);

/* Removes these runs with everything of theirs, and audit rows and switches of no run from before
 * `before`. O(forest). */
void forest_forget(struct forest *f, const uint64_t *runs, uint32_t n, struct wall before);
/* Makes everything a change: for writing into another store. O(forest). */
void forest_touch_all(struct forest *f);
/* New ids are larger than these. */
void forest_continue(struct forest *f, uint64_t last_run, uint64_t last_hypothesis);

#endif
