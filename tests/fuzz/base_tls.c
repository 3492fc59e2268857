/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes for one side of a TLS handshake, in pieces of any size; and the bytes of a good agent
 * with some of them changed, before and after the controller's handshake. No peer is accepted by
 * it, and the bytes queued for it stay bounded.
 *
 * 	byte 0: for which side, and how	bytes 1..: the bytes, or pairs of a position (2 bytes) and a change (1 byte)
 */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/credentials.h"
#include "base/tls.h"
#include "base/tls_session.h"
#include "tests/fuzz/common/fuzz.h"

enum { ROUNDS = 8, SAID_MAX_BYTES = 32 * 1024 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
static struct tls *controller, *agent;

/* ---- keys ---- */

static char folder[] = "/tmp/fuzz-tls.XXXXXX";

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

static struct tls *
open_keys(const char *ca, const char *base)
{
	char files[3][100];
	struct tls *t = NULL;

	snprintf(files[0], sizeof files[0], "%s/%s", folder, ca);
	snprintf(files[1], sizeof files[1], "%s/%s.pem", folder, base);
	snprintf(files[2], sizeof files[2], "%s/%s.key", folder, base);
	check(tls_open(&t, &(struct tls_files){ files[0], files[1], files[2], NULL }, NULL) == 0);
	return t;
}

/* The credentials were read into memory, so the folder can be removed. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int64_t now_ns = clock_wall().ns;
	struct credentials_span span = { { now_ns - 3600 * INT64_C(1000000000) },
		{ now_ns + 86400 * INT64_C(1000000000) } };
	struct credentials_order order = { .span = span };

	(void)argc;
	(void)argv;
	check(mkdtemp(folder) != NULL && credentials_calls.init(folder, &span, &order, NULL) == 0);
	order.node = "n1";
	check(credentials_calls.issue(folder, &order, NULL) == 0);
	controller = open_keys("ca.pem", "controller");
	agent = open_keys("ca.pem", "agents/n1/agent");
	check(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
	return 0;
}

/* ---- one side alone ---- */

static void
take_what_goes(const struct tls_session_calls *c, struct tls_session *k)
{
	static uint8_t bytes[SAID_MAX_BYTES];
	size_t n, all = 0;

	while ((n = c->goes(k, bytes, sizeof bytes)) > 0)
		all += n;
	check(all <= 2 * TLS_OWED_MAX_BYTES);
}

static void
feed(struct tls *t, bool dials, const uint8_t *data, size_t len)
{
	const struct tls_session_calls *c = t->calls;
	struct tls_session *k;
	size_t n;
	int rc = TLS_WANTS_INPUT;

	check(c->open(&k, t, dials, dials ? "localhost" : NULL, NULL) == 0);
	for (; rc == TLS_WANTS_INPUT; data += n, len -= n) {
		rc = c->shake(k, NULL);
		take_what_goes(c, k);
		if (len == 0)
			break;
		n = 1 + data[0] % 61;
		n = n < len ? n : len;
		check(c->came(k, data, n, NULL) == 0);
	}
	check(rc != 0 && c->name(k)[0] == '\0');
	c->close(k);
}

/* ---- both sides, with changes to the bytes between them ---- */

struct wire {
	const uint8_t *changes;
	size_t nchanges, at; /* at: position in all bytes that the agent has sent */
};

static void
change(const struct wire *w, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i + 2 < w->nchanges; i += 3) {
		size_t where = (size_t)w->changes[i] | (size_t)(w->changes[i + 1] & 15) << 8;

		if (where >= w->at && where - w->at < n)
			bytes[where - w->at] ^= w->changes[i + 2];
	}
}

static void
carry(const struct tls_session_calls *c, struct tls_session *from, struct tls_session *to,
    struct wire *w)
{
	static uint8_t bytes[SAID_MAX_BYTES];
	size_t n;

	while ((n = c->goes(from, bytes, sizeof bytes)) > 0) {
		if (w != NULL) {
			change(w, bytes, n);
			w->at += n;
		}
		check(c->came(to, bytes, n, NULL) == 0);
	}
}

static void
converse(const uint8_t *changes, size_t nchanges)
{
	const struct tls_session_calls *c = controller->calls;
	struct wire w = { changes, nchanges, 0 };
	int a_rc = TLS_WANTS_INPUT, b_rc = TLS_WANTS_INPUT;
	struct tls_session *a, *b;
	char got[8];
	size_t n;

	check(c->open(&a, agent, true, "localhost", NULL) == 0 &&
	      c->open(&b, controller, false, NULL, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		a_rc = a_rc == TLS_WANTS_INPUT ? c->shake(a, NULL) : a_rc;
		carry(c, a, b, &w);
		b_rc = b_rc == TLS_WANTS_INPUT ? c->shake(b, NULL) : b_rc;
		carry(c, b, a, NULL);
	}
	if (b_rc == 0) {
		check(strcmp(c->name(b), "hone:agent:n1") == 0);
		if (a_rc == 0 && c->write(a, "request", 8, NULL) == 0) {
			carry(c, a, b, &w);
			if (c->read(b, got, sizeof got, &n, NULL) == 0)
				check(n == 8 && memcmp(got, "request", 8) == 0);
		}
	}
	c->close(a);
	c->close(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		feed(controller, false, data + 1, len - 1);
		break;
	case 1:
		feed(agent, true, data + 1, len - 1);
		break;
	default:
		converse(data + 1, len - 1);
	}
	return 0;
}
