/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where units of work were active, of the records that their threads wrote for them. A unit is sequential: it is on one thread at a time, and
 * moves between threads (libhone: hone_detach(), hone_attach()), which no record shows.
 *
 *	thread 7   U.. U ..... U        V .... V          U: [1st, 2nd, 3rd record] on 7, then on 8
 *	thread 8                   U ... U                between 7 and 8 it is on no thread that is known
 *
 * So a unit is active on a thread from one of its records to its next one, if both are on that thread and no other unit wrote a record there
 * in between. The rest of its time is not attributed to any thread: it is not known when the unit left the one and came to the other.
 *
 * Where the recording says which unit a thread was seen to work for (KERNEL_UNIT), it is more: on such a thread a unit is active from the time
 * at which a record or the kernel says so until another time at which one of them says something else. What lies between the two is known to
 * the next entry into the kernel: a unit that leaves a thread keeps it until the thread makes a system call or is switched.
 *
 * A program's own spans within a unit (a pair of tracepoints) are active where the unit is, from their begin to their end.
 */
#ifndef KERNEL_SPANS_SPAN_PLACES_H
#define KERNEL_SPANS_SPAN_PLACES_H

#include "base/err.h"
#include "kernel/spans/span_values.h"

struct place_record {
	int64_t time_ns;
	uint32_t host, tid;
	uint32_t unit; /* records of one unit of equal time keep their order */
};

struct place_note { /* of KERNEL_UNIT */
	int64_t time_ns;
	uint32_t host, tid;
	uint32_t unit; /* SPAN_NONE: none, or one of which there is no record */
};

struct span_of_unit {
	int64_t from_ns, to_ns;
	uint32_t unit, span;
};

struct span_places { /* all zeroes is empty */
	struct span_place *list;
	size_t nlist, list_cap;
};

/* Adds the places of all spans; a unit may have several, also one for the whole of it. Sorts the spans. O(n log n + places). ERR_MEMORY; ERR_FULL: over
 * places_max. */
int span_places_add(struct span_places *to, const struct place_record *records, size_t nrecords,
    const struct place_note *notes, size_t nnotes, struct span_of_unit *spans, size_t nspans,
    size_t places_max, struct err *e);
void span_places_release(struct span_places *p);

#endif
