/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_kernel.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/main/kernel_gateways.h"
#include "agent/system/cgroup.h"
#include "agent/system/process.h"
#include "base/glob.h"

#define FIND_NS SECOND
#define AGAIN_NS \
	(300 * SECOND) /* where it is not possible: privileges may have been granted since */
#define OVER_NS (600 * SECOND) /* after too many events */
#define LOG_EVERY_NS (60 * SECOND)
#define CGROUPS "/sys/fs/cgroup"

/* ---- the configuration ---- */

int
kernel_open(struct agent *a, struct err *e)
{
	struct agent_kernel *k = &a->kernel;
	const struct agent_config *c = a->config;

	if (kernel_list_read(
		c->services, &k->texts, k->services, &k->nservices, KERNEL_SERVICES_MAX, e) != 0)
		return err_prefix(e, "kernel.services");
	if (kernel_list_read(c->gateway_cgroups, &k->texts, k->cgroups, &k->ncgroups,
		KERNEL_CGROUPS_MAX, e) != 0)
		return err_prefix(e, "kernel.gateway_cgroups");
	if ((c->gateways[0] != '\0' || k->ncgroups > 0) &&
	    kernel_gateways_read(&k->gateways, c->gateways, e) != 0)
		return err_prefix(e, "kernel.gateways");
	return 0;
}

void
kernel_release(struct agent *a)
{
	struct agent_kernel *k = &a->kernel;

	gateways_free(k->gateways);
	arena_release(&k->texts);
	free(k->found);
}

bool
kernel_names_service(const struct agent *a, const char *comm)
{
	for (uint32_t i = 0; i < a->kernel.nservices; i++)
		if (glob_matches(a->kernel.services[i], comm))
			return true;
	return false;
}

/* ---- processes ---- */

static bool
is_named(void *of, const char *comm)
{
	return kernel_names_service(of, comm);
}

/* Hone's own programs, whose messages are about requests. */
static bool
is_own(const char *comm)
{
	return strncmp(comm, "hone-", 5) == 0 || strcmp(comm, "honed") == 0;
}

/* The tracer lists it: it has requests of its own. */
static bool
is_traced(const struct agent *a, uint32_t pid)
{
	const struct source_stats *s = &a->records.stats;

	for (uint32_t i = 0; i < s->nprocesses; i++)
		if (s->processes[i].pid == pid && !s->processes[i].kernel)
			return true;
	return false;
}

/* Adds what has to be known of it to the list. False: it has ended, or may not be followed. */
static bool
note_found(const struct agent *a, struct kernel_process *to, pid_t pid, bool gateway)
{
	struct process_look look;
	uint32_t user;

	if (!process_look(pid, &look) || !look.has_memory || is_own(look.comm) ||
	    is_traced(a, (uint32_t)pid) ||
	    (a->records.users.n > 0 &&
		!(process_real_user(pid, &user) && listed_users_have(&a->records.users, user))))
		return false;
	*to = (struct kernel_process){
		.pid = (uint32_t)pid, .began_ns = look.began_ns, .gateway = gateway
	};
	snprintf(to->comm, sizeof to->comm, "%.15s", look.comm);
	return true;
}

static const struct kernel_process *
known(const struct agent_kernel *k, const struct kernel_process *p)
{
	for (uint32_t i = 0; i < k->nfound; i++)
		if (k->found[i].pid == p->pid && k->found[i].began_ns == p->began_ns)
			return &k->found[i];
	return NULL;
}

static uint32_t
find(const struct agent *a, struct kernel_process *list)
{
	const struct agent_kernel *k = &a->kernel;
	struct process_found found[KERNEL_PROCESSES_MAX];
	pid_t pids[KERNEL_PROCESSES_MAX];
	uint32_t n = process_find(is_named, (void *)(uintptr_t)a, found, KERNEL_PROCESSES_MAX),
		 npids = 0, kept = 0;
	char path[PATH_MAX];

	for (uint32_t i = 0; i < n; i++)
		kept += note_found(a, &list[kept], found[i].pid, false);
	if (kept == 0)
		return 0; /* nobody to send requests to */
	for (uint32_t i = 0; i < k->ncgroups; i++)
		if (snprintf(path, sizeof path, "%s%s",
			strncmp(k->cgroups[i], "/sys/", 5) == 0 ? "" : CGROUPS,
			k->cgroups[i]) < (int)sizeof path)
			npids = cgroup_processes(path, pids, npids, KERNEL_PROCESSES_MAX);
	for (uint32_t i = 0; i < npids && kept < KERNEL_PROCESSES_MAX; i++)
		kept += note_found(a, &list[kept], pids[i], true);
	return kept;
}

