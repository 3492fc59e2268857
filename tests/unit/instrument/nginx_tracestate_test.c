/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "instrument/nginx/nginx_tracestate.h"

#define OURS "hone=b7ad6b7169203331-123456783"

static void
add(struct tracestate *t, const char *line)
{
	tracestate_add(t, line, strlen(line));
}

static void
assert_text(const struct tracestate *t, const char *wanted)
{
	assert_int_equal(t->len, strlen(wanted));
	assert_memory_equal(t->text, wanted, t->len);
}

static void
assert_kept(bool ours_wanted, const char *in, const char *wanted)
{
	struct tracestate t;

	tracestate_init(&t, TRACESTATE_PASSED_MAX, ours_wanted);
	add(&t, in);
	assert_text(&t, wanted);
}

/* "k=xxx...x", one after the other with a comma after each: count members of `each` bytes. The
 * caller's. */
static char *
members(size_t count, size_t each, const char *last)
{
	size_t len = count * (each + 1);
	char *ret = malloc(len + strlen(last) + 1);

	assert_non_null(ret);
	memset(ret, 'x', len);
	for (size_t i = 0; i < count; i++) {
		memcpy(ret + i * (each + 1), "k=", 2);
		ret[i * (each + 1) + each] = ',';
	}
	strcpy(ret + len, last);
	return ret;
}

static void
others_members_are_kept_in_their_order(void **state)
{
	(void)state;
	assert_kept(false, "", "");
	assert_kept(false, "a=1", "a=1");
	assert_kept(false, "a=1,b=2", "a=1,b=2");
	assert_kept(false, " a=1 ,\tb=2\t, ,,c=3,", "a=1,b=2,c=3");
}

static void
hones_member_is_left_out_where_it_is_not_wanted(void **state)
{
	(void)state;
	assert_kept(false, OURS, "");
	assert_kept(false, "a=1, hone=1 ,b=2,hone=,hone=2", "a=1,b=2");
	assert_kept(
	    false, "xhone=1,hone2=1,hone,Hone=1,a=hone=1", "xhone=1,hone2=1,hone,Hone=1,a=hone=1");
}

static void
hones_first_member_is_kept_in_its_place(void **state)
{
	(void)state;
	assert_kept(true, OURS, OURS);
	assert_kept(true, "a=1, " OURS " ,b=2,hone=,hone=2", "a=1," OURS ",b=2");
}

static void
lines_are_one_list(void **state)
{
	struct tracestate t;

	(void)state;
	tracestate_init(&t, TRACESTATE_OTHERS_MAX, true);
	add(&t, "a=1");
	add(&t, "");
	add(&t, OURS " , b=2");
	add(&t, "hone=2,c=3");
	assert_text(&t, "a=1," OURS ",b=2,c=3");
}

static void
what_fits_to_the_byte_is_kept_whole(void **state)
{
	char one[TRACESTATE_PASSED_MAX + 1];

	(void)state;
	memset(one, 'x', sizeof one - 1);
	one[sizeof one - 1] = '\0';
	assert_kept(false, one, one);
	one[3] = one[7] = ',';
	assert_kept(false, one, one);
}

/* The result does not depend on the position of Hone's member among them. */
static void
hones_member_takes_no_room_of_others(void **state)
{
	char *others = members(10, TRACESTATE_PASSED_MAX / 10 - 1, ""), in[1024];

	(void)state;
	others[TRACESTATE_PASSED_MAX - 1] = 'x'; /* 480 bytes, to the last */
	for (size_t at = 0; at <= TRACESTATE_PASSED_MAX; at += TRACESTATE_PASSED_MAX / 10) {
		if (at < TRACESTATE_PASSED_MAX)
			snprintf(in, sizeof in, "%.*s" OURS ",%s", (int)at, others, others + at);
		else
			snprintf(in, sizeof in, "%s," OURS, others);
		assert_kept(true, in, in);
	}
	free(others);
}

static void
of_what_is_too_much_the_end_is_dropped_in_whole_members(void **state)
{
	char *in = members(12, 40, "z=1"), *wanted = members(11, 40, "");

	(void)state;
	wanted[11 * 41 - 1] =
	    '\0'; /* 450 bytes; a small one after what was dropped is dropped too */
	assert_kept(false, in, wanted);
	free(in);
	free(wanted);
}

