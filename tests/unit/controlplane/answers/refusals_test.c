/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "controlplane/answers/refusals.h"

static void
the_same_words_are_counted_together(void **state)
{
	struct refusals r = { 0 };
	(void)state;

	refusals_add(&r, "a", 1, (struct wall){ 10 });
	refusals_add(&r, "b", 1, (struct wall){ 20 });
	refusals_add(&r, "a", 4, (struct wall){ 30 });
	assert_int_equal(r.n, 2);
	assert_string_equal(r.all[0].words, "a");
	assert_int_equal(r.all[0].times, 5);
	assert_int_equal(r.all[0].at.ns, 30);
}

static void
the_oldest_refusal_is_replaced(void **state)
{
	struct refusals r = { 0 };
	char words[16];
	(void)state;

	for (int i = 0; i < REFUSALS_MAX; i++) {
		snprintf(words, sizeof words, "%d", i);
		refusals_add(&r, words, 1,
		    (struct wall){ 100 + (i + 3) % REFUSALS_MAX }); /* 5 is the oldest */
	}
	refusals_add(&r, "new", 1, (struct wall){ 200 });
	assert_int_equal(r.n, REFUSALS_MAX);
	assert_string_equal(r.all[REFUSALS_MAX - 3].words, "new");
	for (int i = 0; i < REFUSALS_MAX; i++)
		assert_string_not_equal(r.all[i].words, "5");
}

static void
long_texts_are_cut_and_still_counted_together(void **state)
{
	struct refusals r = { 0 };
	char words[1000];
	(void)state;

	memset(words, 'x', sizeof words);
	words[sizeof words - 1] = '\0';
	refusals_add(&r, words, 1, (struct wall){ 1 });
	refusals_add(&r, words, 1, (struct wall){ 2 });
	assert_int_equal(r.n, 1);
	assert_int_equal(strlen(r.all[0].words), sizeof r.all[0].words - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_words_are_counted_together),
		cmocka_unit_test(the_oldest_refusal_is_replaced),
		cmocka_unit_test(long_texts_are_cut_and_still_counted_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
