/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/main/agent_inside.h"
#include "agent/system/folder.h"
#include "agent/system/process.h"
#include "base/stream.h"
#include "base/tls.h"
#include "mapping/mapper.h"
#include "wire/frame.h"

#define SECOND INT64_C(1000000000)
#define SAMPLING_LEASE_NS (10 * SECOND)
#define SAMPLING_LEASE_MIN_NS (2 * SECOND) /* it is renewed every second */

enum {
	WATCHED_WAIT_MS = 5,
	BUSY_WAIT_MS = 10,
	CALM_WAIT_MS = 20,
	IDLE_WAIT_MS = 50,
	GOODBYE_MS = 300,
	TRACER_GOODBYE_MS = 1300
};
/* Queues are looked at once a turn. So many records are read in one that it takes a few ms: a ring
 * that fills meanwhile should be seen before it is full. */
enum { TURN_RECORDS = 8192 };
#define CALM_NS (SECOND / 4) /* without records: more than the tracer's switch timer usually is */
#define CALM_RECORDS 500     /* in a turn: fewer need not be fetched so often */
#define FILLING 0.25         /* of a ring: from here on it is looked at as often as can be */

void
agent_say(struct agent *a, enum log_level level, const char *fmt, ...)
{
	char words[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	a->say(level, words);
}

/* ---- records ---- */

/* Something may have been written then that nobody will ever read; how much, nobody knows: at least
 * one. */
static void
lose(struct agent *a, int64_t from_ns, int64_t to_ns)
{
	struct loss l = { LOSS_RING, 1, from_ns, to_ns > from_ns ? to_ns : from_ns };

	pack_loss(a->pack, &l);
	a->lost_blind++;
}

/* Some program's requests are sampled and not recorded. While there is no session, all of the time
 * is told. */
static void
hear_unwritten(struct agent *a, struct mono now)
{
	struct mono from;

	if (!rates_unwritten(a->rates, now, &from) || !a->has_source)
		return;
	lose(a, from.ns, now.ns);
	if (a->told_unwritten.ns != 0 && mono_since_ns(now, a->told_unwritten) < 60 * SECOND)
		return;
	agent_say(a, LOG_WARN,
	    "a program runs untraced, and its requests are told as lost: the session daemon took too long to "
	    "take it in, or cannot be reached from there");
	a->told_unwritten = now;
}

/* Our own measuring is none of the node's programs. */
static void
programs_look(struct agent *a)
{
	struct inventory_process *list = calloc(a->look.nprocesses + 1, sizeof *list);
	uint32_t n = 0;
	struct err e;

	for (uint32_t i = 0; list != NULL && i < a->look.nprocesses; i++) {
		const struct source_process *p = &a->look.processes[i];

		if (strcmp(p->service, "hone-cost") == 0)
			continue;
		list[n++] = (struct inventory_process){ p->service, p->pid, p->outside,
			process_program((pid_t)p->pid) };
	}
	if (list != NULL && inventory_run(a->inventory, list, n, &e) == 0) {
		a->source_changes = a->look.changes;
		a->programs_due = true;
	}
	free(list);
}

/* A mapping that does not fit its program shows here. */
static void
tell_ends(struct agent *a, struct mono now)
{
	uint64_t ends = a->look.given_up + a->look.orphans;

	if (a->look.endless > a->endless &&
	    (a->endless == 0 || mono_since_ns(now, a->told_ends) >= 60 * SECOND)) {
		agent_say(a, LOG_WARN,
		    "mapped programs: in %llu requests, %d others of their kind have begun, and they have not "
		    "ended: if the program answers later, or from another thread, the mapping needs nested = no or correlate = field",
		    (unsigned long long)a->look.endless, MAPPER_INSIDE_MANY);
		a->endless = a->look.endless;
	}
	if (ends == a->open_ends || mono_since_ns(now, a->told_ends) < 60 * SECOND)
		return;
	agent_say(a, LOG_INFO,
	    "mapped programs: %llu requests were given up without an end, %llu ends and steps were of none "
	    "that is known",
	    (unsigned long long)a->look.given_up, (unsigned long long)a->look.orphans);
	a->open_ends = ends;
	a->told_ends = now;
}

static void
read_records(struct agent *a, struct mono now)
{
	struct source_output take = { 0 };
	const struct batch_label *labels;
	uint32_t nlabels;
	struct err e;

	a->more = false;
	a->nrecords = 0;
	if (!a->has_source)
		return;
	if (a->source.poll(a->source.state, now, &take, &e) != 0) {
		snprintf(a->source_trouble, sizeof a->source_trouble, "%s", e.text);
		return;
	}
	labels = a->source.labels(a->source.state, &nlabels);
	pack_take(a->pack, &take, labels, nlabels, now);
	a->more = take.more;
	a->nrecords = take.nrecords;
	a->source.stats(a->source.state, &a->look);
	if (a->look.unknown_format && strcmp(a->source_trouble, a->look.trouble) != 0)
		agent_say(a, LOG_WARN, "%s", a->look.trouble);
	snprintf(a->source_trouble, sizeof a->source_trouble, "%s", a->look.trouble);
	if (a->look.changes != a->source_changes)
		programs_look(a);
	tell_ends(a, now);
}

/* No session, no promises from a source: so that others need not wait for this node, time goes on
 * here. */
static void
pass_time(struct agent *a, struct mono now)
{
	int64_t known_ns = pack_watermark_ns(a->pack);

	if (a->has_source || !a->ever_open || now.ns - known_ns < SECOND)
		return;
	lose(a, known_ns, now.ns);
	pack_watermark(a->pack, now.ns);
}

/* ---- the tracer ---- */

static void
source_close(struct agent *a)
{
	if (!a->has_source)
		return;
	for (int i = 0; i < LOSS_REASONS; i++)
		a->lost_before[i] += a->look.lost[i];
	a->records_before += a->look.records;
	a->mapped_before += a->look.mapped;
	a->dropped_before += a->look.dropped;
	a->open_ends = a->endless = 0;
	memset(&a->look, 0, sizeof a->look);
	a->source.close(a->source.state);
	a->has_source = false;
	pack_forget_labels(a->pack);
}

static void
session_lost(struct agent *a, const struct err *e, struct mono now)
{
	if (a->has_source)
		read_records(a, now); /* what the tracer wrote out before */
	source_close(a);
	if (strcmp(a->tracer_trouble, e->text) != 0)
		agent_say(a, LOG_WARN, "%s", e->text);
	snprintf(a->tracer_trouble, sizeof a->tracer_trouble, "%s", e->text);
	a->session_open = false;
	a->open_after.ns = now.ns + SECOND;
	reconcile_forget(a->reconcile);
	a->status_now = true;
}

/* We hung, and our guardian has ended the session; what we believe to be on is not. */
static void
session_buried(struct agent *a, struct mono now)
{
	struct err e;

	err_set(&e, ERR_TRACER,
	    "this agent did not move for %.0f s, and its guardian ended the session",
	    (double)a->config->hang_ns / SECOND);
	session_lost(a, &e, now);
}

static enum mapped_choice
choose(void *of, const char *type)
{
	struct agent *a = of;

	return (enum mapped_choice)rates_choose(
	    a->rates, type, clock_mono(), (uint32_t)(rng_next(&a->dice) >> 32));
}

static int
source_open(struct agent *a, const struct tracer_session *session, struct err *e)
{
	struct source_options o = {
		.records_max = TURN_RECORDS, .wants_outside = source_mapped_wants, .of = &a->maps
	};
	struct mapped_options m = { .choose = choose, .of = a, .seed = rng_next(&a->dice) };
	const struct source_place place = { session->folder, session->channel };
	struct source plain;
	int rc;

	if (a->maps.count == 0)
		return sources_open(&a->source, a->config->reader, &place, &o, e);
	if ((rc = sources_open(&plain, a->config->reader, &place, &o, e)) != 0)
		return rc;
	return source_mapped_open(&a->source, &plain, &a->maps, &m, e);
}

static void
session_made(struct agent *a, const struct task_result *r)
{
	struct err e;

	reconcile_forget(a->reconcile);
	if (source_open(a, &r->session, &e) != 0) {
		session_lost(a, &e, r->ended);
		return;
	}
	a->has_source = a->session_open = true;
	a->source_changes = UINT64_MAX;
	if (a->ever_open)
		lose(a, pack_watermark_ns(a->pack), r->ended.ns);
	a->ever_open = true;
	a->tracer_trouble[0] = '\0';
	a->told_ends = r->ended; /* who is in the middle of something then is not worth a word */
	a->status_now = true;
	agent_say(a, LOG_INFO, "tracing: session hone-%s-%ld", a->config->node, (long)getpid());
}

/*
 * What does not go off by itself goes with the session: where the consumer daemon
 * was killed, the session daemon disables nothing any more, but still ends sessions.
 */
static void
must_be_off(struct task_result *r)
{
	for (uint32_t i = 0; i < r->nchanges && r->code == 0; i++)
		if (!r->changes[i].on && r->changes[i].failed)
			r->code = err_set(&r->err, ERR_TRACER,
			    "%s does not go off (%s): the session has to be made anew",
			    r->changes[i].name, r->changes[i].reason);
}

/* Of a mapping's tracepoints some were on before others, and a request may have begun that could
 * not end. */
static void
standing_made(struct agent *a, const struct task_result *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->nchanges; i++)
		any |= r->changes[i].standing;
	if (any && a->has_source)
		source_mapped_gap(&a->source, r->ended.ns);
}

