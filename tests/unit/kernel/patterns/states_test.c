/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Learning a healthy window and comparing others with it, on an application that is made up. */
#include "kernel/patterns/states_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "tests/unit/kernel/patterns/shop.h"

static struct states_baseline *
learn(uint64_t seed, uint32_t requests)
{
	struct states_options o = { .seed = 1 };
	struct states_learner *l;
	struct states_baseline *b = NULL;
	struct shop s;
	struct err e = { 0 };

	shop_init(&s, seed, FAULT_NONE);
	assert_int_equal(states_learner_new(&l, &o, &e), 0);
	for (uint32_t i = 0; i < requests; i++) {
		struct operations r = shop_request(&s);

		assert_int_equal(states_learner_add(l, &r, &e), 0);
	}
	assert_int_equal(states_learner_finish(l, &b, &e), 0);
	states_learner_free(l);
	return b;
}

static struct states_comparison *
compare(const struct states_baseline *b, uint64_t seed, uint32_t requests, enum fault fault)
{
	struct states_comparer *c;
	struct states_comparison *ret = NULL;
	struct shop s;
	struct err e = { 0 };

	shop_init(&s, seed, fault);
	assert_int_equal(states_comparer_new(&c, b, &e), 0);
	for (uint32_t i = 0; i < requests; i++) {
		struct operations r = shop_request(&s);

		assert_int_equal(states_comparer_add(c, &r, NULL, &e), 0);
	}
	assert_int_equal(states_comparer_finish(c, &ret, &e), 0);
	states_comparer_free(c);
	return ret;
}

static void
a_healthy_window_raises_no_alarm_in_99_percent(void **state)
{
	static const uint32_t sizes[] = { 60, 200, 600, 2000 };
	(void)state;

	for (uint32_t k = 0; k < 4; k++) {
		uint64_t operations = 0, outside = 0, places = 0, found = 0;
		double worst = 0;

		for (uint64_t seed = 0; seed < 20; seed++) {
			struct states_baseline *b = learn(1000 + seed, sizes[k]);
			struct states_comparison *c = compare(b, 5000 + seed, 500, FAULT_NONE);

			operations += c->operations;
			outside += c->outside;
			worst = fmax(worst, (double)c->outside / (double)c->operations);
			for (uint32_t i = 0; i < c->ntypes; i++)
				for (uint32_t p = 0; p < c->types[i].type->nplaces; p++) {
					places++;
					found += c->types[i].places[p].nfindings > 0;
				}
			states_comparison_free(c);
			states_baseline_free(b);
		}
		print_message(
		    "%u requests: %.2f %% outside (worst window %.2f %%), findings %llu of %llu places\n",
		    sizes[k], 100.0 * (double)outside / (double)operations, 100 * worst,
		    (unsigned long long)found, (unsigned long long)places);
		assert_true(outside < 0.01 * (double)operations);
		assert_true(found <= 1);
	}
}

static const struct {
	enum fault fault;
	const char *place;
	enum below_state state;
	bool more;
} expected[] = {
	{ FAULT_DISK, "database query", BELOW_DISK, true },
	{ FAULT_LOCK, "articles get", BELOW_LOCK, true },
	{ FAULT_CPU, "users check", BELOW_READY, true },
	{ FAULT_NETWORK, "front GET /page", BELOW_NETWORK, true },
	{ FAULT_TIMER, "articles get", BELOW_TIMER, true },
	{ FAULT_COMPUTE, "front GET /page", BELOW_RUNNING, true },
	{ FAULT_THREADED, "users check", BELOW_NETWORK, false },
};

static void
each_fault_is_found_at_its_operation_and_state(void **state)
{
	struct states_baseline *b = learn(1, 1500);
	(void)state;

	for (uint32_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
		struct states_comparison *c = compare(b, 100 + k, 200, expected[k].fault);
		uint32_t here = 0, elsewhere = 0;

		assert_int_equal(c->ntypes, 1);
		assert_int_equal(c->nnews, 0);
		for (uint32_t p = 0; p < c->types[0].type->nplaces; p++) {
			const struct states_place_change *x = &c->types[0].places[p];

			for (uint32_t i = 0; i < x->nfindings; i++)
				print_message(
				    "%s: %s %s %s%s %u of %u, %.0f us, usual %.0f, chance %.1e\n",
				    expected[k].place, x->place->name,
				    state_resource(x->findings[i].state),
				    x->findings[i].more ? "more" : "less",
				    x->findings[i].absent     ? " absent"
				    : x->findings[i].is_count ? " count"
				    : x->findings[i].pattern  ? " pattern"
							      : "",
				    x->findings[i].operations, x->operations,
				    x->findings[i].mean / 1e3, x->findings[i].usual / 1e3,
				    x->findings[i].chance);
			if (x->nfindings == 0)
				continue;
			if (strcmp(x->place->name, expected[k].place) != 0) {
				elsewhere++;
				continue;
			}
			assert_int_equal(x->findings[0].state, expected[k].state);
			assert_int_equal(x->findings[0].more, expected[k].more);
			here++;
		}
		assert_int_equal(here, 1);
		assert_int_equal(elsewhere, 0);
		states_comparison_free(c);
	}
	states_baseline_free(b);
}

static void
patterns_are_those_of_the_program(void **state)
{
	struct states_baseline *b = learn(1, 500);
	struct buf text = { 0 };
	bool disk = false;
	(void)state;

	for (uint32_t p = 0; p < b->types[0].nplaces; p++)
		for (uint32_t i = 0; i < b->types[0].places[p].nintervals; i++)
			for (uint32_t k = 0; k < b->types[0].places[p].intervals[i].npatterns;
			     k++) {
				const struct states_pattern
				    *q = &b->types[0].places[p].intervals[i].patterns[k];

				buf_reset(&text);
				states_pattern_text(&text, q);
				print_message("%s interval %u: %.*s support %u of %u\n",
				    b->types[0].places[p].name, i, (int)text.len, (char *)text.data,
				    q->support, b->types[0].places[p].limits.samples);
				disk = disk ||
				       (text.len == 8 && memcmp(text.data, "(R-D)+-R", 8) == 0);
			}
	assert_true(disk);
	buf_release(&text);
	states_baseline_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_those_of_the_program),
		cmocka_unit_test(each_fault_is_found_at_its_operation_and_state),
		cmocka_unit_test(a_healthy_window_raises_no_alarm_in_99_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
