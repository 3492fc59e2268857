/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An address at which spans are taken by OTLP/gRPC, without TLS, in the caller's thread (epoll).
 *
 * Bounded: connections, each 200 bytes until its first byte comes and about 20 KB then; calls and their messages
 * (grpc_connection.h). Closed is a connection
 *
 *	without a whole call idle_ns after it was accepted,
 *	with a call that is not whole, or an answer that is not read, idle_ns after it began.
 *
 * Others stay open, since a client may be quiet for hours, and may lose what it sends to a connection that is being closed.
 * When all connections are in use, the next one takes the place of one without an open call, or whose peer was silent for
 * GRPC_SILENT_NS: of those that never made a call the oldest, else the one that was quiet for the longest time.
 */
#ifndef OTEL_GRPC_GRPC_DOOR_H
#define OTEL_GRPC_GRPC_DOOR_H

#include "otel/grpc/grpc_connection.h"

#define GRPC_SILENT_NS INT64_C(2000000000)

struct grpc_door;

struct grpc_door_options {
	const char *address;
	uint32_t connections;
	int64_t idle_ns;
	struct grpc_service_options service;
};

struct grpc_door_stats {
	struct grpc_stats calls;
	uint32_t open; /* connections now */
	uint64_t accepted, overdue,
	    displaced; /* overdue: closed by time; displaced: for another one */
};

/* What the options name must live until grpc_door_close(). ERR_INPUT: no address; ERR_SYSTEM: cannot listen there;
 * ERR_MEMORY. */
int grpc_door_open(struct grpc_door **ret, const struct grpc_door_options *o, struct err *e);
void grpc_door_close(struct grpc_door *d); /* NULL is fine */

/* Does what can be done without waiting, up to some 256 KiB of each connection. */
void grpc_door_step(struct grpc_door *d, struct mono now);

int grpc_door_descriptor(const struct grpc_door *d);  /* readable when there is something to do */
const char *grpc_door_url(const struct grpc_door *d); /* "http://127.0.0.1:4317" */
bool grpc_door_local(const struct grpc_door *d);      /* it is reached from this machine only */
void grpc_door_stats(const struct grpc_door *d, struct grpc_door_stats *ret);

#endif