static void
long_members_are_dropped_before_others(void **state)
{
	char *shorts = members(2, TRACESTATE_LONG, "z=1"),
	     *longs = members(2, TRACESTATE_LONG + 1, ""), in[1024], wanted[512];

	(void)state;
	snprintf(wanted, sizeof wanted, "a=1,%s", shorts);
	snprintf(in, sizeof in, "a=1,%s%s", longs, shorts); /* 4 + 260 + 261 bytes */
	assert_kept(false, in, wanted);
	snprintf(in, sizeof in, "a=1,%s,%s", shorts, longs);
	assert_kept(false, in, wanted);
	snprintf(in, sizeof in, "%sa=1", longs); /* and are not where there is room for them */
	assert_kept(false, in, in);
	free(shorts);
	free(longs);
}

/* Hone's member is found behind as many other members as are examined, also if they exceed the
 * space. */
static void
hones_member_is_found_behind_what_does_not_fit(void **state)
{
	static const size_t each[] = { 3, 10, 50, TRACESTATE_LONG, TRACESTATE_LONG + 1, 1023, 1024,
		1025, 4000 };

	(void)state;
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		for (size_t most = 0; most <= TRACESTATE_OTHERS_MAX;
		     most += TRACESTATE_OTHERS_MAX / 2) {
			size_t count = (TRACESTATE_LOOKED_MAX - strlen(OURS)) / (each[i] + 1);
			char *in = members(count, each[i], OURS);
			struct tracestate t;

			tracestate_init(&t, most, true);
			add(&t, in);
			assert_in_range(t.len, strlen(OURS), most + 1 + strlen(OURS));
			assert_memory_equal(t.text + t.len - strlen(OURS), OURS, strlen(OURS));
			assert_int_equal((t.len - strlen(OURS)) % (each[i] + 1), 0);
			if (each[i] <= TRACESTATE_LONG && most > 0)
				assert_in_range(
				    t.len, strlen(OURS) + most - each[i], most + 1 + strlen(OURS));
			free(in);
		}
	}
}

static void
no_more_is_examined_than_the_stated_maximum(void **state)
{
	char *in = members(TRACESTATE_LOOKED_MAX / 4, 3, OURS);
	struct tracestate t;

	(void)state;
	for (size_t at = TRACESTATE_LOOKED_MAX - 40; at <= TRACESTATE_LOOKED_MAX; at++) {
		tracestate_init(&t, 0, true);
		tracestate_add(&t, in, at / 4 * 4);
		tracestate_add(&t, in, at % 4); /* so that it begins at any byte */
		add(&t, OURS "1");
		assert_int_equal(
		    t.len, at + strlen(OURS "1") <= TRACESTATE_LOOKED_MAX ? strlen(OURS "1") : 0);
		assert_true(t.looked <= TRACESTATE_LOOKED_MAX);
	}
	free(in);
}

/* A part of a member is another, and may look like ours. */
static void
a_member_that_is_seen_in_part_is_none(void **state)
{
	char *in = members(TRACESTATE_LOOKED_MAX / 8, 7, "");
	struct tracestate t;

	(void)state;
	in = realloc(in, TRACESTATE_LOOKED_MAX + 64);
	assert_non_null(in);
	strcpy(in + TRACESTATE_LOOKED_MAX - 32,
	    OURS "-later"); /* 31 bytes of it within, the dash too */
	tracestate_init(&t, 0, true);
	add(&t, in);
	assert_int_equal(t.len, 0);
	strcpy(in + TRACESTATE_LOOKED_MAX - 31, OURS ",a=1");
	in[TRACESTATE_LOOKED_MAX - 32] = ',';
	tracestate_init(&t, 0, true);
	add(&t, in);
	assert_text(&t, OURS);
	free(in);
}

static void
a_member_of_hones_that_is_long_is_none(void **state)
{
	char in[TRACESTATE_LONG + 2];

	(void)state;
	memset(in, 'x', sizeof in);
	memcpy(in, "hone=", 5);
	in[TRACESTATE_LONG] = '\0';
	assert_kept(true, in, in);
	in[TRACESTATE_LONG] = 'x';
	in[TRACESTATE_LONG + 1] = '\0';
	assert_kept(true, in, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_members_are_kept_in_their_order),
		cmocka_unit_test(hones_member_is_left_out_where_it_is_not_wanted),
		cmocka_unit_test(hones_first_member_is_kept_in_its_place),
		cmocka_unit_test(lines_are_one_list),
		cmocka_unit_test(what_fits_to_the_byte_is_kept_whole),
		cmocka_unit_test(hones_member_takes_no_room_of_others),
		cmocka_unit_test(of_what_is_too_much_the_end_is_dropped_in_whole_members),
		cmocka_unit_test(long_members_are_dropped_before_others),
		cmocka_unit_test(hones_member_is_found_behind_what_does_not_fit),
		cmocka_unit_test(no_more_is_examined_than_the_stated_maximum),
		cmocka_unit_test(a_member_that_is_seen_in_part_is_none),
		cmocka_unit_test(a_member_of_hones_that_is_long_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
