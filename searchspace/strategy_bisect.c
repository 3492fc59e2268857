/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of equal learned time: requests can lose time where they spend it. Cut i minimises the
 * expected time of the part that remains of the two parts around it. A cut at the fraction f of
 * their time leaves f with probability f and 1 - f otherwise, if the cause is equally likely at
 * any time. Traces that do not pass its tracepoint cannot narrow the gap, all of it is left:
 *
 *	left = share * (f * f + (1 - f) * (1 - f)) + (1 - share)
 *
 * Times were learned while the system was healthy, and the cause may be where no time was spent
 * then. So each cut stays within half a part of where `flat` would cut: with k = 1 no part has
 * more than three quarters of the tracepoints for any times.
 */
#include <assert.h>
#include <math.h>

#include "searchspace/strategy_propose.h"

struct window {
	uint32_t low, high, middle; /* low <= high < n */
	double begin_ns, end_ns;    /* of the two parts around the cut */
};

static struct window
window_of(uint32_t n, uint32_t picks, uint32_t i, uint32_t next, double all_ns)
{
	uint64_t halves = 2 * ((uint64_t)picks + 1);
	struct window w = {
		.low = (uint32_t)(n * (2 * (uint64_t)i + 1) / halves),
		.high = (uint32_t)(n * (2 * (uint64_t)i + 3) / halves),
		.middle = (uint32_t)((uint64_t)(n - picks) * (i + 1) / (picks + 1)) + i,
		.begin_ns = all_ns * i / (picks + 1.0),
		.end_ns = all_ns * (i + 2) / (picks + 1.0),
	};

	if (w.low < next)
		w.low = next;
	if (w.high > n - (picks - i)) /* leaves room for the cuts behind it */
		w.high = n - (picks - i);
	if (w.high < w.low)
		w.high = w.low;
	return w;
}

static double
left_by(const struct candidate *c, const struct window *w)
{
	double f = w->end_ns > w->begin_ns
	               ? (c->offset_ns - w->begin_ns) / (w->end_ns - w->begin_ns)
	               : 0.5;

	f = f < 0 ? 0 : f > 1 ? 1 : f;
	return c->share * (f * f + (1 - f) * (1 - f)) + (1 - c->share);
}

static uint32_t
distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static uint32_t
best_in(const struct candidate *candidates, const struct window *w)
{
	uint32_t best = w->low;
	double least = left_by(&candidates[best], w);

	for (uint32_t i = w->low + 1; i <= w->high; i++) {
		double left = left_by(&candidates[i], w);
		bool same = fabs(left - least) < 1e-9;

		if (same ? distance(i, w->middle) < distance(best, w->middle) : left < least) {
			best = i;
			least = left;
		}
	}
	return best;
}

uint32_t
strategy_bisect(const struct candidate *candidates, uint32_t n, const struct gap_time *gap,
    uint32_t k, struct rng *rng, uint32_t *picked)
{
	uint32_t picks = k < n ? k : n, next = 0;

	assert(k >= 1);
	(void)rng;
	for (uint32_t i = 0; i < picks; i++) {
		struct window w = window_of(n, picks, i, next, gap->mean_ns);

		picked[i] = best_in(candidates, &w);
		next = picked[i] + 1;
	}
	return picks;
}
