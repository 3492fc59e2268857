/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "report/change_stats.h"

enum { PER_OCTAVE = 8 };

static uint64_t
total(const uint32_t *buckets, uint32_t nbuckets)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < nbuckets; i++)
		n += buckets[i];
	return n;
}

/* The maximum over all times t of P(then <= t / r) - P(now <= t), r being `shift` buckets. */
static double
distance(const uint32_t *now, double n_now, const uint32_t *then, double n_then, uint32_t nbuckets,
    uint32_t shift)
{
	double below_now = 0, below_then = 0, d = 0;

	for (uint32_t i = 0; i < nbuckets; i++) {
		below_now += now[i];
		if (i >= shift)
			below_then += then[i - shift];
		d = fmax(d, below_then / n_then - below_now / n_now);
	}
	return d;
}

/*
 * The critical value of the distance, sqrt(ln(1/alpha) / 2 * (1/n + 1/m)), is the one-sided Smirnov
 * limit; with Massart's constant it is conservative at the sample sizes of this use.
 *
 * A call that takes longer by a factor r loses 1 - 1/r of its time, so each further bucket of
 * slow-down adds less.
 */
struct slower
slower_of(const uint32_t *now, const uint32_t *then, uint32_t nbuckets, uint64_t requests_now,
    uint64_t requests_then, double alpha)
{
	double n = (double)total(now, nbuckets), m = (double)total(then, nbuckets), margin, d;
	double n_free = fmin(n, (double)requests_now), m_free = fmin(m, (double)requests_then);
	struct slower s = { .p = 1 };

	if (n_free == 0 || m_free == 0)
		return s;
	margin = sqrt(log(1 / alpha) / 2 * (1 / n_free + 1 / m_free));
	for (uint32_t shift = 1; shift < nbuckets; shift++) {
		d = distance(now, n, then, m, nbuckets, shift);
		if (shift == 1)
			s = (struct slower){ fmax(0, d - margin), 0,
				exp(-2 * d * d * n_free * m_free / (n_free + m_free)) };
		if (d <= margin) /* a larger shift has a smaller distance */
			break;
		s.lost += (d - margin) *
		          (exp2(-(shift - 1.0) / PER_OCTAVE) - exp2(-(double)shift / PER_OCTAVE));
	}
	return s;
}

/* Wilson's bound on a proportion; z < 0: the lower one. */
static double
wilson(double k, double n, double z)
{
	double p = k / n;

	return (p + z * z / 2 / n + z * sqrt(p * (1 - p) / n + z * z / 4 / n / n)) /
	       (1 + z * z / n);
}

double
more_often(uint64_t now, uint64_t now_of, uint64_t then, uint64_t then_of, double alpha)
{
	double z = gsl_cdf_ugaussian_Qinv(alpha), a = (double)now / (double)now_of,
	       b = (double)then / (double)then_of;
	double low = a - wilson((double)now, (double)now_of, -z),
	       high = wilson((double)then, (double)then_of, z) - b;

	return a - b - sqrt(low * low + high * high);
}

/* GSL takes 32-bit counts; larger ones are scaled down, which makes the test more conservative. */
double
more_often_p(uint64_t now, uint64_t now_of, uint64_t then, uint64_t then_of)
{
	while (now_of + then_of > UINT32_MAX / 4) {
		now /= 2;
		now_of /= 2;
		then = (then + 1) / 2;
		then_of = (then_of + 1) / 2;
	}
	if (now == 0)
		return 1;
	return gsl_cdf_hypergeometric_Q((unsigned)now - 1, (unsigned)(now + then),
	    (unsigned)(now_of + then_of - now - then), (unsigned)now_of);
}

struct ranked {
	double p;
	size_t at;
};

static int
compare_ranked(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->p, y = ((const struct ranked *)b)->p;

	return (x > y) - (x < y);
}

bool
correct_p(double *p, size_t n)
{
	struct ranked *r = malloc((n + 1) * sizeof *r);
	double least = 1;

	if (r == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){ p[i], i };
	qsort(r, n, sizeof *r, compare_ranked);
	for (size_t i = n; i-- > 0;) {
		least = fmin(least, r[i].p * (double)n / (double)(i + 1));
		p[r[i].at] = least;
	}
	free(r);
	return true;
}

double
normal_p(double z)
{
	return erfc(fabs(z) / sqrt(2));
}

double
normal_z(double confidence)
{
	return gsl_cdf_ugaussian_Qinv((1 - confidence) / 2);
}
