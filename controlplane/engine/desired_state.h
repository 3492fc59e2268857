/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The desired state of a node: which tracepoints its agent should have enabled, and which shares of
 * requests are sampled and probed. */
#ifndef CONTROLPLANE_ENGINE_DESIRED_STATE_H
#define CONTROLPLANE_ENGINE_DESIRED_STATE_H

#include "controlplane/engine/below_asked.h"
#include "controlplane/engine/levels.h"
#include "controlplane/engine/nodes.h"
#include "controlplane/engine/overhead.h"
#include "controlplane/engine/recorder_plan.h"
#include "controlplane/engine/request_types.h"
#include "controlplane/engine/sampler.h"

struct desired_facts { /* borrowed */
	const struct plan *plan;
	const struct below_asked *below;
	const struct recorder_plan *recorder;
	const struct levels *levels;
	const struct request_types *types;
	const struct overhead *overhead;
	const struct sampler *sampler;
	bool learning;
	double sampled;   /* share of requests of a type that is not listed */
	int64_t lease_ns; /* of what was added */
};

/* The share of the type's requests that is sampled now. */
double desired_sampled(const struct desired_facts *f, const struct request_type *type);

/* The node's desired state, valid until the next call for it. It is made again when
 * nodes_revision() has changed, with a new epoch only if its content differs. O(1), or O(plan), and
 * O(types) for the first node. Without memory it lacks what did not fit. */
const struct want *desired_state(struct nodes *nodes, uint32_t node, const struct desired_facts *f);

#endif
