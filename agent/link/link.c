/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/link/link.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "agent/link/conversation.h"
#include "agent/link/redial.h"
#include "base/hash.h"
#include "base/stream.h"
#include "base/tls.h"
#include "wire/frame.h"

enum { DIAL_MS = 1000, SECURE_MS = 5000, GOOD_CONNECTION_MS = 1000 };

static bool
refused(const struct err *e)
{
	return e->code == ERR_BUSY || e->code == ERR_VERSION || e->code == ERR_DENIED;
}

/* Of several controllers that are tried in turn, the trouble with the first is told: otherwise it would be another one after each attempt. */
static void
disconnected(struct link *l, const struct err *e, bool told)
{
	lock_take(&l->lock);
	l->stream = NULL;
	l->stats.connected = false;
	if (told) {
		l->stats.refused = refused(e);
		l->stats.trouble = *e;
	}
	lock_give(&l->lock);
	eventfd_write(l->options.wake, 1);
}

/* Sets the stream that link_stop() may abort. While it is set it must not be closed. False: the link
 * is to stop. */
static bool
hold(struct link *l, struct stream *s)
{
	bool on;

	lock_take(&l->lock);
	l->stream = s;
	on = !l->stop;
	lock_give(&l->lock);
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
connect_once(struct link *l, const char *url, struct err *e)
{
	struct stream *s;
	struct err keys = { 0 };

	memset(e, 0, sizeof *e);
	lock_take(&l->lock);
	snprintf(l->stats.url, sizeof l->stats.url, "%s", url);
	lock_give(&l->lock);
	if (l->options.tls != NULL)
		tls_refresh(l->options.tls, &keys);
	if (stream_dial(&s, url, DIAL_MS, e) != 0) {
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
		conversation_run(l, s, e);
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
	lock_take(&l->lock);
	while (!l->stop && lock_wait(&l->lock, &l->wake, &until) == 0)
		;
	stop = l->stop;
	lock_give(&l->lock);
	return !stop;
}

static uint64_t
connections(struct link *l)
{
	struct link_stats s;

	link_stats(l, &s);
	return s.connection;
}

static void *
run(void *arg)
{
	struct link *l = arg;
	const char *list = l->options.url, *node = l->options.node;
	char url[REDIAL_URL_MAX + 1];
	struct redial redial;
	bool on = true;

	redial_init(&redial, redial_words(list), l->options.retry_ms,
	    hash_bytes(l->options.incarnation, node, strlen(node)));
	while (on) {
		struct mono began = clock_mono();
		uint64_t before = connections(l);
		struct err e;
		bool held;

		redial_url(list, redial.at, url);
		connect_once(l, url, &e);
		/* One that accepts and says nothing is none that held: the next one is tried. */
		held = connections(l) != before &&
		       mono_since_ns(clock_mono(), began) / 1000000 > DIAL_MS + GOOD_CONNECTION_MS;
		disconnected(l, &e, held || redial.at == 0);
		on = pause_ms(
		    l, redial_ended(&redial, held, refused(&e) ? l->options.refused_ms : 0));
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
	for (uint32_t i = 0; i < l->nkept; i++)
		buf_release(&l->kept[i]);
	pthread_cond_destroy(&l->wake);
	lock_destroy(&l->lock);
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
	lock_init(&l->lock);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (l->options.url == NULL || redial_words(o->url) == 0 || l->options.node == NULL ||
	    l->options.version == NULL || pthread_create(&l->thread, NULL, run, l) != 0) {
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
	lock_take(&l->lock);
	l->stop = true;
	if (l->stream != NULL)
		stream_abort(l->stream);
	pthread_cond_signal(&l->wake);
	lock_give(&l->lock);
	pthread_join(l->thread, NULL);
	link_free(l);
}

void
link_kick(struct link *l)
{
	lock_take(&l->lock); /* not between the thread's check and its wait */
	lock_give(&l->lock);
	pthread_cond_signal(&l->wake); /* after the lock is free, since the thread takes it */
}

void
link_post(struct link *l, int frame_kind, struct buf *payload)
{
	enum link_urgent which = frame_kind == FRAME_DONE     ? URGENT_DONE
	                         : frame_kind == FRAME_STATUS ? URGENT_STATUS
	                                                      : URGENT_PROGRAMS;
	struct slot *s = &l->slots[which];

	assert(
	    frame_kind == FRAME_DONE || frame_kind == FRAME_STATUS || frame_kind == FRAME_PROGRAMS);
	lock_take(&l->lock);
	if (!payload->failed) {
		buf_release(&s->bytes);
		s->bytes = *payload;
		s->due = l->stats.connected;
		memset(payload, 0, sizeof *payload);
	}
	lock_give(&l->lock);
	pthread_cond_signal(&l->wake);
	buf_release(payload);
}

struct link_want *
link_take_want(struct link *l)
{
	struct link_want *w;

	lock_take(&l->lock);
	w = l->want;
	l->want = NULL;
	lock_give(&l->lock);
	return w;
}

uint32_t
link_take_keeps(struct link *l, struct keep ret[KEEPS_MAX])
{
	uint32_t n;

	lock_take(&l->lock);
	n = l->nkeeps;
	memcpy(ret, l->keeps, n * sizeof *ret);
	l->nkeeps = 0;
	lock_give(&l->lock);
	return n;
}

bool
link_post_kept(struct link *l, struct buf *payload)
{
	bool taken;

	lock_take(&l->lock);
	taken = !payload->failed && l->stats.connected && l->nkept < KEEPS_MAX &&
	        l->kept_bytes + payload->len <= LINK_KEPT_BYTES;
	if (taken) {
		l->kept_bytes += payload->len;
		l->kept[l->nkept++] = *payload;
		memset(payload, 0, sizeof *payload);
	}
	lock_give(&l->lock);
	pthread_cond_signal(&l->wake);
	buf_release(payload);
	return taken;
}

void
link_stats(struct link *l, struct link_stats *ret)
{
	lock_take(&l->lock);
	*ret = l->stats;
	lock_give(&l->lock);
}
