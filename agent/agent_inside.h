/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent is made of; for agent.c and report.c. */
#ifndef AGENT_AGENT_INSIDE_H
#define AGENT_AGENT_INSIDE_H

#include "agent/agent.h"
#include "agent/cost.h"
#include "agent/inventory.h"
#include "agent/link.h"
#include "agent/outbox.h"
#include "agent/pack.h"
#include "agent/rates.h"
#include "agent/reconcile.h"
#include "agent/source.h"
#include "agent/switcher.h"
#include "wire/agent.h"

struct agent {
	const struct config *config;
	struct guard *guard;
	void (*say)(enum log_level level, const char *words);
	int wake;			/* an eventfd: something has happened */

	struct outbox *out;
	struct pack *pack;
	struct link *link;
	struct switcher *switcher;
	struct reconcile *reconcile;
	struct inventory *inventory;
	struct rates *rates;

	struct source source;		/* while has_source */
	struct source_look look;
	uint64_t source_changes;	/* of its processes, as inventory knows them */
	bool has_source, more, had_records;

	struct cost cost;		/* of a record */
	bool session_open, ever_open;
	struct mono open_after, checked_at, listed_at;
	bool programs_due;

	bool connected, has_want, sampling;
	uint64_t connection;
	struct mono heard, renewed_at;

	char tracer_trouble[400], source_trouble[400], link_trouble[400], rates_trouble[400];

	/* report.c */
	double peak[QUEUES];		/* since the last status */
	bool over_half, status_now, hanging;
	struct mono reported_at;
	uint64_t lost_before[LOSS_REASONS], records_before, lost_blind;	/* of earlier sources; gaps */
	pid_t tracer_pid;
	int64_t tracer_base_us, tracer_cpu_us;
	char trouble[400];
};

void agent_say(struct agent *a, enum log_level level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void report_begin(struct agent *a);
/* Looks at the queues; the fullest now, a share of 1. */
double report_fill(struct agent *a);
/* Posts a status if it is time, or if something happened that cannot wait. */
void report_status(struct agent *a, struct mono now);

#endif
