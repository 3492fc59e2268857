/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "forest/forest.h"

static void
ids_count_from_one_and_pointers_stay(void **state)
{
	struct forest *f = forest_new();
	struct run *first = forest_run_new(f, "GET_HOME");
	struct hypothesis *root = forest_hypothesis_new(f, first->id, 0);
	(void)state;

	assert_int_equal(first->id, 1);
	assert_int_equal(root->id, 1);
	assert_string_equal(first->type, "GET_HOME");
	assert_string_equal(first->words, "");
	assert_int_equal(root->presence, ' ');
	assert_string_equal(root->group_shape, "");
	for (uint64_t i = 2; i <= 5000; i++) {
		assert_int_equal(forest_run_new(f, "POST")->id, i);
		assert_int_equal(forest_hypothesis_new(f, i, i % 2 ? root->id : 0)->id, i);
	}
	assert_ptr_equal(forest_run(f, 1), first);
	assert_ptr_equal(forest_get(f, 1), root);
	assert_int_equal(forest_get(f, 5000)->run, 5000);
	assert_null(forest_get(f, 0));
	assert_null(forest_get(f, 5001));
	assert_null(forest_run(f, 0));
	assert_null(forest_run(f, UINT64_MAX));
	forest_free(f);
}

static void
the_latest_run_of_a_type_is_the_newest(void **state)
{
	struct forest *f = forest_new();
	(void)state;

	assert_null(forest_run_latest(f, NULL));
	forest_run_new(f, "A");
	forest_run_new(f, "B");
	forest_run_new(f, "A");
	forest_run_new(f, "C");
	assert_int_equal(forest_run_latest(f, "A")->id, 3);
	assert_int_equal(forest_run_latest(f, "B")->id, 2);
	assert_int_equal(forest_run_latest(f, NULL)->id, 4);
	assert_null(forest_run_latest(f, "D"));
	forest_free(f);
}

/* Two diagnoses at once make hypotheses in turns; each is visited alone, in order. */
static void
visiting_sees_each_of_a_run_once_in_order(void **state)
{
	struct forest *f = forest_new();
	uint64_t made[3] = { 0 }, seen, at, last;
	struct hypothesis *h;
	struct run *r;
	struct rng rng;
	(void)state;

	rng_seed(&rng, 4);
	for (int i = 0; i < 3; i++)
		forest_run_new(f, "A");
	for (int i = 0; i < 1000; i++) {
		uint64_t run = 1 + rng_below(&rng, 3);

		forest_hypothesis_new(f, run, 0);
		made[run - 1]++;
	}
	for (uint64_t run = 1; run <= 3; run++) {
		for (at = 0, seen = 0, last = 0; (h = forest_next(f, run, &at)) != NULL; seen++) {
			assert_int_equal(h->run, run);
			assert_true(h->id > last);
			last = h->id;
		}
		assert_int_equal(seen, made[run - 1]);
	}
	for (at = 0, seen = 0; (r = forest_run_next(f, &at)) != NULL; seen++)
		assert_int_equal(r->id, seen + 1);
	assert_int_equal(seen, 3);
	forest_free(f);
}

static void
what_changed_is_listed_once_until_it_is_written(void **state)
{
	struct forest *f = forest_new();
	struct run *r = forest_run_new(f, "A");
	struct hypothesis *h = forest_hypothesis_new(f, 1, 0), *g = forest_hypothesis_new(f, 1, 1);
	const struct forest_changes *c = forest_changes(f);
	(void)state;

	forest_touch_run(f, r);
	forest_touch(f, h);
	forest_touch(f, h);
	assert_int_equal(c->nruns, 1);
	assert_int_equal(c->nhypotheses, 2);
	assert_ptr_equal(c->hypotheses[0], h);
	assert_ptr_equal(c->hypotheses[1], g);
	forest_written(f);
	assert_int_equal(forest_changes(f)->nruns + forest_changes(f)->nhypotheses, 0);
	forest_touch(f, g);
	forest_touch(f, g);
	assert_int_equal(forest_changes(f)->nhypotheses, 1);
	assert_ptr_equal(forest_changes(f)->hypotheses[0], g);
	assert_int_equal(forest_changes(f)->nruns, 0);
	forest_free(f);
}

