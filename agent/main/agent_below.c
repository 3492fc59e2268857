/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_below.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/main/agent_kernel.h"
#include "agent/main/agent_probes.h"
#include "agent/reader/source_set.h"
#include "agent/system/otel_context.h"
#include "agent/system/process.h"
#include "agent/system/thread_context.h"
#include "agent/tracer/reconcile.h"

#define RETRY_MIN_NS SECOND
#define BEFORE_PER_SECOND_MAX 20000.0 /* 4 % of a core */
#define BEFORE_OFF_NS (600 * SECOND)
#define RETRY_MAX_NS (60 * SECOND)
#define TRY_AGAIN_NS \
	(300 * SECOND) /* where it could do nothing: privileges may have been granted since */
#define LIVED_NS (60 * SECOND) /* one that lived for so long is started again after RETRY_MIN_NS */

enum { INSIDE_MAX = 16 }; /* processes with the same name and pid, of as many containers */

static char LOOKED_FOR; /* the value of a set of pids */

void
below_want(struct agent *a, const struct want *w, struct mono now)
{
	struct agent_below *b = &a->below;

	arena_reset(&b->names);
	b->nwanted = 0;
	b->before = 0;
	for (uint32_t i = 0; i < w->nbelow && i < WANT_BELOW_MAX; i++)
		if ((b->wanted[b->nwanted] = arena_text(
			 &b->names, w->below[i], strlen(w->below[i]))) != NULL)
			b->before |= (w->before >> i & 1) << b->nwanted++;
	b->until.ns = now.ns + reconcile_lease_ms(w->lease_ms) * 1000000;
	b->processes_due = true;
}

enum { NOT_FOLLOWED = -1 };

/* What the controller wants of the service: flags, or NOT_FOLLOWED. */
static int
wanted_of(const struct agent_below *b, const char *service)
{
	for (uint32_t i = 0; i < b->nwanted; i++)
		if (strcmp(b->wanted[i], service) == 0)
			return BELOW_FOLLOW_WAITS |
			       ((b->before >> i & 1) != 0 && b->before_off.ns == 0
				       ? BELOW_FOLLOW_BEFORE
				       : 0);
	return NOT_FOLLOWED;
}

/* How the process is to be followed: flags of enum below_follow_flag, or NOT_FOLLOWED. Without libhone its threads have no
 * context, so all of them are followed. */
static int
flags_of(const struct agent *a, const struct source_process *p)
{
	int wanted = a->below.services ? wanted_of(&a->below, p->service) : NOT_FOLLOWED;

	if (wanted != NOT_FOLLOWED &&
	    (p->outside ||
		p->kernel)) /* the mapping, or the stage, says which requests threads are in */
		wanted = a->below.before_off.ns == 0 ? BELOW_FOLLOW_WAITS : NOT_FOLLOWED;
	if (p->kernel)
		return wanted != NOT_FOLLOWED ? wanted | BELOW_FOLLOW_ALL : NOT_FOLLOWED;
	if (p->pid == 0 || (wanted == NOT_FOLLOWED && !probes_follow(a, p)))
		return NOT_FOLLOWED;
	return (wanted != NOT_FOLLOWED ? wanted : 0) | (p->outside ? BELOW_FOLLOW_ALL : 0);
}

/* Whether services are wanted now. */
static bool
wants_services(const struct agent *a, struct mono now)
{
	return a->below.nwanted > 0 && now.ns < a->below.until.ns && a->control.connected &&
	       mono_since_ns(now, a->control.heard) < a->config->sampling_without_ns;
}

static void
forget_processes(struct agent_below *b)
{
	map_release(&b->processes);
	map_release(&b->reported);
	b->processes_due = true;
	b->before_now = false;
}

/* Until it is started again: longer each time, but for one that had lived. */
static void
back_off(struct agent_below *b, struct mono now)
{
	b->retry_ns = b->retry_ns == 0 || mono_since_ns(now, b->began) >= LIVED_NS
	                  ? RETRY_MIN_NS
	                  : b->retry_ns * 2;
	if (b->retry_ns > RETRY_MAX_NS)
		b->retry_ns = RETRY_MAX_NS;
	b->retry_at.ns = now.ns + b->retry_ns;
}

