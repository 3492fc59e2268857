/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames to bytes for a peer, the newest of each kind; in the loop's thread. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
	OUT_KEPT_BYTES = 16 * 1024,    /* a larger buffer is freed after its frame */
	OUT_TOGETHER_BYTES = 4 * 1024, /* as many bytes of several frames are written together */
};

static const enum frame_kind slot_kinds[SLOTS] = { FRAME_WELCOME, FRAME_CLOCK, FRAME_ACK,
	FRAME_WANT, FRAME_KEEP, FRAME_ANSWER, FRAME_REFUSE };

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
	b->len = FRAME_HEADER_BYTES;
	clock_encode(&(struct clock_echo){ .asked_ns = clock_mono().ns }, b);
}

static void
seal_slot(struct peer *p, enum slot i)
{
	struct buf *b = &p->slots[i];

	if (i == SLOT_CLOCK)
		clock_request(b);
	if (i == SLOT_ACK)
		p->unwritten = 0;
	assert(b->len >= FRAME_HEADER_BYTES);
	frame_seal(
	    b->data, slot_kinds[i], 0, b->data + FRAME_HEADER_BYTES, b->len - FRAME_HEADER_BYTES);
	p->full[i] = false;
}

/*
 * Makes the frames that wait the bytes that are written: the first, and those behind it that are short, since each write
 * is a call of the kernel and with TLS a record. False: none waits. With the lock held.
 */
static bool
take_slots(struct peer *p)
{
	enum slot i = first_full(p);
	struct buf done = p->out;
	uint8_t *to;

	if (i == SLOTS)
		return false;
	if (done.cap > OUT_KEPT_BYTES)
		buf_release(&done);
	seal_slot(p, i);
	p->out = p->slots[i];
	p->out_at = 0;
	p->slots[i] = done;
	p->out_since = clock_mono();
	while ((i = first_full(p)) != SLOTS && p->out.len + p->slots[i].len <= OUT_TOGETHER_BYTES) {
		if ((to = buf_reserve(&p->out, p->slots[i].len)) == NULL) {
			p->out.failed = false; /* that one is next */
			break;
		}
		seal_slot(p, i);
		memcpy(to, p->slots[i].data, p->slots[i].len);
		p->out.len += p->slots[i].len;
	}
	return true;
}

/* 0: all is written; CHANNEL_LATER, or why it fails. */
static int
write_all(struct peer *p, struct err *e)
{
	struct server *s = p->server;
	bool more = true;
	size_t n;
	int rc;

	for (;;) {
		for (; p->out_at < p->out.len; p->out_at += n)
			if ((rc = channel_write(&p->channel, p->out.data + p->out_at,
				 p->out.len - p->out_at, &n, e)) != 0)
				return rc;
		server_lock(s);
		more = take_slots(p);
		server_unlock(s);
		if (!more)
			break;
	}
	buf_reset(&p->out);
	p->out_at = 0;
	return channel_flush(&p->channel, e);
}

/* Epoll tells when a socket takes bytes again only for those that took none: a local socket would do so for each frame
 * that its peer reads. */
static void
set_stuck(struct peer *p, bool stuck)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET |
		                            (stuck ? (uint32_t)EPOLLOUT : 0),
		.data.ptr = p };

	if (p->stuck == stuck)
		return;
	p->stuck = stuck;
	epoll_ctl(p->server->epoll, EPOLL_CTL_MOD, p->channel.fd, &ev);
}

/* All is written. With the lock held. */
static void
end_writing(struct peer *p)
{
	struct server *s = p->server;

	/* A frame may have been put since. */
	if (p->state != PEER_CLOSING || first_full(p) != SLOTS)
		return;
	/* Not too many may wait until they have read why. */
	if (!p->refused || s->stopping ||
	    s->count[p->conn.door][LIST_CLOSING] > s->options.strangers_max) {
		peer_close(p);
		return;
	}
	shutdown(p->channel.fd, SHUT_WR);
	p->state = PEER_DRAINING;
	p->closed_at = clock_mono();
	peer_ready(p);
}

void
peer_write(struct peer *p)
{
	struct server *s = p->server;
	struct err e = { 0 };
	bool busy;
	int rc;

	server_lock(s);
	busy = p->with_greeter || p->state >= PEER_DRAINING;
	server_unlock(s);
	if (busy)
		return;
	rc = write_all(p, &e);
	set_stuck(p, rc == CHANNEL_LATER);
	server_lock(s);
	if (rc < 0)
		peer_fail(p, &e);
	else if (rc == 0)
		end_writing(p);
	server_unlock(s);
}
