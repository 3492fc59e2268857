/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions to time next inside an edge, and what their times say. Pure. */
#ifndef CONTROLPLANE_SEARCH_FUNCTIONS_H
#define CONTROLPLANE_SEARCH_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/differential.h"

enum { FUNCTION_NAME_MAX = 100 }; /* of one that is probed */

/* What begin and end of a call cost its thread at most (below/probes/probe_price.h), and which part of the edge's time the calls of a function
 * may take by that. */
#define FUNCTION_CALL_NS 25000.0
#define FUNCTION_COST_MAX 0.1
#define FUNCTION_TORN_MAX 0.05 /* share of requests with calls of which only one end was seen */

/* The name of a node's function, without its line; false: it has none that could be probed, or is where threads begin. */
bool function_name(char ret[FUNCTION_NAME_MAX + 1], const struct difference_node *node);

/*
 * The next functions below the node `at`, top-down: the nearest to it first, of equally near ones those with more. Only those with at least
 * that share of what the edge has: by_latency: of its time in slow requests, else of what slow requests have more of it than the others.
 * tried[count]: those that are left out; sets it for those that are chosen, and for all nodes with the same name. Returns how many, at most
 * max. O(count x max x depth).
 */
uint32_t functions_choose(uint32_t *ret, uint32_t max, const struct difference_node *tree,
    uint32_t count, uint32_t at, bool by_latency, double share_min, bool *tried);

/* Whether calls of a function may be timed: so many in a request, in so much time of the edge. */
bool function_is_timed(double calls, double edge_ns);

/* Whether more requests may show that a function takes over: its share is large enough, but its interval has 0. edge_share, share_min: as
 * below. */
bool functions_are_unsure(
    const struct edge_share *functions, uint32_t n, double edge_share, double share_min);

/* Of the functions that were timed side by side, the one to go on below: of those that take over, the deepest, of equally deep ones that
 * with the larger share. share_min: part of the edge's share. Sets over[n]: which take over. UINT32_MAX: none does. */
uint32_t functions_follow(bool *over, const struct edge_share *functions, const uint32_t *nodes,
    uint32_t n, double edge_share, double share_min, const struct difference_node *tree);

#endif