static void
begin(struct agent *a, struct mono now)
{
	struct agent_below *b = &a->below;
	struct mono before = b->began;
	struct err e;
	int socket;

	b->began = now;
	b->retry_at.ns = now.ns + RETRY_MIN_NS;
	b->leased_at.ns = 0;
	forget_processes(b);
	if (below_start(b->start, &socket, &e) != 0) {
		if (strcmp(b->trouble, e.text) != 0)
			agent_log(a, LOG_WARN, "%s", e.text);
		snprintf(b->trouble, sizeof b->trouble, "%s", e.text);
		back_off(b, now);
		b->began = before; /* nothing began: what it can do stays as unknown as it was */
		return;
	}
	source_below_attach(b->source, socket, now);
	agent_log(a, LOG_DEBUG, "hone-below is started");
}

static void
end(struct agent *a, const struct source_below_status *s, struct mono now)
{
	source_below_end(a->below.source, now);
	a->below
	    .retry_ns = 0; /* an orderly end: the deaths before it say nothing about the next one */
	forget_processes(&a->below);
	probes_ended(a, now);
	a->report.due = true;
	if (strcmp(s->missing, a->below.said) != 0 && s->missing[0] != '\0')
		agent_log(a, LOG_WARN, "hone-below is ended; it cannot do all: %s", s->missing);
	else
		agent_log(a, LOG_INFO, "hone-below is ended");
	snprintf(a->below.said, sizeof a->below.said, "%s", s->missing);
}

static void
renew_lease(struct agent_below *b, struct mono now)
{
	const struct below_message m = { .kind = BELOW_LEASE, .lease_ms = BELOW_LEASE_MS };

	if (b->leased_at.ns != 0 && mono_since_ns(now, b->leased_at) < SECOND)
		return;
	if (source_below_send(b->source, &m))
		b->leased_at = now;
}

/* What `processes` has: the pid that the tracer reports, how it is to be followed, and whether it is. */
static void *
followed_of(uint32_t reported, int flags, bool followed)
{
	return (void *)(uintptr_t)((uint64_t)reported << 8 | (uint64_t)flags << 1 | followed);
}

/* What `reported` has. */
static void *
flags_value(int flags)
{
	return (void *)(uintptr_t)(flags + 1);
}

/* Follows the process, of whom the tracer reports that pid, or finds that it cannot be. False: hone-below was not told. */
static bool
follow(struct agent *a, const struct source_process *p, uint32_t pid, int flags)
{
	struct agent_below *b = &a->below;
	struct hone_context_place place = { 0 };
	struct otel_context otel;
	struct below_follow f = { .pid = pid, .flags = (uint8_t)flags };
	enum thread_context c = (flags & BELOW_FOLLOW_ALL) != 0
	                            ? THREAD_CONTEXT_UNREAD
	                            : thread_context_find((pid_t)pid, &place, &f.address);

	if (c == THREAD_CONTEXT_NONE && otel_context_find((pid_t)pid, &otel)) {
		f.context = (uint8_t)(BELOW_CONTEXT_OTEL_FIXED + otel.model);
		f.offset = otel.offset;
		f.address = otel.address;
	} else if (c == THREAD_CONTEXT_NONE || c == THREAD_CONTEXT_BAD) {
		agent_log(a, LOG_INFO, "%s (%u) is not followed below its tracepoints: %s",
		    p->service, pid, thread_context_text(c));
		map_put(&b->processes, pid, followed_of(p->pid, flags, false));
		return true;
	}
	if (c == THREAD_CONTEXT_FOUND) {
		f.offset = place.offset;
		f.trace_id = place.trace_id;
		f.unit_id = place.unit_id;
		f.request_type = place.request_type;
		f.probed = place.probed;
	}
	if (!source_below_follow(b->source, &f, p->service))
		return false;
	map_put(&b->processes, pid, followed_of(p->pid, flags, true));
	return true;
}

/* The tracer reports the pid that a process sees itself, which in a container is another one than here. All that may be it are
 * followed: they have the same name. */
static void
look_for(struct agent *a, const struct source_process *p, int flags)
{
	pid_t pids[INSIDE_MAX] = { (pid_t)p->pid };
	uint32_t n = process_is((pid_t)p->pid, p->service)
	                 ? 1
	                 : process_inside((pid_t)p->pid, p->service, pids, INSIDE_MAX);

	bool told = true;

	for (uint32_t i = 0; i < n; i++) {
		uintptr_t known = (uintptr_t)map_get(&a->below.processes, (uint32_t)pids[i]);

		if (known == 0 || (known >> 1 & 0x7f) != (uintptr_t)flags)
			told &= follow(a, p, (uint32_t)pids[i], flags);
	}
	if (told)
		map_put(&a->below.reported, p->pid, flags_value(flags));
}

