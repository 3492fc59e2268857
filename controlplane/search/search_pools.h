/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that requests wait for in many places: each of these edges has a small part of the problem, so that no search begins with one of
 * them, and all together they may have most of it.
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_POOLS_H
#define CONTROLPLANE_SEARCH_SEARCH_POOLS_H

#include "controlplane/search/search_state.h"

enum { POOLS_LOOK_NS = 2000000000, POOLS_MAX = 16 };

/*
 * For a diagnosis that looks on, every POOLS_LOOK_NS:
 *
 * 1. Of each service that requests wait for between two units, the edge and the group with most of the variance. Of more than POOLS_MAX services only
 *    the first ones are looked at.
 * 2. A search that began with such a wait for the service: it is left out.
 * 3. The one of which the waits certainly carry most (pool_delay()) gets a search with that edge, if that is POOL_EFFECT_MIN or more.
 *
 * O(groups x edges); if a service is left, also O(n log n) with n the events of the history, and O(m log n) for each, with m the parts of paths. ERR_MEMORY.
 */
int search_pools(struct search_port *port, struct diagnosis *d, struct err *e);

#endif
