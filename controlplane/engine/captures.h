/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Captures: whole traces of the slowest requests of a type, with all tracepoints, after the fact. While a capture is active the flight
 * recorders of the nodes are on (recorder_plan.h) and all requests of the type are sampled, as far as budgets permit.
 *
 *	begun ---> all recorders are on: ready ---> a request is over the limit: captured ---> ... ---> enough, or its time is over: ended
 *	                                               |
 *	                              its nodes are asked for what they have (KEEP)
 *	                                               |
 *	                       all have answered, or ANSWER_NS have passed: the trace is whole
 *
 * A standing capture is that of a type while recorders are always on (capture.always): it has the slowest requests of the last
 * CAPTURE_STANDING_KEEP_NS beyond p99.9, so that what is over before anybody looks is known. It does not change which requests are
 * sampled, and does not end.
 *
 * Some usual requests are captured, too: those whose time is next to the median, as few others show what usual is with all tracepoints on.
 * What a trace lacks is told per node, and never guessed (struct captured_node).
 *
 * Time and clocks are arguments. One thread at a time.
 */
#ifndef CONTROLPLANE_ENGINE_CAPTURES_H
#define CONTROLPLANE_ENGINE_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/clocks.h"
#include "analysis/moments.h"
#include "analysis/trace.h"
#include "analysis/trace_merge.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/keep.h"

enum {
	CAPTURES_MAX = 16, /* active ones and ended ones; the oldest ended one gives its place */
	CAPTURE_COUNT_MAX = 100,
	CAPTURE_USUAL = 8,       /* usual requests of a capture */
	CAPTURE_USUAL_LEAST = 3, /* of them, before it ends with enough slow ones */
	CAPTURE_NODES_MAX =
	    64, /* of one trace; a trace on more nodes is not captured, and counted */
	CAPTURE_EVENTS_MAX = 20000, /* the same of its events */
	CAPTURE_BYTES_MAX =
	    128 << 20, /* of all captured traces; beyond it none is captured, and that is counted */
	CAPTURE_TRACES_MIN = 1000, /* of the type, before a quantile is used as the limit */
	CAPTURE_STANDING_MAX = 32, /* standing captures: further types have none */
	CAPTURE_STANDING = 16,     /* slow requests of each */
	CAPTURE_DIAGNOSIS = 32,    /* of the capture that a diagnosis asks for */
};

#define CAPTURE_ANSWER_NS INT64_C(5000000000)
#define CAPTURE_USUAL_EVERY_NS INT64_C(500000000)
/* Of a standing one: the shortest time between two slow requests; from when on one gives its place to any newer one, and a usual one
 * to a newer usual one. It uses at most half of CAPTURE_BYTES_MAX. */
#define CAPTURE_STANDING_EVERY_NS INT64_C(2000000000)
#define CAPTURE_STANDING_KEEP_NS INT64_C(600000000000)
#define CAPTURE_STANDING_USUAL_NS INT64_C(300000000000)
#define CAPTURE_STANDING_QUANTILE 0.999
#define CAPTURE_DIAGNOSIS_NS \
	INT64_C(600000000000) /* the longest time of one that a diagnosis asks for */

struct capture_options {
	double quantile; /* requests beyond this quantile of their type; 0: over_ns */
	int64_t over_ns; /* requests that took longer */
	uint32_t
	    count; /* ends after so many, 1 to CAPTURE_COUNT_MAX, once it has some usual ones, too */
	int64_t for_ns; /* ends after this time */
	bool diagnosis; /* a diagnosis asked for it: it gives way to one that a user asks for */
};

enum captured_ask { CAPTURED_DUE, CAPTURED_ASKED, CAPTURED_ANSWERED };

struct captured_node { /* what a node on its path said */
	uint32_t node;
	enum captured_ask state;
	struct keep keep; /* with the number of the trace, and times by the node's clock */
	enum kept_result result;
	uint32_t rings, overwritten, unlisted, nrecords;
	uint64_t undecoded, cut;
	char failure[KEPT_FAILURE_MAX + 1];
	struct buf batch; /* until the trace is whole */
};

struct captured {
	uint64_t number;
	struct trace *trace;  /* as it came; once it is whole with what the nodes had */
	int64_t *shift_ns;    /* of each unit, see trace_merge(); in the trace's arena */
	struct mono at;       /* when it was captured */
	struct mono whole_at; /* 0: not yet */
	bool usual;
	struct trace_merge_counts merged;
	uint32_t nnodes;
	struct captured_node *nodes;
};

