/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/main/link.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/stream.h"
#include "base/tls.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"

/* A frame of up to this size is copied and written at once: a second write costs more. */
enum { SMALL_FRAME = 2048 };
enum {
	DIAL_MS = 1000,
	SECURE_MS = 5000,
	FIRST_RETRY_MS = 50,
	LAST_WORDS_MS = 100,
	GOOD_CONNECTION_MS = 1000
};

/* Sent before batches, in this order. */
static const enum frame_kind URGENT[] = { FRAME_CLOCK, FRAME_DONE, FRAME_STATUS, FRAME_PROGRAMS };
enum { NURGENT = sizeof URGENT / sizeof URGENT[0], CLOCK = 0, PROGRAMS = 3 };

struct slot {
	struct buf bytes;
	bool due;
};

struct link {
	struct link_options options;
	struct outbox *out;
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wake;
	bool stop;
	struct slot slots[NURGENT];
	struct clock_echo clock; /* the answer, while its slot is due */
	struct link_want *want;
	struct link_stats stats;
	struct stream *stream; /* NULL: none */
	/* The thread that reads has ended, for the reason in end. */
	bool dead;
	struct err end;
};

static int
frame_write(struct stream *s, enum frame_kind kind, uint64_t seq, const void *payload, size_t len,
    int limit_ms, struct err *e)
{
	uint8_t frame[SMALL_FRAME];
	int rc;

	frame_seal(frame, kind, seq, payload, len);
	if (len > 0 && len <= sizeof frame - FRAME_HEADER_BYTES) {
		memcpy(frame + FRAME_HEADER_BYTES, payload, len);
		return stream_write(s, frame, FRAME_HEADER_BYTES + len, limit_ms, e);
	}
	if ((rc = stream_write(s, frame, FRAME_HEADER_BYTES, limit_ms, e)) != 0)
		return rc;
	return len > 0 ? stream_write(s, payload, len, limit_ms, e) : 0;
}

/* Reads a frame and checks its CRC. *payload is the caller's, also on failure; NULL if it is
 * empty. */
static int
frame_read(struct stream *s, struct frame *f, uint8_t **payload, int limit_ms, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES];
	int rc;

	*payload = NULL;
	if ((rc = stream_read(s, header, sizeof header, limit_ms, e)) != 0 ||
	    (rc = frame_open(f, header, e)) != 0)
		return rc;
	if (f->length > 0) {
		if ((*payload = malloc(f->length)) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory for %u bytes", f->length);
		if ((rc = stream_read(s, *payload, f->length, limit_ms, e)) != 0)
			return rc;
	}
	return frame_check(f, header, *payload, e);
}

static int
take_ack(struct link *l, const uint8_t *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	uint64_t seq = read_u64(&r);

	if (r.failed || reader_left(&r) > 0)
		return err_set(e, ERR_INPUT, "an acknowledgement of %zu bytes", len);
	return outbox_ack(l->out, seq, e);
}

static int
take_want(struct link *l, const uint8_t *data, size_t len, struct err *e)
{
	struct link_want *w = calloc(1, sizeof *w), *old;
	int rc;

	if (w == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = want_decode(&w->want, &w->arena, data, len, e)) != 0) {
		link_want_free(w);
		return rc;
	}
	pthread_mutex_lock(&l->lock);
	w->connection = l->stats.connection;
	old = l->want;
	l->want = w;
	pthread_mutex_unlock(&l->lock);
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
	pthread_mutex_lock(&l->lock);
	l->clock = (struct clock_echo){ .asked_ns = c.asked_ns, .came_ns = came.ns };
	l->slots[CLOCK].due = true;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

static int
take_refusal(const uint8_t *data, size_t len, struct err *e)
{
	return err_set(e, ERR_BUSY, "the controller refuses this agent: %.*s", (int)len,
	    data != NULL ? (const char *)data : "");
}

