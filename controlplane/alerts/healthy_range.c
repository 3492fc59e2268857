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
enum { LIKE_PART = 6, MEAN = RANGE_VALUES, RECENT_MIN = 5, PAIRS_MIN = 30 };

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
	int64_t place; /* when it began, in windows after the judged one; before it: negative */
};

static int
by_rate(const void *a, const void *b)
{
	const struct like *x = a, *y = b;

	if (x->log_rate != y->log_rate)
		return x->log_rate < y->log_rate ? -1 : 1;
	return x->window < y->window ? -1 : x->window > y->window;
}

static int
by_place(const void *a, const void *b)
{
	const struct like *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

static double
log_rate(const struct latency_window *w)
{
	return log(fmax(w->per_second, 1e-9));
}

/* When x began, in windows of window_ns after `w`. Windows that follow each other are 1 apart, also if they end a little late. */
static int64_t
place_of(const struct latency_window *x, const struct latency_window *w, int64_t window_ns)
{
	return llround(((double)x->begin.ns - (double)w->begin.ns) / (double)window_ns);
}

/* The least number of windows with a higher rate, of n. */
static uint32_t
above_min(uint32_t n)
{
	return n / RANGE_ABOVE_PART < RANGE_ABOVE_MIN ? n / RANGE_ABOVE_PART : RANGE_ABOVE_MIN;
}

/*
 * *like: in all[], of h->n, the windows next to `w` by their rates, as many with a lower as with a higher one, but RANGE_HALF_MIN with a
 * lower one where fewer have a higher one; in the order of their places. Returns how many; 0: too few have a higher one.
 */
static uint32_t
like_windows(const struct healthy_range *h, const struct latency_window *w, int64_t window_ns,
    struct like *all, struct like **like)
{
	double now = log_rate(w);
	uint32_t half = h->n / LIKE_PART / 2, below = 0, above, lower;

	for (uint32_t i = 0; i < h->n; i++)
		all[i] = (struct like){ log_rate(&h->windows[i]), &h->windows[i],
			place_of(&h->windows[i], w, window_ns) };
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
	qsort(*like, lower + half, sizeof **like, by_place);
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

/*
 * Takes the mean of above[n] out of it, and returns it. What windows have in common, and how they depend on each other, is about the mean: about
 * the median of skewed values, the mean is something that all windows seem to have in common.
 */
static double
take_out_mean(double *above, uint32_t n)
{
	double mean = 0;

	for (uint32_t k = 0; k < n; k++)
		mean += above[k] / n;
	for (uint32_t k = 0; k < n; k++)
		above[k] -= mean;
	return mean;
}

struct recent_windows { /* of those that are like windows: above[from] to above[to - 1] */
	uint32_t from, to;
	double sum;
};

/*
 * What a value was above its mean in the RANGE_RECENT windows that end RANGE_RECENT_AFTER windows before `place`: the mean of those of
 * them that are like windows; 0 if they are fewer than RECENT_MIN, as after a time without requests. *r: goes on where it was with a
 * lower place.
 */
static double
recent_level(const struct like *like, uint32_t n, const double *above, int64_t place,
    struct recent_windows *r)
{
	while (r->to < n && like[r->to].place + RANGE_RECENT_AFTER <= place)
		r->sum += above[r->to++];
	while (r->from < r->to && like[r->from].place + RANGE_RECENT_AFTER + RANGE_RECENT <= place)
		r->sum -= above[r->from++];
	return r->to - r->from < RECENT_MIN ? 0 : r->sum / (r->to - r->from);
}

/*
 * A drift is slow: part of what a value was above its mean lately is expected of this window, too. Takes that part out of above[n], by the
 * least squares line through 0, and returns what is expected of the window that is judged. levels: room for n.
 */
static double
take_out_drift(const struct like *like, uint32_t n, double *above, double *levels)
{
	struct recent_windows r = { 0 };
	struct recent_windows now = { 0 }; /* not r: others are later if the clock was set back */
	double products = 0, squares = 0, part, level;

	for (uint32_t k = 0; k < n; k++) {
		levels[k] = recent_level(like, n, above, like[k].place, &r);
		products += levels[k] * above[k];
		squares += levels[k] * levels[k];
	}
	level = recent_level(like, n, above, 0, &now);
	part = squares > 0 ? fmin(fmax(products / squares, 0), 1) : 0;
	for (uint32_t k = 0; k < n; k++)
		above[k] -= part * levels[k];
	return part * level;
}

/*
 * above[n]: about their mean. By how much further than independent windows four windows in succession stray together: the root of the variance of their mean, over that of
 * independent ones, 1 + 2 sum of (1 - lag / 4) x autocorrelation. Where they depend on each other, a limit that holds for single windows is left for
 * minutes at a time. At least 1.
 */
static double
dependence(const struct like *like, uint32_t n, const double *above)
{
	double squares = 0, sum = 1;

	for (uint32_t k = 0; k < n; k++)
		squares += above[k] * above[k];
	for (uint32_t lag = 1; lag < RANGE_RUN; lag++) {
		double products = 0;
		uint32_t pairs = 0;

		for (uint32_t k = 0, later = 0; k < n; k++) {
			while (later < n && like[later].place < like[k].place + lag)
				later++;
			if (later == n || like[later].place != like[k].place + lag)
				continue;
			products += above[k] * above[later];
			pairs++;
		}
		if (pairs >= PAIRS_MIN && products > 0)
			sum += 2 * (1 - (double)lag / RANGE_RUN) * (products / pairs) /
			       (squares / n);
	}
	return sqrt(sum);
}

/*
 * The limit of value i and what is usual, logarithms of ns: among n like windows, each moved to the rate of `w`, with what is expected of `w` by
 * the windows before it. work: room for 3 n.
 */
static double
limit_of(const struct latency_window *w, const struct like *like, uint32_t n, unsigned i,
    double over_part, double *work, double *usual)
{
	double *above = work, *levels = work + n, *copy = work + 2 * n, mean, drift, median, far;

	move_to_rate(like, n, w, i, above);
	mean = take_out_mean(above, n);
	drift = take_out_drift(like, n, above, levels);
	memcpy(copy, above, n * sizeof *copy);
	median = part_of(copy, n, 0.5);
	far = part_of(copy, n, 1 - over_part) - median;
	*usual = mean + drift + median;
	return *usual + far * dependence(like, n, above);
}

/* Which values are over their limits among n like windows; notes the one that is furthest above it. */
static void
compare(const struct latency_window *w, const struct like *like, uint32_t n, double over_part,
    double *work, struct range_judgement *ret)
{
	double furthest = -INFINITY;

	for (unsigned i = 0; i < RANGE_VALUES; i++) {
		double usual, limit = limit_of(w, like, n, i, over_part, work, &usual);
		double above = w->log_ns[i] - limit;

		if (above > 0)
			ret->over |= 1U << i;
		if (above <= furthest)
			continue;
		furthest = above;
		ret->of_excess = i >= RANGE_QUANTILES;
		ret->quantile = range_quantiles[i];
		ret->now_ns = exp(w->log_ns[i]);
		ret->usual_ns = exp(usual);
		ret->limit_ns = exp(limit);
	}
}

static void
judge(const struct healthy_range *h, const struct range_rules *rules,
    const struct latency_window *w, struct like *all, double *values, struct range_judgement *ret)
{
	struct like *like;
	uint32_t n = like_windows(h, w, rules->window_ns, all, &like);

	if (n == 0) {
		ret->answer = RANGE_RATE_UNKNOWN;
		return;
	}
	ret->like = n;
	compare(w, like, n, rules->over_part, values, ret);
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
healthy_range_judge(const struct healthy_range *h, const struct range_rules *rules,
    const struct latency_window *w, struct range_judgement *ret, struct err *e)
{
	struct like *like;
	double *values;
	int rc = 0;

	assert(rules->window_ns > 0);
	*ret = (struct range_judgement){ .answer = RANGE_FEW_REQUESTS };
	/* 1. */
	if (w->requests < RANGE_REQUESTS_MIN)
		return 0;
	/* 2. */
	ret->answer = RANGE_LEARNING;
	if (h->n < rules->windows_min)
		return 0;
	/* 3. */
	like = calloc(h->n, sizeof *like);
	values = calloc(3 * (size_t)h->n, sizeof *values);
	if (like != NULL && values != NULL)
		judge(h, rules, w, like, values, ret);
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