static void
changes_made(struct agent *a, struct task_result *r)
{
	must_be_off(r);
	standing_made(a, r);
	for (uint32_t i = 0; i < r->nchanges; i++)
		if (r->changes[i].failed)
			agent_say(a, LOG_WARN, "%s %s: %s", r->changes[i].name,
			    r->changes[i].on ? "on" : "off", r->changes[i].reason);
	if (r->gap.from_ns != 0 && r->code == 0)
		lose(a, r->gap.from_ns, r->gap.to_ns);
	reconcile_applied(a->reconcile, r->changes, r->nchanges, r->code != 0, r->ended);
	a->status_now = true;
}

static void
listed(struct agent *a, struct task_result *r)
{
	struct err e;

	a->listed_at = r->ended;
	if (r->code == 0 && inventory_listed(a->inventory, &r->listed, &e) != 0)
		agent_say(a, LOG_WARN, "%s", e.text);
	tracepoints_release(&r->listed);
	a->programs_due = true;
}

static void
take_result(struct agent *a)
{
	struct task_result r;

	tracer_thread_take(a->tracer_thread, &r);
	if (r.task == TASK_NONE)
		return;
	if (r.task == TASK_CHECK ||
	    r.task == TASK_OPEN) /* what is tried again each second tells nothing of the whole */
		a->checked_at = r.ended;
	a->tend_due = r.task != TASK_TEND;
	if (r.task == TASK_SET)
		changes_made(a, &r);
	if (r.task == TASK_LIST)
		listed(a, &r);
	if (r.code != 0)
		session_lost(a, &r.err, r.ended);
	else if (r.task == TASK_OPEN)
		session_made(a, &r);
}

