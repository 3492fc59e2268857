/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A byte stream to another process (ipc:///path, tls://host:port or tcp://host:port), in
 * stream_nng.c over nng_stream. Calls block, with time limits. One thread may read and another one write at the
 * same time. After a failure a stream may only be closed. Not usable in a child after
 * fork().
 *
 * A tls:// stream carries no data before both sides have called stream_secure(): accept returns
 * at once, and the handshake runs in the thread that serves the peer.
 */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct stream;
struct tls; /* base/tls.h */
struct listener;

/* Connects. The time limit does not include the resolution of the host's name. ERR_PEER: no program
 * listens there, or the host is unknown; ERR_DENIED: the mode of a local socket forbids it; ERR_TIMEOUT:
 * no answer, or the backlog was full all the time; ERR_INPUT: malformed URL; ERR_SYSTEM;
 * ERR_MEMORY. */
int stream_dial(struct stream **ret, const char *url, int timeout_ms, struct err *e);

/* All len bytes, or a failure: ERR_TIMEOUT, ERR_PEER (closed, reset, or aborted by us), ERR_MEMORY;
 * of a tls:// stream also ERR_INPUT and ERR_DENIED. The time limit is for the whole call; under 1 ms it is 1 ms. */
int stream_read(struct stream *s, void *data, size_t len, int timeout_ms, struct err *e);
int stream_write(struct stream *s, const void *data, size_t len, int timeout_ms, struct err *e);

/* Wakes calls that read or write, from any thread; they and later ones fail with ERR_PEER. */
void stream_abort(struct stream *s);

void stream_close(struct stream *s); /* NULL is fine; no call on s may be under way */

/* ---- tls:// (stream_tls.c) ---- */
bool url_is_tls(const char *url);

/*
 * Does the handshake; 0 when each side has accepted the other's certificate and role (base/tls.h). The time
 * limit is for all of it. 0 at once for other streams than tls://. ERR_DENIED: one side refuses the other;
 * ERR_INPUT: the peer does not speak TLS, or t is NULL; ERR_PEER: it is gone; ERR_TIMEOUT;
 * ERR_MEMORY. About 1 ms of CPU; the stream then holds up to 128 KiB.
 */
int stream_secure(struct stream *s, struct tls *t, int timeout_ms, struct err *e);

/* "hone:agent:n1", from the peer's certificate; "" if there is none. Valid while s is open. */
const char *stream_peer_name(const struct stream *s);

/* Whether the peer would be accepted now (after tls_refresh()): 0, also for streams without TLS, or
 * ERR_DENIED. From any thread. */
int stream_trusted(struct stream *s, struct err *e);

/*
 * A listener for blocking streams: of tests and benches that play a controller. honed listens with base/listen_socket.h.
 * A socket file is created with `mode`. Port 0 takes a free port, which listener_url() names. ERR_BUSY: another program
 * listens there; ERR_INPUT: malformed URL; ERR_SYSTEM; ERR_MEMORY.
 */
int listener_open(struct listener **ret, const char *url, unsigned mode, struct err *e);
const char *listener_url(const struct listener *l);

/* ERR_TIMEOUT: no connection in time; ERR_FULL: too many open files; ERR_PEER: failed or aborted;
 * ERR_MEMORY. */
int listener_accept(struct listener *l, struct stream **ret, int timeout_ms, struct err *e);
void listener_abort(struct listener *l); /* wakes accept, from any thread */
void listener_close(struct listener *l);

#endif
