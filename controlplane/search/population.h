/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The population of a search as one group with one edge: the time of each request in a gap, over all
 * its passages, and 0 where it does not pass it. Share, interval, key and what-if of a verdict are
 * computed from it, so they are of all requests that the search began with, also where few of them
 * take the path with the gap.
 */
#ifndef CONTROLPLANE_SEARCH_POPULATION_H
#define CONTROLPLANE_SEARCH_POPULATION_H

#include "analysis/group.h"
#include "base/err.h"

struct population {
	/*
	 * Of all requests. Its path, with edge 0 as its only edge, and its keys are those of the
	 * model; of a request with another path, the number of iterations of a loop that the path
	 * lacks is 0, and other keys that it lacks are missing (NAN). `loops` are for reading their
	 * tokens; their edges are not in it. Its slowest requests are those of the groups, as far as all
	 * groups keep them.
	 */
	struct group group;
	double passing; /* requests that pass the gap */
	double passes;  /* how often these pass it, mean; 0: none does */
	/* Share of what the gap carries (covariance with the response time) that lies within the
	 * model's group, 0 to 1. */
	double within_model;
};

/*
 * Of all requests in `groups`; the gap is that edge of `model`, one of the groups. Moments are exact
 * where a path has the gap as one edge, else they are those of the reservoir. Its samples are the
 * reservoirs in proportion to the groups' traffic, drawn with `seed` where they do not hold all.
 * In the arena, except texts; it points to the groups. O(groups x (edges + tokens) + samples x keys).
 * ERR_MEMORY: *ret need not be released.
 */
int population_of(struct population *ret, const struct groups *groups, const struct group *model,
    uint32_t edge, uint64_t seed, struct arena *a, struct err *e);
void population_release(struct population *p);

#endif
