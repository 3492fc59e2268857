/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Congestion: whether more tracepoints may be enabled. On its way from a tracepoint to the engine
 * a record passes four queues of its agent (wire/agent_messages.h) and the controller's mailbox; the
 * fullest one decides.
 *
 *	         one over pause_fill, or an agent has shed load
 *	normal -------------------------------------------------> paused
 *	       <-------------------------------------------------
 *	         all under resume_fill, and no agent is backing off
 *
 * The two thresholds differ, so that a queue close to one of them does not cause flicker.
 *
 * An agent sheds load: at 90 % it disables all added tracepoints by itself. Then it is backing
 * off: nothing is enabled there for shed_ns, and for twice as long each time that it sheds load
 * again soon after a backoff, at most 32 times as long. Soon: within four times its last backoff.
 */
#ifndef CONTROLPLANE_ENGINE_QUEUES_H
#define CONTROLPLANE_ENGINE_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "controlplane/engine/nodes.h"
#include "forest/congestion.h"

struct queue_limits {
	double pause_fill, resume_fill; /* occupancy of any queue, 0..1 */
	int64_t shed_ns;                /* the first backoff */
};

struct queues { /* all zeroes: normal */
	struct queue_limits limits;
	double mailbox_fill;      /* occupancy of the controller's mailbox, 0..1 */
	bool paused;              /* nothing more is enabled ... */
	struct mono paused_since; /* ... since then, or: since then the last time ... */
	struct congestion pause;  /* ... and why; not NONE while paused */
	int64_t paused_ns;        /* sum of all pauses that have ended */
	bool backing_off;         /* a connected agent is: what it does not record is no evidence */
	char shed_by[NODE_NAME_MAX +
		     16];       /* the last agent that shed load, and its queue: "node/ring"; "" */
	struct congestion shed; /* the same, with its fill; NONE: no agent has */
	uint64_t pauses, sheds; /* since the engine was made */
};

/* Brings the state up to date with the latest statuses. O(nodes): once a step, not for each status. */
void queues_update(struct queues *q, struct nodes *nodes, struct mono now);
/* The same after one node's status, as far as it cannot wait for the next step: whether it begins a pause, or has the fullest queue in
 * one. O(1), or O(nodes) when it does. */
void queues_status(struct queues *q, struct nodes *nodes, uint32_t node, struct mono now);
/* The status of this node reports that it has shed load, for the first time since it had not. */
void queues_shed(struct queues *q, struct nodes *nodes, uint32_t node, struct mono now);

#endif
