/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_records.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/main/agent_below.h"
#include "agent/reader/source_before.h"
#include "agent/reader/source_mapped.h"
#include "agent/reader/sources.h"
#include "mapping/mapper.h"

/* A turn with this many records takes a few ms. Queues are checked once a turn, and a ring that is
 * filling should be seen before it is full. */
enum { TURN_RECORDS = 8192 };

#define LOG_EVERY_NS (60 * SECOND)

void
records_lose(struct agent *a, int64_t from_ns, int64_t to_ns)
{
	struct loss l = { LOSS_RING, 1, from_ns, to_ns > from_ns ? to_ns : from_ns };

	pack_loss(a->pack, &l);
	a->records.blind_losses++;
}

/* Logs whom the agent did not believe, at most once a minute. */
static void
note_strangers(struct agent *a, const struct knocks_turn *t, struct mono now)
{
	struct agent_records *r = &a->records;

	if (t->full &&
	    (r->full_logged.ns == 0 || mono_since_ns(now, r->full_logged) >= LOG_EVERY_NS)) {
		agent_log(a, LOG_WARN,
		    "%d reports of untraced requests at once, %u of them not counted, the last of process %u of "
		    "user %u: a program that ended meanwhile may have reported its own in vain",
		    KNOCKS_QUEUE, t->not_counted, t->pid, t->user);
		r->full_logged = now;
	}
	if (t->not_counted == 0 ||
	    (r->stranger_logged.ns != 0 && mono_since_ns(now, r->stranger_logged) < LOG_EVERY_NS))
		return;
	agent_log(a, LOG_WARN,
	    "process %u of user %u reports untraced requests again and again, and no program of that "
	    "user is traced: not counted as lost",
	    t->pid, t->user);
	r->stranger_logged = now;
}

void
records_lose_unwritten(struct agent *a, struct mono now)
{
	struct agent_records *r = &a->records;
	struct knocks_turn t;

	knocks_hear(rates_knocks(a->rates), now, &t);
	note_strangers(a, &t, now);
	/* Without a session the whole time is reported as lost already. */
	if (!t.lost || a->tracing.session != SESSION_OPEN)
		return;
	records_lose(a, t.from.ns, now.ns);
	if (r->unwritten_logged.ns != 0 && mono_since_ns(now, r->unwritten_logged) < LOG_EVERY_NS)
		return;
	agent_log(a, LOG_WARN,
	    "a program runs untraced, and its requests are reported as lost: the session daemon took too "
	    "long to register it, or cannot be reached from it");
	r->unwritten_logged = now;
}

/* Whose programs are traced: their knocks count. The user of a program in another pid namespace is not
 * visible. */
static void
name_users(struct agent *a)
{
	const struct source_stats *s = &a->records.stats;
	bool unseen = false;

	for (uint32_t i = 0; i < s->nprocesses; i++) {
		uint32_t user;

		if (process_user((pid_t)s->processes[i].pid, s->processes[i].service, &user))
			knocks_user(rates_knocks(a->rates), user);
		else
			unseen = true;
	}
	knocks_unseen(rates_knocks(a->rates), unseen);
}

/* Passes the list of running programs to the inventory, without the one that measures costs. */
static void
list_programs(struct agent *a)
{
	const struct source_stats *s = &a->records.stats;
	struct inventory_process *list = calloc(s->nprocesses + 1, sizeof *list);
	uint32_t n = 0;
	struct err e;

	for (uint32_t i = 0; list != NULL && i < s->nprocesses; i++) {
		const struct source_process *p = &s->processes[i];

		if (strcmp(p->service, "hone-cost") == 0)
			continue;
		list[n++] = (struct inventory_process){ p->service, p->pid, p->outside,
			p->probes_only, process_program((pid_t)p->pid), p->kernel };
	}
	name_users(a);
	if (list != NULL && inventory_run(a->inventory, list, n, &e) == 0) {
		a->records.process_changes = s->changes;
		a->control.programs_due = true;
	}
	free(list);
}

