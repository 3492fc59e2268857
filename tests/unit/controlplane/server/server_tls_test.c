/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents on other machines: a certificate that is revoked ends its connection, whenever that happens. */
#define _GNU_SOURCE
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/credentials.h"
#include "base/stream.h"
#include "base/tls.h"
#include "base/tls_session.h"
#include "controlplane/server/server.h"

#define DAY_NS (INT64_C(86400) * 1000000000)
#define SECOND_NS INT64_C(1000000000)

enum { SOON_MS = 20000, PATH_BYTES = 96 }; /* a time limit, not a delay */

struct bench {
	char folder[32], operators[64];
	struct tls *controller, *agent;
	struct server *server;
};

static void
must(int rc, const struct err *e)
{
	if (rc != 0)
		fail_msg("%s", e->text);
}

static struct tls *
open_tls(const char *ca, const char *folder, const char *name, bool revoked)
{
	char paths[4][PATH_BYTES];
	struct tls_files f = { paths[0], paths[1], paths[2], revoked ? paths[3] : NULL };
	struct tls *t = NULL;
	struct err e;

	snprintf(paths[0], PATH_BYTES, "%s/ca.pem", ca);
	snprintf(paths[1], PATH_BYTES, "%s/%s.pem", folder, name);
	snprintf(paths[2], PATH_BYTES, "%s/%s.key", folder, name);
	snprintf(paths[3], PATH_BYTES, "%s/revoked.pem", ca);
	must(tls_open(&t, &f, &e), &e);
	return t;
}

