/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/reader/seen_below.h"

static void
add(struct seen_below *s, int64_t time_ns, uint32_t tid)
{
	const struct value v = { .type = VALUE_INT, .i = time_ns };
	const struct record r = { .time_ns = time_ns, .tid = tid, .nvalues = 1, .values = &v };

	assert_true(seen_below_add(s, &r));
}

struct found {
	uint32_t n;
	int64_t first_ns, last_ns;
};

static void
note(void *of, const struct record *r)
{
	struct found *f = of;

	assert_int_equal(r->values[0].i, r->time_ns);
	f->first_ns = f->n++ == 0 ? r->time_ns : f->first_ns;
	f->last_ns = r->time_ns;
}

static struct found
find(const struct seen_below *s, uint32_t tid, int64_t from_ns, int64_t to_ns)
{
	struct found f = { 0 };

	seen_below_find(s, tid, from_ns, to_ns, note, &f);
	return f;
}

static void
records_are_found_by_thread_and_time(void **state)
{
	struct seen_below s = { 0 };
	(void)state;

	assert_int_equal(find(&s, 1, 0, INT64_MAX).n, 0);
	for (int64_t t = 0; t < 1000; t++)
		add(&s, t * 10, t % 2 == 0 ? 1 : 2);
	assert_int_equal(find(&s, 1, 100, 200).n, 6);
	assert_int_equal(find(&s, 1, 100, 200).first_ns, 100);
	assert_int_equal(find(&s, 1, 101, 199).n, 4);
	assert_int_equal(find(&s, 2, 100, 200).n, 5);
	assert_int_equal(find(&s, 3, 0, INT64_MAX).n, 0);
	seen_below_release(&s);
}

static void
the_last_seconds_stay_and_older_ones_go(void **state)
{
	const int64_t each = SEEN_NS / 100;
	struct seen_below s = { 0 };
	struct found f;
	(void)state;

	for (int64_t t = 0; t < 1000; t++) {
		add(&s, t * each, 1);
		f = find(&s, 1, 0, INT64_MAX);
		assert_int_equal(f.last_ns, t * each);
		assert_true(f.n == t + 1 || (f.last_ns - f.first_ns >= SEEN_NS && f.n <= 204));
	}
	seen_below_release(&s);
}

static void
there_is_a_bound_however_many_come(void **state)
{
	struct seen_below s = { 0 };
	struct found f;
	(void)state;

	for (int64_t t = 0; t < 10 * SEEN_MAX; t++)
		add(&s, t, 1);
	f = find(&s, 1, 0, INT64_MAX);
	assert_true(f.n <= 2 * SEEN_MAX && f.n >= SEEN_MAX);
	assert_int_equal(f.last_ns, 10 * SEEN_MAX - 1);
	add(&s, 5, 1); /* late: it is dropped */
	assert_int_equal(find(&s, 1, 0, 10).n, 0);
	seen_below_release(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_found_by_thread_and_time),
		cmocka_unit_test(the_last_seconds_stay_and_older_ones_go),
		cmocka_unit_test(there_is_a_bound_however_many_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
