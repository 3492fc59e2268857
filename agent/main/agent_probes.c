/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/main/probed_programs.h"
#include "agent/reader/source_mapped.h"
#include "agent/system/process.h"
#include "base/array.h"
#include "base/glob.h"
#include "wire/below.h"

#define LIST_NS (5 * SECOND) /* the time to answer a LIST; then it is asked again later */
/* Between lists that give nothing: the first pause, then twice as long each time, up to the last. */
#define PAUSE_MIN_NS (5 * SECOND)
#define PAUSE_MAX_NS (300 * SECOND)
#define DEAR_NS (600 * SECOND) /* until a probe that was passed too often may be tried again */

/* Neither the node nor its configuration rules them out. */
static bool
is_possible(const struct agent *a)
{
	const struct agent_below *b = &a->below;

	return a->config->probes && b->source != NULL &&
	       (!b->known || (b->can & BELOW_CAN_PROBES) != 0);
}

/* Programs are to be listed. Those with a known file are each listed once. Where files are unknown, each process is a program of its own:
 * a program that is started again and again must not start hone-below as often. */
static bool
needs_list(const struct agent *a, struct mono now)
{
	const struct agent_probes *p = &a->probes;

	return now.ns >= p->list_after.ns &&
	       inventory_unprobed(a->inventory, now.ns >= p->fileless_after.ns, NULL) != 0;
}

bool
probes_need(const struct agent *a, struct mono now)
{
	return is_possible(a) && a->control.connected &&
	       (reconcile_wants(a->reconcile, RECONCILE_PROBES, now) || needs_list(a, now));
}

static bool
has_functions(const struct agent_probes *p, const char *service)
{
	for (uint32_t i = 0; i < p->npatterns; i++)
		if (below_is_function(p->patterns[i].name, service))
			return true;
	return false;
}

bool
probes_follow(const struct agent *a, const struct source_process *p)
{
	return a->probes.wanted && (inventory_has_probes(a->inventory, p->service, p->pid) ||
				       has_functions(&a->probes, p->service));
}

/* ---- the list ---- */

/* The tracer reports the pid that a process sees itself. If several containers have such a process, it is not known which one that is: the pid stays as it is. */
static uint32_t
pid_here(const char *service, uint32_t pid)
{
	pid_t inside[2];

	if (process_is((pid_t)pid, service) || process_inside((pid_t)pid, service, inside, 2) != 1)
		return pid;
	return (uint32_t)inside[0];
}

static int64_t
longer_pause_ns(int64_t last_ns)
{
	return last_ns == 0                 ? PAUSE_MIN_NS
	       : last_ns * 2 > PAUSE_MAX_NS ? PAUSE_MAX_NS
	                                    : last_ns * 2;
}

/* hone-below has ended. If it gave nothing for programs whose file is unknown, also since they had ended before, a pause follows; a longer one if that was
 * so not long before. None while one is still to be listed: then it ended for another reason. */
static void
pause_lists(struct agent *a, struct mono now)
{
	struct agent_probes *p = &a->probes;

	if (p->list_gave || mono_since_ns(now, p->fileless_after) > p->fileless_ns)
		p->fileless_ns = 0;
	if (p->list_fileless && !p->list_gave &&
	    inventory_unprobed(a->inventory, true, NULL) == 0) {
		p->fileless_ns = longer_pause_ns(p->fileless_ns);
		p->fileless_after.ns = now.ns + p->fileless_ns;
	}
	p->list_fileless = p->list_gave = false;
}

