/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feeds the sampler (sampler.h) with traces and statuses, and asks it for shares. */
#ifndef CONTROLPLANE_ENGINE_SAMPLING_H
#define CONTROLPLANE_ENGINE_SAMPLING_H

#include "controlplane/engine/company.h"
#include "controlplane/engine/overhead.h"
#include "controlplane/engine/request_types.h"
#include "controlplane/engine/sampler.h"

struct sampling_settings {
	double sampled; /* share of requests of a type under no diagnosis */
	int64_t
	    enough; /* of a type under no diagnosis, traces a second that suffice; 0: no limit */
	int64_t
	    diagnosed_most; /* of a type under diagnosis, requests a second over all nodes that are
	                           sampled; 0: all */
	double diagnosis_share; /* of one core: what a diagnosis may cost a node in addition */
};

/* Counts the trace's records by node. O(units). ERR_MEMORY. */
int sampling_trace(
    struct sampler *s, const struct request_type *type, const struct trace *t, struct err *e);
/* A status of the node; to be called before nodes_status() takes it. ERR_MEMORY. */
int sampling_status(struct sampler *s, const struct overhead *o, uint32_t node,
    const struct status *st, struct mono now, struct err *e);
/* Decides the shares, see sampler_step(). company: all requests of these types are wanted, too, but lowered before those under diagnosis (company.h). learning: all requests are sampled, and nothing is
 * decided. ERR_MEMORY. */
int sampling_step(struct sampler *s, struct request_types *types,
    const struct sampling_settings *settings, const struct company *company, bool learning,
    struct mono now, bool *changed, struct err *e);

#endif
