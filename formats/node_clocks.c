/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/node_clocks.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/hash_table.h"

struct node_pair {
	int64_t least_ns, before_ns; /* of this window, and of the one before */
	uint32_t n;                  /* in this window */
};

struct node_clocks {
	struct hash_table index;
	struct node_pair pairs[NODE_CLOCKS_MAX];
	uint32_t n;
};

struct node_clocks *
node_clocks_new(void)
{
	return calloc(1, sizeof(struct node_clocks));
}

void
node_clocks_free(struct node_clocks *c)
{
	if (c == NULL)
		return;
	hash_table_release(&c->index);
	free(c);
}

/* NULL: out of memory. */
static struct node_pair *
pair_of(struct node_clocks *c, uint32_t client_node, uint32_t server_node)
{
	uint64_t hash = hash_u64((uint64_t)client_node << 32 | server_node);
	uint32_t at = hash_table_find(&c->index, hash);

	if (at != HASH_TABLE_NONE)
		return &c->pairs[at];
	if (c->n == NODE_CLOCKS_MAX) {
		hash_table_clear(&c->index);
		c->n = 0;
	}
	if (!hash_table_put(&c->index, hash, c->n))
		return NULL;
	c->pairs[c->n] = (struct node_pair){ INT64_MAX, INT64_MAX, 0 };
	return &c->pairs[c->n++];
}

int64_t
node_clocks_note(
    struct node_clocks *c, uint32_t client_node, uint32_t server_node, int64_t later_ns)
{
	struct node_pair *p = pair_of(c, client_node, server_node);
	int64_t least_ns = later_ns;

	if (p != NULL) {
		if (p->n == NODE_CLOCKS_WINDOW)
			*p = (struct node_pair){ INT64_MAX, p->least_ns, 0 };
		p->n++;
		p->least_ns = later_ns < p->least_ns ? later_ns : p->least_ns;
		least_ns = p->before_ns < p->least_ns ? p->before_ns : p->least_ns;
	}
	return least_ns > 0 ? least_ns : 0;
}
