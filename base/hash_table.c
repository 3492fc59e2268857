/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hash_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { SLOTS_MIN = 16 };

static const uint32_t entries_max = UINT32_C(1) << 30;

/* The number of slots of which n are at most half. */
static uint32_t
slots_for(uint32_t n)
{
	uint32_t slots = SLOTS_MIN;

	while (slots / 2 < n)
		slots *= 2;
	return slots;
}

static void
use_slots(struct hash_table *t, struct hash_slot *slots, uint32_t nslots)
{
	t->slots = slots;
	t->mask = nslots - 1;
	t->limit = nslots / 4 * 3;
	t->round = 1;
}

/* Writes into the first free slot; there is one. */
static void
insert(struct hash_table *t, uint64_t hash, uint32_t entry)
{
	uint32_t at = (uint32_t)hash & t->mask;

	assert(t->count < t->limit);
	while (t->slots[at].round == t->round)
		at = (at + 1) & t->mask;
	t->slots[at] = (struct hash_slot){ hash, entry, t->round };
}

static bool
rebuild(struct hash_table *t, uint32_t nslots)
{
	struct hash_table old = *t;
	struct hash_slot *slots = calloc(nslots, sizeof *slots);

	if (slots == NULL)
		return false;
	use_slots(t, slots, nslots);
	for (uint32_t i = 0; old.slots != NULL && i <= old.mask; i++)
		if (old.slots[i].round == old.round)
			insert(t, old.slots[i].hash, old.slots[i].entry);
	free(old.slots);
	return true;
}

bool
hash_table_reserve(struct hash_table *t, uint32_t n)
{
	uint32_t nslots;

	if (n > entries_max)
		return false;
	nslots = slots_for(n);
	if (t->slots != NULL && nslots <= t->mask + 1)
		return true;
	return !t->fixed && rebuild(t, nslots);
}

bool
hash_table_in_arena(struct hash_table *t, struct arena *a, uint32_t n)
{
	struct hash_slot *slots;
	uint32_t nslots;

	if (n > entries_max)
		return false;
	nslots = slots_for(n);
	if ((slots = arena_calloc(a, nslots, sizeof *slots)) == NULL)
		return false;
	*t = (struct hash_table){ .fixed = true };
	use_slots(t, slots, nslots);
	return true;
}

void
hash_table_release(struct hash_table *t)
{
	if (!t->fixed)
		free(t->slots);
	*t = (struct hash_table){ 0 };
}

void
hash_table_clear(struct hash_table *t)
{
	t->count = 0;
	if (t->slots != NULL && ++t->round == 0) {
		memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
		t->round = 1;
	}
}

bool
hash_table_put(struct hash_table *t, uint64_t hash, uint32_t entry)
{
	assert(entry != HASH_TABLE_NONE);
	if (t->count == t->limit &&
	    (t->fixed || t->count >= entries_max ||
		!rebuild(t, t->slots == NULL ? SLOTS_MIN : 2 * (t->mask + 1))))
		return false;
	insert(t, hash, entry);
	t->count++;
	return true;
}

/*
 * Each slot of the run after the hole moves back into the hole, unless its own position by hash
 * lies between the hole (exclusive) and where it is; the hole moves on. All modulo the number of
 * slots.
 */
void
hash_table_remove(struct hash_table *t, struct hash_slot *s)
{
	uint32_t hole = (uint32_t)(s - t->slots), at = hole, home;

	assert(t->count > 0 && s >= t->slots && hole <= t->mask && s->round == t->round);
	for (;;) {
		at = (at + 1) & t->mask;
		if (t->slots[at].round != t->round)
			break;
		home = (uint32_t)t->slots[at].hash & t->mask;
		if (((at - home) & t->mask) < ((at - hole) & t->mask))
			continue;
		t->slots[hole] = t->slots[at];
		hole = at;
	}
	t->slots[hole].round = t->round - 1;
	t->count--;
}