/* Switching comes first, then knowing what there is, then looking whether all is well, then what
 * can wait. */
static void
give_task(struct agent *a, struct mono now)
{
	int64_t list_age_ns = mono_since_ns(now, a->listed_at);
	struct tracer_change *changes;
	uint32_t n;

	if (!tracer_thread_idle(a->tracer_thread))
		return;
	if (guard_buried(a->guard) && a->session_open)
		session_buried(a, now);
	if (!a->session_open) {
		if (now.ns >= a->open_after.ns && !guard_buries(a->guard))
			tracer_thread_give(a->tracer_thread, TASK_OPEN, NULL, 0);
		return;
	}
	if ((changes = reconcile_changes(a->reconcile, now, &n)) != NULL)
		tracer_thread_give(a->tracer_thread, TASK_SET, changes, n);
	else if ((inventory_wants_list(a->inventory) && list_age_ns > SECOND) ||
		 list_age_ns > a->config->list_every_ns ||
		 (inventory_wants_another(a->inventory) && list_age_ns > 5 * SECOND))
		tracer_thread_give(a->tracer_thread, TASK_LIST, NULL, 0);
	else if (mono_since_ns(now, a->checked_at) > SECOND)
		tracer_thread_give(a->tracer_thread, TASK_CHECK, NULL, 0);
	else if (a->tend_due)
		tracer_thread_give(a->tracer_thread, TASK_TEND, NULL, 0);
}

