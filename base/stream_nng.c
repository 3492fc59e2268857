/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/stream.h over nng_stream. */
#include "base/stream.h"

#include <assert.h>
#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stream_inside.h"
#include "base/transport_nng.h"

/* ---- errors ---- */

static int
fail_dial(struct err *e, const char *url, int nng_code, int timeout_ms)
{
	const char *why = nng_strerror(nng_code);

	switch (nng_code) {
	case NNG_ETIMEDOUT:
		return err_set(e, ERR_TIMEOUT,
		    "%s: no connection within %d ms: is the host up, and the port reachable?", url,
		    timeout_ms);
	case NNG_EAGAIN:
		return err_set(e, ERR_TIMEOUT,
		    "%s: the queue of connections there was full for %d ms", url, timeout_ms);
	case NNG_ECONNREFUSED:
	case NNG_ENOENT:
		return err_set(e, ERR_PEER,
		    "%s: %s: no program listens there; is the daemon running?", url, why);
	case NNG_EPERM:
		return err_set(e, ERR_DENIED,
		    "%s: %s: the owner and mode of the socket deny access", url, why);
	case NNG_EADDRINVAL:
		return err_set(e, ERR_PEER, "%s: %s: check host name and port", url, why);
	case NNG_ENOMEM:
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	case NNG_ENOFILES:
		return err_set(
		    e, ERR_SYSTEM, "%s: %s: raise the limit of open files (ulimit -n)", url, why);
	default:
		return err_set(e, ERR_PEER, "%s: cannot connect: %s", url, why);
	}
}

/* ---- streams ---- */

/* Takes nng over, also when it fails. */
static int
stream_new(struct stream **ret, nng_stream *nng, const char *url, struct err *e)
{
	struct stream *s = calloc(1, sizeof *s);
	struct transport *w = s != NULL ? calloc(1, sizeof *w) : NULL;

	assert(ret != NULL && nng != NULL);
	if (w == NULL) {
		free(s);
		nng_stream_free(nng);
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	}
	s->transport = w;
	w->nng = nng;
	s->tls = url_is_tls(url);
	if (nng_call_init(&w->read, e) != 0 || nng_call_init(&w->write, e) != 0 ||
	    (s->url = strdup(url)) == NULL) {
		stream_close(s);
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	}
	*ret = s;
	return 0;
}

int
stream_dial(struct stream **ret, const char *url, int timeout_ms, struct err *e)
{
	struct nng_stream *nng = NULL;
	int rc;

	if ((rc = url_check(url, e)) != 0)
		return rc;
	if ((rc = transport_dial(&nng, url, timeout_ms)) != 0)
		return fail_dial(e, url, rc, timeout_ms);
	return stream_new(ret, nng, url, e);
}

int
stream_read(struct stream *s, void *data, size_t len, int timeout_ms, struct err *e)
{
	struct time_limit limit = time_limit_in_ms(timeout_ms);
	char *at = data;
	size_t n = 0;
	int rc;

	assert(data != NULL || len == 0);
	if (s->tls)
		return secure_read(s, data, len, limit, e);
	for (; len > 0; at += n, len -= n)
		if ((rc = transport_read_some(s, at, len, &n, limit, e)) != 0)
			return rc;
	return 0;
}

int
stream_write(struct stream *s, const void *data, size_t len, int timeout_ms, struct err *e)
{
	struct time_limit limit = time_limit_in_ms(timeout_ms);

	assert(data != NULL || len == 0);
	return s->tls ? secure_write(s, data, len, limit, e)
	              : transport_write(s, data, len, limit, e);
}

void
stream_abort(struct stream *s)
{
	nng_call_abort(&s->transport->read);
	nng_call_abort(&s->transport->write);
}

void
stream_close(struct stream *s)
{
	if (s == NULL)
		return;
	nng_call_release(&s->transport->read);
	nng_call_release(&s->transport->write);
	nng_stream_close(s->transport->nng);
	nng_stream_free(s->transport->nng);
	secure_free(atomic_load(&s->secure));
	free(s->transport);
	free(s->url);
	free(s);
}
