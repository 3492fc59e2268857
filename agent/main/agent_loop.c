/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/main/agent_loop.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/link/link_settings.h"
#include "agent/main/agent_below.h"
#include "agent/main/agent_kernel.h"
#include "agent/main/agent_control.h"
#include "agent/main/agent_probes.h"
#include "agent/main/agent_queues.h"
#include "agent/main/agent_recorder.h"
#include "agent/main/agent_records.h"
#include "agent/main/agent_state.h"
#include "agent/main/agent_tracing.h"
#include "agent/main/status_report.h"
#include "agent/system/folder.h"
#include "base/tls.h"

/* The wait at the end of a turn. */
enum { WATCHED_WAIT_MS = 5, BUSY_WAIT_MS = 10, CALM_WAIT_MS = 20, IDLE_WAIT_MS = 50 };
/* Limits at the end: for the last batches to be acknowledged, and for the tracer. */
enum { GOODBYE_MS = 1000, TRACER_GOODBYE_MS = 1300 };

#define CALM_NS (SECOND / 4) /* without records: more than the usual switch timer of the tracer */
#define CALM_RECORDS 500     /* in one turn; fewer may be fetched less often */
#define FILLING 0.25         /* fill of a ring from which on it is read as often as possible */

static void
check_guard(struct agent *a, struct mono now)
{
	switch (guard_turn(a->guard, now)) {
	case GUARD_SAME:
		return;
	case GUARD_DIED:
		agent_log(a, LOG_WARN,
		    "the guardian was killed: another one will be started within a second");
		break;
	case GUARD_HUNG:
		agent_log(a, LOG_WARN,
		    "the guardian hangs: it is killed, and another one will be started");
		break;
	case GUARD_AGAIN:
		agent_log(a, LOG_INFO, "a guardian runs again");
		break;
	}
	a->report.due = true;
}

/* Measures the cost of a record, when the agent is connected, has a session, and the tracer is
 * idle. */
static void
measure_cost(struct agent *a, struct mono now)
{
	bool may = a->control.connected && a->tracing.session == SESSION_OPEN &&
	           tracer_thread_idle(a->tracer_thread);

	if (!cost_step(&a->cost, a->config->node, a->config->run_dir, may, now))
		return;
	if (a->cost.record_ns > 0)
		agent_log(a, LOG_INFO, "a record costs %.0f ns here, a rejected one %.0f ns",
		    a->cost.record_ns, a->cost.rejected_ns);
	else
		agent_log(a, LOG_WARN, "the cost of a record could not be measured (attempt %d)",
		    a->cost.attempts);
	a->report.due = true;
}

/*
 * How long to wait after a turn, in ms. Other threads end the wait when they have something; so it
 * is about what only a look finds: records, rings that fill, and a batch whose time comes.
 *
 * 0 ms   the source has more records at this moment
 * 5 ms   a ring is a quarter full, a tracepoint is added, or requests are probed: half of the 10 ms
 *        in which the controller has to foresee a loss
 * 10 ms  many records
 * 20 ms  few records
 * 50 ms  no record for a quarter of a second
 */
static int
wait_ms(const struct agent *a, struct mono now)
{
	int ms = IDLE_WAIT_MS, due_ms = pack_due_ms(a->pack, now);
	struct reconcile_stats state;

	reconcile_stats(a->reconcile, now, &state);
	if (a->records.more || a->recorder.snapshot != NULL)
		return 0;
	if (a->queues.ring_fill > FILLING || state.added > 0 || a->control.watched)
		ms = WATCHED_WAIT_MS;
	else if (a->records.last_count > CALM_RECORDS)
		ms = BUSY_WAIT_MS;
	else if (mono_since_ns(now, a->records.last_at) < CALM_NS)
		ms = CALM_WAIT_MS;
	ms = queues_wait_ms(a, ms);
	return due_ms < ms ? due_ms : ms;
}

/*
 * 1. the guardian                      5. report the results
 * 2. results of the tracer, wants      6. send batches
 * 3. the next task of the tracer: before reading, so that a change does not wait for records
 * 4. read records; before, report what was not written, since the watermark passes it; then act on
 *    the fill of the queues; and see to hone-below
 */