static void
list_next(struct agent *a, struct mono now)
{
	struct agent_probes *p = &a->probes;
	const char *service = "";
	uint32_t filed = inventory_unprobed(a->inventory, false, &service);
	uint32_t pid = filed != 0 ? filed : inventory_unprobed(a->inventory, true, &service);

	if (p->listing != 0 && mono_since_ns(now, p->list_asked) < LIST_NS)
		return;
	if (p->listing != 0) { /* no answer */
		p->listing = 0;
		p->unanswered_ns = longer_pause_ns(p->unanswered_ns);
		p->list_after.ns = now.ns + p->unanswered_ns;
	}
	if (pid == 0 || now.ns < p->list_after.ns)
		return;
	p->listing_here = pid_here(service, pid);
	snprintf(p->listing_service, sizeof p->listing_service, "%s", service);
	if (!source_below_list(a->below.source, p->listing_here))
		return;
	p->listing = pid;
	p->list_gave |= filed != 0;
	p->list_asked = now;
}

static void sync_probe(void *of, const char *name);

static void
listed(void *of, const struct below_listed *l)
{
	struct agent *a = of;
	struct err e;

	if (a->probes.listing == 0 || l->pid != a->probes.listing_here)
		return; /* too late */
	if (inventory_probes(a->inventory, a->probes.listing_service, a->probes.listing, l->names,
		l->last, &e) != 0)
		agent_log(a, LOG_WARN, "%s", e.text);
	a->probes.list_gave |= l->names[0] != '\0';
	if (!l->last)
		return;
	a->probes.listing = 0;
	a->probes.unanswered_ns = 0;
	a->control.programs_due = true;
	a->below.processes_due = true;
	if (a->probes.npatterns > 0)
		inventory_each_probe(a->inventory, sync_probe, a);
}

/* ---- on and off ---- */

/* A probe by its very name that is too dear is refused for a while. */
static bool
is_dear(struct agent_probes *p, const char *name)
{
	uint32_t id = p->names != NULL ? texts_find(p->names, name, strlen(name)) : UINT32_MAX;

	return id != UINT32_MAX && id < p->cap_states && p->states[id].dear.ns != 0;
}

/* All changes have their results. */
static void
finish(struct agent *a, bool gone, struct mono now)
{
	struct agent_probes *p = &a->probes;
	bool standing = false;

	for (uint32_t i = 0; i < p->n; i++) {
		standing |= p->changes[i].standing;
		if (p->changes[i].failed && !gone)
			agent_log(a, is_dear(p, p->changes[i].name) ? LOG_DEBUG : LOG_WARN,
			    "%s %s: %s", p->changes[i].on ? "enabling" : "disabling",
			    p->changes[i].name, p->changes[i].reason);
	}
	if (standing && a->tracing.session == SESSION_OPEN)
		source_mapped_gap(&a->records.mapped, now.ns);
	if (p->n > 0)
		reconcile_applied(a->reconcile, p->changes, p->n, gone, now);
	p->changes = NULL;
	p->n = 0;
	a->report.due = true;
}

static void
refuse(struct tracer_change *c, const char *why)
{
	c->failed = true;
	snprintf(c->reason, sizeof c->reason, "%.120s", why);
}

/* No probe can be switched here. */
static void
fail_all(struct agent *a, const char *why, struct mono now)
{
	struct agent_probes *p = &a->probes;

	if (p->changes == NULL)
		p->changes = reconcile_changes(a->reconcile, RECONCILE_PROBES, now, &p->n);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->changes[i].on) /* all are off */
			refuse(&p->changes[i], why);
	if (p->n > 0)
		finish(a, false, now);
}

static bool
is_on(const struct agent_probes *p, const char *name)
{
	for (uint32_t i = 0; i < p->npatterns; i++)
		if (glob_matches(p->patterns[i].name, name))
			return true;
	return false;
}

static struct probe_state *
state_of(struct agent_probes *p, const char *name, uint32_t *id)
{
	uint32_t known;

	if (p->names == NULL && (p->names = texts_new()) == NULL)
		return NULL;
	known = texts_count(p->names);
	if ((*id = texts_intern(p->names, name, strlen(name))) == UINT32_MAX)
		return NULL;
	if (*id == known) {
		if (!array_reserve(p->states, p->cap_states, known + 1))
			return NULL;
		p->states[known] = (struct probe_state){ 0 };
	}
	return *id < p->cap_states ? &p->states[*id] : NULL;
}

