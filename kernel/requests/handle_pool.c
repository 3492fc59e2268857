/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/requests/handle_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_NONE = UINT32_MAX };

static uint32_t
chunks_of(const struct handle_pool *p)
{
	return (p->max + POOL_CHUNK_ITEMS - 1) / POOL_CHUNK_ITEMS;
}

bool
handle_pool_init(struct handle_pool *p, size_t item_bytes, uint32_t max)
{
	assert(max > 0 && item_bytes >= sizeof(struct pooled));
	*p = (struct handle_pool){
		.item_bytes = (item_bytes + 15) / 16 * 16, .max = max, .first_free = FREE_NONE
	};
	p->chunks = calloc(chunks_of(p), sizeof *p->chunks);
	return p->chunks != NULL;
}

void
handle_pool_release(struct handle_pool *p)
{
	for (uint32_t i = 0; p->chunks != NULL && i < chunks_of(p); i++)
		free(p->chunks[i]);
	free(p->chunks);
	*p = (struct handle_pool){ 0 };
}

static struct pooled *
item_at(const struct handle_pool *p, uint32_t at)
{
	return (struct pooled *)(p->chunks[at / POOL_CHUNK_ITEMS] +
				 at % POOL_CHUNK_ITEMS * p->item_bytes);
}

void *
handle_pool_take(struct handle_pool *p)
{
	struct handle self = { p->first_free, 1 };
	struct pooled *item;

	if (p->first_free != FREE_NONE) {
		item = item_at(p, p->first_free);
		p->first_free = item->next_free;
		self = item->self;
	} else {
		char **chunk = &p->chunks[p->made / POOL_CHUNK_ITEMS];

		if (p->made == p->max)
			return NULL;
		if (*chunk == NULL && (*chunk = calloc(POOL_CHUNK_ITEMS, p->item_bytes)) == NULL)
			return NULL;
		self.at = p->made++;
		item = item_at(p, self.at);
	}
	memset(item, 0, p->item_bytes);
	item->self = self;
	item->used = true;
	p->count++;
	return item;
}

void
handle_pool_give(struct handle_pool *p, void *item)
{
	struct pooled *i = item;

	assert(i->used);
	i->used = false;
	i->self.generation += i->self.generation == UINT32_MAX ? 2 : 1;
	i->next_free = p->first_free;
	p->first_free = i->self.at;
	p->count--;
}
