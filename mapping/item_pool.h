/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Things of one size, by number, and found by a key: chained hashing with the
 * links in the things themselves, so that nothing is allocated but when there are more of them than
 * ever before.
 */
#ifndef MAPPING_ITEM_POOL_H
#define MAPPING_ITEM_POOL_H

#include <stddef.h>
#include <stdint.h>

#define ITEM_NONE UINT32_MAX

struct item_pool_link { /* the first member of a thing; the pool's */
	uint64_t key;
	uint32_t next;
};

struct item_pool { /* { .item_bytes, .max, .seed } is an empty one */
	size_t item_bytes;
	uint32_t max;              /* things, a power of two */
	uint64_t seed;             /* so that nobody outside can choose what collides */
	uint32_t count, cap, free; /* free: the first of those; they are linked */
	char *items;
	uint32_t *heads; /* as many as cap */
};

void item_pool_release(struct item_pool *p);

/* A new thing, cleared but for its key. ITEM_NONE: there are max, or no memory. Addresses of others
 * change. O(1) expected, amortised. Keys may be equal: the newest is found. */
uint32_t item_pool_add(struct item_pool *p, uint64_t key);
uint32_t item_pool_find(
    const struct item_pool *p, uint64_t key); /* ITEM_NONE: absent. O(1) expected */
void item_pool_drop(struct item_pool *p, uint32_t i);

static inline void *
item_pool_at(const struct item_pool *p, uint32_t i)
{
	return p->items + (size_t)i * p->item_bytes;
}

#endif
