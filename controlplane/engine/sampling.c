/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/sampling.h"

#include <math.h>

#define FAR_OFF 2.0 /* the share that suffices is changed when it is off by this factor */
/* The share under diagnosis is a limit: it is lowered when it is over by this factor, and rises when it could be that much higher. */
#define OVER 1.1
#define COULD_RISE 1.5

int
sampling_trace(
    struct sampler *s, const struct request_type *type, const struct trace *t, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < t->nunits; i++)
		if (t->units[i].count > 0)
			rc = sampler_records(s, type->index, t->events[t->units[i].first].node,
			    t->units[i].count, e);
	return rc;
}

/* Mapped programs have no filters; what they write instead is counted by their agent. */
int
sampling_status(struct sampler *s, const struct overhead *o, uint32_t node, const struct status *st,
    struct mono now, struct err *e)
{
	bool assumed;
	double record_ns = overhead_record_ns(o, node, &assumed), filters = 1;

	if (st->mapped > 0)
		filters = (st->rejected_ns > 0 ? st->rejected_ns : OVERHEAD_REJECTED_NS) /
		          record_ns;
	return sampler_status(s, node, st, record_ns, overhead_rejected(o, node) * filters, now, e);
}

/* The share of requests that gives so many a second over all nodes; 0: all. The load varies, and each new share is a message to all
 * nodes, so it changes only when *kept is too high by `high` or too low by `low`. */
static double
share_of(int64_t per_second, double offered, double high, double low, double *kept)
{
	double share;

	if (per_second == 0 || offered <= 0)
		return 1;
	share = (double)per_second / offered;
	if (*kept <= 0 || share > low * *kept || share < *kept / high)
		*kept = share;
	return fmin(*kept, 1);
}

static double
most_of(const struct sampling_settings *settings, struct request_type *type, bool all)
{
	if (all)
		return share_of(
		    settings->diagnosed_most, type->offered, OVER, COULD_RISE, &type->most);
	type->most = 0;
	return fmin(settings->sampled,
	    share_of(settings->enough, type->offered, FAR_OFF, FAR_OFF, &type->enough));
}

int
sampling_step(struct sampler *s, struct request_types *types,
    const struct sampling_settings *settings, const struct company *company, bool learning,
    struct mono now, bool *changed, struct err *e)
{
	struct sampler_type wanted[TYPES_MAX];
	bool any = false;

	for (uint32_t i = 0; i < types->n; i++) {
		struct request_type *type = &types->items[i];
		bool diagnosed = request_type_diagnosed(type) || type->captured;

		wanted[i].diagnosed = diagnosed;
		wanted[i].at_once = company->of[i];
		wanted[i].most = most_of(settings, type, diagnosed || company->of[i]);
		any |= diagnosed;
	}
	return sampler_step(
	    s, wanted, types->n, any ? settings->diagnosis_share : 0, learning, now, changed, e);
}