static void
the_log_keeps_its_own_texts(void **state)
{
	struct forest *f = forest_new();
	char name[16] = "p:first", why[16] = "reason";
	struct switched s = { .run = 1, .on = true, .tracepoint = name, .why = why };
	struct err e;
	(void)state;

	for (int i = 0; i < 100; i++) {
		name[2] = (char)('a' + i % 26);
		assert_int_equal(forest_switched(f, &s, &e), 0);
	}
	strcpy(name, "gone");
	strcpy(why, "gone");
	assert_int_equal(forest_changes(f)->nswitched, 100);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(forest_changes(f)->switched[i].tracepoint[2], 'a' + i % 26);
		assert_string_equal(forest_changes(f)->switched[i].why, "reason");
	}
	forest_free(f);
}

static struct hypothesis
bare(uint64_t id, uint64_t run, uint64_t parent)
{
	struct hypothesis h = { .id = id, .run = run, .parent = parent };

	hypothesis_text(&h.tracepoint, "");
	return h;
}

static void
refused(struct forest *f, struct hypothesis h)
{
	struct err e;

	assert_int_equal(forest_put(f, &h, &e), ERR_INPUT);
	hypothesis_release(&h);
}

static void
putting_back_keeps_ids_and_refuses_what_cannot_be(void **state)
{
	struct forest *f = forest_new();
	struct run r = { .id = 5 }, odd = { .id = 8, .state = RUN_STATES };
	struct hypothesis h = bare(10, 5, 0), k = bare(12, 5, 10), bad;
	struct err e;
	(void)state;

	r.type = strdup("A");
	assert_int_equal(forest_put_run(f, &r, &e), 0);
	assert_int_equal(forest_put_run(f, &r, &e), ERR_INPUT);	/* again */
	assert_int_equal(forest_put_run(f, &odd, &e), ERR_INPUT);
	assert_int_equal(forest_put(f, &h, &e), 0);
	assert_int_equal(forest_put(f, &k, &e), 0);
	refused(f, bare(12, 5, 10));		/* again */
	refused(f, bare(11, 5, 10));		/* out of order */
	refused(f, bare(13, 6, 0));		/* no such run */
	refused(f, bare(13, 5, 11));		/* no such parent */
	refused(f, bare(13, 5, 13));		/* its own parent */
	refused(f, bare(UINT64_MAX, 5, 0));
	bad = bare(13, 5, 10);
	bad.state = (enum hypothesis_state)99;
	refused(f, bad);
	assert_int_equal(forest_changes(f)->nhypotheses + forest_changes(f)->nruns, 0);	/* nothing to be written */
	assert_int_equal(forest_hypothesis_new(f, 5, 12)->id, 13);
	assert_int_equal(forest_run_new(f, "A")->id, 6);
	forest_continue(f, 20, 3);
	assert_int_equal(forest_run_new(f, "A")->id, 21);
	assert_int_equal(forest_hypothesis_new(f, 21, 0)->id, 14);
	forest_free(f);
}

static void
states_of_runs_have_words(void **state)
{
	(void)state;
	assert_string_equal(run_word(RUN_ACTIVE), "active");
	assert_string_equal(run_word(RUN_NOT_FOUND), "not found");
	assert_string_equal(run_word(RUN_STATES), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_count_from_one_and_pointers_stay),
		cmocka_unit_test(the_latest_run_of_a_type_is_the_newest),
		cmocka_unit_test(visiting_sees_each_of_a_run_once_in_order),
		cmocka_unit_test(what_changed_is_listed_once_until_it_is_written),
		cmocka_unit_test(the_log_keeps_its_own_texts),
		cmocka_unit_test(putting_back_keeps_ids_and_refuses_what_cannot_be),
		cmocka_unit_test(states_of_runs_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
