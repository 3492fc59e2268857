/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A byte stream to another process (ipc:///path or tcp://host:port), in
 * stream_nng.c over nng_stream. Blocking calls with time limits; one reader and
 * one writer thread at a time may use a stream. After any failure the stream is
 * only good for stream_close(). Not usable in a child after fork().
 */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include <stddef.h>

#include "base/err.h"

struct stream;
struct listener;

int  stream_dial(struct stream **ret, const char *url, int timeout_ms, struct err *e);
/* All of len bytes or a failure: ERR_TIMEOUT, ERR_PEER (closed or reset). timeout_ms is for the whole call;
 * under 1 it is 1: what is there is taken. */
int  stream_read(struct stream *s, void *data, size_t len, int timeout_ms, struct err *e);
int  stream_write(struct stream *s, const void *data, size_t len, int timeout_ms, struct err *e);
/* Wakes whoever is in read or write on s, from any thread; they fail with ERR_PEER. */
void stream_abort(struct stream *s);
void stream_close(struct stream *s);	/* NULL is fine; nobody may be in a call on s */
/* The peer of a local (ipc) stream: 0, or ERR_MISSING where the transport does not know. */
int  stream_peer(struct stream *s, int *uid, int *pid);

/* ipc sockets are made with `mode` (e.g. 0600); a stale socket file that nobody listens on is replaced,
 * a live one, or a file that is no socket, is ERR_BUSY. tcp port 0 takes a free one: listener_url() says which. */
int  listener_open(struct listener **ret, const char *url, unsigned mode, struct err *e);
const char *listener_url(const struct listener *l);
int  listener_accept(struct listener *l, struct stream **ret, int timeout_ms, struct err *e);	/* ERR_TIMEOUT: nobody came */
void listener_abort(struct listener *l);	/* wakes accept, from any thread */
void listener_close(struct listener *l);

#endif
