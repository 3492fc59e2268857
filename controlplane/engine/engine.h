/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop: records in, toggles out. One function of what came in, the time and a
 * seed; it opens nothing, waits for nothing, prints nothing. The same calls with
 * the same arguments give the same toggles to the last bit, so a test runs an
 * hour of it in a second.
 *
 *	batches, statuses, questions --> engine_step(now) --> engine_want(node)
 *	                                      |
 *	                                      '-- forest: commit it before the wants go out
 */
#ifndef CONTROLPLANE_ENGINE_ENGINE_H
#define CONTROLPLANE_ENGINE_ENGINE_H

#include "base/clock.h"
#include "base/err.h"
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

/* ---- agents: `node` is the engine's small number, given by join ---- */
/* version: of the agent's program, for people. */
int engine_join(struct engine *g, const char *name, const char *version, struct mono now,
    uint32_t *node, struct err *e);
/* What the agent told of its node's clock, when that came (`at`, by ours): the answer to a
 * question, or NULL and unasked, in its hello, `clock_ns`. Until then its clock is taken for ours.
 * See analysis/clocks.h. True: it is another than was taken so far, by more than can be followed;
 * incomplete traces of the node prove nothing. */
bool engine_clock(struct engine *g, uint32_t node, const struct clock_echo *answer,
    int64_t clock_ns, struct mono at);
void engine_leave(struct engine *g, uint32_t node, struct mono now);
/* A RECORDS payload: decoded and taken when 0 is returned (then acknowledge). ERR_INPUT: malformed.
 */
int engine_batch(
    struct engine *g, uint32_t node, const void *data, size_t len, struct mono now, struct err *e);
void engine_status(struct engine *g, uint32_t node, const struct status *s, struct mono now);
int engine_programs(struct engine *g, uint32_t node, const struct programs *p, struct err *e);
void engine_done(struct engine *g, uint32_t node, const struct done *d, struct mono now);
/* How full the caller's own queue is, through which all this comes: a share of 1. It counts like
 * those of agents. */
void engine_mailbox(struct engine *g, double fill);

struct engine_queues {
	bool paused;            /* nothing more is turned on ... */
	const char *why;        /* ... since; "" */
	const char *shed_why;   /* the last agent that let go of what was added by itself; "" */
	uint64_t pauses, sheds; /* so often, since the engine was made */
	struct mono since;      /* the last pause began then */
	int64_t paused_ns;      /* in all, without the one that lasts */
};
void engine_queues(const struct engine *g,
    struct engine_queues *ret); /* texts: the engine's, until its next call */

/* ---- operators ---- */
enum { PICKS_MAX = 16 }; /* tracepoints of one cycle, for one gap */

struct start_options {
	const char *strategy;          /* NULL: flat */
	int64_t tracepoints_per_cycle; /* 0: as configured */
	uint64_t seed;                 /* 0: the engine's */
	int64_t effort_cycles;         /* it gives up after so many; 0: as configured */
};
/* Where nothing was learned of the type it begins all the same, says so, and explores. ERR_MISSING:
 * no agent, unknown type (words say what to do); ERR_BUSY: under diagnosis already. */
int engine_start(struct engine *g, const char *type, const struct start_options *o, struct mono now,
    struct wall when, uint64_t *run, struct err *e);
/* NULL: all, and learning too. ERR_MISSING: none runs. */
int engine_stop(struct engine *g, const char *type, struct wall when, struct err *e);
/* For so long all tracepoints are on. ERR_BUSY: it learns already, or queues are full; ERR_MISSING:
 * no programs. _as: of the version of the application with this name. Where the space has another
 * one, or (NULL) was learned of other tracepoints than its programs have, it begins anew; ERR_BUSY
 * as well while a diagnosis searches it. */
int engine_learn(struct engine *g, int64_t for_ns, struct mono now, struct err *e);
int engine_learn_as(
    struct engine *g, int64_t for_ns, const char *name, struct mono now, struct err *e);
/* True once after learning has ended, or a diagnosis that taught the space something: save it. */
bool engine_learned(struct engine *g);
struct space *engine_space(struct engine *g);
void engine_space_use(struct engine *g, struct space *s); /* takes it; the former one is freed */
/* Which version of the application runs, by what its programs have; and whether the space is of
 * another. Of no programs, or a space that does not know its version: not stale. O(tracepoints of
 * all nodes) when these changed. */
uint64_t engine_fingerprint(struct engine *g);
bool engine_stale(struct engine *g);
/* The share of the type's requests that is sampled now. */
double engine_sampled(const struct engine *g, const struct request_type *type);
bool engine_busy(const struct engine *g); /* a diagnosis or learning goes on */
struct labels *engine_labels(struct engine *g);
/* The window of traffic that is reported begins anew. ERR_MEMORY: it goes on as it was. */
int engine_report_reset(struct engine *g, struct wall when, struct err *e);

/* Takes all complete traces on, decides what is ripe. Changes the forest and what nodes should do.
 * O(records since the last call), and O(groups) at most every 100 ms for each diagnosis. */
int engine_step(struct engine *g, struct mono now, struct wall when, struct err *e);

/* What this node should do now. *ret points into the engine, valid until the next engine call; its
 * epoch changes when it does. */
const struct want *engine_want(struct engine *g, uint32_t node);

/* The parts that the engine is made of (parts.h), for those who show its state. Valid while it
 * lives. */
struct engine_parts *engine_parts(struct engine *g);
const struct engine_parts *engine_parts_of(const struct engine *g);

/* Nothing that Hone added is wanted, and every connected agent has said that it is so. */
bool engine_quiet(const struct engine *g);

#endif
