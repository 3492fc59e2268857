/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sampler: which share of each type's requests is sampled, so that what Hone costs each node
 * stays within its limits (CPU, and bytes a second to the controller). The cost of a node is
 * measured in windows (spend.h); the part that follows the number of records is divided among the
 * types by the records that their traces had there.
 *
 *	over a limit   types under no diagnosis are lowered, all on that node alike, down to
 *	               SAMPLER_LEAST; then those under diagnosis
 *	under it       shares rise when they could be half as high again (searchspace/budget.h)
 *	a diagnosis    may cost `extra` more, also where the cost without records is over the limit
 *
 * Which requests are sampled is decided at random where they begin, so one share holds on all
 * nodes; fewer samples widen intervals and add no bias. Types and nodes are small numbers of the
 * caller's.
 */
#ifndef CONTROLPLANE_ENGINE_SAMPLER_H
#define CONTROLPLANE_ENGINE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/spend.h"

#define SAMPLER_LEAST 0.01 /* the least share */
#define SAMPLER_AIM \
	0.85 /* after a limit was exceeded: the part of what is left under it that is used */
#define SAMPLER_SLACK 1.5 /* a share rises only when it could be this much higher */
#define SAMPLER_WINDOW_NS INT64_C(4000000000)
#define SAMPLER_SETTLE_NS INT64_C(1000000000) /* from a new share to the first window that counts */

struct sampler;

struct sampler_options {
	double core_max;  /* share of one core, on each node; 0: no limit */
	double bytes_max; /* a second, from each node; 0: no limit */
};

struct sampler_type {
	double most;    /* the share without limits */
	bool diagnosed; /* under diagnosis: lowered last */
	bool at_once;   /* its share rises as far as it may in one step */
};

struct sampler *sampler_new(const struct sampler_options *o); /* NULL: out of memory */
void sampler_free(struct sampler *s);                         /* NULL is fine */

/* A status of the node, see spend_status(). ERR_MEMORY. */
int sampler_status(struct sampler *s, uint32_t node, const struct status *st, double record_ns,
    double rejected, struct mono now, struct err *e);
/* A unit of a trace of the type has this number of records on the node. O(1). ERR_MEMORY. */
int sampler_records(
    struct sampler *s, uint32_t type, uint32_t node, uint64_t records, struct err *e);

/* Sets an element of types[ntypes] for each type that has had records on a node of nodes[nnodes] that is set. O(types x nodes). */
void sampler_mark_types(
    const struct sampler *s, const bool *nodes, uint32_t nnodes, bool *types, uint32_t ntypes);

/* Another type has the place of this one: it begins with the most that is sampled of it. O(types x nodes). */
void sampler_forget_type(struct sampler *s, uint32_t type);

/* Decides at the end of a window, or when other types are under diagnosis. extra: share of a core
 * beyond core_max, for a diagnosis. hold: nothing is decided (while learning, when all tracepoints are on); what windows then cost by
 * their records tells what a record costs.
 * *changed: some share, or sampler_overrun() of some node, has changed. O(types x nodes) at the end of a window, else O(types).
 * ERR_MEMORY. */
int sampler_step(struct sampler *s, const struct sampler_type *types, uint32_t ntypes, double extra,
    bool hold, struct mono now, bool *changed, struct err *e);

double sampler_share(
    const struct sampler *s, uint32_t type); /* of its requests; 1 before the first step */
/* The costs of the node; NULL: it has sent no status. */
const struct spend *sampler_spend(const struct sampler *s, uint32_t node);
double sampler_core_max(const struct sampler *s); /* with `extra`; 0: no limit */

/* A node that is over its limit although every type on it is at its least share. */
struct sampler_over {
	bool over;
	double core, idle; /* share of a core in the last window; idle: of it, without any record */
	enum spender most; /* the one that costs most */
	double bytes;      /* a second; > 0 if network_max is exceeded */
};
struct sampler_over sampler_over(const struct sampler *s, uint32_t node);
/* Whether its CPU was over that limit in the last window: sampling less has no effect on what is recorded there. O(1). */
bool sampler_overrun(const struct sampler *s, uint32_t node);

#endif
