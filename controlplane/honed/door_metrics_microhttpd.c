/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET /metrics and POST /alerts by HTTP. libmicrohttpd works in honed's one thread, at each step as far as it gets without waiting. */
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
#include "controlplane/answers/received_alerts.h"
#include "controlplane/honed/alerts_receiver.h"
#include "controlplane/honed/bearer_token.h"
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
	struct alerts_receiver receiver;
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

/* allow: what the header Allow says with status 405. */
static enum MHD_Result
answer(struct MHD_Connection *c, unsigned status, const char *allow, const char *type, void *text,
    size_t len, enum MHD_ResponseMemoryMode memory)
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
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow);
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result
refuse(struct MHD_Connection *c, unsigned status, const char *allow, const char *why)
{
	return answer(c, status, allow, "text/plain; charset=utf-8", (void *)(uintptr_t)why,
	    strlen(why), MHD_RESPMEM_PERSISTENT);
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
		return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL, "honed is out of memory\n");
	}
	return answer(c, MHD_HTTP_OK, NULL, metrics_content_type(form), text.data, text.len,
	    MHD_RESPMEM_MUST_FREE);
}

/* ---- what is posted ---- */

struct post {
	unsigned refused; /* status; 0: the body is read */
	struct buf body;
	size_t dropped; /* bytes of a body that was refused */
};

static const char *
words_of(unsigned status)
{
	switch (status) {
	case MHD_HTTP_NOT_FOUND:
		return "alerts are not received: watch.receive_token in honed.conf is not set\n";
	case MHD_HTTP_METHOD_NOT_ALLOWED:
		return "only POST\n";
	case MHD_HTTP_UNAUTHORIZED:
		return "show the token: Authorization: Bearer TOKEN\n";
	case MHD_HTTP_UNSUPPORTED_MEDIA_TYPE:
		return "only application/json\n";
	case MHD_HTTP_CONTENT_TOO_LARGE:
		return "at most 262144 bytes\n";
	case MHD_HTTP_TOO_MANY_REQUESTS:
		return "too many posts; at most one each second\n";
	case 421:
		return "this address is served as localhost only\n";
	default:
		return "honed cannot take it now; its log says why\n";
	}
}
_Static_assert(RECEIVED_BYTES_MAX == 262144, "as words_of() says");

/* The headers have come. NULL: out of memory. */
static struct post *
post_begin(struct metrics_door *d, struct MHD_Connection *c, const char *method)
{
	const struct alerts_post headers = { method, header(c, MHD_HTTP_HEADER_AUTHORIZATION),
		header(c, MHD_HTTP_HEADER_CONTENT_TYPE),
		header(c, MHD_HTTP_HEADER_CONTENT_LENGTH) };
	struct post *p = calloc(1, sizeof *p);
	struct err e;

	if (p == NULL)
		return NULL;
	if (d->local && !metrics_host_is_local(header(c, MHD_HTTP_HEADER_HOST)))
		p->refused = 421;
	else
		p->refused = alerts_receiver_admit(&d->receiver, &headers, clock_mono(), &e);
	if (p->refused == MHD_HTTP_SERVICE_UNAVAILABLE)
		limited_log(&d->log, clock_mono(), LOG_ERROR, "watch.receive_token: %s", e.text);
	return p;
}

/* Takes a piece of the body. MHD_NO ends the connection: a body that was refused goes on and on. */
static enum MHD_Result
post_piece(struct post *p, const char *data, size_t len)
{
	if (p->refused == 0 && p->body.len + len > RECEIVED_BYTES_MAX) {
		p->refused = MHD_HTTP_CONTENT_TOO_LARGE;
		buf_release(&p->body);
	}
	if (p->refused == 0)
		buf_bytes(&p->body, data, len);
	else
		p->dropped += len;
	return p->dropped <= RECEIVED_BYTES_MAX ? MHD_YES : MHD_NO;
}

static enum MHD_Result
post_end(struct metrics_door *d, struct MHD_Connection *c, struct post *p)
{
	unsigned status = p->refused;
	char *text = NULL;

	if (status == 0 && p->body.failed)
		status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	if (status == 0)
		status = alerts_receiver_take(
		    &p->body, d->questions->engine, clock_mono(), clock_wall(), &text);
	if (text == NULL)
		return refuse(c, status, "POST", words_of(status));
	limited_log(
	    &d->log, clock_mono(), LOG_INFO, "alerts of an Alertmanager: %u %s", status, text);
	return answer(
	    c, status, NULL, "application/json", text, strlen(text), MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result
on_post(struct metrics_door *d, struct MHD_Connection *c, const char *method, const char *body,
    size_t *body_len, void **state)
{
	struct post *p = *state;
	size_t len = *body_len;

	if (p == NULL) {
		*state = p = post_begin(d, c, method);
		if (p == NULL)
			return MHD_NO;
		/* Nothing more of it is read. */
		return p->refused == MHD_HTTP_CONTENT_TOO_LARGE ? post_end(d, c, p) : MHD_YES;
	}
	*body_len = 0;
	return len > 0 ? post_piece(p, body, len) : post_end(d, c, p);
}

/* ---- requests ---- */

static char headers_seen; /* as a request's state */

static void
on_completed(void *of, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct post *p = *state;

	(void)of;
	(void)c;
	(void)why;
	if (p == NULL || *state == &headers_seen)
		return;
	buf_release(&p->body);
	free(p);
	*state = NULL;
}

static enum MHD_Result
on_request(void *of, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *body, size_t *body_len, void **state)
{
	struct metrics_door *d = of;

	(void)version;
	if (strcmp(path, "/alerts") == 0)
		return on_post(d, c, method, body, body_len, state);
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
		return refuse(c, 421, NULL, "this address is served as localhost only\n");
	if (strcmp(path, "/metrics") != 0)
		return refuse(c, MHD_HTTP_NOT_FOUND, NULL, "metrics are at /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, HEAD", "only GET and HEAD\n");
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
	char token[TOKEN_MOST + 1];

	*state = NULL;
	if (c->metrics_listen[0] == '\0')
		return c->watch_receive_token[0] == '\0'
		           ? 0
		           : err_set(e, ERR_INPUT,
				 "watch.receive_token: alerts come in at metrics.listen, which is not set");
	if (c->watch_receive_token[0] != '\0' &&
	    bearer_token_read(token, c->watch_receive_token, e) < 0)
		return err_prefix(e, "watch.receive_token");
	if (!listen_address_read(&address, c->metrics_listen))
		return err_set(e, ERR_INPUT,
		    "metrics.listen: %s is no address; it looks like 127.0.0.1:9464, or [::1]:9464",
		    c->metrics_listen);
	if ((d = calloc(1, sizeof *d)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	*d = (struct metrics_door){ .questions = questions, .local = address.local };
	d->start_s = (double)clock_wall().ns / 1e9;
	limited_log_init(&d->log, clock_mono());
	alerts_receiver_init(&d->receiver, c->watch_receive_token, clock_mono());
	errno = 0;
	d->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG |
					 (address.place.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
	    0, NULL, NULL, on_request, d, MHD_OPTION_EXTERNAL_LOGGER, take_log, d,
	    MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_SOCK_ADDR,
	    (struct sockaddr *)&address.place, MHD_OPTION_CONNECTION_LIMIT,
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
	if (c->watch_receive_token[0] != '\0')
		log_line(LOG_INFO,
		    "alerts of an Alertmanager are received at http://%.*s:%u/alerts",
		    address.host_len, c->metrics_listen, port != NULL ? port->port : 0);
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
