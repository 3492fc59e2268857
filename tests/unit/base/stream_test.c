/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/stream.h"
#include "tests/common/accepted.h"
#include "tests/unit/base/socket_folder.h"

enum { LONG_MS = 30000, MB = 1 << 20 };

/* A connected pair; a dialed b. */
struct pair {
	struct listen_socket *listener;
	struct stream *a;
	struct accepted *b;
};

static void
pair_open(struct pair *p, const char *url)
{
	struct err e = { 0 };

	if (accepted_listen(&p->listener, url, &e) != 0 ||
	    stream_dial(&p->a, listen_socket_url(p->listener), LONG_MS, &e) != 0 ||
	    accepted_open(&p->b, p->listener, LONG_MS, &e) != 0)
		fail_msg("%s", e.text);
}

static void
pair_close(struct pair *p)
{
	stream_close(p->a);
	accepted_close(p->b);
	listen_socket_close(p->listener);
}

static int64_t
ms_since(struct mono then)
{
	return mono_since_ns(clock_mono(), then) / 1000000;
}

static void
pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000l }, NULL);
}

/* ---- transfers ---- */

enum { ECHO_BYTES = 10 * MB };

/* Returns all bytes to the sender, in pieces of changing size. */
static void *
echo(void *arg)
{
	uint8_t *bytes = malloc(MB);
	struct rng r;
	size_t n;

	rng_seed(&r, 7);
	for (size_t left = ECHO_BYTES; left > 0; left -= n) {
		n = 1 + rng_below(&r, MB);
		n = n < left ? n : left;
		if (accepted_read(arg, bytes, n, LONG_MS, NULL) != 0 ||
		    accepted_write(arg, bytes, n, LONG_MS, NULL) != 0)
			break;
	}
	free(bytes);
	return NULL;
}

struct sending {
	struct stream *to;
	const uint8_t *bytes;
	int rc;
};

static void *
send_all(void *arg)
{
	struct sending *s = arg;

	s->rc = stream_write(s->to, s->bytes, ECHO_BYTES, LONG_MS, NULL);
	return NULL;
}

static void
echo_of_ten_megabytes(const char *url)
{
	uint8_t *sent = malloc(ECHO_BYTES), *got = malloc(ECHO_BYTES);
	struct sending sending;
	pthread_t echoer, sender;
	struct pair p;
	struct err e;
	struct rng r;

	rng_seed(&r, 8);
	for (size_t i = 0; i < ECHO_BYTES; i++)
		sent[i] = (uint8_t)rng_next(&r);
	pair_open(&p, url);
	sending = (struct sending){ p.a, sent, -1 };
	pthread_create(&echoer, NULL, echo, p.b);
	pthread_create(&sender, NULL, send_all, &sending);
	if (stream_read(p.a, got, ECHO_BYTES, LONG_MS, &e) != 0)
		fail_msg("%s", e.text);
	pthread_join(sender, NULL);
	pthread_join(echoer, NULL);
	assert_int_equal(sending.rc, 0);
	assert_memory_equal(sent, got, ECHO_BYTES);
	pair_close(&p);
	free(sent);
	free(got);
}

static void
ipc_carries_ten_megabytes_both_ways(void **state)
{
	(void)state;
	echo_of_ten_megabytes(ipc_url);
}

static void
tcp_carries_ten_megabytes_both_ways(void **state)
{
	(void)state;
	echo_of_ten_megabytes(tcp_url);
}

static void
a_read_without_data_times_out(void **state)
{
	struct mono began;
	char bytes[10];
	struct pair p;
	struct err e;
	(void)state;

	pair_open(&p, tcp_url);
	assert_int_equal(accepted_write(p.b, "abc", 3, LONG_MS, &e), 0);
	began = clock_mono();
	assert_int_equal(stream_read(p.a, bytes, sizeof bytes, 50, &e), ERR_TIMEOUT);
	assert_in_range(ms_since(began), 45, 10000);
	assert_memory_equal(bytes, "abc", 3);
	assert_non_null(strstr(e.text, listen_socket_url(p.listener)));
	pair_close(&p);
}

static void *
dribble(void *arg)
{
	while (accepted_write(arg, "x", 1, LONG_MS, NULL) == 0)
		pause_ms(5);
	return NULL;
}

