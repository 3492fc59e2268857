/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Both tables are an array of entries in the order they came, and an index of
 * entry numbers, hashed. So what visits a table sees it in the same order whatever
 * the seed, and the seed can be the kernel's secret of this process: nobody
 * outside can choose what collides, and results do not depend on it.
 */
#include "base/hash.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/arena.h"

enum { CAP_MIN = 16 };

uint64_t
hash_u64(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* ---- SipHash-1-3 (Aumasson & Bernstein), with 64 or 128 bits of result ---- */

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t
rotate(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

static inline void
sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = rotate(s->v0, 32) + s->v3;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 = rotate(s->v2, 32);
}

static inline void
sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

static inline uint64_t
sip_end(struct sip *s, uint64_t mark)
{
	if (mark == 0xdd)
		s->v1 ^= mark;
	else
		s->v2 ^= mark;
	for (int i = 0; i < 3; i++)
		sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static struct sip
sip_absorb(uint64_t k0, uint64_t k1, uint64_t wide, const uint8_t *at, size_t len)
{
	struct sip s = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ wide,
		k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573 };
	uint64_t word, last = (uint64_t)len << 56;

	for (; len >= sizeof word; at += sizeof word, len -= sizeof word) {
		memcpy(&word, at, sizeof word);
		sip_word(&s, le64toh(word));
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64_t)at[i] << 8 * i;
	sip_word(&s, last);
	return s;
}

uint64_t
hash_bytes(uint64_t seed, const void *data, size_t len)
{
	struct sip s = sip_absorb(seed, hash_u64(~seed), 0, data, len);

	return sip_end(&s, 0xff);
}

struct hash128
hash_bytes128(uint64_t seed, const void *data, size_t len)
{
	struct sip s = sip_absorb(seed, hash_u64(~seed), 0xee, data, len);
	uint64_t a = sip_end(&s, 0xee);

	return (struct hash128){ a, sip_end(&s, 0xdd) };
}

/* The kernel gives each process 16 random bytes; the C library guards with them, so they are not
 * used bare. */
uint64_t
hash_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	return random == NULL ? 0 : hash_bytes(0x686f6e65, random, 16);
}

/* ---- map ---- */

/*
 * slots[0].key is the seed; slots[1..filled] are entries, a NULL value is a taken
 * one; after room for 3/4 cap of them comes the index: cap numbers, 0 is free.
 */
struct map_slot {
	uint64_t key;
	void *value;
};

static size_t
room(size_t cap)
{
	return cap / 4 * 3;
}

static uint32_t *
map_index(const struct map *m)
{
	return (uint32_t *)(m->slots + 1 + room(m->cap));
}

/* Where in the index the key is, or the free place where it belongs. */
static uint32_t *
map_find(const struct map *m, uint64_t key)
{
	uint32_t *index = map_index(m);
	size_t mask = m->cap - 1, at = hash_u64(key ^ m->slots[0].key) & mask;

	while (index[at] != 0 && m->slots[index[at]].key != key)
		at = (at + 1) & mask;
	return &index[at];
}

static void
map_append(struct map *m, uint32_t *index, uint64_t key, void *value)
{
	*index = (uint32_t)++m->filled;
	m->slots[m->filled] = (struct map_slot){ key, value };
	m->count++;
}

/* A table with room, less the taken entries. */
static bool
map_rebuild(struct map *m)
{
	struct map fresh = { .cap = CAP_MIN };

	while (room(fresh.cap) / 2 <= m->count)
		fresh.cap *= 2;
	if (fresh.cap > UINT32_MAX)
		return false;
	fresh.slots = calloc(
	    1, (1 + room(fresh.cap)) * sizeof *fresh.slots + fresh.cap * sizeof(uint32_t));
	if (fresh.slots == NULL)
		return false;
	fresh.slots[0].key = m->slots == NULL ? hash_seed() : m->slots[0].key;
	for (size_t i = 1; i <= m->filled; i++)
		if (m->slots[i].value != NULL)
			map_append(&fresh, map_find(&fresh, m->slots[i].key), m->slots[i].key,
			    m->slots[i].value);
	free(m->slots);
	*m = fresh;
	return true;
}

void
map_release(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}

