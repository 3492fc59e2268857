/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/done_units.h"

#include <assert.h>
#include <stdlib.h>

static int
earlier_first(const void *x, const void *y)
{
	const struct done_unit *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

void
done_units_sort(struct done_unit *units, uint32_t n)
{
	qsort(units, n, sizeof *units, earlier_first);
	for (uint32_t i = 0; i < n; i++)
		units[i].before = units[i].after = i + 1;
}

/* The last position up to `at` that is left, both plus 1; 0: none. */
static uint32_t
left_before(struct done_unit *units, uint32_t at)
{
	while (at > 0 && units[at - 1].before != at) {
		uint32_t next = units[at - 1].before;

		if (next > 0)
			units[at - 1].before = units[next - 1].before;
		at = next;
	}
	return at;
}

/* The first position from `at` on that is left, both plus 1; n + 1: none. */
static uint32_t
left_after(struct done_unit *units, uint32_t n, uint32_t at)
{
	while (at <= n && units[at - 1].after != at) {
		uint32_t next = units[at - 1].after;

		if (next <= n)
			units[at - 1].after = units[next - 1].after;
		at = next;
	}
	return at;
}

/* How many units were done by that time, removed ones included. */
static uint32_t
count_by(const struct done_unit *units, uint32_t n, int64_t time_ns)
{
	uint32_t low = 0;

	while (low < n) {
		uint32_t middle = low + (n - low) / 2;

		if (units[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

uint32_t
done_units_find(struct done_unit *units, uint32_t n, int64_t time_ns)
{
	uint32_t done = count_by(units, n, time_ns), at = left_before(units, done);

	if (at > 0)
		return at - 1;
	at = left_after(units, n, done + 1);
	if (at > n)
		return DONE_UNITS_NONE;
	return left_before(units, count_by(units, n, units[at - 1].time_ns)) - 1;
}

void
done_units_remove(struct done_unit *units, uint32_t at)
{
	assert(units[at].before == at + 1 && units[at].after == at + 1);
	units[at].before = at;
	units[at].after = at + 2;
}
