/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/below_cause.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "wire/below.h"

enum { REQUESTS = 400 };
#define MS 1e6

struct scene {
	struct part_row rows[REQUESTS];
	double parts[REQUESTS][BELOW_STATES];
};

static double
exponential(struct rng *r, double mean)
{
	return -mean * log((rng_below(r, 1000000) + 1) / 1e6);
}

/* Requests run for 0.1 ms, one in `of` does `ns` more in that state, and for each ns of other work they wait for `rate` ns for a processor, and by
 * chance for `chance_ns`. */
static void
make(struct scene *s, uint64_t seed, unsigned state, uint32_t of, double ns, double rate,
    double chance_ns)
{
	struct rng r;

	rng_seed(&r, seed);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		double *x = s->parts[i], work = 0.1 * MS * exp(0.1 * rng_normal(&r)),
		       total = 0.5 * MS;

		for (unsigned k = 0; k < BELOW_STATES; k++)
			x[k] = 0;
		x[BELOW_RUNNING] = work;
		if (of > 0 && rng_below(&r, of) == 0)
			x[state] += ns;
		work = x[BELOW_RUNNING] + (state != BELOW_RUNNING ? x[state] : 0);
		x[BELOW_READY] = rate * work * exp(0.5 * rng_normal(&r)) +
		                 (rng_below(&r, 10) == 0 ? exponential(&r, chance_ns) : 0);
		for (unsigned k = 0; k < BELOW_STATES; k++)
			total += x[k];
		s->rows[i] = (struct part_row){ (int64_t)total, x };
	}
}

static double
rate_of(const struct scene *s)
{
	struct arena a = { 0 };
	double rate;

	assert_int_equal(below_cause_rate(&rate, s->rows, REQUESTS, &a, NULL), 0);
	arena_release(&a);
	return rate;
}

/* cov(state, total) / var(total), with what comes of other states moved. */
static unsigned
top_of(const struct scene *s)
{
	struct arena a = { 0 };
	const struct part_row *rows = below_cause_rows(s->rows, REQUESTS, rate_of(s), &a);
	double total = 0, best = 0;
	unsigned top = BELOW_UNKNOWN;

	assert_non_null(rows);
	for (uint32_t i = 0; i < REQUESTS; i++)
		total += (double)rows[i].total_ns / REQUESTS;
	for (unsigned k = 0; k < BELOW_STATES; k++) {
		double covariance = 0;

		for (uint32_t i = 0; i < REQUESTS; i++)
			covariance += rows[i].parts_ns[k] * ((double)rows[i].total_ns - total);
		if (covariance > best) {
			best = covariance;
			top = k;
		}
	}
	arena_release(&a);
	return top;
}

static void
waits_for_a_processor_come_of_the_work_that_leads_to_them(void **state)
{
	static const unsigned states[] = { BELOW_RUNNING, BELOW_DISK, BELOW_TIMER };
	struct scene s;
	(void)state;

	for (uint64_t seed = 1; seed <= 50; seed++)
		for (unsigned k = 0; k < 3; k++) {
			make(&s, seed, states[k], 20, 15 * MS, 5, 1 * MS);
			assert_int_equal(top_of(&s), states[k]);
		}
}

static void
waits_for_a_processor_of_requests_that_do_as_much_as_others_come_of_nothing_else(void **state)
{
	struct scene s;
	(void)state;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		make(&s, seed, BELOW_RUNNING, 0, 0, 0, 30 * MS);
		assert_true(rate_of(&s) == 0);
		assert_int_equal(top_of(&s), BELOW_READY);
		/* all wait in proportion to a work that hardly differs */
		make(&s, seed, BELOW_RUNNING, 0, 0, 20, 30 * MS);
		assert_true(rate_of(&s) == 0);
		/* some work for longer, but it is others who wait */
		make(&s, seed, BELOW_RUNNING, 10, 2 * MS, 0, 60 * MS);
		assert_int_equal(top_of(&s), BELOW_READY);
	}
}

static void
the_parts_of_a_request_add_up_as_before(void **state)
{
	struct arena a = { 0 };
	struct part_row *rows;
	struct scene s;
	(void)state;

	make(&s, 3, BELOW_DISK, 20, 15 * MS, 5, 1 * MS);
	assert_true(fabs(rate_of(&s) - 5) < 2);
	assert_non_null(rows = below_cause_rows(s.rows, REQUESTS, 5, &a));
	for (uint32_t i = 0; i < REQUESTS; i++) {
		double was = 0, is = 0;

		for (unsigned k = 0; k < BELOW_STATES; k++) {
			was += s.rows[i].parts_ns[k];
			is += rows[i].parts_ns[k];
		}
		assert_true(fabs(was - is) < 1);
	}
	arena_release(&a);
}

static void
few_requests_say_nothing(void **state)
{
	struct arena a = { 0 };
	struct scene s;
	double rate = 1;
	(void)state;

	make(&s, 1, BELOW_RUNNING, 2, 15 * MS, 5, 1 * MS);
	assert_int_equal(below_cause_rate(&rate, s.rows, 19, &a, NULL), 0);
	assert_true(rate == 0);
	assert_int_equal(below_cause_rate(&rate, s.rows, 0, &a, NULL), 0);
	assert_true(rate == 0);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_a_processor_come_of_the_work_that_leads_to_them),
		cmocka_unit_test(
		    waits_for_a_processor_of_requests_that_do_as_much_as_others_come_of_nothing_else),
		cmocka_unit_test(the_parts_of_a_request_add_up_as_before),
		cmocka_unit_test(few_requests_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
