/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine: records in, desired states out. A function of what came in, the time and a random
 * seed: it opens nothing, waits for nothing and prints nothing. The same calls with the same
 * arguments give the same results to the last bit, so a test plays an hour in a second.
 *
 *	batches, statuses, questions --> engine_step(now) --> engine_want(node)
 *	                                      |
 *	                                      '-- forest: commit it before desired states go out
 *
 * One thread at a time. It is made of parts, each with a header of its own (parts.h).
 */
#ifndef CONTROLPLANE_ENGINE_ENGINE_H
#define CONTROLPLANE_ENGINE_ENGINE_H

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/captures.h"
#include "controlplane/engine/level_table.h"
#include "controlplane/engine/engine_options.h"
#include "forest/forest.h"
#include "searchspace/space.h"
#include "searchspace/strategy.h"
#include "wire/agent_messages.h"
#include "wire/toggle.h"

struct engine;
struct engine_parts;
struct request_type;

int engine_new(
    struct engine **ret, const struct engine_options *o, struct forest *f, struct err *e);
void engine_free(struct engine *g); /* not the forest */

/* ---- agents: `node` is the number that engine_join() gave ---- */

/* The agent of node `name` is connected; version: of its program, for display. ERR_FULL: NODES_MAX
 * nodes are known; ERR_MEMORY. */
int engine_join(struct engine *g, const char *name, const char *version, struct mono now,
    uint32_t *node, struct err *e);
/* The agent's clock, as it came at `at` by our clock: the answer to a question; or NULL, and
 * `clock_ns` of its HELLO. Until the first call its clock is taken to be ours; see
 * analysis/clocks.h. True: its clock has jumped; incomplete traces of the node are no evidence. */
bool engine_clock(struct engine *g, uint32_t node, const struct clock_echo *answer,
    int64_t clock_ns, struct mono at);
void engine_leave(struct engine *g, uint32_t node, struct mono now);
/* A RECORDS payload. 0: it was taken; acknowledge it. ERR_INPUT: malformed; ERR_MEMORY. O(bytes). */
int engine_batch(
    struct engine *g, uint32_t node, const void *data, size_t len, struct mono now, struct err *e);
/* A trace that was assembled elsewhere, of this engine's labels and nodes, on its clock; in order of (end, id) but for those that were
 * given up. The next step takes it like one of its own. The engine's from here on, also on failure: ERR_MEMORY. */
int engine_take(struct engine *g, struct trace *t, struct err *e);
/* What those that assemble have counted, in place of our own assembly; and how long after its end such a trace came. */
void engine_elsewhere(struct engine *g, const struct assemble_counts *n);
void engine_delayed(struct engine *g, int64_t ns);
/* Of our own assembly, or the last ones of engine_elsewhere(). */
void engine_counts(const struct engine *g, struct assemble_counts *ret);
void engine_status(struct engine *g, uint32_t node, const struct status *s, struct mono now);
int engine_programs(struct engine *g, uint32_t node, const struct programs *p, struct err *e);
void engine_done(struct engine *g, uint32_t node, const struct done *d, struct mono now);
/* The next trace of which the node is to be asked for what its flight recorder has; engine_keep_sent() when it was. False: there is none. */
bool engine_keep(struct engine *g, uint32_t node, struct keep *ret);
void engine_keep_sent(struct engine *g, uint32_t node, uint64_t number);
/* Its answer. ERR_INPUT, ERR_MEMORY. */
int engine_kept(struct engine *g, uint32_t node, const struct kept *k, struct err *e);
/* Occupancy of the caller's queue, 0..1, through which all this comes. It counts like the queues of
 * agents. */
void engine_mailbox(struct engine *g, double fill);

struct engine_queues {
	bool paused;            /* congestion: nothing more is enabled */
	struct congestion why;  /* NONE unless paused */
	struct congestion shed; /* the last agent that shed load; NONE: none has */
	uint64_t pauses, sheds; /* since the engine was made */
	struct mono since;      /* begin of the last pause */
	int64_t paused_ns;      /* sum of the pauses that have ended */
};
void engine_queues(const struct engine *g, struct engine_queues *ret);

/* ---- operators ---- */
enum {
	PICKS_MAX = 16, /* tracepoints of one cycle, for one gap */
	CAUSES_ASKED_MAX = 32
};

/* Whether a search whose place no tracepoint can cut goes on below the tracepoints. */
enum look_below { LOOK_BELOW_AS_CONFIGURED, LOOK_BELOW, LOOK_BELOW_NOT };

