/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What response times of a request type vary by, as far as it is a problem: the variance within its groups, and
 * what lies between its slow groups and the others. Groups are paths, and paths take unequally long, which is
 * no problem as such. But the group of a path that few requests take and whose mean is beyond slow_quantile of the
 * type is one: often the path is taken since a part of it is slow, such as one of several calls at the same time.
 */
#ifndef CONTROLPLANE_SEARCH_TYPE_VARIANCE_H
#define CONTROLPLANE_SEARCH_TYPE_VARIANCE_H

#include "analysis/group.h"
#include "controlplane/search/gap.h"

struct type_variance {
	const struct groups *groups;
	double slow_ns; /* a group of traces_min requests with a larger mean is slow; 0: none is */
	uint64_t traces_min;
	double n; /* requests of all groups; and those of groups that are not slow: */
	struct moments usual;
	/* Sum over the requests: of squares of the differences of response times from the mean of their group, or, where it is
	 * slow, from that of the groups that are not. ns^2. */
	double m2;
};

/* O(groups). If more than half of the requests were of slow groups, no group is slow (slow_ns 0), and all are usual: the path that most
 * requests take is not one that few take, however slow some of its requests are. */
struct type_variance type_variance_of(
    const struct groups *groups, double slow_ns, uint64_t traces_min);
/* What the group has of m2, ns^2. O(1). */
double type_variance_group(const struct type_variance *t, const struct group *g);
/* What edges of `groups` for which is() holds carry of m2, ns^2: by the law of total covariance, their covariance with the
 * response time within each group, and between the slow groups and the others. O(groups x edges). */
double type_variance_edges(const struct type_variance *t,
    bool (*is)(const struct shape *s, uint32_t edge, const void *of), const void *of);
/* The same of edges with the ends of the gap. */
double type_variance_gap(const struct type_variance *t, const struct gap *gap);

#endif