/* Tells the stage which processes are gateways, and the status which programs are followed. */
static void
tell_found(struct agent *a)
{
	struct agent_kernel *k = &a->kernel;
	struct source_process *list = calloc((size_t)k->nfound + 1, sizeof *list);
	uint32_t n = 0;

	if (k->gateways != NULL)
		gateways_forget_processes(k->gateways);
	for (uint32_t i = 0; list != NULL && i < k->nfound; i++) {
		struct kernel_process *p = &k->found[i];

		if (p->gateway)
			gateways_add_process(k->gateways, 0, p->pid, NULL);
		else if (k->state == KERNEL_FOLLOWED)
			list[n++] = (struct source_process){ .service = p->comm,
				.pid = p->pid,
				.probes_only = true,
				.kernel = true };
	}
	if (list != NULL && k->source != NULL)
		source_requests_programs(k->source, list, n);
	free(list);
	a->report.due = true;
}

static void
look_for_processes(struct agent *a, struct mono now)
{
	struct agent_kernel *k = &a->kernel;
	struct kernel_process *list = calloc(KERNEL_PROCESSES_MAX, sizeof *list);
	bool changed = false;
	uint32_t n;

	k->looked_at = now;
	if (list == NULL)
		return;
	n = find(a, list);
	changed = n != k->nfound;
	for (uint32_t i = 0; i < n; i++) {
		const struct kernel_process *before = known(k, &list[i]);

		changed |= before == NULL;
		list[i].told = before != NULL && before->told;
	}
	free(k->found);
	k->found = list;
	k->nfound = n;
	if (changed)
		tell_found(a);
}

/* ---- hone-below ---- */

bool
kernel_needs(const struct agent *a)
{
	const struct agent_kernel *k = &a->kernel;

	return k->source != NULL && k->nfound > 0 && a->control.sampling &&
	       clock_mono().ns >= k->again.ns;
}

static void
set_state(struct agent *a, enum kernel_state state)
{
	struct agent_kernel *k = &a->kernel;

	if (k->state == state)
		return;
	k->state = state;
	for (uint32_t i = 0; i < k->nfound; i++)
		k->found[i].told = false;
	tell_found(a);
}

static void
on_recording(void *of, const struct below_recording *r, struct mono now)
{
	struct agent *a = of;
	struct agent_kernel *k = &a->kernel;
	struct err e;

	if (k->state == KERNEL_OFF)
		return; /* it was not asked for any more */
	if (strcmp(k->missing, r->missing) != 0 && r->missing[0] != '\0')
		agent_log(a, LOG_WARN, "kernel events: %s", r->missing);
	snprintf(k->missing, sizeof k->missing, "%s", r->missing);
	if (!r->on ||
	    (k->state == KERNEL_ASKED && source_requests_begin(k->source, now, &e) != 0)) {
		source_requests_end(k->source, false);
		k->again.ns = now.ns + AGAIN_NS;
		set_state(a, KERNEL_OFF);
	} else if (k->state == KERNEL_ASKED) {
		k->counted_at = now;
		set_state(a, KERNEL_FOLLOWED);
		k->looked_at.ns = 0;
	}
}

static bool
on_events(void *of, const struct below_events *v)
{
	struct agent *a = of;

	return source_requests_feed(a->kernel.source, v->bytes, v->len, NULL) == 0;
}

static void
on_mark(void *of, int64_t mark_ns)
{
	struct agent *a = of;

	source_requests_mark(a->kernel.source, mark_ns);
}

/* What hone-below saw of a thread of these programs. */
static bool
on_seen(void *of, const struct record *r, const struct batch_label *l)
{
	struct agent *a = of;
	struct agent_kernel *k = &a->kernel;

	for (uint32_t i = 0; k->source != NULL && i < k->nfound; i++)
		if (k->found[i].pid == r->pid) {
			source_requests_seen(k->source, r, l);
			return true;
		}
	return false;
}

static void
on_gone(void *of, bool asked)
{
	struct agent *a = of;

	if (a->kernel.source == NULL)
		return;
	source_requests_end(a->kernel.source, asked);
	set_state(a, KERNEL_OFF);
}

void
kernel_answers(struct agent *a, struct source_below_answers *answers)
{
	answers->recording = on_recording;
	answers->events = on_events;
	answers->events_mark = on_mark;
	answers->seen = on_seen;
	answers->gone = on_gone;
	(void)a;
}

static void
stop(struct agent *a)
{
	source_below_record(a->below.source, 0);
	source_requests_end(a->kernel.source, true);
	set_state(a, KERNEL_OFF);
}

