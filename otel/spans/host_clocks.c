/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/host_clocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"

struct host_clock {
	char name[HOST_CLOCKS_NAME_MAX];
	uint32_t len;
	int64_t leads_ns[HOST_CLOCKS_BODIES]; /* a ring */
	uint64_t n;                           /* bodies so far */
	int64_t ahead_ns;                     /* their lower median; 0 if negative */
	int64_t body_ns;                      /* of the body at hand */
	bool in_body;
};

struct host_clocks {
	struct hash_table index; /* by the hash of the name */
	struct host_clock all[HOST_CLOCKS_MAX];
	uint32_t n, last;                      /* last: of the span before */
	uint32_t body[HOST_CLOCKS_MAX], nbody; /* those of the body at hand */
	uint64_t seed;
};

struct host_clocks *
host_clocks_new(void)
{
	struct host_clocks *h = calloc(1, sizeof *h);

	if (h != NULL)
		h->seed = hash_seed();
	return h;
}

void
host_clocks_free(struct host_clocks *h)
{
	if (h == NULL)
		return;
	hash_table_release(&h->index);
	free(h);
}

static struct text_view
name_of(const struct span *s)
{
	struct text_view name = s->node;

	if (name.len > HOST_CLOCKS_NAME_MAX)
		name.len = HOST_CLOCKS_NAME_MAX;
	return name;
}

static bool
is_it(const struct host_clock *c, struct text_view name)
{
	return c->len == name.len && (name.len == 0 || memcmp(c->name, name.s, name.len) == 0);
}

/* NULL: it is not known. *hash: of its name, if that was needed. */
static struct host_clock *
find(struct host_clocks *h, struct text_view name, uint64_t *hash)
{
	struct hash_slot *slot;

	if (h->last < h->n && is_it(&h->all[h->last], name))
		return &h->all[h->last];
	*hash = hash_bytes(h->seed, name.len > 0 ? name.s : "", name.len);
	for (slot = hash_table_first(&h->index, *hash); slot != NULL;
	     slot = hash_table_next(&h->index, slot))
		if (is_it(&h->all[slot->entry], name)) {
			h->last = slot->entry;
			return &h->all[slot->entry];
		}
	return NULL;
}

/* NULL: out of memory. */
static struct host_clock *
add(struct host_clocks *h, struct text_view name, uint64_t hash)
{
	struct host_clock *c;

	if (h->n == HOST_CLOCKS_MAX) {
		hash_table_clear(&h->index);
		h->n = h->nbody = 0;
	}
	if (!hash_table_put(&h->index, hash, h->n))
		return NULL;
	c = &h->all[h->n];
	*c = (struct host_clock){ .len = name.len };
	if (name.len > 0)
		memcpy(c->name, name.s, name.len);
	h->last = h->n++;
	return c;
}

void
host_clocks_note(struct host_clocks *h, const struct span *s, int64_t lead_ns)
{
	struct text_view name = name_of(s);
	uint64_t hash = 0;
	struct host_clock *c;

	if (name.len == 0)
		return;
	c = find(h, name, &hash);
	if (c == NULL && (c = add(h, name, hash)) == NULL)
		return;
	if (!c->in_body) {
		c->in_body = true;
		c->body_ns = lead_ns;
		h->body[h->nbody++] = (uint32_t)(c - h->all);
	}
	c->body_ns = lead_ns > c->body_ns ? lead_ns : c->body_ns;
}

static int64_t
lower_median(const int64_t *all, uint32_t n)
{
	int64_t sorted[HOST_CLOCKS_BODIES];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		for (; at > 0 && sorted[at - 1] > all[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = all[i];
	}
	return sorted[(n - 1) / 2];
}

void
host_clocks_body(struct host_clocks *h)
{
	for (uint32_t i = 0; i < h->nbody; i++) {
		struct host_clock *c = &h->all[h->body[i]];
		int64_t ahead_ns;

		c->leads_ns[c->n++ % HOST_CLOCKS_BODIES] = c->body_ns;
		c->in_body = false;
		ahead_ns = lower_median(
		    c->leads_ns, c->n < HOST_CLOCKS_BODIES ? (uint32_t)c->n : HOST_CLOCKS_BODIES);
		c->ahead_ns = c->n >= HOST_CLOCKS_FIRST && ahead_ns > 0 ? ahead_ns : 0;
	}
	h->nbody = 0;
}

int64_t
host_clocks_ahead_ns(struct host_clocks *h, const struct span *s)
{
	uint64_t hash;
	const struct host_clock *c = s->node.len > 0 ? find(h, name_of(s), &hash) : NULL;

	return c != NULL ? c->ahead_ns : 0;
}

uint32_t
host_clocks_count_ahead(const struct host_clocks *h, int64_t over_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n; i++)
		n += h->all[i].ahead_ns > over_ns;
	return n;
}