/* Logs what shows that a mapping does not fit its program, at most once a minute. */
static void
log_ends(struct agent *a, struct mono now)
{
	struct agent_records *r = &a->records;
	uint64_t ends = r->stats.given_up + r->stats.orphans;
	bool recent = mono_since_ns(now, r->ends_logged) < LOG_EVERY_NS;

	if (r->stats.endless > r->endless && (r->endless == 0 || !recent)) {
		agent_log(a, LOG_WARN,
		    "mapped programs: during %llu requests, %d others of the same type began, and they have not "
		    "ended: if the program answers later, or from another thread, the mapping needs nested = no or correlate = field",
		    (unsigned long long)r->stats.endless, MAPPER_INSIDE_MANY);
		r->endless = r->stats.endless;
	}
	if (ends == r->open_ends || recent)
		return;
	agent_log(a, LOG_INFO,
	    "mapped programs: %llu requests were abandoned without an end, %llu ends and steps belong to no "
	    "known request",
	    (unsigned long long)r->stats.given_up, (unsigned long long)r->stats.orphans);
	r->open_ends = ends;
	r->ends_logged = now;
}

/* Logs another trouble of the source than the last, at most once a minute. */
static void
log_trouble(struct agent *a, struct mono now)
{
	struct agent_records *r = &a->records;

	if (r->trouble[0] == '\0' || strcmp(r->trouble, r->logged_trouble) == 0 ||
	    (r->trouble_logged.ns != 0 && mono_since_ns(now, r->trouble_logged) < LOG_EVERY_NS))
		return;
	agent_log(a, LOG_WARN, "reading records: %s", r->trouble);
	snprintf(r->logged_trouble, sizeof r->logged_trouble, "%s", r->trouble);
	r->trouble_logged = now;
}

/* Keeps which live program is not traced; logs the first one, and when all are traced. */
static void
note_untraced(struct agent *a)
{
	struct agent_records *r = &a->records;

	if (r->stats.untraced_pid == r->untraced_pid)
		return;
	if (r->stats.untraced_pid == 0)
		agent_log(a, LOG_INFO, "no live program runs untraced any more");
	else
		agent_log(a, LOG_WARN,
		    "%s (%u) runs untraced: the session daemon lost its registration; it is traced when it "
		    "is started again",
		    r->stats.untraced, r->stats.untraced_pid);
	a->report.due = true;
	r->untraced_pid = r->stats.untraced_pid;
	snprintf(r->untraced, sizeof r->untraced, "%s",
	    r->stats.untraced != NULL ? r->stats.untraced : "");
}

/* Keeps which program was put into quarantine last; logs it at most once a second, since a user may
 * start any number of such programs. */
static void
note_quarantine(struct agent *a, struct mono now)
{
	static const enum trouble_kind KINDS[] = { [QUARANTINE_NONE] = NODE_TROUBLE_NONE,
		[QUARANTINE_DAMAGED] = NODE_TROUBLE_RING_DAMAGED,
		[QUARANTINE_POSITIONS] = NODE_TROUBLE_RING_POSITIONS,
		[QUARANTINE_STUCK] = NODE_TROUBLE_RING_STUCK,
		[QUARANTINE_OVERRUN] = NODE_TROUBLE_OVERRUN };
	struct agent_records *r = &a->records;
	const struct source_quarantined *q = &r->stats.quarantined;

	if (q->service == NULL) {
		a->report.due |= r->culprit.kind != NODE_TROUBLE_NONE;
		r->culprit = (struct node_trouble){ 0 };
	}
	if (r->stats.quarantines == r->quarantines)
		return;
	r->quarantines = r->stats.quarantines;
	if (q->service == NULL)
		return;
	snprintf(r->culprit_name, sizeof r->culprit_name, "%s", q->service);
	r->culprit = (struct node_trouble){
		.kind = KINDS[q->why], .subject = r->culprit_name, .pid = q->pid, .user = q->user
	};
	r->culprit_at = now;
	a->report.due = true;
	if (r->culprit_logged.ns != 0 && mono_since_ns(now, r->culprit_logged) < SECOND)
		return;
	agent_log(a, LOG_WARN, "%s (%u) of user %lld is not traced any more: %s", r->culprit_name,
	    q->pid, q->user == USER_UNKNOWN ? -1LL : (long long)q->user,
	    trouble_kind_word(r->culprit.kind));
	r->culprit_logged = now;
}

/* Logs how many programs are not read since their users are not listed, at most once a minute. */
static void
note_unlisted(struct agent *a, struct mono now)
{
	struct agent_records *r = &a->records;

	if (r->stats.unlisted == r->unlisted ||
	    (r->unlisted_logged.ns != 0 && mono_since_ns(now, r->unlisted_logged) < LOG_EVERY_NS))
		return;
	agent_log(a, LOG_INFO,
	    "programs of users that agent.users does not list, which are not read: %u",
	    r->stats.unlisted);
	r->unlisted = r->stats.unlisted;
	r->unlisted_logged = now;
}

