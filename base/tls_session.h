/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of tls:// streams: one side of a conversation in TLS, without a wire. Bytes from the wire
 * go in (came), bytes for the wire come out (goes). One thread at a time.
 *
 * stream_tls.c reaches it through struct tls only, which tls_open() makes: a program that never
 * calls tls_open() is linked without OpenSSL, and starts without loading it.
 */
#ifndef BASE_TLS_SESSION_H
#define BASE_TLS_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct tls;
struct tls_session;

enum { TLS_WANTS_INPUT = 1 }; /* nothing now: bytes are wanted from the wire */
enum { TLS_OWED_MAX_BYTES = 64 * 1024 };

struct tls_session_calls {
	/* dials: our side began; host: whom it dialled, NULL where it did not. ERR_MEMORY. */
	int (*open)(
	    struct tls_session **ret, struct tls *t, bool dials, const char *host, struct err *e);
	void (*close)(struct tls_session *k); /* NULL is fine */
	/* Goes on with the handshake: 0 both sides know each other, TLS_WANTS_INPUT, ERR_DENIED: we
	 * refuse the peer, or it us; ERR_INPUT: it does not speak TLS. What it makes for the wire
	 * is to be sent in any case. */
	int (*shake)(struct tls_session *k, struct err *e);
	int (*came)(struct tls_session *k, const void *data, size_t len, struct err *e);
	size_t (*goes)(
	    struct tls_session *k, void *data, size_t size); /* how much it was; 0: none is left */
	/* What came, decrypted: 0 and *n > 0, or TLS_WANTS_INPUT. ERR_PEER: it has hung up; ERR_INPUT: it
	 * breaks the rules; also when it makes us owe it more than TLS_OWED_MAX_BYTES of answers.
	 */
	int (*read)(struct tls_session *k, void *data, size_t size, size_t *n, struct err *e);
	int (*write)(
	    struct tls_session *k, const void *data, size_t len, struct err *e); /* all of it */
	const char *(*name)(const struct tls_session
		*k); /* the peer's, "hone:agent:n1"; "" before shake() gave 0 */
	int (*trusted)(
	    struct tls_session *k, struct err *e); /* by what holds in t now: 0, or ERR_DENIED */
};

struct tls { /* the head of what tls_open() makes */
	const struct tls_session_calls *calls;
};

#endif
