/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which parts of limits_fit() are needed: the share of healthy operations that are outside of their limits, by the size of the sample and the
 * distribution of times, for limits without and with each part; and what share of operations is outside when one wait of them takes three
 * times as long. The goal is 1 % for healthy ones.
 *
 * An operation has 24 measures: times of states that usually come, that come in few operations, and that never come.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernel/patterns/limits.h"

enum { MEASURES = 24, HEALTHY = 2000, SEEDS = 40 };

static const double RESOLUTION = 20e3;

enum shape { NORMAL, LOGNORMAL, HEAVY, PARETO, BURSTS, SHAPES };

static const char *const names[SHAPES] = { "normal, CV 20 %", "lognormal, sigma 0.5",
	"lognormal, sigma 1", "Pareto, alpha 2", "5 % take 20 times as long" };

static double
draw(struct rng *r, enum shape s)
{
	switch (s) {
	case NORMAL:
		return fmax(0, 1 + 0.2 * rng_normal(r));
	case LOGNORMAL:
		return exp(0.5 * rng_normal(r));
	case HEAVY:
		return exp(rng_normal(r));
	case PARETO:
		return pow(1 - rng_unit(r), -0.5);
	default:
		return (rng_below(r, 20) == 0 ? 20 : 1) * exp(0.2 * rng_normal(r));
	}
}

/* A third of the measures is always there, a third comes in 2 % or 20 % of the operations, a third never. */
static void
operation(double *x, struct rng *r, enum shape s, double slower)
{
	double load = exp(0.2 * rng_normal(r)); /* what all of them have in common */

	for (uint32_t m = 0; m < MEASURES; m++) {
		double there = m % 3 == 0 ? 1 : m % 3 == 1 ? (m % 2 ? 0.02 : 0.2) : 0;

		x[m] = rng_unit(r) < there ? 1e6 * load * draw(r, s) : 0;
	}
	x[0] *= slower;
}

struct method {
	const char *name;
	bool linear;
	struct limits_options o;
};

static const struct method methods[] = {
	{ "three sigma", true, { true, true, true, true } },
	{ "of logarithms", false, { true, true, true, true } },
	{ "and t", false, { true, false, true, true } },
	{ "and quantiles", false, { false, false, true, true } },
	{ "and k", false, { false, false, false, true } },
	{ "all: and two k", false, { 0 } },
};

enum { METHODS = sizeof methods / sizeof methods[0] };

static double
measure(const struct method *m, double x)
{
	return m->linear ? x : limits_log(x, RESOLUTION);
}

static double
floor_of(const struct method *m, double mean)
{
	return m->linear ? RESOLUTION / 3 : 0.02 + RESOLUTION / 3 / (mean + RESOLUTION);
}

static double
outside(const struct method *m, const struct limits *l, struct rng *r, enum shape s, double slower,
    uint32_t of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < of; i++) {
		double x[MEASURES];
		bool out = false;

		operation(x, r, s, slower);
		for (uint32_t k = 0; k < MEASURES; k++)
			out = out || limit_outside(l, k, measure(m, x[k]));
		n += out;
	}
	return 100.0 * n / of;
}

static void
table(enum shape s)
{
	static const uint32_t sizes[] = { 50, 120, 250, 500, 1000, 2000 };

	printf(
	    "\n%s: %% of healthy operations outside, and (of those with a wait three times as long)\n%8s",
	    names[s], "samples");
	for (uint32_t m = 0; m < METHODS; m++)
		printf("%18s", methods[m].name);
	putchar('\n');
	for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		printf("%8u", sizes[i]);
		for (uint32_t k = 0; k < METHODS; k++) {
			double healthy = 0, slow = 0;

			for (uint32_t seed = 0; seed < SEEDS; seed++) {
				struct rng r;
				struct arena a = { 0 };
				struct limits l;
				struct err e;
				double floors[MEASURES] = { 0 }, x[MEASURES];
				float *y = malloc(sizeof *y * MEASURES * sizes[i]);

				rng_seed(&r, seed);
				for (uint32_t n = 0; n < sizes[i]; n++) {
					operation(x, &r, s, 1);
					for (uint32_t m = 0; m < MEASURES; m++) {
						y[n * MEASURES + m] = (float)measure(
						    &methods[k], x[m]);
						floors[m] += x[m] / sizes[i];
					}
				}
				for (uint32_t m = 0; m < MEASURES; m++)
					floors[m] = floor_of(&methods[k], floors[m]);
				if (limits_fit(&l, y, sizes[i], MEASURES, floors, &methods[k].o, &a,
					&e) != 0)
					exit(1);
				healthy += outside(&methods[k], &l, &r, s, 1, HEALTHY);
				slow += outside(&methods[k], &l, &r, s, 3, HEALTHY / 4);
				arena_release(&a);
				free(y);
			}
			printf("   %6.2f (%5.1f)", healthy / SEEDS, slow / SEEDS);
		}
		putchar('\n');
	}
}

int
main(void)
{
	for (enum shape s = 0; s < SHAPES; s++)
		table(s);
	return 0;
}
