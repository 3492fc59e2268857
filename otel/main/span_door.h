/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An address at which spans are taken by HTTP/1.1 (libmicrohttpd), in the caller's thread. Bounded: connections, 32 KiB for
 * each, and the bodies of all requests at all doors (`bodies`).
 */
#ifndef OTEL_MAIN_SPAN_DOOR_H
#define OTEL_MAIN_SPAN_DOOR_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "otel/control/gate_table.h"
#include "otel/http/span_body.h"
#include "otel/main/http_daemon.h"
#include "otel/spans/otel_source.h"

struct span_door;

struct span_door_options {
	const char *address;
	bool zipkin;
	unsigned connections, idle_s;
	size_t body_max;
	struct span_bodies *bodies;
	struct otel_source *source;
	struct gate_table
	    *gates; /* whose questions are answered at GATE_PATH; NULL: they are not */
	void (*log)(enum log_level level, const char *text);
};

struct span_door_stats {
	uint64_t requests, refused; /* refused: by their head, their size, or damage */
	uint64_t full; /* of these: since a bound of memory was reached, with Retry-After */
};

/* What the options name must live until span_door_close(). ERR_INPUT: no address; ERR_SYSTEM: cannot listen there;
 * ERR_MEMORY. */
int span_door_open(struct span_door **ret, const struct span_door_options *o, struct err *e);
void span_door_close(struct span_door *d); /* NULL is fine */

struct http_daemon *span_door_http(
    const struct span_door *d); /* of the door: to step and to wait */
void span_door_stats(const struct span_door *d, struct span_door_stats *ret);

#endif