void *
map_get(const struct map *m, uint64_t key)
{
	return m->count == 0 ? NULL
	                     : m->slots[*map_find(m, key)].value; /* slots[0].value is NULL */
}

bool
map_put(struct map *m, uint64_t key, void *value)
{
	uint32_t *index;

	if (value == NULL) {
		map_take(m, key);
		return true;
	}
	if (m->cap > 0 && *(index = map_find(m, key)) != 0) {
		m->count += m->slots[*index].value == NULL;
		m->slots[*index].value = value;
		return true;
	}
	if (m->filled == room(m->cap) && !map_rebuild(m))
		return false;
	map_append(m, map_find(m, key), key, value);
	return true;
}

void *
map_take(struct map *m, uint64_t key)
{
	struct map_slot *slot;
	void *value;

	if (m->count == 0)
		return NULL;
	slot = &m->slots[*map_find(m, key)];
	if ((value = slot->value) != NULL) {
		slot->value = NULL;
		m->count--;
	}
	return value;
}

void *
map_next(const struct map *m, size_t *at, uint64_t *key)
{
	while (*at < m->filled) {
		const struct map_slot *slot = &m->slots[++*at];

		if (slot->value == NULL)
			continue;
		if (key != NULL)
			*key = slot->key;
		return slot->value;
	}
	return NULL;
}

/* ---- texts ---- */

struct text {
	const char *s;
	uint32_t len, hash; /* the low half, to grow without reading the texts */
};

struct texts {
	struct arena memory;
	struct text *texts;
	uint32_t *index; /* cap numbers: text + 1, 0 is free */
	size_t count, cap;
	uint64_t seed;
};

struct texts *
texts_new(void)
{
	struct texts *t = calloc(1, sizeof *t);

	if (t != NULL)
		t->seed = hash_seed();
	return t;
}

void
texts_free(struct texts *t)
{
	if (t == NULL)
		return;
	arena_release(&t->memory);
	free(t->texts);
	free(t->index);
	free(t);
}

static uint32_t *
texts_place(const struct texts *t, uint32_t hash, const char *s, size_t len)
{
	size_t mask = t->cap - 1, at = hash & mask;
	const struct text *text;

	for (; t->index[at] != 0; at = (at + 1) & mask) {
		text = &t->texts[t->index[at] - 1];
		if (text->hash == hash && text->len == len &&
		    (len == 0 || memcmp(text->s, s, len) == 0))
			break;
	}
	return &t->index[at];
}

static bool
texts_grow(struct texts *t)
{
	size_t cap = t->cap == 0 ? CAP_MIN : t->cap * 2, at;
	struct text *texts = realloc(t->texts, room(cap) * sizeof *texts);
	uint32_t *index;

	if (texts == NULL)
		return false;
	t->texts = texts;
	if (cap > UINT32_MAX || (index = calloc(cap, sizeof *index)) == NULL)
		return false;
	for (size_t i = 0; i < t->count; i++) {
		for (at = texts[i].hash & (cap - 1); index[at] != 0;)
			at = (at + 1) & (cap - 1);
		index[at] = (uint32_t)i + 1;
	}
	free(t->index);
	t->index = index;
	t->cap = cap;
	return true;
}

uint32_t
texts_intern(struct texts *t, const char *s, size_t len)
{
	uint32_t hash = (uint32_t)hash_bytes(t->seed, s, len), *place;
	char *copy;

	if (t->count > 0 && *(place = texts_place(t, hash, s, len)) != 0)
		return *place - 1;
	if (len >= UINT32_MAX || (t->count == room(t->cap) && !texts_grow(t)) ||
	    (copy = arena_text(&t->memory, s, len)) == NULL)
		return UINT32_MAX;
	t->texts[t->count] = (struct text){ copy, (uint32_t)len, hash };
	*texts_place(t, hash, copy, len) = (uint32_t)t->count + 1;
	return (uint32_t)t->count++;
}

uint32_t
texts_find(const struct texts *t, const char *s, size_t len)
{
	return t->count == 0 ? UINT32_MAX
	                     : *texts_place(t, (uint32_t)hash_bytes(t->seed, s, len), s, len) - 1;
}

const char *
texts_get(const struct texts *t, uint32_t id)
{
	return t->texts[id].s;
}

uint32_t
texts_count(const struct texts *t)
{
	return (uint32_t)t->count;
}