/* A mapping may take the type of a request from the first word of a text to which an argument of its begin points: "type_field = word0". */
static uint8_t
word_of(const struct agent *a, const char *name)
{
	for (uint32_t i = 0; i < a->maps.count; i++)
		for (uint32_t k = 0; k < a->maps.list[i]->nrules; k++) {
			const struct map_rule *r = &a->maps.list[i]->rules[k];
			const char *field = r->type_field;

			if (field != NULL && strncmp(field, "word", 4) == 0 && field[4] >= '0' &&
			    field[4] < '0' + BELOW_VALUES_MAX && field[5] == '\0' &&
			    glob_matches(r->begin, name))
				return (uint8_t)(field[4] - '0' + 1);
		}
	return 0;
}

/* The pid of a process that has the function of this name; 0: none runs, or it is no function. */
static uint32_t
process_with(const struct agent *a, const char *name)
{
	const struct source_stats *s = &a->records.stats;

	for (uint32_t i = 0; i < s->nprocesses; i++)
		if (s->processes[i].pid != 0 && below_is_function(name, s->processes[i].service))
			return pid_here(s->processes[i].service, s->processes[i].pid);
	return 0;
}

static bool
is_function(const char *name)
{
	return strncmp(name, BELOW_FUNC, strlen(BELOW_FUNC)) == 0;
}

/* Tells hone-below if the probe is not as it should be. A function of which no process runs is not told. */
static void
sync_probe(void *of, const char *name)
{
	struct agent *a = of;
	struct agent_probes *p = &a->probes;
	uint32_t id;
	struct probe_state *s = state_of(p, name, &id);
	struct below_probe probe = { .name = name };

	if (s == NULL)
		return;
	if (s->dear.ns != 0 && mono_since_ns(clock_mono(), s->dear) >= DEAR_NS)
		s->dear.ns = 0;
	probe.id = id + 1;
	probe.word = word_of(a, name);
	probe.on = s->dear.ns == 0 && is_on(p, name);
	if (probe.on != s->on && is_function(name) && probe.on &&
	    (probe.pid = process_with(a, name)) == 0)
		return;
	if (probe.on == s->on || !source_below_probe(a->below.source, &probe))
		return;
	s->on = probe.on;
	p->open += !s->asked;
	s->asked = true;
}

static bool
keep_pattern(struct agent_probes *p, const struct tracer_change *c)
{
	uint32_t i = 0;

	while (i < p->npatterns && p->patterns[i].point != c->point)
		i++;
	if (!c->on) {
		if (i < p->npatterns)
			p->patterns[i] = p->patterns[--p->npatterns];
		return true;
	}
	if (i == p->npatterns) {
		if (!array_reserve(p->patterns, p->cap_patterns, p->npatterns + 1))
			return false;
		p->npatterns++;
	}
	p->patterns[i].point = c->point;
	memcpy(p->patterns[i].name, c->name, sizeof p->patterns[i].name);
	return true;
}

static void
give_changes(struct agent *a, struct mono now)
{
	struct agent_probes *p = &a->probes;
	struct err full, dear;

	if (p->changes != NULL ||
	    (p->changes = reconcile_changes(a->reconcile, RECONCILE_PROBES, now, &p->n)) == NULL)
		return;
	err_set(&full, ERR_MEMORY, "out of memory");
	err_set(&dear, ERR_FULL, "it is passed too often");
	for (uint32_t i = 0; i < p->n; i++)
		if (!keep_pattern(p, &p->changes[i]))
			refuse(&p->changes[i], full.text);
	inventory_each_probe(a->inventory, sync_probe, a);
	for (uint32_t i = 0; i < p->n; i++)
		if (is_function(p->changes[i].name))
			sync_probe(a, p->changes[i].name);
	a->below.processes_due = true;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->changes[i].on && is_dear(p, p->changes[i].name))
			refuse(&p->changes[i], dear.text);
	if (p->open == 0)
		finish(a, false, now);
}

