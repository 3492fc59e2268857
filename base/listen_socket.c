/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* accept4(), struct ucred */
#include "base/listen_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stream_inside.h"

/* BACKLOG: connections that the kernel holds until they are accepted. Beyond it TCP clients try again after 1 s. */
enum { DEFER_S = 3, BACKLOG = 256, SCHEME_BYTES = 6, LOCK_MS = 1000, AGAIN_MS = 5 };

struct listen_socket {
	int fd;
	char *url;
	bool local;
	bool bound; /* the socket file is ours: this one */
	dev_t dev;
	ino_t ino;
};

static int
fail_listen(struct err *e, const char *url)
{
	const char *why = strerror(errno);

	switch (errno) {
	case EADDRINUSE:
		return err_set(e, ERR_BUSY, "%s: %s: another program listens there", url, why);
	case EACCES:
	case EPERM:
		return err_set(e, ERR_SYSTEM,
		    "%s: %s: is writing to the folder, or using this port, permitted?", url, why);
	case EADDRNOTAVAIL:
	case ENOENT:
	case ENOTDIR:
		return err_set(e, ERR_SYSTEM,
		    "%s: %s: does the folder exist, or is the address one of this machine?", url,
		    why);
	default:
		return err_set(e, ERR_SYSTEM, "%s: cannot listen: %s", url, why);
	}
}

/* ---- local sockets ---- */

