/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is left of a problem after a verdict: how much, and searches for the places that carry it. */
#ifndef CONTROLPLANE_SEARCH_SEARCH_REST_H
#define CONTROLPLANE_SEARCH_SEARCH_REST_H

#include "controlplane/search/search_state.h"

/* effect_of() a place with this share of the search's group; variance: of its response times (ns^2), where
 * the diagnosis does not have the group any more. O(groups). */
double search_effect(
    const struct search_port *port, const struct search *s, double share, double variance);

/* What all verdicts about the search's group leave of its problem, as an effect: 0 to 1. Of a slow group: the
 * share of the latency above the limit from which on it is slow. O(searches + groups). */
double search_left(const struct search_port *port, const struct search *s);

/*
 * The search has just got its verdict, which names that edge of the group. Edges of its path that no search
 * was about, and that have the least effect without the named one, become searches of their own, the
 * largest first, as rest_step() (worth.h) says; none where a tail is searched. Must be called while the search has its traces. 0 or a negative
 * code. O(edges x groups x edges + places x samples x edges).
 */
int search_rest(struct search_port *port, const struct search *s, const struct group *group,
    uint32_t edge, struct err *e);

#endif
