/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the flight recorder of each node has: whole providers ("shop:*"), since a rule for each tracepoint would cost a walk over all
 * tracepoints of the node. The cheapest first, as many as fit into the share of a core that the recorders may take:
 *
 *	cost of a provider on a node = sum over request types and the provider's places in the learned space, of programs of the node:
 *	                               passages in a request x requests a second that are sampled x cost of a record there
 *
 * Of a type that was not learned every request is taken to pass each tracepoint OVERHEAD_PASSES times. What the recorder then writes is
 * measured by its agent; a node over the share has its costs scaled up, and the plan is made again. As the load changes, what was left out may
 * fit later: every RECORDER_RELAX_NS the scale is halved, down to 1, and the plan is made again.
 */
#ifndef CONTROLPLANE_ENGINE_RECORDER_PLAN_H
#define CONTROLPLANE_ENGINE_RECORDER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "controlplane/engine/nodes.h"
#include "controlplane/engine/overhead.h"
#include "controlplane/engine/request_types.h"
#include "controlplane/engine/sampler.h"

#define RECORDER_RELAX_NS INT64_C(300000000000)

struct recorder_facts { /* borrowed */
	const struct nodes *nodes;
	const struct request_types *types;
	const struct overhead *overhead;
	const struct sampler *sampler;
	const struct labels *labels;
	const struct preload_labels *preload;
	struct space *space;
	double share; /* of one core, on each node */
};

struct recorder_node {
	struct arena arena; /* of the names */
	const char **names; /* "provider:*" */
	uint32_t n;
	uint32_t left_out; /* providers that do not fit */
	double predicted;  /* share of a core of those that fit */
	double scale;      /* what was measured over what was predicted, 1 or more; 0: 1 */
	struct mono made;
	uint64_t programs; /* the node's programs_at then */
};

struct recorder_plan { /* all zeroes: all recorders are off */
	struct recorder_node items[NODES_MAX];
	uint32_t n;
	bool on;
	uint64_t captured; /* hash of the types that were captured then */
};

void recorder_plan_release(struct recorder_plan *p);

/* on: the recorders are wanted. Makes the plan of all nodes if they were not before, or other types are captured, and that of
 * a node if its programs or its scale have changed, or after RECORDER_RELAX_NS. True: the plan has changed. Without
 * memory a node has no recorder. O(places x types x nodes) when it is made, else O(nodes). */
bool recorder_plan_step(
    struct recorder_plan *p, bool on, const struct recorder_facts *f, struct mono now);

/* Each connected node that is to have a recorder has said that it has, or why it cannot. O(nodes). */
bool recorder_plan_ready(const struct recorder_plan *p, const struct nodes *nodes);

/* What the recorder takes in the programs, as measured: share of a core. */
double recorder_measured(const struct node *n, double record_ns);
/* How far back its buffers reach, at the rate at which they were written last, s. INFINITY: nothing was written; NAN: it is off. */
double recorder_horizon_s(const struct node *n);

#endif
