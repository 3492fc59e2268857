/* SPDX-License-Identifier: MIT */
/*
 * Parallel workers: separate processes that run a part of a plan. The
 * leader forks a link for each worker that its plan asks for, and leaves them
 * in shared memory, where a worker takes one; when the plan has run, the leader
 * joins those that were taken. A worker for which no link is left (a part that
 * is started over) has no unit.
 */
#ifndef HONE_POSTGRES_PARALLEL_H
#define HONE_POSTGRES_PARALLEL_H

#include "nodes/plannodes.h"

/* Once, in the postmaster. */
void parallel_init(void);

/* The leader, around a run of a plan at this depth of hooks; parallel_join(): only if the run came
 * to its end. A plan without workers: two loads. A run inside of a run that has workers forks no
 * links of its own. */
void parallel_fork(const PlannedStmt *plan, int depth);
void parallel_join(int depth);

/* A worker, around its part; in any other process they do nothing. */
void parallel_begin(void);
void parallel_end(void);

#endif
