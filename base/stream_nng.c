/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/stream.h over nng_stream: streams and listeners. */
#define _GNU_SOURCE
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

struct listener {
	nng_stream_listener *nng;
	struct nng_call accept;
	char *url;
};

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

static int
fail_listen(struct err *e, const char *url, int nng_code)
{
	const char *why = nng_strerror(nng_code);

	switch (nng_code) {
	case NNG_EADDRINUSE:
		return err_set(e, ERR_BUSY, "%s: %s: another program listens there", url, why);
	case NNG_EPERM:
		return err_set(e, ERR_SYSTEM,
		    "%s: %s: is writing to the folder, or using this port, permitted?", url, why);
	case NNG_EADDRINVAL:
	case NNG_ENOENT:
		return err_set(e, ERR_SYSTEM,
		    "%s: %s: does the folder exist, or is the address one of this machine?", url,
		    why);
	case NNG_ENOMEM:
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	default:
		return err_set(e, ERR_SYSTEM, "%s: cannot listen: %s", url, why);
	}
}

/* The URL for nng: tcp:// in place of tls://, since TLS is not nng's here. The caller frees it. */
static char *
url_for_nng(const char *url)
{
	char *own = strdup(url);

	if (own != NULL && url_is_tls(url))
		memcpy(own, "tcp", 3);
	return own;
}

/* ---- streams ---- */

/* Takes nng over, also when it fails. */
static int
stream_new(struct stream **ret, nng_stream *nng, const char *url, bool dialled, struct err *e)
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
	s->dialled = dialled;
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
	return stream_new(ret, nng, url, true, e);
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

/* ---- listeners ---- */

/* The URL with the port that the system chose in place of 0. */
static int
set_url(struct listener *l, const char *url, struct err *e)
{
	const char *port = strrchr(url, ':') + 1;
	int bound = 0, n;

	assert(l->url == NULL);
	if (!url_is_local(url) && atoi(port) == 0 &&
	    nng_stream_listener_get_int(l->nng, NNG_OPT_TCP_BOUND_PORT, &bound) == 0)
		n = asprintf(&l->url, "%.*s%d", (int)(port - url), url, bound);
	else
		n = asprintf(&l->url, "%s", url);
	if (n < 0) {
		l->url = NULL;
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	}
	return 0;
}

int
listener_open(struct listener **ret, const char *url, unsigned mode, struct err *e)
{
	bool ipc = url_is_local(url);
	struct listener *l;
	char *at = NULL;
	int rc;

	if ((rc = url_check(url, e)) != 0)
		return rc;
	if ((l = calloc(1, sizeof *l)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	if ((rc = nng_call_init(&l->accept, e)) != 0)
		goto fail;
	if ((at = url_for_nng(url)) == NULL) {
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", url);
		goto fail;
	}
	if ((rc = nng_stream_listener_alloc(&l->nng, at)) != 0 ||
	    (ipc && (rc = nng_stream_listener_set_int(
			 l->nng, NNG_OPT_IPC_PERMISSIONS, (int)mode)) != 0) ||
	    (rc = nng_stream_listener_listen(l->nng)) != 0) {
		rc = fail_listen(e, url, rc);
		goto fail;
	}
	if ((rc = set_url(l, url, e)) != 0)
		goto fail;
	free(at);
	*ret = l;
	return 0;
fail:
	free(at);
	listener_close(l);
	return rc;
}

const char *
listener_url(const struct listener *l)
{
	return l->url;
}

static void
start_accept(void *of, nng_aio *aio)
{
	nng_stream_listener_accept(of, aio);
}

int
listener_accept(struct listener *l, struct stream **ret, int timeout_ms, struct err *e)
{
	int rc = nng_call_run(&l->accept, start_accept, l->nng, timeout_ms);

	switch (rc) {
	case 0:
		return stream_new(ret, nng_aio_get_output(l->accept.aio, 0), l->url, false, e);
	case NNG_ETIMEDOUT:
		return err_set(e, ERR_TIMEOUT, "%s: no connection for %d ms", l->url, timeout_ms);
	case NNG_ENOFILES:
		return err_set(e, ERR_FULL, "%s: %s: raise the limit of open files (ulimit -n)",
		    l->url, nng_strerror(rc));
	default:
		return transport_failed(e, l->url, "accepting", rc, timeout_ms);
	}
}

void
listener_abort(struct listener *l)
{
	nng_call_abort(&l->accept);
}

void
listener_close(struct listener *l)
{
	if (l == NULL)
		return;
	nng_call_release(&l->accept);
	if (l->nng != NULL) {
		nng_stream_listener_close(l->nng);
		nng_stream_listener_free(l->nng);
	}
	free(l->url);
	free(l);
}