/* ---- the controller ---- */

static void
watch_link(struct agent *a)
{
	struct link_look look;

	link_look(a->link, &look);
	if (look.connection != a->connection) {
		a->connection = look.connection;
		reconcile_connected(a->reconcile);
		a->status_now = true;
		agent_say(a, LOG_INFO, "connected to %s", a->config->url);
	}
	if (!look.connected && look.trouble.code != 0 &&
	    strcmp(look.trouble.text, a->link_trouble) != 0)
		agent_say(a, LOG_WARN, "%s", look.trouble.text);
	snprintf(a->link_trouble, sizeof a->link_trouble, "%s", look.trouble.text);
	a->connected = look.connected;
	if (look.heard.ns > a->heard.ns)
		a->heard = look.heard;
}

static void
rates_take(struct agent *a, const struct want *w, struct mono now)
{
	struct reconcile_stats look;
	struct mono until = { 0 };
	struct err e = { 0 };

	reconcile_stats(a->reconcile, now, &look);
	if (!look.shed)
		until = look.lease_until;
	rates_apply(a->rates, w, until, &e);
	if (strcmp(e.text, a->rates_trouble) != 0 && e.code != 0)
		agent_say(a, LOG_WARN, "%s", e.text);
	snprintf(a->rates_trouble, sizeof a->rates_trouble, "%s", e.text);
}

static void
take_want(struct agent *a, struct mono now)
{
	struct link_want *w = link_take_want(a->link);
	struct err e;

	if (w == NULL)
		return;
	watch_link(a); /* so that a new connection's want is known for one */
	if (w->connection != a->connection)
		;
	else if (reconcile_want(a->reconcile, &w->want, now, &e) != 0) {
		agent_say(a, LOG_DEBUG, "%s", e.text);
	} else {
		a->has_want = true;
		a->watched = false;
		for (uint32_t i = 0; i < w->want.nrates; i++)
			a->watched |= w->want.rates[i].probed > 0;
		rates_take(a, &w->want, now);
		if (!a->sampling)
			a->renewed_at.ns = 0;
	}
	link_want_free(w);
}

/* Should we be stopped, the tracer writes on until sampling ends: at the pace of late, no more than
 * its files may take. */
static int64_t
sampling_lease_ns(struct agent *a, struct mono now)
{
	double seconds = (double)mono_since_ns(now, a->renewed_at) / 1e9,
	       bytes = (double)(a->look.bytes - a->renewed_bytes);
	double lease_ns = bytes > 0 ? (double)a->config->files_bytes / (bytes / seconds) * 1e9
	                            : SAMPLING_LEASE_NS;

	if (a->renewed_at.ns == 0)
		return SAMPLING_LEASE_MIN_NS; /* the pace is not known yet */
	if (a->look.bytes < a->renewed_bytes ||
	    lease_ns > SAMPLING_LEASE_NS) /* less: a new session */
		return SAMPLING_LEASE_NS;
	return lease_ns < SAMPLING_LEASE_MIN_NS ? SAMPLING_LEASE_MIN_NS : (int64_t)lease_ns;
}

/* While the agent lives requests are sampled, and for a while without a controller: it may be
 * starting anew. */
static void
renew_sampling(struct agent *a, struct mono now)
{
	bool heard = a->has_want && mono_since_ns(now, a->heard) < a->config->sampling_without_ns;
	bool sampling = heard && !a->files_full;

	if (sampling && mono_since_ns(now, a->renewed_at) >= SECOND) {
		rates_renew(a->rates, (struct mono){ now.ns + sampling_lease_ns(a, now) });
		a->renewed_at = now;
		a->renewed_bytes = a->look.bytes;
	}
	if (!sampling && a->sampling) {
		rates_renew(a->rates, (struct mono){ 0 });
		a->renewed_at.ns = 0;
	}
	if (!heard && a->sampling) {
		agent_say(a, LOG_WARN,
		    "no word from the controller for %lld s: requests are not sampled any more",
		    (long long)(a->config->sampling_without_ns / SECOND));
	}
	a->sampling = sampling;
	reconcile_stand(a->reconcile, sampling);
}

