/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts events in the order of time that come nearly so: those of each CPU are in order, but the CPUs are not (logs that
 * a tracer writes CPU by CPU), or neighbours are exchanged. A queue for each CPU, merged by a heap (Knuth, TAOCP 3, 5.4.1).
 */
#ifndef KERNEL_FILES_EVENT_WINDOW_H
#define KERNEL_FILES_EVENT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/event.h"

struct windowed_event {
	struct kernel_event ev;
	uint64_t order; /* in which it came */
};

struct event_window;

/* Holds events in up to max_bytes, and 450 bytes for each CPU. NULL: out of memory. */
struct event_window *event_window_new(size_t max_bytes);
void event_window_free(struct event_window *w);

enum window_took {
	WINDOW_TOOK,
	WINDOW_MOVED, /* taken, and put before events of its CPU that came earlier */
	WINDOW_LATE,
	WINDOW_NO_MEMORY
};

/* Adds an event. WINDOW_LATE: events of later times have left already, or it is earlier than over 256 events of its CPU
 * that came before; it is not taken. O(1) amortised for events that are in the order of their CPU. */
enum window_took event_window_add(struct event_window *w, const struct kernel_event *ev);

/* Whether the window is full, so that one has to leave before the next comes. */
bool event_window_full(const struct event_window *w);

/* Takes out the earliest event, of equal times the one that came first. False: there is none. O(log CPUs). */
bool event_window_take(struct event_window *w, struct windowed_event *ret);

#endif
