/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/link/conversation.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "agent/link/frame_stream.h"
#include "base/stream.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"

enum { LAST_WORDS_MS = 100 };

static const enum frame_kind KINDS[NURGENT] = { FRAME_CLOCK, FRAME_DONE, FRAME_STATUS,
	FRAME_PROGRAMS };

/* ---- what the controller sends ---- */

static int
take_ack(struct link *l, const uint8_t *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	uint64_t seq = read_u64(&r);

	if (r.failed || reader_left(&r) > 0)
		return err_set(e, ERR_INPUT, "an acknowledgement of %zu bytes", len);
	return outbox_ack(l->out, seq, e);
}

/* The last one of the connection, for those that renew it. Of the thread that reads. */
struct whole_want {
	struct buf bytes;
	uint64_t epoch;
};

static int
keep_whole(struct whole_want *whole, uint64_t epoch, const uint8_t *data, size_t len, struct err *e)
{
	buf_reset(&whole->bytes);
	buf_bytes(&whole->bytes, data, len);
	if (whole->bytes.failed)
		return err_set(e, ERR_MEMORY, "out of memory for the desired state");
	whole->epoch = epoch;
	return 0;
}

/* One that renews the state becomes the whole one again. */
static int
read_want(
    struct whole_want *whole, struct link_want *w, const uint8_t *data, size_t len, struct err *e)
{
	struct want renewal;
	int rc = want_decode(&w->want, &w->arena, data, len, e);

	if (rc != 0 || !w->want.renews)
		return rc != 0 ? rc : keep_whole(whole, w->want.epoch, data, len, e);
	renewal = w->want;
	if (whole->bytes.len == 0 || whole->epoch != renewal.epoch)
		return err_set(e, ERR_INPUT,
		    "the controller renews a desired state that it has not sent on this connection");
	if ((rc = want_decode(&w->want, &w->arena, whole->bytes.data, whole->bytes.len, e)) == 0)
		w->want.lease_ms = renewal.lease_ms;
	return rc;
}

static int
take_want(struct link *l, struct whole_want *whole, const uint8_t *data, size_t len, struct err *e)
{
	struct link_want *w = calloc(1, sizeof *w), *old;
	int rc;

	if (w == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = read_want(whole, w, data, len, e)) != 0) {
		link_want_free(w);
		return rc;
	}
	lock_take(&l->lock);
	w->connection = l->stats.connection;
	old = l->want;
	l->want = w;
	lock_give(&l->lock);
	link_want_free(old);
	eventfd_write(l->options.wake, 1);
	return 0;
}

/* The controller asks for this node's clock. A newer question replaces one that is not answered. */
static int
take_clock(struct link *l, struct mono came, const uint8_t *data, size_t len, struct err *e)
{
	struct clock_echo c;
	int rc = clock_decode(&c, data, len, e);

	if (rc != 0)
		return rc;
	lock_take(&l->lock);
	l->clock = (struct clock_echo){ .asked_ns = c.asked_ns, .came_ns = came.ns };
	l->slots[URGENT_CLOCK].due = true;
	lock_give(&l->lock);
	return 0;
}

static int
take_keep(struct link *l, const uint8_t *data, size_t len, struct err *e)
{
	struct keep k;
	int rc = keep_decode(&k, data, len, e);

	if (rc != 0)
		return rc;
	lock_take(&l->lock);
	if (l->nkeeps < KEEPS_MAX)
		l->keeps[l->nkeeps++] = k;
	lock_give(&l->lock);
	eventfd_write(l->options.wake, 1);
	return 0;
}

static int
take_refusal(const uint8_t *data, size_t len, struct err *e)
{
	return err_set(e, ERR_BUSY, "the controller refuses this agent: %.*s", (int)len,
	    data != NULL ? (const char *)data : "");
}

