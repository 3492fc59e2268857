/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/seen_traces.h"

#include "base/hash.h"

void
seen_traces_init(struct seen_traces *s, size_t bytes_max)
{
	uint32_t slots = 64;

	while (slots < UINT32_C(1) << 28 &&
	       2 * (size_t)slots * 2 * sizeof(struct hash_slot) <= bytes_max)
		slots *= 2;
	*s = (struct seen_traces){ .count_max = slots / 4 * 3 };
}

void
seen_traces_release(struct seen_traces *s)
{
	hash_table_release(&s->tables[0]);
	hash_table_release(&s->tables[1]);
}

static uint64_t
hash_of(const struct value *v)
{
	return hash_u64(v->type + (v->type == VALUE_TEXT ? hash_bytes(0, v->text, v->len) : v->u));
}

/* A sum, so that the order of the events does not matter. */
static uint32_t
content_of(const struct trace *t)
{
	uint64_t sum = hash_u64((uint64_t)t->nevents << 32 | t->nunits);

	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct event *e = &t->events[i];

		sum += hash_u64((uint64_t)e->time_ns ^ hash_multiply(e->link_id + e->label));
		for (uint32_t v = 0; v < e->nvalues; v++)
			if (e->values[v].type != VALUE_NONE)
				sum += hash_of(&e->values[v]) * (2 * v + 1);
	}
	sum = hash_u64(sum) >> 32;
	return sum != HASH_TABLE_NONE ? (uint32_t)sum : 0;
}

/* Where a further content of an id is: each has a slot of its own, so that an id with many costs no
 * search. */
static uint64_t
further(uint64_t id, uint32_t content)
{
	return hash_u64(id ^ hash_u64(content));
}

static enum seen
find(const struct hash_table *t, uint64_t id, uint32_t content)
{
	const struct hash_slot *first = hash_table_first(t, id);

	if (first == NULL)
		return SEEN_NEVER;
	return first->entry == content || hash_table_find(t, further(id, content)) == content
	           ? SEEN_BEFORE
	           : SEEN_ID;
}

enum seen
seen_traces_add(struct seen_traces *s, const struct trace *t)
{
	uint64_t id = hash_u64(t->id + hash_u64(t->id_high));
	uint32_t content = content_of(t);
	enum seen new = find(&s->tables[s->newer], id, content),
		  old = find(&s->tables[!s->newer], id, content),
		  ret = new == SEEN_ID || old == SEEN_ID ? SEEN_ID : SEEN_NEVER;

	if (new == SEEN_BEFORE || old == SEEN_BEFORE)
		return SEEN_BEFORE;
	if (s->tables[s->newer].count == s->count_max) {
		s->newer = !s->newer;
		hash_table_clear(&s->tables[s->newer]);
		new = SEEN_NEVER;
	}
	hash_table_claim(
	    &s->tables[s->newer], new == SEEN_NEVER ? id : further(id, content), content);
	return ret;
}
