/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The response times of a request type, or of one of its groups: what they are in this window, what they are while healthy, and whether
 * they have left that. Pure. */
#ifndef CONTROLPLANE_ALERTS_LATENCY_PROFILE_H
#define CONTROLPLANE_ALERTS_LATENCY_PROFILE_H

#include "controlplane/alerts/alert_state.h"

struct latency_profile {           /* all zeroes: nothing is known */
	struct window_times times; /* of the window that lasts */
	struct healthy_range healthy;
	struct alert_state state;
	struct range_judgement last;
	struct latency_window last_window; /* requests 0: none yet */
	/* For who stores `healthy`, whose marks these are: windows that were added to it, and of these stored; whether what is stored was
	 * loaded. */
	uint64_t added, stored;
	bool loaded;
};

struct latency_profile_window { /* what a window is judged by */
	struct wall begin;
	double per_second; /* requests of the type, sampled or not: an estimate */
	struct range_rules rules;
	double cost_min; /* see alert_state_next() */
	bool excluded;   /* it never becomes healthy */
};

/* Judges the window in `times`, and adds to `healthy` the one that was. O(n log n) of the times in it, and what healthy_range_judge()
 * costs. ERR_MEMORY. */
int latency_profile_end_window(
    struct latency_profile *p, const struct latency_profile_window *w, struct err *e);
/* Forgets what was healthy: what it does now is usual. */
void latency_profile_accept(struct latency_profile *p);
void latency_profile_release(struct latency_profile *p);

#endif
