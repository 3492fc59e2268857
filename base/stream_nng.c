/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/stream.h over nng_stream: streams and listeners. */
#define _GNU_SOURCE
#include "base/stream.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/stream_inside.h"
#include "base/transport_nng.h"

static const char IPC[] = "ipc://", TCP[] = "tcp://", TLS[] = "tls://";

enum { DEFER_S = 3 };

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

/* Accepts the URLs that this file handles; nng has further kinds. */
static int
check_url(const char *url, struct err *e)
{
	if (strncmp(url, IPC, strlen(IPC)) == 0) {
		const char *path = url + strlen(IPC);

		if (path[0] != '/' || strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
			return err_set(e, ERR_INPUT,
			    "%s: the path must begin with / and have under %zu bytes", url,
			    sizeof((struct sockaddr_un *)NULL)->sun_path);
		return 0;
	}
	if (strncmp(url, TCP, strlen(TCP)) == 0 || url_is_tls(url)) {
		const char *port = strrchr(url + strlen(TCP), ':');

		if (port == NULL || port[1] == 0 || port[1 + strspn(port + 1, "0123456789")] != 0 ||
		    strlen(port) > 6 || atoi(port + 1) > UINT16_MAX)
			return err_set(e, ERR_INPUT,
			    "%s: the port is missing or not a number: %.6shost:port", url, url);
		return 0;
	}
	return err_set(e, ERR_INPUT, "%s: want ipc:///path or tls://host:port", url);
}

bool
url_is_tls(const char *url)
{
	return strncmp(url, TLS, strlen(TLS)) == 0;
}

/* The URL for nng: tcp:// in place of tls://, since TLS is not nng's here. The caller frees it. */
static char *
url_for_nng(const char *url)
{
	char *own = strdup(url);

	if (own != NULL && url_is_tls(url))
		memcpy(own, TCP, strlen(TCP));
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

	if ((rc = check_url(url, e)) != 0)
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

int
stream_peer(struct stream *s, int *uid, int *pid)
{
	uint64_t u, p;

	if (nng_stream_get_uint64(s->transport->nng, NNG_OPT_IPC_PEER_UID, &u) != 0 ||
	    nng_stream_get_uint64(s->transport->nng, NNG_OPT_IPC_PEER_PID, &p) != 0)
		return ERR_MISSING;
	*uid = (int)u;
	*pid = (int)p;
	return 0;
}

const char *
stream_address(const struct stream *s)
{
	return s->address;
}

bool
stream_heard(const struct stream *s)
{
	return atomic_load(&s->heard);
}

/* ---- listeners ---- */

/*
 * Removes a stale socket file. nng would do so too, but it takes every file that it cannot connect to
 * for a stale socket, data files included.
 */
static int
clear_stale(const char *url, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = url + strlen(IPC);
	struct stat st;
	int fd, rc;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", url);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_BUSY, "%s: this file is not a socket: move it away", url);
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
		return err_errno(e, "%s: socket", url);
	memcpy(to.sun_path, path, strlen(path) + 1);
	rc = connect(fd, (struct sockaddr *)&to, sizeof to);
	if (rc == 0 || errno == EAGAIN) /* EAGAIN: a program listens, its backlog is full */
		rc = err_set(e, ERR_BUSY,
		    "%s: another program listens there: stop it, or choose another path", url);
	else if (errno != ECONNREFUSED)
		rc = err_errno(e, "%s", url);
	else
		rc = unlink(path) == 0 || errno == ENOENT
		         ? 0
		         : err_errno(e, "%s: cannot replace the stale socket", url);
	close(fd);
	return rc;
}

/* The URL with the port that the system chose in place of 0. */
static int
set_url(struct listener *l, const char *url, struct err *e)
{
	const char *port = strrchr(url, ':') + 1;
	int bound = 0, n;

	assert(l->url == NULL);
	if (strncmp(url, IPC, strlen(IPC)) != 0 && atoi(port) == 0 &&
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
	bool ipc = strncmp(url, IPC, strlen(IPC)) == 0;
	struct listener *l;
	char *at = NULL;
	int rc;

	if ((rc = check_url(url, e)) != 0 || (ipc && (rc = clear_stale(url, e)) != 0))
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

/* nng does not give its socket away: it is found by its port. Not finding it costs only this defence. */
void
listener_defer(const struct listener *l)
{
	bool ipc = strncmp(l->url, IPC, strlen(IPC)) == 0;
	int port = ipc ? 0 : atoi(strrchr(l->url, ':') + 1), seconds = DEFER_S;
	DIR *dir = ipc ? NULL : opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		struct sockaddr_in6 at = { 0 };
		socklen_t size = sizeof at, one = sizeof(int);
		int fd = atoi(entry->d_name), listens = 0;

		/* The port is at the same place in addresses of IPv4. */
		if (getsockname(fd, (struct sockaddr *)&at, &size) == 0 &&
		    (at.sin6_family == AF_INET || at.sin6_family == AF_INET6) &&
		    ntohs(at.sin6_port) == port &&
		    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &one) == 0 && listens != 0)
			setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
	}
	if (dir != NULL)
		closedir(dir);
}

static void
start_accept(void *of, nng_aio *aio)
{
	nng_stream_listener_accept(of, aio);
}

/* Notes the peer's address, and puts it in front of the URL of TLS, for errors and logs. Out of memory, the listener's
 * URL stays. */
static void
name_by_address(struct stream *s)
{
	char address[INET6_ADDRSTRLEN] = "", *name;
	nng_sockaddr a;

	if (nng_stream_get_addr(s->transport->nng, NNG_OPT_REMADDR, &a) != 0)
		return;
	if (a.s_family == NNG_AF_INET) {
		inet_ntop(AF_INET, &a.s_in.sa_addr, address, sizeof address);
		snprintf(s->address, sizeof s->address, "%s", address);
	} else if (a.s_family == NNG_AF_INET6) {
		char network[INET6_ADDRSTRLEN] = "";

		inet_ntop(AF_INET6, &a.s_in6.sa_addr, address, sizeof address);
		memset((char *)&a.s_in6.sa_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &a.s_in6.sa_addr, network, sizeof network);
		/* Of ::ffff:192.0.2.7 all of the address is the source's. */
		if (strncmp(address, "::ffff:", 7) == 0)
			snprintf(s->address, sizeof s->address, "%.40s", address + 7);
		else
			snprintf(s->address, sizeof s->address, "%.40s/64", network);
	}
	if (!s->tls || address[0] == '\0' || asprintf(&name, "%s at %s", address, s->url) < 0)
		return;
	free(s->url);
	s->url = name;
}

int
listener_accept(struct listener *l, struct stream **ret, int timeout_ms, struct err *e)
{
	int rc = nng_call_run(&l->accept, start_accept, l->nng, timeout_ms);

	switch (rc) {
	case 0:
		if ((rc = stream_new(
			 ret, nng_aio_get_output(l->accept.aio, 0), l->url, false, e)) == 0)
			name_by_address(*ret);
		return rc;
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
