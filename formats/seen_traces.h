/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The traces that were handed out, so that one that is read twice, from a file that was given twice
 * or from two files that both have it, counts once. A trace is known by its id and by its content:
 * the times, links, labels and values of its events, in any order. Used by reading.c alone.
 *
 * Bounded memory: two tables of equal size. When the newer one is full, the older one is emptied and
 * takes its place, so at least the last `bytes_max` / 86 traces are known (16 bytes a slot, three
 * quarters of the slots in use, half of the memory, and tables that double).
 */
#ifndef FORMATS_SEEN_TRACES_H
#define FORMATS_SEEN_TRACES_H

#include <stddef.h>

#include "analysis/trace.h"
#include "base/hash_table.h"

struct seen_traces {
	struct hash_table tables[2]; /* hash of the id to 32 bits of the content's hash */
	int newer;                   /* index of the table that is being filled */
	uint32_t count_max;          /* of each table */
};

enum seen {
	SEEN_NEVER,
	SEEN_BEFORE, /* the same trace */
	SEEN_ID      /* another trace with the same id */
};

void seen_traces_init(struct seen_traces *s, size_t bytes_max);
void seen_traces_release(struct seen_traces *s);

/* Looks the trace up and adds it; without memory to add it, it is not remembered. *ret as above.
 * O(events). Two different traces of one id are confused with a probability of 2^-32, two of
 * different ids with 2^-64. */
enum seen seen_traces_add(struct seen_traces *s, const struct trace *t);

#endif