/* Those that have died, or whose service is not wanted any more. */
static void
unfollow_others(struct agent *a)
{
	const struct source_stats *s = &a->records.stats;
	struct agent_below *b = &a->below;
	struct map live = { 0 };
	uint64_t pid;
	size_t at = 0;
	const void *what;

	for (uint32_t i = 0; i < s->nprocesses; i++)
		if (flags_of(a, &s->processes[i]) != NOT_FOLLOWED)
			map_put(&live, s->processes[i].pid, &LOOKED_FOR);
	while ((what = map_next(&b->processes, &at, &pid)) != NULL) {
		if (map_get(&live, (uintptr_t)what >> 8) != NULL)
			continue;
		if (((uintptr_t)what & 1) != 0)
			source_below_unfollow(b->source, (uint32_t)pid);
		map_take(&b->processes, pid);
	}
	for (at = 0; map_next(&b->reported, &at, &pid) != NULL;)
		if (map_get(&live, pid) == NULL)
			map_take(&b->reported, pid);
	map_release(&live);
}

static void
choose_processes(struct agent *a, struct mono now)
{
	const struct source_stats *s = &a->records.stats;
	struct agent_below *b = &a->below;

	if (!b->processes_due && s->changes == b->process_changes &&
	    mono_since_ns(now, b->looked_at) < SECOND)
		return;
	b->processes_due = false;
	b->process_changes = s->changes;
	b->looked_at = now;
	unfollow_others(a);
	b->before_now = false;
	for (uint32_t i = 0; i < s->nprocesses; i++) {
		int flags = flags_of(a, &s->processes[i]);

		b->before_now |= flags != NOT_FOLLOWED && (flags & BELOW_FOLLOW_BEFORE) != 0;
		if (flags != NOT_FOLLOWED &&
		    map_get(&b->reported, s->processes[i].pid) != flags_value(flags))
			look_for(a, &s->processes[i], flags);
	}
}

/* Notes that it has ended by itself. */
static void
note_death(struct agent *a, const struct source_below_status *s, struct mono now)
{
	struct agent_below *b = &a->below;

	if (s->deaths == b->deaths)
		return;
	b->deaths = s->deaths;
	back_off(b, now);
	forget_processes(b);
	probes_ended(a, now);
	a->report.due = true;
	agent_log(a, LOG_WARN, "hone-below has ended; it is started again after %lld s",
	    (long long)(b->retry_ns / SECOND));
}

/* Each switch of a process whose threads are also followed outside of requests costs it 2 us: there is a limit. */
static void
limit_before(struct agent *a, const struct source_below_status *s, struct mono now)
{
	struct agent_below *b = &a->below;
	int64_t passed_ns = mono_since_ns(now, b->outside_at);
	double per_second;

	if (passed_ns < SECOND)
		return;
	per_second = (double)(s->outside - b->outside) * 1e9 / (double)passed_ns;
	if (b->outside_at.ns != 0 && per_second > BEFORE_PER_SECOND_MAX) {
		agent_log(a, LOG_WARN,
		    "what threads do outside of probed requests is not looked at for ten minutes: %.0f waits a second",
		    per_second);
		b->before_off.ns = now.ns + BEFORE_OFF_NS;
		b->processes_due = true;
	}
	if (b->before_off.ns != 0 && now.ns >= b->before_off.ns)
		b->before_off.ns = 0;
	b->outside = s->outside;
	b->outside_at = now;
}

static void
note_can(struct agent_below *b, const struct source_below_status *s)
{
	if (!s->known)
		return;
	b->known = true;
	b->can = s->can;
	snprintf(b->missing, sizeof b->missing, "%s", s->missing);
}

/*
 *	state     services, probes, kernel events     none are wanted
 *	idle      start, not before retry_at          the same until it is known what it can do, also of an earlier session, and
 *	                                              each five minutes while it can do nothing
 *	starting  lease                               lease
 *	active    lease, follow; end if it can        end
 *	          do nothing
 *	ending    until its last records have come    the same
 */
