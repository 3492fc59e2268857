/* SPDX-License-Identifier: GPL-3.0-or-later */
/* History is deleted by age, and a step of the clock is no age. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/honed/calendar.h"
#include "controlplane/honed/forest_keeper.h"

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define DAY (86400 * SECOND)
#define TODAY (20000 * DAY)

static struct wall
at(struct calendar *c, int64_t wall_ns, int64_t mono_ns)
{
	return calendar_now(c, (struct wall){ wall_ns }, (struct mono){ mono_ns });
}

static void
a_clock_that_only_drifts_is_followed(void **state)
{
	struct calendar c = { 0 };
	(void)state;

	calendar_begin(&c, (struct wall){ 0 }, (struct wall){ TODAY }, (struct mono){ SECOND });
	for (int64_t i = 1; i < 10000; i++) {
		int64_t wall = TODAY + i * (MINUTE + SECOND);

		assert_int_equal(at(&c, wall, SECOND + i * MINUTE).ns, wall);
	}
}

static void
a_step_forward_is_believed_after_a_day(void **state)
{
	struct calendar c = { 0 };
	(void)state;

	calendar_begin(&c, (struct wall){ TODAY }, (struct wall){ TODAY }, (struct mono){ 0 });
	for (int64_t t = MINUTE; t < DAY; t += MINUTE)
		assert_int_equal(at(&c, TODAY + 400 * DAY + t, t).ns, TODAY + t);
	assert_int_equal(
	    at(&c, TODAY + 400 * DAY + DAY + MINUTE, DAY + MINUTE).ns, TODAY + 401 * DAY + MINUTE);
}

static void
each_further_step_begins_the_day_again(void **state)
{
	struct calendar c = { 0 };
	(void)state;

	calendar_begin(&c, (struct wall){ TODAY }, (struct wall){ TODAY }, (struct mono){ 0 });
	at(&c, TODAY + 400 * DAY, MINUTE);
	assert_int_equal(at(&c, TODAY + 500 * DAY, DAY).ns, TODAY + DAY);
	assert_int_equal(
	    at(&c, TODAY + 500 * DAY + 2 * MINUTE, DAY + 2 * MINUTE).ns, TODAY + DAY + 2 * MINUTE);
}

static void
a_step_back_is_followed_at_once(void **state)
{
	struct calendar c = { 0 };
	(void)state;

	calendar_begin(&c, (struct wall){ TODAY }, (struct wall){ TODAY }, (struct mono){ 0 });
	assert_int_equal(at(&c, TODAY - 3 * DAY, MINUTE).ns, TODAY - 3 * DAY);
	/* and when it comes back, it is ahead for a day */
	assert_int_equal(at(&c, TODAY, 2 * MINUTE).ns, TODAY - 3 * DAY + MINUTE);
}

static void
a_controller_that_starts_with_a_clock_ahead_goes_by_its_newest_row(void **state)
{
	struct calendar c = { 0 };
	(void)state;

	calendar_begin(
	    &c, (struct wall){ TODAY }, (struct wall){ TODAY + 400 * DAY }, (struct mono){ 0 });
	assert_int_equal(at(&c, TODAY + 400 * DAY + MINUTE, MINUTE).ns, TODAY + DAY + MINUTE);
}

/* ---- with a database ---- */

static uint32_t
audit_rows(const struct forest_keeper *k)
{
	uint64_t from = 0;
	uint32_t n = 0;

	while (forest_audit_next(k->forest, &from) != NULL)
		n++;
	return n;
}

static void
a_clock_400_days_ahead_for_a_minute_deletes_nothing(void **state)
{
	char folder[] = "/tmp/hone-calendar-XXXXXX", path[64], command[96];
	struct audit a = { .user = "root", .asked = "{}", .text = "", .times = 1 };
	struct wall now = clock_wall();
	struct mono mono = clock_mono();
	struct forest_keeper k;
	struct err e;
	(void)state;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/forest.db", folder);
	assert_int_equal(forest_keeper_open(&k, path, 90, 0, &e), 0);
	for (int i = 0; i < 50; i++) {
		a.when.ns = now.ns - i * DAY;
		assert_int_equal(forest_audit_add(k.forest, &a, NULL), 0);
	}
	assert_true(forest_keeper_commit(&k));
	forest_keeper_prune(&k, now, mono);
	assert_int_equal(audit_rows(&k), 50);
	mono.ns += MINUTE;
	forest_keeper_prune(&k, (struct wall){ now.ns + 400 * DAY + MINUTE }, mono);
	assert_int_equal(audit_rows(&k), 50);
	/* A controller that starts in that minute deletes nothing, either. */
	forest_keeper_close(&k);
	assert_int_equal(forest_keeper_open(&k, path, 0, 0, &e), 0);
	k.history_days = 90;
	calendar_begin(&k.calendar, k.newest, (struct wall){ now.ns + 400 * DAY }, mono);
	forest_keeper_prune(&k, (struct wall){ now.ns + 400 * DAY }, mono);
	assert_int_equal(audit_rows(&k), 50);
	/* The clock is right: what is old is deleted. */
	mono.ns += MINUTE;
	forest_keeper_prune(&k, now, mono);
	assert_int_equal(audit_rows(&k), 50);
	mono.ns += 60 * DAY;
	forest_keeper_prune(&k, (struct wall){ now.ns + 60 * DAY }, mono);
	assert_in_range(audit_rows(&k), 29, 32);
	forest_keeper_close(&k);
	snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_only_drifts_is_followed),
		cmocka_unit_test(a_step_forward_is_believed_after_a_day),
		cmocka_unit_test(each_further_step_begins_the_day_again),
		cmocka_unit_test(a_step_back_is_followed_at_once),
		cmocka_unit_test(
		    a_controller_that_starts_with_a_clock_ahead_goes_by_its_newest_row),
		cmocka_unit_test(a_clock_400_days_ahead_for_a_minute_deletes_nothing),
	};

	return cmocka_run_group_tests_name("calendar", tests, NULL, NULL);
}
