/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two threads of a connection. The reader owns it: it ends last, and says so in the mailbox. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_BYTES = 64 *
	              1024, /* memory is taken as bytes arrive, not as a header promises them */
	WRITE_MS = 10000,   /* an answer of many MiB to a slow terminal */
	FAREWELL_MS = 2000,
	DRAIN_MS = 300,
};

static const enum frame_kind slot_kinds[SLOTS] = { FRAME_WELCOME, FRAME_CLOCK, FRAME_ACK,
	FRAME_WANT, FRAME_ANSWER, FRAME_REFUSE };

/* ---- writing ---- */

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

/* The question says what our clock is as it leaves, not when somebody thought of asking. */
static void
stamp(struct buf *b)
{
	buf_reset(b);
	clock_encode(&(struct clock_echo){ .asked_ns = clock_mono().ns }, b);
}

static void *
writer(void *arg)
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
			stamp(&b);
		rc = frame_write(p->stream, slot_kinds[i], &b, last ? FAREWELL_MS : WRITE_MS, NULL);
		buf_reset(&b);
		server_lock(s);
	}
	if (!p->closing)
		err_set(&p->end, 0, "it does not read what it is sent");
	p->closing = true;
	/* A reader that is hanging up itself still drains the stream; else it sits in a read and
	 * must be woken. */
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

	assert(server_is_mine(p->server) && slot < SLOTS);
	if (p->closing)
		return;
	buf_reset(b);
	buf_bytes(b, data, len);
	p->full[slot] = !b->failed;
	pthread_cond_signal(&p->out);
}

void
peer_hang_up(struct peer *p, const char *words)
{
	assert(server_is_mine(p->server));
	if (words != NULL)
		peer_put(p, SLOT_REFUSE, words, strlen(words));
	p->full[SLOT_WANT] = false;
	p->closing = true;
	pthread_cond_signal(&p->out);
	pthread_cond_broadcast(&p->server->mailbox.room);
}

/* Lets the peer read our words: closing a socket with unread bytes in it would reset the connection
 * under them. */
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
stream_turn_away(struct stream *stream, const char *words)
{
	struct buf b = { 0 };

	buf_bytes(&b, words, strlen(words));
	frame_write(stream, FRAME_REFUSE, &b, 100, NULL);
	buf_release(&b);
	stream_close(stream);
}

/* ---- reading ---- */

struct incoming {
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame frame;
	uint8_t *payload; /* with a 0 behind */
	struct mono at;   /* when it was whole */
};

static int
patient_read(struct peer *p, void *data, size_t len, struct err *e)
{
	struct err late;
	int ms, rc;

	server_lock(p->server);
	ms = conn_patience_ms(&p->conn, clock_mono());
	conn_late(&p->conn, &late);
	server_unlock(p->server);
	rc = ms == 0 ? ERR_TIMEOUT : stream_read(p->stream, data, len, ms, e);
	if (rc == ERR_TIMEOUT)
		*e = late;
	return rc;
}

static int
read_payload(struct peer *p, struct incoming *in, struct err *e)
{
	size_t have = 0, want = in->frame.length, cap = 0;
	uint8_t *more;
	int rc;

	do {
		size_t n = want - have < CHUNK_BYTES ? want - have : CHUNK_BYTES;

		if (have + n + 1 > cap) {
			cap = cap == 0 ? n + 1 : 2 * cap > want + 1 ? want + 1 : 2 * cap;
			if ((more = realloc(in->payload, cap)) == NULL)
				return err_set(
				    e, ERR_MEMORY, "out of memory for a frame of %zu bytes", want);
			in->payload = more;
		}
		if (n > 0 && (rc = patient_read(p, in->payload + have, n, e)) < 0)
			return rc;
		have += n;
	} while (have < want);
	in->payload[want] = 0;
	return 0;
}

static int
may_come(struct peer *p, const struct frame *f, struct err *e)
{
	int rc;

	server_lock(p->server);
	rc = conn_header(&p->conn, f, e);
	server_unlock(p->server);
	return rc;
}

/*
 * What is read just now, of all agents together, takes no more memory than the mailbox
 * may: who sends more waits. One that is alone may send any frame there is. Of operators
 * there are few, and their frames are small.
 */
