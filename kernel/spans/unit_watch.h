/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What kernel events say of the units that threads work for: notes for span_places_add(). KERNEL_UNIT says that a thread is seen with another unit than before; so
 * each time that it is seen without one (at the begin of a system call, and when it leaves its CPU) it still has the one that was said last. Of
 * those only the first after a record of a unit matters, since the record may say something else: so there are at most as many notes as
 * records and events KERNEL_UNIT.
 */
#ifndef KERNEL_SPANS_UNIT_WATCH_H
#define KERNEL_SPANS_UNIT_WATCH_H

#include "kernel/event.h"
#include "kernel/spans/span_places.h"

struct unit_id {
	uint64_t id; /* libhone's */
	uint32_t unit;
};

struct unit_watch;

/* Copies the records. Of several units of one id the last one counts. ERR_MEMORY. O(n log n). */
int unit_watch_new(struct unit_watch **ret, const struct place_record *records, size_t nrecords,
    const struct unit_id *ids, size_t nids, struct err *e);
void unit_watch_free(struct unit_watch *w);

/* Takes an event: a kernel_take; of each host in the order of time. O(1) expected. ERR_MEMORY; ERR_FULL: over 2^22 notes (96 MiB). */
int unit_watch_take(void *w, const struct kernel_event *ev, struct err *e);

/* What was said so far; none if no event KERNEL_UNIT came: then silence says nothing. */
const struct place_note *unit_watch_notes(const struct unit_watch *w, size_t *n);

#endif
