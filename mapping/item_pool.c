/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mapping/item_pool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { CAP_MIN = 64 };

static struct item_pool_link *
link_of(const struct item_pool *p, uint32_t i)
{
	return item_pool_at(p, i);
}

static uint32_t *
head_of(const struct item_pool *p, uint64_t key)
{
	return &p->heads[hash_u64(key ^ p->seed) & (p->cap - 1)];
}

void
item_pool_release(struct item_pool *p)
{
	free(p->items);
	free(p->heads);
	p->items = NULL;
	p->heads = NULL;
	p->count = p->cap = 0;
}

static void
chain(struct item_pool *p, uint32_t i)
{
	uint32_t *head = head_of(p, link_of(p, i)->key);

	link_of(p, i)->next = *head;
	*head = i;
}

/* It grows only when all items are in use, so there is no list of free ones to keep. */
static bool
grow(struct item_pool *p)
{
	uint32_t old = p->cap,
		 cap = old != 0           ? 2 * old
	               : CAP_MIN < p->max ? CAP_MIN
	                                  : p->max,
		 *heads;
	char *items;

	if (old == p->max || (items = realloc(p->items, (size_t)cap * p->item_bytes)) == NULL)
		return false;
	p->items = items;
	if ((heads = malloc((size_t)cap * sizeof *heads)) == NULL)
		return false;
	free(p->heads);
	p->heads = heads;
	p->cap = cap;
	memset(heads, 0xff, (size_t)cap * sizeof *heads);
	for (uint32_t i = 0; i < old; i++)
		chain(p, i);
	for (uint32_t i = old; i < cap; i++)
		*link_of(p, i) = (struct item_pool_link){ .next = i + 1 < cap ? i + 1 : ITEM_NONE };
	p->free = old;
	return true;
}

uint32_t
item_pool_add(struct item_pool *p, uint64_t key)
{
	uint32_t i;

	if (p->count == p->cap && !grow(p))
		return ITEM_NONE;
	i = p->free;
	p->free = link_of(p, i)->next;
	p->count++;
	memset(item_pool_at(p, i), 0, p->item_bytes);
	*link_of(p, i) = (struct item_pool_link){ .key = key };
	chain(p, i);
	return i;
}

uint32_t
item_pool_find(const struct item_pool *p, uint64_t key)
{
	uint32_t i;

	if (p->count == 0)
		return ITEM_NONE;
	for (i = *head_of(p, key); i != ITEM_NONE && link_of(p, i)->key != key;)
		i = link_of(p, i)->next;
	return i;
}

void
item_pool_drop(struct item_pool *p, uint32_t i)
{
	uint32_t *at = head_of(p, link_of(p, i)->key);

	while (*at != i)
		at = &link_of(p, *at)->next;
	*at = link_of(p, i)->next;
	*link_of(p, i) = (struct item_pool_link){ .next = p->free };
	p->free = i;
	p->count--;
}
