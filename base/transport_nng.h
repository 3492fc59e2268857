/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of streams: what is sent and received through nng. Behaviour of nng that these files allow for, as measured:
 *
 * - A transfer that starts after nng_stream_close() ends only at its timeout, so calls are stopped
 *   (nng_aio_stop) and freed before the stream is closed.
 * - nng_aio_abort() has no effect on a call that is not under way. So calls are started and aborted
 *   under the lock of their direction, and a flag remembers the abort.
 * - A time limit of 0 fails at once, even if data is there: the minimum is 1 ms.
 */
#ifndef BASE_TRANSPORT_NNG_H
#define BASE_TRANSPORT_NNG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/stream_inside.h"

struct nng_aio;

struct nng_call { /* in one direction; one at a time */
	struct nng_aio *aio;
	pthread_mutex_t lock;
	bool aborted;
};

struct transport {
	struct nng_stream *nng;
	struct nng_call read, write;
};

int nng_call_init(
    struct nng_call *c, struct err *e);    /* 0 or ERR_MEMORY; to be released in both cases */
void nng_call_release(struct nng_call *c); /* before the stream or listener is closed */
void nng_call_abort(struct nng_call *c);   /* also ends every later call at once; from any thread */
/* Calls start(of, aio), unless the call was aborted, and waits for its end. Returns nng's code. */
int nng_call_run(
    struct nng_call *c, void (*start)(void *of, struct nng_aio *aio), void *of, int64_t limit_ms);

/* Sets the error for nng's code and returns it; what: "reading". */
int transport_failed(
    struct err *e, const char *url, const char *what, int nng_code, int timeout_ms);

#endif
