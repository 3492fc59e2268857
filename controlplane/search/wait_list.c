/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/wait_list.h"

#include <stdlib.h>

#include "base/array.h"

void
wait_list_release(struct wait_list *l)
{
	free(l->items);
	*l = (struct wait_list){ 0 };
}

static bool
put(struct wait_list *l, const struct listed_wait *x)
{
	struct listed_wait *at = array_newest(
	    l->items, l->items_cap, l->nitems, l->next, WAITS_MAX);

	if (at != NULL)
		*at = *x;
	return at != NULL;
}

int
wait_list_add(struct wait_list *l, const struct trace *t, const struct critpath *path,
    const struct gap *gap, struct err *e)
{
	for (uint32_t i = 1; i < path->nsteps; i++) {
		const struct step *a = &path->steps[i - 1], *b = &path->steps[i];
		const struct event *from = &t->events[a->event], *to = &t->events[b->event];
		const struct listed_wait x = {
			.gap = { .from = a->label,
			    .to = b->label,
			    .from_unit = a->unit_label,
			    .to_unit = b->unit_label },
			.wait = { .trace_id = t->id,
			    .begin_ns = a->time_ns,
			    .end_ns = b->time_ns,
			    .from = { from->node, from->pid },
			    .to = { to->node, to->pid },
			    .tid = to->tid,
			    .unit = to->unit },
			.between = b->owner == LABEL_NONE,
		};

		if ((gap == NULL ? x.between : !x.between && gap_same_ends(&x.gap, gap)) &&
		    !put(l, &x))
			return err_set(e, ERR_MEMORY, "out of memory for waits");
	}
	return 0;
}

struct thread_wait *
wait_list_of(const struct wait_list *l, const struct gap *gap, uint32_t *n, struct arena *a)
{
	struct thread_wait *ret = arena_alloc(a, (l->nitems + 1) * sizeof *ret);

	*n = 0;
	for (uint32_t i = 0; i < l->nitems && ret != NULL; i++)
		if (gap_same_ends(&l->items[i].gap, gap))
			ret[(*n)++] = l->items[i].wait;
	return *n > 0 ? ret : NULL;
}
