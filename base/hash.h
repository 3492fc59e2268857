/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hashing, and two tables over it: 64-bit keys to pointers, and texts to
 * small numbers. Open addressing, power-of-two sizes, at most 3/4 full.
 * Keyed by a seed, so that nobody outside can choose what collides.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
	uint64_t a, b;
};

uint64_t hash_u64(uint64_t x); /* mixes all bits (splitmix64's finaliser) */
uint64_t hash_seed(void); /* of this process, the same all its life, and nobody outside knows it */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);
/* Two independent 64-bit hashes, for keys whose collisions must not happen (and are checked all the
 * same). */
struct hash128 hash_bytes128(uint64_t seed, const void *data, size_t len);

struct map { /* uint64 key -> pointer; all zeroes is empty; NULL values are not stored */
	struct map_slot *slots;
	size_t count, cap, filled;
};

void map_release(struct map *m);                  /* not the values */
void *map_get(const struct map *m, uint64_t key); /* NULL: absent. O(1) expected */
bool map_put(
    struct map *m, uint64_t key, void *value); /* replaces; false: out of memory, unchanged */
void *map_take(struct map *m, uint64_t key);   /* removes; what was there or NULL */
/* Visits all, in no order: start with *at = 0; NULL ends. Do not put while visiting; taking the
 * visited one is fine. */
void *map_next(const struct map *m, size_t *at, uint64_t *key);

struct texts; /* interned texts: equal texts have equal numbers, from 0 up, for ever */

struct texts *texts_new(void);
void texts_free(struct texts *t);
uint32_t texts_intern(struct texts *t, const char *s, size_t len); /* UINT32_MAX: out of memory */
uint32_t texts_find(const struct texts *t, const char *s, size_t len); /* UINT32_MAX: absent */
const char *texts_get(const struct texts *t, uint32_t id); /* with a final 0; valid while t lives */
uint32_t texts_count(const struct texts *t);

#endif
