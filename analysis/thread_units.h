/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which units are open on each thread, by the records of their begins and ends. A unit that begins on a
 * thread where one of another trace is open shares that thread with it: either the other one was taken
 * off the thread (hone_detach), which no record shows, or the thread still has its context.
 */
#ifndef ANALYSIS_THREAD_UNITS_H
#define ANALYSIS_THREAD_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/record.h"

enum { THREAD_UNITS_MAX = 4 }; /* open units of a thread that are known; the oldest is forgotten */

struct thread_units; /* of 4096 threads; a further one takes the place of another one */

struct open_unit {
	uint64_t trace_id, unit_id;
};

struct thread_units *thread_units_new(void); /* NULL: out of memory */
void thread_units_free(struct thread_units *t);

/* Takes a begin or an end of a request or a unit; other kinds have no effect. Those of one node come
 * in the order of time. Returns how many units of other traces were open on its thread when this one
 * began: they are in `shared`. A request that begins discards the units of its thread, as libhone
 * does. O(1). */
uint32_t thread_units_note(struct thread_units *t, uint32_t node, enum record_kind kind,
    const struct record *r, struct open_unit shared[THREAD_UNITS_MAX]);

#endif
