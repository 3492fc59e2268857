/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A byte stream to another process (ipc:///path, tls://host:port or tcp://host:port),
 * in stream_nng.c over nng_stream. Blocking calls with time limits; one reader and
 * one writer thread at a time may use a stream. After any failure the stream is
 * only good for stream_close(). Not usable in a child after fork().
 *
 * A tls:// stream carries nothing before stream_secure(), on both sides: accept
 * returns at once, and the handshake is for the thread of the one who came.
 */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct stream;
struct tls; /* base/tls.h */
struct listener;

/* ERR_PEER: nobody listens there; ERR_DENIED: a local socket whose mode does not let us in;
 * ERR_TIMEOUT: nobody answers, or so many wait to be let in that there was no place all the time;
 * ERR_INPUT: no URL of these; ERR_SYSTEM, ERR_MEMORY. */
int stream_dial(struct stream **ret, const char *url, int timeout_ms, struct err *e);
/* All of len bytes or a failure: ERR_TIMEOUT, ERR_PEER (closed or reset). timeout_ms is for the
 * whole call; under 1 it is 1: what is there is taken. */
int stream_read(struct stream *s, void *data, size_t len, int timeout_ms, struct err *e);
int stream_write(struct stream *s, const void *data, size_t len, int timeout_ms, struct err *e);
/* Wakes whoever is in read or write on s, from any thread; they fail with ERR_PEER. */
void stream_abort(struct stream *s);
void stream_close(struct stream *s); /* NULL is fine; nobody may be in a call on s */
/* The peer of a local (ipc) stream: 0, or ERR_MISSING where the transport does not know. */
int stream_peer(struct stream *s, int *uid, int *pid);

/* ---- tls:// (stream_tls.c) ---- */
bool url_is_tls(const char *url);
/*
 * Shakes hands: 0 when each side has seen that the other may be what it is here for (base/tls.h).
 * timeout_ms is for all of it, however many bytes came meanwhile. Not a tls:// stream: 0, nothing
 * is done. ERR_DENIED: we refuse the peer, or it us; ERR_INPUT: it speaks no TLS; ERR_PEER: it is
 * gone; ERR_TIMEOUT. About 1 ms of CPU; holds up to 128 KiB afterwards.
 */
int stream_secure(struct stream *s, struct tls *t, int timeout_ms, struct err *e);
const char *stream_peer_name(
    const struct stream *s); /* "hone:agent:n1", of its certificate; "" without */
/* Would it be let in now (tls_refresh())? 0, also when it is no tls:// stream, or ERR_DENIED with
 * words. From any thread. */
int stream_trusted(struct stream *s, struct err *e);

/* ipc sockets are made with `mode` (e.g. 0600); a stale socket file that nobody listens on is
 * replaced, a live one, or a file that is no socket, is ERR_BUSY. tcp port 0 takes a free one:
 * listener_url() says which. */
int listener_open(struct listener **ret, const char *url, unsigned mode, struct err *e);
const char *listener_url(const struct listener *l);
int listener_accept(struct listener *l, struct stream **ret, int timeout_ms,
    struct err *e);                      /* ERR_TIMEOUT: nobody came */
void listener_abort(struct listener *l); /* wakes accept, from any thread */
void listener_close(struct listener *l);

#endif
