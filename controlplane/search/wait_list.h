/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The newest waits of the requests under diagnosis: the time of each edge of their critical paths
 * that lies between two units, and of the gaps that searches examine. A verdict asks what its edge
 * waited for (analysis/thread_history.h).
 */
#ifndef CONTROLPLANE_SEARCH_WAIT_LIST_H
#define CONTROLPLANE_SEARCH_WAIT_LIST_H

#include "analysis/critpath.h"
#include "analysis/thread_history.h"
#include "controlplane/search/gap.h"

enum { WAITS_MAX = 4096 };

struct listed_wait {
	struct gap gap; /* nth and back are not set: all positions of these ends count */
	struct thread_wait wait;
	bool between; /* it lies between two units */
};

struct wait_list {                 /* all zeroes is empty */
	struct listed_wait *items; /* a ring from items[next] on, once it is full */
	uint32_t nitems, items_cap, next;
};

void wait_list_release(struct wait_list *l);

/* gap NULL: adds the edges of the path that lie between two units. Otherwise: those within a unit that
 * have the ends of this gap. O(steps). ERR_MEMORY. */
int wait_list_add(struct wait_list *l, const struct trace *t, const struct critpath *path,
    const struct gap *gap, struct err *e);

/* The waits between the ends of this gap, in the arena. Returns their number; NULL with 0: none, or
 * no memory. O(WAITS_MAX). */
struct thread_wait *wait_list_of(
    const struct wait_list *l, const struct gap *gap, uint32_t *n, struct arena *a);

#endif
