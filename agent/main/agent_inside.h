/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent is made of; for agent.c and report.c. */
#ifndef AGENT_MAIN_AGENT_INSIDE_H
#define AGENT_MAIN_AGENT_INSIDE_H

#include "agent/main/agent.h"
#include "agent/main/cost.h"
#include "agent/system/process.h"
#include "agent/tracer/inventory.h"
#include "agent/main/link.h"
#include "agent/main/outbox.h"
#include "agent/main/pack.h"
#include "agent/tracer/rates.h"
#include "agent/tracer/reconcile.h"
#include "agent/reader/source_mapped.h"
#include "agent/reader/sources.h"
#include "agent/tracer/tracer_thread.h"
#include "base/rng.h"
#include "wire/agent_messages.h"

struct agent {
	const struct agent_config *config;
	struct guard *guard;
	void (*say)(enum log_level level, const char *words);
	int wake; /* an eventfd: something has happened */

	struct outbox *out;
	struct pack *pack;
	struct link *link;
	struct tls *tls; /* the link's, where it is tls:// */
	struct tracer_thread *tracer_thread;
	struct reconcile *reconcile;
	struct inventory *inventory;
	struct rates *rates;
	struct maps maps;
	struct rng dice; /* which requests of mapped programs are sampled */

	struct source source; /* while has_source */
	struct source_stats look;
	uint64_t source_changes; /* of its processes, as inventory knows them */
	bool has_source, more;
	uint32_t nrecords; /* in the last turn */
	struct mono moved; /* the last turn that had records */

	struct cost cost; /* of a record */
	bool session_open, ever_open;
	struct mono open_after, checked_at, listed_at;
	bool programs_due, tend_due;

	bool connected, has_want, sampling;
	bool watched; /* some request type is under diagnosis, or learned */
	uint64_t connection;
	struct mono heard, renewed_at;

	char tracer_trouble[400], source_trouble[400], link_trouble[400], rates_trouble[400],
	    files_trouble[200];

	/* report.c */
	double peak[QUEUES]; /* since the last status */
	double ring_fill,
	    ring_pace; /* as it was seen last; how much more in a second, since the look before */
	struct mono looked_at;
	bool over_half, status_now, hanging;
	enum queue fullest, shed_by;
	bool files_full; /* until they are under half: nothing is sampled */
	struct mono files_full_at;
	uint32_t files_full_times;
	int64_t files_full_ns;  /* in all, without the time that runs */
	uint64_t renewed_bytes; /* look.bytes when sampling was renewed last */
	struct mono reported_at;
	struct mono trimmed; /* when free memory was given back */
	uint64_t lost_before[LOSS_REASONS], records_before,
	    lost_blind; /* of earlier sources; gaps */
	uint64_t mapped_before, dropped_before;
	uint64_t open_ends; /* of mapped requests, as told last, then: */
	struct mono told_ends, told_unwritten;
	uint64_t endless; /* as told last */
	pid_t tracer_pid;
	struct family tracer;
	int64_t tracer_base_us, tracer_cpu_us;
	char trouble[400];
};

void agent_say(struct agent *a, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void report_begin(struct agent *a);
/* Looks at the queues; the fullest now, a share of 1, which one that is in a->fullest. */
double report_fill(struct agent *a, struct mono now);
/* How long the next look may wait: at most so long. */
int report_wait_ms(const struct agent *a, int most_ms);
/* Posts a status if it is time, or if something happened that cannot wait. */
void report_status(struct agent *a, struct mono now);

#endif
