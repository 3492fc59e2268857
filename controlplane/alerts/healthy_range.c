/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/healthy_range.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bootstrap.h"
#include "analysis/moments.h"
#include "analysis/quantile.h"
#include "base/array.h"

const double range_quantiles[RANGE_VALUES] = { .05, .1, .25, .5, .75, .9, .95, .98, .99,
	/* excesses: */ .75, .9, .95, .98, .99 };

static const double OVER_PART = 0.01; /* of like windows, of one value of one profile */
static const double FAST_PART = 0.1;  /* of cost_share_most */
enum { LIKE_PART = 6, MEAN = RANGE_VALUES };

const char *
range_answer_word(enum range_answer a)
{
	static const char *const words[RANGE_ANSWERS] = { "few-requests", "learning",
		"rate-unknown", "inside", "outside" };

	return (unsigned)a < RANGE_ANSWERS ? words[a] : "?";
}

/* The quantiles of n ascending values, as logarithms. */
static void
put_quantiles(
    double *log_ns, const double *quantiles, uint32_t nquantiles, const double *values, uint32_t n)
{
	for (uint32_t i = 0; i < nquantiles && n > 0; i++) {
		double ns = values[quantile_rank(n, quantiles[i])];

		log_ns[i] = log(ns > 1 ? ns : 1);
	}
}

int
latency_window_make(struct latency_window *w, struct window_times *times, double per_second,
    struct wall begin, struct err *e)
{
	double *values = calloc(2 * (size_t)times->n + 1, sizeof *values);

	*w = (struct latency_window){
		.begin = begin, .requests = times->requests, .per_second = per_second
	};
	if (values == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for response times");
	if (times->requests > 0)
		w->mean_ns = times->sum_ns / (double)times->requests;
	window_times_sorted(times, values, values + times->n);
	put_quantiles(w->log_ns, range_quantiles, RANGE_QUANTILES, values, times->n);
	put_quantiles(w->log_ns + RANGE_QUANTILES, range_quantiles + RANGE_QUANTILES,
	    RANGE_EXCESSES, values + times->n, times->n > 2 ? times->n - 2 : 0);
	free(values);
	return 0;
}

/* ---- like windows ---- */

struct like {
	double log_rate;
	const struct latency_window *window;
};

static int
by_rate(const void *a, const void *b)
{
	const struct like *x = a, *y = b;

	if (x->log_rate != y->log_rate)
		return x->log_rate < y->log_rate ? -1 : 1;
	return x->window < y->window ? -1 : x->window > y->window;
}

static double
log_rate(const struct latency_window *w)
{
	return log(fmax(w->per_second, 1e-9));
}

/* The least number of windows with a higher rate, of n. */
static uint32_t
above_min(uint32_t n)
{
	return n / RANGE_ABOVE_PART < RANGE_ABOVE_MIN ? n / RANGE_ABOVE_PART : RANGE_ABOVE_MIN;
}

/*
 * *like: in all[], of h->n, the windows next to `w` by their rates, as many with a lower as with a higher one, but RANGE_HALF_MIN with a
 * lower one where fewer have a higher one. Returns how many; 0: too few have a higher one.
 */
static uint32_t
like_windows(const struct healthy_range *h, const struct latency_window *w, struct like *all,
    const struct like **like)
{
	double now = log_rate(w);
	uint32_t half = h->n / LIKE_PART / 2, below = 0, above, lower;

	for (uint32_t i = 0; i < h->n; i++)
		all[i] = (struct like){ log_rate(&h->windows[i]), &h->windows[i] };
	qsort(all, h->n, sizeof *all, by_rate);
	while (below < h->n && all[below].log_rate < now)
		below++;
	above = h->n - below;
	if (above < above_min(h->n))
		return 0;
	if (half < RANGE_HALF_MIN)
		half = RANGE_HALF_MIN;
	if (half > above)
		half = above;
	lower = half > RANGE_HALF_MIN ? half : RANGE_HALF_MIN;
	if (lower > below)
		lower = below;
	*like = all + below - lower;
	return lower + half;
}

/* ---- limits ---- */

static double
value(const struct latency_window *w, unsigned i)
{
	return i == MEAN ? log(fmax(w->mean_ns, 1)) : w->log_ns[i];
}

/* By how much value i grows with the logarithm of the rate: the slope of the least squares line. 0 if it falls, since load makes nothing
 * faster. */
static double
slope_of(const struct like *like, uint32_t n, unsigned i)
{
	struct comoments m = { 0 };

	for (uint32_t k = 0; k < n; k++)
		comoments_add(&m, like[k].log_rate, value(like[k].window, i));
	return m.m2_x > 0 && m.c_xy > 0 ? m.c_xy / m.m2_x : 0;
}

/* values[n]: value i of the like windows, as it would be at the rate of `w`. */
static void
move_to_rate(
    const struct like *like, uint32_t n, const struct latency_window *w, unsigned i, double *values)
{
	double slope = slope_of(like, n, i), now = log_rate(w);

	for (uint32_t k = 0; k < n; k++)
		values[k] = value(like[k].window, i) - slope * (like[k].log_rate - now);
}

/* Reorders the values. */
static double
part_of(double *values, uint32_t n, double part)
{
	return select_rank(values, n, (uint32_t)quantile_rank(n, part));
}

/* Which values are over their limits among n like windows; notes the one that is furthest above it. */
static void
compare(const struct latency_window *w, const struct like *like, uint32_t n, double over_part,
    double *values, struct range_judgement *ret)
{
	double furthest = -INFINITY;

	for (unsigned i = 0; i < RANGE_VALUES; i++) {
		double limit, above;

		move_to_rate(like, n, w, i, values);
		limit = part_of(values, n, 1 - over_part);
		above = w->log_ns[i] - limit;
		if (above > 0)
			ret->over |= 1U << i;
		if (above <= furthest)
			continue;
		furthest = above;
		ret->of_excess = i >= RANGE_QUANTILES;
		ret->quantile = range_quantiles[i];
		ret->now_ns = exp(w->log_ns[i]);
		ret->usual_ns = exp(part_of(values, n, 0.5));
		ret->limit_ns = exp(limit);
	}
}

static void
judge(const struct healthy_range *h, double over_part, const struct latency_window *w,
    struct like *all, double *values, struct range_judgement *ret)
{
	const struct like *like;
	uint32_t n = like_windows(h, w, all, &like);

