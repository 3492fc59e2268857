/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/texts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/hash_table.h"

struct interned {
	const char *s;
	uint32_t len;
};

struct texts {
	struct arena memory;
	struct interned *all;
	uint32_t count, cap;
	struct hash_table index;
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
	free(t->all);
	hash_table_release(&t->index);
	free(t);
}

static uint32_t
find(const struct texts *t, uint64_t hash, const char *s, size_t len)
{
	const struct hash_slot *slot = hash_table_first(&t->index, hash);

	for (; slot != NULL; slot = hash_table_next(&t->index, slot)) {
		const struct interned *x = &t->all[slot->entry];

		if (x->len == len && (len == 0 || memcmp(x->s, s, len) == 0))
			return slot->entry;
	}
	return UINT32_MAX;
}

uint32_t
texts_intern(struct texts *t, const char *s, size_t len)
{
	uint64_t hash = hash_bytes(t->seed, s, len);
	uint32_t id = find(t, hash, s, len);
	char *copy;

	assert(s != NULL || len == 0);
	if (id != UINT32_MAX)
		return id;
	if (len >= UINT32_MAX || !array_reserve(t->all, t->cap, t->count + 1) ||
	    (copy = arena_text(&t->memory, s, len)) == NULL ||
	    !hash_table_put(&t->index, hash, t->count))
		return UINT32_MAX;
	t->all[t->count] = (struct interned){ copy, (uint32_t)len };
	return t->count++;
}

uint32_t
texts_find(const struct texts *t, const char *s, size_t len)
{
	assert(s != NULL || len == 0);
	return find(t, hash_bytes(t->seed, s, len), s, len);
}

const char *
texts_get(const struct texts *t, uint32_t id)
{
	assert(id < t->count);
	return t->all[id].s;
}

uint32_t
texts_length(const struct texts *t, uint32_t id)
{
	assert(id < t->count);
	return t->all[id].len;
}

uint32_t
texts_count(const struct texts *t)
{
	return t->count;
}