void
below_turn(struct agent *a, struct mono now)
{
	struct agent_below *b = &a->below;
	struct source_below_status s;
	bool wanted, unknown;

	if (b->source == NULL) {
		probes_turn(a, false, now);
		return;
	}
	b->kernel = kernel_needs(a);
	source_below_look(b->source, &s);
	note_can(b, &s);
	note_death(a, &s, now);
	limit_before(a, &s, now);
	b->services = wants_services(a, now);
	wanted = (b->services || b->kernel || probes_need(a, now)) && (!b->known || b->can != 0);
	probes_turn(a, wanted && s.state == SOURCE_BELOW_ACTIVE, now);
	kernel_turn(a, s.state == SOURCE_BELOW_ACTIVE, now);
	switch (s.state) {
	case SOURCE_BELOW_IDLE:
		unknown = !b->known ||
		          (b->can == 0 && mono_since_ns(now, b->began) >= TRY_AGAIN_NS);
		if ((wanted || (unknown && a->control.connected)) && now.ns >= b->retry_at.ns)
			begin(a, now);
		break;
	case SOURCE_BELOW_STARTING:
		renew_lease(b, now);
		break;
	case SOURCE_BELOW_ACTIVE:
		renew_lease(b, now);
		if (wanted)
			choose_processes(a, now);
		else
			end(a, &s, now);
		break;
	case SOURCE_BELOW_ENDING:
		break;
	}
}

int
below_source(struct agent *a, struct source *ret, const struct source *plain, struct err *e)
{
	struct agent_below *b = &a->below;
	struct source members[3] = { *plain };
	struct source_below_answers answers = probes_answers(a);
	uint32_t n = 2;
	int rc;

	if (b->start == NULL || b->start->to <= 0) {
		*ret = *plain;
		return 0;
	}
	if (a->kernel.nservices > 0)
		kernel_answers(a, &answers);
	if ((rc = source_below_open(&members[1], &b->source, &answers, e)) != 0) {
		plain->close(plain->state);
		return rc;
	}
	if (a->kernel.nservices > 0 && (rc = kernel_source(a, &members[n++], e)) != 0) {
		plain->close(plain->state);
		members[1].close(members[1].state);
		b->source = NULL;
		return rc;
	}
	b->deaths = 0;
	if ((rc = source_set_open(ret, members, n, 0, e)) != 0) {
		b->source = NULL;
		a->kernel.source = NULL;
	}
	return rc;
}

void
below_source_closed(struct agent *a)
{
	struct agent_below *b = &a->below;
	struct source_below_status s;

	if (b->source == NULL)
		return;
	source_below_look(b->source, &s);
	b->cpu_before_us += s.cpu_us;
	b->begin_before_us += s.begin_cpu_us;
	b->source = NULL;
	b->outside = 0; /* the next source counts anew */
	b->outside_at.ns = 0;
	kernel_source_closed(a);
	forget_processes(b);
	probes_ended(a, clock_mono());
	a->probes.nfound = 0;
	a->probes.found_at.ns = 0;
}

int64_t
below_status(struct agent *a, struct status *ret)
{
	struct agent_below *b = &a->below;
	struct source_below_status s = { 0 };

	if (b->source != NULL) {
		source_below_look(b->source, &s);
		note_can(b, &s);
	}
	ret->below = b->why_not[0] != '\0'    ? BELOW_NODE_NONE
	             : !b->known              ? BELOW_NODE_UNKNOWN
	             : b->can == 0            ? BELOW_NODE_CANNOT
	             : b->processes.count > 0 ? BELOW_NODE_ACTIVE
	                                      : BELOW_NODE_READY;
	ret->below_can = b->known ? b->can : 0;
	ret->below_missing = b->why_not[0] != '\0' ? b->why_not : b->missing;
	ret->switch_cpu_us = b->begin_before_us + s.begin_cpu_us;
	ret->below_cpu_us = b->cpu_before_us + s.cpu_us - ret->switch_cpu_us;
	return b->cpu_before_us + s.cpu_us;
}

void
below_release(struct agent *a)
{
	struct agent_below *b = &a->below;

	map_release(&b->processes);
	map_release(&b->reported);
	arena_release(&b->names);
	if (b->start != NULL)
		below_start_end(b->start);
}
