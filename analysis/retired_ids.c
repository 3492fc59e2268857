/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *	number of an id	 = how many were added before it
 *	ids[number]	   the id; a ring
 *	head[hash of id]   the number of the youngest with this hash
 *	back[number]	   how many numbers before it the next older one with its hash is; 0: none
 *
 * Nothing is ever taken out: whoever is GONE_MAX numbers old is not looked at, and
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

struct gone {
	uint64_t seed;
	uint32_t next; /* number */
	uint32_t head[GONE_MAX];
	uint16_t back[GONE_MAX];
	uint64_t ids[GONE_MAX];
};

struct gone *
gone_new(void)
{
	struct gone *g = malloc(sizeof *g);

	if (g == NULL)
		return NULL;
	memset(g, 0xff, sizeof *g); /* not zeroes: those the system gives only page by page, when
	                               they are written */
	memset(g->head, 0, sizeof g->head);
	g->seed = hash_seed();
	g->next = GONE_MAX + 1; /* so that a head of 0 is too old */
	return g;
}

void
gone_free(struct gone *g)
{
	free(g);
}

static uint32_t
bucket_of(const struct gone *g, uint64_t id)
{
	return hash_u64(id ^ g->seed) % GONE_MAX;
}

void
gone_add(struct gone *g, uint64_t id)
{
	uint32_t *head = &g->head[bucket_of(g, id)], apart = g->next - *head,
		 at = g->next % GONE_MAX;

	g->ids[at] = id;
	g->back[at] = apart < GONE_MAX ? (uint16_t)apart : 0;
	*head = g->next++;
}

bool
gone_has(const struct gone *g, uint64_t id)
{
	uint32_t age = g->next - g->head[bucket_of(g, id)], at;

	while (age > 0 && age <= GONE_MAX) {
		at = (g->next - age) % GONE_MAX;
		if (g->ids[at] == id)
			return true;
		if (g->back[at] == 0)
			return false;
		age += g->back[at];
	}
	return false;
}
