/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the forest in its database: opens it, commits what changed, deletes old diagnoses. */
#ifndef CONTROLPLANE_HONED_FOREST_KEEPER_H
#define CONTROLPLANE_HONED_FOREST_KEEPER_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/honed/calendar.h"
#include "controlplane/honed/forest_feed.h"
#include "forest/forest.h"

struct forest_keeper {
	const char *path; /* borrowed */
	struct forest *forest;
	struct store *store;
	int64_t history_days,
	    size_max_bytes;       /* beyond these, old diagnoses are deleted; 0: never */
	char trouble[400];        /* why the last commit failed, or "" */
	struct mono tried;        /* the last commit that failed */
	struct err prune_trouble; /* logged once */
	struct mono pruned;       /* when the last pruning was complete */
	struct wall newest;       /* the newest row of the audit when it was opened; ns 0: none */
	struct calendar calendar; /* the time to prune by */
	struct forest_feed *feed; /* borrowed: gets each commit; NULL: nobody does */
};

/* Opens the database and ends what was active when an earlier controller died: leases have disabled
 * its tracepoints. *k is to be closed in any case. O(file). */
int forest_keeper_open(struct forest_keeper *k, const char *path, int64_t history_days,
    int64_t size_max_bytes, struct err *e);
void forest_keeper_close(struct forest_keeper *k);
/* Commits what changed, at most once a second while that fails. True: all of it is in the database.
 */
bool forest_keeper_commit(struct forest_keeper *k);
/* Deletes a few old diagnoses and rows of the audit, at most once a minute when none were left. What is old is decided by
 * the calendar: a clock that steps forward deletes nothing for a day. */
void forest_keeper_prune(struct forest_keeper *k, struct wall wall, struct mono now);

#endif
