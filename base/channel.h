/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connected socket of an event loop: bytes as they come, plain or through a TLS session (base/tls_session.h). No call
 * waits, where those of base/stream.h do; the bytes on the wire are the same. For one thread at a time.
 *
 *	channel_write --> session --> unsent --> send()
 *	channel_read  <-- session <------------- recv()
 *
 * The loop waits with edge-triggered events: it clears `drained` when the kernel reports that the socket is readable, and
 * reads until it is set.
 */
#ifndef BASE_CHANNEL_H
#define BASE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct tls; /* base/tls.h */
struct tls_session;
struct tls_session_calls;

enum { CHANNEL_LATER = 1 }; /* not an error: the socket has nothing, or takes nothing, now */

struct channel {
	int fd;       /* -1: closed */
	bool heard;   /* bytes have come */
	bool drained; /* the socket has nothing more until the kernel reports that it has */
	bool at_end;  /* the kernel has reported that the peer has closed its side */
	const struct tls_session_calls *calls; /* NULL: without TLS */
	struct tls_session *session;
	struct buf unsent; /* encrypted; from unsent_at on */
	size_t unsent_at;
};

void channel_init(struct channel *c, int fd); /* takes the socket, which is non-blocking */
void channel_close(struct channel *c);        /* a closed one is fine */

/* Some bytes, *n > 0. CHANNEL_LATER; ERR_PEER: the peer has closed the connection; with TLS also ERR_INPUT, ERR_MEMORY. */
int channel_read(struct channel *c, void *data, size_t size, size_t *n, struct err *e);

/* Reads and forgets, without decrypting: otherwise as channel_read(). */
int channel_discard(struct channel *c, size_t *n, struct err *e);

/* Takes some of the bytes: *n > 0. CHANNEL_LATER: none. ERR_PEER, ERR_MEMORY, ERR_INPUT. len > 0. */
int channel_write(struct channel *c, const void *data, size_t len, size_t *n, struct err *e);

/* Sends what TLS still has to send. 0: there is nothing more; CHANNEL_LATER, ERR_PEER, ERR_MEMORY. */
int channel_flush(struct channel *c, struct err *e);

/* ---- TLS ---- */

/* Begins a TLS session of the side that listens; nothing is sent. ERR_MEMORY. */
int channel_secure(struct channel *c, struct tls *t, struct err *e);

/* Gives the session what has come, without decrypting it. 0: something came; CHANNEL_LATER; ERR_PEER, ERR_MEMORY. */
int channel_take_in(struct channel *c, struct err *e);

/*
 * Continues the handshake with what channel_take_in() took. 0: done, and the byte that says so (base/stream_tls.c) waits
 * with other output for channel_flush(); CHANNEL_LATER: it needs more; ERR_DENIED, ERR_INPUT, ERR_PEER as the session's.
 * Does no I/O, so another thread may do it; some ms of CPU in all.
 */
int channel_shake(struct channel *c, struct err *e);

/* "hone:agent:n1", from the peer's certificate; "" if there is none. It lives as long as the channel is open. */
const char *channel_peer_name(const struct channel *c);

/* Whether the peer would be accepted now (after tls_refresh()): 0, also without TLS, or ERR_DENIED. */
int channel_trusted(struct channel *c, struct err *e);

#endif