static int
take_frame(
    struct link *l, const struct frame *f, struct mono came, const uint8_t *payload, struct err *e)
{
	switch (f->kind) {
	case FRAME_CLOCK:
		return take_clock(l, came, payload, f->length, e);
	case FRAME_ACK:
		return take_ack(l, payload, f->length, e);
	case FRAME_WANT:
		return take_want(l, payload, f->length, e);
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

	pthread_mutex_lock(&l->lock);
	l->stats.heard = clock_mono();
	ready |= l->slots[CLOCK].due;
	pthread_mutex_unlock(&l->lock);
	if (ready)
		pthread_cond_signal(&l->wake);
}

/* The thread that reads, for one connection. An error in what the controller sent is left for the
 * thread that writes, which reports it to the controller; any other ends the connection. */
static void *
read_all(void *arg)
{
	struct link *l = arg;
	struct frame f;
	struct err e = { 0 };
	uint8_t *payload;
	int rc;

	do {
		rc = frame_read(l->stream, &f, &payload, l->options.silence_ms, &e);
		if (rc == 0)
			rc = take_frame(l, &f, clock_mono(), payload, &e);
		free(payload);
		if (rc == 0)
			heard(l);
	} while (rc == 0);
	pthread_mutex_lock(&l->lock);
	l->end = e;
	l->dead = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	if (rc != ERR_INPUT && rc != ERR_VERSION)
		stream_abort(l->stream);
	return NULL;
}

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

/* Its time is taken just before it is sent. */
static void
put_clock(struct link *l, struct buf *bytes)
{
	l->clock.went_ns = clock_mono().ns;
	clock_encode(&l->clock, bytes);
}

/* Waits for something to send. 1: a message, in *bytes; 0: a batch; negative: the connection has
 * ended, for the reason in *e. */
static int
wait_for_work(struct link *l, enum frame_kind *kind, struct buf *bytes, struct err *e)
{
	int rc = -1;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		int i = 0;

		if (l->dead || l->stop) {
			*e = l->end;
			break;
		}
		while (i < NURGENT && !l->slots[i].due)
			i++;
		if (i < NURGENT) {
			*kind = URGENT[i];
			buf_reset(bytes);
			if (i == CLOCK)
				put_clock(l, bytes);
			else
				buf_bytes(bytes, l->slots[i].bytes.data, l->slots[i].bytes.len);
			l->slots[i].due = false;
			rc = 1;
			break;
		}
		if (outbox_ready(l->out, l->options.window)) {
			rc = 0;
			break;
		}
		pthread_cond_wait(&l->wake, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static void
count_sent(struct link *l, size_t payload_bytes)
{
	pthread_mutex_lock(&l->lock);
	l->stats.sent_bytes += FRAME_HEADER_BYTES + payload_bytes;
	pthread_mutex_unlock(&l->lock);
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

/* The greeting is over. Messages of the old connection are dropped, except PROGRAMS. */
static void
connected(struct link *l, struct stream *s)
{
	pthread_mutex_lock(&l->lock);
	l->stream = s;
	l->dead = false;
	memset(&l->end, 0, sizeof l->end);
	for (int i = 0; i < NURGENT; i++)
		l->slots[i].due = i == PROGRAMS && l->slots[i].bytes.len > 0;
	l->stats.connected = true;
	l->stats.refused = false;
	l->stats.connection++;
	l->stats.heard = clock_mono();
	memset(&l->stats.trouble, 0, sizeof l->stats.trouble);
	pthread_mutex_unlock(&l->lock);
	eventfd_write(l->options.wake, 1);
}

static bool
refused(const struct err *e)
{
	return e->code == ERR_BUSY || e->code == ERR_VERSION || e->code == ERR_DENIED;
}

static void
disconnected(struct link *l, const struct err *e)
{
	pthread_mutex_lock(&l->lock);
	l->stream = NULL;
	l->stats.connected = false;
	l->stats.refused = refused(e);
	l->stats.trouble = *e;
	pthread_mutex_unlock(&l->lock);
	eventfd_write(l->options.wake, 1);
}

static void
send_refusal(struct stream *s, const struct err *e)
{
	if (e->code == ERR_INPUT || e->code == ERR_VERSION)
		frame_write(s, FRAME_REFUSE, 0, e->text, strlen(e->text), LAST_WORDS_MS, NULL);
}

static void
converse(struct link *l, struct stream *s, struct err *e)
{
	struct err why = { 0 };
	pthread_t reader;

	connected(l, s);
	if (pthread_create(&reader, NULL, read_all, l) != 0) {
		err_set(e, ERR_SYSTEM, "no thread to read from the controller");
		return;
	}
	write_all(l, s, e);
	pthread_mutex_lock(&l->lock);
	why = l->dead ? l->end : *e; /* the thread that reads may know why writing failed */
	pthread_mutex_unlock(&l->lock);
	send_refusal(s, &why);
	stream_abort(s);
	pthread_join(reader, NULL);
	*e = why;
}

/* Sets the stream that link_stop() may abort. While it is set it must not be closed. False: the link
 * is to stop. */
static bool
hold(struct link *l, struct stream *s)
{
	bool on;

	pthread_mutex_lock(&l->lock);
	l->stream = s;
	on = !l->stop;
	pthread_mutex_unlock(&l->lock);
	return on;
}

/* If the files of [tls] cannot be read, those that were read earlier are used; when the handshake
 * fails then, this may be the reason. */
static void
blame_keys(struct err *e, const struct err *keys)
{
	struct err handshake = *e;

	if (keys->code != 0)
		err_set(e, e->code,
		    "%s; the TLS files as read earlier were used, since they cannot be read now: %s",
		    handshake.text, keys->text);
}

/* Connects and serves the connection to its end; the reason of its end is in *e. */
static void
connect_once(struct link *l, struct err *e)
{
	struct stream *s;
	struct err keys = { 0 };

	memset(e, 0, sizeof *e);
	if (l->options.tls != NULL)
		tls_refresh(l->options.tls, &keys);
	if (stream_dial(&s, l->options.url, DIAL_MS, e) != 0) {
		/* A socket that is just being created denies access for a moment; that is no
		 * refusal, so the next attempt comes early. */
		if (e->code == ERR_DENIED)
			e->code = ERR_PEER;
		return;
	}
	if (!hold(l, s)) {
		;
	} else if (stream_secure(s, l->options.tls, SECURE_MS, e) != 0) {
		blame_keys(e, &keys);
	} else {
		if (greet(l, s, e) == 0)
			converse(l, s, e);
		else
			send_refusal(s, e);
	}
	hold(l, NULL);
	stream_close(s);
}

static bool
pause_ms(struct link *l, int ms)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&l->lock);
	while (!l->stop && pthread_cond_timedwait(&l->wake, &l->lock, &until) == 0)
		;
	stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return !stop;
}

static void *
run(void *arg)
{
	struct link *l = arg;
	int wait_ms = FIRST_RETRY_MS;
	bool on = true;

	while (on) {
		struct mono began = clock_mono();
		struct err e;

		connect_once(l, &e);
		disconnected(l, &e);
		if (mono_since_ns(clock_mono(), began) / 1000000 > DIAL_MS + GOOD_CONNECTION_MS)
			wait_ms = FIRST_RETRY_MS;
		on = pause_ms(l, refused(&e) ? l->options.refused_ms : wait_ms);
		wait_ms = wait_ms * 2 < l->options.retry_ms ? wait_ms * 2 : l->options.retry_ms;
	}
	return NULL;
}

static void
link_free(struct link *l)
{
	free((char *)l->options.url);
	free((char *)l->options.node);
	free((char *)l->options.version);
	for (int i = 0; i < NURGENT; i++)
		buf_release(&l->slots[i].bytes);
	link_want_free(l->want);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int
link_start(struct link **ret, const struct link_options *o, struct outbox *out, struct err *e)
{
	struct link *l = calloc(1, sizeof *l);
	pthread_condattr_t attr;

	if (l == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	l->options = *o;
	l->options.url = strdup(o->url);
	l->options.node = strdup(o->node);
	l->options.version = strdup(o->version);
	l->out = out;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (l->options.url == NULL || l->options.node == NULL || l->options.version == NULL ||
	    pthread_create(&l->thread, NULL, run, l) != 0) {
		link_free(l);
		return err_set(e, ERR_MEMORY, "no memory, or no thread, for the link");
	}
	*ret = l;
	return 0;
}

void
link_stop(struct link *l)
{
	if (l == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	if (l->stream != NULL)
		stream_abort(l->stream);
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	link_free(l);
}

void
link_kick(struct link *l)
{
	pthread_mutex_lock(&l->lock); /* not between the thread's check and its wait */
	pthread_mutex_unlock(&l->lock);
	pthread_cond_signal(&l->wake); /* after the lock is free, since the thread takes it */
}

void
link_post(struct link *l, int frame_kind, struct buf *payload)
{
	assert(
	    frame_kind == FRAME_DONE || frame_kind == FRAME_STATUS || frame_kind == FRAME_PROGRAMS);
	pthread_mutex_lock(&l->lock);
	for (int i = 0; i < NURGENT; i++) {
		struct slot *s = &l->slots[i];

		if ((int)URGENT[i] != frame_kind || payload->failed)
			continue;
		buf_release(&s->bytes);
		s->bytes = *payload;
		s->due = l->stats.connected;
		memset(payload, 0, sizeof *payload);
	}
	pthread_mutex_unlock(&l->lock);
	pthread_cond_signal(&l->wake);
	buf_release(payload);
}

struct link_want *
link_take_want(struct link *l)
{
	struct link_want *w;

	pthread_mutex_lock(&l->lock);
	w = l->want;
	l->want = NULL;
	pthread_mutex_unlock(&l->lock);
	return w;
}

void
link_want_free(struct link_want *w)
{
	if (w == NULL)
		return;
	arena_release(&w->arena);
	free(w);
}

void
link_stats(struct link *l, struct link_stats *ret)
{
	pthread_mutex_lock(&l->lock);
	*ret = l->stats;
	pthread_mutex_unlock(&l->lock);
}