static int
take_frame(struct link *l, struct whole_want *whole, const struct frame *f, struct mono came,
    const uint8_t *payload, struct err *e)
{
	switch (f->kind) {
	case FRAME_CLOCK:
		return take_clock(l, came, payload, f->length, e);
	case FRAME_ACK:
		return take_ack(l, payload, f->length, e);
	case FRAME_WANT:
		return take_want(l, whole, payload, f->length, e);
	case FRAME_KEEP:
		return take_keep(l, payload, f->length, e);
	case FRAME_REFUSE:
		return take_refusal(payload, f->length, e);
	default:
		return err_set(e, ERR_INPUT, "the controller sent %s, which only agents send",
		    frame_kind_name(f->kind));
	}
}

/* Wakes the thread that writes, if it has something to write now. */
static void
heard(struct link *l)
{
	bool ready = outbox_ready(l->out, l->options.window);

	lock_take(&l->lock);
	l->stats.heard = clock_mono();
	ready |= l->slots[URGENT_CLOCK].due;
	lock_give(&l->lock);
	if (ready)
		pthread_cond_signal(&l->wake);
}

/* The thread that reads, for one connection. An error in what the controller sent is left for the
 * thread that writes, which reports it to the controller; any other ends the connection. */
static void *
read_all(void *arg)
{
	struct link *l = arg;
	struct whole_want whole = { 0 };
	struct frame f;
	struct err e = { 0 };
	uint8_t *payload;
	int rc;

	do {
		rc = frame_read(l->stream, &f, &payload, l->options.silence_ms, &e);
		if (rc == 0)
			rc = take_frame(l, &whole, &f, clock_mono(), payload, &e);
		free(payload);
		if (rc == 0)
			heard(l);
	} while (rc == 0);
	buf_release(&whole.bytes);
	lock_take(&l->lock);
	l->end = e;
	l->dead = true;
	pthread_cond_signal(&l->wake);
	lock_give(&l->lock);
	if (rc != ERR_INPUT && rc != ERR_VERSION)
		stream_abort(l->stream);
	return NULL;
}

/* ---- the greeting ---- */

static int
greet(struct link *l, struct stream *s, struct err *e)
{
	const struct link_options *o = &l->options;
	struct hello hello = { o->node, o->incarnation, outbox_first(l->out), o->version,
		clock_mono().ns };
	struct welcome welcome;
	struct buf b = { 0 };
	struct frame f;
	uint8_t *payload;
	int rc;

	hello_encode(&hello, &b);
	rc = b.failed ? err_set(e, ERR_MEMORY, "out of memory")
	              : frame_write(s, FRAME_HELLO, 0, b.data, b.len, o->silence_ms, e);
	buf_release(&b);
	if (rc != 0)
		return rc;
	if ((rc = frame_read(s, &f, &payload, o->silence_ms, e)) != 0)
		;
	else if (f.kind == FRAME_REFUSE)
		rc = take_refusal(payload, f.length, e);
	else if (f.kind != FRAME_WELCOME)
		rc = err_set(e, ERR_INPUT, "the controller began with %s", frame_kind_name(f.kind));
	else if ((rc = welcome_decode(&welcome, payload, f.length, e)) == 0)
		rc = outbox_restart(l->out, welcome.have_seq, e);
	free(payload);
	return rc;
}

/* ---- what the agent sends ---- */

/* Its time is taken just before it is sent. */
static void
put_clock(struct link *l, struct buf *bytes)
{
	assert(lock_is_held(&l->lock));
	l->clock.went_ns = clock_mono().ns;
	clock_encode(&l->clock, bytes);
}

/* The oldest answer that waits; the caller's. */
static struct buf
pop_kept(struct link *l)
{
	struct buf first = l->kept[0];

	assert(lock_is_held(&l->lock) && l->nkept > 0);
	l->nkept--;
	l->kept_bytes -= first.len;
	memmove(&l->kept[0], &l->kept[1], l->nkept * sizeof first);
	return first;
}

/* Waits for something to send. 1: a message, in *bytes; 0: a batch; negative: the connection has
 * ended, for the reason in *e. */
