/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "kernel/patterns/request_operations.h"

struct called {
	uint32_t operation, parent;
	int64_t begin_ns, end_ns;
	struct hash128 hash; /* of the tree that it is the root of */
};

static int
by_begin(const void *x, const void *y)
{
	const struct called *a = x, *b = y;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->operation < b->operation ? -1 : a->operation > b->operation;
}

static int
by_hash(const void *x, const void *y)
{
	const struct called *a = x, *b = y;

	if (a->hash.a != b->hash.a)
		return a->hash.a < b->hash.a ? -1 : 1;
	if (a->hash.b != b->hash.b)
		return a->hash.b < b->hash.b ? -1 : 1;
	return by_begin(x, y);
}

static bool
same(struct hash128 a, struct hash128 b)
{
	return a.a == b.a && a.b == b.b;
}

/* The children of one operation, by begin: those that overlap are ordered by hash, and slots are given. Returns the number of slots. */
static uint32_t
order_children(struct called *c, uint32_t n, uint32_t *slot)
{
	uint32_t slots = 0;

	for (uint32_t i = 0, k; i < n; i = k) {
		int64_t until = c[i].end_ns;

		for (k = i + 1; k < n && c[k].begin_ns < until; k++)
			until = c[k].end_ns > until ? c[k].end_ns : until;
		qsort(c + i, k - i, sizeof *c, by_hash);
	}
	for (uint32_t i = 0; i < n; i++) {
		slots += i == 0 || !same(c[i].hash, c[i - 1].hash);
		slot[c[i].operation] = slots - 1;
	}
	return slots;
}

static int
tree_hash(struct hash128 *ret, const struct operation *o, const struct called *c, uint32_t n,
    struct buf *text)
{
	buf_reset(text);
	buf_text(text, o->name, o->name_len);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || !same(c[i].hash, c[i - 1].hash)) {
			buf_u64(text, c[i].hash.a);
			buf_u64(text, c[i].hash.b);
		}
	*ret = hash_bytes128(2, text->data, text->len);
	return text->failed ? ERR_MEMORY : 0;
}

static int
check(const struct operations *o, struct err *e)
{
	if (o->n == 0 || o->n > OPERATIONS_MAX)
		return err_set(e, ERR_INPUT, "a request of %u operations; 1 to %d can be read",
		    o->n, OPERATIONS_MAX);
	for (uint32_t i = 0; i < o->n; i++)
		if (i == 0 ? o->list[i].parent != OPERATION_NONE : o->list[i].parent >= i)
			return err_set(
			    e, ERR_INPUT, "operation %u: its parent is not before it", i);
	return 0;
}

struct called_tree { /* by operation: its children are c[first .. first + count) */
	struct called *c;
	uint32_t *first, *count, *nslots,
	    *at; /* at: where it is itself, before its parent's are ordered */
};

/* Places, breadth first: each one after its parent, those of one parent next to each other. */
static void
number_places(struct workflow *w, const struct operations *o, const struct called_tree *t)
{
	uint32_t count = 1;

	w->places[0] = (struct workflow_place){ .parent = OPERATION_NONE, .nslots = t->nslots[0] };
	for (uint32_t p = 0; p < count; p++) {
		struct workflow_place *place = &w->places[p];
		uint32_t of = place->operation;

		place->first = count;
		for (uint32_t k = t->first[of]; k < t->first[of] + t->count[of]; k++) {
			uint32_t i = t->c[k].operation;

			if (place->first + w->slot[i] == count) /* the first of its slot */
				w->places[count++] = (struct workflow_place){ .parent = p,
					.slot = w->slot[i],
					.operation = i,
					.nslots = t->nslots[i] };
		}
	}
	for (uint32_t i = 1; i < o->n; i++)
		w->place[i] = w->places[w->place[o->list[i].parent]].first + w->slot[i];
	w->nplaces = count;
}

static bool
allocate(struct workflow *w, struct called_tree *t, uint32_t n, struct arena *a)
{
	return (t->c = arena_calloc(a, n, sizeof *t->c)) != NULL &&
	       (t->first = arena_calloc(a, n, sizeof *t->first)) != NULL &&
	       (t->count = arena_calloc(a, n, sizeof *t->count)) != NULL &&
	       (t->nslots = arena_calloc(a, n, sizeof *t->nslots)) != NULL &&
	       (t->at = arena_calloc(a, n, sizeof *t->at)) != NULL &&
	       (w->places = arena_calloc(a, n, sizeof *w->places)) != NULL &&
	       (w->place = arena_calloc(a, n, sizeof *w->place)) != NULL &&
	       (w->slot = arena_calloc(a, n, sizeof *w->slot)) != NULL;
}

int
workflow_of(struct workflow *ret, const struct operations *o, struct arena *a, struct err *e)
{
	struct buf text = { 0 };
	struct called_tree t = { 0 };
	int rc;

	*ret = (struct workflow){ 0 };
	if ((rc = check(o, e)) != 0)
		return rc;
	if (!allocate(ret, &t, o->n, a))
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 1; i < o->n; i++)
		t.c[i - 1] = (struct called){ i, o->list[i].parent, o->list[i].begin_ns,
			o->list[i].end_ns, { 0 } };
	qsort(t.c, o->n - 1, sizeof *t.c, by_begin);
	for (uint32_t k = o->n - 1; k-- > 0;) {
		t.first[t.c[k].parent] = k;
		t.count[t.c[k].parent]++;
		t.at[t.c[k].operation] = k;
	}
	for (uint32_t i = o->n; i-- > 0 && rc == 0;) { /* children before their parent */
		struct hash128 hash;

		t.nslots[i] = order_children(t.c + t.first[i], t.count[i], ret->slot);
		rc = tree_hash(&hash, &o->list[i], t.c + t.first[i], t.count[i], &text);
		*(i > 0 ? &t.c[t.at[i]].hash : &ret->type) = hash;
	}
	buf_release(&text);
	if (rc != 0)
		return err_set(e, rc, "out of memory");
	number_places(ret, o, &t);
	return 0;
}
