/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The searches of a diagnosis: added, and compared with each other. */
#ifndef CONTROLPLANE_SEARCH_SEARCH_LIST_H
#define CONTROLPLANE_SEARCH_SEARCH_LIST_H

#include "controlplane/search/search_state.h"

enum { SEARCHES_MAX = 32 }; /* of one diagnosis */

/* It waits; the diagnosis owns it. NULL: out of memory. There must be fewer than SEARCHES_MAX. */
struct search *search_list_add(struct diagnosis *d, const struct gap *gap, struct hash128 group_id);
/* A search is about an edge with these ends, or was when it began. */
bool search_list_has_gap(const struct diagnosis *d, const struct gap *gap);
bool search_list_has_group(const struct diagnosis *d, struct hash128 group_id);
/* Another search of the same requests is at the same edge, or had a verdict there: of a unit that is
 * called from two positions, or of a loop's first iteration and the others. */
bool search_is_duplicate(const struct search *s);
/* A part of a gap that it had has a search of its own, which has not ended, or has a verdict. */
bool search_list_has_beside(const struct search *s);
/* A part of the gap of `by` that is not followed has a problem of its own: adds a search for it,
 * unless there is one. 0 or a negative code. */
int search_list_add_beside(struct search_port *port, const struct search *by,
    const struct measured *m, const struct part *part, struct err *e);
/* That edge of the group carries what the verdict of `by` leaves of the problem: adds a search for it, unless there
 * are SEARCHES_MAX. m: the edge as a gap, in the population of `by`. 0 or a negative code. */
int search_list_add_rest(struct search_port *port, const struct search *by,
    const struct measured *m, const struct group *group, uint32_t edge, struct err *e);

#endif