struct start_options {
	const char *strategy;          /* NULL: flat */
	int64_t tracepoints_per_cycle; /* 0: as configured */
	uint64_t seed;                 /* 0: the engine's */
	int64_t effort_cycles;         /* after which it gives up; 0: as configured */
	double effect_min;             /* verdict.h; 0: as configured */
	int64_t causes_max;            /* rest_step(); 0: as configured */
	double tail_quantile;          /* the tail beyond it is searched; 0: the variance is */
	enum look_below below;
	bool healthy;     /* no search: what the edges carry is kept as the type's baseline */
	bool no_baseline; /* it is judged alone, though the type has a baseline */
};
/* Begins a diagnosis of a request type, by name or "service/name". If the type has not been learned
 * it begins nevertheless, notes that in the run, and explores. ERR_MISSING: no agent, or no such
 * type; ERR_INPUT: no such strategy, or several services have the type; ERR_BUSY: it is under
 * diagnosis; ERR_MEMORY. */
int engine_start(struct engine *g, const char *type, const struct start_options *o, struct mono now,
    struct wall when, uint64_t *run, struct err *e);
/* Begins a diagnosis of the type with this label for an alert, within watch.starts_per_day and watch.cool_down, and notes it in the audit
 * with the reason `why`. SELF_START: *run is it; else *run is 0, and the answer is why not. O(starts of a day). */
enum self_start engine_self_start(struct engine *g, uint32_t label, enum reason why,
    struct mono now, struct wall when, uint64_t *run);
/* NULL: ends all diagnoses and captures, and learning. ERR_MISSING: nothing was active. */
int engine_stop(struct engine *g, const char *type, struct wall when, struct err *e);
/* Begins a capture of a request type, by name or "service/name". ERR_MISSING: no agent, or no such type; errors of captures_begin(). */
int engine_capture(struct engine *g, const char *type, const struct capture_options *o,
    struct mono now, uint64_t *id, struct err *e);
/* Tracepoints of the services that the pattern matches are on by their log level, up to this one, from the next step on. Errors of
 * level_rules_set(). What that costs is the caller's to judge: level_table_price(). */
int engine_set_level(struct engine *g, const char *pattern, uint8_t level, struct err *e);
/* None is on any more, until the engine is freed; the rules stay. */
void engine_end_levels(struct engine *g);
struct level_facts engine_level_facts(
    struct engine *g); /* of the present; valid until the next call */
/* See learning_begin(). engine_learn(): of the present version. */
int engine_learn(struct engine *g, int64_t for_ns, struct mono now, struct err *e);
int engine_learn_as(
    struct engine *g, int64_t for_ns, const char *name, struct mono now, struct err *e);
/* True once after learning has ended, or a diagnosis that added to the space: save it. */
bool engine_learned(struct engine *g);
struct space *engine_space(struct engine *g);
/* Takes ownership of the space; the former one is freed. */
void engine_space_use(struct engine *g, struct space *s);
/* See learned_space.h: identifies the version of the application that runs; whether the space was
 * learned of another one. O(tracepoints of all nodes) when programs have changed. */
uint64_t engine_fingerprint(struct engine *g);
bool engine_stale(struct engine *g);
/* The share of the type's requests that is sampled now. */
double engine_sampled(const struct engine *g, const struct request_type *type);
bool engine_busy(const struct engine *g); /* a diagnosis or learning is active */
struct labels *engine_labels(struct engine *g);
/* Begins a new window of the live report. ERR_MEMORY: the present one goes on. */
int engine_report_reset(struct engine *g, struct wall when, struct err *e);

/* Takes all complete traces and decides. Changes the forest and the desired states. O(records since
 * the last call), and O(groups) at most every 100 ms for each diagnosis. ERR_MEMORY. */
int engine_step(struct engine *g, struct mono now, struct wall when, struct err *e);

/* Changes whenever engine_want() may have changed for a node that was there before. Never 0. O(1). */
uint64_t engine_revision(const struct engine *g);
/* Whether engine_keep() has something for any node. O(captured). */
bool engine_keeps_due(struct engine *g);
/* The desired state of the node, never NULL. It is the engine's, valid until the next call; its
 * epoch grows when its content changes. */
const struct want *engine_want(struct engine *g, uint32_t node);
/* The epoch that the node reported DONE last since it joined; 0: none. */
uint64_t engine_done_epoch(const struct engine *g, uint32_t node);

/* The parts of the engine (parts.h), for the code that displays its state. Valid while it
 * lives. */
struct engine_parts *engine_parts(struct engine *g);
const struct engine_parts *engine_parts_of(const struct engine *g);

/* No added tracepoint is in the plan, and every connected agent has confirmed that. */
bool engine_quiet(const struct engine *g);

#endif
