/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads that a verdict's requests wait for between two units, as one queue: all of a type's waits
 * for the threads of one service. A pool or an event loop that several units go through delays each of
 * them, and none of these edges has the whole effect. Whether such a wait is a cause of its own, or what
 * its load leads to anyway, is decided by pool_state().
 */
#ifndef CONTROLPLANE_SEARCH_THREAD_POOL_H
#define CONTROLPLANE_SEARCH_THREAD_POOL_H

#include "analysis/group.h"
#include "analysis/thread_load.h"
#include "base/err.h"
#include "controlplane/search/wait_list.h"
#include "forest/verdict.h"

/* ---- pure ---- */

struct pool_facts {
	double effect; /* of all waits for it, 0..1 */
	double still; /* share of the waits in which its processes stand still (WAIT_STILL), 0..1 */
	struct thread_load load;
};

enum { POOL_JOBS_MIN = 100 };
#define POOL_SATURATED_MIN \
	0.8 /* of the time its threads are held: the waits are 4 service times and more */
#define POOL_LONG_CV_MIN 2.65 /* of the service times: the waits are 4 times those of M/M/c */
#define POOL_UNEXPLAINED_MIN 4.0
#define POOL_STILL_MIN 0.5
#define POOL_BUSY_MIN 0.7         /* of the time its threads are held, and the waits carry ... */
#define POOL_BUSY_EFFECT_MIN 0.9  /* ... nearly all of the variance */
#define POOL_IDLE_MAX 0.4         /* of the time its threads are held: no queue should matter ... */
#define POOL_IDLE_EFFECT_MIN 0.75 /* ... so much */

/*
 * What the waits for a pool come from.
 *
 * 1. Fewer jobs than POOL_JOBS_MIN: not known.
 * 2. The threads are held for POOL_SATURATED_MIN of the time, or for POOL_BUSY_MIN and the waits carry
 *    POOL_BUSY_EFFECT_MIN of the variance: saturated.
 * 3. The service times have a CV of POOL_LONG_CV_MIN or more: a few long units hold the threads.
 * 4. The processes stand still for POOL_STILL_MIN of the waits, or these are POOL_UNEXPLAINED_MIN times
 *    what the load leads to: unexplained.
 * 5. The threads are held for less than POOL_IDLE_MAX of the time, and the waits carry POOL_IDLE_EFFECT_MIN
 *    of the variance: unexplained, too.
 * 6. Usual: a consequence of the load.
 */
enum pool_state pool_state(const struct pool_facts *f);

/* ---- of a diagnosis ---- */

/* The part of the variance within `groups` that waits between two units, for the service of label `to`,
 * carry over all groups, 0 to 1. The groups are of always-on labels. O(groups x edges). */
double pool_effect(const struct groups *groups, const struct labels *labels, uint32_t to);

/* The load of the threads for which requests wait where they come to the service of label `to` with a
 * record of its kind. O(n log n) with n the events of the history. Uses the arena. ERR_MEMORY. */
int pool_load(struct thread_load *ret, const struct wait_list *waits,
    const struct thread_history *history, const struct labels *labels, uint32_t to, struct arena *a,
    struct err *e);

#endif
