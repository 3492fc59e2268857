/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layout:
 *
 *	number of an id    = how many ids were added before it
 *	ids[number]        the id; a ring
 *	head[hash of id]   number of the newest id with this hash
 *	back[number]       distance to the next older id with the same hash; 0: none
 *
 * Entries are never removed: an id that is RETIRED_IDS_MAX numbers old is ignored, and its
 * position in the ring is reused. Chains lead from newer to older ids, so everything before the
 * id that is looked up is still in the ring.
 *
 * Numbers have 32 bits and wrap around. A head that was not set for 2^32 additions may then
 * seem recent and lead into a chain of another hash. This costs a few steps, but cannot give a
 * wrong answer: an id is only found where it is stored, and every step leads to an older
 * number.
 */
#include "analysis/retired_ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct retired_ids {
	uint64_t seed;
	uint32_t next; /* number of the next id */
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
	/* Not zeroes: the system allocates zero pages only when they are written. */
	memset(g, 0xff, sizeof *g);
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
