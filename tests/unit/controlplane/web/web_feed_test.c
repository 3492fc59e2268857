/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A reader gets of each topic the newest state, once, and goes on where it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "controlplane/web/web_feed.h"

static struct web_feed feed;

static int
empty(void **state)
{
	(void)state;
	feed = (struct web_feed){ .instance = 0xabc };
	return 0;
}

static int
release(void **state)
{
	(void)state;
	web_feed_release(&feed);
	return 0;
}

static bool
say(enum web_topic topic, const char *json)
{
	struct web_text *t = web_feed_text(&feed, topic, json, strlen(json));

	assert_non_null(t);
	return web_feed_put(&feed, topic, t, hash_bytes(0, json, strlen(json)));
}

/* The next state is this text; NULL: there is none. */
static void
expect(uint64_t *after, const char *text)
{
	struct web_text *t = web_feed_next(&feed, after);

	if (text == NULL) {
		assert_null(t);
		return;
	}
	assert_non_null(t);
	assert_int_equal(t->len, strlen(text));
	assert_memory_equal(t->data, text, t->len);
	web_text_unref(t);
}

static void
a_reader_gets_each_topic_once_in_order(void **state)
{
	uint64_t after = 0;
	(void)state;

	expect(&after, NULL);
	assert_true(say(WEB_TOPIC_agents, "{\"a\":1}"));
	assert_true(say(WEB_TOPIC_status, "{}"));
	expect(&after, "id: abc.1\nevent: agents\ndata: {\"a\":1}\n\n");
	expect(&after, "id: abc.2\nevent: status\ndata: {}\n\n");
	expect(&after, NULL);
}

static void
a_slow_reader_gets_the_newest_state_alone(void **state)
{
	uint64_t after = 0;
	(void)state;

	say(WEB_TOPIC_status, "1");
	say(WEB_TOPIC_audit, "2");
	say(WEB_TOPIC_status, "3");
	say(WEB_TOPIC_status, "4");
	expect(&after, "id: abc.2\nevent: audit\ndata: 2\n\n");
	expect(&after, "id: abc.4\nevent: status\ndata: 4\n\n");
	expect(&after, NULL);
}

static void
a_state_like_the_one_before_is_not_told(void **state)
{
	uint64_t after = 0;
	(void)state;

	assert_true(say(WEB_TOPIC_forest, "[]"));
	assert_false(say(WEB_TOPIC_forest, "[]"));
	assert_true(say(WEB_TOPIC_alerts, "[]"));
	expect(&after, "id: abc.1\nevent: forest\ndata: []\n\n");
	expect(&after, "id: abc.2\nevent: alerts\ndata: []\n\n");
	expect(&after, NULL);
}

static void
a_text_that_is_being_read_outlives_its_state(void **state)
{
	uint64_t after = 0;
	struct web_text *t;
	(void)state;

	say(WEB_TOPIC_status, "old");
	t = web_feed_next(&feed, &after);
	say(WEB_TOPIC_status, "new");
	assert_int_equal(t->refs, 1);
	assert_memory_equal(t->data + t->len - 5, "old\n\n", 5);
	web_text_unref(t);
	expect(&after, "id: abc.2\nevent: status\ndata: new\n\n");
}

static void
a_reader_that_comes_back_gets_what_is_newer(void **state)
{
	uint64_t after;
	(void)state;

	say(WEB_TOPIC_status, "1");
	say(WEB_TOPIC_audit, "2");
	after = web_feed_after(&feed, 0xabc, 1);
	expect(&after, "id: abc.2\nevent: audit\ndata: 2\n\n");
	expect(&after, NULL);
	after = web_feed_after(&feed, 0xabc, 2);
	expect(&after, NULL);
}

static void
a_reader_of_another_instance_gets_all(void **state)
{
	(void)state;
	say(WEB_TOPIC_status, "1");
	assert_int_equal(web_feed_after(&feed, 0xabd, 1), 0);
	assert_int_equal(web_feed_after(&feed, 0xabc, 7), 0); /* nothing has had this number */
}

static void
the_newest_state_of_a_topic_is_known_with_its_number(void **state)
{
	struct web_text *t;
	(void)state;

	assert_null(web_feed_newest(&feed, WEB_TOPIC_status));
	say(WEB_TOPIC_audit, "[]");
	say(WEB_TOPIC_status, "{\"a\":1}");
	t = web_feed_newest(&feed, WEB_TOPIC_status);
	assert_int_equal(t->number, 2);
	assert_int_equal(t->json_len, 7);
	assert_memory_equal(t->data + t->json_at, "{\"a\":1}", 7);
	assert_int_equal(t->refs, 2);
	web_text_unref(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_reader_gets_each_topic_once_in_order, empty, release),
		cmocka_unit_test_setup_teardown(
		    a_slow_reader_gets_the_newest_state_alone, empty, release),
		cmocka_unit_test_setup_teardown(
		    a_state_like_the_one_before_is_not_told, empty, release),
		cmocka_unit_test_setup_teardown(
		    a_text_that_is_being_read_outlives_its_state, empty, release),
		cmocka_unit_test_setup_teardown(
		    a_reader_that_comes_back_gets_what_is_newer, empty, release),
		cmocka_unit_test_setup_teardown(
		    a_reader_of_another_instance_gets_all, empty, release),
		cmocka_unit_test_setup_teardown(
		    the_newest_state_of_a_topic_is_known_with_its_number, empty, release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