/* What it may lack of any node that had a recorder: what differs then may be what is missing. */
bool captured_lacks(const struct captured *x);
/* A hash of the nodes that had no recorder; 0: all had one. */
uint64_t captured_unrecorded(const struct captured *x);

enum capture_end { CAPTURE_ACTIVE, CAPTURE_ENOUGH, CAPTURE_TIME, CAPTURE_STOPPED };

struct capture {
	uint64_t id;   /* 1, 2, ... */
	uint32_t type; /* its label */
	struct capture_options options;
	struct mono begun, ready; /* ready 0: not all recorders are on yet */
	enum capture_end end;
	int64_t limit_ns;              /* as of the last request; 0: not known yet */
	uint64_t seen, slow;           /* requests since it is ready; of them over the limit */
	uint64_t missed;               /* slow ones that were not captured, for CAPTURE_*_MAX */
	struct mono usual_at, slow_at; /* the newest ones */
	bool standing;
	uint32_t n, nusual;
	struct captured *list[CAPTURE_COUNT_MAX], *usual[CAPTURE_USUAL];
};

struct captures { /* all zeroes is empty */
	struct capture *items[CAPTURES_MAX];
	uint32_t n;
	struct capture *standing[CAPTURE_STANDING_MAX];
	uint32_t nstanding;
	bool always;       /* types get standing captures */
	struct mono ready; /* all recorders are on since then; 0: they are not */
	uint64_t ids, numbers;
	size_t bytes;
};

void captures_release(struct captures *c);

/* One that a diagnosis asked for ends. ERR_BUSY: another one of this type is active; ERR_FULL: CAPTURES_MAX are active; ERR_MEMORY. */
int captures_begin(struct captures *c, uint32_t type, const struct capture_options *o,
    struct mono now, uint64_t *id, struct err *e);
/* Ends those of a type, or all (LABEL_NONE); standing ones do not end. Whether there was one. */
bool captures_stop(struct captures *c, uint32_t type);
/* The same of the one that a diagnosis of the type asked for. */
void captures_stop_diagnosis(struct captures *c, uint32_t type);
/* The active one of this type, no standing one. NULL: there is none. */
const struct capture *captures_active(const struct captures *c, uint32_t type);

bool captures_any(const struct captures *c);               /* one is active */
bool captures_of(const struct captures *c, uint32_t type); /* of that type */
/* The recorders are needed: one is active, or a trace is not whole. O(captured). */
bool captures_record(struct captures *c);
/* Whether the recorders of all nodes are on, or cannot be. */
void captures_ready(struct captures *c, bool ready, struct mono now);

/*
 * A trace that is complete. times: of all requests of the type before it. shift_ns: for each unit, by how much clocks_trace() has moved it.
 * O(1) unless it is captured, then O(events). ERR_MEMORY.
 */
int captures_trace(struct captures *c, const struct trace *t, const struct sketch *times,
    const int64_t *shift_ns, const struct clocks *clocks, struct labels *labels, struct mono now,
    struct err *e);

/* Whether any node is to be sent a keep. O(captured). */
bool captures_due(struct captures *c);
/* The next keep that this node is to be sent. False: there is none. O(captured). */
bool captures_next(struct captures *c, uint32_t node, struct keep *ret);
/* It is asked from now on. recorder: the node has one that is on; else it counts as answered. */
void captures_asked(struct captures *c, uint32_t node, uint64_t number, bool recorder);
/* An answer; one that is not awaited is ignored. ERR_INPUT: its batch is malformed; ERR_MEMORY. */
int captures_answer(struct captures *c, uint32_t node, const struct kept *k, struct err *e);
/* The node's agent has left, or has another clock: what it has not answered counts as silent. */
void captures_leave(struct captures *c, uint32_t node);

/* Makes traces whole whose nodes have answered, or have had their time, and ends captures. clocks: for the times of answers.
 * ERR_MEMORY. */
int captures_step(struct captures *c, struct clocks *clocks, struct labels *labels, struct mono now,
    struct err *e);

bool capture_is_whole(const struct capture *x); /* all of its traces are */

/* Captured requests of the type, at most `max`: how many. Of captures that go on, and of those that a diagnosis under way has asked for. O(captured). */
uint32_t captures_list(
    const struct captures *c, uint32_t type, const struct captured **list, uint32_t max);

/* By its number, standing ones too; NULL: there is none, or it gave its place. */
const struct capture *captures_find(const struct captures *c, uint64_t id);

#endif
