/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "otel/main/http_daemon.h"

enum { CONNECTIONS = 8, SILENT = 300 };
#define HEAD "GET / HTTP/1.1\r\nHost: x\r\n"
#define WHOLE HEAD "\r\n"
#define BEGUN "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx"

struct daemon_at_hand {
	struct http_daemon *daemon;
	int port, asked, completed;
};

static enum MHD_Result
ask(void *of, struct MHD_Connection *c, const char *path, const char *method, const char *version,
    const char *body, size_t *body_len, void **state)
{
	struct daemon_at_hand *t = of;
	struct MHD_Response *r;
	enum MHD_Result ok;
	(void)path;
	(void)method;
	(void)version;
	(void)body;

	if (*state == NULL) { /* its head has come */
		*state = t;
		t->asked++;
		return MHD_YES;
	}
	if (*body_len > 0) {
		*body_len = 0;
		return MHD_YES;
	}
	r = MHD_create_response_from_buffer(2, (void *)(uintptr_t) "ok", MHD_RESPMEM_PERSISTENT);
	ok = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return ok;
}

static void
completed(void *of, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct daemon_at_hand *t = of;
	(void)c;
	(void)state;
	(void)why;

	t->completed++;
}

static void
say_nothing(enum log_level level, const char *text)
{
	(void)level;
	(void)text;
}

static void
start(struct daemon_at_hand *t)
{
	const struct http_daemon_options o = { "127.0.0.1:0", "/", CONNECTIONS, 30, ask, completed,
		t, say_nothing };
	struct err e;

	*t = (struct daemon_at_hand){ 0 };
	assert_int_equal(http_daemon_start(&t->daemon, &o, &e), 0);
	assert_true(http_daemon_local(t->daemon));
	assert_int_equal(sscanf(http_daemon_url(t->daemon), "http://127.0.0.1:%d", &t->port), 1);
}

static int
connect_to(const struct daemon_at_hand *t)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)t->port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

/* Turns of the main loop until nothing is to be done for 20 ms. */
static void
settle(struct daemon_at_hand *t)
{
	struct pollfd p = { http_daemon_descriptor(t->daemon), POLLIN, 0 };

	while (poll(&p, 1, http_daemon_wait_ms(t->daemon, 20)) == 1)
		http_daemon_step(t->daemon);
	http_daemon_step(t->daemon);
}

static void
say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static bool
is_closed(int fd)
{
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		;
	return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void
silent_connections_give_way_to_one_that_speaks(void **state)
{
	int silent[SILENT], used, late, nclosed = 0;
	struct daemon_at_hand t;
	(void)state;

	start(&t);
	used = connect_to(&t);
	say(used, WHOLE);
	settle(&t);
	assert_int_equal(t.completed, 1);
	for (int i = 0; i < SILENT; i++) {
		silent[i] = connect_to(&t);
		if (i % 2 == 1)
			say(silent[i], HEAD); /* a head that never ends is no request */
		http_daemon_step(t.daemon);
	}
	late = connect_to(&t);
	say(late, WHOLE);
	settle(&t);
	assert_int_equal(t.completed, 2);
	assert_int_equal(http_daemon_displaced(t.daemon), SILENT + 2 - CONNECTIONS);
	assert_false(is_closed(used)); /* while one is there that never made a request */
	assert_false(is_closed(late));
	for (int i = 0; i < SILENT; i++)
		nclosed += is_closed(silent[i]);
	assert_int_equal(nclosed, SILENT + 2 - CONNECTIONS);
	assert_true(is_closed(silent[0]));
	say(used, WHOLE);
	settle(&t);
	assert_int_equal(t.completed, 3);
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	close(used);
	close(late);
	settle(&t);
	http_daemon_stop(t.daemon);
}

static void
connections_with_a_request_under_way_are_not_displaced(void **state)
{
	int busy[CONNECTIONS], late[HTTP_SPARE + 4];
	struct daemon_at_hand t;
	(void)state;

	start(&t);
	for (int i = 0; i < CONNECTIONS; i++) {
		busy[i] = connect_to(&t);
		say(busy[i], BEGUN);
		settle(&t);
	}
	assert_int_equal(t.asked, CONNECTIONS);
	for (int i = 0; i < HTTP_SPARE + 4; i++) {
		late[i] = connect_to(&t);
		settle(&t);
	}
	for (int i = 0; i < CONNECTIONS; i++)
		assert_false(is_closed(busy[i]));
	for (int i = 0; i < HTTP_SPARE + 4; i++)
		close(late[i]);
	settle(&t);
	assert_int_equal(t.completed, 0);
	for (int i = 0; i < CONNECTIONS; i++)
		close(busy[i]);
	settle(&t);
	assert_int_equal(t.completed, CONNECTIONS);
	http_daemon_stop(t.daemon);
}

static void
of_connections_with_a_request_those_are_displaced_that_are_silent(void **state)
{
	int busy[CONNECTIONS], late;
	struct daemon_at_hand t;
	(void)state;

	start(&t);
	for (int i = 0; i < CONNECTIONS; i++) {
		busy[i] = connect_to(&t);
		say(busy[i], BEGUN);
		settle(&t);
	}
	poll(NULL, 0, (int)(HTTP_SILENT_NS / 1000000) + 50);
	say(busy[0], "x"); /* it goes on */
	settle(&t);
	late = connect_to(&t);
	say(late, WHOLE);
	settle(&t);
	assert_int_equal(http_daemon_displaced(t.daemon), 1);
	assert_false(is_closed(busy[0]));
	assert_true(is_closed(busy[1]));
	assert_int_equal(t.completed, 2); /* the one that was displaced, and the late one's */
	for (int i = 0; i < CONNECTIONS; i++)
		close(busy[i]);
	close(late);
	http_daemon_stop(t.daemon);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_connections_give_way_to_one_that_speaks),
		cmocka_unit_test(connections_with_a_request_under_way_are_not_displaced),
		cmocka_unit_test(of_connections_with_a_request_those_are_displaced_that_are_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
