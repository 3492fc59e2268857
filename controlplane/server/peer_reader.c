/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader thread of a connection, and the connection's lifetime. The reader starts with the
 * writer, outlives it, and posts the end of the connection to the mailbox as its last action. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	/* A payload's memory grows with the bytes that arrive, not with the length in its header. */
	CHUNK_BYTES = 64 * 1024,
	DRAIN_MS = 300,
};

/* ---- a frame from the stream ---- */

struct incoming {
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame frame;
	uint8_t *payload; /* followed by a 0 byte; NULL once the mailbox owns it */
	struct mono at;   /* when its last byte came */
};

/* Reads within the time that the connection still has. */
static int
read_in_time(struct peer *p, void *data, size_t len, struct err *e)
{
	struct err timeout;
	int ms, rc;

	server_lock(p->server);
	ms = conn_patience_ms(&p->conn, clock_mono());
	conn_deadline_passed(&p->conn, &timeout);
	server_unlock(p->server);
	rc = ms == 0 ? ERR_TIMEOUT : stream_read(p->stream, data, len, ms, e);
	if (rc == ERR_TIMEOUT)
		*e = timeout;
	return rc;
}

static int
read_payload(struct peer *p, struct incoming *in, struct err *e)
{
	size_t have = 0, want = in->frame.length, cap = 0;
	int rc;

	do {
		size_t n = want - have < CHUNK_BYTES ? want - have : CHUNK_BYTES;

		if (!array_reserve_max(in->payload, cap, have + n + 1, want + 1))
			return err_set(
			    e, ERR_MEMORY, "out of memory for a frame of %zu bytes", want);
		if (n > 0 && (rc = read_in_time(p, in->payload + have, n, e)) < 0)
			return rc;
		have += n;
	} while (have < want);
	in->payload[want] = 0;
	return 0;
}

static int
check_header(struct peer *p, const struct frame *f, struct err *e)
{
	int rc;

	server_lock(p->server);
	rc = conn_header(&p->conn, f, e);
	server_unlock(p->server);
	return rc;
}

/*
 * Waits until the frames that all agents are sending together need no more memory than
 * mailbox_max_bytes. A frame always passes when no other is being read, so that any permitted size
 * can pass. Operators are exempt: they are few, and their frames are small. ERR_PEER: the connection
 * is closing.
 */
static int
wait_for_memory(struct peer *p, size_t bytes, struct err *e)
{
	struct server *s = p->server;
	struct timespec until;
	bool waited = false;

	server_lock(s);
	while (p->conn.door == DOOR_AGENTS && p->conn.identified && !p->closing && !s->stopping &&
	       s->reading_bytes > 0 && s->reading_bytes + bytes > s->options.mailbox_max_bytes) {
		p->blocked = waited = true;
		until = mono_in_ms(1000);
		server_wait(s, &s->mailbox.room, &until);
	}
	p->blocked = false;
	if (waited)
		p->conn.heard = clock_mono();
	p->reading_bytes = p->conn.door == DOOR_AGENTS ? bytes : 0;
	s->reading_bytes += p->reading_bytes;
	bool closing = p->closing || s->stopping;

	server_unlock(s);
	return closing ? err_set(e, ERR_PEER, "closed") : 0;
}

/* With the lock held: ends what wait_for_memory() began. */
static void
release_memory(struct peer *p)
{
	struct server *s = p->server;

	assert(server_lock_held(s) && s->reading_bytes >= p->reading_bytes);
	if (p->reading_bytes == 0)
		return;
	s->reading_bytes -= p->reading_bytes;
	p->reading_bytes = 0;
	pthread_cond_broadcast(&s->mailbox.room);
}

static int
read_frame(struct peer *p, struct incoming *in, struct err *e)
{
	int rc;

	in->payload = NULL;
	if ((rc = read_in_time(p, in->header, sizeof in->header, e)) < 0)
		return rc;
	if ((rc = frame_open(&in->frame, in->header, e)) < 0 ||
	    (rc = check_header(p, &in->frame, e)) < 0 ||
	    (rc = wait_for_memory(p, in->frame.length, e)) < 0 || (rc = read_payload(p, in, e)) < 0)
		return rc;
	in->at = clock_mono();
	return frame_check(&in->frame, in->header, in->payload, e);
}