static int
wait_for_work(struct link *l, enum frame_kind *kind, struct buf *bytes, struct err *e)
{
	int rc = -1;

	lock_take(&l->lock);
	for (;;) {
		int i = 0;

		if (l->dead || l->stop) {
			*e = l->end;
			break;
		}
		while (i < NURGENT && !l->slots[i].due)
			i++;
		if (i < NURGENT) {
			*kind = KINDS[i];
			buf_reset(bytes);
			if (i == URGENT_CLOCK)
				put_clock(l, bytes);
			else
				buf_bytes(bytes, l->slots[i].bytes.data, l->slots[i].bytes.len);
			l->slots[i].due = false;
			rc = 1;
			break;
		}
		if (l->nkept > 0) {
			*kind = FRAME_KEPT;
			buf_release(bytes);
			*bytes = pop_kept(l);
			rc = 1;
			break;
		}
		if (outbox_ready(l->out, l->options.window)) {
			rc = 0;
			break;
		}
		lock_wait(&l->lock, &l->wake, NULL);
	}
	lock_give(&l->lock);
	return rc;
}

static void
count_sent(struct link *l, size_t payload_bytes)
{
	lock_take(&l->lock);
	l->stats.sent_bytes += FRAME_HEADER_BYTES + payload_bytes;
	lock_give(&l->lock);
}

static int
send_batch(struct link *l, struct stream *s, struct err *e)
{
	const uint8_t *data;
	size_t len;
	uint64_t seq = outbox_next(l->out, l->options.window, &data, &len);
	int rc;

	if (seq == 0)
		return 0;
	rc = frame_write(s, FRAME_RECORDS, seq, data, len, l->options.silence_ms, e);
	outbox_sent(l->out);
	if (rc == 0)
		count_sent(l, len);
	return rc;
}

static void
write_all(struct link *l, struct stream *s, struct err *e)
{
	struct buf bytes = { 0 };
	enum frame_kind kind;
	int rc = 0, what;

	while (rc == 0 && (what = wait_for_work(l, &kind, &bytes, e)) >= 0) {
		if (what == 0)
			rc = send_batch(l, s, e);
		else if (!bytes.failed && (rc = frame_write(s, kind, 0, bytes.data, bytes.len,
					       l->options.silence_ms, e)) == 0)
			count_sent(l, bytes.len);
	}
	buf_release(&bytes);
}

/* ---- one connection ---- */

/* The greeting is over. Messages of the old connection are dropped, except PROGRAMS. */
static void
connected(struct link *l, struct stream *s)
{
	lock_take(&l->lock);
	/* link.c has set the stream, so that link_stop() can abort it. */
	assert(l->stream == s && !l->stats.connected);
	l->dead = false;
	memset(&l->end, 0, sizeof l->end);
	for (int i = 0; i < NURGENT; i++)
		l->slots[i].due = i == URGENT_PROGRAMS && l->slots[i].bytes.len > 0;
	l->nkeeps = 0;
	while (l->nkept > 0) {
		struct buf old = pop_kept(l);

		buf_release(&old);
	}
	l->stats.connected = true;
	l->stats.refused = false;
	l->stats.connection++;
	l->stats.heard = clock_mono();
	memset(&l->stats.trouble, 0, sizeof l->stats.trouble);
	lock_give(&l->lock);
	eventfd_write(l->options.wake, 1);
}

static void
send_refusal(struct stream *s, const struct err *e)
{
	if (e->code == ERR_INPUT || e->code == ERR_VERSION)
		frame_write(s, FRAME_REFUSE, 0, e->text, strlen(e->text), LAST_WORDS_MS, NULL);
}

static void
talk(struct link *l, struct stream *s, struct err *e)
{
	struct err why = { 0 };
	pthread_t reader;

	connected(l, s);
	if (pthread_create(&reader, NULL, read_all, l) != 0) {
		err_set(e, ERR_SYSTEM, "no thread to read from the controller");
		return;
	}
	write_all(l, s, e);
	lock_take(&l->lock);
	why = l->dead ? l->end : *e; /* the thread that reads may know why writing failed */
	lock_give(&l->lock);
	send_refusal(s, &why);
	stream_abort(s);
	pthread_join(reader, NULL);
	*e = why;
}

void
conversation_run(struct link *l, struct stream *s, struct err *e)
{
	if (greet(l, s, e) == 0)
		talk(l, s, e);
	else
		send_refusal(s, e);
}
