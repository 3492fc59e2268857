/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/answers/received_alerts.h"
#include "controlplane/honed/alerts_receiver.h"
#include "controlplane/honed/bearer_token.h"

#define TOKEN "0123456789abcdef"
#define S_NS INT64_C(1000000000)

static char path[] = "/tmp/hone-token-XXXXXX";

static void
write_token(const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static int
make_file(void **state)
{
	(void)state;
	close(mkstemp(path));
	return 0;
}

static int
remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void
a_token_is_the_first_line_of_a_private_file(void **state)
{
	char token[TOKEN_MOST + 1], longer[TOKEN_MOST + 10];
	struct err e;
	(void)state;

	write_token(TOKEN "\nmore\n", 0640);
	assert_int_equal(bearer_token_read(token, path, &e), 0);
	assert_string_equal(token, TOKEN);
	write_token(TOKEN, 0600);
	assert_int_equal(bearer_token_read(token, path, &e), 0);
	write_token(TOKEN "\n", 0644);
	assert_int_equal(bearer_token_read(token, path, &e), ERR_DENIED);
	write_token("short\n", 0600);
	assert_int_equal(bearer_token_read(token, path, &e), ERR_INPUT);
	write_token(TOKEN "\x01" TOKEN "\n", 0600);
	assert_int_equal(bearer_token_read(token, path, &e), ERR_INPUT);
	memset(longer, 'a', sizeof longer);
	longer[TOKEN_MOST + 1] = '\0';
	write_token(longer, 0600);
	assert_int_equal(bearer_token_read(token, path, &e), ERR_INPUT);
	longer[TOKEN_MOST] = '\0';
	write_token(longer, 0600);
	assert_int_equal(bearer_token_read(token, path, &e), 0);
	assert_int_equal(bearer_token_read(token, "/nowhere", &e), ERR_SYSTEM);
	assert_int_equal(bearer_token_read(token, "/tmp", &e), ERR_DENIED);
}

static void
only_the_whole_token_is_taken_for_it(void **state)
{
	(void)state;
	assert_true(bearer_token_is_shown("Bearer " TOKEN, TOKEN));
	assert_true(bearer_token_is_shown("bearer " TOKEN, TOKEN));
	assert_false(bearer_token_is_shown(NULL, TOKEN));
	assert_false(bearer_token_is_shown(TOKEN, TOKEN));
	assert_false(bearer_token_is_shown("Basic " TOKEN, TOKEN));
	assert_false(bearer_token_is_shown("Bearer ", TOKEN));
	assert_false(bearer_token_is_shown("Bearer 0123456789abcde", TOKEN));
	assert_false(bearer_token_is_shown("Bearer " TOKEN TOKEN, TOKEN));
	assert_false(bearer_token_is_shown("Bearer 0123456789abcdeg", TOKEN));
	assert_false(bearer_token_is_shown("Bearer ", ""));
}

static void
each_refusal_has_its_status(void **state)
{
	struct alerts_post p = { "POST", "Bearer " TOKEN, "application/json; charset=utf-8",
		"262144" };
	struct mono now = { S_NS };
	struct alerts_receiver r;
	struct err e;
	(void)state;

	write_token(TOKEN "\n", 0600);
	alerts_receiver_init(&r, "", now);
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 404);
	alerts_receiver_init(&r, path, now);
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 0);
	p.content_length = "262145";
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 413);
	p.content_length = "99999999999999999999999999";
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 413);
	p.content_length = NULL;
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 0);
	p.content_type = "text/plain";
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 415);
	p.content_type = NULL;
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 415);
	p.authorization = "Bearer wrong";
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 401);
	write_token(TOKEN "\n", 0604);
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 503);
	assert_non_null(strstr(e.text, path));
	p.method = "GET";
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 405);
}

static void
ten_posts_at_once_and_one_each_second_may_come(void **state)
{
	const struct alerts_post p = { "POST", "Bearer " TOKEN, "application/json", "2" },
				 stranger = { "POST", "Bearer x", "application/json", "2" };
	struct mono now = { S_NS };
	struct alerts_receiver r;
	struct err e;
	(void)state;

	write_token(TOKEN "\n", 0600);
	alerts_receiver_init(&r, path, now);
	for (int i = 0; i < 100; i++)
		assert_int_equal(alerts_receiver_admit(&r, &stranger, now, &e), 401);
	for (int i = 0; i < RECEIVER_BURST; i++)
		assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 0);
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 429);
	now.ns += S_NS;
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 0);
	assert_int_equal(alerts_receiver_admit(&r, &p, now, &e), 429);
}

static void
a_malformed_body_is_answered_with_the_reason(void **state)
{
	struct buf body = { .data = (uint8_t *)"{\"version\":\"3\"}", .len = 15 };
	char *text;
	(void)state;

	assert_int_equal(
	    alerts_receiver_take(&body, NULL, (struct mono){ 1 }, (struct wall){ 1 }, &text), 400);
	assert_non_null(strstr(text, "\"error\""));
	assert_non_null(strstr(text, "version"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_the_first_line_of_a_private_file),
		cmocka_unit_test(only_the_whole_token_is_taken_for_it),
		cmocka_unit_test(each_refusal_has_its_status),
		cmocka_unit_test(ten_posts_at_once_and_one_each_second_may_come),
		cmocka_unit_test(a_malformed_body_is_answered_with_the_reason),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
