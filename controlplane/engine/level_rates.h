/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many records the tracepoints that are on by their log level write, by node, service and level: counted in traces, in windows. */
#ifndef CONTROLPLANE_ENGINE_LEVEL_RATES_H
#define CONTROLPLANE_ENGINE_LEVEL_RATES_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash_map.h"
#include "controlplane/engine/level_labels.h"

#define LEVEL_WINDOW_NS INT64_C(10000000000)
enum { LEVEL_COUNTERS_MAX = 1 << 20 };

struct level_rates { /* all zeroes is empty */
	struct map counters;
	struct arena arena;
	bool
	    warm; /* a window has ended since level_rates_begin(); records of what was enabled at its begin may not have come in it */
	bool measured; /* and another one */
	struct mono since;
};

void level_rates_release(struct level_rates *r);

/* Other tracepoints are on from now on: what was measured is forgotten. O(1), and the memory of the counters. */
void level_rates_begin(struct level_rates *r, struct mono now);

/* Counts a record. O(1). ERR_MEMORY. */
int level_rates_add(
    struct level_rates *r, uint32_t node, uint32_t service, uint8_t level, struct err *e);

/* Ends the window when it is time. O(counters) then. */
void level_rates_step(struct level_rates *r, struct mono now);

/* Records a second in the last window; 0 if none came. False: none has ended yet. O(1). */
bool level_rates_of(const struct level_rates *r, uint32_t node, uint32_t service, uint8_t level,
    double *per_second);

#endif
