/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A map from 64-bit keys to pointers. Iteration is in the order in which the keys were added, so
 * results do not depend on the seed of the hash, which is secret (hash_seed()).
 */
#ifndef BASE_HASH_MAP_H
#define BASE_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"

struct map { /* all zeroes is an empty map; the members are map.c's, but for `count` */
	struct map_entry *entries;
	size_t count;
	uint32_t nentries, entries_cap; /* nentries: with those that were removed */
	struct hash_table index;
	uint64_t seed;
};

void map_release(struct map *m); /* the values remain the caller's; the map is empty */

void *map_get(const struct map *m, uint64_t key); /* NULL: absent. O(1) expected */

/* Adds or replaces the value; NULL removes the key. False, and the map unchanged: out of memory,
 * or 2^30 keys. O(1) expected, amortised. */
bool map_put(struct map *m, uint64_t key, void *value);

/* Removes the key. Returns its value, or NULL if it was absent. O(1) expected. */
void *map_take(struct map *m, uint64_t key);

/* The next value, NULL at the end; *at is 0 to begin with. *key is set unless `key` is NULL. During
 * an iteration keys may be removed, but map_put() must not add a key or replace a value: it may
 * compact the map, which moves the entries, so the iteration would skip some of them. */
void *map_next(const struct map *m, size_t *at, uint64_t *key);

#endif
