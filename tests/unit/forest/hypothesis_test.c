/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "forest/hypothesis.h"
#include "forest/verdict.h"

static void
each_state_has_its_word_and_only_two_are_unsettled(void **state)
{
	(void)state;
	assert_string_equal(hypothesis_word(HYPOTHESIS_OPEN), "open");
	assert_string_equal(hypothesis_word(HYPOTHESIS_NO_HELP), "no help");
	assert_string_equal(hypothesis_word(HYPOTHESIS_WITHDRAWN), "withdrawn");
	for (int s = HYPOTHESIS_OPEN; s <= HYPOTHESIS_WITHDRAWN; s++) {
		assert_string_not_equal(hypothesis_word((enum hypothesis_state)s), "?");
		assert_int_equal(hypothesis_settled((enum hypothesis_state)s),
		    s != HYPOTHESIS_OPEN && s != HYPOTHESIS_PROBING);
	}
}

static void
an_invalid_state_is_a_question_mark_and_not_settled(void **state)
{
	(void)state;
	assert_string_equal(
	    hypothesis_word((enum hypothesis_state)(HYPOTHESIS_WITHDRAWN + 1)), "?");
	assert_string_equal(hypothesis_word((enum hypothesis_state) - 1), "?");
	assert_false(hypothesis_settled((enum hypothesis_state) - 1));
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
	assert_string_equal(b.edge_from, ""); /* was NULL */
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

/* The transitions of the table, checked by rules: one that it does not have is refused, and a
 * settled state has none. */
static void
transitions_lead_only_from_unsettled_states(void **state)
{
	int ways = 0;
	(void)state;

	for (int from = HYPOTHESIS_OPEN; from <= HYPOTHESIS_WITHDRAWN; from++)
		for (int to = HYPOTHESIS_OPEN; to <= HYPOTHESIS_WITHDRAWN; to++) {
			bool may = hypothesis_may(
			    (enum hypothesis_state)from, (enum hypothesis_state)to);

			ways += may;
			assert_false(may && hypothesis_settled((enum hypothesis_state)from));
			assert_false(may && to == HYPOTHESIS_OPEN);
		}
	assert_in_range(
	    ways, 8, 13); /* both may become any of the six others, and open may become probed */
	assert_true(hypothesis_may(HYPOTHESIS_OPEN, HYPOTHESIS_PROBING));
	assert_true(hypothesis_may(HYPOTHESIS_PROBING, HYPOTHESIS_WITHDRAWN));
	assert_false(hypothesis_may(
	    HYPOTHESIS_OPEN, HYPOTHESIS_NO_HELP)); /* only a probed hypothesis can become NO_HELP */
	assert_false(hypothesis_may(HYPOTHESIS_PROBING, HYPOTHESIS_PROBING));
	assert_false(hypothesis_may((enum hypothesis_state) - 1, HYPOTHESIS_OPEN));
}

static void
entering_a_settled_state_sets_when(void **state)
{
	struct hypothesis h = { 0 };
	(void)state;

	hypothesis_enter(&h, HYPOTHESIS_PROBING, (struct wall){ 5 });
	assert_int_equal(h.state, HYPOTHESIS_PROBING);
	assert_int_equal(h.settled.ns, 0);
	hypothesis_enter(&h, HYPOTHESIS_ISOLATES, (struct wall){ 7 });
	assert_int_equal(h.state, HYPOTHESIS_ISOLATES);
	assert_int_equal(h.settled.ns, 7);
}

static void
a_verdict_is_copied_with_its_texts(void **state)
{
	struct verdict a = { .hypothesis = 3,
		.kind = VERDICT_KEY,
		.cost_ns = 8,
		.slowest = { 1, 2 } },
		       b;
	char place[] = "shop:begin";
	(void)state;

	a.from = place;
	assert_true(verdict_copy(&b, &a));
	place[0] = 'X';
	assert_string_equal(b.from, "shop:begin");
	assert_string_equal(b.text, "");
	assert_true(b.slowest.low == 2 && b.hypothesis == 3 && b.kind == VERDICT_KEY);
	verdict_release(&b);
	assert_null(b.from);
	assert_string_equal(verdict_word(VERDICT_PLACE), "place");
	assert_string_equal(verdict_word(VERDICT_CUT), "cut");
	assert_string_equal(verdict_word(VERDICT_HIDDEN), "hidden");
	assert_string_equal(verdict_word(VERDICT_CAPTURED), "captured");
	assert_string_equal(verdict_word((enum verdict_kind)(VERDICT_CAPTURED + 1)), "?");
	assert_string_equal(verdict_word((enum verdict_kind) - 1), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_state_has_its_word_and_only_two_are_unsettled),
		cmocka_unit_test(an_invalid_state_is_a_question_mark_and_not_settled),
		cmocka_unit_test(a_copy_shares_no_text),
		cmocka_unit_test(transitions_lead_only_from_unsettled_states),
		cmocka_unit_test(entering_a_settled_state_sets_when),
		cmocka_unit_test(a_verdict_is_copied_with_its_texts),
		cmocka_unit_test(a_text_can_be_set_to_itself_and_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