	if (n == 0) {
		ret->answer = RANGE_RATE_UNKNOWN;
		return;
	}
	ret->like = n;
	compare(w, like, n, over_part, values, ret);
	move_to_rate(like, n, w, MEAN, values);
	ret->usual_mean_ns = exp(part_of(values, n, 0.5));
	if (w->mean_ns > 0) {
		ret->cost_share = 1 - ret->usual_mean_ns / w->mean_ns;
		ret->cost_share_most = 1 - exp(part_of(values, n, FAST_PART)) / w->mean_ns;
	}
	ret->answer = ret->over != 0 ? RANGE_OUTSIDE : RANGE_INSIDE;
}

double
range_over_part(uint32_t profiles)
{
	return OVER_PART / cbrt(profiles > 1 ? profiles : 1);
}

int
healthy_range_judge(const struct healthy_range *h, uint32_t windows_min, double over_part,
    const struct latency_window *w, struct range_judgement *ret, struct err *e)
{
	struct like *like;
	double *values;
	int rc = 0;

	*ret = (struct range_judgement){ .answer = RANGE_FEW_REQUESTS };
	/* 1. */
	if (w->requests < RANGE_REQUESTS_MIN)
		return 0;
	/* 2. */
	ret->answer = RANGE_LEARNING;
	if (h->n < windows_min)
		return 0;
	/* 3. */
	like = calloc(h->n, sizeof *like);
	values = calloc(h->n, sizeof *values);
	if (like != NULL && values != NULL)
		judge(h, over_part, w, like, values, ret);
	else
		rc = err_set(
		    e, ERR_MEMORY, "out of memory for the healthy range of response times");
	free(like);
	free(values);
	return rc;
}

int
healthy_range_add(struct healthy_range *h, const struct latency_window *w, struct err *e)
{
	if (h->n < RANGE_WINDOWS_MAX) {
		assert(h->next == h->n || h->n == 0);
		if (!array_reserve(h->windows, h->cap, h->n + 1))
			return err_set(
			    e, ERR_MEMORY, "out of memory for the healthy range of response times");
		h->n++;
	}
	h->windows[h->next] = *w;
	h->next = (h->next + 1) % RANGE_WINDOWS_MAX;
	return 0;
}

void
healthy_range_release(struct healthy_range *h)
{
	free(h->windows);
	*h = (struct healthy_range){ 0 };
}