static int
wait_for_memory(struct peer *p, size_t bytes)
{
	struct server *s = p->server;
	struct timespec until;
	bool waited = false;

	server_lock(s);
	while (p->conn.door == DOOR_AGENTS && p->conn.known && !p->closing && !s->stopping &&
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
	return closing ? ERR_PEER : 0;
}

/* With the lock held. */
static void
give_memory_back(struct peer *p)
{
	struct server *s = p->server;

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
	if ((rc = patient_read(p, in->header, sizeof in->header, e)) < 0)
		return rc;
	if ((rc = frame_open(&in->frame, in->header, e)) < 0 ||
	    (rc = may_come(p, &in->frame, e)) < 0 ||
	    (rc = wait_for_memory(p, in->frame.length)) < 0 || (rc = read_payload(p, in, e)) < 0)
		return rc;
	in->at = clock_mono();
	return frame_check(&in->frame, in->header, in->payload, e);
}

static enum mail_kind
mail_kind_of(unsigned frame)
{
	return frame == FRAME_HELLO ? MAIL_JOINED : frame == FRAME_ASK ? MAIL_ASKED : MAIL_FRAME;
}

/* Into the mailbox, when it has room. The payload becomes the mail's. */
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

/* With the lock held: who comes too fast is not killed but read more slowly. */
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
			    "%s %s %s faster than it may, and is read more slowly from now on",
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

/* With the lock held: one that was a stranger until now needs a place among the known. */
static int
take_place(struct peer *p, bool was_known, struct err *e)
{
	int rc = 0;

	if (!was_known && p->conn.known && (rc = server_place(p->server, p, e)) < 0)
		p->conn.known = false;
	return rc;
}

/* One whole frame, with the lock held. */
static int
take_frame(struct peer *p, struct incoming *in, struct err *e)
{
	struct buf ack = { 0 };
	bool was_known = p->conn.known;
	int rc;

	if ((rc = slow_down(p, in->frame.kind, e)) < 0)
		return rc;
	switch (conn_frame(&p->conn, &in->frame, in->payload, clock_mono(), e)) {
	case CONN_TAKE:
		return (rc = take_place(p, was_known, e)) < 0 ? rc : deliver(p, in, e);
	case CONN_AGAIN:
		/* what the engine took, not what lies in the mailbox: an ACK is a promise */
		buf_u64(&ack, p->seen->have_seq);
		peer_put(p, SLOT_ACK, ack.data, ack.len);
		buf_release(&ack);
		return 0;
	default:
		return e->code;
	}
}

static int
read_on(struct peer *p, struct err *e)
{
	struct incoming in;
	int rc = read_frame(p, &in, e);

	server_lock(p->server);
	if (rc == 0)
		rc = take_frame(p, &in, e);
	give_memory_back(p);
	server_unlock(p->server);
	free(in.payload);
	return rc;
}

static bool
was_our_word(const struct err *e)
{
	return e->code != ERR_PEER && e->code != ERR_SYSTEM;
}

/* Of whom nobody was told there is nothing to say: the next one that comes clears it away. */
static void
die(struct peer *p)
{
	struct server *s = p->server;
	struct peer **at = &s->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->next = s->dead;
	s->dead = p;
	pthread_cond_broadcast(&s->ended);
}

static void
say_end(struct peer *p)
{
	struct letter *l;

	if (!p->posted && !p->server->stopping) {
		die(p);
		return;
	}
	l = calloc(1, sizeof *l);
	/* A few bytes cannot be had: the peer stays in the table, and is freed with the server. */
	if (l == NULL)
		return;
	l->end = true;
	l->mail = (struct mail){ .kind = MAIL_LEFT, .peer = p, .text = strdup(p->end.text) };
	mailbox_put(&p->server->mailbox, l);
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
		while (read_on(p, &e) == 0)
			;
	server_lock(s);
	bool by_us = p->closing;

	if (!by_us) {
		p->end = e;
		peer_hang_up(p, was_our_word(&e) ? e.text : NULL);
		if (e.code == ERR_DENIED && p->forbidden.code == 0)
			server_refused(s, p->conn.door, &p->conn.who, &e);
		else if (was_our_word(&e) && p->forbidden.code == 0 && !s->stopping)
			server_note(s, "%s %s: %s",
			    p->conn.door == DOOR_AGENTS ? "agent" : "operator",
			    p->conn.hello.node != NULL ? p->conn.hello.node : "(unnamed)", e.text);
	}
	server_unlock(s);
	pthread_join(p->writer, NULL);
	if (!by_us && was_our_word(&e))
		drain(p->stream);
	stream_close(p->stream);
	p->stream = NULL;
	server_lock(s);
	say_end(p);
	server_unlock(s);
	return NULL;
}

int
peer_start(struct server *s, enum door door, struct stream *stream, const struct who *who,
    const char *only_node, const struct err *forbidden, struct err *e)
{
	struct peer *p = calloc(1, sizeof *p);

	assert(server_is_mine(s));
	if (p == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	p->server = s;
	p->stream = stream;
	p->forbidden = *forbidden;
	cond_init_mono(&p->out);
	conn_init(&p->conn, door, &s->options.limits, clock_mono());
	p->conn.who = *who;
	p->conn.only_node = only_node;
	if (pthread_create(&p->writer, NULL, writer, p) != 0)
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
	for (int i = 0; i < SLOTS; i++)
		buf_release(&p->slots[i]);
	pthread_cond_destroy(&p->out);
	conn_release(&p->conn);
	free(p);
}
