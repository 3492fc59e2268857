/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/client.h"
#include "wire/frame.h"
#include "wire/question.h"
#include "tests/common/accepted.h"

enum { SOON_MS = 20000 };

/* A honed that refuses its first connections with a text, and answers the next one. */
struct house {
	struct listen_socket *listener;
	pthread_t thread;
	char folder[40], url[80];
	const char *text;
	int refusals, came, asked;
};

static void
put(struct accepted *s, enum frame_kind kind, const char *text)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct err e;

	frame_seal(header, kind, 0, text, strlen(text));
	assert_int_equal(accepted_write(s, header, sizeof header, SOON_MS, &e), 0);
	assert_int_equal(accepted_write(s, text, strlen(text), SOON_MS, &e), 0);
}

static void
answer(struct house *h, struct accepted *s)
{
	uint8_t header[FRAME_HEADER_BYTES];
	char question[200], text[100];
	struct frame f;
	struct err e;

	while (accepted_read(s, header, sizeof header, SOON_MS, &e) == 0) {
		assert_int_equal(frame_open(&f, header, &e), 0);
		assert_true(f.length < sizeof question);
		assert_int_equal(accepted_read(s, question, f.length, SOON_MS, &e), 0);
		h->asked++;
		snprintf(text, sizeof text, "{\"version\":%d,\"ok\":true,\"n\":%d}", ANSWER_VERSION,
		    h->asked);
		put(s, FRAME_ANSWER, text);
	}
}

static void *
run(void *of)
{
	struct house *h = of;
	struct accepted *s;
	struct err e;
	char byte;

	while (h->came <= h->refusals) {
		assert_int_equal(accepted_open(&s, h->listener, SOON_MS, &e), 0);
		if (h->came++ < h->refusals) {
			put(s, FRAME_REFUSE, h->text);
			while (accepted_read(s, &byte, 1, SOON_MS, &e) ==
			       0) /* until it has been read */
				;
		} else {
			answer(h, s);
		}
		accepted_close(s);
	}
	return NULL;
}

static void
open_house(struct house *h, int refusals, const char *text)
{
	struct err e;

	*h = (struct house){
		.refusals = refusals, .text = text, .folder = "/tmp/hone-client-XXXXXX"
	};
	assert_non_null(mkdtemp(h->folder));
	snprintf(h->url, sizeof h->url, "ipc://%s/s", h->folder);
	assert_int_equal(accepted_listen(&h->listener, h->url, &e), 0);
	assert_int_equal(pthread_create(&h->thread, NULL, run, h), 0);
}

static void
close_house(struct house *h)
{
	assert_int_equal(pthread_join(h->thread, NULL), 0);
	listen_socket_close(h->listener);
	rmdir(h->folder);
}

static int
ask(struct client *c, json_int_t *n, struct err *e)
{
	json_t *question = json_pack("{s:s}", "ask", "status"), *got;
	int rc = client_ask(c, question, &got, e);

	*n = json_integer_value(json_object_get(got, "n"));
	json_decref(question);
	json_decref(got);
	return rc;
}

static void
a_question_that_nobody_has_heard_is_asked_again(void **state)
{
	struct client *c;
	struct house h;
	struct err e;
	json_int_t n;
	(void)state;

	open_house(&h, 3, REFUSED_UNHEARD);
	assert_int_equal(client_open(&c, h.url, SOON_MS, &e), 0);
	if (ask(c, &n, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(n, 1);
	assert_int_equal(ask(c, &n, &e), 0);
	assert_int_equal(n, 2);
	client_close(c);
	close_house(&h);
	assert_int_equal(h.came, 4);
}

static void
any_other_refusal_is_told_at_once(void **state)
{
	struct client *c;
	struct house h;
	struct err e;
	json_int_t n;
	(void)state;

	open_house(&h, 1, "user nobody may not ask this controller");
	assert_int_equal(client_open(&c, h.url, SOON_MS, &e), 0);
	assert_int_equal(ask(c, &n, &e), ERR_PEER);
	assert_non_null(strstr(e.text, "user nobody may not ask"));
	client_close(c);
	assert_int_equal(client_open(&c, h.url, SOON_MS, &e), 0); /* lets the house end */
	assert_int_equal(ask(c, &n, &e), 0);
	client_close(c);
	close_house(&h);
	assert_int_equal(h.came, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_that_nobody_has_heard_is_asked_again),
		cmocka_unit_test(any_other_refusal_is_told_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