/* Events of programs that do nothing but that are no use, and they cost. */
static void
limit(struct agent *a, struct mono now)
{
	struct agent_kernel *k = &a->kernel;
	struct source_requests_counts c;
	int64_t passed_ns = mono_since_ns(now, k->counted_at);

	if (passed_ns < SECOND)
		return;
	source_requests_count(k->source, &c);
	k->per_second = (double)(c.events - k->counted) * 1e9 / (double)passed_ns;
	k->counted = c.events;
	k->counted_at = now;
	if (k->per_second <= (double)a->config->kernel_limit)
		return;
	snprintf(k->missing, sizeof k->missing, "over-limit");
	agent_log(a, LOG_WARN,
	    "%.0f kernel events a second are over kernel.limit in hone-agent.conf (%lld): not followed for ten minutes",
	    k->per_second, (long long)a->config->kernel_limit);
	k->again.ns = now.ns + OVER_NS;
	stop(a);
}

static void
tell_processes(struct agent *a)
{
	struct agent_kernel *k = &a->kernel;

	for (uint32_t i = 0; i < k->nfound; i++)
		if (!k->found[i].told)
			k->found[i].told = source_below_record_of(a->below.source, k->found[i].pid);
}

static void
log_losses(struct agent *a, struct mono now)
{
	struct agent_kernel *k = &a->kernel;
	struct source_requests_counts c;

	source_requests_count(k->source, &c);
	if (c.losses == k->losses ||
	    (k->losses_logged.ns != 0 && mono_since_ns(now, k->losses_logged) < LOG_EVERY_NS))
		return;
	agent_log(a, LOG_WARN,
	    "kernel events were lost %llu times so far; %llu requests were open when a recording ended",
	    (unsigned long long)c.losses, (unsigned long long)c.cut_off);
	k->losses = c.losses;
	k->losses_logged = now;
}

void
kernel_turn(struct agent *a, bool active, struct mono now)
{
	struct agent_kernel *k = &a->kernel;
	bool needed;

	if (k->source == NULL)
		return;
	if (mono_since_ns(now, k->looked_at) >= FIND_NS || k->looked_at.ns == 0)
		look_for_processes(a, now);
	log_losses(a, now);
	if (!active)
		return;
	needed = kernel_needs(a);
	if (!needed && k->state != KERNEL_OFF)
		stop(a);
	else if (needed && k->state == KERNEL_OFF &&
		 source_below_record(a->below.source,
		     BELOW_RECORD_ON | (a->config->kernel_http ? BELOW_RECORD_TEXTS : 0)))
		set_state(a, KERNEL_ASKED);
	if (k->state != KERNEL_FOLLOWED)
		return;
	tell_processes(a);
	limit(a, now);
}

/* ---- the source ---- */

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

static bool
looks_below(void *of, const char *service)
{
	const struct agent *a = of;

	for (uint32_t i = 0; a->below.services && i < a->below.nwanted; i++)
		if (strcmp(a->below.wanted[i], service) == 0)
			return true;
	return false;
}

int
kernel_source(struct agent *a, struct source *ret, struct err *e)
{
	const struct source_requests_options o = {
		.rule = strcmp(a->config->kernel_rule, "all") == 0 ? RULE_ALL : RULE_CURRENT,
		.gateways = a->kernel.gateways,
		.choose = choose,
		.looks_below = looks_below,
		.of = a,
		.seed = rng_next(&a->random)
	};

	return source_requests_open(ret, &a->kernel.source, &o, e);
}

void
kernel_source_closed(struct agent *a)
{
	struct agent_kernel *k = &a->kernel;
	struct source_requests_counts c;

	if (k->source == NULL)
		return;
	source_requests_count(k->source, &c);
	k->requests_before += c.sampled + c.skipped;
	k->source = NULL;
	k->state = KERNEL_OFF;
	k->counted = k->losses = 0;
}

void
kernel_status(const struct agent *a, struct status *s)
{
	const struct agent_kernel *k = &a->kernel;
	struct source_requests_counts c = { 0 };

	s->kernel_missing = "";
	if (k->nservices == 0)
		return;
	s->kernel = true;
	if (k->source != NULL)
		source_requests_count(k->source, &c);
	for (uint32_t i = 0; i < k->nfound; i++)
		s->kernel_processes += k->state == KERNEL_FOLLOWED && k->found[i].told;
	s->kernel_requests = k->requests_before + c.sampled + c.skipped;
	s->kernel_lossy = c.stage.lossy;
	s->kernel_events_per_s = k->state == KERNEL_FOLLOWED ? k->per_second : 0;
	s->kernel_missing = a->below.why_not[0] != '\0' ? a->below.why_not
	                    : k->missing[0] != '\0'     ? k->missing
	                    : k->nfound == 0            ? "no-process"
	                                                : "";
}
