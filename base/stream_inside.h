/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of streams share: stream_nng.c moves bytes, stream_tls.c makes them unreadable to
 * others. */
#ifndef BASE_STREAM_INSIDE_H
#define BASE_STREAM_INSIDE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/stream.h"

struct wire;   /* stream_nng.c */
struct secure; /* stream_tls.c */
struct nng_stream;

struct stream {
	struct wire *wire;
	char *url;
	bool dialled; /* by us */
	bool tls;
	_Atomic(struct secure *) secure; /* NULL until both sides have shaken hands */
};

struct limit {
	int ms; /* for the words */
	struct mono until;
};

/* To an address of the URL's host that answers; resolving its name is not within the time. nng's
 * code. dial_nng.c */
int wire_dial(struct nng_stream **ret, const char *url, int timeout_ms);

struct limit limit_in_ms(int ms);
/* At least one byte; *n says how many. */
int wire_read_some(
    struct stream *s, void *data, size_t size, size_t *n, struct limit limit, struct err *e);
int wire_write(struct stream *s, const void *data, size_t len, struct limit limit, struct err *e);

int secure_read(struct stream *s, void *data, size_t len, struct limit limit, struct err *e);
int secure_write(struct stream *s, const void *data, size_t len, struct limit limit, struct err *e);
void secure_free(struct secure *c);

#endif
