/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CONTROLPLANE_ENGINE_ENGINE_OPTIONS_H
#define CONTROLPLANE_ENGINE_ENGINE_OPTIONS_H

#include <stdint.h>

#include "analysis/variance.h"
#include "controlplane/alerts/watcher.h"

/* From the configuration (honed.conf(5)). */
struct engine_options {
	struct conditions conditions;
	uint64_t seed; /* random seed */
	int64_t
	    memory_max_bytes; /* of incomplete traces; the groups of a diagnosis may take as much */
	int64_t skew_ns, patience_ns;    /* see analysis/assemble.h */
	int64_t order_ns, open_ns;       /* the same; 0: each trace waits for all nodes */
	int64_t late_ends_ns;            /* the same */
	int64_t records_max;             /* of one trace; 0: 100,000 */
	int64_t groups_max, samples_max; /* see analysis/group.h */
	int64_t report_max_bytes;        /* memory of the live report; 0: none is kept */
	/* Lists, see rules.h; engine_new() copies them. NULL: empty. */
	const char *ignore, *bins, *deep;

	int64_t tracepoints_per_cycle; /* that a search enables in one cycle */
	int64_t searches_max;          /* of one request type, side by side; 0: 3 */
	int64_t effort_cycles;         /* of one diagnosis; 0: 64 */
	double effect_min; /* the least effect of a verdict that is worth mending, 0..1; 0: any */
	int64_t
	    causes_max; /* what is left of a problem is searched until so many are named; 0: 1 */
	double isolate_min;   /* a part with this share of its edge's variance is followed, 0..1 */
	double explain_min;   /* a key explains with this r^2 (or share), 0..1 */
	int64_t cycle_max_ns; /* deadline of a cycle */
	bool without_probes;  /* USDT probes are not used */
	bool functions;       /* as in struct search_settings */
	bool below; /* searches look below the tracepoints of their place, where nodes can */

	/* Budgets: shares of one core, on each node. */
	double budget_share;     /* of added tracepoints; 0: 0.01 */
	double learn_share;      /* of learning; 0: 0.05 */
	double levels_share;     /* of tracepoints that are on by their log level; 0: 0.005 */
	double idle_share;       /* of all of Hone while nothing is diagnosed; 0: no limit */
	double recorder_share;   /* of flight recorders while they are on; 0: 0.005 */
	bool recorder_always;    /* they are on all the time */
	int64_t outlier_wait_ns; /* as in struct search_settings */
	int64_t network_max;     /* bytes a second from each agent; 0: no limit */
	int64_t rings_max_bytes; /* of the tracer's buffers on each node, beyond which a warning is
	                            shown; 0: never */

	double pause_fill,
	    resume_fill;     /* occupancy of any queue of any agent, 0..1: see queues.h */
	int64_t withdraw_ns; /* after a pause of this length the newest tracepoints are disabled */
	int64_t shed_ns;     /* first backoff of an agent that shed load; 0: 3 s */

	double sampled; /* share of requests that are sampled; of types under diagnosis: all, or */
	int64_t diagnosed_most; /* so many a second over all nodes; 0: there is no limit */
	int64_t enough;   /* traces a second of a type under no diagnosis; 0: all of that share */
	int64_t lease_ns; /* of added tracepoints */

	struct watcher_settings watch; /* window_ns 0: nothing is watched */
};

#endif
