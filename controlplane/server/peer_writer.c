/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The writer thread of a connection: writes the newest frame of each kind. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <string.h>

enum {
	WRITE_MS = 10000, /* enough for an answer of many MiB to a slow terminal */
	FAREWELL_MS = 2000,
	TURN_AWAY_MS = 100, /* of each of the two writes */
};

static const enum frame_kind slot_kinds[SLOTS] = { FRAME_WELCOME, FRAME_CLOCK, FRAME_ACK,
	FRAME_WANT, FRAME_KEEP, FRAME_ANSWER, FRAME_REFUSE };

static int
frame_write(
    struct stream *st, enum frame_kind kind, const struct buf *b, int timeout_ms, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES];
	int rc;

	frame_seal(header, kind, 0, b->data, b->len);
	if ((rc = stream_write(st, header, sizeof header, timeout_ms, e)) < 0 || b->len == 0)
		return rc;
	return stream_write(st, b->data, b->len, timeout_ms, e);
}

static enum slot
first_full(const struct peer *p)
{
	enum slot i = 0;

	while (i < SLOTS && !p->full[i])
		i++;
	return i;
}

/* The request for the node's clock carries the time when it is written, not when it was put. */
static void
clock_request(struct buf *b)
{
	buf_reset(b);
	clock_encode(&(struct clock_echo){ .asked_ns = clock_mono().ns }, b);
}

void *
peer_writer(void *arg)
{
	struct peer *p = arg;
	struct server *s = p->server;
	struct buf b = { 0 }, swap;
	enum slot i;
	int rc = 0;

	server_lock(s);
	while (rc == 0) {
		while ((i = first_full(p)) == SLOTS && !p->closing)
			server_wait(s, &p->out, NULL);
		if (i == SLOTS)
			break;
		swap = p->slots[i];
		p->slots[i] = b;
		b = swap;
		p->full[i] = false;
		bool last = p->closing;

		server_unlock(s);
		if (i == SLOT_CLOCK)
			clock_request(&b);
		rc = frame_write(p->stream, slot_kinds[i], &b, last ? FAREWELL_MS : WRITE_MS, NULL);
		buf_reset(&b);
		server_lock(s);
	}
	if (!p->closing)
		err_set(&p->end, 0, "the peer does not read");
	p->closing = true;
	/* A reader that closes the connection itself (end.code set) still drains the stream; any
	 * other waits in a read and must be woken. */
	if (p->end.code == 0)
		stream_abort(p->stream);
	server_unlock(s);
	buf_release(&b);
	return NULL;
}

void
peer_put(struct peer *p, enum slot slot, const void *data, size_t len)
{
	struct buf *b = &p->slots[slot];

	assert(server_lock_held(p->server) && slot < SLOTS);
	if (p->closing)
		return;
	buf_reset(b);
	buf_bytes(b, data, len);
	p->full[slot] = !b->failed;
	pthread_cond_signal(&p->out);
}

void
peer_hang_up(struct peer *p, const char *text)
{
	assert(server_lock_held(p->server));
	if (text != NULL)
		peer_put(p, SLOT_REFUSE, text, strlen(text));
	p->full[SLOT_WANT] = false;
	p->closing = true;
	pthread_cond_signal(&p->out);
	pthread_cond_broadcast(&p->server->mailbox.room);
}

void
stream_turn_away(struct stream *stream, const char *text)
{
	struct buf b = { 0 };

	buf_bytes(&b, text, strlen(text));
	frame_write(stream, FRAME_REFUSE, &b, TURN_AWAY_MS, NULL);
	buf_release(&b);
	stream_close(stream);
}
