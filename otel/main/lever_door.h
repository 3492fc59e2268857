/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An address at which programs ask what they are to do, by HTTP/1.1 (libmicrohttpd), in the caller's thread: agents of OpAMP
 * (otel/control/opamp_table.h), or SDKs that sample as they are told (otel/control/remote_sampling.h). Bounded: connections, 32 KiB for each, and bodies of
 * LEVER_BODY_MAX bytes.
 */
#ifndef OTEL_MAIN_LEVER_DOOR_H
#define OTEL_MAIN_LEVER_DOOR_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "otel/control/opamp_table.h"
#include "otel/control/remote_sampling.h"
#include "otel/main/http_daemon.h"

enum { LEVER_BODY_MAX = OPAMP_BODY_MAX };

struct lever_door;

struct lever_door_options {
	const char *address;
	unsigned connections, idle_s;
	/* One of them. */
	struct opamp_table *opamp;
	struct remote_sampling *sampling;
	void (*log)(enum log_level level, const char *text);
};

/* What the options name must live until lever_door_close(). ERR_INPUT: no address; ERR_SYSTEM: cannot listen there; ERR_MEMORY. */
int lever_door_open(struct lever_door **ret, const struct lever_door_options *o, struct err *e);
void lever_door_close(struct lever_door *d); /* NULL is fine */

struct http_daemon *lever_door_http(
    const struct lever_door *d); /* of the door: to step and to wait */

#endif
