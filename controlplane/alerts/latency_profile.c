/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/latency_profile.h"

int
latency_profile_end_window(
    struct latency_profile *p, const struct latency_profile_window *w, struct err *e)
{
	struct latency_window now, healthy = { 0 };
	int rc = latency_window_make(&now, &p->times, w->per_second, w->begin, e);

	if (rc < 0)
		return rc;
	p->last_window = now;
	if ((rc = healthy_range_judge(&p->healthy, &w->rules, &now, &p->last, e)) < 0)
		return rc;
	alert_state_next(&p->state, &now, &p->last, w->excluded, w->cost_min, &healthy);
	if (p->last.answer == RANGE_LEARNING && !w->excluded)
		healthy = now;
	if (healthy.requests == 0)
		return 0;
	p->added++;
	return healthy_range_add(&p->healthy, &healthy, e);
}

void
latency_profile_accept(struct latency_profile *p)
{
	healthy_range_release(&p->healthy);
	p->state = (struct alert_state){ 0 };
	p->stored = p->added;
}

void
latency_profile_release(struct latency_profile *p)
{
	healthy_range_release(&p->healthy);
	window_times_release(&p->times);
	*p = (struct latency_profile){ 0 };
}
