/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the searches need from the program around them. The engine fills in one struct
 * search_port (controlplane/engine/search_port.c), a test fills in its own; this room
 * includes no header of the engine.
 *
 * Data that changes between two calls (space, queues) is brought up to date by the owner
 * before each call into this room.
 */
#ifndef CONTROLPLANE_SEARCH_PORT_H
#define CONTROLPLANE_SEARCH_PORT_H

#include "analysis/bins.h"
#include "analysis/mistake.h"
#include "analysis/thread_history.h"
#include "analysis/trace.h"
#include "analysis/variance.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "controlplane/search/company_wait.h"
#include "controlplane/search/preload_labels.h"
#include "forest/forest.h"
#include "searchspace/plan.h"
#include "searchspace/space.h"
#include "wire/agent_messages.h"
#include "wire/below.h"

/* Bytes of what a node cannot say below the tracepoints, with its name. */
enum { BELOW_WHY_MAX = NODE_NAME_MAX + 2 + BELOW_MISSING_MAX };

/* From the configuration; constant while the engine lives. */
struct search_settings {
	struct conditions conditions; /* what is a problem, and the confidence of intervals */
	int64_t groups_max, samples_max, memory_max_bytes; /* see analysis/group.h */
	int64_t searches_max;                              /* side by side, of one request type */
	double isolate_min;   /* share of the gap from which on a part is followed, 0..1 */
	double explain_min;   /* r^2 (or share) from which on a key explains an edge, 0..1 */
	int64_t withdraw_ns;  /* paused for longer: the newest tracepoints are disabled */
	int64_t cycle_max_ns; /* deadline of a cycle */
	int64_t
	    outlier_wait_ns; /* since its start, for outliers that are too rare to cut; 0: 120 s */
	bool functions;      /* those inside the edge that a search ends with are probed */
};

/* Counts over all diagnoses; the owner shows them. */
struct path_counts {
	uint64_t moved;    /* steps that came before their cause */
	uint64_t pathless; /* traces without a path from begin to end */
	uint64_t inexact;  /* traces whose edges do not add up to the response time: a bug */
};

/* A request of the type that was captured with all tracepoints (docs/capture.md). */
struct captured_request {
	const struct trace *trace; /* valid until the call returns to the owner */
	int64_t at_ns;             /* when, by our clock */
	bool usual;                /* it was taken to compare with; else for its response time */
	bool whole;                /* its nodes have answered, or have had their time */
	bool lacks; /* records may be missing, other than of nodes without a recorder */
	uint64_t
	    recorded; /* hash of the nodes without a recorder: requests with other ones have other tracepoints */
};

/* Questions that only the owner of agents and budgets can answer. `owner` is search_port.owner. */
struct search_calls {
	/* Every connected agent has confirmed its latest desired state. */
	bool (*confirmed)(void *owner);
	/* The trace began after this time of our clock, whatever the error of its node's clock. */
	bool (*began_after)(void *owner, const struct trace *t, int64_t time_ns);
	/* Enabling this label's tracepoint for the request type keeps every node within budget. */
	bool (*affordable)(void *owner, uint32_t type, uint32_t label);
	/* The same of a tracepoint ("provider:event") that the space has not learned. */
	bool (*affordable_unknown)(void *owner, uint32_t type, const char *name);
	/* Whether what threads of the program do in requests of the type may be recorded on all nodes that have it. */
	bool (*affordable_below)(void *owner, uint32_t type, const char *service);
	/* It was put into the plan: it counts in what is asked for next. ERR_MEMORY. */
	int (*enabled)(void *owner, const char *name, struct err *e);
	/* What is enabled costs more than the budget, as measured. */
	bool (*over_budget)(void *owner, uint32_t type);
	/* The cost of all that is enabled has been measured since it was enabled. */
	bool (*costs_measured)(void *owner);
	/* A search of any request type has tracepoints of its present cycle enabled. */
	bool (*any_fresh)(void *owner);
	/* Programs of node `node`, from 0; NULL past the last node. Valid until the call returns to
	 * the owner. */
	const struct programs *(*programs)(void *owner, uint32_t node);
	/* Every connected node has listed its tracepoints, and none has this one. */
	bool (*retired)(void *owner, const char *name);
	/* See forest_audit_own(). */
	void (*audit)(void *owner, const struct audit *own);
	/* A mistake of the instrumentation that puts time into the wrong place on a path of the request
	 * type: see mistake_concerns(). False: none is known. */
	bool (*mistaken)(void *owner, uint32_t type, const uint32_t *path, uint32_t n,
	    uint32_t from, struct mono since, struct mono now, struct mistake *ret);
	/* All connected nodes with this program can say what its threads did below its tracepoints, and `missing` is what one
	 * of them cannot say, or "". False: not all can, or there is none, and `missing` is why. It is "NODE: TEXT", with
	 * how to grant it, or "no-node", or "no-status": a node has not said yet. */
	bool (*below)(void *owner, const char *service, char missing[BELOW_WHY_MAX + 1]);
	/* Whether all other requests are recorded that pass a node with a thread which those of a diagnosis wait for (diagnosis_awaited()), and since when they are. */
	enum company_state (*company)(void *owner, struct mono *since);
	/* It is asked for, or no longer. Calls of several searches are counted. */
	void (*look_below)(void *owner, const char *service, bool before, bool on);
	/* Requests of the type that are slower than that are captured from now on, and some usual ones. False: they cannot be. */
	bool (*capture)(void *owner, uint32_t type, int64_t over_ns);
	/* That goes on, and flight recorders are on (*on), or are about to be. */
	bool (*capturing)(void *owner, uint32_t type, bool *on);
	/* It is not needed any more. */
	void (*captured_enough)(void *owner, uint32_t type);
	/* Requests of the type that were captured, whoever asked for them, at most `max`; how many. O(captured). */
	uint32_t (*captured)(
	    void *owner, uint32_t type, struct captured_request *list, uint32_t max);
	/* A diagnosis has ended; what it enabled is out of the plan. */
	void (*ended)(void *owner, struct wall when);
};

struct search_port {
	const struct search_calls *calls;
	void *owner;

	struct labels *labels;
	struct forest *forest;
	struct plan *plan;
	struct space *space;
	struct preload_labels *preload;
	const char *const *node_names;
	struct arena *scratch; /* for one trace, or one decision; the owner resets it */
	struct path_counts *counts;
	const struct thread_history *history; /* of all requests; NULL: none is kept */

	struct search_settings settings;
	const char *const *ignore; /* patterns of excluded waits, NULL at the end; or NULL */
	struct bins *bins;         /* or NULL */

	struct mono now;  /* of the present step: set by diagnose_step() ... */
	struct wall when; /* ... and diagnose_end() */

	/* Queues: while paused, nothing more is enabled. Backing off: an agent has shed load, and
	 * what it does not record is no evidence. */
	bool paused, backing_off;
	struct mono paused_since;
	struct congestion pause, shed; /* of the present pause; of the last agent that shed load */
	const char *shed_by;           /* the latter as "node/queue"; "": none has */
};

/* "provider:event" of a label, terminated, in `out`, which is returned. */
const char *tracepoint_name(
    const struct labels *labels, uint32_t label, char out[LABEL_TEXT_MAX + 1]);

#endif
