/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When an alert begins and ends, and which windows become part of the healthy range. Pure. */
#ifndef CONTROLPLANE_ALERTS_ALERT_STATE_H
#define CONTROLPLANE_ALERTS_ALERT_STATE_H

#include "controlplane/alerts/healthy_range.h"

/* Of so many windows, at least so many decide; a window that was not judged is none of them. */
enum { ALERT_WINDOWS = 5, ALERT_DECIDES = 4 };

enum alert_change { ALERT_STAYS, ALERT_BEGINS, ALERT_ENDS };

struct alert_state { /* all zeroes: no alert, and nothing was judged */
	bool firing;
	struct wall since; /* begin of the first window outside that it began with; firing */
	uint32_t unjudged; /* windows in succession that were neither inside nor outside */
	/* The newest windows that were judged, oldest first: at most ALERT_WINDOWS. */
	uint32_t n;
	struct latency_window windows[ALERT_WINDOWS];
	struct range_judgement judged[ALERT_WINDOWS];
	bool excluded[ALERT_WINDOWS]; /* never becomes healthy: a diagnosis ran */
};

/*
 * The decision about window `w`, judged as `j`:
 *
 * 1. A window that was neither inside nor outside is none of those below; with the ALERT_WINDOWS-th in succession an alert ends,
 *    since nothing says that it lasts, and the newest windows are forgotten. (The caller adds LEARNING ones to the range.)
 * 2. It joins the newest ALERT_WINDOWS. One that leaves them was healthy, *leaves, unless an alert is firing or was while it was among
 *    them, or it is excluded: the range follows slow changes, and what an alert was about does not become usual.
 * 3. No alert, and at least ALERT_DECIDES are outside, and the mean of their cost_share is at least cost_min: it begins. All
 *    windows so far are excluded.
 * 4. An alert, and at least ALERT_DECIDES are inside: it ends.
 *
 * *leaves.requests is 0 if none leaves. O(1).
 */
enum alert_change alert_state_next(struct alert_state *s, const struct latency_window *w,
    const struct range_judgement *j, bool excluded, double cost_min, struct latency_window *leaves);

#endif
