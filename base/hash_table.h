/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hash table: it finds the number of an entry by the entry's hash. The entries themselves are
 * the caller's, usually an array in the order of arrival, which is also what the caller iterates:
 * the order of the slots depends on the hashes and is not offered.
 *
 *	hash ----> slots: { hash, entry }        entry ----> items[entry], the caller's
 *
 * The slots are a power of two, found by the low bits of the hash, then by linear probing (Knuth,
 * TAOCP 3, 6.4, algorithm L). At most three quarters are in use. Removal moves later slots back
 * (algorithm R), so a table does not age. Emptying a table is O(1): slots of earlier rounds count as
 * free.
 *
 * A 64-bit number needs no comparison if its hash is a bijection of it, as hash_u64() and
 * hash_multiply() are: equal hashes are equal numbers, and hash_table_find() and
 * hash_table_claim() do the work. For everything else, entries with equal hashes are compared by
 * the caller:
 *
 *	for (s = hash_table_first(t, hash); s != NULL; s = hash_table_next(t, s))
 *		if (is_equal(&items[s->entry], ...))
 *			return s->entry;
 *
 * If other parties choose what is hashed, mix a seed in (hash_seed(), hash_bytes()).
 */
#ifndef BASE_HASH_TABLE_H
#define BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

#define HASH_TABLE_NONE UINT32_MAX

struct hash_slot {
	uint64_t hash;
	uint32_t entry;
	uint32_t round; /* in use if it is the table's */
};

struct hash_table { /* all zeroes is an empty table */
	struct hash_slot *slots;
	uint32_t mask;  /* number of slots - 1 */
	uint32_t count; /* slots in use */
	uint32_t limit; /* of count, before the table grows */
	uint32_t round; /* 1 or more, once there are slots */
	bool fixed;     /* in an arena: does not grow, is not freed */
};

/* A bijection: one multiplication, whose good bits are the top ones (Knuth, TAOCP 3, 6.4, Fibonacci
 * hashing), so the bytes are reversed. Not for numbers that an attacker may choose. */
static inline uint64_t
hash_multiply(uint64_t x)
{
	return __builtin_bswap64(x * UINT64_C(0x9e3779b97f4a7c15));
}

/* Makes room for n entries in all; the table is at most half full with them. Grows by doubling.
 * False, and the table unchanged: out of memory, n over 2^30, or the table is fixed. */
bool hash_table_reserve(struct hash_table *t, uint32_t n);

/* An empty table for n entries, at most half full, in the arena, where it stays until the
 * arena's reset; not to be released. O(n): 32 to 64 bytes an entry are cleared. False: as above. */
bool hash_table_in_arena(struct hash_table *t, struct arena *a, uint32_t n);

void hash_table_release(struct hash_table *t); /* frees the slots; the table is empty */

/* Empties the table and keeps its memory. O(1), but once in 2^32 times O(slots). */
void hash_table_clear(struct hash_table *t);

/* Adds an entry, equal hashes or not. O(1) expected, amortised. False: out of memory, or a fixed
 * table is full; unchanged. `entry` is not HASH_TABLE_NONE. */
bool hash_table_put(struct hash_table *t, uint64_t hash, uint32_t entry);

/* Removes a slot that hash_table_first() or hash_table_next() returned. Other slots may move:
 * pointers to slots are invalid after it. O(1) expected. */
void hash_table_remove(struct hash_table *t, struct hash_slot *s);

/* The first slot in use with this hash from slot `at` on. For the functions below. */
static inline struct hash_slot *
hash_table_probe(const struct hash_table *t, uint64_t hash, uint32_t at)
{
	for (; t->slots[at].round == t->round; at = (at + 1) & t->mask)
		if (t->slots[at].hash == hash)
			return &t->slots[at];
	return NULL;
}

/* A slot with this hash, and the next one after it; NULL: there is no more. The entry in the slot
 * may be replaced. Slots are valid until the next put, claim, remove or reserve. O(1) expected. */
static inline struct hash_slot *
hash_table_first(const struct hash_table *t, uint64_t hash)
{
	return t->count == 0 ? NULL : hash_table_probe(t, hash, (uint32_t)hash & t->mask);
}

static inline struct hash_slot *
hash_table_next(const struct hash_table *t, const struct hash_slot *s)
{
	return hash_table_probe(t, s->hash, ((uint32_t)(s - t->slots) + 1) & t->mask);
}

/* The entry with this hash, where hashes are unique. HASH_TABLE_NONE: there is none. */
static inline uint32_t
hash_table_find(const struct hash_table *t, uint64_t hash)
{
	const struct hash_slot *s = hash_table_first(t, hash);

	return s == NULL ? HASH_TABLE_NONE : s->entry;
}

/* The entry with this hash; if there is none, `entry` is added and returned. For unique hashes.
 * HASH_TABLE_NONE: out of memory, or a fixed table is full. O(1) expected, amortised. */
static inline uint32_t
hash_table_claim(struct hash_table *t, uint64_t hash, uint32_t entry)
{
	if (t->slots != NULL) {
		struct hash_slot *slots = t->slots;
		uint32_t at = (uint32_t)hash & t->mask, round = t->round;

		for (; __builtin_expect(slots[at].round == round, true); at = (at + 1) & t->mask)
			if (__builtin_expect(slots[at].hash == hash, true))
				return slots[at].entry;
		if (t->count < t->limit) {
			slots[at] = (struct hash_slot){ hash, entry, round };
			t->count++;
			return entry;
		}
	}
	return hash_table_put(t, hash, entry) ? entry : HASH_TABLE_NONE;
}

#endif
