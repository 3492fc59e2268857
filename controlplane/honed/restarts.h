/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Diagnoses that a decider was at when it ended, and that the one after it begins anew. The former run stays as it was, stopped for
 * controller-ended; the new one has its type, strategy, seed, effort and limits. What it had measured is in the former run, but the requests that it had
 * measured are gone with the memory of its engine, so a search cannot go on from there.
 *
 * A run has the bare name of its type. If requests of several services may have that, the run is not begun anew: it could be of another service.
 * A type whose diagnosis ended so three times within 10 minutes is left alone: it may be what ends deciders.
 */
#ifndef CONTROLPLANE_HONED_RESTARTS_H
#define CONTROLPLANE_HONED_RESTARTS_H

#include "base/clock.h"
#include "controlplane/engine/engine.h"

enum { RESTARTS_MAX = 64 };

struct restarts {
	uint64_t
	    runs[RESTARTS_MAX]; /* that are to be begun anew; older ones beyond are left alone */
	uint32_t n;
	struct mono began, tried;
};

/* Those that ended so within the last 10 minutes, if there is no later one of their type: also what the decider before could not begin.
 * O(runs^2) at most. */
void restarts_begin(struct restarts *r, struct forest *f, struct mono now, struct wall when);
/* Begins what can be begun, each second; a type is not there before its requests are. After 10 minutes it gives up. */
void restarts_step(
    struct restarts *r, struct engine *g, struct forest *f, struct mono now, struct wall when);

/* Whether requests of several services have this type, as far as any were seen or learned. O(labels). */
bool restarts_type_is_shared(const struct labels *labels, const char *type);

#endif