static int
set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	int64_t now_ns = clock_wall().ns;
	struct credentials_order o = { .span = { { now_ns - DAY_NS }, { now_ns + DAY_NS } } };
	struct server_options options = { .connections_max = 8,
		.mailbox_max_bytes = 1 << 20,
		.limits = { .hello_ns = 20 * SECOND_NS,
		    .silent_ns = 20 * SECOND_NS,
		    .idle_ns = 20 * SECOND_NS },
		.replace_ns = 20 * SECOND_NS };
	char agent[PATH_BYTES];
	struct err e;

	snprintf(b->folder, sizeof b->folder, "/tmp/hone-tls-XXXXXX");
	assert_non_null(mkdtemp(b->folder));
	must(credentials_calls.init(b->folder, &o.span, &o, &e), &e);
	o.node = "n1";
	must(credentials_calls.issue(b->folder, &o, &e), &e);
	b->controller = open_tls(b->folder, b->folder, "controller", true);
	snprintf(agent, sizeof agent, "%s/agents/n1", b->folder);
	b->agent = open_tls(b->folder, agent, "agent", false);
	snprintf(b->operators, sizeof b->operators, "ipc://%s/honed.sock", b->folder);
	options.agents = "tls://127.0.0.1:0";
	options.operators = b->operators;
	options.tls = b->controller;
	must(server_open(&b->server, &options, &e), &e);
	*state = b;
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
tear_down(void **state)
{
	struct bench *b = *state;
	int rc;

	server_close(b->server);
	tls_close(b->controller);
	tls_close(b->agent);
	rc = nftw(b->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(b);
	return rc;
}

/* The next mail of this kind with these words; none may be of the kind `never`. */
static void
expect(struct bench *b, enum mail_kind kind, const char *words, int never)
{
	struct mail m;
	bool found = false;

	while (!found) {
		if (!server_next(b->server, &m, SOON_MS))
			fail_msg("no mail of kind %d with '%s'", kind, words);
		assert_int_not_equal(m.kind, never);
		found = m.kind == kind && m.text != NULL && strstr(m.text, words) != NULL;
		mail_release(&m);
	}
}

static void
revoke(struct bench *b)
{
	struct err e;
	int n;

	must(credentials_calls.revoke(b->folder, "n1", clock_wall(), &n, &e), &e);
	assert_int_equal(n, 1);
	expect(b, MAIL_NOTE, "the new ones are in use", -1);
}

static size_t
hello(uint8_t out[256])
{
	struct hello h = { .node = "n1", .incarnation = 1, .first_seq = 1, .version = "test" };
	struct buf b = { 0 };
	size_t len;

	hello_encode(&h, &b);
	frame_seal(out, FRAME_HELLO, 0, b.data, b.len);
	memcpy(out + FRAME_HEADER_BYTES, b.data, b.len);
	len = FRAME_HEADER_BYTES + b.len;
	buf_release(&b);
	return len;
}

/* An agent's TLS by hand, over plain TCP, so that the handshake can wait. */
static void
send_all(struct tls_session *k, struct tls *t, struct stream *s)
{
	uint8_t data[4096];
	struct err e;
	size_t n;

	while ((n = t->calls->goes(k, data, sizeof data)) > 0)
		must(stream_write(s, data, n, SOON_MS, &e), &e);
}

static void
a_certificate_that_is_revoked_during_its_handshake_is_refused(void **state)
{
	struct bench *b = *state;
	const struct tls_session_calls *calls = b->agent->calls;
	uint8_t byte, data[256];
	char url[64];
	struct tls_session *k;
	struct stream *s;
	struct err e;
	size_t len = hello(data);
	int rc;

	snprintf(url, sizeof url, "tcp%s", strchr(server_url(b->server, DOOR_AGENTS), ':'));
	must(stream_dial(&s, url, SOON_MS, &e), &e);
	must(calls->open(&k, b->agent, true, NULL, &e), &e);
	/* the server sends all of its part, and waits for our certificate */
	while ((rc = calls->shake(k, &e)) == TLS_WANTS_INPUT) {
		send_all(k, b->agent, s);
		must(stream_read(s, &byte, 1, SOON_MS, &e), &e);
		must(calls->came(k, &byte, 1, &e), &e);
	}
	must(rc, &e);
	revoke(b);
	must(calls->write(k, data, len, &e), &e);
	send_all(k, b->agent, s);
	expect(b, MAIL_REFUSED, "is revoked", MAIL_JOINED);
	calls->close(k);
	stream_close(s);
}

static void
an_agent_is_disconnected_when_its_certificate_is_revoked(void **state)
{
	struct bench *b = *state;
	uint8_t data[256], header[FRAME_HEADER_BYTES];
	size_t len = hello(data);
	struct stream *s;
	struct mail m;
	struct err e;

	must(stream_dial(&s, server_url(b->server, DOOR_AGENTS), SOON_MS, &e), &e);
	must(stream_secure(s, b->agent, SOON_MS, &e), &e);
	must(stream_write(s, data, len, SOON_MS, &e), &e);
	assert_true(server_next(b->server, &m, SOON_MS));
	assert_int_equal(m.kind, MAIL_JOINED);
	server_welcome(b->server, m.peer, 7);
	mail_release(&m);
	must(stream_read(s, header, sizeof header, SOON_MS, &e), &e);
	revoke(b);
	expect(b, MAIL_LEFT, "is revoked", MAIL_FRAME);
	stream_close(s);
}

/* Half of a handshake, or bytes that are none, and agents that connect beside them. */
static void
peers_that_end_no_handshake_hold_nobody_up(void **state)
{
	static const char *const said[] = { "\26\3\1", "GET / HTTP/1.1\r\n\r\n" };
	struct bench *b = *state;
	enum { PEERS = 12 };
	struct stream *bad[PEERS], *s;
	uint8_t data[256];
	size_t len = hello(data);
	char url[64];
	struct mail m;
	struct err e;

	snprintf(url, sizeof url, "tcp%s", strchr(server_url(b->server, DOOR_AGENTS), ':'));
	for (int i = 0; i < PEERS; i++) {
		must(stream_dial(&bad[i], url, SOON_MS, &e), &e);
		must(stream_write(bad[i], said[i % 2], strlen(said[i % 2]), SOON_MS, &e), &e);
	}
	must(stream_dial(&s, server_url(b->server, DOOR_AGENTS), SOON_MS, &e), &e);
	must(stream_secure(s, b->agent, SOON_MS, &e), &e);
	must(stream_write(s, data, len, SOON_MS, &e), &e);
	do {
		assert_true(server_next(b->server, &m, SOON_MS));
		mail_release(&m);
	} while (m.kind != MAIL_JOINED);
	for (int i = 1; i < PEERS; i += 2) { /* who speaks no TLS is closed at once */
		while (stream_read(bad[i], data, 1, SOON_MS, &e) == 0)
			;
		assert_int_equal(e.code, ERR_PEER);
	}
	for (int i = 0; i < PEERS; i++)
		stream_close(bad[i]);
	stream_close(s);
}

/* Pieces of a handshake, a byte each, while greeters calculate. */
static void
peers_whose_handshake_comes_in_pieces_hold_nobody_up(void **state)
{
	enum { PEERS = 6, PIECES = 400 };
	static const uint8_t record[PIECES] = { 0x16, 3, 1, 4, 0, 1, 0, 3, 0xfc, 3,
		3 }; /* 1 KiB to come */
	struct bench *b = *state;
	struct stream *slow[PEERS], *s;
	uint8_t data[256];
	size_t len = hello(data);
	char url[64];
	struct mail m;
	struct err e;

	snprintf(url, sizeof url, "tcp%s", strchr(server_url(b->server, DOOR_AGENTS), ':'));
	for (int i = 0; i < PEERS; i++)
		must(stream_dial(&slow[i], url, SOON_MS, &e), &e);
	for (int k = 0; k < PIECES; k++)
		for (int i = 0; i < PEERS; i++)
			stream_write(slow[i], &record[k], 1, SOON_MS, &e);
	must(stream_dial(&s, server_url(b->server, DOOR_AGENTS), SOON_MS, &e), &e);
	must(stream_secure(s, b->agent, SOON_MS, &e), &e);
	must(stream_write(s, data, len, SOON_MS, &e), &e);
	do {
		assert_true(server_next(b->server, &m, SOON_MS));
		mail_release(&m);
	} while (m.kind != MAIL_JOINED);
	for (int i = 0; i < PEERS; i++)
		stream_close(slow[i]);
	stream_close(s);
}

struct shaker {
	struct bench *bench;
	pthread_t thread;
	int rc;
	struct err e;
};

static void *
shake_hands(void *arg)
{
	struct shaker *k = arg;
	uint8_t byte;
	struct stream *s;

	if ((k->rc = stream_dial(&s, server_url(k->bench->server, DOOR_AGENTS), SOON_MS, &k->e)) !=
	    0)
		return NULL;
	if ((k->rc = stream_secure(s, k->bench->agent, SOON_MS, &k->e)) == 0)
		stream_read(s, &byte, 1, 20, NULL);
	stream_close(s);
	return NULL;
}

/* More at once than there are greeters. */
static void
many_handshakes_at_once_are_done_one_after_the_other(void **state)
{
	struct bench *b = *state;
	enum { SHAKERS = 12 }; /* a quarter of the strangers may be of one address */
	struct shaker all[SHAKERS];

	for (int i = 0; i < SHAKERS; i++) {
		all[i] = (struct shaker){ .bench = b };
		assert_int_equal(pthread_create(&all[i].thread, NULL, shake_hands, &all[i]), 0);
	}
	for (int i = 0; i < SHAKERS; i++) {
		pthread_join(all[i].thread, NULL);
		must(all[i].rc, &all[i].e);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_certificate_that_is_revoked_during_its_handshake_is_refused, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    an_agent_is_disconnected_when_its_certificate_is_revoked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    peers_that_end_no_handshake_hold_nobody_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    peers_whose_handshake_comes_in_pieces_hold_nobody_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    many_handshakes_at_once_are_done_one_after_the_other, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
