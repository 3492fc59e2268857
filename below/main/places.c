/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/places.h"

#include <stdlib.h>

enum { PLACES = 65536 };

struct places {
	uint64_t keys[PLACES]; /* the id of a place is its slot + 1 */
	uint32_t n;
};

struct places *
places_new(void)
{
	return calloc(1, sizeof(struct places));
}

void
places_free(struct places *p)
{
	free(p);
}

uint32_t
places_id(struct places *p, const struct code_place *place, below_take *take, void *of)
{
	uint64_t key = place->key != 0 ? place->key : 1;
	uint32_t at = (uint32_t)(key % PLACES);
	struct below_message m = { .kind = BELOW_NAME };

	if (place->function[0] == '\0')
		return 0;
	while (p->keys[at] != 0 && p->keys[at] != key)
		at = (at + 1) % PLACES;
	if (p->keys[at] == key)
		return at + 1;
	if (p->n >= PLACES / 2)
		return 0;
	p->n++;
	p->keys[at] = key;
	m.name = (struct below_name){ .id = at + 1,
		.folded = place->folded,
		.function = place->function,
		.file = place->file,
		.called = place->call,
		.line = place->line };
	take(of, &m);
	return at + 1;
}
