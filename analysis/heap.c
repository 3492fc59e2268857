/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>

#include "analysis/heap.h"
#include "base/array.h"

static inline bool
heap_less(const struct heap_slot *a, const struct heap_slot *b)
{
	return a->key_ns != b->key_ns ? a->key_ns < b->key_ns : a->id < b->id;
}

static inline void
heap_set(struct heap *heaps, int which, uint32_t at, struct heap_slot s)
{
	heaps[which].slots[at] = s;
	s.p->heap_at[which] = at;
}

/* Inserts s where it belongs, starting at the free position `at`. */
static void
heap_sift(struct heap *heaps, int which, uint32_t at, struct heap_slot s)
{
	struct heap *h = &heaps[which];
	uint32_t child;

	for (; at > 0 && heap_less(&s, &h->slots[(at - 1) / 2]); at = (at - 1) / 2)
		heap_set(heaps, which, at, h->slots[(at - 1) / 2]);
	while ((child = 2 * at + 1) < h->count) {
		if (child + 1 < h->count && heap_less(&h->slots[child + 1], &h->slots[child]))
			child++;
		if (!heap_less(&h->slots[child], &s))
			break;
		heap_set(heaps, which, at, h->slots[child]);
		at = child;
	}
	heap_set(heaps, which, at, s);
}

bool
heap_room(struct heap *h)
{
	return array_reserve(h->slots, h->cap, h->count + 1);
}

void
heap_add(struct heap *heaps, int which, struct pending_trace *p, int64_t key_ns)
{
	struct heap *h = &heaps[which];

	assert(h->count < h->cap);
	h->count++;
	heap_sift(heaps, which, h->count - 1, (struct heap_slot){ key_ns, p->id, p });
}

void
heap_take(struct heap *heaps, int which, struct pending_trace *p)
{
	struct heap *h = &heaps[which];
	uint32_t at = p->heap_at[which];

	assert(at < h->count && h->slots[at].p == p);
	if (at != --h->count)
		heap_sift(heaps, which, at, h->slots[h->count]);
}

void
heap_move(struct heap *heaps, int which, struct pending_trace *p, int64_t key_ns)
{
	assert(heaps[which].slots[p->heap_at[which]].p == p);
	heap_sift(heaps, which, p->heap_at[which], (struct heap_slot){ key_ns, p->id, p });
}
