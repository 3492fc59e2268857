/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A byte stream to a process that listens (ipc:///path, tls://host:port or tcp://host:port), in
 * stream_nng.c over nng_stream. Calls block, with time limits. One thread may read and another one write at the
 * same time. After a failure a stream may only be closed. Not usable in a child after
 * fork().
 *
 * A tls:// stream carries no data before stream_secure().
 */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct stream;
struct tls; /* base/tls.h */

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

#endif
