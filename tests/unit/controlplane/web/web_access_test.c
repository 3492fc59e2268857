/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links and sessions: once, for a time, of a user, in bounded number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/web/web_access.h"

#define S_NS INT64_C(1000000000)

static struct web_access a;
static uint8_t drawn;

static int
empty(void **state)
{
	(void)state;
	a = (struct web_access){ 0 };
	drawn = 0;
	return 0;
}

static struct mono
at(int64_t s)
{
	return (struct mono){ 1000 * S_NS + s * S_NS };
}

static const uint8_t *
draw(void)
{
	static uint8_t random[WEB_RANDOM];

	memset(random, ++drawn, sizeof random);
	random[0] = 0xa5;
	return random;
}

/* A link's token, copied. */
static const char *
link_of(int uid, int64_t s)
{
	static char token[WEB_TOKEN];

	strcpy(token, web_link_make(&a, uid, draw(), at(s)));
	return token;
}

static struct web_session *
taken(const char *token, int64_t s)
{
	return web_link_take(&a, token, draw(), 10, at(s));
}

static void
a_link_gives_one_session_of_its_user(void **state)
{
	const char *token = link_of(1001, 0);
	struct web_session *s;
	(void)state;

	assert_int_equal(strlen(token), 32);
	assert_int_equal(strspn(token, "0123456789abcdef"), 32);
	assert_memory_equal(token, "a501", 4);
	s = taken(token, 59);
	assert_non_null(s);
	assert_int_equal(s->grant.uid, 1001);
	assert_string_not_equal(s->grant.token, token);
	assert_null(taken(token, 59));
	assert_ptr_equal(web_session_of(&a, s->grant.token, at(60)), s);
	assert_null(web_session_of(&a, token, at(60)));
}

static void
a_link_waits_until_it_is_used_or_too_old(void **state)
{
	const char *token;
	(void)state;

	assert_false(web_link_waits(&a, at(0)));
	token = link_of(1, 0);
	assert_true(web_link_waits(&a, at(WEB_LINK_S - 1)));
	assert_false(web_link_waits(&a, at(WEB_LINK_S)));
	assert_non_null(taken(token, 1));
	assert_false(web_link_waits(&a, at(1)));
}

static void
a_link_ends_after_a_minute(void **state)
{
	(void)state;
	assert_null(taken(link_of(1, 0), WEB_LINK_S));
	assert_true(web_access_expire(&a, at(WEB_LINK_S)));
}

static void
a_token_that_is_almost_right_is_none(void **state)
{
	char token[WEB_TOKEN + 1];
	(void)state;

	strcpy(token, link_of(1, 0));
	token[31]++;
	assert_null(taken(token, 1));
	token[31]--;
	token[0] = token[0] == 'a' ? 'b' : 'a';
	assert_null(taken(token, 1));
	strcpy(token, link_of(1, 0));
	strcat(token, "0");
	assert_null(taken(token, 1));
	token[31] = '\0';
	assert_null(taken(token, 1));
	assert_null(taken("", 1));
	assert_null(web_session_of(&a, "", at(1)));
}

/* An unused place has no token that could be guessed. */
static void
nothing_is_a_session_of_an_empty_place(void **state)
{
	char zeroes[WEB_TOKEN] = "00000000000000000000000000000000";
	(void)state;

	assert_null(web_session_of(&a, zeroes, at(0)));
	assert_null(taken(zeroes, 0));
	assert_true(web_access_expire(&a, at(0)));
}

static void
a_session_that_nobody_uses_ends_after_an_hour(void **state)
{
	struct web_session *s = taken(link_of(1, 0), 0);
	char token[WEB_TOKEN];
	(void)state;

	strcpy(token, s->grant.token);
	assert_non_null(web_session_of(&a, token, at(WEB_IDLE_S - 1)));
	assert_non_null(web_session_of(&a, token, at(2 * WEB_IDLE_S - 2)));
	assert_null(web_session_of(&a, token, at(3 * WEB_IDLE_S - 2)));
	assert_true(web_access_expire(&a, at(3 * WEB_IDLE_S - 2)));
}

