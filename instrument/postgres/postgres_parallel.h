/* SPDX-License-Identifier: MIT */
/*
 * Parallel workers: separate processes that run a part of a plan. The
 * leader forks a link for each worker that its plan needs (at most 16) and puts them
 * into shared memory, where each worker takes one. After the run the leader joins
 * the links that were taken. A worker that finds no link left (when a part of the
 * plan is restarted) has no unit.
 */
#ifndef HONE_POSTGRES_PARALLEL_H
#define HONE_POSTGRES_PARALLEL_H

#include "nodes/plannodes.h"

/* Once, in the postmaster. */
void parallel_init(void);

/* For the leader, around the run of a plan at this depth of hooks; parallel_join() only if the run did
 * not end in an error. A run inside of a run that has workers forks no links. Cost for a plan without
 * workers: two loads. */
void parallel_fork(const PlannedStmt *plan, int depth);
void parallel_join(int depth);

/* For a worker, around its part of the plan: its unit begins and ends. No effect in other processes. */
void parallel_begin(void);
void parallel_end(void);

#endif
