/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/window_times.h"

#include <stdlib.h>

#include "base/array.h"

static void
halve(struct window_times *t)
{
	for (uint32_t i = 0; i < t->n; i += 2)
		t->items[i / 2] = t->items[i];
	t->n /= 2;
	t->shift++;
}

int
window_times_add(struct window_times *t, int64_t begin_ns, int64_t took_ns, struct err *e)
{
	_Static_assert(
	    WINDOW_TIMES_MAX % 2 == 0, "halve() leaves those whose number has the new shift");

	if (t->n == WINDOW_TIMES_MAX)
		halve(t);
	if ((t->requests & ((UINT64_C(1) << t->shift) - 1)) == 0) {
		if (!array_reserve_max(t->items, t->cap, t->n + 1, WINDOW_TIMES_MAX))
			return err_set(e, ERR_MEMORY, "out of memory for response times");
		t->items[t->n++] = (struct window_time){ begin_ns, took_ns };
	}
	t->requests++;
	t->sum_ns += (double)took_ns;
	return 0;
}

void
window_times_clear(struct window_times *t)
{
	*t = (struct window_times){ .items = t->items, .cap = t->cap };
}

void
window_times_release(struct window_times *t)
{
	free(t->items);
	*t = (struct window_times){ 0 };
}

static int
by_begin(const void *a, const void *b)
{
	const struct window_time *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->took_ns > y->took_ns) - (x->took_ns < y->took_ns);
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void
window_times_sorted(struct window_times *t, double *times_ns, double *excess_ns)
{
	const struct window_time *x = t->items;

	if (t->n == 0)
		return;
	qsort(t->items, t->n, sizeof *t->items, by_begin);
	for (uint32_t i = 0; i < t->n; i++)
		times_ns[i] = (double)x[i].took_ns;
	for (uint32_t i = 1; i + 1 < t->n; i++)
		excess_ns[i - 1] = times_ns[i] - (times_ns[i - 1] + times_ns[i + 1]) / 2;
	qsort(times_ns, t->n, sizeof *times_ns, by_value);
	if (t->n > 2)
		qsort(excess_ns, t->n - 2, sizeof *excess_ns, by_value);
}
