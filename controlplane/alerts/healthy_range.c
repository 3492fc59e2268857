/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/healthy_range.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bootstrap.h"
#include "analysis/quantile.h"
#include "base/array.h"

const double range_quantiles[RANGE_QUANTILES] = { .05, .1, .25, .5, .75, .9, .95, .98, .99 };

/* The part of like windows that are within the limit of one quantile. */
static const double HEALTHY_PART = 0.996;
enum { LIKE_PART = 6, LOWER_QUARTILE = 2 /* in range_quantiles */, MEAN = RANGE_QUANTILES };

const char *
range_answer_word(enum range_answer a)
{
	static const char *const words[RANGE_ANSWERS] = { "few-requests", "learning",
		"rate-unknown", "inside", "outside" };

	return (unsigned)a < RANGE_ANSWERS ? words[a] : "?";
}

void
latency_window_make(struct latency_window *w, const struct sketch *times, double mean_ns,
    double per_second, struct wall begin)
{
	*w = (struct latency_window){
		.begin = begin, .requests = times->n, .per_second = per_second, .mean_ns = mean_ns
	};
	for (unsigned i = 0; i < RANGE_QUANTILES && times->n > 0; i++) {
		double ns = sketch_quantile(times, range_quantiles[i]);

		w->log_ns[i] = log(ns > 1 ? ns : 1);
	}
}

/* ---- like windows ---- */

struct like {
	double feature; /* what windows are compared by */
	const struct latency_window *window;
};

static int
by_feature(const void *a, const void *b)
{
	const struct like *x = a, *y = b;

	if (x->feature != y->feature)
		return x->feature < y->feature ? -1 : 1;
	return x->window < y->window ? -1 : x->window > y->window;
}

static double
feature(const struct latency_window *w, bool by_quartile)
{
	return by_quartile ? w->log_ns[LOWER_QUARTILE] : log(fmax(w->per_second, 1e-9));
}

/* The least number of windows with more of the feature, of n. */
static uint32_t
above_min(uint32_t n)
{
	return n / RANGE_ABOVE_PART < RANGE_ABOVE_MIN ? n / RANGE_ABOVE_PART : RANGE_ABOVE_MIN;
}

/*
 * *like: in all[], of h->n, the windows next to `w`, as many with less of the feature as with more, but RANGE_HALF_MIN with less where
 * fewer have more. Returns how many; 0: too few have more.
 */
static uint32_t
like_windows(const struct healthy_range *h, const struct latency_window *w, bool by_quartile,
    struct like *all, const struct like **like)
{
	double now = feature(w, by_quartile);
	uint32_t half = h->n / LIKE_PART / 2, below = 0, above, lower;

	for (uint32_t i = 0; i < h->n; i++)
		all[i] = (struct like){ feature(&h->windows[i], by_quartile), &h->windows[i] };
	qsort(all, h->n, sizeof *all, by_feature);
	while (below < h->n && all[below].feature < now)
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
value(const struct latency_window *w, unsigned q)
{
	return q == MEAN ? log(fmax(w->mean_ns, 1)) : w->log_ns[q];
}

/* By how much quantile q (MEAN: the mean) grows with the feature: the slope of the least squares line. 0 if it falls, since load and
 * waiting make nothing faster. */
static double
slope_of(const struct like *like, uint32_t n, unsigned q)
{
	struct comoments m = { 0 };

	for (uint32_t i = 0; i < n; i++)
		comoments_add(&m, like[i].feature, value(like[i].window, q));
	return m.m2_x > 0 && m.c_xy > 0 ? m.c_xy / m.m2_x : 0;
}

/* The usual value of quantile q (MEAN: of the mean) and its limit at the feature `now`, both logarithms. values: room for n. */
static void
limit_of(const struct like *like, uint32_t n, double now, unsigned q, double *values, double *usual,
    double *limit)
{
	double slope = slope_of(like, n, q);

	for (uint32_t i = 0; i < n; i++)
		values[i] = value(like[i].window, q) - slope * (like[i].feature - now);
	*usual = select_rank(values, n, (uint32_t)quantile_rank(n, 0.5));
	*limit = select_rank(values, n, (uint32_t)quantile_rank(n, HEALTHY_PART));
}

/* Notes the quantile, from `first` on, that is furthest above its limit among n like windows. */
static void
compare(const struct latency_window *w, const struct like *like, uint32_t n, double now,
    unsigned first, double *values, double *furthest, struct range_judgement *ret)
{
	for (unsigned q = first; q < RANGE_QUANTILES && n > 0; q++) {
		double usual, limit;

		limit_of(like, n, now, q, values, &usual, &limit);
		if (w->log_ns[q] - limit <= *furthest)
			continue;
		*furthest = w->log_ns[q] - limit;
		ret->like = n;
		ret->quantile = range_quantiles[q];
		ret->now_ns = exp(w->log_ns[q]);
		ret->usual_ns = exp(usual);
		ret->limit_ns = exp(limit);
	}
}

static void
judge(const struct healthy_range *h, const struct latency_window *w, struct like *all,
    double *values, struct range_judgement *ret)
{
	double furthest = -INFINITY, usual, limit;
	const struct like *like;
	uint32_t n = like_windows(h, w, false, all, &like);

	if (n == 0) {
		ret->answer = RANGE_RATE_UNKNOWN;
		return;
	}
	compare(w, like, n, feature(w, false), 0, values, &furthest, ret);
	limit_of(like, n, feature(w, false), MEAN, values, &usual, &limit);
	ret->usual_mean_ns = exp(usual);
	ret->cost_share = w->mean_ns > 0 ? 1 - ret->usual_mean_ns / w->mean_ns : 0;
	n = like_windows(h, w, true, all, &like);
	compare(w, like, n, feature(w, true), LOWER_QUARTILE + 1, values, &furthest, ret);
	ret->answer = furthest > 0 ? RANGE_OUTSIDE : RANGE_INSIDE;
}

int
healthy_range_judge(const struct healthy_range *h, uint32_t windows_min,
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
		judge(h, w, like, values, ret);
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