static void
an_open_stream_keeps_a_session_for_half_a_day_at_most(void **state)
{
	struct web_session *s = taken(link_of(1, 0), 0);
	char token[WEB_TOKEN];
	(void)state;

	strcpy(token, s->grant.token);
	s->streams = 1;
	for (int64_t t = 0; t < WEB_SESSION_S; t += 600)
		assert_false(web_access_expire(&a, at(t)));
	assert_non_null(web_session_of(&a, token, at(WEB_SESSION_S - 1)));
	assert_true(web_access_expire(&a, at(WEB_SESSION_S)));
	assert_null(web_session_of(&a, token, at(WEB_SESSION_S)));
}

static void
a_user_has_a_limited_number_of_sessions_and_takes_none_of_others(void **state)
{
	uint64_t numbers[WEB_PER_USER_MAX + 1], other;
	(void)state;

	other = taken(link_of(2, 0), 0)->grant.number;
	for (int i = 0; i <= WEB_PER_USER_MAX; i++)
		numbers[i] = taken(link_of(1, 0), 0)->grant.number;
	assert_null(web_session_numbered(&a, numbers[0]));
	for (int i = 1; i <= WEB_PER_USER_MAX; i++)
		assert_non_null(web_session_numbered(&a, numbers[i]));
	assert_non_null(web_session_numbered(&a, other));
}

static void
when_all_places_are_used_the_oldest_session_ends(void **state)
{
	uint64_t first = 0, second = 0;
	(void)state;

	for (int i = 0; i <= WEB_SESSIONS_MAX; i++) {
		uint64_t n = taken(link_of(100 + i, 0), 0)->grant.number;

		first = i == 0 ? n : first;
		second = i == 1 ? n : second;
	}
	assert_null(web_session_numbered(&a, first));
	assert_non_null(web_session_numbered(&a, second));
}

static void
a_session_that_ended_is_not_that_of_its_place_later(void **state)
{
	struct web_session *s = taken(link_of(1, 0), 0), *next;
	uint64_t number = s->grant.number;
	(void)state;

	web_session_end(s);
	assert_null(web_session_numbered(&a, number));
	next = taken(link_of(2, 0), 0);
	assert_ptr_equal(next, s);
	assert_null(web_session_numbered(&a, number));
}

static void
questions_of_a_session_have_a_rate(void **state)
{
	struct web_session *s = taken(link_of(1, 0), 0);
	(void)state;

	for (int i = 0; i < 20; i++)
		assert_int_equal(bucket_wait_ns(&s->pace, at(0)), 0);
	assert_true(bucket_wait_ns(&s->pace, at(0)) > 0);
	assert_int_equal(bucket_wait_ns(&s->pace, at(1)), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_link_gives_one_session_of_its_user, empty),
		cmocka_unit_test_setup(a_link_waits_until_it_is_used_or_too_old, empty),
		cmocka_unit_test_setup(a_link_ends_after_a_minute, empty),
		cmocka_unit_test_setup(a_token_that_is_almost_right_is_none, empty),
		cmocka_unit_test_setup(nothing_is_a_session_of_an_empty_place, empty),
		cmocka_unit_test_setup(a_session_that_nobody_uses_ends_after_an_hour, empty),
		cmocka_unit_test_setup(
		    an_open_stream_keeps_a_session_for_half_a_day_at_most, empty),
		cmocka_unit_test_setup(
		    a_user_has_a_limited_number_of_sessions_and_takes_none_of_others, empty),
		cmocka_unit_test_setup(when_all_places_are_used_the_oldest_session_ends, empty),
		cmocka_unit_test_setup(a_session_that_ended_is_not_that_of_its_place_later, empty),
		cmocka_unit_test_setup(questions_of_a_session_have_a_rate, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