static void
post_done(struct agent *a, struct mono now)
{
	struct buf b = { 0 };
	struct done d;

	if (!a->connected || !reconcile_done(a->reconcile, now, inventory_has, a->inventory, &d))
		return;
	done_encode(&d, &b);
	link_post(a->link, FRAME_DONE, &b);
	agent_say(a, LOG_DEBUG, "epoch %llu holds", (unsigned long long)d.epoch);
}

static void
post_programs(struct agent *a)
{
	struct arena arena = { 0 };
	struct programs p;
	struct buf b = { 0 };
	struct err e;

	if (!a->programs_due || inventory_wants_list(a->inventory))
		return;
	if (inventory_programs(a->inventory, &p, &arena, &e) == 0) {
		programs_encode(&p, &b);
		link_post(a->link, FRAME_PROGRAMS, &b);
		a->programs_due = false;
	}
	arena_release(&arena);
	reconcile_programs_changed(a->reconcile);
}

/* ---- the agent ---- */

static void
guard_look(struct agent *a, struct mono now)
{
	switch (guard_turn(a->guard, now)) {
	case GUARD_SAME:
		return;
	case GUARD_DIED:
		agent_say(a, LOG_WARN,
		    "the guardian was killed: there will be another one within a second");
		break;
	case GUARD_HUNG:
		agent_say(
		    a, LOG_WARN, "the guardian hangs: it is killed, and there will be another one");
		break;
	case GUARD_AGAIN:
		agent_say(a, LOG_INFO, "there is a guardian again");
		break;
	}
	a->status_now = true;
}

/* When all else is on its way: the controller knows us, the session stands, nothing waits. */
static void
measure_cost(struct agent *a, struct mono now)
{
	bool may = a->connected && a->session_open && tracer_thread_idle(a->tracer_thread);

	if (!cost_step(&a->cost, a->config->node, a->config->run_dir, may, now))
		return;
	if (a->cost.record_ns > 0)
		agent_say(a, LOG_INFO, "a record costs %.0f ns here, a rejected one %.0f ns",
		    a->cost.record_ns, a->cost.rejected_ns);
	else
		agent_say(a, LOG_WARN,
		    "what a record costs here could not be measured (attempt %d)",
		    a->cost.attempts);
	a->status_now = true;
}

static void
shed_if_full(struct agent *a, struct mono now)
{
	struct reconcile_stats look;
	double fullest = report_fill(a, now);

	reconcile_stats(a->reconcile, now, &look);
	if (fullest < a->config->shed || look.shed || look.added == 0 || look.wanted == 0)
		return; /* nothing wanted: it goes off already */
	rates_silence(a->rates);
	reconcile_shed(a->reconcile);
	a->shed_by = a->fullest;
	a->status_now = true;
	agent_say(a, LOG_WARN, "the queue \"%s\" is %.0f %% full: all %u added tracepoints go off",
	    queue_name(a->shed_by), fullest * 100, look.added);
}

/*
 * How long nobody misses us. What others have to say wakes us at once; so this is about
 * what only looking finds: records, rings that fill, a batch that has waited its time.
 * A ring that is filling is looked at often, and so are all while something is on that
 * could be too much, or soon may be: twice in the time in which the controller has to
 * foresee a loss (10 ms). Else the fewer records come, the longer they may gather.
 */
static int
wait_ms(struct agent *a, struct mono now)
{
	int ms = IDLE_WAIT_MS, due_ms = pack_due_ms(a->pack, now);
	struct reconcile_stats on;

	reconcile_stats(a->reconcile, now, &on);
	if (a->nrecords > 0)
		a->moved = now;
	if (a->more)
		return 0;
	if (a->ring_fill > FILLING || on.added > 0 || a->watched)
		ms = WATCHED_WAIT_MS;
	else if (a->nrecords > CALM_RECORDS)
		ms = BUSY_WAIT_MS;
	else if (mono_since_ns(now, a->moved) < CALM_NS)
		ms = CALM_WAIT_MS;
	ms = report_wait_ms(a, ms);
	return due_ms < ms ? due_ms : ms;
}

