/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection in the lists of the server, and what it has of the limits that all share. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS_NS INT64_C(1000000)

enum {
	ACK_MS = 250, /* an ACK waits so long for others */
	ACK_BATCHES =
	    8, /* but not for more than an eighth of the window that agents have by default (queue.window) */
};

void
server_wake(struct server *s)
{
	uint64_t one = 1;

	assert(server_lock_held(s));
	if (s->woken || (s->loop_runs && pthread_equal(s->loop, pthread_self())))
		return;
	s->woken = true;
	/* It fails only when its counter is full, and then the loop wakes anyway. */
	if (write(s->wake_fd, &one, sizeof one) < 0)
		assert(errno == EAGAIN);
}

void
peer_list(struct peer *p, enum peer_list to)
{
	struct server *s = p->server;
	enum door door = p->conn.door;

	assert(server_lock_held(s));
	if (p->list != LISTS) {
		TAILQ_REMOVE(&s->lists[door][p->list], p, listed);
		s->count[door][p->list]--;
	}
	if ((p->list = to) != LISTS) {
		TAILQ_INSERT_TAIL(&s->lists[door][to], p, listed);
		s->count[door][to]++;
	}
}

void
peer_hold(struct peer *p, enum hold why)
{
	assert(server_lock_held(p->server) && p->hold == HOLD_NONE && why != HOLD_NONE);
	p->hold = why;
	TAILQ_INSERT_TAIL(&p->server->held[why], p, held);
}

void
peer_unhold(struct peer *p)
{
	assert(server_lock_held(p->server));
	if (p->hold == HOLD_NONE)
		return;
	TAILQ_REMOVE(&p->server->held[p->hold], p, held);
	p->hold = HOLD_NONE;
	p->conn.heard = clock_mono();
}

void
peer_release_memory(struct peer *p)
{
	struct server *s = p->server;

	assert(server_lock_held(s) && s->reading_bytes >= p->reading_bytes);
	s->reading_bytes -= p->reading_bytes;
	p->reading_bytes = 0;
}

void
peer_put_writing(struct peer *p)
{
	struct server *s = p->server;

	assert(server_lock_held(s));
	if (!p->is_waiting)
		TAILQ_INSERT_TAIL(&s->writing, p, waiting);
	p->is_waiting = true;
	server_wake(s);
}

/* False: it is not for this peer any more. */
static bool
fill_slot(struct peer *p, enum slot slot, const void *data, size_t len)
{
	static const uint8_t no_header[FRAME_HEADER_BYTES];
	struct buf *b = &p->slots[slot];

	assert(server_lock_held(p->server) && slot < SLOTS);
	if (p->state != PEER_TALKING)
		return false;
	buf_reset(b);
	buf_bytes(b, no_header, sizeof no_header);
	buf_bytes(b, data, len);
	p->full[slot] = !b->failed;
	return true;
}

void
peer_put(struct peer *p, enum slot slot, const void *data, size_t len)
{
	if (fill_slot(p, slot, data, len))
		peer_put_writing(p);
}

void
peer_put_ack(struct peer *p, const void *data, size_t len)
{
	struct server *s = p->server;

	if (!fill_slot(p, SLOT_ACK, data, len))
		return;
	if (++p->unwritten >= ACK_BATCHES) {
		peer_put_writing(p);
		return;
	}
	if (p->is_ack)
		return;
	p->is_ack = true;
	p->ack_at = (struct mono){ clock_mono().ns + ACK_MS * MS_NS };
	if (TAILQ_EMPTY(&s->acks)) /* the loop knows no time to wake at */
		server_wake(s);
	TAILQ_INSERT_TAIL(&s->acks, p, ack_);
}

int
peer_put_acks_due(struct server *s, struct mono now)
{
	struct peer *p;
	int64_t left;

	assert(server_lock_held(s));
	while ((p = TAILQ_FIRST(&s->acks)) != NULL && (left = mono_since_ns(p->ack_at, now)) <= 0) {
		peer_drop_ack(p);
		if (p->full[SLOT_ACK])
			peer_put_writing(p);
	}
	return p != NULL ? (int)(left / MS_NS) + 1 : -1;
}

void
peer_drop_ack(struct peer *p)
{
	if (p->is_ack)
		TAILQ_REMOVE(&p->server->acks, p, ack_);
	p->is_ack = false;
}

void
peer_hang_up(struct peer *p, const char *text)
{
	assert(server_lock_held(p->server));
	if (p->state >= PEER_CLOSING)
		return;
	if (text != NULL)
		peer_put(p, SLOT_REFUSE, text, strlen(text));
	p->refused = text != NULL;
	p->full[SLOT_WANT] = false;
	p->state = PEER_CLOSING;
	p->closed_at = clock_mono();
	peer_unhold(p);
	peer_release_memory(p);
	peer_list(p, LIST_CLOSING);
	peer_put_writing(p);
}

void
peer_ready(struct peer *p)
{
	if (p->is_ready)
		return;
	TAILQ_INSERT_TAIL(&p->server->ready, p, ready_);
	p->server->nready++;
	p->is_ready = true;
}

void
peer_unready(struct peer *p)
{
	if (!p->is_ready)
		return;
	TAILQ_REMOVE(&p->server->ready, p, ready_);
	p->server->nready--;
	p->is_ready = false;
}

void
peer_free(struct peer *p)
{
	assert(p->channel.fd < 0);
	for (int i = 0; i < SLOTS; i++)
		buf_release(&p->slots[i]);
	buf_release(&p->out);
	free(p->in.payload);
	free(p->in.rest);
	free(p->last);
	conn_release(&p->conn);
	free(p);
}
