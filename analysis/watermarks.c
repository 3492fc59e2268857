/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/watermarks.h"

#include <assert.h>
#include <stdlib.h>

void
watermarks_release(struct watermarks *w)
{
	free(w->tree);
	*w = (struct watermarks){ 0 };
}

static inline int64_t
lesser(const int64_t *tree, uint32_t at)
{
	return tree[2 * at] < tree[2 * at + 1] ? tree[2 * at] : tree[2 * at + 1];
}

bool
watermarks_room(struct watermarks *w, uint32_t n)
{
	uint32_t leaves = w->leaves > 0 ? w->leaves : 1;
	int64_t *tree;

	if (n <= w->leaves)
		return true;
	while (leaves < n && leaves < UINT32_MAX / 4)
		leaves *= 2;
	if (leaves < n || (tree = malloc(2 * (size_t)leaves * sizeof *tree)) == NULL)
		return false;
	for (uint32_t i = 0; i < leaves; i++)
		tree[leaves + i] = i < w->leaves ? w->tree[w->leaves + i] : INT64_MAX;
	for (uint32_t i = leaves - 1; i > 0; i--)
		tree[i] = lesser(tree, i);
	free(w->tree);
	*w = (struct watermarks){ tree, leaves };
	return true;
}

void
watermarks_set(struct watermarks *w, uint32_t node, int64_t ns)
{
	uint32_t at = w->leaves + node;

	assert(node < w->leaves);
	w->tree[at] = ns;
	/* With one leaf, that is the root. A vertex that does not change ends the way up. */
	while ((at /= 2) > 0 && w->tree[at] != lesser(w->tree, at))
		w->tree[at] = lesser(w->tree, at);
}

int64_t
watermarks_least(const struct watermarks *w)
{
	return w->leaves > 0 ? w->tree[1] : INT64_MAX;
}
