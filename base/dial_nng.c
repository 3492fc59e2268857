/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dialling. nng itself tries only the first address of a name, and a name often has two: localhost
 * is ::1 and 127.0.0.1. So names are resolved here, and their addresses are tried one after the
 * other, in the system's order (RFC 6724).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <nng/nng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stream_inside.h"

enum { SCHEME_BYTES = 6, AGAIN_NS = 2000000 }; /* SCHEME_BYTES: of tcp://, tls://, ipc:// */

static int
dial_one(struct nng_stream **ret, const char *url, int64_t limit_ms)
{
	nng_stream_dialer *dialer = NULL;
	nng_aio *aio = NULL;
	int rc;

	if ((rc = nng_stream_dialer_alloc(&dialer, url)) == 0 &&
	    (rc = nng_aio_alloc(&aio, NULL, NULL)) == 0) {
		nng_aio_set_timeout(aio, limit_ms < 1 ? 1 : (nng_duration)limit_ms);
		nng_stream_dialer_dial(dialer, aio);
		nng_aio_wait(aio);
		if ((rc = nng_aio_result(aio)) == 0)
			*ret = nng_aio_get_output(aio, 0);
	}
	nng_aio_free(aio);
	if (dialer != NULL) {
		nng_stream_dialer_close(dialer);
		nng_stream_dialer_free(dialer);
	}
	return rc;
}

/* A local socket with a full backlog fails with EAGAIN at once, where TCP would wait; so this retries until
 * the time limit. */
static int
dial_local(struct nng_stream **ret, const char *url, struct mono until)
{
	int64_t left_ms;
	int rc;

	for (;;) {
		left_ms = mono_since_ns(until, clock_mono()) / 1000000;
		if ((rc = dial_one(ret, url, left_ms)) != NNG_EAGAIN || left_ms <= 0)
			return rc;
		nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
	}
}

static void
url_of(char *out, size_t size, const struct addrinfo *a)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (a->ai_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)a->ai_addr;

		inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
		snprintf(out, size, "tcp://[%s]:%d", text, ntohs(in->sin6_port));
	} else {
		const struct sockaddr_in *in = (const void *)a->ai_addr;

		inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
		snprintf(out, size, "tcp://%s:%d", text, ntohs(in->sin_port));
	}
}

/* Each address gets an equal part of the time left. Returns the result of the last attempt. */
static int
dial_each(struct nng_stream **ret, const struct addrinfo *list, struct mono until)
{
	char url[INET6_ADDRSTRLEN + 32];
	int left = 0, rc = NNG_EADDRINVAL;

	for (const struct addrinfo *a = list; a != NULL; a = a->ai_next)
		left++;
	for (const struct addrinfo *a = list; a != NULL; a = a->ai_next, left--) {
		int64_t ms = mono_since_ns(until, clock_mono()) / 1000000 / left;

		url_of(url, sizeof url, a);
		if ((rc = dial_one(ret, url, ms)) == 0)
			return 0;
	}
	return rc;
}

int
transport_dial(struct nng_stream **ret, const char *url, int timeout_ms)
{
	struct addrinfo wish = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *list = NULL;
	struct mono until = { clock_mono().ns + timeout_ms * INT64_C(1000000) };
	char *host;
	int rc;

	if (strncmp(url, "ipc://", SCHEME_BYTES) == 0)
		return dial_local(ret, url, until);
	if ((host = url_host(url)) == NULL)
		return NNG_ENOMEM;
	rc = getaddrinfo(host, strrchr(url, ':') + 1, &wish, &list);
	free(host);
	if (rc != 0)
		return rc == EAI_MEMORY ? NNG_ENOMEM : NNG_EADDRINVAL;
	rc = dial_each(ret, list, until);
	freeaddrinfo(list);
	return rc;
}