/* The probe could not be switched on, or had to go off: so it is with each of what is under way, or on, that names just it. */
static void
take_failure(struct agent *a, const char *name, const char *reason, struct mono now)
{
	struct agent_probes *p = &a->probes;

	struct tracer_change *under_way = NULL;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->changes[i].on && strcmp(p->changes[i].name, name) == 0)
			refuse(under_way = &p->changes[i], reason);
	for (uint32_t i = 0; i < p->npatterns; i++)
		if (strcmp(p->patterns[i].name, name) == 0) {
			if (under_way == NULL)
				reconcile_lost(a->reconcile, p->patterns[i].point, reason, now);
			p->patterns[i] = p->patterns[--p->npatterns];
			return;
		}
}

static void
answered(void *of, const struct below_probed *r)
{
	struct agent *a = of;
	struct agent_probes *p = &a->probes;
	struct mono now = clock_mono();
	struct probe_state *s;
	const char *name;

	if (p->names == NULL || r->id == 0 || r->id > texts_count(p->names))
		return;
	s = &p->states[r->id - 1];
	name = texts_get(p->names, r->id - 1);
	if (r->reason[0] != '\0') {
		agent_log(a, LOG_INFO, "%s is off: %s", name, r->reason);
		s->on = false;
		if (!r->full)
			s->dear = now;
		take_failure(a, name, r->reason, now);
	}
	p->open -= s->asked;
	s->asked = false;
	if (p->open == 0 && p->changes != NULL)
		finish(a, false, now);
}

struct source_below_answers
probes_answers(struct agent *a)
{
	return (struct source_below_answers){ a, listed, answered };
}

void
probes_ended(struct agent *a, struct mono now)
{
	struct agent_probes *p = &a->probes;

	if (p->changes != NULL)
		finish(a, true, now);
	reconcile_forget(a->reconcile, RECONCILE_PROBES);
	pause_lists(a, now);
	p->listing = p->open = p->npatterns = 0;
	for (uint32_t i = 0; p->names != NULL && i < texts_count(p->names) && i < p->cap_states;
	     i++)
		p->states[i].on = p->states[i].asked = false;
}

void
probes_turn(struct agent *a, bool active, struct mono now)
{
	struct agent_probes *p = &a->probes;
	bool wanted = reconcile_wants(a->reconcile, RECONCILE_PROBES, now);
	struct err e;

	if (is_possible(a))
		probed_programs_find(a, now);
	p->list_fileless |= needs_list(a, now) &&
	                    inventory_unprobed(a->inventory, false, NULL) == 0;
	a->below.processes_due |= wanted != p->wanted;
	p->wanted = wanted;
	if (!is_possible(a)) {
		err_set(&e, ERR_MISSING, "below.probes in hone-agent.conf is no");
		fail_all(a,
		    !a->config->probes        ? e.text
		    : a->below.source == NULL ? a->below.why_not
					      : a->below.missing,
		    now);
	} else if (active) {
		list_next(a, now);
		give_changes(a, now);
		for (uint32_t i = 0; i < p->npatterns; i++)
			if (is_function(p->patterns[i].name)) /* a process of it may be new */
				sync_probe(a, p->patterns[i].name);
	}
}

bool
probes_exist(void *agent, const char *name)
{
	struct agent *a = agent;
	const struct agent_probes *p = &a->probes;
	uint32_t id;

	if (!is_function(name))
		return inventory_has(a->inventory, name);
	id = p->names != NULL ? texts_find(p->names, name, strlen(name)) : UINT32_MAX;
	return id != UINT32_MAX && id < p->cap_states && p->states[id].on;
}

void
probes_release(struct agent *a)
{
	free(a->probes.changes);
	free(a->probes.patterns);
	free(a->probes.states);
	texts_free(a->probes.names);
	a->probes = (struct agent_probes){ 0 };
}
