/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The side of an event loop, with and without TLS, and the blocking streams of agents at the other end. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
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

#include "base/channel.h"
#include "base/clock.h"
#include "base/credentials.h"
#include "base/rng.h"
#include "base/stream.h"
#include "base/tls.h"

#define DAY_NS (INT64_C(86400) * 1000000000)

enum { LONG_MS = 30000, MB = 1 << 20, ECHO_BYTES = 6 * MB, PATH_BYTES = 96 };

static char folder[] = "/tmp/channel_test.XXXXXX";
static struct tls *controller, *agent, *stranger;

static void
must(int rc, const struct err *e)
{
	if (rc != 0)
		fail_msg("%s", e->text);
}

static struct tls *
tls_of(const char *ca, const char *role)
{
	char paths[3][PATH_BYTES];
	struct tls *t = NULL;
	struct err e;

	snprintf(paths[0], PATH_BYTES, "%s/%s/ca.pem", folder, ca);
	snprintf(paths[1], PATH_BYTES, "%s/%s/%s.pem", folder, ca, role);
	snprintf(paths[2], PATH_BYTES, "%s/%s/%s.key", folder, ca, role);
	must(tls_open(&t, &(struct tls_files){ paths[0], paths[1], paths[2], NULL }, &e), &e);
	return t;
}

static void
make_ca(const char *name)
{
	int64_t now_ns = clock_wall().ns;
	struct credentials_order o = { .span = { { now_ns - DAY_NS }, { now_ns + DAY_NS } } };
	char path[PATH_BYTES];
	struct err e;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	must(credentials_calls.init(path, &o.span, &o, &e), &e);
	o.node = "n1";
	must(credentials_calls.issue(path, &o, &e), &e);
}