static void
the_time_limit_applies_to_the_whole_call(void **state)
{
	static char bytes[MB];
	pthread_t thread;
	struct mono began;
	struct pair p;
	struct err e;
	(void)state;

	pair_open(&p, ipc_url);
	pthread_create(&thread, NULL, dribble, p.b);
	began = clock_mono();
	assert_int_equal(stream_read(p.a, bytes, sizeof bytes, 100, &e), ERR_TIMEOUT);
	assert_in_range(ms_since(began), 95, 10000);
	accepted_abort(p.b);
	pthread_join(thread, NULL);
	pair_close(&p);
}

static void
a_write_without_a_reader_times_out(void **state)
{
	uint8_t *bytes = calloc(1, 64 * MB);
	struct pair p;
	struct err e;
	(void)state;

	pair_open(&p, ipc_url);
	assert_int_equal(stream_write(p.a, bytes, 64 * MB, 50, &e), ERR_TIMEOUT);
	pair_close(&p);
	free(bytes);
}

static void
a_closed_peer_is_reported_as_gone(void **state)
{
	const char *urls[] = { ipc_url, tcp_url };
	char bytes[10];
	struct pair p;
	struct err e;
	int rc;
	(void)state;

	for (int i = 0; i < 2; i++) {
		pair_open(&p, urls[i]);
		assert_int_equal(accepted_write(p.b, "abc", 3, LONG_MS, &e), 0);
		accepted_close(p.b);
		p.b = NULL;
		assert_int_equal(
		    stream_read(p.a, bytes, 3, LONG_MS, &e), 0); /* sent before the peer closed */
		assert_int_equal(stream_read(p.a, bytes, 1, LONG_MS, &e), ERR_PEER);
		for (rc = 0; rc == 0;) /* the first bytes may go into the kernel's buffer */
			rc = stream_write(p.a, bytes, 1, LONG_MS, &e);
		assert_int_equal(rc, ERR_PEER);
		pair_close(&p);
	}
}

/* ---- abort ---- */

struct blocked {
	struct pair *pair;
	enum { IN_READ, IN_WRITE } in;
	uint8_t *bytes;
	int rc;
};

static void *
block(void *arg)
{
	struct blocked *b = arg;

	b->rc = b->in == IN_READ ? stream_read(b->pair->a, b->bytes, 1, LONG_MS, NULL)
	                         : stream_write(b->pair->a, b->bytes, 8 * MB, LONG_MS, NULL);
	return NULL;
}

/* Some aborts come before the call, some at its start, some while it waits. */
static void
abort_wakes_read_and_write(void **state)
{
	uint8_t *bytes = calloc(1, 8 * MB);
	struct mono began = clock_mono();
	pthread_t thread;
	struct pair p;
	struct rng r;
	(void)state;

	rng_seed(&r, 9);
	for (int i = 0; i < 90; i++) {
		struct blocked b = { &p, i / 2 % 2, bytes, 1 };

		pair_open(&p, i % 2 ? ipc_url : tcp_url);
		pthread_create(&thread, NULL, block, &b);
		if (i >= 30)
			pause_ms((int)rng_below(&r, 4));
		stream_abort(p.a);
		pthread_join(thread, NULL);
		assert_int_equal(b.rc, ERR_PEER);
		pair_close(&p);
	}
	assert_true(ms_since(began) < LONG_MS); /* so no call returned because of its time limit */
	free(bytes);
}

static void
an_aborted_stream_stays_aborted(void **state)
{
	struct pair p;
	struct err e;
	char byte;
	(void)state;

	pair_open(&p, ipc_url);
	assert_int_equal(accepted_write(p.b, "x", 1, LONG_MS, &e), 0);
	stream_abort(p.a);
	assert_int_equal(stream_read(p.a, &byte, 1, LONG_MS, &e), ERR_PEER);
	assert_int_equal(stream_write(p.a, &byte, 1, LONG_MS, &e), ERR_PEER);
	pair_close(&p);
}

/* ---- dialing ---- */

static void *
dial_with_patience(void *arg)
{
	struct stream *s;
	struct err e;
	int rc = stream_dial(&s, ipc_url, LONG_MS, &e);

	if (rc == 0)
		stream_close(s);
	*(int *)arg = rc;
	return NULL;
}

