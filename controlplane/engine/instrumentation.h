/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts about the instrumentation of the last two minutes, by the time at which requests began. */
#ifndef CONTROLPLANE_ENGINE_INSTRUMENTATION_H
#define CONTROLPLANE_ENGINE_INSTRUMENTATION_H

#include "analysis/assemble.h"
#include "analysis/place_facts.h"
#include "base/clock.h"
#include "controlplane/engine/nodes.h"
#include "controlplane/engine/request_types.h"

enum { INSTRUMENTATION_WINDOWS = 128, INSTRUMENTATION_WINDOW_S = 1 };

struct instrumentation { /* all zeroes is empty */
	struct place_table windows[INSTRUMENTATION_WINDOWS];
	int64_t number[INSTRUMENTATION_WINDOWS]; /* begin of the window / its length, plus 1 */
	/* Since the programs of a node last changed: for units that never end, which happens at most
	 * four times on a thread. */
	struct place_table since_changed;
	uint64_t programs; /* nodes.programs when it began */
};

void instrumentation_release(struct instrumentation *i);

/* Counts a trace, complete or incomplete, that began within the last two minutes. False: out of memory.
 * O(events). */
bool instrumentation_trace(struct instrumentation *i, const struct trace *t,
    const struct labels *labels, const struct nodes *nodes, struct mono now);

/* Adds to *ret the facts of requests that began in the windows of a second after `since`, also of those that are open now and
 * take much longer than others of their type. False: out of memory. O(rows of the windows, records
 * of at most 4096 open requests). */
bool instrumentation_facts(struct place_table *ret, const struct instrumentation *i,
    struct assemble *assemble, struct request_types *types, const struct labels *labels,
    struct mono since, struct mono now);

/* Whether a label of this service is in the traces of the request type, of the last two minutes.
 * O(rows). */
bool instrumentation_has(const struct instrumentation *i, uint32_t type,
    const struct labels *labels, const char *service);

/* The services of which traceable programs are seen that begin nothing by these facts; NULL at the end. In
 * the arena; NULL: out of memory. O(programs x rows). */
const char **instrumentation_idle(const struct nodes *nodes, const struct place_table *facts,
    const struct labels *labels, struct arena *a);

#endif
