/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listen_address.h"
#include "otel/grpc/grpc_door.h"

enum { EVENTS = 64, ACCEPTS = 64, READ_BYTES = 65536, READS = 4, BACKLOG = 1024 };
#define LOOK_EVERY_NS INT64_C(250000000)
#define PAUSE_NS INT64_C(100000000) /* nothing is accepted, since there is no room */

struct grpc_peer {
	TAILQ_ENTRY(grpc_peer) turn; /* in `fresh` or `used` */
	int fd;
	bool used;                          /* it made a call that was answered */
	bool ending;                        /* only its output is written */
	bool waits;                         /* for room to write: nothing is read meanwhile */
	struct mono accepted, heard, stuck; /* stuck: since when it waits */
	struct grpc_connection *h2;         /* NULL: no byte has come */
	struct buf output;
	size_t written;
};

TAILQ_HEAD(grpc_peers, grpc_peer);

struct grpc_door {
	struct grpc_door_options o;
	struct grpc_service *service;
	int listener, epoll;
	bool paused, local;
	struct mono paused_at, looked_at;
	struct grpc_peers fresh; /* in the order in which they were accepted */
	struct grpc_peers used;  /* the one that was quiet for the longest time first */
	struct grpc_door_stats stats;
	char url[INET6_ADDRSTRLEN + 64];
	uint8_t bytes[READ_BYTES];
};

/* ---- peers ---- */

static void
peer_close(struct grpc_door *d, struct grpc_peer *p)
{
	TAILQ_REMOVE(p->used ? &d->used : &d->fresh, p, turn);
	close(p->fd); /* which takes it from the epoll set */
	grpc_connection_free(p->h2);
	buf_release(&p->output);
	free(p);
	d->stats.open--;
}

/* False: it is closed. */
static bool
listen_for(struct grpc_door *d, struct grpc_peer *p, bool waits, struct mono now)
{
	struct epoll_event e = { .events = waits ? EPOLLOUT : EPOLLIN, .data.ptr = p };

	if (p->waits == waits)
		return true;
	p->waits = waits;
	p->stuck = now;
	if (epoll_ctl(d->epoll, EPOLL_CTL_MOD, p->fd, &e) == 0)
		return true;
	peer_close(d, p);
	return false;
}