/* The kernel queues a bounded number of connections; further dials wait until their time limit. */
static void
a_dial_waits_while_the_queue_is_full(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int waiting[64], n = 0, listener, rc = -1;
	struct stream *s;
	struct mono began;
	pthread_t thread;
	struct err e;
	(void)state;

	unlink(path);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(listener, 1), 0);
	do {
		assert_true(n < 64);
		waiting[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	} while (connect(waiting[n++], (struct sockaddr *)&at, sizeof at) == 0);

	began = clock_mono();
	assert_int_equal(stream_dial(&s, ipc_url, 50, &e), ERR_TIMEOUT);
	assert_true(mono_since_ns(clock_mono(), began) >= 48 * INT64_C(1000000));
	assert_non_null(strstr(e.text, "full for 50 ms"));

	assert_int_equal(pthread_create(&thread, NULL, dial_with_patience, &rc), 0);
	close(accept(listener, NULL, NULL));
	pthread_join(thread, NULL);
	assert_int_equal(rc, 0);
	while (n > 0)
		close(waiting[--n]);
	close(listener);
	unlink(path);
}

static void
failures_name_the_url_and_the_remedy(void **state)
{
	static const struct {
		const char *url;
		int code;
		const char *words;
	} cases[] = {
		{ "ipc:///tmp/no/such/socket", ERR_PEER, "is the daemon running" },
		{ "tcp://127.0.0.1:1", ERR_PEER, "is the daemon running" },
		{ "ipc://relative", ERR_INPUT, "must begin with /" },
		{ "ipc:///tmp/"
		  "a-path-that-is-longer-than-the-kernel-allows-for-a-socket-which-is-one-hundred-and-eight-"
		  "bytes-with-its-end",
		    ERR_INPUT, "under 108 bytes" },
		{ "tcp://host", ERR_INPUT, "tcp://host:port" },
		{ "tcp://host:http", ERR_INPUT, "tcp://host:port" },
		{ "tcp://host:65536", ERR_INPUT, "tcp://host:port" },
		{ "tls://host", ERR_INPUT, "tls://host:port" },
		{ "tls://127.0.0.1:1", ERR_PEER, "is the daemon running" },
		{ "http://host:80/", ERR_INPUT, "ipc:///path or tls://host:port" },
		{ "", ERR_INPUT, "ipc:///path or tls://host:port" },
	};
	struct listen_socket *l;
	struct stream *s;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(stream_dial(&s, cases[i].url, LONG_MS, &e), cases[i].code);
		assert_non_null(strstr(e.text, cases[i].url));
		assert_non_null(strstr(e.text, cases[i].words));
		if (cases[i].code == ERR_INPUT)
			assert_int_equal(listen_socket_open(&l, cases[i].url, 0, &e), ERR_INPUT);
	}
	assert_int_equal(listen_socket_open(&l, "ipc:///tmp/no/such/socket", 0600, &e), ERR_SYSTEM);
	assert_non_null(strstr(e.text, "ipc:///tmp/no/such/socket"));
}

static int
open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* nng closes asynchronously: wait for it, with a limit. */
static void
two_hundred_connections_leak_no_descriptor(void **state)
{
	struct mono began;
	struct pair p;
	int before;
	(void)state;

	pair_open(&p, ipc_url);
	pair_close(&p);
	for (began = clock_mono(), before = open_files(); ms_since(began) < 300; pause_ms(10))
		if (open_files() < before)
			before = open_files();
	for (int i = 0; i < 200; i++) {
		pair_open(&p, i % 2 ? ipc_url : tcp_url);
		pair_close(&p);
	}
	for (began = clock_mono(); open_files() > before && ms_since(began) < LONG_MS;)
		pause_ms(10);
	assert_int_equal(open_files(), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipc_carries_ten_megabytes_both_ways),
		cmocka_unit_test(tcp_carries_ten_megabytes_both_ways),
		cmocka_unit_test(a_read_without_data_times_out),
		cmocka_unit_test(the_time_limit_applies_to_the_whole_call),
		cmocka_unit_test(a_write_without_a_reader_times_out),
		cmocka_unit_test(a_closed_peer_is_reported_as_gone),
		cmocka_unit_test(abort_wakes_read_and_write),
		cmocka_unit_test(an_aborted_stream_stays_aborted),
		cmocka_unit_test(a_dial_waits_while_the_queue_is_full),
		cmocka_unit_test(failures_name_the_url_and_the_remedy),
		cmocka_unit_test(two_hundred_connections_leak_no_descriptor),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