void
agent_turn(struct agent *a)
{
	struct pollfd wake = { .fd = a->wake, .events = POLLIN };
	struct mono now = clock_mono();
	eventfd_t ignored;

	guard_look(a, now);
	take_result(a);
	watch_link(a);
	take_want(a, now);
	give_task(a, now);      /* before reading: a toggle should not wait for records */
	hear_unwritten(a, now); /* before the watermark passes */
	read_records(a, now);
	pass_time(a, now);
	shed_if_full(a, now);
	renew_sampling(a, now);
	post_done(a, now);
	post_programs(a);
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
	struct pack_options o = { (size_t)c->batch_bytes, c->batch_ns, c->watermark_ns };

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
		(uint32_t)c->sessions, c->idle_session_ns };
	struct tracer door;
	int rc;

	if ((rc = folder_make(c->run_dir, e)) != 0)
		return rc;
	if (!folder_is_memory(c->run_dir))
		agent_say(a, LOG_WARN,
		    "%s is not on a tmpfs: traces on their way will be written to a disk",
		    c->run_dir);
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

	if (url_is_tls(c->url) && tls_open(&a->tls, &keys, e) != 0)
		return err_prefix(e, "[tls] in hone-agent.conf");
	o.tls = a->tls;
	if (getrandom(&o.incarnation, sizeof o.incarnation, 0) != (ssize_t)sizeof o.incarnation)
		return err_errno(e, "random numbers");
	return link_start(&a->link, &o, a->out, e);
}

/* What all mappings name, and how to tell who has the rest. */
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

	err_set(&e, ERR_TRACER, "other mappings: the session is made anew");
	session_lost(a, &e, clock_mono());
	a->open_after = clock_mono();
	reconcile_standing_none(a->reconcile);
	maps_release(&a->maps);
	if (maps_take(a, maps, &e) != 0)
		agent_say(a, LOG_ERROR, "%s", e.text);
}

/* The reader has two open for each ring that was written to; the usual limit is for programs that
 * select(). */
static void
files_allow(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int
agent_open(struct agent **ret, const struct agent_config *c, const char *version, struct guard *g,
    struct rates *rates, struct maps *maps, void (*say)(enum log_level, const char *),
    struct err *e)
{
	struct agent *a = calloc(1, sizeof *a);
	uint64_t seed = 0;
	int rc;

	if (a == NULL) {
		rates_close(rates, true);
		guard_dismiss(g);
		maps_release(maps);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	a->config = c;
	a->guard = g;
	a->rates = rates;
	a->say = say;
	a->wake = -1;
	a->listed_at.ns = -SECOND * 2;
	files_allow();
	report_begin(a);
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
		seed = (uint64_t)clock_mono().ns;
	rng_seed(&a->dice, seed);
	if ((rc = queues_make(a, e)) != 0 || (rc = maps_take(a, maps, e)) != 0 ||
	    (rc = tracer_make(a, e)) != 0 || (rc = link_make(a, version, e)) != 0) {
		agent_close(a);
		return rc;
	}
	*ret = a;
	return 0;
}

/* What is read already should arrive; but nobody waits long for a controller that is slow or gone.
 */
static void
goodbye(struct agent *a)
{
	struct outbox_fill f;

	read_records(a, clock_mono());
	pack_flush(a->pack, clock_mono());
	link_kick(a->link);
	for (int ms = 0; ms < GOODBYE_MS && a->connected; ms += 5) {
		outbox_look(a->out, &f);
		if (f.waiting_bytes == 0 && f.unacknowledged == 0)
			break;
		poll(NULL, 0, 5);
		watch_link(a);
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
	agent_say(a, LOG_WARN, "%s, or has much to end: the guardian goes on with that", e.text);
	return false;
}

/* Not freed, and not lost, for whoever looks for leaks. */
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
		goodbye(a);
	source_close(a);
	cost_end(&a->cost);
	clean = tracer_end(a);
	link_stop(a->link);
	tls_close(a->tls);
	rates_close(a->rates, true); /* old mappings of it stay, and stay silent */
	if (clean) {
		guard_dismiss(a->guard);
		rmdir(a->config->run_dir);
	} else {
		guard_leave(a->guard);
		left = a; /* the thread that hangs still uses what is ours */
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