/* Writes what there is. False: it is closed. */
static bool
peer_write(struct grpc_door *d, struct grpc_peer *p, struct mono now)
{
	bool whole = true;
	ssize_t n;

	while (p->h2 != NULL) {
		if (p->written == p->output.len) {
			buf_reset(&p->output);
			p->written = 0;
			whole = whole && grpc_connection_output(p->h2, &p->output);
			if (p->output.len == 0)
				break;
		}
		n = send(p->fd, p->output.data + p->written, p->output.len - p->written,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return listen_for(d, p, true, now);
		if (n < 0) {
			peer_close(d, p);
			return false;
		}
		p->written += (size_t)n;
	}
	buf_release(&p->output);
	if (!whole || p->ending) {
		peer_close(d, p);
		return false;
	}
	return listen_for(d, p, false, now);
}

static void
note_use(struct grpc_door *d, struct grpc_peer *p, struct mono now)
{
	p->heard = now;
	if (grpc_connection_answered(p->h2) == 0)
		return;
	TAILQ_REMOVE(p->used ? &d->used : &d->fresh, p, turn);
	p->used = true;
	TAILQ_INSERT_TAIL(&d->used, p, turn);
}

static void
peer_read(struct grpc_door *d, struct grpc_peer *p, struct mono now)
{
	ssize_t n;

	for (int i = 0; i < READS; i++) {
		n = recv(p->fd, d->bytes, sizeof d->bytes, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0 ||
		    (p->h2 == NULL && grpc_connection_new(&p->h2, d->service, NULL) != 0)) {
			peer_close(d, p);
			return;
		}
		p->ending = !grpc_connection_take(p->h2, d->bytes, (size_t)n, now);
		note_use(d, p, now);
		if (!peer_write(d, p, now) || p->waits || (size_t)n < sizeof d->bytes)
			return;
	}
}

/* ---- accepting ---- */

static bool
may_displace(const struct grpc_peer *p, struct mono now)
{
	return p->h2 == NULL || grpc_connection_open_calls(p->h2) == 0 ||
	       mono_since_ns(now, p->heard) >= GRPC_SILENT_NS;
}

static struct grpc_peer *
first_to_displace(struct grpc_peers *list, struct mono now)
{
	struct grpc_peer *p = TAILQ_FIRST(list);

	while (p != NULL && !may_displace(p, now))
		p = TAILQ_NEXT(p, turn);
	return p;
}

static struct grpc_peer *
to_displace(struct grpc_door *d, struct mono now)
{
	struct grpc_peer *p = first_to_displace(&d->fresh, now);

	return p != NULL ? p : first_to_displace(&d->used, now);
}

/* Makes room for a connection. The peer is told by GOAWAY, if that can be sent at once. */
static void
displace(struct grpc_door *d, struct grpc_peer *p, struct mono now)
{
	d->stats.displaced++;
	p->ending = true;
	if (p->h2 != NULL)
		grpc_connection_end(p->h2);
	if (p->h2 == NULL || p->waits || peer_write(d, p, now))
		peer_close(d, p);
}

static void
pause_accepting(struct grpc_door *d, bool pause, struct mono now)
{
	struct epoll_event e = { .events = pause ? 0 : EPOLLIN, .data.ptr = d };

	d->paused = pause;
	d->paused_at = now;
	epoll_ctl(d->epoll, EPOLL_CTL_MOD, d->listener, &e);
}

static bool
peer_new(struct grpc_door *d, int fd, struct mono now)
{
	struct grpc_peer *p = calloc(1, sizeof *p);
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = p };
	const int on = 1;

	if (p == NULL || epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
		free(p);
		return false;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on); /* a host that is gone */
	p->fd = fd;
	p->accepted = p->heard = now;
	TAILQ_INSERT_TAIL(&d->fresh, p, turn);
	d->stats.open++;
	d->stats.accepted++;
	return true;
}

/* Without room, connections wait in the kernel's queue. */
static void
accept_some(struct grpc_door *d, struct mono now)
{
	struct grpc_peer *other = NULL;
	int fd;

	for (int i = 0; i < ACCEPTS; i++) {
		if (d->stats.open >= d->o.connections && (other = to_displace(d, now)) == NULL) {
			pause_accepting(d, true, now);
			return;
		}
		fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR) { /* no descriptor is left */
			if ((other = to_displace(d, now)) != NULL)
				displace(d, other, now);
			pause_accepting(d, true, now);
			return;
		}
		if (fd >= 0 && d->stats.open >= d->o.connections)
			displace(d, other, now);
		if (fd >= 0 && !peer_new(d, fd, now))
			close(fd);
	}
}

/* ---- time ---- */

static bool
is_overdue(const struct grpc_door *d, const struct grpc_peer *p, struct mono now)
{
	if (p->waits && mono_since_ns(now, p->stuck) >= d->o.idle_ns)
		return true;
	if (!p->used && mono_since_ns(now, p->accepted) >= d->o.idle_ns)
		return true;
	return p->h2 != NULL && grpc_connection_open_calls(p->h2) > 0 &&
	       mono_since_ns(now, grpc_connection_oldest(p->h2)) >= d->o.idle_ns;
}

static void
close_overdue(struct grpc_door *d, struct grpc_peers *list, struct mono now)
{
	for (struct grpc_peer *p = TAILQ_FIRST(list), *next; p != NULL; p = next) {
		next = TAILQ_NEXT(p, turn);
		if (!is_overdue(d, p, now))
			continue;
		d->stats.overdue++;
		peer_close(d, p);
	}
}

