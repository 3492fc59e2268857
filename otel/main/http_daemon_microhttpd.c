/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/http_daemon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/listen_address.h"

enum { CONNECTION_BYTES = 32768, RUNS = 4 };

struct http_peer { /* a connection */
	TAILQ_ENTRY(http_peer) turn;
	int fd;
	bool asked, open,
	    leaving; /* asked: has made a request; open: makes one now; leaving: it was displaced */
	struct mono heard;
};
TAILQ_HEAD(http_peers, http_peer);

/* fresh: never made a request, the oldest first; used: the one that was quiet for the longest time first. Those that leave are in neither. */
struct http_daemon {
	struct MHD_Daemon *daemon;
	struct http_daemon_options o;
	struct http_peers fresh, used;
	unsigned staying; /* in both lists */
	uint64_t displaced;
	void (*log)(enum log_level level, const char *text);
	bool local;
	char url[INET6_ADDRSTRLEN + 64];
};

static void
take_log(void *of, const char *fmt, va_list ap)
{
	struct http_daemon *d = of;
	char text[400];

	vsnprintf(text, sizeof text, fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	d->log(LOG_DEBUG, text);
}

/* ---- connections ---- */

static struct http_peer *
peer_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(
	    c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i != NULL ? i->socket_context : NULL;
}

static struct http_peers *
list_of(struct http_daemon *d, const struct http_peer *p)
{
	return p->asked ? &d->used : &d->fresh;
}

/* libmicrohttpd accepts several connections before it reads the first of them: one that has said something by then is not silent. */
static bool
has_unread(const struct http_peer *p)
{
	int n = 0;

	return ioctl(p->fd, FIONREAD, &n) == 0 && n > 0;
}

static struct http_peer *
first_to_displace(struct http_peers *list, struct mono now)
{
	struct http_peer *p = TAILQ_FIRST(list);

	while (p != NULL && (p->open || has_unread(p)) &&
	       mono_since_ns(now, p->heard) < HTTP_SILENT_NS)
		p = TAILQ_NEXT(p, turn);
	return p;
}

static void
leave(struct http_daemon *d, struct http_peer *p)
{
	TAILQ_REMOVE(list_of(d, p), p, turn);
	p->leaving = true;
	d->staying--;
}

/* Makes room for a connection. libmicrohttpd closes the one whose place it takes when it sees the end of its bytes. */
static void
displace(struct http_daemon *d, struct mono now)
{
	struct http_peer *p = first_to_displace(&d->fresh, now);

	if (p == NULL && (p = first_to_displace(&d->used, now)) == NULL)
		return;
	d->displaced++;
	leave(d, p);
	shutdown(p->fd, SHUT_RDWR);
}

static void
on_connection(
    void *of, struct MHD_Connection *c, void **context, enum MHD_ConnectionNotificationCode code)
{
	struct http_daemon *d = of;
	struct http_peer *p = *context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (p != NULL && !p->leaving)
			leave(d, p);
		free(p);
		*context = NULL;
		return;
	}
	if ((p = calloc(1, sizeof *p)) == NULL)
		return; /* a connection that is not displaced: libmicrohttpd still bounds their number and time */
	p->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	p->heard = clock_mono();
	if (d->staying >= d->o.connections)
		displace(d, p->heard);
	TAILQ_INSERT_TAIL(&d->fresh, p, turn);
	d->staying++;
	*context = p;
}

/* What came last from a peer, or ended last, makes its connection the last one in turn. */
static void
heard_from(struct http_daemon *d, struct MHD_Connection *c, bool open)
{
	struct http_peer *p = peer_of(c);

	if (p == NULL)
		return;
	p->heard = clock_mono();
	p->open = open;
	if (p->leaving)
		return;
	TAILQ_REMOVE(list_of(d, p), p, turn);
	p->asked = true;
	TAILQ_INSERT_TAIL(&d->used, p, turn);
}

static enum MHD_Result
on_request(void *of, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *body, size_t *body_len, void **state)
{
	struct http_daemon *d = of;

	heard_from(d, c, true);
	return d->o.ask(d->o.of, c, path, method, version, body, body_len, state);
}

static void
on_completed(void *of, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct http_daemon *d = of;

	heard_from(d, c, false);
	d->o.completed(d->o.of, c, state, why);
}

/* ---- the daemon ---- */

int
http_daemon_start(struct http_daemon **ret, const struct http_daemon_options *o, struct err *e)
{
	struct http_daemon *d = calloc(1, sizeof *d);
	const union MHD_DaemonInfo *port;
	struct listen_address a;
	int why;

	if (d == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (!listen_address_read(&a, o->address)) {
		free(d);
		return err_set(e, ERR_INPUT, "%s is no address", o->address);
	}
	d->local = a.local;
	d->log = o->log;
	d->o = *o;
	TAILQ_INIT(&d->fresh);
	TAILQ_INIT(&d->used);
	errno = 0;
	d->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (a.place.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
	    0, NULL, NULL, on_request, d, MHD_OPTION_EXTERNAL_LOGGER, take_log, d,
	    MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&a.place, MHD_OPTION_CONNECTION_LIMIT,
	    o->connections + HTTP_SPARE, MHD_OPTION_NOTIFY_CONNECTION, on_connection, d,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
	    MHD_OPTION_CONNECTION_TIMEOUT, o->idle_s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, d,
	    MHD_OPTION_END);
	why = errno;
	if (d->daemon == NULL) {
		free(d);
		return err_set(e, ERR_SYSTEM, "cannot listen at %s: %s", o->address,
		    why != 0 ? strerror(why) : "libmicrohttpd does not say why");
	}
	port = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_BIND_PORT);
	snprintf(d->url, sizeof d->url, "http://%.*s:%u%s", a.host_len, o->address,
	    port != NULL ? port->port : 0, o->path);
	*ret = d;
	return 0;
}

void
http_daemon_stop(struct http_daemon *d)
{
	if (d == NULL)
		return;
	MHD_stop_daemon(d->daemon);
	free(d);
}

void
http_daemon_step(struct http_daemon *d)
{
	for (int i = 0; i < RUNS; i++)
		MHD_run(d->daemon);
}

int
http_daemon_descriptor(const struct http_daemon *d)
{
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	return i != NULL ? i->epoll_fd : -1;
}

int
http_daemon_wait_ms(const struct http_daemon *d, int most_ms)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(d->daemon, &ms) != MHD_YES || ms > (MHD_UNSIGNED_LONG_LONG)most_ms)
		return most_ms;
	return (int)ms;
}

const char *
http_daemon_url(const struct http_daemon *d)
{
	return d->url;
}

bool
http_daemon_local(const struct http_daemon *d)
{
	return d->local;
}

uint64_t
http_daemon_displaced(const struct http_daemon *d)
{
	return d->displaced;
}
