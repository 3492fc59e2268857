/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Items of one size with numbers, found by a hash key. Chained hashing; the links are in the items,
 * so memory is allocated only for more items than ever before. It is not a hash_table
 * (base/hash_table.h), which finds the oldest of equal keys first; here the newest hides older ones.
 */
#ifndef MAPPING_ITEM_POOL_H
#define MAPPING_ITEM_POOL_H

#include <stddef.h>
#include <stdint.h>

#define ITEM_NONE UINT32_MAX

struct item_pool_link { /* the first member of an item; the pool's */
	uint64_t key;
	uint32_t next;
};

struct item_pool { /* { .item_bytes, .max, .seed } is an empty one */
	size_t item_bytes;
	uint32_t max;              /* items; a power of two */
	uint64_t seed;             /* random, so that no program can choose keys that collide */
	uint32_t count, cap, free; /* free: the first free item; they are linked */
	char *items;
	uint32_t *heads; /* as many as cap */
};

void item_pool_release(struct item_pool *p);

/* Adds an item, all zeroes but for its key. ITEM_NONE: there are `max`, or out of memory. Addresses of
 * other items may change. O(1) expected, amortised. Of equal keys the newest is found. */
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
