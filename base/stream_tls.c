/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tls:// streams: data passes a TLS session (base/tls_session.h) between the caller and the transport.
 *
 *	stream_write --> write --.         .--> goes --> transport_write	the writer's thread
 *	                         | session |
 *	stream_read <--- read <--'         '<-- came <-- transport_read_some	the reader's thread
 *
 * A session is for one thread at a time, so each of its calls is made under the lock; no call that waits
 * for the transport is. Output that a read causes (an answer to a key update) leaves with the next write.
 *
 * In TLS 1.3 the side that dials has ended its handshake before the other side has seen its certificate. So the side that
 * listens sends one byte when it has accepted the peer; the side that dials waits for it, so that it sees a
 * refusal before it sends anything.
 */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stream_inside.h"
#include "base/tls_session.h"

enum { PIECE_BYTES = 32 * 1024, OVERHEAD_BYTES = 1024 };

static const char ACCEPTED = 'H';

struct secure {
	const struct tls_session_calls *calls;
	struct tls_session *session;
	pthread_mutex_t lock;
	uint8_t in[PIECE_BYTES]; /* the reader's */
	/* the writer's; large enough for an encrypted piece */
	uint8_t out[PIECE_BYTES + OVERHEAD_BYTES];
};

/* ---- between session and transport ---- */

static int
take_in(struct stream *s, struct secure *c, struct time_limit limit, struct err *e)
{
	size_t n;
	int rc = transport_read_some(s, c->in, sizeof c->in, &n, limit, e);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&c->lock);
	rc = c->calls->came(c->session, c->in, n, e);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static int
flush(struct stream *s, struct secure *c, struct time_limit limit, struct err *e)
{
	size_t n;
	int rc = 0;

	do {
		pthread_mutex_lock(&c->lock);
		n = c->calls->goes(c->session, c->out, sizeof c->out);
		pthread_mutex_unlock(&c->lock);
		if (n > 0)
			rc = transport_write(s, c->out, n, limit, e);
	} while (n > 0 && rc == 0);
	return rc;
}

static int
read_through(struct stream *s, struct secure *c, void *data, size_t len, struct time_limit limit,
    struct err *e)
{
	uint8_t *at = data;
	size_t n;
	int rc;

	assert(data != NULL || len == 0);
	while (len > 0) {
		n = 0;
		pthread_mutex_lock(&c->lock);
		rc = c->calls->read(c->session, at, len, &n, e);
		pthread_mutex_unlock(&c->lock);
		if (rc < 0)
			return err_prefix(e, "%s", s->url);
		if (rc == TLS_WANTS_INPUT && (rc = take_in(s, c, limit, e)) < 0)
			return rc;
		at += n;
		len -= n;
	}
	return 0;
}

static int
write_through(struct stream *s, struct secure *c, const void *data, size_t len,
    struct time_limit limit, struct err *e)
{
	const uint8_t *at = data;
	size_t n;
	int rc;

	assert(data != NULL || len == 0);
	for (; len > 0; at += n, len -= n) {
		n = len < PIECE_BYTES ? len : PIECE_BYTES;
		pthread_mutex_lock(&c->lock);
		rc = c->calls->write(c->session, at, n, e);
		pthread_mutex_unlock(&c->lock);
		if (rc < 0)
			return err_prefix(e, "%s", s->url);
		if ((rc = flush(s, c, limit, e)) < 0)
			return rc;
	}
	return 0;
}

/* ---- handshake ---- */

static int
shake_hands(struct stream *s, struct secure *c, struct time_limit limit, struct err *e)
{
	struct err unsent;
	int rc, sent;

	do {
		rc = c->calls->shake(c->session, e);
		sent = flush(s, c, limit, &unsent);
		if (rc < 0)
			return err_prefix(e, "%s", s->url);
		if (sent < 0) {
			*e = unsent;
			return sent;
		}
	} while (
	    rc == TLS_WANTS_INPUT && (rc = take_in(s, c, limit, e)) == 0 && (rc = TLS_WANTS_INPUT));
	return rc;
}

static int
read_acceptance(struct stream *s, struct secure *c, struct time_limit limit, struct err *e)
{
	char byte;
	int rc;

	if ((rc = read_through(s, c, &byte, 1, limit, e)) != 0)
		return rc;
	return byte == ACCEPTED ? 0
	                        : err_set(e, ERR_INPUT,
				      "%s: it speaks TLS, but is not a controller of Hone", s->url);
}

static int
secure_new(struct secure **ret, struct stream *s, struct tls *t, struct err *e)
{
	struct secure *c = calloc(1, sizeof *c);
	char *host = url_host(s->url);
	int rc;

	if (c == NULL || host == NULL) {
		free(c);
		free(host);
		return err_set(e, ERR_MEMORY, "%s: out of memory", s->url);
	}
	c->calls = t->calls;
	pthread_mutex_init(&c->lock, NULL);
	if ((rc = c->calls->open(&c->session, t, true, host, e)) == 0)
		*ret = c;
	else
		secure_free(c);
	free(host);
	return rc;
}

int
stream_secure(struct stream *s, struct tls *t, int timeout_ms, struct err *e)
{
	struct time_limit limit = time_limit_in_ms(timeout_ms);
	struct err why = { 0 };
	struct secure *c = NULL;
	int rc;

	assert(atomic_load(&s->secure) == NULL);
	if (!s->tls)
		return 0;
	if (t == NULL)
		return err_set(e, ERR_INPUT,
		    "%s: this side has no credentials; hone keys init makes them", s->url);
	if ((rc = secure_new(&c, s, t, e)) != 0)
		return rc;
	if ((rc = shake_hands(s, c, limit, &why)) != 0 ||
	    (rc = read_acceptance(s, c, limit, &why)) != 0) {
		secure_free(c);
		return err_set(e, rc, "TLS handshake: %s", why.text);
	}
	atomic_store(&s->secure, c);
	return 0;
}

void
secure_free(struct secure *c)
{
	if (c == NULL)
		return;
	c->calls->close(c->session);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- after the handshake ---- */

static int
not_yet(const struct stream *s, struct err *e)
{
	return err_set(e, ERR_PEER, "%s: no TLS handshake was done", s->url);
}

int
secure_read(struct stream *s, void *data, size_t len, struct time_limit limit, struct err *e)
{
	struct secure *c = atomic_load(&s->secure);

	return c != NULL ? read_through(s, c, data, len, limit, e) : not_yet(s, e);
}

int
secure_write(struct stream *s, const void *data, size_t len, struct time_limit limit, struct err *e)
{
	struct secure *c = atomic_load(&s->secure);

	return c != NULL ? write_through(s, c, data, len, limit, e) : not_yet(s, e);
}