/* Removes a stale socket file. */
static int
clear_stale(const char *url, const struct sockaddr_un *to, struct err *e)
{
	struct stat st;
	int fd, rc;

	if (lstat(to->sun_path, &st) != 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", url);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_BUSY, "%s: this file is not a socket: move it away", url);
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
		return err_errno(e, "%s: socket", url);
	rc = connect(fd, (const struct sockaddr *)to, sizeof *to);
	if (rc == 0 || errno == EAGAIN) /* EAGAIN: a program listens, its backlog is full */
		rc = err_set(e, ERR_BUSY,
		    "%s: another program listens there: stop it, or choose another path", url);
	else if (errno != ECONNREFUSED)
		rc = err_errno(e, "%s", url);
	else
		rc = unlink(to->sun_path) == 0 || errno == ENOENT
		         ? 0
		         : err_errno(e, "%s: cannot replace the stale socket", url);
	close(fd);
	return rc;
}

/*
 * Two programs that start at once on one stale file would both see that nobody listens there, and the later one would remove the
 * socket of the other. So from the look until listen() one of them has the lock of the folder (flock(2)), which ends with the process and
 * leaves no file. *lock is to be closed; -1: a folder that may not be read, or on a file system without locks, is not locked; nor is one
 * whose lock somebody has for LOCK_MS: who may read the folder can hold it, and must not keep a program from starting.
 */
static int
lock_folder(int *lock, const char *url, const char *path, struct err *e)
{
	const struct timespec pause = { .tv_nsec = AGAIN_MS * 1000000L };
	int64_t until_ns = clock_mono().ns + LOCK_MS * INT64_C(1000000);
	char *folder = strndup(path, (size_t)(strrchr(path, '/') - path) + 1);

	if (folder == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	*lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	while (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || clock_mono().ns >= until_ns) {
			close(*lock);
			*lock = -1;
			break;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Nobody can connect before listen(), so the mode is set in time. */
static int
bind_local(struct listen_socket *l, const char *url, const struct sockaddr_un *at, unsigned mode,
    struct err *e)
{
	struct stat st;
	int rc;

	if ((rc = clear_stale(url, at, e)) != 0)
		return rc;
	if ((l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0 ||
	    bind(l->fd, (const struct sockaddr *)at, sizeof *at) != 0)
		return fail_listen(e, url);
	if (lstat(at->sun_path, &st) == 0) {
		l->bound = true;
		l->dev = st.st_dev;
		l->ino = st.st_ino;
	}
	if (chmod(at->sun_path, mode) != 0 || listen(l->fd, BACKLOG) != 0)
		return fail_listen(e, url);
	return 0;
}

static int
open_local(struct listen_socket *l, const char *url, unsigned mode, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int lock = -1, rc;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", url + SCHEME_BYTES);
	if ((rc = lock_folder(&lock, url, at.sun_path, e)) == 0)
		rc = bind_local(l, url, &at, mode, e);
	if (lock >= 0)
		close(lock);
	return rc;
}

/* ---- TCP ---- */

static bool
bind_to(struct listen_socket *l, const struct addrinfo *a)
{
	int one = 1, seconds = DEFER_S, error;

	if ((l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
		return false;
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(l->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
	if (bind(l->fd, a->ai_addr, a->ai_addrlen) == 0 && listen(l->fd, BACKLOG) == 0)
		return true;
	error = errno;
	close(l->fd);
	l->fd = -1;
	errno = error;
	return false;
}

static int
open_tcp(struct listen_socket *l, const char *url, struct err *e)
{
	struct addrinfo wish = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE
	};
	struct addrinfo *list = NULL;
	char *host = url_host(url);
	bool any = host != NULL && (host[0] == '\0' || strcmp(host, "*") == 0);
	int rc;

	if (host == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	rc = getaddrinfo(any ? NULL : host, strrchr(url, ':') + 1, &wish, &list);
	free(host);
	if (rc != 0)
		return err_set(e, ERR_SYSTEM, "%s: %s: is the address one of this machine?", url,
		    gai_strerror(rc));
	errno = EADDRNOTAVAIL;
	for (const struct addrinfo *a = list; a != NULL && l->fd < 0; a = a->ai_next)
		if (bind_to(l, a))
			break;
	rc = l->fd >= 0 ? 0 : fail_listen(e, url);
	freeaddrinfo(list);
	return rc;
}

/* The URL with the port that the system chose in place of 0. */
static int
set_url(struct listen_socket *l, const char *url, struct err *e)
{
	const char *port = strrchr(url, ':') + 1;
	struct sockaddr_in6 at = { 0 }; /* the port is at the same place in addresses of IPv4 */
	socklen_t size = sizeof at;
	int n;

	if (!l->local && atoi(port) == 0 && getsockname(l->fd, (struct sockaddr *)&at, &size) == 0)
		n = asprintf(&l->url, "%.*s%d", (int)(port - url), url, ntohs(at.sin6_port));
	else
		n = asprintf(&l->url, "%s", url);
	if (n < 0) {
		l->url = NULL;
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	}
	return 0;
}

int
listen_socket_open(struct listen_socket **ret, const char *url, unsigned mode, struct err *e)
{
	struct listen_socket *l;
	int rc;

	if ((rc = url_check(url, e)) != 0)
		return rc;
	if ((l = calloc(1, sizeof *l)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", url);
	l->fd = -1;
	l->local = url_is_local(url);
	if ((rc = l->local ? open_local(l, url, mode, e) : open_tcp(l, url, e)) != 0 ||
	    (rc = set_url(l, url, e)) != 0) {
		listen_socket_close(l);
		return rc;
	}
	*ret = l;
	return 0;
}

const char *
listen_socket_url(const struct listen_socket *l)
{
	return l->url;
}

int
listen_socket_fd(const struct listen_socket *l)
{
	return l->fd;
}

/* ---- accepting ---- */

/* Of ::ffff:192.0.2.7 all of the address is the source's. */
static void
name_address(struct accepted_socket *a, const struct sockaddr_storage *from)
{
	char text[INET6_ADDRSTRLEN] = "", network[INET6_ADDRSTRLEN] = "";

	if (from->ss_family == AF_INET) {
		inet_ntop(
		    AF_INET, &((const struct sockaddr_in *)from)->sin_addr, text, sizeof text);
	} else if (from->ss_family == AF_INET6) {
		struct in6_addr in = ((const struct sockaddr_in6 *)from)->sin6_addr;

		inet_ntop(AF_INET6, &in, text, sizeof text);
		memset(in.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &in, network, sizeof network);
	}
	snprintf(a->address, sizeof a->address, "%.46s",
	    strncmp(text, "::ffff:", 7) == 0 ? text + 7 : text);
	if (network[0] != '\0' && strncmp(text, "::ffff:", 7) != 0)
		snprintf(a->network, sizeof a->network, "%.40s/64", network);
	else
		snprintf(a->network, sizeof a->network, "%s", a->address);
}

int
listen_socket_accept(struct listen_socket *l, struct accepted_socket *ret, struct err *e)
{
	struct sockaddr_storage from = { 0 };
	socklen_t size = sizeof from;
	struct ucred who;
	int one = 1;

	*ret = (struct accepted_socket){ .local = l->local, .uid = -1, .pid = -1 };
	do
		ret->fd = accept4(
		    l->fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
	while (ret->fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (ret->fd < 0 && errno == EAGAIN)
		return err_set(e, ERR_MISSING, "%s: no connection waits", l->url);
	if (ret->fd < 0 && (errno == EMFILE || errno == ENFILE))
		return err_set(e, ERR_FULL, "%s: %s: raise the limit of open files (ulimit -n)",
		    l->url, strerror(errno));
	if (ret->fd < 0)
		return err_errno(e, "%s: accepting", l->url);
	if (!l->local) {
		setsockopt(ret->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		name_address(ret, &from);
		return 0;
	}
	size = sizeof who;
	if (getsockopt(ret->fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) {
		ret->uid = (int)who.uid;
		ret->pid = (int)who.pid;
	}
	return 0;
}

void
listen_socket_close(struct listen_socket *l)
{
	struct stat st;

	if (l == NULL)
		return;
	/* Another program may have replaced the file. */
	if (l->bound && l->url != NULL && lstat(l->url + SCHEME_BYTES, &st) == 0 &&
	    st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(l->url + SCHEME_BYTES);
	if (l->fd >= 0)
		close(l->fd);
	free(l->url);
	free(l);
}