void
agent_turn(struct agent *a)
{
	struct pollfd wake = { .fd = a->wake, .events = POLLIN };
	struct mono now = clock_mono();
	eventfd_t ignored;

	check_guard(a, now);
	tracing_take_result(a);
	control_follow_link(a);
	control_take_want(a, now);
	tracing_give_task(a, now);
	records_lose_unwritten(a, now);
	records_read(a, now);
	records_pass_time(a, now);
	below_turn(a, now);
	recorder_turn(a, now);
	queues_check(a, now);
	control_renew_sampling(a, now);
	control_post_done(a, now);
	control_post_programs(a);
	measure_cost(a, now);
	report_status(a, now);
	if (pack_tick(a->pack, now))
		link_kick(a->link);
	if (poll(&wake, 1, wait_ms(a, clock_mono())) > 0)
		eventfd_read(a->wake, &ignored);
}

void
agent_wake(struct agent *a)
{
	eventfd_write(a->wake, 1);
}

static int
queues_make(struct agent *a, struct err *e)
{
	const struct agent_config *c = a->config;
	struct pack_options o = { (size_t)c->batch_bytes, c->batch_ns, c->watermark_ns, false,
		c->calm_ns };

	if ((a->out = outbox_new((size_t)c->memory_bytes)) == NULL ||
	    (a->pack = pack_new(&o, a->out)) == NULL || (a->reconcile = reconcile_new()) == NULL ||
	    (a->inventory = inventory_new()) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		return err_errno(e, "eventfd");
	return 0;
}

static int
tracer_make(struct agent *a, struct err *e)
{
	const struct agent_config *c = a->config;
	struct tracer_options o = { c->node, c->run_dir, (uint32_t)c->sub_buffers,
		(uint32_t)c->sub_buffer_bytes, (uint32_t)(c->switch_timer_ns / 1000),
		(uint32_t)c->added_sub_buffer_bytes, (uint32_t)c->rules_per_session,
		(uint32_t)c->sessions, (uint32_t)c->recorder_sub_buffers,
		(uint32_t)c->recorder_sub_buffer_bytes, c->idle_session_ns };
	struct tracer door;
	int rc;

	if ((rc = folder_make(c->run_dir, e)) != 0)
		return err_prefix(e, "agent.run_dir in hone-agent.conf");
	if (!folder_is_memory(c->run_dir))
		agent_log(a, LOG_WARN,
		    "%s is not on a tmpfs: the tracer's files are written to a disk", c->run_dir);
	if ((rc = tracer_lttng_new(&door, &o, e)) != 0)
		return rc;
	if ((rc = tracer_thread_start(&a->tracer_thread, &door, a->wake, e)) != 0)
		door.free(door.state);
	return rc;
}

static int
link_make(struct agent *a, const char *version, struct err *e)
{
	const struct agent_config *c = a->config;
	struct link_options o = { c->url, c->node, version, NULL, 0, (uint32_t)c->window,
		(int)(c->silence_ns / 1000000), (int)(c->retry_ns / 1000000),
		(int)(c->refused_ns / 1000000), a->wake };
	const struct tls_files keys = { c->ca, c->certificate, c->key, c->revoked };

	if (link_settings_tls(c->url) && tls_open(&a->tls, &keys, e) != 0)
		return err_prefix(e, "[tls] in hone-agent.conf");
	o.tls = a->tls;
	if (getrandom(&o.incarnation, sizeof o.incarnation, 0) != (ssize_t)sizeof o.incarnation)
		return err_errno(e, "random numbers");
	return link_start(&a->link, &o, a->out, e);
}

/* Takes the mappings: what they name are standing tracepoints. */
static int
maps_take(struct agent *a, struct maps *maps, struct err *e)
{
	const char *name;

	a->maps = *maps;
	*maps = (struct maps){ 0 };
	for (uint32_t i = 0; i < a->maps.count; i++)
		for (uint32_t k = 0; (name = map_pattern(a->maps.list[i], k)) != NULL; k++)
			if (!reconcile_standing(a->reconcile, name))
				return err_set(e, ERR_MEMORY, "out of memory for mappings");
	reconcile_mapped(a->reconcile, a->maps.count > 0 ? inventory_mapped : NULL, a->inventory);
	return 0;
}

void
agent_remap(struct agent *a, struct maps *maps)
{
	struct err e;

	err_set(&e, ERR_TRACER, "the mappings were replaced: the session is made again");
	tracing_lost(a, &e, clock_mono());
	a->tracing.open_after = clock_mono();
	reconcile_standing_none(a->reconcile);
	maps_release(&a->maps);
	if (maps_take(a, maps, &e) != 0)
		agent_log(a, LOG_ERROR, "%s", e.text);
}

/* Raises the limit of open files to the most that is allowed: the reader has two open for each ring
 * that was written to. */
static void
raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int
agent_open(struct agent **ret, const struct agent_config *c, const char *version, struct guard *g,
    const struct agent_below_given *below, struct rates *rates, struct maps *maps,
    void (*log)(enum log_level, const char *), struct err *e)
{
	struct agent *a = calloc(1, sizeof *a);
	uint64_t seed = 0;
	int rc;

	assert(c != NULL && g != NULL && rates != NULL && maps != NULL && log != NULL);
	if (a == NULL) {
		rates_close(rates, true);
		guard_dismiss(g);
		if (below->start != NULL)
			below_start_end(below->start);
		maps_release(maps);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	a->config = c;
	a->guard = g;
	a->rates = rates;
	a->log = log;
	a->below.start = below->start;
	snprintf(a->below.why_not, sizeof a->below.why_not, "%s", below->why_not);
	a->wake = -1;
	a->tracing.listed_at.ns = -SECOND * 2;
	raise_file_limit();
	report_begin(a);
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
		seed = (uint64_t)clock_mono().ns;
	rng_seed(&a->random, seed);
	if ((rc = records_list_users(a, e)) != 0 || (rc = kernel_open(a, e)) != 0 ||
	    (rc = queues_make(a, e)) != 0 || (rc = maps_take(a, maps, e)) != 0 ||
	    (rc = tracer_make(a, e)) != 0 || (rc = link_make(a, version, e)) != 0) {
		agent_close(a);
		return rc;
	}
	*ret = a;
	return 0;
}

/* Sends what was read, and waits up to GOODBYE_MS until the controller has acknowledged it. */
static void
send_rest(struct agent *a)
{
	struct outbox_stats f;

	records_read(a, clock_mono());
	pack_flush(a->pack, clock_mono());
	link_kick(a->link);
	for (int ms = 0; ms < GOODBYE_MS && a->control.connected; ms += 5) {
		outbox_stats(a->out, &f);
		if (f.waiting_bytes == 0 && f.unacknowledged == 0)
			break;
		poll(NULL, 0, 5);
		control_follow_link(a);
	}
}

static bool
tracer_end(struct agent *a)
{
	struct err e;

	if (a->tracer_thread == NULL)
		return true;
	if (tracer_thread_stop(a->tracer_thread, TRACER_GOODBYE_MS, &e) == 0)
		return true;
	agent_log(a, LOG_WARN, "%s, or needs more time: the guardian ends the sessions", e.text);
	return false;
}

/* What is not freed because a thread hangs; leak checkers find it here. */
static struct agent *left __attribute__((used));

void
agent_close(struct agent *a)
{
	bool clean;

	if (a == NULL)
		return;
	if (a->rates != NULL)
		rates_silence(a->rates);
	if (a->link != NULL)
		send_rest(a);
	if (a->tracing.session == SESSION_OPEN) {
		records_close(a);
		a->tracing.session = SESSION_LOST;
	}
	below_release(a);
	probes_release(a);
	kernel_release(a);
	recorder_release(a);
	cost_end(&a->cost);
	clean = tracer_end(a);
	link_stop(a->link);
	tls_close(a->tls);
	rates_close(a->rates, true); /* programs keep their mapping of the silenced table */
	if (clean) {
		guard_dismiss(a->guard);
		rmdir(a->config->run_dir);
	} else {
		guard_leave(a->guard);
		left = a; /* the thread that hangs still uses it */
		return;
	}
	pack_free(a->pack);
	outbox_free(a->out);
	reconcile_free(a->reconcile);
	inventory_free(a->inventory);
	maps_release(&a->maps);
	if (a->wake >= 0)
		close(a->wake);
	free(a);
}
