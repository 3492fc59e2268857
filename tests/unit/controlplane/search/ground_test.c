/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/ground.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

static void
each_step_decides_before_the_later_ones(void **state)
{
	struct ground_facts f = {
		.looks = true, .followed = true, .told = true, .top = BELOW_LOCK
	};
	(void)state;

	assert_int_equal(ground_of(&f), GROUND_STATE);
	f.top = BELOW_READY;
	assert_int_equal(ground_of(&f), GROUND_PROCESSOR);
	f.told = false;
	assert_int_equal(ground_of(&f), GROUND_NONE);
	f.top = BELOW_LOCK;
	assert_int_equal(ground_of(&f), GROUND_NONE);
	f.followed = false;
	assert_int_equal(ground_of(&f), GROUND_OPEN);
	f = (struct ground_facts){ .followed = true };
	assert_int_equal(ground_of(&f), GROUND_OPEN);
}

static uint32_t
label(struct labels *l, enum record_kind kind, const char *text, const char *field)
{
	return labels_intern(l, kind, text, strlen(text), &field, field != NULL);
}

static void
a_service_is_followed_if_its_units_say_how_long_they_were_ready(void **state)
{
	struct labels *l = labels_new();
	uint32_t tokens[] = { label(l, RECORD_UNIT_BEGIN, "back/hone:unit_begin(x)", NULL),
		label(l, RECORD_POINT, "other/a:b", "ready_ns"),
		label(l, RECORD_UNIT_END, "back/hone:unit_end(x)", "ready_ns"),
		label(l, RECORD_UNIT_END, "front/hone:unit_end(x)", "before_ns"),
		label(l, RECORD_REQUEST_END, "front/hone:request_end(x)", NULL) };
	struct shape s = { .tokens = tokens, .ntokens = sizeof tokens / sizeof *tokens };
	(void)state;

	assert_true(ground_is_followed(&s, l, tokens[0]));
	assert_false(ground_is_followed(&s, l, tokens[1]));
	assert_false(ground_is_followed(&s, l, tokens[3]));
	labels_free(l);
}

static void
what_has_no_ground_is_not_worth_mending(void **state)
{
	struct verdict v = { .effect = 0.9, .share_low = 0.8, .new_part = NAN };
	(void)state;

	assert_true(verdict_worth(&v, 0.25));
	v.ground = GROUND_STATE;
	assert_true(verdict_worth(&v, 0.25));
	v.ground = GROUND_NONE;
	assert_false(verdict_worth(&v, 0.25));
	v.ground = GROUND_PROCESSOR;
	assert_false(verdict_worth(&v, 0.25));
	v.new_part = v.new_low =
	    0.9; /* that the machine is busier than before is no place either */
	assert_false(verdict_worth(&v, 0.25));
	assert_true(verdict_sure(&v));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step_decides_before_the_later_ones),
		cmocka_unit_test(a_service_is_followed_if_its_units_say_how_long_they_were_ready),
		cmocka_unit_test(what_has_no_ground_is_not_worth_mending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