static enum mail_kind
mail_kind_of(unsigned frame)
{
	return frame == FRAME_HELLO ? MAIL_JOINED : frame == FRAME_ASK ? MAIL_ASKED : MAIL_FRAME;
}

/* ---- a frame into the mailbox; with the lock held ---- */

/* Waits until the mailbox has room, and posts the frame. The payload becomes the mail's. */
static int
deliver(struct peer *p, struct incoming *in, struct err *e)
{
	struct server *s = p->server;
	struct letter *l;

	p->blocked = true;
	while (mailbox_full(&s->mailbox) && !p->closing && !s->stopping)
		server_wait(s, &s->mailbox.room, NULL);
	p->blocked = false;
	p->conn.heard = clock_mono();
	if (p->closing || s->stopping)
		return err_set(e, ERR_PEER, "closed");
	if ((l = calloc(1, sizeof *l)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
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
	p->posted = true;
	mailbox_put(&s->mailbox, l);
	return 0;
}

/* A peer over its rate is not closed: its next frames are read later. */
static int
slow_down(struct peer *p, unsigned kind, struct err *e)
{
	struct server *s = p->server;
	int64_t wait_ns;
	bool waited = false;

	while (!p->closing && !s->stopping &&
	       (wait_ns = server_slow_ns(s, p, kind, clock_mono())) > 0) {
		struct timespec until = mono_in_ms(
		    wait_ns > 1000000000 ? 1000 : (int)(wait_ns / 1000000) + 1);

		if (!p->slowed)
			server_note(s,
			    "%s %s %s faster than its limit; its frames are read more slowly from now on",
			    p->conn.door == DOOR_AGENTS ? "agent" : "operator",
			    p->conn.door == DOOR_AGENTS && p->conn.hello.node != NULL
				? p->conn.hello.node
				: p->conn.who.user,
			    p->conn.door == DOOR_AGENTS ? "sends" : "asks");
		p->slowed = p->blocked = waited = true;
		server_wait(s, &s->mailbox.room, &until);
	}
	p->blocked = false;
	if (waited)
		p->conn.heard = clock_mono();
	return p->closing || s->stopping ? err_set(e, ERR_PEER, "closed") : 0;
}

/* A connection that this frame has identified counts towards the limit of its door. */
static int
check_limit(struct peer *p, bool was_identified, struct err *e)
{
	int rc = 0;

	if (!was_identified && p->conn.identified && (rc = server_check_limit(p->server, p, e)) < 0)
		p->conn.identified = false;
	return rc;
}

static int
take_frame(struct peer *p, struct incoming *in, struct err *e)
{
	struct buf ack = { 0 };
	bool was_identified = p->conn.identified;
	int rc;

	if ((rc = slow_down(p, in->frame.kind, e)) < 0)
		return rc;
	switch (conn_frame(&p->conn, &in->frame, in->payload, clock_mono(), e)) {
	case CONN_TAKE:
		return (rc = check_limit(p, was_identified, e)) < 0 ? rc : deliver(p, in, e);
	case CONN_AGAIN:
		/* An ACK covers what the caller has taken, not what waits in the mailbox. */
		buf_u64(&ack, p->progress->have_seq);
		peer_put(p, SLOT_ACK, ack.data, ack.len);
		buf_release(&ack);
		return 0;
	default:
		return e->code;
	}
}

/* ---- the thread ---- */

/* Reads one frame and handles it; not 0 ends the connection. */
static int
handle_frame(struct peer *p, struct err *e)
{
	struct incoming in;
	int rc = read_frame(p, &in, e);

	server_lock(p->server);
	if (rc == 0)
		rc = take_frame(p, &in, e);
	release_memory(p);
	server_unlock(p->server);
	free(in.payload);
	return rc;
}

/* Whether this side refuses the peer, which then is sent the reason. */
static bool
is_refusal(const struct err *e)
{
	return e->code != ERR_PEER && e->code != ERR_SYSTEM;
}

/* The caller does not know this connection: the next one that is accepted frees it. */
static void
end_unreported(struct peer *p)
{
	struct server *s = p->server;
	struct peer **at = &s->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->next = s->unreported;
	s->unreported = p;
	pthread_cond_broadcast(&s->ended);
}

static void
post_end(struct peer *p)
{
	struct letter *l;

	if (!p->posted && !p->server->stopping) {
		end_unreported(p);
		return;
	}
	l = calloc(1, sizeof *l);
	/* Out of memory: the peer stays in the list, and is freed with the server. */
	if (l == NULL)
		return;
	l->end = true;
	l->mail = (struct mail){ .kind = MAIL_LEFT, .peer = p, .text = strdup(p->end.text) };
	mailbox_put(&p->server->mailbox, l);
}

/* Reads for DRAIN_MS what the peer still sends: closing a socket with unread bytes resets the
 * connection, and the peer might lose the reason in REFUSE. */
static void
drain(struct stream *st)
{
	int64_t until_ns = clock_mono().ns + DRAIN_MS * (int64_t)1000000, left_ns;
	uint8_t byte;

	while ((left_ns = until_ns - clock_mono().ns) > 0)
		if (stream_read(st, &byte, 1, (int)(left_ns / 1000000) + 1, NULL) < 0)
			return;
}

void
peer_hear(struct peer *p)
{
	assert(server_lock_held(p->server));
	p->conn.spoke |= p->remote && stream_heard(p->stream);
}

static void *
reader(void *arg)
{
	struct peer *p = arg;
	struct server *s = p->server;
	struct err e = { 0 };

	if (p->forbidden.code != 0)
		e = p->forbidden;
	else if (peer_secure(p, &e) == 0)
		while (handle_frame(p, &e) == 0)
			;
	server_lock(s);
	/* Otherwise the writer or the caller has closed it, and has set the reason. */
	bool found_here = !p->closing;

	peer_hear(p);
	if (p->remote && p->conn.spoke && !p->conn.identified)
		source_failed(&s->sources, p->cell, clock_mono());

	if (found_here) {
		p->end = e;
		peer_hang_up(p, is_refusal(&e) ? e.text : NULL);
		if (e.code == ERR_DENIED && p->forbidden.code == 0)
			server_refused(s, p->conn.door, &p->conn.who, &e);
		else if (is_refusal(&e) && p->forbidden.code == 0 && !s->stopping)
			server_note(s, "%s %s: %s",
			    p->conn.door == DOOR_AGENTS ? "agent" : "operator",
			    p->conn.hello.node != NULL ? p->conn.hello.node : "(unnamed)", e.text);
	}
	server_unlock(s);
	pthread_join(p->writer, NULL);
	if (found_here && is_refusal(&e))
		drain(p->stream);
	stream_close(p->stream);
	p->stream = NULL;
	server_lock(s);
	post_end(p);
	server_unlock(s);
	return NULL;
}

/* ---- the lifetime of a connection ---- */

int
peer_start(struct server *s, enum door door, struct stream *stream, unsigned cell,
    const struct who *who, const char *only_node, const struct err *forbidden, struct err *e)
{
	struct peer *p = calloc(1, sizeof *p);

	assert(server_lock_held(s));
	if (p == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	p->server = s;
	p->stream = stream;
	p->cell = cell;
	p->remote = stream_address(stream)[0] != '\0';
	p->forbidden = *forbidden;
	cond_init_mono(&p->out);
	conn_init(&p->conn, door, &s->options.limits, clock_mono());
	p->conn.who = *who;
	p->conn.only_node = only_node;
	if (pthread_create(&p->writer, NULL, peer_writer, p) != 0)
		goto fail;
	if (pthread_create(&p->reader, NULL, reader, p) != 0) {
		p->closing = true;
		pthread_cond_signal(&p->out);
		server_unlock(s);
		pthread_join(p->writer, NULL);
		server_lock(s);
		goto fail;
	}
	p->next = s->peers;
	s->peers = p;
	s->npeers++;
	return 0;
fail:
	p->stream = NULL;
	peer_free(p);
	return err_set(e, ERR_SYSTEM, "no thread for another connection");
}

void
peer_free(struct peer *p)
{
	assert(p->stream == NULL); /* closed by the reader, or the caller's again */
	for (int i = 0; i < SLOTS; i++)
		buf_release(&p->slots[i]);
	pthread_cond_destroy(&p->out);
	conn_release(&p->conn);
	free(p);
}

void
server_reap(struct server *s)
{
	struct peer *p;

	assert(server_lock_held(s));
	while ((p = s->unreported) != NULL) {
		s->unreported = p->next;
		s->npeers--;
		server_unlock(s);
		pthread_join(p->reader, NULL); /* queueing the peer was its last action */
		peer_free(p);
		server_lock(s);
	}
}