int
records_list_users(struct agent *a, struct err *e)
{
	struct listed_users *l = &a->records.users;
	int rc = listed_users_parse(l, a->config->users, e);

	if (rc == 0 && l->n > 0 && l->n < LISTED_USERS_MAX)
		l->ids[l->n++] = geteuid();
	return rc;
}

void
records_read(struct agent *a, struct mono now)
{
	struct agent_records *r = &a->records;
	struct source_output out = { 0 };
	const struct batch_label *labels;
	uint32_t nlabels;
	struct err e;

	r->more = false;
	r->last_count = 0;
	if (a->tracing.session != SESSION_OPEN)
		return;
	if (r->source.poll(r->source.state, now, &out, &e) != 0) {
		snprintf(r->trouble, sizeof r->trouble, "%s", e.text);
		return;
	}
	labels = r->source.labels(r->source.state, &nlabels);
	pack_take(a->pack, &out, labels, nlabels, now);
	r->more = out.more;
	r->last_count = out.nrecords;
	if (out.nrecords > 0)
		r->last_at = now;
	r->source.stats(r->source.state, &r->stats);
	snprintf(r->trouble, sizeof r->trouble, "%s", r->stats.trouble);
	log_trouble(a, now);
	note_untraced(a);
	note_quarantine(a, now);
	note_unlisted(a, now);
	if (r->stats.changes != r->process_changes)
		list_programs(a);
	log_ends(a, now);
}

void
records_pass_time(struct agent *a, struct mono now)
{
	int64_t watermark_ns = pack_watermark_ns(a->pack);

	if (a->tracing.session != SESSION_LOST || now.ns - watermark_ns < SECOND)
		return;
	records_lose(a, watermark_ns, now.ns);
	pack_watermark(a->pack, now.ns);
}

static enum mapped_choice
choose(void *of, const char *type)
{
	struct agent *a = of;

	switch (
	    rates_choose(a->rates, type, clock_mono(), (uint32_t)(rng_next(&a->random) >> 32))) {
	case RATES_PROBE:
		return MAPPED_PROBED;
	case RATES_SAMPLE:
		return MAPPED_SAMPLED;
	case RATES_SKIP:
		break;
	}
	return MAPPED_NOT;
}

static int
source_open(struct agent *a, const struct tracer_session *session, struct err *e)
{
	struct source_options o = {
		.records_max = TURN_RECORDS,
		.wants_outside = source_mapped_wants,
		.of = &a->maps,
		.users = &a->records.users,
		.overrun = &a->control.overrun,
	};
	struct mapped_options m = { .choose = choose, .of = a, .seed = rng_next(&a->random) };
	const struct source_place place = { session->folder, session->channel };
	struct source plain, both, *mapped = &a->records.mapped;
	int rc;

	*mapped = (struct source){ 0 };

	if ((rc = sources_open(&plain, a->config->reader, &place, &o, e)) != 0 ||
	    (rc = below_source(a, &both, &plain, e)) != 0)
		return rc;
	/* Waits of mapped programs get their requests first: the last stage drops those that have none. */
	if ((a->maps.count > 0 && (rc = source_mapped_open(mapped, &both, &a->maps, &m, e)) != 0) ||
	    (rc = source_before_open(&a->records.source, a->maps.count > 0 ? mapped : &both,
		 &a->below.before_now, e)) != 0)
		a->below.source = NULL, a->kernel.source = NULL;
	return rc;
}

int
records_open(struct agent *a, const struct tracer_session *session, struct mono now, struct err *e)
{
	int rc;

	assert(a->tracing.session != SESSION_OPEN);
	if ((rc = source_open(a, session, e)) != 0)
		return rc;
	a->records.process_changes = UINT64_MAX;
	if (a->tracing.session == SESSION_LOST)
		records_lose(a, pack_watermark_ns(a->pack), now.ns);
	/* Requests that are under way now have no begin; not worth a line in the log. */
	a->records.ends_logged = now;
	return 0;
}

void
records_close(struct agent *a)
{
	struct agent_records *r = &a->records;

	assert(a->tracing.session == SESSION_OPEN);
	for (int i = 0; i < LOSS_REASONS; i++)
		r->lost_before[i] += r->stats.lost[i];
	r->records_before += r->stats.records;
	r->mapped_before += r->stats.mapped;
	r->dropped_before += r->stats.dropped;
	r->open_ends = r->endless = r->quarantines = 0;
	memset(&r->stats, 0, sizeof r->stats);
	below_source_closed(a);
	r->source.close(r->source.state);
	r->mapped = (struct source){ 0 };
	pack_forget_labels(a->pack);
}
