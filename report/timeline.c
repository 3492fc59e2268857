/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/timeline.h"

#include <string.h>

#define WIDTH_MIN_NS INT64_C(1000000000)

/* The multiple of the width at or before that time, which may be before the clock's 0. */
static int64_t
begin_of(int64_t ns, int64_t width_ns)
{
	int64_t rest = ns % width_ns;

	return ns - rest - (rest < 0 ? width_ns : 0);
}

/* Moves the bins to another begin and width; each lies within one of the new ones. */
static void
move_bins(struct timeline *t, int64_t from_ns, int64_t width_ns, uint32_t count)
{
	struct timeline old = *t;

	*t = (struct timeline){ .from_ns = from_ns, .width_ns = width_ns, .count = count };
	for (uint32_t i = 0; i < old.count; i++) {
		int64_t at = (old.from_ns + i * old.width_ns - from_ns) / width_ns;

		t->bins[at].n += old.bins[i].n;
		t->bins[at].sum_ns += old.bins[i].sum_ns;
	}
}

/* Widens the range so that it has that time. */
static void
reach(struct timeline *t, int64_t ns)
{
	int64_t width_ns = t->width_ns, last_ns = t->from_ns + (t->count - 1) * width_ns, from_ns;

	last_ns = ns > last_ns ? ns : last_ns;
	from_ns = ns < t->from_ns ? ns : t->from_ns;
	while (
	    (begin_of(last_ns, width_ns) - begin_of(from_ns, width_ns)) / width_ns >= TIMELINE_BINS)
		width_ns *= 2;
	from_ns = begin_of(from_ns, width_ns);
	move_bins(t, from_ns, width_ns, (uint32_t)((last_ns - from_ns) / width_ns + 1));
}

void
timeline_add(struct timeline *t, int64_t begin_ns, double took_ns)
{
	int64_t at;

	if (t->width_ns == 0)
		*t = (struct timeline){ .from_ns = begin_of(begin_ns, WIDTH_MIN_NS),
			.width_ns = WIDTH_MIN_NS,
			.count = 1 };
	if (begin_ns < t->from_ns || begin_ns >= t->from_ns + t->count * t->width_ns)
		reach(t, begin_ns);
	at = (begin_ns - t->from_ns) / t->width_ns;
	t->bins[at].n++;
	t->bins[at].sum_ns += took_ns;
}

bool
timeline_worst(struct timeline_worst *ret, const struct timeline *t)
{
	struct timeline_bin all = { 0 }, worst = { 0 };
	double mean, most = 0, excess = 0;
	uint32_t from = 0, first = 0, end = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		all.n += t->bins[i].n;
		all.sum_ns += t->bins[i].sum_ns;
	}
	mean = all.n > 0 ? all.sum_ns / (double)all.n : 0;
	for (uint32_t i = 0; i < t->count; i++) {
		if (excess <= 0) {
			excess = 0;
			from = i;
		}
		excess += t->bins[i].sum_ns - mean * (double)t->bins[i].n;
		if (excess > most) {
			most = excess;
			first = from;
			end = i + 1;
		}
	}
	for (uint32_t i = first; i < end; i++) {
		worst.n += t->bins[i].n;
		worst.sum_ns += t->bins[i].sum_ns;
	}
	if (worst.n == 0 || worst.n == all.n)
		return false;
	*ret = (struct timeline_worst){ t->from_ns + first * t->width_ns,
		t->from_ns + end * t->width_ns, worst.n, worst.sum_ns / (double)worst.n,
		(all.sum_ns - worst.sum_ns) / (double)(all.n - worst.n) };
	return true;
}
