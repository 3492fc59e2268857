/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many requests of each type are sampled: as many as each node can pay for. What
 * Hone spends on a node is measured (spend.h), in windows; what of it follows the
 * records is shared out among the types by the records that their traces had there.
 *
 *	a node over its limit  -->  types under no diagnosis are sampled less, all that come by it alike,
 *	                            down to SAMPLER_LEAST; then those under diagnosis, and with them what is probed
 *	room again             -->  up, when it could be half as high again (the law of searchspace/budget.h)
 *	a diagnosis            -->  may cost so much more, also where what stays without records is over the limit alone
 *
 * Which requests are sampled is decided by chance where they begin, so the same share
 * holds on all nodes, and fewer make estimates slower, never askew. Limits: CPU, and bytes a second to
 * the controller. It opens nothing and asks no clock: types and nodes are small numbers of the caller's.
 */
#ifndef CONTROLPLANE_ENGINE_SAMPLER_H
#define CONTROLPLANE_ENGINE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/spend.h"

#define SAMPLER_LEAST 0.01 /* fewer requests than this share would show too little */
#define SAMPLER_AIM 0.85   /* of the room under a limit that was passed: what is aimed at */
#define SAMPLER_SLACK 1.5  /* up only when it could be this much higher */
#define SAMPLER_WINDOW_NS INT64_C(4000000000)
#define SAMPLER_SETTLE_NS \
	INT64_C(1000000000) /* from a new share to the first window that has nothing but it */

struct sampler;

struct sampler_options {
	double core_max;  /* share of one core, on each node; 0: no limit */
	double bytes_max; /* a second, from each node; 0: no limit */
};

struct sampler_type {
	double most; /* the share that is wanted where all can be paid for */
	bool dear;   /* under diagnosis: lowered last */
};

struct sampler *sampler_new(const struct sampler_options *o); /* NULL: out of memory */
void sampler_free(struct sampler *s);                         /* NULL is fine */

/* A node's status, as of spend_status(). ERR_MEMORY. */
int sampler_status(struct sampler *s, uint32_t node, const struct status *st, double record_ns,
    double rejected, struct mono now, struct err *e);
/* It is there, or not: who is away sets no limit. */
void sampler_node(struct sampler *s, uint32_t node, bool there);
/* A unit of a trace of the type left so many records on the node. O(1). ERR_MEMORY. */
int sampler_records(
    struct sampler *s, uint32_t type, uint32_t node, uint64_t records, struct err *e);

/* Decides, at the end of a window, or when other types are dear. extra: what may be spent beyond
 * core_max now, for a diagnosis. hold: nothing is decided, and no window counts (while learning).
 * True: some share is another one. O(types x nodes) at the end of a window, else O(types).
 * ERR_MEMORY. */
int sampler_step(struct sampler *s, const struct sampler_type *types, uint32_t ntypes, double extra,
    bool hold, struct mono now, bool *changed, struct err *e);

double sampler_share(
    const struct sampler *s, uint32_t type); /* of its requests; 1 before the first step */
/* NULL: nothing is known of the node. */
const struct spend *sampler_spend(const struct sampler *s, uint32_t node);
double sampler_core_max(const struct sampler *s); /* with what is extra now; 0: no limit */

/* What the node still spends over its limit although as little as can be is sampled. */
struct sampler_over {
	bool over;
	double core, idle; /* in the last window; idle: of it, what would stay without a record */
	enum spender most; /* who spends the most of it */
	double bytes;      /* a second; > 0 where this is the limit */
};
struct sampler_over sampler_over(const struct sampler *s, uint32_t node);

#endif
