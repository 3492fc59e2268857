/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET /metrics by HTTP. libmicrohttpd works in honed's one thread, at each step as far as it gets without waiting. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/listen_address.h"
#include "controlplane/honed/door.h"
#include "controlplane/honed/limited_log.h"
#include "controlplane/metrics/metrics.h"

/* Scrapers come every few seconds and few at a time; further connections wait in the kernel's queue. */
enum { CONNECTIONS_MAX = 16, CONNECTION_BYTES = 16384, SILENT_S = 5, RUNS = 4 };

struct metrics_door {
	struct MHD_Daemon *daemon;
	struct questions *questions;
	bool local; /* the address is one of this machine's loopback */
	double start_s;
	char url[INET6_ADDRSTRLEN + 32];
	struct limited_log log;
};

/* ---- the answer ---- */

static int64_t
resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long long pages = -1, all;

	if (f == NULL)
		return -1;
	if (fscanf(f, "%lld %lld", &all, &pages) != 2)
		pages = -1;
	fclose(f);
	return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

static int64_t
open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int64_t n = -3; /* ".", ".." and this one */

	if (d == NULL)
		return -1;
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static struct metrics_process
process_now(const struct metrics_door *d)
{
	struct rusage used;
	struct rlimit files;

	getrusage(RUSAGE_SELF, &used);
	return (struct metrics_process){
		.cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
		.start_s = d->start_s,
		.resident_bytes = resident_bytes(),
		.open_files = open_files(),
		.files_max = getrlimit(RLIMIT_NOFILE, &files) == 0 ? (int64_t)files.rlim_cur : -1,
		.stored = d->questions->keeper->trouble[0] == '\0'
	};
}

static enum MHD_Result
answer(struct MHD_Connection *c, unsigned status, const char *type, void *text, size_t len,
    enum MHD_ResponseMemoryMode memory)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, text, memory);
	enum MHD_Result ok;

	if (r == NULL) {
		if (memory == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result
refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	return answer(c, status, "text/plain; charset=utf-8", (void *)(uintptr_t)why, strlen(why),
	    MHD_RESPMEM_PERSISTENT);
}

static const char *
header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result
give_metrics(const struct metrics_door *d, struct MHD_Connection *c)
{
	enum metrics_form form = metrics_form_of(header(c, MHD_HTTP_HEADER_ACCEPT));
	struct metrics_process p = process_now(d);
	struct buf text = { 0 };

	metrics_write(&text, d->questions->engine, clock_mono(), &p, form);
	if (text.failed) {
		buf_release(&text);
		return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "honed is out of memory\n");
	}
	return answer(
	    c, MHD_HTTP_OK, metrics_content_type(form), text.data, text.len, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result
on_request(void *of, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *body, size_t *body_len, void **state)
{
	static char headers_seen;
	const struct metrics_door *d = of;

	(void)version;
	(void)body;
	if (*state ==
	    NULL) { /* the first call has the headers only, and answers here would close the connection */
		*state = &headers_seen;
		return MHD_YES;
	}
	if (*body_len > 0) { /* of a request that is refused */
		*body_len = 0;
		return MHD_YES;
	}
	if (d->local && !metrics_host_is_local(header(c, MHD_HTTP_HEADER_HOST)))
		return refuse(c, 421, "this address is served as localhost only\n");
	if (strcmp(path, "/metrics") != 0)
		return refuse(c, MHD_HTTP_NOT_FOUND, "metrics are at /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	return give_metrics(d, c);
}

/* ---- the door ---- */

static void
take_log(void *of, const char *fmt, va_list ap)
{
	struct metrics_door *d = of;
	char text[400];

	vsnprintf(text, sizeof text, fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	limited_log(&d->log, clock_mono(), LOG_DEBUG, "metrics: %s", text);
}

static void
close_door(void *state)
{
	struct metrics_door *d = state;

	if (d->daemon != NULL)
		MHD_stop_daemon(d->daemon);
	free(d);
}

static int
open_door(void **state, const struct config *c, struct questions *questions, struct err *e)
{
	struct listen_address address;
	struct metrics_door *d;
	const union MHD_DaemonInfo *port;

	*state = NULL;
	if (c->metrics_listen[0] == '\0')
		return 0;
	if (!listen_address_read(&address, c->metrics_listen))
		return err_set(e, ERR_INPUT,
		    "metrics.listen: %s is no address; it looks like 127.0.0.1:9464, or [::1]:9464",
		    c->metrics_listen);
	if ((d = calloc(1, sizeof *d)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	*d = (struct metrics_door){ .questions = questions, .local = address.local };
	d->start_s = (double)clock_wall().ns / 1e9;
	limited_log_init(&d->log, clock_mono());
	errno = 0;
	d->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG |
					 (address.place.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
	    0, NULL, NULL, on_request, d, MHD_OPTION_EXTERNAL_LOGGER, take_log, d,
	    MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address.place, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENT_S, MHD_OPTION_END);
	if (d->daemon == NULL) {
		int why = errno;

		free(d);
		return err_set(e, ERR_SYSTEM, "metrics.listen: cannot listen at %s: %s",
		    c->metrics_listen, why != 0 ? strerror(why) : "libmicrohttpd does not say why");
	}
	port = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_BIND_PORT);
	snprintf(d->url, sizeof d->url, "http://%.*s:%u/metrics", address.host_len,
	    c->metrics_listen, port != NULL ? port->port : 0);
	*state = d;
	return 0;
}

/* A scrape is accepted, read and answered in one step, if all of it has come. */
static void
step(void *state, struct mono now)
{
	struct metrics_door *d = state;

	for (int i = 0; i < RUNS; i++)
		MHD_run(d->daemon);
	limited_log_flush(&d->log, now, "metrics: ");
}

static const char *
url(const void *state)
{
	return ((const struct metrics_door *)state)->url;
}

const struct door_ops door_metrics = { "metrics", open_door, step, close_door, url };