static void
look_at_times(struct grpc_door *d, struct mono now)
{
	if (d->paused && mono_since_ns(now, d->paused_at) >= PAUSE_NS)
		pause_accepting(d, false, now);
	if (mono_since_ns(now, d->looked_at) < LOOK_EVERY_NS)
		return;
	d->looked_at = now;
	close_overdue(d, &d->fresh, now);
	close_overdue(d, &d->used, now);
}

/* ---- the door ---- */

/* What was accepted before is read first, so that a flood of connections does not displace one that has something to say. */
void
grpc_door_step(struct grpc_door *d, struct mono now)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(d->epoll, events, EVENTS, 0);
	bool more = false;

	for (int i = 0; i < n; i++) {
		struct grpc_peer *p = events[i].data.ptr;

		if (events[i].data.ptr == d)
			more = true;
		else if (p->waits)
			peer_write(d, p, now);
		else
			peer_read(d, p, now);
	}
	if (more && !d->paused)
		accept_some(d, now);
	look_at_times(d, now);
}

static int
listen_at(struct grpc_door *d, struct listen_address *a, struct err *e)
{
	socklen_t len = a->place.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
	                                               : sizeof(struct sockaddr_in);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = d };
	const int on = 1;
	int port;

	d->listener = socket(a->place.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->listener < 0 || d->epoll < 0)
		return err_errno(e, "socket");
	setsockopt(d->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(d->listener, (struct sockaddr *)&a->place, len) != 0 ||
	    listen(d->listener, BACKLOG) != 0 ||
	    getsockname(d->listener, (struct sockaddr *)&a->place, &len) != 0)
		return err_set(
		    e, ERR_SYSTEM, "cannot listen at %s: %s", d->o.address, strerror(errno));
	if (epoll_ctl(d->epoll, EPOLL_CTL_ADD, d->listener, &event) != 0)
		return err_errno(e, "epoll_ctl");
	port = ntohs(a->place.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a->place)->sin6_port
						    : ((struct sockaddr_in *)&a->place)->sin_port);
	d->local = a->local;
	snprintf(d->url, sizeof d->url, "http://%.*s:%d", a->host_len, d->o.address, port);
	return 0;
}

int
grpc_door_open(struct grpc_door **ret, const struct grpc_door_options *o, struct err *e)
{
	struct grpc_door *d = calloc(1, sizeof *d);
	struct listen_address a;
	int rc;

	if (d == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	d->o = *o;
	d->listener = d->epoll = -1;
	TAILQ_INIT(&d->fresh);
	TAILQ_INIT(&d->used);
	if (!listen_address_read(&a, o->address))
		rc = err_set(e, ERR_INPUT, "%s is no address", o->address);
	else if ((rc = grpc_service_new(&d->service, &o->service, e)) == 0)
		rc = listen_at(d, &a, e);
	if (rc != 0) {
		grpc_door_close(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void
grpc_door_close(struct grpc_door *d)
{
	if (d == NULL)
		return;
	while (!TAILQ_EMPTY(&d->fresh))
		peer_close(d, TAILQ_FIRST(&d->fresh));
	while (!TAILQ_EMPTY(&d->used))
		peer_close(d, TAILQ_FIRST(&d->used));
	grpc_service_free(d->service);
	if (d->listener >= 0)
		close(d->listener);
	if (d->epoll >= 0)
		close(d->epoll);
	free(d);
}

int
grpc_door_descriptor(const struct grpc_door *d)
{
	return d->epoll;
}

const char *
grpc_door_url(const struct grpc_door *d)
{
	return d->url;
}

bool
grpc_door_local(const struct grpc_door *d)
{
	return d->local;
}

void
grpc_door_stats(const struct grpc_door *d, struct grpc_door_stats *ret)
{
	*ret = d->stats;
	ret->calls = *grpc_service_stats(d->service);
}
