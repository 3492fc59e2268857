/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "forest/hypothesis.h"

static void
each_state_has_its_word_and_only_two_are_unsettled(void **state)
{
	(void)state;
	assert_string_equal(hypothesis_word(HYPOTHESIS_OPEN), "open");
	assert_string_equal(hypothesis_word(HYPOTHESIS_NO_HELP), "no help");
	assert_string_equal(hypothesis_word(HYPOTHESIS_WITHDRAWN), "withdrawn");
	for (int s = HYPOTHESIS_OPEN; s <= HYPOTHESIS_WITHDRAWN; s++) {
		assert_string_not_equal(hypothesis_word((enum hypothesis_state)s), "?");
		assert_int_equal(hypothesis_settled((enum hypothesis_state)s), s != HYPOTHESIS_OPEN && s != HYPOTHESIS_PROBING);
	}
}

static void
what_is_no_state_says_so(void **state)
{
	(void)state;
	assert_string_equal(hypothesis_word((enum hypothesis_state)(HYPOTHESIS_WITHDRAWN + 1)), "?");
	assert_string_equal(hypothesis_word((enum hypothesis_state)-1), "?");
	assert_false(hypothesis_settled((enum hypothesis_state)-1));
}

static void
a_copy_shares_no_text(void **state)
{
	struct hypothesis a = { .id = 7, .presence = '+', .share = 0.5 }, b;
	(void)state;

	assert_true(hypothesis_text(&a.tracepoint, "shop/db:query"));
	assert_true(hypothesis_text(&a.key, "shop/db:query.rows"));
	assert_true(hypothesis_copy(&b, &a));
	assert_ptr_not_equal(a.tracepoint, b.tracepoint);
	assert_true(hypothesis_text(&a.tracepoint, "another"));
	assert_string_equal(b.tracepoint, "shop/db:query");
	assert_string_equal(b.key, "shop/db:query.rows");
	assert_string_equal(b.edge_from, "");	/* was NULL */
	assert_int_equal(b.id, 7);
	assert_int_equal(b.presence, '+');
	assert_true(b.share == 0.5);
	hypothesis_release(&a);
	assert_string_equal(b.tracepoint, "shop/db:query");
	hypothesis_release(&b);
	assert_null(b.tracepoint);
}

static void
a_text_can_be_set_to_itself_and_to_nothing(void **state)
{
	char *text = NULL;
	struct hypothesis h = { 0 };
	(void)state;

	assert_true(hypothesis_text(&text, "abc"));
	assert_true(hypothesis_text(&text, text));
	assert_string_equal(text, "abc");
	assert_true(hypothesis_text(&text, text + 1));
	assert_string_equal(text, "bc");
	assert_true(hypothesis_text(&text, NULL));
	assert_string_equal(text, "");
	h.key = text;
	hypothesis_release(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_state_has_its_word_and_only_two_are_unsettled),
		cmocka_unit_test(what_is_no_state_says_so),
		cmocka_unit_test(a_copy_shares_no_text),
		cmocka_unit_test(a_text_can_be_set_to_itself_and_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
