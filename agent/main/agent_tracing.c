/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_tracing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/main/agent_recorder.h"
#include "agent/main/agent_records.h"
#include "agent/main/status_report.h"
#include "agent/reader/source_mapped.h"

void
tracing_lost(struct agent *a, const struct err *e, struct mono now)
{
	struct agent_tracing *t = &a->tracing;

	if (t->session == SESSION_OPEN) {
		records_read(a, now);
		records_close(a);
		t->session = SESSION_LOST;
		t->lost_at = now;
	}
	if (strcmp(t->trouble_text, e->text) != 0)
		agent_log(a, LOG_WARN, "%s", e->text);
	snprintf(t->trouble_text, sizeof t->trouble_text, "%s", e->text);
	t->trouble = (struct node_trouble){ .kind = NODE_TROUBLE_TRACER, .text = t->trouble_text };
	t->open_after.ns = now.ns + SECOND;
	reconcile_forget(a->reconcile, RECONCILE_TRACER);
	recorder_lost(a);
	a->report.due = true;
}

/* The guardian considered this agent hung and ended the session: no tracepoint is enabled now. */
static void
session_buried(struct agent *a, struct mono now)
{
	struct err e;

	err_set(&e, ERR_TRACER,
	    "this agent did not move for %.0f s, and its guardian ended the session",
	    (double)a->config->hang_ns / SECOND);
	tracing_lost(a, &e, now);
	a->tracing.trouble = (struct node_trouble){ .kind = NODE_TROUBLE_AGENT_HUNG,
		.seconds = (double)a->config->hang_ns / SECOND };
}

static void
session_made(struct agent *a, const struct task_result *r)
{
	struct err e;

	reconcile_forget(a->reconcile, RECONCILE_TRACER);
	if (records_open(a, &r->session, r->ended, &e) != 0) {
		tracing_lost(a, &e, r->ended);
		return;
	}
	a->tracing.session = SESSION_OPEN;
	a->records.culprit = (struct node_trouble){ 0 };
	a->tracing.trouble = (struct node_trouble){ 0 };
	a->tracing.trouble_text[0] = '\0';
	a->report.due = true;
	agent_log(a, LOG_INFO, "tracing: session hone-%s-%ld", a->config->node, (long)getpid());
}

/* A tracepoint that cannot be disabled is disabled by ending the session. Where the consumer daemon
 * was killed, the session daemon disables no rule any more, but still ends sessions. */
static void
fail_if_still_on(struct task_result *r)
{
	for (uint32_t i = 0; i < r->nchanges && r->code == 0; i++)
		if (!r->changes[i].on && r->changes[i].failed)
			r->code = err_set(&r->err, ERR_TRACER,
			    "%s cannot be disabled (%s): the session is made again",
			    r->changes[i].name, r->changes[i].reason);
}

/* Of a mapping's tracepoints some were enabled before others: a request may have begun whose end was
 * not recorded. */
static void
standing_changed(struct agent *a, const struct task_result *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->nchanges; i++)
		any |= r->changes[i].standing;
	if (any && a->tracing.session == SESSION_OPEN)
		source_mapped_gap(&a->records.mapped, r->ended.ns);
}

static void
changes_made(struct agent *a, struct task_result *r)
{
	fail_if_still_on(r);
	standing_changed(a, r);
	for (uint32_t i = 0; i < r->nchanges; i++)
		if (r->changes[i].failed)
			agent_log(a, LOG_WARN, "%s %s: %s",
			    r->changes[i].on ? "enabling" : "disabling", r->changes[i].name,
			    r->changes[i].reason);
	if (r->gap.from_ns != 0 && r->code == 0)
		records_lose(a, r->gap.from_ns, r->gap.to_ns);
	reconcile_applied(a->reconcile, r->changes, r->nchanges, r->code != 0, r->ended);
	a->report.due = true;
}

static void
tracepoints_listed(struct agent *a, struct task_result *r)
{
	struct err e;

	a->tracing.listed_at = r->ended;
	if (r->code == 0 && inventory_listed(a->inventory, &r->listed, &e) != 0)
		agent_log(a, LOG_WARN, "%s", e.text);
	tracepoints_release(&r->listed);
	a->control.programs_due = true;
}

void
tracing_take_result(struct agent *a)
{
	struct task_result r;

	tracer_thread_take(a->tracer_thread, &r);
	if (r.task == TASK_NONE)
		return;
	/* A change is no check: one that fails is repeated each second, and succeeds or fails for
	 * reasons of its own. */
	if (r.task == TASK_CHECK || r.task == TASK_OPEN)
		a->tracing.checked_at = r.ended;
	a->tracing.tend_due = r.task != TASK_TEND;
	if (r.task == TASK_SET) {
		report_switch_ended(a);
		changes_made(a, &r);
	}
	if (r.task == TASK_LIST)
		tracepoints_listed(a, &r);
	if (r.task == TASK_RECORD || r.task == TASK_SNAPSHOT)
		recorder_result(a, &r);
	else if (r.code != 0)
		tracing_lost(a, &r.err, r.ended);
	else if (r.task == TASK_OPEN)
		session_made(a, &r);
}

static bool
list_is_due(const struct agent *a, struct mono now)
{
	int64_t age_ns = mono_since_ns(now, a->tracing.listed_at);

	return (inventory_wants_list(a->inventory) && age_ns > SECOND) ||
	       age_ns > a->config->list_every_ns ||
	       (inventory_wants_another(a->inventory) && age_ns > 5 * SECOND);
}

/* Tasks in the order of their urgency:
 * 1. open a session, while the guardian is not ending the last one
 * 2. enable and disable tracepoints
 * 3. the flight recorder
 * 4. list the tracepoints of programs
 * 5. check the session, once a second
 * 6. what can wait */
void
tracing_give_task(struct agent *a, struct mono now)
{
	struct tracer_thread *thread = a->tracer_thread;
	struct tracer_change *changes;
	uint32_t n;

	if (!tracer_thread_idle(thread))
		return;
	if (guard_buried(a->guard) && a->tracing.session == SESSION_OPEN)
		session_buried(a, now);
	if (a->tracing.session != SESSION_OPEN) {
		if (now.ns >= a->tracing.open_after.ns && !guard_buries(a->guard))
			tracer_thread_give(thread, TASK_OPEN, NULL, 0);
		return;
	}
	if ((changes = reconcile_changes(a->reconcile, RECONCILE_TRACER, now, &n)) != NULL) {
		report_switch_begins(a);
		tracer_thread_give(thread, TASK_SET, changes, n);
	} else if (recorder_give_task(a, now))
		;
	else if (list_is_due(a, now))
		tracer_thread_give(thread, TASK_LIST, NULL, 0);
	else if (mono_since_ns(now, a->tracing.checked_at) > SECOND)
		tracer_thread_give(thread, TASK_CHECK, NULL, 0);
	else if (a->tracing.tend_due)
		tracer_thread_give(thread, TASK_TEND, NULL, 0);
}
