/* SPDX-License-Identifier: MIT */
/*
 * The nested hooks that are being executed. Each hook emits its end tracepoint
 * itself, also if an error is thrown through it. But if the server ends the process
 * (FATAL), the hooks are not left; then spans_end() emits the missing ends.
 */
#ifndef HONE_POSTGRES_SPANS_H
#define HONE_POSTGRES_SPANS_H

enum span { SPAN_PLAN, SPAN_START, SPAN_RUN, SPAN_FINISH, SPAN_CLOSE, SPAN_UTILITY };

/* The number of hooks being executed; 0: the next one executes a request of the client itself. */
extern int spans_depth;

/* Around the work of a hook, in pairs. */
void span_enter(enum span span);
void span_leave(void);

/* Emits the end of all open spans. For before_shmem_exit(), before the unit ends. */
void spans_end(void);

#endif