static int
make_keys(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	make_ca("ours");
	make_ca("other");
	controller = tls_of("ours", "controller");
	agent = tls_of("ours", "agents/n1/agent");
	stranger = tls_of("other", "agents/n1/agent");
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

static int
remove_keys(void **state)
{
	(void)state;
	tls_close(controller);
	tls_close(agent);
	tls_close(stranger);
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the two ends ---- */

struct ends {
	struct stream *far;
	struct tls *far_tls;
	struct channel near;
	uint8_t *sent, *got;
	pthread_t thread, writer;
	int far_rc;
	struct err far_e;
};

/* tls: of the far end; NULL: without TLS, whatever the near one expects. */
static void
connect_ends(struct ends *n, struct tls *tls)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof at;
	char url[64];
	struct err e;

	memset(n, 0, sizeof *n);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	snprintf(
	    url, sizeof url, "%s://127.0.0.1:%d", tls != NULL ? "tls" : "tcp", ntohs(at.sin_port));
	must(stream_dial(&n->far, url, LONG_MS, &e), &e);
	n->far_tls = tls;
	channel_init(&n->near, accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	assert_true(n->near.fd >= 0);
	close(listener);
}

static void
close_ends(struct ends *n)
{
	channel_close(&n->near);
	stream_close(n->far);
}

/* Until the socket has something, or takes something. */
static void
await(struct channel *c, short events)
{
	struct pollfd wait = { .fd = c->fd, .events = events };

	assert_int_equal(poll(&wait, 1, LONG_MS), 1);
	c->drained = false;
}

static int
flush(struct channel *c, struct err *e)
{
	int rc;

	while ((rc = channel_flush(c, e)) == CHANNEL_LATER)
		await(c, POLLOUT);
	return rc;
}

/* The handshake as a loop does it. */
static int
shake(struct channel *c, struct err *e)
{
	int rc, sent;

	must(channel_secure(c, controller, e), e);
	for (;;) {
		while ((rc = channel_take_in(c, e)) == CHANNEL_LATER)
			await(c, POLLIN);
		if (rc < 0)
			return rc;
		rc = channel_shake(c, e);
		sent = flush(c, rc < 0 ? NULL : e);
		if (rc != CHANNEL_LATER || sent < 0)
			return rc < 0 ? rc : sent;
	}
}

static void *
far_secure(void *arg)
{
	struct ends *n = arg;

	n->far_rc = stream_secure(n->far, n->far_tls, LONG_MS, &n->far_e);
	return NULL;
}

static void *
far_write(void *arg)
{
	struct ends *n = arg;
	struct err e;

	must(stream_write(n->far, n->sent, ECHO_BYTES, LONG_MS, &e), &e);
	return NULL;
}

static void *
far_echo(void *arg)
{
	struct ends *n = arg;

	if (n->far_tls != NULL)
		far_secure(n);
	if (n->far_rc != 0)
		return NULL;
	pthread_create(&n->writer, NULL, far_write, n);
	n->far_rc = stream_read(n->far, n->got, ECHO_BYTES, LONG_MS, &n->far_e);
	pthread_join(n->writer, NULL);
	return NULL;
}

/* Returns all bytes, in pieces of changing size. */
static void
near_echo(struct channel *c)
{
	static uint8_t data[200000];
	struct rng r;
	struct err e;
	size_t n, sent;
	int rc;

	rng_seed(&r, 5);
	for (size_t sum = 0; sum < ECHO_BYTES; sum += n) {
		while ((rc = channel_read(c, data, 1 + rng_below(&r, sizeof data), &n, &e)) ==
		       CHANNEL_LATER)
			await(c, POLLIN);
		must(rc, &e);
		for (size_t at = 0; at < n; at += sent) {
			sent = 0;
			if ((rc = channel_write(c, data + at, n - at, &sent, &e)) == CHANNEL_LATER)
				await(c, POLLOUT);
			else
				must(rc, &e);
		}
	}
	must(flush(c, &e), &e);
}

static void
echo(struct tls *tls)
{
	struct ends n;
	struct rng r;
	struct err e;

	connect_ends(&n, tls);
	n.sent = malloc(ECHO_BYTES);
	n.got = malloc(ECHO_BYTES);
	rng_seed(&r, 6);
	for (size_t i = 0; i < ECHO_BYTES; i++)
		n.sent[i] = (uint8_t)rng_next(&r);
	pthread_create(&n.thread, NULL, far_echo, &n);
	if (tls != NULL) {
		must(shake(&n.near, &e), &e);
		assert_string_equal(channel_peer_name(&n.near), "hone:agent:n1");
		assert_int_equal(channel_trusted(&n.near, &e), 0);
	}
	near_echo(&n.near);
	pthread_join(n.thread, NULL);
	must(n.far_rc, &n.far_e);
	assert_memory_equal(n.sent, n.got, ECHO_BYTES);
	free(n.sent);
	free(n.got);
	close_ends(&n);
}

/* ---- tests ---- */

static void
six_megabytes_go_both_ways(void **state)
{
	(void)state;
	echo(NULL);
}

static void
six_megabytes_go_both_ways_over_tls(void **state)
{
	(void)state;
	echo(agent);
}

static void
an_agent_of_another_ca_is_refused_with_the_reason(void **state)
{
	struct ends n;
	struct err e;
	(void)state;

	connect_ends(&n, stranger);
	pthread_create(&n.thread, NULL, far_secure, &n);
	assert_int_equal(shake(&n.near, &e), ERR_DENIED);
	/* the far one reads the alert before the connection ends */
	shutdown(n.near.fd, SHUT_WR);
	pthread_join(n.thread, NULL);
	assert_int_equal(n.far_rc, ERR_DENIED);
	assert_string_equal(channel_peer_name(&n.near), "");
	close_ends(&n);
}

static void
bytes_without_tls_are_refused(void **state)
{
	static const char said[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	struct ends n;
	struct err e;
	(void)state;

	connect_ends(&n, NULL);
	must(stream_write(n.far, said, sizeof said - 1, LONG_MS, &e), &e);
	assert_int_equal(shake(&n.near, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "TLS"));
	close_ends(&n);
}

static void
the_end_comes_after_the_bytes(void **state)
{
	uint8_t data[16];
	struct ends n;
	struct err e;
	size_t len, sum = 0;
	int rc;
	(void)state;

	connect_ends(&n, NULL);
	assert_int_equal(channel_read(&n.near, data, sizeof data, &len, &e), CHANNEL_LATER);
	must(stream_write(n.far, "abc", 3, LONG_MS, &e), &e);
	stream_close(n.far);
	n.far = NULL;
	do {
		await(&n.near, POLLIN);
		while ((rc = channel_read(&n.near, data, sizeof data, &len, &e)) == 0)
			sum += len;
	} while (rc == CHANNEL_LATER);
	assert_int_equal(rc, ERR_PEER);
	assert_int_equal(sum, 3);
	close_ends(&n);
}

static void
a_peer_that_closes_in_the_handshake_is_gone(void **state)
{
	struct ends n;
	struct err e;
	(void)state;

	connect_ends(&n, NULL);
	must(stream_write(n.far, "\26\3\1", 3, LONG_MS, &e), &e); /* the begin of a ClientHello */
	stream_close(n.far);
	n.far = NULL;
	assert_int_equal(shake(&n.near, &e), ERR_PEER);
	close_ends(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(six_megabytes_go_both_ways),
		cmocka_unit_test(six_megabytes_go_both_ways_over_tls),
		cmocka_unit_test(an_agent_of_another_ca_is_refused_with_the_reason),
		cmocka_unit_test(bytes_without_tls_are_refused),
		cmocka_unit_test(the_end_comes_after_the_bytes),
		cmocka_unit_test(a_peer_that_closes_in_the_handshake_is_gone),
	};

	return cmocka_run_group_tests(tests, make_keys, remove_keys);
}
