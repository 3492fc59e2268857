/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which groups of a diagnosis have a problem, by always-on labels alone. */
#ifndef CONTROLPLANE_SEARCH_WATCH_H
#define CONTROLPLANE_SEARCH_WATCH_H

#include "controlplane/search/search_state.h"

enum { ELIGIBLE_MAX = 16 };

struct judged_group { /* a group, and its finding when it had n traces */
	const struct group *group;
	uint64_t n; /* 0: not judged yet */
	struct finding
	    finding; /* its edges are allocated. Compared with a baseline, top is the edge with most that is new */
	/* Of what the edges carry, the part that is new, 0 to 1: [finding.nedges], allocated. NULL: there is no baseline, or the
	 * problem is another one than variance. */
	double *new_parts;
};
struct watched { /* the groups of highest rank, from one call of eligible_groups() to the next */
	uint32_t n;
	struct judged_group judged[ELIGIBLE_MAX];
};
struct eligible { /* a group with a problem */
	struct group *group;
	struct judged_group *judged; /* the diagnosis's, until the next call of eligible_groups() */
};

/* Of the ELIGIBLE_MAX groups of highest rank, by a cheap estimate of cost, those with a problem,
 * costliest first. A group is judged again when it has a sixteenth more traces; after the deadline,
 * whenever it has more. O(groups), and 0.2 ms for each that is judged. How many, or ERR_MEMORY. */
int eligible_groups(struct eligible out[ELIGIBLE_MAX], const struct search_port *port,
    struct diagnosis *d, bool deadline_passed, struct err *e);
/* Judges it by all its traces, with the intervals of shares. 1: it has a problem, and one edge
 * stands out, or has nearly all of the variance, or it has NEXT_PLENTY traces, or `enough`; 0: not; or ERR_MEMORY. Some tenths of a ms.
 */
int eligible_surely(const struct eligible *r, const struct search_port *port, struct diagnosis *d,
    bool enough, struct err *e);
void watched_free(struct watched *w); /* NULL is fine */

#endif
