/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learning: all tracepoints of all providers are enabled for a time, for all requests, and the
 * learned space takes every complete trace. What that costs each node stays within a budget of its
 * own: fewer requests are probed if need be. If even rejecting records costs too much, or there are
 * more providers than a desired state can name, the providers take turns in groups; traces of
 * different groups are merged, but show no steps from one group to another (space_learn_more()).
 */
#ifndef CONTROLPLANE_ENGINE_LEARNING_H
#define CONTROLPLANE_ENGINE_LEARNING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/learned_space.h"
#include "controlplane/engine/overhead.h"
#include "controlplane/engine/queues.h"
#include "forest/forest.h"

enum { OWNER_LEARN = 0 }; /* in the plan; hypotheses own by their id, from 1 */

/* Borrowed. */
struct learning_facts {
	struct nodes *nodes;
	const struct request_types *types;
	const struct queues *queues;
	struct plan *plan;
	struct labels *labels;
	struct learned_space *learned;
	struct overhead *overhead;
	struct forest *forest; /* for its audit */
	const struct clocks *clocks;
	const struct preload_labels *preload;
	int64_t withdraw_ns; /* a pause of this length, at the least rate, ends learning */
};

struct learning { /* to be read only, outside of learning.c */
	struct learning_facts is;
	bool active;
	bool ready;               /* everything is enabled on all nodes; time counts from then */
	struct mono since, until; /* of this group */
	int64_t for_ns;           /* in all; the groups share it */
	uint64_t traces;
	struct mono begun, shrunk; /* shrunk: the last change of `shrink` */
	struct wall when;          /* of the last step */
	double shrink; /* of the share that is probed, because of full queues: 1, 1/2, ... */
	uint32_t group, ngroups; /* of providers that take turns: this one, from 0 */
	uint32_t providers;      /* in all */
};

/* Begins to learn for that long, of the version `name` (NULL: the present one, or a made-up name if
 * other programs run). If the space is of another version, or was learned of other tracepoints than
 * the programs have, a new space is begun. ERR_BUSY: learning already, queues full, or another
 * version while a diagnosis runs; ERR_MISSING: no programs; ERR_MEMORY. */
int learning_begin(
    struct learning *l, int64_t for_ns, const char *name, struct mono now, struct err *e);
/* To be called often while it is active: ends it, goes on to the next group, changes the rate.
 * What was learned so far stays, whatever ends it. ERR_MEMORY: it has ended. */
int learning_step(struct learning *l, struct mono now, struct wall when, struct err *e);
/* A complete trace, while it is active. O(events). ERR_MEMORY. */
int learning_trace(struct learning *l, const struct trace *t, struct err *e);
void learning_end(struct learning *l);                             /* no effect unless active */
double learning_left_s(const struct learning *l, struct mono now); /* while active; all groups */

#endif
