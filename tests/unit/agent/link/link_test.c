/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The link to the controller, which this test plays on a socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/link/link.h"
#include "tests/common/accepted.h"
#include "wire/frame.h"

enum { LIMIT_MS = 20000 };

struct stage {
	char dir[64], url[128];
	struct listen_socket *listener;
	struct outbox *out;
	struct link *link;
	struct accepted *accepted; /* is sent to the agent, after greet() */
	int wake;
};

static int
setup(void **state)
{
	struct stage *s = calloc(1, sizeof *s);
	struct link_options o = { .node = "n1",
		.version = "1",
		.window = 4,
		.silence_ms = LIMIT_MS,
		.retry_ms = 100,
		.refused_ms = 100 };
	struct err e;

	if (s == NULL)
		return -1;
	*state = s;
	strcpy(s->dir, "/tmp/hone-link-XXXXXX");
	if (mkdtemp(s->dir) == NULL)
		return -1;
	snprintf(s->url, sizeof s->url, "ipc://%s/socket", s->dir);
	s->wake = eventfd(0, EFD_CLOEXEC);
	o.url = s->url;
	o.wake = s->wake;
	if ((s->out = outbox_new(1 << 20)) == NULL ||
	    accepted_listen(&s->listener, s->url, &e) != 0)
		return -1;
	return link_start(&s->link, &o, s->out, &e);
}

static int
teardown(void **state)
{
	struct stage *s = *state;

	link_stop(s->link);
	accepted_close(s->accepted);
	listen_socket_close(s->listener);
	outbox_free(s->out);
	close(s->wake);
	unlink(s->url + strlen("ipc://"));
	rmdir(s->dir);
	free(s);
	return 0;
}

/* Reads the next frame, which must be of this kind. Its payload is in *b. */
static void
expect(struct stage *s, enum frame_kind kind, struct buf *b)
{
	uint8_t header[FRAME_HEADER_BYTES], *payload;
	struct err e = { 0 };
	struct frame f;

	if (accepted_read(s->accepted, header, sizeof header, LIMIT_MS, &e) != 0 ||
	    frame_open(&f, header, &e) != 0)
		fail_msg("%s", e.text);
	assert_string_equal(frame_kind_name(f.kind), frame_kind_name(kind));
	assert_non_null(payload = malloc(f.length + 1));
	if (accepted_read(s->accepted, payload, f.length, LIMIT_MS, &e) != 0 ||
	    frame_check(&f, header, payload, &e) != 0)
		fail_msg("%s", e.text);
	buf_reset(b);
	buf_bytes(b, payload, f.length);
	free(payload);
}

static void
send_frame(struct stage *s, enum frame_kind kind, const void *payload, size_t len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct err e;

	frame_seal(header, kind, 0, payload, len);
	if (accepted_write(s->accepted, header, sizeof header, LIMIT_MS, &e) != 0 ||
	    accepted_write(s->accepted, payload, len, LIMIT_MS, &e) != 0)
		fail_msg("%s", e.text);
}

/* Waits until the link reports a change and `done` holds. */
static void
until(struct stage *s, bool (*done)(const struct link_stats *stats))
{
	struct pollfd wake = { .fd = s->wake, .events = POLLIN };
	struct link_stats stats;
	eventfd_t n;

	for (;;) {
		link_stats(s->link, &stats);
		if (done(&stats))
			return;
		assert_int_equal(poll(&wake, 1, LIMIT_MS), 1);
		eventfd_read(s->wake, &n);
	}
}

static bool
is_connected(const struct link_stats *stats)
{
	return stats->connected;
}

static bool
is_refused(const struct link_stats *stats)
{
	return !stats->connected && stats->refused;
}

/* Accepts the agent's connection up to its HELLO. */
static void
accept_hello(struct stage *s)
{
	struct buf b = { 0 };
	struct err e;

	assert_int_equal(accepted_open(&s->accepted, s->listener, LIMIT_MS, &e), 0);
	expect(s, FRAME_HELLO, &b);
	buf_release(&b);
}

static void
greet(struct stage *s)
{
	struct welcome w = { 0 };
	struct buf b = { 0 };

	accept_hello(s);
	welcome_encode(&w, &b);
	send_frame(s, FRAME_WELCOME, b.data, b.len);
	buf_release(&b);
	until(s, is_connected);
}

static void
post(struct stage *s, enum frame_kind kind, const char *text)
{
	struct buf b = { 0 };

	buf_bytes(&b, text, strlen(text));
	link_post(s->link, kind, &b);
	assert_int_equal(b.len, 0);
}

static void
a_connection_that_ends_is_followed_by_another_that_gets_the_programs(void **state)
{
	struct stage *s = *state;
	struct buf b = { 0 };

	post(s, FRAME_PROGRAMS, "programs");
	post(s, FRAME_STATUS, "status"); /* dropped: there is no connection */
	for (int i = 0; i < 3; i++) {
		greet(s);
		expect(s, FRAME_PROGRAMS, &b);
		assert_memory_equal(b.data, "programs", 8);
		accepted_close(s->accepted);
		s->accepted = NULL;
	}
	buf_release(&b);
}

