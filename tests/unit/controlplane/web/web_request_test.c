/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which requests a page of another site cannot make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/web/web_request.h"

static void
names_of_this_machine_have_a_port(void **state)
{
	(void)state;
	assert_int_equal(web_host_port("localhost"), 80);
	assert_int_equal(web_host_port("LocalHost:9470"), 9470);
	assert_int_equal(web_host_port("127.0.0.1:1"), 1);
	assert_int_equal(web_host_port("127.255.0.9:65535"), 65535);
	assert_int_equal(web_host_port("[::1]:9470"), 9470);
	assert_int_equal(web_host_port("[::1]"), 80);
}

static void
other_names_are_none(void **state)
{
	static const char *const names[] = { "", "evil.example", "localhost.evil.example",
		"localhost:", "localhost:x", "localhost:9470x", "localhost:65536",
		"localhost:99999999", "127.0.0.1.evil.example", "127.0.0.1:80:80", "127.0.0.256",
		"127.0.0", "127.0.0.1.", "127..0.1", "128.0.0.1", "1270.0.0.1", "0.0.0.0",
		"10.0.0.1", "[::1", "[::1]x", "[::2]", "[::1]:", " localhost", "localhost ",
		"127.0.0.1@evil.example", "localhost:-1", "127.0000.0.1" };
	(void)state;

	assert_int_equal(web_host_port(NULL), 0);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (web_host_port(names[i]) != 0)
			fail_msg("'%s' is taken for this machine", names[i]);
}

static int
refusal(const char *host, const char *origin, const char *site, const char *type,
    enum web_method method, bool open)
{
	const struct web_headers h = {
		.host = host, .origin = origin, .fetch_site = site, .content_type = type
	};

	return web_refusal(&h, method, open);
}

#define HERE "127.0.0.1:9470"
#define JSON "application/json"

static void
the_page_itself_may_ask(void **state)
{
	(void)state;
	assert_int_equal(refusal(HERE, NULL, "none", NULL, WEB_GET, true), 0);
	assert_int_equal(refusal(HERE, NULL, "same-origin", NULL, WEB_GET, false), 0);
	assert_int_equal(refusal(HERE, NULL, NULL, NULL, WEB_GET, false), 0);
	assert_int_equal(refusal(HERE, "http://" HERE, "same-origin", JSON, WEB_POST, false), 0);
	assert_int_equal(
	    refusal(HERE, "http://" HERE, NULL, JSON "; charset=utf-8", WEB_POST, false), 0);
}

static void
a_link_of_another_site_may_only_open_the_page(void **state)
{
	(void)state;
	assert_int_equal(refusal(HERE, NULL, "cross-site", NULL, WEB_GET, true), 0);
	assert_int_equal(refusal(HERE, NULL, "cross-site", NULL, WEB_GET, false), 403);
	assert_int_equal(refusal(HERE, NULL, "same-site", NULL, WEB_GET, false), 403);
	assert_int_equal(refusal(HERE, NULL, "anything", NULL, WEB_GET, false), 403);
}

static void
a_name_that_leads_here_is_refused_first(void **state)
{
	(void)state;
	assert_int_equal(refusal("evil.example:9470", "http://evil.example:9470", "same-origin",
			     JSON, WEB_POST, false),
	    421);
	assert_int_equal(refusal(NULL, NULL, NULL, NULL, WEB_GET, true), 421);
}

static void
another_origin_is_refused(void **state)
{
	static const char *const origins[] = { "http://evil.example", "null", "",
		"http://127.0.0.1", "http://127.0.0.1:9471", "http://localhost:9470",
		"https://" HERE, "http://" HERE "/", "http://" HERE ".evil.example", HERE };
	(void)state;

	for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
		assert_int_equal(refusal(HERE, origins[i], NULL, JSON, WEB_POST, false), 403);
		assert_int_equal(refusal(HERE, origins[i], NULL, NULL, WEB_GET, true), 403);
	}
	assert_int_equal(refusal(HERE, NULL, NULL, JSON, WEB_POST, false), 403);
}

static void
what_a_form_can_send_is_refused(void **state)
{
	static const char *const types[] = { NULL, "", "text/plain",
		"application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx" };
	(void)state;

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		assert_int_equal(
		    refusal(HERE, "http://" HERE, NULL, types[i], WEB_POST, false), 415);
}

#define TOKEN "0123456789abcdef0123456789abcdef"

static void
the_cookie_is_that_of_the_port(void **state)
{
	char token[WEB_TOKEN];
	(void)state;

	assert_true(web_cookie_token("hone_9470=" TOKEN, 9470, token));
	assert_string_equal(token, TOKEN);
	assert_true(web_cookie_token(
	    "a=b; hone_80=ffffffffffffffffffffffffffffffff; hone_9470=" TOKEN "; c", 9470, token));
	assert_string_equal(token, TOKEN);
	assert_false(web_cookie_token(NULL, 9470, token));
	assert_false(web_cookie_token("", 9470, token));
	assert_false(web_cookie_token("hone_9470=" TOKEN, 947, token));
	assert_false(web_cookie_token("hone_9470=" TOKEN "0", 9470, token));
	assert_false(web_cookie_token("hone_9470=", 9470, token));
	assert_false(web_cookie_token("xhone_9470=" TOKEN, 9470, token));
	assert_false(web_cookie_token(";;; ;", 9470, token));
}

static void
the_number_of_a_state_is_read_whole_or_not(void **state)
{
	static const char *const none[] = { "", ".", "1", "1.", ".1", "1.2 ", "1.2.3", "g.1", "1.g",
		"11111111111111111.1", "1.11111111111111111", "-1.1", "A.1" };
	uint64_t instance, number;
	(void)state;

	assert_true(web_event_id("ffffffffffffffff.1f", &instance, &number));
	assert_true(instance == UINT64_MAX);
	assert_int_equal(number, 31);
	assert_false(web_event_id(NULL, &instance, &number));
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		if (web_event_id(none[i], &instance, &number))
			fail_msg("'%s' is taken for a number", none[i]);
}

static void
gzip_is_sent_to_who_takes_it(void **state)
{
	static const char *const yes[] = { "gzip", "gzip, deflate, br", "br;q=1, GZIP;q=0.001", "*",
		"identity;q=0, *;q=0.5", " ,, gzip ;q=1.0", "gzip; q=0.5" };
	static const char *const no[] = { "", "deflate", "xgzip", "gzipx", "gzip;q=0",
		"gzip; q=0.000, *", "*;q=0", "br, *;q=0.0", "deflate;gzip", ",", ";q=1" };
	(void)state;

	assert_false(web_takes_gzip(NULL));
	for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
		if (!web_takes_gzip(yes[i]))
			fail_msg("'%s' takes it", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
		if (web_takes_gzip(no[i]))
			fail_msg("'%s' does not take it", no[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_this_machine_have_a_port),
		cmocka_unit_test(other_names_are_none),
		cmocka_unit_test(the_page_itself_may_ask),
		cmocka_unit_test(a_link_of_another_site_may_only_open_the_page),
		cmocka_unit_test(a_name_that_leads_here_is_refused_first),
		cmocka_unit_test(another_origin_is_refused),
		cmocka_unit_test(what_a_form_can_send_is_refused),
		cmocka_unit_test(the_cookie_is_that_of_the_port),
		cmocka_unit_test(the_number_of_a_state_is_read_whole_or_not),
		cmocka_unit_test(gzip_is_sent_to_who_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
