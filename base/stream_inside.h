/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of streams: transport_nng.c moves bytes, stream_tls.c encrypts them. */
#ifndef BASE_STREAM_INSIDE_H
#define BASE_STREAM_INSIDE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/stream.h"

struct transport; /* transport_nng.h */
struct secure;    /* stream_tls.c */
struct nng_stream;

struct stream {
	struct transport *transport;
	char *url;
	bool tls;
	_Atomic(struct secure *) secure; /* NULL until the handshake is done */
};

struct time_limit {
	int ms; /* for error texts */
	struct mono until;
};

static inline struct time_limit
time_limit_in_ms(int ms) /* at least 1 ms */
{
	ms = ms < 1 ? 1 : ms;
	return (struct time_limit){ ms, { clock_mono().ns + (int64_t)ms * 1000000 } };
}

/* ---- URLs (stream_url.c) ---- */

int url_check(
    const char *url, struct err *e); /* 0, or ERR_INPUT for URLs that streams do not take */
bool url_is_local(const char *url);  /* ipc:// */
/* "host" of tcp://host:port or tls://[host]:port. The caller frees it; NULL: out of memory. */
char *url_host(const char *url);

/* ---- transport ---- */

/* Connects to the first address of the URL's host that answers; name resolution is not part of the time limit. Returns
 * nng's code. In dial_nng.c. */
int transport_dial(struct nng_stream **ret, const char *url, int timeout_ms);

/* Reads at least one byte; *n is the number. */
int transport_read_some(
    struct stream *s, void *data, size_t size, size_t *n, struct time_limit limit, struct err *e);

/* Writes all len bytes. */
int transport_write(
    struct stream *s, const void *data, size_t len, struct time_limit limit, struct err *e);

/* ---- encryption ---- */

int secure_read(struct stream *s, void *data, size_t len, struct time_limit limit, struct err *e);
int secure_write(
    struct stream *s, const void *data, size_t len, struct time_limit limit, struct err *e);
void secure_free(struct secure *c);

#endif
