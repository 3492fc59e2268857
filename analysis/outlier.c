/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/outlier.h"

#include <stdlib.h>

#include "base/hash_map.h"

static uint64_t
edge_key(const struct critpath *p, uint32_t step)
{
	return (uint64_t)p->steps[step - 1].label << 32 | p->steps[step].label;
}

static double
excess(const struct outlier_edge *e)
{
	return e->slow_ns - e->usual_ns;
}

static int
by_excess(const void *a, const void *b)
{
	const struct outlier_edge *x = a, *y = b;

	if (excess(x) != excess(y))
		return excess(x) > excess(y) ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

int
outlier_edges(struct outlier_edge **ret, uint32_t *n, const struct critpath *slow,
    const struct critpath *usual, uint32_t nusual, struct arena *a, struct err *e)
{
	struct outlier_edge *list = arena_calloc(a, slow->nsteps, sizeof *list), *edge;
	struct map known = { 0 };
	bool ok = list != NULL;

	*n = 0;
	for (uint32_t i = 1; ok && i < slow->nsteps; i++) {
		uint64_t key = edge_key(slow, i);

		if ((edge = map_get(&known, key)) == NULL) {
			edge = &list[(*n)++];
			edge->from = slow->steps[i - 1].label;
			edge->to = slow->steps[i].label;
			ok = map_put(&known, key, edge);
		}
		edge->slow_ns += (double)(slow->steps[i].time_ns - slow->steps[i - 1].time_ns);
	}
	for (uint32_t u = 0; ok && u < nusual; u++)
		for (uint32_t i = 1; i < usual[u].nsteps; i++)
			if ((edge = map_get(&known, edge_key(&usual[u], i))) != NULL)
				edge->usual_ns += (double)(usual[u].steps[i].time_ns -
							   usual[u].steps[i - 1].time_ns) /
				                  (double)nusual;
	map_release(&known);
	if (!ok)
		return err_set(e, ERR_MEMORY, "out of memory for the edges of a request");
	if (*n > 1)
		qsort(list, *n, sizeof *list, by_excess);
	*ret = list;
	return 0;
}
