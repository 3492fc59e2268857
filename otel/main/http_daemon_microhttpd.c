/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/http_daemon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/listen_address.h"

enum { CONNECTION_BYTES = 32768, RUNS = 4 };

struct http_daemon {
	struct MHD_Daemon *daemon;
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
	errno = 0;
	d->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (a.place.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
	    0, NULL, NULL, o->ask, o->of, MHD_OPTION_EXTERNAL_LOGGER, take_log, d,
	    MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&a.place, MHD_OPTION_CONNECTION_LIMIT,
	    o->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
	    MHD_OPTION_CONNECTION_TIMEOUT, o->idle_s, MHD_OPTION_NOTIFY_COMPLETED, o->completed,
	    o->of, MHD_OPTION_END);
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
