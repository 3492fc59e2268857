/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hash_map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

struct map_entry {
	uint64_t key;
	void *value; /* NULL: removed */
};

static uint64_t
key_hash(const struct map *m, uint64_t key)
{
	return hash_u64(key ^ m->seed);
}

void
map_release(struct map *m)
{
	free(m->entries);
	hash_table_release(&m->index);
	*m = (struct map){ 0 };
}

void *
map_get(const struct map *m, uint64_t key)
{
	uint32_t i = hash_table_find(&m->index, key_hash(m, key));

	return i == HASH_TABLE_NONE ? NULL : m->entries[i].value;
}

/* Moves the entries together over those that were removed. The index has slots enough. */
static void
compact(struct map *m)
{
	uint32_t n = 0;

	hash_table_clear(&m->index);
	for (uint32_t i = 0; i < m->nentries; i++) {
		if (m->entries[i].value == NULL)
			continue;
		m->entries[n] = m->entries[i];
		hash_table_put(&m->index, key_hash(m, m->entries[n].key), n);
		n++;
	}
	m->nentries = n;
}

bool
map_put(struct map *m, uint64_t key, void *value)
{
	uint32_t i;

	if (value == NULL) {
		map_take(m, key);
		return true;
	}
	if (m->entries == NULL)
		m->seed = hash_seed();
	if (m->nentries == m->entries_cap && m->count <= m->nentries / 2)
		compact(m);
	if (!array_reserve(m->entries, m->entries_cap, m->nentries + 1))
		return false;
	i = hash_table_claim(&m->index, key_hash(m, key), m->nentries);
	if (i == HASH_TABLE_NONE)
		return false;
	if (i == m->nentries) {
		m->nentries++;
		m->count++;
	}
	m->entries[i] = (struct map_entry){ key, value };
	return true;
}

void *
map_take(struct map *m, uint64_t key)
{
	struct hash_slot *s = hash_table_first(&m->index, key_hash(m, key));
	void *value;

	if (s == NULL)
		return NULL;
	assert(m->count > 0 && s->entry < m->nentries && m->entries[s->entry].value != NULL);
	value = m->entries[s->entry].value;
	m->entries[s->entry].value = NULL;
	hash_table_remove(&m->index, s);
	m->count--;
	return value;
}

void *
map_next(const struct map *m, size_t *at, uint64_t *key)
{
	assert(at != NULL && *at <= m->nentries);
	while (*at < m->nentries) {
		const struct map_entry *e = &m->entries[(*at)++];

		if (e->value == NULL)
			continue;
		if (key != NULL)
			*key = e->key;
		return e->value;
	}
	return NULL;
}
