/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/binaries.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "wire/loglevel.h"
#include "wire/toggle.h"

static void
binary_free(struct binary *x)
{
	if (x == NULL)
		return;
	texts_free(x->has);
	arena_release(&x->arena);
	free(x);
}

void
binaries_release(struct binaries *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		binary_free(b->items[i]);
	free(b->items);
	hash_table_release(&b->index);
	*b = (struct binaries){ 0 };
}

static uint8_t
level_at(const uint8_t *levels, uint32_t i)
{
	return levels != NULL ? levels[i] : LOGLEVEL_NONE;
}

static uint64_t
hash_of(const struct binaries *b, const char *service, const char *const *names,
    const uint8_t *levels, uint32_t n)
{
	uint64_t hash = hash_bytes(b->seed ^ n, service, strlen(service) + 1);

	for (uint32_t i = 0; i < n; i++)
		hash = hash_bytes(hash + level_at(levels, i), names[i], strlen(names[i]) + 1);
	return hash;
}

static bool
is_equal(const struct binary *x, const char *service, const char *const *names,
    const uint8_t *levels, uint32_t n)
{
	bool equal = x->n == n && strcmp(x->service, service) == 0;

	for (uint32_t i = 0; i < n && equal; i++)
		equal = x->levels[i] == level_at(levels, i) && strcmp(x->names[i], names[i]) == 0;
	return equal;
}

static bool
intern_name(struct texts *names, const char *name)
{
	const char *colon = strchr(name, ':');
	char all[TOGGLE_NAME_MAX + 1];
	int len;

	if (texts_intern(names, name, strlen(name)) == UINT32_MAX)
		return false;
	if (colon == NULL)
		return true;
	len = snprintf(all, sizeof all, "%.*s:*", (int)(colon - name), name);
	return texts_intern(names, all, (size_t)len) != UINT32_MAX;
}

static struct binary *
binary_new(const char *service, const char *const *names, const uint8_t *levels, uint32_t n)
{
	struct binary *x = calloc(1, sizeof *x);
	uint8_t *copy = NULL;
	bool ok = x != NULL && (x->has = texts_new()) != NULL;

	if (ok) {
		x->service = arena_text(&x->arena, service, strlen(service));
		x->names = arena_calloc(&x->arena, (size_t)n + 1, sizeof *x->names);
		x->levels = copy = arena_alloc(&x->arena, (size_t)n + 1);
		ok = x->service != NULL && x->names != NULL && copy != NULL;
	}
	for (uint32_t i = 0; i < n && ok; i++)
		copy[i] = level_at(levels, i);
	for (uint32_t i = 0; i < n && ok; i++)
		ok = intern_name(x->has, names[i]);
	for (uint32_t i = 0; i < n && ok; i++)
		x->names[i] = texts_get(x->has, texts_find(x->has, names[i], strlen(names[i])));
	if (ok) {
		x->n = n;
		return x;
	}
	binary_free(x);
	return NULL;
}

/* A place in `items` for one more. UINT32_MAX: out of memory. */
static uint32_t
free_place(struct binaries *b)
{
	if (!hash_table_reserve(&b->index, b->n + 1) || !array_reserve(b->items, b->cap, b->n + 1))
		return UINT32_MAX;
	for (uint32_t i = 0; i < b->n; i++)
		if (b->items[i] == NULL)
			return i;
	b->items[b->n] = NULL;
	return b->n++;
}

struct binary *
binaries_ref(struct binaries *b, const char *service, const char *const *names,
    const uint8_t *levels, uint32_t n)
{
	uint64_t hash;
	uint32_t at;

	if (b->seed == 0)
		b->seed = hash_seed();
	hash = hash_of(b, service, names, levels, n);
	for (const struct hash_slot *s = hash_table_first(&b->index, hash); s != NULL;
	     s = hash_table_next(&b->index, s))
		if (is_equal(b->items[s->entry], service, names, levels, n)) {
			b->items[s->entry]->refs++;
			return b->items[s->entry];
		}
	if ((at = free_place(b)) == UINT32_MAX ||
	    (b->items[at] = binary_new(service, names, levels, n)) == NULL)
		return NULL;
	hash_table_put(&b->index, hash, at); /* there is room */
	b->items[at]->hash = hash;
	b->items[at]->refs = 1;
	b->changes++;
	return b->items[at];
}

void
binaries_unref(struct binaries *b, struct binary *x)
{
	struct hash_slot *s;

	assert(x->refs > 0);
	if (--x->refs > 0)
		return;
	s = hash_table_first(&b->index, x->hash);
	while (b->items[s->entry] != x)
		s = hash_table_next(&b->index, s);
	b->items[s->entry] = NULL;
	hash_table_remove(&b->index, s);
	binary_free(x);
	b->changes++;
}

bool
binary_has(const struct binary *x, const char *tracepoint)
{
	return texts_find(x->has, tracepoint, strlen(tracepoint)) != UINT32_MAX;
}
