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

/* Does what can be done without waiting. */
void span_door_step(struct span_door *d);

/* A descriptor that is readable when there is something to do; and how long that may wait, at most `most_ms`. */
int span_door_descriptor(const struct span_door *d);
int span_door_wait_ms(const struct span_door *d, int most_ms);

const char *span_door_url(const struct span_door *d); /* "http://127.0.0.1:4318/v1/traces" */
bool span_door_local(const struct span_door *d);      /* it is reached from this machine only */
void span_door_stats(const struct span_door *d, struct span_door_stats *ret);

#endif
