/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When an alert begins and ends, and which windows become part of the healthy range. Pure. */
#ifndef CONTROLPLANE_ALERTS_ALERT_STATE_H
#define CONTROLPLANE_ALERTS_ALERT_STATE_H

#include "controlplane/alerts/healthy_range.h"

/* Of so many windows, at least so many decide, by the same value; a window that was not judged is none of them. */
enum { ALERT_WINDOWS = 5, ALERT_DECIDES = 4, ALERT_WAITING_MAX = 3 * ALERT_WINDOWS };

enum alert_change { ALERT_STAYS, ALERT_BEGINS, ALERT_ENDS };

struct alert_state { /* all zeroes: no alert, and nothing was judged */
	bool firing;
	struct wall since; /* begin of the first window outside that it began with; firing */
	uint32_t unjudged; /* windows in succession that were neither inside nor outside */
	/* The newest windows that were judged, oldest first: at most ALERT_WINDOWS. */
	uint32_t n;
	struct wall begins[ALERT_WINDOWS];
	struct range_judgement judged[ALERT_WINDOWS];
	/* Those that may become healthy, oldest first: at most ALERT_WAITING_MAX. */
	uint32_t nwaiting;
	struct waiting_window {
		struct latency_window window;
		bool excluded;  /* it never becomes healthy */
		uint32_t since; /* windows that were judged after it */
	} waiting[ALERT_WAITING_MAX];
};

/*
 * The decision about window `w`, judged as `j`:
 *
 * 1. A window that is INSIDE, OUTSIDE or at an unknown rate waits. A window that waited for ALERT_WINDOWS judgements, or is too many,
 *    was healthy, *leaves, unless an alert is firing or began or ended while it waited, or it is excluded (a diagnosis ran): the range
 *    follows slow changes, and what an alert was about does not become usual, at whatever rate it was.
 * 2. A window that was neither inside nor outside is none of those below; with the ALERT_WINDOWS-th in succession an alert ends,
 *    since nothing says that it lasts, and the newest windows are forgotten. (The caller adds LEARNING ones to the range.)
 * 3. No alert, and the same value is over its limit in at least ALERT_DECIDES of the newest ALERT_WINDOWS, and the mean of the
 *    cost_share_most of these windows is at least cost_min: it begins. (Single windows leave the range by chance, each by another value;
 *    a fault stays with its values.)
 * 4. An alert, and of the newest ALERT_WINDOWS each value is within its limit in at least ALERT_DECIDES: it ends.
 *
 * *leaves.requests is 0 if none leaves; at most one does. O(1).
 */
enum alert_change alert_state_next(struct alert_state *s, const struct latency_window *w,
    const struct range_judgement *j, bool excluded, double cost_min, struct latency_window *leaves);

/* None of the windows that wait becomes healthy. */
void alert_state_exclude(struct alert_state *s);

#endif
