/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_phase.h"

#include <assert.h>

#define TO(x) (1u << (x))

static const unsigned PHASE_WAYS[SEARCH_PHASES] = {
	[SEARCH_WAITING] = TO(SEARCH_SWITCHING) | TO(SEARCH_ENDED),
	[SEARCH_SWITCHING] = TO(SEARCH_SWITCHING) | TO(SEARCH_GATHERING) | TO(SEARCH_PAUSED) |
	                     TO(SEARCH_BACKING_OFF) | TO(SEARCH_ENDED),
	[SEARCH_GATHERING] = TO(SEARCH_SWITCHING) | TO(SEARCH_GATHERING) | TO(SEARCH_UNCONFIRMED) |
	                     TO(SEARCH_PAUSED) | TO(SEARCH_BACKING_OFF) | TO(SEARCH_ENDED),
	[SEARCH_UNCONFIRMED] = TO(SEARCH_SWITCHING) | TO(SEARCH_GATHERING) |
	                       TO(SEARCH_UNCONFIRMED) | TO(SEARCH_PAUSED) | TO(SEARCH_BACKING_OFF) |
	                       TO(SEARCH_ENDED),
	[SEARCH_PAUSED] = TO(SEARCH_UNCONFIRMED) | TO(SEARCH_ENDED),
	[SEARCH_BACKING_OFF] = TO(SEARCH_UNCONFIRMED) | TO(SEARCH_ENDED),
	[SEARCH_ENDED] = 0,
};

/* The final edge is the last task, unless the way to it was contradicted: then what it led from is narrowed again. */
static const unsigned TASK_WAYS[SEARCH_TASKS] = {
	[TASK_NARROW] = TO(TASK_NARROW) | TO(TASK_EXPLORE) | TO(TASK_PROBE_LAYER) |
	                TO(TASK_FINAL_EDGE),
	[TASK_EXPLORE] = TO(TASK_EXPLORE) | TO(TASK_NARROW),
	[TASK_PROBE_LAYER] = TO(TASK_PROBE_LAYER) | TO(TASK_NARROW) | TO(TASK_EXPLORE),
	[TASK_FINAL_EDGE] = TO(TASK_FINAL_EDGE) | TO(TASK_NARROW),
};

bool
search_phase_may_follow(enum search_phase from, enum search_phase to)
{
	assert((unsigned)from < SEARCH_PHASES && (unsigned)to < SEARCH_PHASES);
	return (PHASE_WAYS[from] & TO(to)) != 0;
}

bool
search_task_may_follow(enum search_task from, enum search_task to)
{
	assert((unsigned)from < SEARCH_TASKS && (unsigned)to < SEARCH_TASKS);
	return (TASK_WAYS[from] & TO(to)) != 0;
}

const char *
search_phase_text(enum search_phase phase)
{
	static const char *const TEXTS[SEARCH_PHASES] = {
		[SEARCH_WAITING] = "waiting",
		[SEARCH_SWITCHING] = "switching",
		[SEARCH_GATHERING] = "gathering",
		[SEARCH_UNCONFIRMED] = "unconfirmed",
		[SEARCH_PAUSED] = "paused",
		[SEARCH_BACKING_OFF] = "backing-off",
		[SEARCH_ENDED] = "ended",
	};

	assert((unsigned)phase < SEARCH_PHASES);
	return TEXTS[phase];
}

enum phase_next
phase_next(const struct phase_facts *f)
{
	bool held = f->phase == SEARCH_PAUSED || f->phase == SEARCH_BACKING_OFF;
	bool ready = f->confirmed && !f->backing_off;

	/* 1 */
	if (f->phase == SEARCH_WAITING || f->phase == SEARCH_ENDED)
		return PHASE_NEXT_NONE;
	/* 2 */
	if (held)
		return f->paused ? PHASE_NEXT_NONE : PHASE_NEXT_RESUME;
	/* 3 */
	if (f->phase == SEARCH_GATHERING && !ready)
		return PHASE_NEXT_SUSPEND;
	if (f->phase == SEARCH_UNCONFIRMED && ready)
		return PHASE_NEXT_GATHER;
	/* 4 */
	if (f->backing_off || (f->paused && f->paused_long && f->fresh))
		return PHASE_NEXT_WITHDRAW;
	/* 5 */
	if (f->phase == SEARCH_SWITCHING) {
		if (f->confirmed)
			return PHASE_NEXT_GATHER;
		return !f->paused && f->in_cycle_ns > PHASE_SWITCH_MAX_NS ? PHASE_NEXT_GIVE_UP
		                                                          : PHASE_NEXT_NONE;
	}
	/* 6 */
	if (f->any_enabled && f->over_budget)
		return PHASE_NEXT_SPEND_LESS;
	/* 7 */
	return f->phase == SEARCH_GATHERING && !f->paused && f->since_check_ns >= PHASE_CHECK_NS
	           ? PHASE_NEXT_DECIDE
	           : PHASE_NEXT_NONE;
}