static void
a_question_for_the_clock_is_answered_with_the_times_of_arrival_and_answer(void **state)
{
	struct stage *s = *state;
	struct clock_echo c = { .asked_ns = 7 };
	struct buf b = { 0 };
	struct err e;

	greet(s);
	clock_encode(&c, &b);
	send_frame(s, FRAME_CLOCK, b.data, b.len);
	expect(s, FRAME_CLOCK, &b);
	assert_int_equal(clock_decode(&c, b.data, b.len, &e), 0);
	assert_int_equal(c.asked_ns, 7);
	assert_true(c.came_ns > 0 && c.came_ns <= c.went_ns && c.went_ns <= clock_mono().ns);
	buf_release(&b);
}

static void
send_want(struct stage *s, const struct want *w)
{
	struct buf b = { 0 };

	want_encode(w, &b);
	send_frame(s, FRAME_WANT, b.data, b.len);
	buf_release(&b);
}

/* The next one that has this lease. */
static struct link_want *
take_want(struct stage *s, int64_t lease_ms)
{
	struct pollfd wake = { .fd = s->wake, .events = POLLIN };
	eventfd_t n;

	for (;;) {
		struct link_want *w = link_take_want(s->link);

		if (w != NULL && w->want.lease_ms == lease_ms)
			return w;
		link_want_free(w);
		assert_int_equal(poll(&wake, 1, LIMIT_MS), 1);
		eventfd_read(s->wake, &n);
	}
}

static void
a_desired_state_that_is_renewed_comes_whole_with_the_new_lease(void **state)
{
	struct stage *s = *state;
	struct toggle toggle = { "shop:item" };
	struct link_want *w;

	greet(s);
	send_want(
	    s, &(struct want){ .epoch = 5, .lease_ms = 1000, .ntoggles = 1, .toggles = &toggle });
	for (int64_t lease_ms = 1000; lease_ms < 4000; lease_ms += 1000) {
		w = take_want(s, lease_ms);
		assert_false(w->want.renews);
		assert_int_equal(w->want.epoch, 5);
		assert_int_equal(w->want.ntoggles, 1);
		assert_string_equal(w->want.toggles[0].name, "shop:item");
		link_want_free(w);
		send_want(
		    s, &(struct want){ .renews = true, .epoch = 5, .lease_ms = lease_ms + 1000 });
	}
}

/* What came on the connection before counts no more: the controller may be another one. */
static void
a_renewal_of_what_this_connection_did_not_bring_is_refused(void **state)
{
	struct stage *s = *state;
	struct buf b = { 0 };

	greet(s);
	send_want(s, &(struct want){ .epoch = 5, .lease_ms = 1000 });
	link_want_free(take_want(s, 1000));
	accepted_close(s->accepted);
	s->accepted = NULL;
	greet(s);
	send_want(s, &(struct want){ .renews = true, .epoch = 5, .lease_ms = 2000 });
	expect(s, FRAME_REFUSE, &b);
	accepted_close(s->accepted);
	s->accepted = NULL;
	greet(s);
	send_want(s, &(struct want){ .epoch = 6, .lease_ms = 1000 });
	send_want(s, &(struct want){ .renews = true, .epoch = 5, .lease_ms = 2000 });
	expect(s, FRAME_REFUSE, &b);
	buf_release(&b);
}

static void
a_message_that_only_agents_send_is_refused_and_the_agent_greets_again(void **state)
{
	struct stage *s = *state;
	struct buf b = { 0 };

	greet(s);
	send_frame(s, FRAME_STATUS, "x", 1);
	expect(s, FRAME_REFUSE, &b);
	buf_bytes(&b, "", 1);
	assert_non_null(strstr((const char *)b.data, "the controller sent"));
	buf_release(&b);
	accepted_close(s->accepted);
	s->accepted = NULL;
	greet(s);
}

static void
a_refusal_is_in_the_statistics_with_its_text(void **state)
{
	struct stage *s = *state;
	struct link_stats stats;
	static const char text[] = "there is another node n1";

	accept_hello(s);
	send_frame(s, FRAME_REFUSE, text, strlen(text));
	until(s, is_refused);
	link_stats(s->link, &stats);
	assert_non_null(strstr(stats.trouble.text, text));
	assert_int_equal(stats.connection, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_connection_that_ends_is_followed_by_another_that_gets_the_programs, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_question_for_the_clock_is_answered_with_the_times_of_arrival_and_answer,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_desired_state_that_is_renewed_comes_whole_with_the_new_lease, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_renewal_of_what_this_connection_did_not_bring_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_message_that_only_agents_send_is_refused_and_the_agent_greets_again, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_refusal_is_in_the_statistics_with_its_text, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
