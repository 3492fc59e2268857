/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Items of one size that stay at their address, in chunks, and handles by which one item refers to another that may end before it:
 * the handle of an item that was given back is none from then on.
 */
#ifndef KERNEL_REQUESTS_HANDLE_POOL_H
#define KERNEL_REQUESTS_HANDLE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct handle { /* all zeroes: none */
	uint32_t at, generation;
};

struct pooled { /* the first member of each item */
	struct handle self;
	uint32_t next_free;
	bool used;
};

struct handle_pool {
	size_t item_bytes;
	uint32_t max;  /* items */
	char **chunks; /* NULL: not made yet */
	uint32_t made, count, first_free;
};

/* max > 0. False: out of memory. */
bool handle_pool_init(struct handle_pool *p, size_t item_bytes, uint32_t max);
void handle_pool_release(struct handle_pool *p);

/* An item, all zeroes but for its first member. NULL: there are max of them, or out of memory (count < max). O(1). */
void *handle_pool_take(struct handle_pool *p);
/* Gives an item back. */
void handle_pool_give(struct handle_pool *p, void *item);

enum { POOL_CHUNK_ITEMS = 256 };

/* The item of a handle; NULL: none, or it was given back. O(1). */
static inline void *
handle_pool_get(const struct handle_pool *p, struct handle h)
{
	struct pooled *item;

	if (h.generation == 0)
		return NULL;
	item = (struct pooled *)(p->chunks[h.at / POOL_CHUNK_ITEMS] +
				 h.at % POOL_CHUNK_ITEMS * p->item_bytes);
	return item->used && item->self.generation == h.generation ? item : NULL;
}

static inline bool
same_handle(struct handle a, struct handle b)
{
	return a.at == b.at && a.generation == b.generation;
}

#endif
