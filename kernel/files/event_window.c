/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/files/event_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { STEPS_BACK_MAX = 256, QUEUE_FIRST = 8, RINGS = 4 };

struct cpu_queue { /* a ring: cap is a power of two */
	struct windowed_event *items;
	uint32_t first, count, cap;
};

struct event_window {
	struct cpu_queue *queues; /* by CPU */
	uint32_t nqueues, queues_cap;
	uint32_t *heap; /* CPUs whose queues have events, the earliest first */
	uint32_t nheap, heap_cap;
	size_t held, held_max; /* events; the rings have room for up to RINGS times as many */
	uint64_t order;
	int64_t left_ns; /* of the last event that left */
	bool any_left;
};

struct event_window *
event_window_new(size_t max_bytes)
{
	struct event_window *w = calloc(1, sizeof *w);

	if (w != NULL)
		w->held_max = max_bytes / sizeof(struct windowed_event) / RINGS + 1;
	return w;
}

void
event_window_free(struct event_window *w)
{
	if (w == NULL)
		return;
	for (uint32_t i = 0; i < w->nqueues; i++)
		free(w->queues[i].items);
	free(w->queues);
	free(w->heap);
	free(w);
}

bool
event_window_full(const struct event_window *w)
{
	return w->held >= w->held_max;
}

/* ---- queues ----------------------------------------------------------------- */

static struct windowed_event *
item(struct cpu_queue *q, uint32_t at)
{
	return &q->items[(q->first + at) & (q->cap - 1)];
}

static bool
resize(struct cpu_queue *q, uint32_t cap)
{
	struct windowed_event *items = malloc(cap * sizeof *items);

	if (items == NULL)
		return false;
	for (uint32_t i = 0; i < q->count; i++)
		items[i] = *item(q, i);
	free(q->items);
	q->items = items;
	q->first = 0;
	q->cap = cap;
	return true;
}

static bool
make_room(struct cpu_queue *q)
{
	if (q->count < q->cap)
		return true;
	return q->cap < UINT32_MAX / 4 && resize(q, q->cap == 0 ? QUEUE_FIRST : 2 * q->cap);
}

/* A ring keeps at most RINGS times as much room as it has events, so that all together are bounded. */
static void
give_back(struct cpu_queue *q)
{
	if (q->cap > QUEUE_FIRST && q->count < q->cap / RINGS)
		resize(q, q->cap / 2); /* without memory it stays as it is */
}

/* Puts the event behind those of its CPU that are not later. */
static bool
insert(struct cpu_queue *q, const struct kernel_event *ev, uint64_t order)
{
	uint32_t at = q->count, steps = 0;

	while (at > 0 && item(q, at - 1)->ev.time_ns > ev->time_ns)
		if (at--, ++steps > STEPS_BACK_MAX)
			return false;
	for (uint32_t i = q->count; i > at; i--)
		*item(q, i) = *item(q, i - 1);
	*item(q, at) = (struct windowed_event){ *ev, order };
	q->count++;
	return true;
}

/* ---- the heap --------------------------------------------------------------- */

static bool
is_before(struct event_window *w, uint32_t a, uint32_t b)
{
	const struct windowed_event *x = item(&w->queues[a], 0), *y = item(&w->queues[b], 0);

	return x->ev.time_ns != y->ev.time_ns ? x->ev.time_ns < y->ev.time_ns : x->order < y->order;
}

static void
sift_down(struct event_window *w, uint32_t at)
{
	uint32_t moved = w->heap[at];

	for (uint32_t child; (child = 2 * at + 1) < w->nheap; at = child) {
		if (child + 1 < w->nheap && is_before(w, w->heap[child + 1], w->heap[child]))
			child++;
		if (!is_before(w, w->heap[child], moved))
			break;
		w->heap[at] = w->heap[child];
	}
	w->heap[at] = moved;
}

static void
sift_up(struct event_window *w, uint32_t at)
{
	uint32_t moved = w->heap[at];

	for (; at > 0 && is_before(w, moved, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
		w->heap[at] = w->heap[(at - 1) / 2];
	w->heap[at] = moved;
}

/* ---- events ----------------------------------------------------------------- */

static struct cpu_queue *
queue_of(struct event_window *w, uint16_t cpu)
{
	uint32_t n = (uint32_t)cpu + 1;

	if (n > w->nqueues) {
		if (!array_reserve(w->queues, w->queues_cap, n) ||
		    !array_reserve(w->heap, w->heap_cap, n))
			return NULL;
		memset(&w->queues[w->nqueues], 0, (n - w->nqueues) * sizeof *w->queues);
		w->nqueues = n;
	}
	return &w->queues[cpu];
}

enum window_took
event_window_add(struct event_window *w, const struct kernel_event *ev)
{
	struct cpu_queue *q = queue_of(w, ev->cpu);
	bool was_empty, moved;

	if (q == NULL || !make_room(q))
		return WINDOW_NO_MEMORY;
	if (w->any_left && ev->time_ns < w->left_ns)
		return WINDOW_LATE;
	was_empty = q->count == 0;
	moved = !was_empty && item(q, q->count - 1)->ev.time_ns > ev->time_ns;
	if (!insert(q, ev, w->order))
		return WINDOW_LATE;
	w->order++;
	w->held++;
	if (was_empty) {
		w->heap[w->nheap] = ev->cpu;
		sift_up(w, w->nheap++);
	} else if (item(q, 0)->order == w->order - 1) { /* it is the first of its queue now */
		for (uint32_t i = 0; i < w->nheap; i++)
			if (w->heap[i] == ev->cpu)
				sift_up(w, i);
	}
	return moved ? WINDOW_MOVED : WINDOW_TOOK;
}

bool
event_window_take(struct event_window *w, struct windowed_event *ret)
{
	struct cpu_queue *q;

	if (w->nheap == 0)
		return false;
	q = &w->queues[w->heap[0]];
	*ret = *item(q, 0);
	q->first = (q->first + 1) & (q->cap - 1);
	w->held--;
	w->left_ns = ret->ev.time_ns;
	w->any_left = true;
	q->count--;
	give_back(q);
	if (q->count == 0)
		w->heap[0] = w->heap[--w->nheap];
	if (w->nheap > 0)
		sift_down(w, 0);
	return true;
}
