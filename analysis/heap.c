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
heap_set(struct heap *h, enum heap_kind kind, uint32_t at, struct heap_slot s)
{
	h->slots[at] = s;
	s.p->heap_at[kind] = at;
}

/* Inserts s where it belongs, starting at the free position `at`. */
static void
heap_sift(struct heap *h, enum heap_kind kind, uint32_t at, struct heap_slot s)
{
	uint32_t child;

	for (; at > 0 && heap_less(&s, &h->slots[(at - 1) / 2]); at = (at - 1) / 2)
		heap_set(h, kind, at, h->slots[(at - 1) / 2]);
	while ((child = 2 * at + 1) < h->count) {
		if (child + 1 < h->count && heap_less(&h->slots[child + 1], &h->slots[child]))
			child++;
		if (!heap_less(&h->slots[child], &s))
			break;
		heap_set(h, kind, at, h->slots[child]);
		at = child;
	}
	heap_set(h, kind, at, s);
}

bool
heap_room(struct heap *h)
{
	return array_reserve(h->slots, h->cap, h->count + 1);
}

void
heap_add(struct heap *h, enum heap_kind kind, struct pending_trace *p, int64_t key_ns)
{
	assert(h->count < h->cap);
	h->count++;
	heap_sift(h, kind, h->count - 1, (struct heap_slot){ key_ns, p->id, p });
}

void
heap_take(struct heap *h, enum heap_kind kind, struct pending_trace *p)
{
	uint32_t at = p->heap_at[kind];

	assert(at < h->count && h->slots[at].p == p);
	if (at != --h->count)
		heap_sift(h, kind, at, h->slots[h->count]);
}

void
heap_move(struct heap *h, enum heap_kind kind, struct pending_trace *p, int64_t key_ns)
{
	assert(h->slots[p->heap_at[kind]].p == p);
	heap_sift(h, kind, p->heap_at[kind], (struct heap_slot){ key_ns, p->id, p });
}
