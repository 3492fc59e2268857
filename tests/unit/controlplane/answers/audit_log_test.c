/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A flood of refused questions makes few rows; their counts add up to all questions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/answers/audit_log.h"

static const struct wall WHEN = { 5 };

static struct mono
at_s(double s)
{
	return (struct mono){ 1000000000000 + (int64_t)(s * 1e9) };
}

static void
ask(struct audit_book *b, struct forest *f, const struct who *w, enum audit_outcome outcome,
    uint64_t run, double s)
{
	const struct audit row = { .when = WHEN,
		.asked = "{\"ask\":\"stop\"}",
		.outcome = outcome,
		.run = run,
		.times = 1,
		.text = "no" };

	assert_int_equal(audit_asked(b, f, w, &row, at_s(s), NULL), 0);
}

static void
count(const struct forest *f, int uid, uint64_t *rows, uint64_t *times)
{
	const struct audit *a;
	uint64_t at = 0;

	*rows = *times = 0;
	while ((a = forest_audit_next(f, &at)) != NULL)
		if (uid < 0 || a->uid == uid) {
			++*rows;
			*times += a->times;
		}
}

static void
a_flood_of_refusals_shares_rows_and_is_counted(void **state)
{
	struct audit_book b = { 0 };
	struct forest *f = forest_new();
	struct who w = { .uid = 1000, .pid = 1, .user = "alice" };
	uint64_t rows, times;
	(void)state;

	/* a thousand questions a second for a minute */
	for (int i = 0; i < 60000; i++)
		ask(&b, f, &w, i % 2 ? AUDIT_REFUSED : AUDIT_FAILED, 0, i / 1000.0);
	count(f, 1000, &rows, &times);
	assert_in_range(rows, 10, 16);
	audit_flush(&b, f, at_s(60), WHEN);
	audit_flush(&b, f, at_s(80), WHEN);
	count(f, 1000, &rows, &times);
	assert_int_equal(times, 60000);
	assert_in_range(rows, 10, 18);
	audit_flush(&b, f, at_s(200), WHEN); /* no further row is added */
	assert_int_equal(b.users[0].unwritten, 0);
	forest_free(f);
}

static void
what_is_done_always_has_a_row(void **state)
{
	struct audit_book b = { 0 };
	struct forest *f = forest_new();
	struct who w = { .uid = 0, .pid = 1, .user = "root" };
	uint64_t rows, times;
	(void)state;

	for (int i = 0; i < 500; i++)
		ask(&b, f, &w, AUDIT_DONE, 7, 0);
	forest_audit_own(f, &(struct audit){ .when = WHEN,
				.actor = ACTOR_BUDGET,
				.action = ACTION_DISABLE_ONE,
				.run = 7,
				.reason = REASON_OVER_BUDGET });
	count(f, 0, &rows, &times);
	assert_int_equal(rows, 500);
	count(f, -1, &rows, &times);
	assert_int_equal(rows, 501);
	forest_free(f);
}

/* Users of other machines have no uid. Attempts without a certificate are not attributed to the
 * user who has one. */
static void
refusals_are_attributed_to_the_user_who_asked(void **state)
{
	struct audit_book b = { 0 };
	struct forest *f = forest_new();
	struct who named = { .uid = -1, .pid = -1, .user = "hone:agent:n1" },
		   stranger = { .uid = -1, .pid = -1 };
	uint64_t of_named = 0, of_all = 0, at = 0;
	const struct audit *a;
	(void)state;

	ask(&b, f, &named, AUDIT_REFUSED, 0, 0);
	for (int i = 0; i < 1000; i++)
		ask(&b, f, &stranger, AUDIT_REFUSED, 0, 0);
	audit_flush(&b, f, at_s(60), WHEN);
	while ((a = forest_audit_next(f, &at)) != NULL) {
		of_all += a->times;
		of_named += strcmp(a->user, named.user) == 0 ? a->times : 0;
	}
	assert_int_equal(of_named, 1);
	assert_int_equal(of_all, 1001);
	forest_free(f);
}

/* Many users: each gets a row, and no count is lost. */
static void
each_of_many_users_has_a_row(void **state)
{
	struct audit_book b = { 0 };
	struct forest *f = forest_new();
	uint64_t rows, times;
	(void)state;

	for (int i = 0; i < 20; i++)
		for (int uid = 1; uid <= 100; uid++) {
			struct who w = { .uid = uid, .pid = 1, .user = "x" };

			ask(&b, f, &w, AUDIT_REFUSED, 0, i);
		}
	for (int uid = 1; uid <= AUDIT_USERS - 1; uid++) {
		count(f, uid, &rows, &times);
		assert_true(rows >= 1);
	}
	for (int s = 30; s < 600; s += 10)
		audit_flush(&b, f, at_s(s), WHEN);
	count(f, -1, &rows, &times);
	assert_int_equal(times, 2000);
	forest_free(f);
}

/* More users than the book has entries, each of whom has refusals without a row. */
static void
users_over_the_limit_share_an_entry_without_a_name(void **state)
{
	struct audit_book b = { 0 };
	struct forest *f = forest_new();
	uint64_t all = 0, several = 0, at = 0;
	const struct audit *a;
	(void)state;

	for (int uid = 1; uid <= AUDIT_USERS + 8; uid++)
		for (int i = 0; i < 15; i++) {
			struct who w = { .uid = uid, .pid = 1, .user = "x" };

			ask(&b, f, &w, AUDIT_REFUSED, 0, 0);
		}
	for (int s = 30; s < 600; s += 10)
		audit_flush(&b, f, at_s(s), WHEN);
	while ((a = forest_audit_next(f, &at)) != NULL) {
		assert_int_equal(a->actor == ACTOR_SEVERAL_USERS, a->uid == -1);
		assert_string_equal(a->user, a->actor == ACTOR_SEVERAL_USERS ? "" : "x");
		several += a->actor == ACTOR_SEVERAL_USERS ? a->times : 0;
		all += a->times;
	}
	assert_int_equal(all, 15 * (AUDIT_USERS + 8));
	assert_true(several >= 8);
	forest_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_refusals_shares_rows_and_is_counted),
		cmocka_unit_test(what_is_done_always_has_a_row),
		cmocka_unit_test(refusals_are_attributed_to_the_user_who_asked),
		cmocka_unit_test(each_of_many_users_has_a_row),
		cmocka_unit_test(users_over_the_limit_share_an_entry_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
