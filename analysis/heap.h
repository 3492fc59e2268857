/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The priority queues of incomplete traces: by the time when a trace is due, by its first record, and
 * for each node by the watermark of it that a trace waits for. Binary heaps (Williams 1964) whose traces know their positions, so that any
 * trace can be moved or removed. Used by assemble.c.
 */
#ifndef ANALYSIS_HEAP_H
#define ANALYSIS_HEAP_H

#include "analysis/pending_trace.h"

enum heap_kind { BY_DUE, BY_FIRST, BY_NODE };

struct heap_slot {
	int64_t key_ns;
	uint64_t id; /* second criterion for equal keys */
	struct pending_trace *p;
};

struct heap { /* all zeroes is empty; slots[0] is the least; the owner frees slots */
	struct heap_slot *slots;
	uint32_t count, cap;
};

/* A trace is in one heap of each kind at most. All O(log n);
 * heap_room() makes room for one more trace (false: out of memory) and must precede
 * heap_add(). */
bool heap_room(struct heap *h);
void heap_add(struct heap *h, enum heap_kind kind, struct pending_trace *p, int64_t key_ns);
void heap_take(struct heap *h, enum heap_kind kind, struct pending_trace *p);
void heap_move(struct heap *h, enum heap_kind kind, struct pending_trace *p, int64_t key_ns);

#endif
