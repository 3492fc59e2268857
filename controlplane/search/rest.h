/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a place has of a problem when the time in another place, a cause that is known, is removed from it.
 * With X the time that a request spends in the place (0 if it does not pass it), F that in the known cause
 * and T its response time:
 *
 *	share = cov(X, T - F) / var(T)
 *
 * in the population of a search. A place that is slow because of the known cause has less of it than its
 * share of the whole, an independent one has all of that. Of consistently slow requests: E[X] / E[T].
 */
#ifndef CONTROLPLANE_SEARCH_REST_H
#define CONTROLPLANE_SEARCH_REST_H

#include "analysis/group.h"
#include "controlplane/search/gap.h"

struct rest_share {
	double share;
	double se; /* its standard error, by the influence of each request */
};

/*
 * From the reservoirs of n groups, each in proportion to its traffic. by_latency: of consistently slow
 * requests. Without requests, or without variance, 0. Scratch memory is in the arena. ERR_MEMORY.
 * O(samples x edges).
 */
int rest_share_of(struct rest_share *ret, struct group *const *groups, uint32_t n,
    const struct gap *known, const struct gap *place, bool by_latency, struct arena *a,
    struct err *e);

#endif
