/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/rollup.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_table.h"

struct rollup {
	struct rollup_row *rows;
	uint32_t *last; /* [nrows]: the problem that was added last */
	uint32_t nrows, rows_cap, last_cap;
	struct hash_table index;
};

static struct rollup_row *
row_for(struct rollup *u, const struct shape_edge *e)
{
	struct rollup_row row = { e->owner, LABEL_NONE, LABEL_NONE, 0, 0, 0 };
	uint64_t hash;

	if (e->owner == LABEL_NONE) {
		row.from = e->from_unit;
		row.to = e->to_unit;
	}
	hash = hash_u64(row.owner + hash_u64((uint64_t)row.from << 32 | row.to));
	for (struct hash_slot *s = hash_table_first(&u->index, hash); s != NULL;
	     s = hash_table_next(&u->index, s))
		if (u->rows[s->entry].owner == row.owner && u->rows[s->entry].from == row.from &&
		    u->rows[s->entry].to == row.to)
			return &u->rows[s->entry];
	if (!array_reserve(u->rows, u->rows_cap, u->nrows + 1) ||
	    !array_reserve(u->last, u->last_cap, u->nrows + 1) ||
	    !hash_table_put(&u->index, hash, u->nrows))
		return NULL;
	u->last[u->nrows] = UINT32_MAX;
	u->rows[u->nrows] = row;
	return &u->rows[u->nrows++];
}

static bool
add_problem(struct rollup *u, const struct judged *j, uint32_t number)
{
	const struct finding *f = &j->finding;
	double sum = 0;

	for (uint32_t i = 0; i < f->nedges; i++)
		sum += fmax(0, f->edges[i].share);
	for (uint32_t i = 0; i < f->nedges && sum > 0; i++) {
		struct rollup_row *row;

		if (f->edges[i].share <= 0)
			continue;
		if ((row = row_for(u, &j->group->shape.edges[i])) == NULL)
			return false;
		row->cost_ns += f->cost_ns * f->edges[i].share / sum;
		if (u->last[row - u->rows] == number)
			continue;
		u->last[row - u->rows] = number;
		row->groups++;
		row->requests += j->group->total.n;
	}
	return true;
}

static int
by_cost(const void *a, const void *b)
{
	const struct rollup_row *x = a, *y = b;

	if (x->cost_ns != y->cost_ns)
		return x->cost_ns > y->cost_ns ? -1 : 1;
	return x->owner != y->owner ? (x->owner > y->owner) - (x->owner < y->owner)
	       : x->from != y->from ? (x->from > y->from) - (x->from < y->from)
	                            : (x->to > y->to) - (x->to < y->to);
}

int
rollup_of(struct rollup_row **ret, const struct report *r, uint32_t type)
{
	struct rollup u = { 0 };
	const struct report_problem *p;
	bool ok = true;

	for (uint32_t i = 0; ok && (p = report_problem(r, i)) != NULL; i++)
		if (type == LABEL_NONE || p->type->label == type)
			ok = add_problem(&u, p->judged, i);
	if (ok && u.nrows > 1)
		qsort(u.rows, u.nrows, sizeof *u.rows, by_cost);
	free(u.last);
	hash_table_release(&u.index);
	*ret = u.rows;
	if (ok)
		return (int)u.nrows;
	free(u.rows);
	*ret = NULL;
	return ERR_MEMORY;
}
