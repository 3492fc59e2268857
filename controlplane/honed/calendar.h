/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time by which old rows are deleted: the wall clock, unless it has stepped forward. A clock that was 400 days ahead
 * for a minute would delete all history. Pure.
 */
#ifndef CONTROLPLANE_HONED_CALENDAR_H
#define CONTROLPLANE_HONED_CALENDAR_H

#include <stdbool.h>

#include "base/clock.h"

struct calendar { /* all zeroes: nothing is known yet */
	bool known;
	int64_t offset_ns;       /* trusted: wall clock - CLOCK_MONOTONIC */
	struct mono ahead_since; /* ns 0: the wall clock is not ahead */
	int64_t ahead_offset_ns; /* while it is ahead */
};

#define CALENDAR_SLACK_NS INT64_C(2000000000)     /* a step that is no step; between two calls */
#define CALENDAR_TRUST_NS INT64_C(86400000000000) /* a step forward is believed after a day */

/* Where to begin: a wall clock that is more than a day after the newest row is ahead. newest.ns 0: no row. */
void calendar_begin(struct calendar *c, struct wall newest, struct wall wall, struct mono mono);
/*
 * The time to delete by; never after `wall`. To be called about once a minute.
 *
 *	1. Not ahead of the trusted time by over CALENDAR_SLACK_NS: the wall clock, which is trusted from now on.
 *	2. It has been ahead by the same for CALENDAR_TRUST_NS: the same.
 *	3. It is ahead: the trusted time, which goes on with CLOCK_MONOTONIC.
 */
struct wall calendar_now(struct calendar *c, struct wall wall, struct mono mono);

#endif
