/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "controlplane/honed/long_answers.h"

static char order[16]; /* of the askers whose turns came */

/* They have all gone when their turns come, so no process is started. */
static bool
waits(void *door, void *peer)
{
	(void)door;
	strncat(order, peer, 1);
	return false;
}

static void
answered(void *door, void *peer, struct long_answer a)
{
	(void)door;
	(void)peer;
	assert_null(a.text);
	assert_int_equal(a.file, -1);
}

static void
users_take_turns_and_each_one_is_answered_in_its_order(void **state)
{
	static const struct {
		int uid;
		char name[2];
	} asked[] = { { 7, "a" }, { 7, "b" }, { 7, "c" }, { 8, "d" }, { 0, "e" }, { 8, "f" } };
	struct long_answers l = { .served_uid = 0 };
	struct err e;
	(void)state;

	order[0] = '\0';
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		struct long_asker asker = { .peer = (void *)(uintptr_t)asked[i].name,
			.answered = answered,
			.waits = waits };
		struct who who = { .uid = asked[i].uid };

		assert_int_equal(long_answers_ask(&l, &asker, &who, "{}", 2, &e), 0);
	}
	long_answers_step(&l, clock_mono());
	assert_string_equal(order, "adbecf");
	assert_null(l.first);
	assert_int_equal(
	    long_answers_ask(&l,
		&(struct long_asker){
		    .peer = (void *)(uintptr_t) "g", .answered = answered, .waits = waits },
		&(struct who){ .uid = 8 }, "{}", 2, &e),
	    0);
	long_answers_step(&l, clock_mono());
	assert_string_equal(order, "adbecfg");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_take_turns_and_each_one_is_answered_in_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
