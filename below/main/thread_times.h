/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From looks at a thread, each some time after the last one, to waits and samples. Pure.
 *
 *	looks       out   |  asleep  asleep |  on    on  |  asleep | out
 *	            ?     |<---- wait ----->|<- ready ->|<- samples ->|<- wait ->|  ?
 *
 * The kernel counts for each thread how long it ran, how long it was ready, and how often it got a CPU. So:
 *  - asleep in two looks without a CPU between them: one wait, all of the time.
 *  - between a wait and the next one: the time that it ran and was ready is exact, and lies so that both ends are as likely early
 *    as late. What is left between two looks on a CPU is unknown: it slept there, and no look saw why.
 *  - from the last look before a unit to the first one in it, and from the last one in it on: unknown.
 * So a state is right within the time between two looks; one that is shorter than that may be missed.
 */
#ifndef BELOW_MAIN_THREAD_TIMES_H
#define BELOW_MAIN_THREAD_TIMES_H

#include "below/main/places.h"

enum { THREAD_TIMES_LOOKS_MAX = 64 };

struct thread_look {
	int64_t time_ns;
	bool inside; /* a probed unit, of these ids */
	uint64_t trace_id, unit_id;
	uint64_t run_ns, ready_ns, turns; /* the kernel's counts: times on a CPU */
	bool asleep;                      /* else on a CPU or ready */
	/* Of its sleep, as in struct below_wait: */
	enum below_state state, owner_state;
	uint32_t place, owner_tid, owner_place;
	uint64_t lock;
};

struct thread_times { /* of a thread. All zeroes but for the ids: no look yet */
	uint32_t pid, tid;
	struct thread_look last;  /* the last look; time_ns 0: none */
	struct thread_look sleep; /* the first look at the present wait, while has_sleep */
	struct thread_look
	    base; /* the last look at it, or at which the present time on CPUs begins */
	bool has_sleep;
	int64_t begin_ns; /* of the wait */
	uint32_t non;     /* looks at the thread on a CPU since then */
	int64_t on[THREAD_TIMES_LOOKS_MAX];
};

/* Whether this look is of the same sleep as the last one: the thread had no CPU since. What it sleeps for is then not read again. */
bool thread_times_sleeps_on(const struct thread_times *t, const struct thread_look *l);

/* Takes the next look, and hands on what is certain by it. */
void thread_times_look(
    struct thread_times *t, const struct thread_look *l, below_take *take, void *of);

/* Hands on the rest: no look will come. */
void thread_times_end(struct thread_times *t, below_take *take, void *of);

/* All that it will hand on ends at this time or later; INT64_MAX: nothing is open. */
int64_t thread_times_open_ns(const struct thread_times *t);

#endif
