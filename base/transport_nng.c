/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/transport_nng.h: calls of nng, and bytes of a stream through them. */
#include "base/transport_nng.h"

#include <assert.h>
#include <nng/nng.h>
#include <stdint.h>

#include "base/clock.h"

int
nng_call_init(struct nng_call *c, struct err *e)
{
	pthread_mutex_init(&c->lock, NULL);
	return nng_aio_alloc(&c->aio, NULL, NULL) == 0 ? 0
	                                               : err_set(e, ERR_MEMORY, "out of memory");
}

/* nng's expiry thread may be cancelling a call that timed out. nng_aio_free() waits for that, nng_aio_stop() does not. */
void
nng_call_release(struct nng_call *c)
{
	nng_aio_stop(c->aio);
	nng_aio_free(c->aio);
	pthread_mutex_destroy(&c->lock);
}

void
nng_call_abort(struct nng_call *c)
{
	pthread_mutex_lock(&c->lock);
	c->aborted = true;
	nng_aio_abort(c->aio, NNG_ECANCELED);
	pthread_mutex_unlock(&c->lock);
}

int
nng_call_run(struct nng_call *c, void (*start)(void *of, nng_aio *aio), void *of, int64_t limit_ms)
{
	bool aborted;

	pthread_mutex_lock(&c->lock);
	if (!(aborted = c->aborted)) {
		nng_aio_set_timeout(c->aio, limit_ms < 1 ? 1 : (nng_duration)limit_ms);
		start(of, c->aio);
	}
	pthread_mutex_unlock(&c->lock);
	if (aborted)
		return NNG_ECANCELED;
	nng_aio_wait(c->aio);
	return nng_aio_result(c->aio);
}

int
transport_failed(struct err *e, const char *url, const char *what, int nng_code, int timeout_ms)
{
	switch (nng_code) {
	case NNG_ETIMEDOUT:
		return err_set(e, ERR_TIMEOUT,
		    "%s: %s: no data for %d ms: the peer hangs or is overloaded", url, what,
		    timeout_ms);
	case NNG_ECANCELED:
		return err_set(e, ERR_PEER, "%s: %s: aborted by this side", url, what);
	case NNG_ENOMEM:
		return err_set(e, ERR_MEMORY, "%s: %s: out of memory", url, what);
	default:
		return err_set(e, ERR_PEER, "%s: %s: %s: the peer has closed the connection", url,
		    what, nng_strerror(nng_code));
	}
}

static void
start_read(void *of, nng_aio *aio)
{
	nng_stream_recv(of, aio);
}

static void
start_write(void *of, nng_aio *aio)
{
	nng_stream_send(of, aio);
}

static int64_t
left_of_ms(struct mono until)
{
	return mono_since_ns(until, clock_mono()) / 1000000;
}

int
transport_read_some(
    struct stream *s, void *data, size_t size, size_t *n, struct time_limit limit, struct err *e)
{
	struct nng_call *c = &s->transport->read;
	nng_iov part = { data, size };
	int64_t left_ms = left_of_ms(limit.until);
	int rc;

	assert(data != NULL && size > 0 && n != NULL);
	nng_aio_set_iov(c->aio, 1, &part);
	rc = left_ms < 0 ? NNG_ETIMEDOUT : nng_call_run(c, start_read, s->transport->nng, left_ms);
	if (rc != 0)
		return transport_failed(e, s->url, "reading", rc, limit.ms);
	*n = nng_aio_count(c->aio);
	return 0;
}

/* nng writes as much as fits at once, so the loop repeats until all bytes are written. */
int
transport_write(
    struct stream *s, const void *data, size_t len, struct time_limit limit, struct err *e)
{
	struct nng_call *c = &s->transport->write;
	nng_iov part = { (void *)(uintptr_t)data, len };
	int rc;

	for (int64_t left_ms = limit.ms; part.iov_len > 0; left_ms = left_of_ms(limit.until)) {
		nng_aio_set_iov(c->aio, 1, &part);
		rc = left_ms < 0 ? NNG_ETIMEDOUT
		                 : nng_call_run(c, start_write, s->transport->nng, left_ms);
		if (rc != 0)
			return transport_failed(e, s->url, "writing", rc, limit.ms);
		part.iov_buf = (char *)part.iov_buf + nng_aio_count(c->aio);
		part.iov_len -= nng_aio_count(c->aio);
	}
	return 0;
}
