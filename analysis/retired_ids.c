/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *	number of an id	 = how many were added before it
 *	ids[number]	   the id; a ring
 *	head[hash of id]   the number of the youngest with this hash
 *	back[number]	   how many numbers before it the next older one with its hash is; 0: none
 *
 * Nothing is ever taken out: whoever is RETIRED_IDS_MAX numbers old is not looked at, and
 * its place in the ring is the next one's. A chain runs from young to old, so all that
 * lies before the id that is sought is there still.
 *
 * Numbers have 32 bits and come round. A head that nobody has set for so long may then
 * seem young, and lead into a chain that is another's: this costs a few steps, but an id
 * is found only where it is, and steps lead only back.
 */
#include "analysis/retired_ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct retired_ids {
	uint64_t seed;
	uint32_t next; /* number */
	uint32_t head[RETIRED_IDS_MAX];
	uint16_t back[RETIRED_IDS_MAX];
	uint64_t ids[RETIRED_IDS_MAX];
};

struct retired_ids *
retired_ids_new(void)
{
	struct retired_ids *g = malloc(sizeof *g);

	if (g == NULL)
		return NULL;
	memset(g, 0xff, sizeof *g); /* not zeroes: those the system gives only page by page, when
	                               they are written */
	memset(g->head, 0, sizeof g->head);
	g->seed = hash_seed();
	g->next = RETIRED_IDS_MAX + 1; /* so that a head of 0 is too old */
	return g;
}

void
retired_ids_free(struct retired_ids *g)
{
	free(g);
}

static uint32_t
bucket_of(const struct retired_ids *g, uint64_t id)
{
	return hash_u64(id ^ g->seed) % RETIRED_IDS_MAX;
}

void
retired_ids_add(struct retired_ids *g, uint64_t id)
{
	uint32_t *head = &g->head[bucket_of(g, id)], apart = g->next - *head,
		 at = g->next % RETIRED_IDS_MAX;

	g->ids[at] = id;
	g->back[at] = apart < RETIRED_IDS_MAX ? (uint16_t)apart : 0;
	*head = g->next++;
}

bool
retired_ids_has(const struct retired_ids *g, uint64_t id)
{
	uint32_t age = g->next - g->head[bucket_of(g, id)], at;

	while (age > 0 && age <= RETIRED_IDS_MAX) {
		at = (g->next - age) % RETIRED_IDS_MAX;
		if (g->ids[at] == id)
			return true;
		if (g->back[at] == 0)
			return false;
		age += g->back[at];
	}
	return false;
}
