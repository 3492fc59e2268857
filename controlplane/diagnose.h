/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two halves of a search ask of each other: diagnose.c runs the cycle, decide.c judges what it gathered. */
#ifndef CONTROLPLANE_DIAGNOSE_H
#define CONTROLPLANE_DIAGNOSE_H

#include "controlplane/engine_inside.h"

/* The group that matters most now, and the edge that carries its problem: inside the gap, once there is one. */
struct choice {
	struct group *group;		/* NULL: nothing is ripe */
	struct finding finding;		/* in the engine's scratch arena */
	uint32_t edge;			/* of the group's shape */
	double gap_share;		/* of all edges that the gap has become */
};

/* late: decide with what there is. The choice lives until the scratch arena is reset. O(groups). */
int choose(struct choice *ret, struct engine *g, struct diagnosis *d, bool late, struct err *e);

/* Settles this cycle's hypotheses by the choice, lets go of those that did not help. spread: no part of the gap took
 * over, so none of them did. */
int settle_picks(struct engine *g, struct diagnosis *d, const struct choice *c, bool spread, struct wall when,
    struct err *e);

/* When no group has a problem any more: if a pick tells slow from fast, that is the verdict. */
int settle_separated(struct engine *g, struct diagnosis *d, struct wall when, struct err *e);

/* Nothing smaller is to be had: keys, what-if, words; ends the run. bottom: nothing is left inside the gap. */
int conclude(struct engine *g, struct diagnosis *d, const struct choice *c, bool bottom, struct wall when,
    struct err *e);

/* A new hypothesis of this run in this cycle; NULL: out of memory. */
struct hypothesis *hypothesis_from(struct engine *g, struct diagnosis *d, uint64_t parent, struct wall when);
void hypothesis_motive(struct engine *g, struct hypothesis *h, const struct choice *c);
/* c may be NULL: nothing was measured. */
void hypothesis_settle(struct engine *g, struct hypothesis *h, enum hypothesis_state s, const struct choice *c,
    struct wall when);

/* Off with this tracepoint; its hypothesis stays in the forest. */
void turn_off(struct engine *g, struct diagnosis *d, uint32_t label, const char *why, struct wall when);

#endif
