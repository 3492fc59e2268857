/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two orders that held traces stand in: which is due first, and which began
 * first. Binary heaps that know where each trace stands, so that one can be moved
 * or taken out of the middle. Used by assemble.c alone.
 */
#ifndef ANALYSIS_HEAP_H
#define ANALYSIS_HEAP_H

#include "analysis/pending_trace.h"

enum { BY_DUE, BY_FIRST, HEAPS };

struct heap_slot {
	int64_t key_ns;
	uint64_t id; /* where keys tie */
	struct pending_trace *p;
};

struct heap { /* all zeroes is empty; the first slot is the least; slots are the owner's to free */
	struct heap_slot *slots;
	uint32_t count, cap;
};

/* `heaps`: both; `which`: the one that is meant. */
bool heap_room(struct heap *h); /* for one more; false: out of memory */
void heap_add(struct heap *heaps, int which, struct pending_trace *p,
    int64_t key_ns); /* after heap_room(). O(log n) */
void heap_take(struct heap *heaps, int which, struct pending_trace *p); /* O(log n) */
void heap_move(struct heap *heaps, int which, struct pending_trace *p,
    int64_t key_ns); /* another key. O(log n) */

#endif
