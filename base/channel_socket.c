/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/stream_inside.h"
#include "base/tls_session.h"

enum { PIECE_BYTES = 16 * 1024 };

void
channel_init(struct channel *c, int fd)
{
	*c = (struct channel){ .fd = fd };
}

void
channel_close(struct channel *c)
{
	if (c->calls != NULL)
		c->calls->close(c->session);
	buf_release(&c->unsent);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct channel){ .fd = -1, .heard = c->heard, .drained = true };
}

/* ---- the socket ---- */

static int
receive(struct channel *c, void *data, size_t size, size_t *n, struct err *e)
{
	ssize_t got;

	if (c->drained)
		return CHANNEL_LATER;
	do
		got = recv(c->fd, data, size, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got > 0) {
		/* A socket that gave less than it was asked for has no more, but perhaps its end. */
		c->drained = (size_t)got < size && !c->at_end;
		c->heard = true;
		*n = (size_t)got;
		return 0;
	}
	if (got < 0 && errno == EAGAIN) {
		c->drained = true;
		return CHANNEL_LATER;
	}
	return err_set(e, ERR_PEER, "reading: %s: the peer has closed the connection",
	    got == 0 ? "end of data" : strerror(errno));
}

static int
transmit(struct channel *c, const void *data, size_t len, size_t *n, struct err *e)
{
	ssize_t sent;

	do
		sent = send(c->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0) {
		*n = (size_t)sent;
		return 0;
	}
	return errno == EAGAIN
	           ? CHANNEL_LATER
	           : err_set(e, ERR_PEER, "writing: %s: the peer has closed the connection",
			 strerror(errno));
}

/* ---- bytes of the caller ---- */

/* Sends what `unsent` has. */
static int
send_unsent(struct channel *c, struct err *e)
{
	size_t n;
	int rc;

	for (; c->unsent_at < c->unsent.len; c->unsent_at += n)
		if ((rc = transmit(c, c->unsent.data + c->unsent_at, c->unsent.len - c->unsent_at,
			 &n, e)) != 0)
			return rc;
	if (c->unsent.cap > 0)
		buf_release(&c->unsent); /* of 10,000 peers few need it at a time */
	c->unsent_at = 0;
	return 0;
}

int
channel_flush(struct channel *c, struct err *e)
{
	uint8_t data[PIECE_BYTES];
	size_t n, sent;
	int rc;

	if (c->calls == NULL)
		return 0;
	if ((rc = send_unsent(c, e)) != 0)
		return rc;
	while ((n = c->calls->goes(c->session, data, sizeof data)) > 0) {
		sent = 0;
		if ((rc = transmit(c, data, n, &sent, e)) < 0)
			return rc;
		if (sent == n)
			continue;
		buf_bytes(&c->unsent, data + sent, n - sent);
		if (c->unsent.failed)
			return err_set(e, ERR_MEMORY, "out of memory");
		return CHANNEL_LATER;
	}
	return 0;
}

int
channel_write(struct channel *c, const void *data, size_t len, size_t *n, struct err *e)
{
	int rc;

	assert(len > 0);
	if (c->calls == NULL)
		return transmit(c, data, len, n, e);
	/* Encrypted bytes are kept until they are sent, so the next piece waits for them. */
	if ((rc = channel_flush(c, e)) != 0)
		return rc;
	*n = len < PIECE_BYTES ? len : PIECE_BYTES;
	if ((rc = c->calls->write(c->session, data, *n, e)) != 0)
		return rc;
	return (rc = channel_flush(c, e)) < 0 ? rc : 0;
}

int
channel_read(struct channel *c, void *data, size_t size, size_t *n, struct err *e)
{
	int rc;

	assert(size > 0);
	if (c->calls == NULL)
		return receive(c, data, size, n, e);
	*n = 0;
	while ((rc = c->calls->read(c->session, data, size, n, e)) == TLS_WANTS_INPUT)
		if ((rc = channel_take_in(c, e)) != 0)
			break;
	return rc;
}

int
channel_discard(struct channel *c, size_t *n, struct err *e)
{
	uint8_t data[PIECE_BYTES];

	return receive(c, data, sizeof data, n, e);
}

/* ---- TLS ---- */

static const char ACCEPTED = 'H';

int
channel_secure(struct channel *c, struct tls *t, struct err *e)
{
	int rc = t->calls->open(&c->session, t, false, NULL, e);

	if (rc == 0)
		c->calls = t->calls;
	return rc;
}

int
channel_take_in(struct channel *c, struct err *e)
{
	uint8_t data[PIECE_BYTES];
	size_t n;
	int rc;

	assert(c->calls != NULL);
	if ((rc = receive(c, data, sizeof data, &n, e)) != 0)
		return rc;
	return c->calls->came(c->session, data, n, e);
}

int
channel_shake(struct channel *c, struct err *e)
{
	int rc = c->calls->shake(c->session, e);

	if (rc == TLS_WANTS_INPUT)
		return CHANNEL_LATER;
	return rc < 0 ? rc : c->calls->write(c->session, &ACCEPTED, 1, e);
}

const char *
channel_peer_name(const struct channel *c)
{
	return c->calls != NULL ? c->calls->name(c->session) : "";
}

int
channel_trusted(struct channel *c, struct err *e)
{
	return c->calls != NULL ? c->calls->trusted(c->session, e) : 0;
}
