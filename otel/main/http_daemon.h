/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An address at which HTTP/1.1 is spoken (libmicrohttpd), in the caller's thread. Bounded: connections, 32 KiB for each.
 *
 * When all connections are in use, the next one takes the place of one without an open request of which nothing is unread, or whose peer was silent for HTTP_SILENT_NS: of
 * those that never made a whole head of a request the oldest, else the one that was quiet for the longest time. The one that is displaced may be
 * open for a moment yet, so HTTP_SPARE more are accepted than `connections`. If none can be displaced, further ones wait in the kernel's queue.
 */
#ifndef OTEL_MAIN_HTTP_DAEMON_H
#define OTEL_MAIN_HTTP_DAEMON_H

#include <microhttpd.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

#define HTTP_SILENT_NS INT64_C(2000000000)
#define HTTP_SPARE 32

struct http_daemon;

struct http_daemon_options {
	const char *address, *path; /* path: for http_daemon_url() */
	unsigned connections, idle_s;
	MHD_AccessHandlerCallback ask;
	MHD_RequestCompletedCallback completed;
	void *of; /* given to both */
	void (*log)(enum log_level level, const char *text);
};

/* ERR_INPUT: no address; ERR_SYSTEM: cannot listen there; ERR_MEMORY. */
int http_daemon_start(struct http_daemon **ret, const struct http_daemon_options *o, struct err *e);
void http_daemon_stop(struct http_daemon *d); /* NULL is fine */

/* Does what can be done without waiting; O(connections) for one that takes the place of another. */
void http_daemon_step(struct http_daemon *d);

/* A descriptor that is readable when there is something to do; and how long that may wait, at most `most_ms`. */
int http_daemon_descriptor(const struct http_daemon *d);
int http_daemon_wait_ms(const struct http_daemon *d, int most_ms);

const char *http_daemon_url(const struct http_daemon *d); /* "http://127.0.0.1:4318/v1/traces" */
bool http_daemon_local(const struct http_daemon *d);      /* it is reached from this machine only */
uint64_t http_daemon_displaced(
    const struct http_daemon *d); /* connections that others took the place of */

#endif
