/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes from a peer to frames in the mailbox; in the loop's thread. A peer that has to wait is held: its bytes stay in the
 * socket, so that its window fills.
 *
 *	HEADER --accepted--> MEMORY --there is some--> PAYLOAD --all is there--> WHOLE --rate, room--> mailbox
 *	                        '- HOLD_MEMORY                                     '- HOLD_ROOM, HOLD_RATE
 */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	READ_BYTES = 16 * 1024,
	/* A payload's memory grows with the bytes that arrive, not with the length in its header. */
	CHUNK_BYTES = 64 * 1024,
	TURN_BYTES = 256 * 1024, /* of a peer, before others are read */
};

/* ---- a frame into the mailbox; with the lock held ---- */

static enum mail_kind
mail_kind_of(unsigned frame)
{
	return frame == FRAME_HELLO ? MAIL_JOINED : frame == FRAME_ASK ? MAIL_ASKED : MAIL_FRAME;
}

/* The payload becomes the mail's. */
static int
deliver(struct peer *p, struct err *e)
{
	struct incoming *in = &p->in;
	struct letter *l = calloc(1, sizeof *l);

	/* The last letter is made with the first, so that it never fails. */
	if (l == NULL || (p->last == NULL && (p->last = calloc(1, sizeof *l)) == NULL)) {
		free(l);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	l->mail = (struct mail){ .kind = mail_kind_of(in->frame.kind),
		.peer = p,
		.hello = &p->conn.hello,
		.who = p->conn.who,
		.door = p->conn.door,
		.frame = in->frame.kind,
		.seq = in->frame.seq,
		.data = in->payload,
		.len = in->frame.length,
		.at = in->at };
	in->payload = NULL;
	in->cap = 0;
	/* Not before its own MAIL_JOINED. */
	l->urgent = in->frame.kind == FRAME_STATUS && p->welcomed;
	mailbox_put(&p->server->mailbox, l);
	return 0;
}

/* Whether it may be taken now; else the peer is held. A peer over its rate is not closed: its next frames are read later. */
static bool
may_take(struct peer *p)
{
	struct server *s = p->server;
	struct mono now = clock_mono();
	int64_t wait_ns;

	if (mailbox_full(&s->mailbox)) {
		peer_hold(p, HOLD_ROOM);
		return false;
	}
	if ((wait_ns = server_slow_ns(s, p, p->in.frame.kind, now)) == 0)
		return true;
	if (!p->slowed)
		server_note(s,
		    "%s %s %s faster than its limit; its frames are read more slowly from now on",
		    p->conn.door == DOOR_AGENTS ? "agent" : "operator",
		    p->conn.door == DOOR_AGENTS && p->conn.hello.node != NULL ? p->conn.hello.node
									      : p->conn.who.user,
		    p->conn.door == DOOR_AGENTS ? "sends" : "asks");
	p->slowed = true;
	p->held_until = (struct mono){ now.ns + wait_ns };
	peer_hold(p, HOLD_RATE);
	return false;
}

/* A connection that this frame has identified counts towards the limit of its door. */
static int
check_limit(struct peer *p, bool was_identified, struct err *e)
{
	int rc;

	if (was_identified || !p->conn.identified)
		return 0;
	if ((rc = server_check_limit(p->server, p, e)) < 0)
		p->conn.identified = false;
	else
		peer_list(p, LIST_IDENTIFIED);
	return rc;
}

/* Takes the frame, which is whole. 0, or the error that ends the connection. */
static int
take_frame(struct peer *p, struct err *e)
{
	struct incoming *in = &p->in;
	bool was_identified = p->conn.identified;
	struct buf ack = { 0 };
	int rc = 0;

	switch (conn_frame(&p->conn, &in->frame, in->payload, clock_mono(), e)) {
	case CONN_TAKE:
		if ((rc = check_limit(p, was_identified, e)) == 0)
			rc = deliver(p, e);
		break;
	case CONN_AGAIN:
		/* An ACK covers what the caller has taken, not what waits in the mailbox. */
		buf_u64(&ack, p->progress->have_seq);
		peer_put_ack(p, ack.data, ack.len);
		buf_release(&ack);
		break;
	default:
		rc = e->code;
	}
	peer_release_memory(p);
	in->stage = IN_HEADER;
	in->have = 0;
	return rc;
}

/*
 * Whether the frame's payload may have memory: the frames that all agents are sending together need no more than
 * mailbox_max_bytes. A frame always passes when no other is being read, so that any permitted size can pass. Operators are
 * exempt: they are few, and their frames are small.
 */
static bool
may_have_memory(const struct peer *p)
{
	const struct server *s = p->server;

	return p->conn.door != DOOR_AGENTS || !p->conn.identified || s->reading_bytes == 0 ||
	       s->reading_bytes + p->in.frame.length <= s->options.mailbox_max_bytes;
}

/* With the header, or after a hold. */
static void
take_memory(struct peer *p)
{
	if (!may_have_memory(p)) {
		peer_hold(p, HOLD_MEMORY);
		return;
	}
	if (p->conn.door == DOOR_AGENTS)
		p->reading_bytes = p->in.frame.length;
	p->server->reading_bytes += p->reading_bytes;
	p->in.stage = IN_PAYLOAD;
	p->in.have = 0;
}

/* ---- bytes to a frame ---- */

static int
need_payload(struct incoming *in, size_t n, struct err *e)
{
	size_t want = in->frame.length;

	return array_reserve_max(in->payload, in->cap, in->have + n + 1, want + 1)
	           ? 0
	           : err_set(e, ERR_MEMORY, "out of memory for a frame of %zu bytes", want);
}

/* Moves bytes to the header or the payload. *at: how many were moved in all. */
static int
move_bytes(struct incoming *in, const uint8_t *data, size_t len, size_t *at, struct err *e)
{
	bool header = in->stage == IN_HEADER;
	size_t want = header ? sizeof in->header : in->frame.length;
	size_t n = want - in->have < len - *at ? want - in->have : len - *at;
	int rc;

	if (!header && (rc = need_payload(in, n, e)) < 0)
		return rc;
	if (n > 0)
		memcpy((header ? in->header : in->payload) + in->have, data + *at, n);
	in->have += n;
	*at += n;
	return 0;
}

/* Ends a header or a payload that has all its bytes. */
static int
end_part(struct peer *p, struct err *e)
{
	struct incoming *in = &p->in;
	int rc = 0;

	if (in->stage == IN_HEADER && in->have == sizeof in->header) {
		if ((rc = frame_open(&in->frame, in->header, e)) < 0)
			return rc;
		server_lock(p->server);
		if ((rc = conn_header(&p->conn, &in->frame, e)) == 0)
			in->stage = IN_MEMORY;
		server_unlock(p->server);
	} else if (in->stage == IN_PAYLOAD && in->have == in->frame.length) {
		if ((rc = need_payload(in, 0, e)) < 0)
			return rc;
		in->at = clock_mono();
		in->payload[in->have] = 0;
		if ((rc = frame_check(&in->frame, in->header, in->payload, e)) == 0)
			in->stage = IN_WHOLE;
	}
	return rc;
}

/* What the shared state decides: memory, and taking the frame. True: the peer is not to be read on. */
static bool
go_on(struct peer *p, int *rc, struct err *e)
{
	struct server *s = p->server;
	bool stop;

	if (p->in.stage != IN_MEMORY && p->in.stage != IN_WHOLE)
		return false;
	server_lock(s);
	if (p->state == PEER_TALKING && p->hold == HOLD_NONE) {
		if (p->in.stage == IN_MEMORY)
			take_memory(p);
		else if (may_take(p))
			*rc = take_frame(p, e);
	}
	stop = p->state != PEER_TALKING || p->hold != HOLD_NONE;
	server_unlock(s);
	return stop;
}

/* Takes data[0..len), as far as the peer is not held. *at: how many bytes were taken. 0, or the error that ends the
 * connection. */
static int
take_bytes(struct peer *p, const uint8_t *data, size_t len, size_t *at, struct err *e)
{
	int rc = 0;

	for (*at = 0; rc == 0;) {
		if (go_on(p, &rc, e) || rc < 0)
			break;
		if (p->in.stage == IN_MEMORY || p->in.stage == IN_WHOLE)
			continue;
		bool empty = p->in.stage == IN_PAYLOAD && p->in.frame.length == 0;

		if (*at == len && !empty)
			break;
		if ((rc = move_bytes(&p->in, data, len, at, e)) == 0)
			rc = end_part(p, e);
	}
	return rc;
}

/* ---- reading ---- */

/* Keeps what is behind a frame that has to wait. */
static int
keep_rest(struct incoming *in, const uint8_t *data, size_t len, struct err *e)
{
	assert(in->rest == NULL && len <= READ_BYTES);
	if (len == 0)
		return 0;
	if ((in->rest = malloc(len)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	memcpy(in->rest, data, len);
	in->rest_at = 0;
	in->rest_len = len;
	return 0;
}

static int
take_rest(struct peer *p, struct err *e)
{
	struct incoming *in = &p->in;
	size_t n = 0;
	int rc = take_bytes(
	    p, in->rest != NULL ? in->rest + in->rest_at : NULL, in->rest_len - in->rest_at, &n, e);

	in->rest_at += n;
	if (in->rest_at == in->rest_len) {
		free(in->rest);
		in->rest = NULL;
		in->rest_at = in->rest_len = 0;
	}
	return rc;
}

/* Reads once: long payloads to their place, all else through a buffer. CHANNEL_LATER: there is nothing. */
static int
read_once(struct peer *p, size_t *n, struct err *e)
{
	struct incoming *in = &p->in;
	uint8_t data[READ_BYTES];
	size_t left = in->stage == IN_PAYLOAD ? in->frame.length - in->have : 0, taken = 0;
	int rc;

	*n = 0;
	if (left > sizeof data) {
		left = left < CHUNK_BYTES ? left : CHUNK_BYTES;
		if ((rc = need_payload(in, left, e)) < 0 ||
		    (rc = channel_read(&p->channel, in->payload + in->have, left, n, e)) != 0)
			return rc;
		in->have += *n;
		return (rc = end_part(p, e)) < 0 ? rc : take_bytes(p, NULL, 0, &taken, e);
	}
	if ((rc = channel_read(&p->channel, data, sizeof data, n, e)) != 0)
		return rc;
	if ((rc = take_bytes(p, data, *n, &taken, e)) < 0)
		return rc;
	return keep_rest(in, data + taken, *n - taken, e);
}

/* Whether it is in this state and not held, so that it is to be read. */
static bool
reads(struct peer *p, enum peer_state state)
{
	bool yes;

	server_lock(p->server);
	p->conn.spoke |= p->remote && p->channel.heard;
	yes = p->state == state && p->hold == HOLD_NONE;
	server_unlock(p->server);
	return yes;
}

static int
read_frames(struct peer *p, struct err *e)
{
	size_t n, sum = 0;
	int rc = take_rest(p, e);

	while (rc == 0 && p->in.rest == NULL && reads(p, PEER_TALKING)) {
		if (sum >= TURN_BYTES) {
			peer_ready(p);
			return 0;
		}
		rc = read_once(p, &n, e);
		sum += n;
	}
	return rc;
}

/* Bytes of a handshake to the session; a greeter does the work. */
static int
read_handshake(struct peer *p, struct err *e)
{
	int rc = channel_take_in(&p->channel, e);

	if (rc != 0)
		return rc;
	server_lock(p->server);
	p->conn.spoke |= p->remote;
	if (p->state == PEER_SHAKING)
		server_greet(p, JOB_SHAKE);
	server_unlock(p->server);
	return 0;
}

/* Closing a socket with unread bytes resets the connection, and the peer might lose the reason in REFUSE. One that has said
 * nothing is not waited for. */
static int
discard(struct peer *p, struct err *e)
{
	size_t n, sum = 0;
	int rc;

	while ((rc = channel_discard(&p->channel, &n, e)) == 0)
		if ((sum += n) >= TURN_BYTES) {
			peer_ready(p); /* DRAIN_MS ends it */
			return 0;
		}
	if (rc == CHANNEL_LATER && !p->channel.heard)
		return err_set(e, ERR_PEER, "it has said nothing");
	return rc;
}

void
peer_read(struct peer *p)
{
	struct server *s = p->server;
	struct err e = { 0 };
	enum peer_state state;
	bool busy;
	int rc = 0;

	server_lock(s);
	state = p->state;
	busy = p->with_greeter || p->hold != HOLD_NONE;
	server_unlock(s);
	if (busy)
		return;
	if (state == PEER_TALKING)
		rc = read_frames(p, &e);
	else if (state == PEER_SHAKING)
		rc = read_handshake(p, &e);
	else if (state == PEER_DRAINING)
		rc = discard(p, &e);
	if (rc >= 0)
		return;
	if (rc == ERR_PEER && p->address[0] != '\0')
		err_prefix(&e, "%s", p->address);
	server_lock(s);
	peer_fail(p, &e);
	server_unlock(s);
}
