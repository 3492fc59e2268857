/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many requests a second are sampled of a type: enough, and under diagnosis no more than a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "controlplane/engine/sampling.h"
#include "controlplane/search/diagnose.h"
#include "forest/forest.h"

enum { ENOUGH = 10, MOST = 2000 };

struct world {
	struct request_types types;
	struct sampler *sampler;
	struct diagnosis diagnosis;
	struct run run;
	struct mono now;
	uint32_t changes;
};

static struct world *
world_new(void)
{
	struct world *w = calloc(1, sizeof *w);

	w->sampler = sampler_new(&(struct sampler_options){ 0, 0 });
	assert_non_null(w->sampler);
	w->types.n = 1;
	w->diagnosis.run = &w->run;
	w->run.state = RUN_ACTIVE;
	return w;
}

static void
world_free(struct world *w)
{
	sampler_free(w->sampler);
	free(w);
}

static void
diagnose(struct world *w, bool on)
{
	w->types.items[0].diagnosis = on ? &w->diagnosis : NULL;
	assert_int_equal(request_type_diagnosed(&w->types.items[0]), on);
}

/* The share after some windows with so many requests a second. */
static double
share_at(struct world *w, double offered, int64_t most)
{
	const struct sampling_settings s = { 1, ENOUGH, most, 0.01 };
	static const struct company company;

	w->types.items[0].offered = offered;
	for (int i = 0; i < 40; i++) {
		bool changed = false;

		w->now.ns += INT64_C(500000000);
		assert_int_equal(sampling_step(w->sampler, &w->types, &s, &company, false, w->now,
				     &changed, NULL),
		    0);
		w->changes += changed;
	}
	return sampler_share(w->sampler, 0);
}

static bool
near(double a, double b)
{
	return a > b * 0.999 && a < b * 1.001;
}

static void
a_type_under_diagnosis_is_sampled_up_to_the_limit(void **state)
{
	struct world *w = world_new();
	(void)state;

	assert_true(near(share_at(w, 50000, MOST), (double)ENOUGH / 50000));
	diagnose(w, true);
	assert_true(near(share_at(w, 50000, MOST), 0.04));
	assert_true(near(share_at(w, 1000, MOST), 1));
	diagnose(w, false);
	assert_true(near(share_at(w, 1000, MOST), 0.01));
	diagnose(w, true); /* again, as at first */
	assert_true(near(share_at(w, 4000, MOST), 0.5));
	world_free(w);
}

static void
without_a_limit_all_of_it_is_sampled(void **state)
{
	struct world *w = world_new();
	(void)state;

	diagnose(w, true);
	assert_true(near(share_at(w, 50000, 0), 1));
	world_free(w);
}

static void
the_limit_holds_within_a_tenth_and_small_changes_of_the_load_change_nothing(void **state)
{
	struct world *w = world_new();
	uint32_t changes;
	(void)state;

	diagnose(w, true);
	assert_true(near(share_at(w, 20000, MOST), 0.1));
	changes = w->changes;
	assert_true(near(share_at(w, 21000, MOST), 0.1));
	assert_true(near(share_at(w, 14000, MOST), 0.1));
	assert_int_equal(w->changes, changes);
	assert_true(near(share_at(w, 23000, MOST), 2000.0 / 23000));
	assert_true(near(share_at(w, 10000, MOST), 0.2));
	for (double offered = 1000; offered < 1e6; offered *= 1.07)
		assert_true(share_at(w, offered, MOST) * offered <= 1.1 * MOST);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_type_under_diagnosis_is_sampled_up_to_the_limit),
		cmocka_unit_test(without_a_limit_all_of_it_is_sampled),
		cmocka_unit_test(
		    the_limit_holds_within_a_tenth_and_small_changes_of_the_load_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
