/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of hone-otel. All of it is used by the thread of the main loop alone.
 *
 *	otel_loop ---> otel_control, otel_report, otel_services
 */
#ifndef OTEL_MAIN_OTEL_STATE_H
#define OTEL_MAIN_OTEL_STATE_H

#include "agent/link/link.h"
#include "agent/link/outbox.h"
#include "agent/link/pack.h"
#include "base/log.h"
#include "otel/control/gate_table.h"
#include "otel/grpc/grpc_door.h"
#include "otel/main/otel_config.h"
#include "otel/main/lever_door.h"
#include "otel/main/span_door.h"
#include "otel/spans/otel_source.h"
#include "wire/agent_messages.h"

#define SECOND INT64_C(1000000000)

enum { DOORS = 2, LEVER_DOORS = 2 };

struct tls;

struct otel_control { /* otel_control.c: what the controller wants */
	bool connected, has_want, had_want, sampling, done_due; /* had_want: on any connection */
	uint64_t connection, epoch;
	struct arena arena; /* of the toggles */
	uint32_t ntoggles;
	const char **toggles;     /* tracepoints of the want */
	uint64_t places;          /* changes of gates, agents of OpAMP and events */
	bool shed;                /* since memory was full; until another want comes */
	struct mono heard, since; /* since: the epoch is in effect */
	char trouble[400];
};

struct otel_report { /* otel_report.c: what is reported, and said in the log */
	bool due;
	struct mono reported_at, said_at, trimmed;
	double peak[QUEUES];
	struct otel_source_stats said; /* as of the last line in the log */
	uint64_t said_full, said_points, said_displaced;
	uint32_t said_ahead; /* hosts */
	struct mono said_ahead_at;
};

struct otel_told {                  /* otel_services.c: of which services the controller was told */
	uint64_t told, told_levers; /* changes of services and events, and of what switches spans */
	struct mono told_at;
	uint32_t programs; /* that were told of */
};

struct otel {
	const struct otel_config *config;
	void (*log)(enum log_level level, const char *text);
	int wake;
	struct outbox *out;
	struct pack *pack;
	struct tls *tls;
	struct link *link;
	struct otel_source *source;
	struct span_bodies bodies;
	struct gate_table *gates;
	struct span_door *doors[DOORS]; /* NULL: it is not configured */
	struct grpc_door *grpc;         /* NULL: so, too */
	struct opamp_table *opamp;
	struct span_levels levels;
	struct remote_sampling *rates;
	struct lever_door *levers[LEVER_DOORS];        /* so, too */
	struct http_daemon *http[DOORS + LEVER_DOORS]; /* of these; NULL: so, too */
	struct mono clocks_at;
	bool more;
	uint64_t lost[LOSS_REASONS]; /* told as losses */
	struct otel_control control;
	struct otel_report report;
	struct otel_told services;
};

void otel_log(struct otel *o, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
