/* SPDX-License-Identifier: MIT */
/*
 * The hooks that we are in, one inside the other. Each tells its end itself,
 * also where an error is thrown through it; but where the server ends a
 * process (FATAL), nothing of ours is on the way. Then spans_end() tells the
 * ends of those that are open.
 */
#ifndef HONE_POSTGRES_SPANS_H
#define HONE_POSTGRES_SPANS_H

enum span { SPAN_PLAN, SPAN_START, SPAN_RUN, SPAN_FINISH, SPAN_CLOSE, SPAN_UTILITY };

/* How many hooks are around us; 0: what comes next was asked for by the client. */
extern int spans_depth;

/* Around a hook's work. */
void span_enter(enum span span);
void span_leave(void);

/* For before_shmem_exit(), while the unit is still there. */
void spans_end(void);

#endif
