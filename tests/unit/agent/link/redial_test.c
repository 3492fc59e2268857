/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/link/link_settings.h"
#include "agent/link/redial.h"

static void
waits_double_up_to_the_limit_and_are_half_by_chance(void **state)
{
	struct redial r;
	(void)state;

	redial_init(&r, 1, 1000, 7);
	for (int most = REDIAL_FIRST_MS, i = 0; i < 1000; i++) {
		int ms = redial_ended(&r, false, 0);

		assert_in_range(ms, most / 2, most);
		most = 2 * most < 1000 ? 2 * most : 1000;
	}
	assert_in_range(redial_ended(&r, true, 0), REDIAL_FIRST_MS / 2, REDIAL_FIRST_MS);
	assert_in_range(redial_ended(&r, false, 0), REDIAL_FIRST_MS / 2, REDIAL_FIRST_MS);
	assert_in_range(redial_ended(&r, false, 5000), 2500, 5000);
	assert_in_range(redial_ended(&r, true, 5000), 2500, 5000);
}

/* What a controller gets in each tenth of the last second after it has come back. */
static void
agents_that_lose_their_controller_together_do_not_come_back_together(void **state)
{
	enum { AGENTS = 10000, PARTS = 10 };
	uint32_t part[PARTS] = { 0 };
	(void)state;

	for (int i = 0; i < AGENTS; i++) {
		struct redial r;
		int64_t at = 0;

		redial_init(&r, 1, 1000, (uint64_t)i);
		at = redial_ended(&r, true, 0);
		while (at < 10000)
			at += redial_ended(&r, false, 0);
		if (at < 10500)
			part[(at - 10000) * PARTS / 500]++;
	}
	for (int i = 0; i < PARTS; i++) /* evenly: 667 each */
		assert_in_range(part[i], 500, 850);
}

static void
controllers_are_tried_in_order_and_from_the_first_again(void **state)
{
	struct redial r;
	(void)state;

	redial_init(&r, 3, 1000, 1);
	assert_int_equal(r.at, 0);
	assert_in_range(redial_ended(&r, false, 0), 1, REDIAL_FIRST_MS);
	assert_int_equal(r.at, 1);
	/* One that refuses does not keep the agent from the next one, but the round from its end. */
	assert_in_range(redial_ended(&r, false, 5000), 1, REDIAL_FIRST_MS);
	assert_int_equal(r.at, 2);
	assert_in_range(redial_ended(&r, false, 0), 2500, 5000);
	assert_int_equal(r.at, 0);
	redial_ended(&r, false, 0);
	assert_int_equal(r.at, 1);
	redial_ended(&r, true, 0); /* a connection to the second one has ended */
	assert_int_equal(r.at, 0);
}

static void
a_list_of_controllers_is_separated_by_blanks(void **state)
{
	char url[REDIAL_URL_MAX + 1], many[3 * REDIAL_URL_MAX];
	struct link_settings s = { "n1", " tls://a:1\ttls://b:2 ", "info" };
	struct err e;
	(void)state;

	assert_int_equal(redial_words(s.url), 2);
	assert_true(redial_url(s.url, 0, url));
	assert_string_equal(url, "tls://a:1");
	assert_true(redial_url(s.url, 1, url));
	assert_string_equal(url, "tls://b:2");
	assert_false(redial_url(s.url, 2, url));
	assert_int_equal(link_settings_check(&s, &e), 0);
	assert_true(link_settings_tls(s.url));
	assert_true(link_settings_tls("ipc:///a tls://b:2"));
	assert_false(link_settings_tls("ipc:///a ipc:///b"));

	s.url = " ";
	assert_int_equal(link_settings_check(&s, &e), ERR_INPUT);
	s.url = "tls://a:1 tcp://b:2";
	assert_int_equal(link_settings_check(&s, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "tcp://b:2"));
	s.url = "tls://1 tls://2 tls://3 tls://4 tls://5 tls://6 tls://7 tls://8";
	assert_int_equal(link_settings_check(&s, &e), 0);
	s.url = "tls://1 tls://2 tls://3 tls://4 tls://5 tls://6 tls://7 tls://8 tls://9";
	assert_int_equal(link_settings_check(&s, &e), ERR_INPUT);
	memset(many, 'a', sizeof many - 1);
	memcpy(many, "tls://", 6);
	many[REDIAL_URL_MAX] = '\0';
	s.url = many;
	assert_int_equal(link_settings_check(&s, &e), 0);
	many[REDIAL_URL_MAX] = 'a';
	many[REDIAL_URL_MAX + 1] = '\0';
	assert_int_equal(link_settings_check(&s, &e), ERR_INPUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_double_up_to_the_limit_and_are_half_by_chance),
		cmocka_unit_test(
		    agents_that_lose_their_controller_together_do_not_come_back_together),
		cmocka_unit_test(controllers_are_tried_in_order_and_from_the_first_again),
		cmocka_unit_test(a_list_of_controllers_is_separated_by_blanks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
