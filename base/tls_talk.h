/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of tls:// streams: one side of a conversation in TLS, without a wire. Bytes from the wire
 * go in (came), bytes for the wire come out (goes). One thread at a time.
 *
 * stream_tls.c reaches it through struct tls only, which tls_open() makes: a program that never
 * calls tls_open() is linked without OpenSSL, and starts without loading it.
 */
#ifndef BASE_TLS_TALK_H
#define BASE_TLS_TALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct tls;
struct talk;

enum { TALK_MORE = 1 }; /* nothing now: bytes are wanted from the wire */
enum { TALK_OWED_MAX_BYTES = 64 * 1024 };

struct talk_calls {
	/* dials: our side began; host: whom it dialled, NULL where it did not. ERR_MEMORY. */
	int (*open)(struct talk **ret, struct tls *t, bool dials, const char *host, struct err *e);
	void (*close)(struct talk *k); /* NULL is fine */
	/* Goes on with the handshake: 0 both sides know each other, TALK_MORE, ERR_DENIED: we
	 * refuse the peer, or it us; ERR_INPUT: it does not speak TLS. What it makes for the wire
	 * is to be sent in any case. */
	int (*shake)(struct talk *k, struct err *e);
	int (*came)(struct talk *k, const void *data, size_t len, struct err *e);
	size_t (*goes)(
	    struct talk *k, void *data, size_t size); /* how much it was; 0: none is left */
	/* What came, decrypted: 0 and *n > 0, or TALK_MORE. ERR_PEER: it has hung up; ERR_INPUT: it
	 * breaks the rules; also when it makes us owe it more than TALK_OWED_MAX_BYTES of answers.
	 */
	int (*read)(struct talk *k, void *data, size_t size, size_t *n, struct err *e);
	int (*write)(struct talk *k, const void *data, size_t len, struct err *e); /* all of it */
	const char *(*name)(
	    const struct talk *k); /* the peer's, "hone:agent:n1"; "" before shake() gave 0 */
	int (*trusted)(
	    struct talk *k, struct err *e); /* by what holds in t now: 0, or ERR_DENIED */
};

struct tls { /* the head of what tls_open() makes */
	const struct talk_calls *calls;
};

#endif
