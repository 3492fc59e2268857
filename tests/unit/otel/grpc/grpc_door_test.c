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
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "otel/grpc/grpc_door.h"

#define SECOND INT64_C(1000000000)
enum { CONNECTIONS = 8, SILENT = 40 };

struct door_at_hand {
	struct otel_source *source;
	struct span_bodies bodies;
	struct grpc_door *door;
	struct mono now;
	int port;
};

static void
door_open(struct door_at_hand *t)
{
	struct otel_source_options o = { { 1 << 20, 100, SECOND, SECOND }, 1 << 16, SECOND, SECOND,
		100 * SECOND };
	struct grpc_door_options d;
	struct err e;

	*t = (struct door_at_hand){ .bodies = { 0, 1 << 20 }, .now = { 1000 * SECOND } };
	assert_int_equal(otel_source_new(&t->source, &o, &e), 0);
	d = (struct grpc_door_options){ "127.0.0.1:0", CONNECTIONS, 30 * SECOND,
		{ 1 << 16, &t->bodies, t->source } };
	assert_int_equal(grpc_door_open(&t->door, &d, &e), 0);
	assert_true(grpc_door_local(t->door));
	assert_int_equal(sscanf(grpc_door_url(t->door), "http://127.0.0.1:%d", &t->port), 1);
}

static void
door_close(struct door_at_hand *t)
{
	grpc_door_close(t->door);
	otel_source_free(t->source);
	assert_int_equal(t->bodies.bytes, 0);
}

static int
connect_to(const struct door_at_hand *t)
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
settle(struct door_at_hand *t)
{
	struct pollfd p = { grpc_door_descriptor(t->door), POLLIN, 0 };

	while (poll(&p, 1, 20) == 1)
		grpc_door_step(t->door, t->now);
}

static struct grpc_door_stats
stats_of(const struct door_at_hand *t)
{
	struct grpc_door_stats s;

	grpc_door_stats(t->door, &s);
	return s;
}

static void
say(int fd, const char *bytes, size_t len)
{
	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
/* HEADERS by RFC 7541 without Huffman codes: :method POST, :path /other, :scheme http, :authority x, content-type application/grpc. */
#define HEADERS(flags)                            \
	"\0\0\x20\1" flags "\0\0\0\1"             \
	"\x83\x86\x01\1x\x04\6/other\x0f\x10\x10" \
	"application/grpc"
#define END_ALL "\5"     /* END_HEADERS, END_STREAM */
#define END_HEADERS "\4" /* the body follows */

static void
preface(int fd)
{
	say(fd, PREFACE, sizeof PREFACE - 1);
}

static void
call_whole(int fd)
{
	say(fd, HEADERS(END_ALL), sizeof HEADERS(END_ALL) - 1);
}

static void
call_open(int fd)
{
	say(fd, HEADERS(END_HEADERS), sizeof HEADERS(END_HEADERS) - 1);
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
	int silent[SILENT], used, late;
	struct door_at_hand t;
	(void)state;

	door_open(&t);
	used = connect_to(&t);
	preface(used);
	call_whole(used);
	settle(&t);
	assert_int_equal(stats_of(&t).calls.calls, 1);
	for (int i = 0; i < SILENT; i++) {
		silent[i] = connect_to(&t);
		grpc_door_step(t.door, t.now);
	}
	late = connect_to(&t);
	preface(late);
	call_whole(late);
	settle(&t);
	assert_int_equal(stats_of(&t).calls.calls, 2);
	assert_int_equal(stats_of(&t).open, CONNECTIONS);
	assert_int_equal(stats_of(&t).displaced, SILENT + 2 - CONNECTIONS);
	assert_false(is_closed(used)); /* while one is there that never made a call */
	assert_false(is_closed(late));
	assert_true(is_closed(silent[0]));
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	settle(&t);
	assert_int_equal(stats_of(&t).open, 2);
	close(used);
	close(late);
	door_close(&t);
}

static void
connections_with_an_open_call_wait_in_the_kernel(void **state)
{
	int busy[CONNECTIONS], late;
	struct door_at_hand t;
	(void)state;

	door_open(&t);
	for (int i = 0; i < CONNECTIONS; i++) {
		busy[i] = connect_to(&t);
		preface(busy[i]);
		call_open(busy[i]);
	}
	settle(&t);
	late = connect_to(&t);
	preface(late);
	settle(&t);
	assert_int_equal(stats_of(&t).accepted, CONNECTIONS);
	assert_int_equal(stats_of(&t).displaced, 0);
	t.now.ns += 3 * SECOND; /* all of them were silent for 2 s */
	grpc_door_step(t.door, t.now);
	settle(&t);
	assert_int_equal(stats_of(&t).accepted, CONNECTIONS + 1);
	assert_int_equal(stats_of(&t).displaced, 1);
	assert_true(is_closed(busy[0]));
	for (int i = 0; i < CONNECTIONS; i++)
		close(busy[i]);
	close(late);
	door_close(&t);
}

static void
time_is_bounded_for_calls_that_are_not_whole(void **state)
{
	struct door_at_hand t;
	int silent, slow, used;
	(void)state;

	door_open(&t);
	silent = connect_to(&t);
	slow = connect_to(&t);
	used = connect_to(&t);
	preface(slow);
	preface(used);
	call_whole(used);
	settle(&t);
	t.now.ns += 10 * SECOND;
	call_open(slow);
	settle(&t);
	t.now.ns += 21 * SECOND; /* 31 s after they were accepted */
	grpc_door_step(t.door, t.now);
	assert_true(is_closed(silent));
	assert_true(is_closed(slow));
	assert_false(is_closed(used)); /* a client that is quiet */
	say(used, "\0\0\4\3\0\0\0\0\3\0\0\0\0",
	    13); /* RST_STREAM of a stream that is idle: a mistake */
	settle(&t);
	assert_true(is_closed(used));
	assert_int_equal(stats_of(&t).overdue, 2);
	assert_int_equal(stats_of(&t).open, 0);
	close(silent);
	close(slow);
	close(used);
	door_close(&t);
}

static void
an_address_that_is_in_use_is_an_error(void **state)
{
	struct grpc_door_options o = { NULL, 8, SECOND, { 1, NULL, NULL } };
	struct door_at_hand t;
	struct grpc_door *d;
	char address[64];
	struct err e;
	(void)state;

	door_open(&t);
	snprintf(address, sizeof address, "127.0.0.1:%d", t.port);
	o.address = address;
	assert_int_equal(grpc_door_open(&d, &o, &e), ERR_SYSTEM);
	o.address = "nowhere";
	assert_int_equal(grpc_door_open(&d, &o, &e), ERR_INPUT);
	door_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_connections_give_way_to_one_that_speaks),
		cmocka_unit_test(connections_with_an_open_call_wait_in_the_kernel),
		cmocka_unit_test(time_is_bounded_for_calls_that_are_not_whole),
		cmocka_unit_test(an_address_that_is_in_use_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
