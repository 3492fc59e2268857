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
#include "analysis/thread_delay.h"
#include "analysis/thread_load.h"
#include "base/err.h"
#include "controlplane/search/type_variance.h"
#include "controlplane/search/wait_list.h"
#include "forest/verdict.h"

/* ---- pure ---- */

struct pool_facts {
	double effect;     /* of all waits for it, 0..1 ... */
	double effect_low; /* ... and at least; NAN: not known */
	double still; /* share of the waits in which its processes stand still (WAIT_STILL), 0..1 */
	double
	    own; /* part of the variance of the waits in which other units of the same request hold the thread, 0..1 */
	struct thread_load load;
};

enum { POOL_JOBS_MIN = 100 };
/* Of units that wait for others: the time that the threads are held, and the part of it in which they wait. */
#define POOL_WAITING_LOAD_MIN 0.5
#define POOL_WAITING_MIN 0.5
#define POOL_ALWAYS_MIN 0.85 /* of the time its threads are held */
#define POOL_EFFECT_MIN 0.4  /* of its waits, unless its threads are always held */
#define POOL_OWN_MIN 0.5
/* Of the time its threads are held; with the effect, the sum of both. */
#define POOL_BUSY_MIN 0.7
#define POOL_SATURATED_MIN 1.66
#define POOL_UNEXPLAINED_MIN 4.0 /* mean wait, by the expected one ... */
#define POOL_LONGER_MIN 1.3      /* ... of processes that stand still for ... */
#define POOL_STILL_MIN 0.5       /* ... this part of the waits */
/* effect + POOL_OF_CV cv - POOL_OF_LOAD utilisation, alone, and with waits that long units lead to: the expected wait if no unit held a thread for
 * long, by the expected one. With a CV of the service times of POOL_LONG_CV_MIN some are long. */
#define POOL_OF_CV 0.1
#define POOL_OF_LOAD 0.85
#define POOL_ODD_MIN 0.6
#define POOL_LONG_ODD_MIN 0.45
#define POOL_LONG_USUAL_MAX 0.3
#define POOL_LONG_CV_MIN 1.5
#define POOL_MOST_MIN 0.7
#define POOL_MOST_LOW 0.5

/*
 * What the waits for a pool come from. In healthy applications each queue has a part of the variance, and a larger
 * one the more its threads are held: the waits of threads that are held for half of the time mostly have
 * three quarters of it or less, of such that are held for a quarter half of it. A fault that holds threads or stops them for long
 * at times adds much to the waits, and little to the load. The limits separate the two in random applications
 * (docs/evaluation.md).
 *
 *  1. Fewer jobs than POOL_JOBS_MIN: not known.
 *  2. The threads are held for POOL_WAITING_LOAD_MIN of the time, and in POOL_WAITING_MIN of that their units wait for others to
 *     end: waiting. It is no load of their own: what they wait for has to become faster, not they.
 *  3. The threads are held for POOL_ALWAYS_MIN of the time: saturated.
 *  4. The processes stand still for POOL_STILL_MIN of the waits, and these are POOL_UNEXPLAINED_MIN times what the load leads to: unexplained,
 *     whatever part of the variance they carry. No load leads to that.
 *  5. The waits carry less than POOL_EFFECT_MIN of the variance: usual.
 *  6. POOL_OWN_MIN of what the waits vary by goes with the time in which other units of the same request hold the thread: own units. The load
 *     does not say how long these waits are, as such units do not come at random times.
 *  7. The threads are held for POOL_BUSY_MIN of the time, that with the effect is POOL_SATURATED_MIN, and the CV of the service times is below
 *     POOL_LONG_CV_MIN: saturated. With a larger one it is how unequally long units hold the threads that the waits come from, not the load.
 *  8. The waits are POOL_UNEXPLAINED_MIN times what the load leads to; or POOL_LONGER_MIN times, and the processes stand
 *     still for POOL_STILL_MIN of them: unexplained.
 *  9. The effect is larger than that of a healthy pool with this load and this CV of the service times (POOL_LONG_ODD_MIN), and if no unit
 *     held a thread for much longer than units of its name usually do (thread_load.h), the waits would be POOL_LONG_USUAL_MAX of
 *     what the load leads to: a few long units hold the threads. Times that vary a lot from one unit
 *     to the next, as they do in healthy applications, leave more of the waits, or have less of the variance.
 * 10. The effect is much larger than that (POOL_ODD_MIN): with a CV of POOL_LONG_CV_MIN a few long units hold the threads; else
 *     unexplained.
 * 11. The effect is POOL_MOST_MIN, and certainly POOL_MOST_LOW: most of what varies, and so no part among others, though the load leads to it.
 * 12. Usual: a consequence of the load.
 */
enum pool_state pool_state(const struct pool_facts *f);

/* ---- of a diagnosis ---- */

bool pool_same_service(const struct labels *labels, uint32_t a, uint32_t b); /* of two labels */

/* The part of what response times vary by (type_variance.h) that waits between two units, for the service of label `to`,
 * carry over all groups, 0 to 1. The groups are of always-on labels. O(groups x edges). */
double pool_effect(const struct type_variance *t, const struct labels *labels, uint32_t to);

/* The load of the threads for which requests wait where they come to the service of label `to` with a
 * record of its kind. O(n log n) with n the events of the history. Uses the arena. ERR_MEMORY. */
int pool_load(struct thread_load *ret, const struct wait_list *waits,
    const struct thread_history *history, const struct labels *labels, uint32_t to, struct arena *a,
    struct err *e);

/* What requests at least lose while they wait for these threads (analysis/thread_delay.h: the lower end of the 95 % interval), wherever that is,
 * as a part of what response times vary by, 0 to 1; NAN: it is known of fewer than POOL_JOBS_MIN requests. Of threads of pools it is less than what
 * pool_effect() says, of those of event loops it may be more. Cost and errors as above. */
int pool_delay(double *ret, const struct type_variance *t, const struct path_parts *parts,
    const struct wait_list *waits, const struct thread_delay_events *events,
    const struct labels *labels, uint32_t to, struct arena *a, struct err *e);

/* Whether the edge, which is inside a unit, is a wait for the thread: POOL_INSIDE_MIN of what its length varies by, or more, goes with the time in which
 * other requests hold the thread. Cost and errors as above. */
int pool_inside(bool *ret, const struct wait_list *waits, const struct thread_delay_events *events,
    const struct gap *gap, struct arena *a, struct err *e);
/* The part of what the waits in the edge vary by that goes with the time in which other units of the same request hold the thread. */
int pool_own(double *ret, const struct wait_list *waits, const struct thread_delay_events *events,
    const struct gap *gap, struct arena *a, struct err *e);
#define POOL_INSIDE_MIN 0.5

#endif
