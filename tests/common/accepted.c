/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/common/accepted.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/channel.h"
#include "base/clock.h"

enum { LINGER_MS = 300 };

struct accepted {
	struct channel channel;
	pthread_mutex_t
	    lock; /* of the channel, which is for one thread at a time; nobody waits with it */
};

static struct mono
in_ms(int ms)
{
	return (struct mono){ clock_mono().ns + ms * INT64_C(1000000) };
}

static int
wait_for(int fd, short events, struct mono until, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left_ns = mono_since_ns(until, clock_mono());

	if (left_ns <= 0 || poll(&p, 1, (int)(left_ns / 1000000) + 1) == 0)
		return err_set(e, ERR_TIMEOUT, "nothing came or went in time");
	return 0;
}

int
accepted_listen(struct listen_socket **ret, const char *url, struct err *e)
{
	int rc = listen_socket_open(ret, url, 0600, e), none = 0;

	if (rc == 0) /* fails for a local socket, which does not defer */
		setsockopt(
		    listen_socket_fd(*ret), IPPROTO_TCP, TCP_DEFER_ACCEPT, &none, sizeof none);
	return rc;
}

int
accepted_open(struct accepted **ret, struct listen_socket *l, int timeout_ms, struct err *e)
{
	struct mono until = in_ms(timeout_ms);
	struct accepted *a = calloc(1, sizeof *a);
	struct accepted_socket s;
	int rc;

	if (a == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	while ((rc = listen_socket_accept(l, &s, e)) == ERR_MISSING)
		if ((rc = wait_for(listen_socket_fd(l), POLLIN, until, e)) != 0)
			break;
	if (rc != 0) {
		free(a);
		return rc;
	}
	channel_init(&a->channel, s.fd);
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

/* ---- bytes ---- */

/* The kernel is asked each time, in place of an event loop that clears `drained`. */
static int
read_some(struct accepted *a, void *data, size_t size, size_t *n, struct err *e)
{
	int rc;

	pthread_mutex_lock(&a->lock);
	a->channel.drained = false;
	rc = channel_read(&a->channel, data, size, n, e);
	pthread_mutex_unlock(&a->lock);
	return rc;
}

int
accepted_read(struct accepted *a, void *data, size_t len, int timeout_ms, struct err *e)
{
	struct mono until = in_ms(timeout_ms);
	char *at = data;
	size_t n;
	int rc;

	while (len > 0) {
		n = 0;
		rc = read_some(a, at, len, &n, e);
		if (rc == CHANNEL_LATER)
			rc = wait_for(a->channel.fd, POLLIN, until, e);
		if (rc < 0)
			return rc;
		at += n;
		len -= n;
	}
	return 0;
}

/* Writes some of the bytes; of none it sends what TLS still has to send. */
static int
write_some(struct accepted *a, const void *data, size_t len, size_t *n, struct err *e)
{
	int rc;

	pthread_mutex_lock(&a->lock);
	rc = len > 0 ? channel_write(&a->channel, data, len, n, e) : channel_flush(&a->channel, e);
	pthread_mutex_unlock(&a->lock);
	return rc;
}

static int
write_until(struct accepted *a, const char *at, size_t len, struct mono until, struct err *e)
{
	size_t n;
	int rc;

	do {
		n = 0;
		rc = write_some(a, at, len, &n, e);
		at += n;
		len -= n;
		if (rc == CHANNEL_LATER && (rc = wait_for(a->channel.fd, POLLOUT, until, e)) == 0)
			rc = CHANNEL_LATER;
	} while (rc >= 0 && (len > 0 || n > 0 || rc == CHANNEL_LATER));
	return rc;
}

int
accepted_write(struct accepted *a, const void *data, size_t len, int timeout_ms, struct err *e)
{
	return write_until(a, data, len, in_ms(timeout_ms), e);
}

/* ---- TLS ---- */

/* Reads until the peer closes: closing a socket with unread bytes resets the connection, and the peer might not receive
 * the reason of the refusal. */
static void
linger(struct accepted *a)
{
	struct mono until = in_ms(LINGER_MS);
	int rc = 0;
	size_t n;

	while (rc >= 0) {
		a->channel.drained = false;
		if ((rc = channel_discard(&a->channel, &n, NULL)) == CHANNEL_LATER)
			rc = wait_for(a->channel.fd, POLLIN, until, NULL);
	}
}

int
accepted_secure(struct accepted *a, struct tls *t, int timeout_ms, struct err *e)
{
	struct mono until = in_ms(timeout_ms);
	struct channel *c = &a->channel;
	struct err why = { 0 };
	int rc = channel_secure(c, t, &why);

	while (rc == 0) {
		c->drained = false;
		if ((rc = channel_take_in(c, &why)) == CHANNEL_LATER)
			rc = wait_for(c->fd, POLLIN, until, &why);
		else if (rc == 0 && (rc = channel_shake(c, &why)) == CHANNEL_LATER)
			rc = write_until(a, NULL, 0, until, &why);
		else if (rc == 0)
			return write_until(a, NULL, 0, until, e);
		else if (write_until(a, NULL, 0, until, NULL) == 0)
			linger(a);
	}
	return err_set(e, rc, "TLS handshake: %s", why.text);
}

const char *
accepted_name(struct accepted *a)
{
	return channel_peer_name(&a->channel);
}

int
accepted_trusted(struct accepted *a, struct err *e)
{
	return channel_trusted(&a->channel, e);
}

/* ---- the end ---- */

void
accepted_abort(struct accepted *a)
{
	shutdown(a->channel.fd, SHUT_RDWR);
}

void
accepted_close(struct accepted *a)
{
	if (a == NULL)
		return;
	channel_close(&a->channel);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
