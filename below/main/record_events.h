/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes kernel events of the records of record.bpf.c. Pure. */
#ifndef BELOW_MAIN_RECORD_EVENTS_H
#define BELOW_MAIN_RECORD_EVENTS_H

#include "below/kernel/record_bpf.h"
#include "kernel/event.h"

struct record_events {
	struct kernel_names *names;
	const char *const *counted; /* names of what is counted, by RECORD_COUNTED's number */
	size_t ncounted;
};

enum { RECORD_EVENTS_MAX = 2 };

/* Writes the events that the record stands for, and returns their number, 0 to RECORD_EVENTS_MAX: a record that is too short gives
 * none. ERR_MEMORY. cpu: UINT32_MAX: all. O(1) expected. */
int record_events_make(const struct record_events *x, uint32_t cpu, const struct record_head *h,
    size_t len, struct kernel_event ret[RECORD_EVENTS_MAX]);

/* How a message begins, if that is text: its first line, without what ends it; of what is no text, or if a byte of the line is not
 * printable ASCII, nothing. Returns the number of bytes. */
size_t record_events_line(const uint8_t *bytes, size_t len);

#endif
