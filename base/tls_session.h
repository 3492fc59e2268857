/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of tls:// streams: one side of a TLS session, without I/O. Bytes from the transport go in
 * (came), bytes for the transport come out (goes). For one thread at a time.
 *
 * stream_tls.c calls it only through struct tls, which tls_open() makes: a program that never calls
 * tls_open() is linked without OpenSSL, and starts without loading it.
 */
#ifndef BASE_TLS_SESSION_H
#define BASE_TLS_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct tls;
struct tls_session;

enum { TLS_WANTS_INPUT = 1 }; /* not an error: more bytes from the transport are needed */
enum { TLS_OWED_MAX_BYTES = 64 * 1024 };

struct tls_session_calls {
	/* dials: this side connected; host: the host it dialled, or NULL. ERR_MEMORY. */
	int (*open)(
	    struct tls_session **ret, struct tls *t, bool dials, const char *host, struct err *e);
	void (*close)(struct tls_session *k); /* NULL is fine */

	/* Continues the handshake. 0: done; TLS_WANTS_INPUT; ERR_DENIED: one side refuses the
	 * other; ERR_INPUT: the peer does not speak TLS; ERR_PEER: it closed the session. Its output (goes)
	 * is to be sent in every case. */
	int (*shake)(struct tls_session *k, struct err *e);

	/* Takes bytes from the transport. 0 or ERR_MEMORY. */
	int (*came)(struct tls_session *k, const void *data, size_t len, struct err *e);

	/* Moves bytes for the transport into data; returns how many, 0: there are no more. */
	size_t (*goes)(struct tls_session *k, void *data, size_t size);

	/* Decrypts what came. 0 and *n > 0, or TLS_WANTS_INPUT. ERR_PEER: the peer closed the
	 * session; ERR_INPUT: it violates the protocol, or causes over TLS_OWED_MAX_BYTES of
	 * output without reading. */
	int (*read)(struct tls_session *k, void *data, size_t size, size_t *n, struct err *e);

	/* Encrypts all of data. 0, ERR_MEMORY, ERR_INPUT, ERR_PEER. */
	int (*write)(struct tls_session *k, const void *data, size_t len, struct err *e);

	/* The peer's name, "hone:agent:n1"; "" before shake() returned 0. */
	const char *(*name)(const struct tls_session *k);

	/* Whether the handshake, which is done, continued an earlier session (base/tls.h). */
	bool (*resumed)(const struct tls_session *k);

	/* Whether the peer's certificate is valid by the current content of struct tls: 0, or ERR_DENIED. */
	int (*trusted)(struct tls_session *k, struct err *e);
};

struct tls { /* the first member of what tls_open() makes */
	const struct tls_session_calls *calls;
};

#endif
