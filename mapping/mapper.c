/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "mapping/mapper.h"
#include "mapping/mapper_roles.h"
#include "mapping/mapper_state.h"
#include "mapping/open_requests.h"
#include "mapping/open_spans.h"
#include "base/hash.h"

enum {
	REQUESTS_MAX = 65536,
	REQUESTS_LIMIT = 1 << 24,
	IDS_EACH = 4 /* on average */
};

#define SPAN_LIMIT_NS INT64_C(60000000000)

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory to follow a program's requests");
}

int
mapper_new(
    struct mapper **ret, const struct mapping *m, const struct mapper_options *o, struct err *e)
{
	struct mapper *p = calloc(1, sizeof *p);
	uint32_t max = 1;

	if (p == NULL)
		return no_memory(e);
	p->map = m;
	if (o != NULL)
		p->options = *o;
	if (p->options.requests_max == 0)
		p->options.requests_max = REQUESTS_MAX;
	if (p->options.requests_max > REQUESTS_LIMIT)
		p->options.requests_max = REQUESTS_LIMIT;
	while (max < p->options.requests_max)
		max *= 2;
	p->base = hash_u64(p->options.seed + 0x9e3779b97f4a7c15);
	p->requests = (struct item_pool){ sizeof(struct mapped_request), max, p->base };
	p->threads = (struct item_pool){ sizeof(struct mapped_thread), max, p->base };
	p->ids = (struct item_pool){ sizeof(struct request_id), max * IDS_EACH, p->base };
	p->orders = malloc(m->nrules * sizeof *p->orders);
	if (p->orders == NULL || (p->types = texts_new()) == NULL) {
		mapper_free(p);
		return no_memory(e);
	}
	memset(p->orders, 0xff, m->nrules * sizeof *p->orders);
	*ret = p;
	return 0;
}

void
mapper_free(struct mapper *p)
{
	if (p == NULL)
		return;
	mapped_spans_release(p);
	item_pool_release(&p->requests);
	item_pool_release(&p->threads);
	item_pool_release(&p->ids);
	map_release(&p->plans);
	arena_release(&p->arena);
	texts_free(p->types);
	free(p->orders);
	free(p);
}

struct event_visit { /* while one tracepoint is assigned */
	struct mapper *p;
	const struct mapper_event *v;
	const struct name_roles *plan;
	bool begins, ends;
	bool missed; /* its id is of no open request */
	struct err *e;
};

static bool
plays(const struct name_roles *plan, enum role_kind kind, uint32_t rule)
{
	for (uint32_t i = 0; i < plan->nroles; i++)
		if (plan->roles[i].kind == kind && plan->roles[i].rule == rule)
			return true;
	return false;
}

/* The innermost request on the thread of this rule; with ITEM_NONE, of a rule in which the tracepoint has
 * a role of this kind. */
static uint32_t
open_here(const struct event_visit *t, enum role_kind kind, uint32_t rule)
{
	uint32_t thread = requests_thread(t->p, t->v), at;

	at = thread == ITEM_NONE ? ITEM_NONE : thread_at(t->p, thread)->inner;
	while (at != ITEM_NONE &&
	       !(rule != ITEM_NONE ? request_at(t->p, at)->rule == rule
				   : plays(t->plan, kind, request_at(t->p, at)->rule)))
		at = request_at(t->p, at)->outer;
	return at;
}

/* The open request with the id that the tracepoint has for this role. ITEM_NONE: none. */
static uint32_t
named(struct event_visit *t, const struct event_role *role)
{
	struct id_hash name;
	uint32_t request;

	if (!requests_id_hash(t->p, t->v, role->rule, role->id_kind, role->id, &name)) {
		t->p->counts.idless++;
		return ITEM_NONE;
	}
	request = requests_find(t->p, &name);
	t->missed |= request == ITEM_NONE;
	return request;
}

static void
take_end(struct event_visit *t)
{
	t->p->now = open_here(t, END, ITEM_NONE);
	if (t->p->now != ITEM_NONE && request_at(t->p, t->p->now)->depth > 0) {
		request_at(t->p, t->p->now)->depth--;
		return;
	}
	for (uint32_t i = 0; i < t->plan->nroles && t->p->now == ITEM_NONE; i++) {
		const struct event_role *role = &t->plan->roles[i];

		if (role->kind != END)
			continue;
		if (t->p->map->rules[role->rule].correlate == MAP_FIELD)
			t->p->now = named(t, role);
		else
			t->missed = true;
	}
	t->ends = t->p->now != ITEM_NONE;
}

static int
begin_on_thread(struct event_visit *t, const struct event_role *role)
{
	struct mapper *p = t->p;
	uint32_t type, thread, open = open_here(t, BEGIN, role->rule);

	if (open != ITEM_NONE && p->map->rules[role->rule].nested) {
		request_at(p, open)->depth++;
		p->counts.endless += ++request_at(p, open)->inside == MAPPER_INSIDE_MANY &&
		                     p->map->rules[role->rule].nested_line == 0;
		t->p->now = open;
		return 0;
	}
	if (open != ITEM_NONE)
		requests_lose(p, open, &p->counts.given_up);
	if ((type = roles_type(p, t->v, role)) == ITEM_NONE ||
	    (t->p->now = requests_add(p, t->v, role->rule, type)) == ITEM_NONE)
		return no_memory(t->e);
	if ((thread = requests_thread_add(p, t->v)) == ITEM_NONE) {
		requests_drop(p, t->p->now);
		return no_memory(t->e);
	}
	request_at(p, t->p->now)->thread = thread;
	request_at(p, t->p->now)->outer = thread_at(p, thread)->inner;
	thread_at(p, thread)->inner = t->p->now;
	t->begins = true;
	return 0;
}

static int
begin_by_id(struct event_visit *t, const struct event_role *role)
{
	struct mapper *p = t->p;
	struct id_hash name;
	uint32_t type, open;
	int rc;

	if (!requests_id_hash(p, t->v, role->rule, 0, role->id, &name)) {
		p->counts.idless++;
		return 0;
	}
	if ((open = requests_find(p, &name)) != ITEM_NONE)
		requests_lose(p, open, &p->counts.clashes);
	if ((type = roles_type(p, t->v, role)) == ITEM_NONE ||
	    (t->p->now = requests_add(p, t->v, role->rule, type)) == ITEM_NONE)
		return no_memory(t->e);
	t->begins = true;
	if ((rc = requests_add_id(p, t->p->now, &name, t->e)) != 0 ||
	    (rc = requests_enter(p, t->v, t->p->now, t->e)) != 0)
		requests_drop(p, t->p->now);
	return rc;
}

static int
take_begin(struct event_visit *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->plan->nroles && rc == 0 && t->p->now == ITEM_NONE; i++) {
		const struct event_role *role = &t->plan->roles[i];

		if (role->kind == BEGIN)
			rc = t->p->map->rules[role->rule].correlate == MAP_FIELD
			         ? begin_by_id(t, role)
			         : begin_on_thread(t, role);
	}
	return rc;
}

/* A request gets further ids also where the tracepoint belongs to another request. */
static int
take_steps(struct event_visit *t)
{
	struct id_hash name;
	int rc = 0;

	for (uint32_t i = 0; i < t->plan->nroles && rc == 0; i++) {
		const struct event_role *role = &t->plan->roles[i];
		uint32_t request;

		if (role->kind != STEP || (request = named(t, role)) == ITEM_NONE)
			continue;
		if (role->gives != ITEM_NONE &&
		    requests_id_hash(t->p, t->v, role->rule, role->gives_kind, role->gives, &name))
			rc = requests_add_id(t->p, request, &name, t->e);
		if (rc == 0 && t->p->now == ITEM_NONE) {
			t->p->now = request;
			rc = requests_enter(t->p, t->v, request, t->e);
		}
	}
	return rc;
}

static void
take_current(struct event_visit *t)
{
	uint32_t thread = requests_thread(t->p, t->v);

	if (thread == ITEM_NONE)
		return;
	if (t->missed)
		requests_leave(t->p, thread);
	else
		t->p->now = thread_at(t->p, thread)->inner != ITEM_NONE
		                ? thread_at(t->p, thread)->inner
		                : thread_at(t->p, thread)->carried;
}

static void
answer(const struct event_visit *t, struct mapper_result *ret)
{
	const struct mapped_request *r = request_at(t->p, t->p->now);

	if (r->trace_id == 0)
		return;
	*ret = (struct mapper_result){
		.trace_id = r->trace_id, .unit_id = r->unit_id, .begins = t->begins, .ends = t->ends
	};
	if (t->begins || t->ends)
		ret->type = texts_get(t->p->types, r->type);
}

int
mapper_event(
    struct mapper *p, const struct mapper_event *v, struct mapper_result *ret, struct err *e)
{
	struct event_visit t = { .p = p, .v = v, .plan = roles_plan(p, v), .e = e };
	int rc = 0;

	*ret = (struct mapper_result){ 0 };
	p->now = ITEM_NONE;
	if (t.plan == NULL)
		return no_memory(e);
	for (uint32_t i = 0; i < t.plan->nroles; i++)
		if (t.plan->roles[i].kind >= SPAN_START)
			return mapped_spans_take(p, v, &t.plan->roles[i], ret, e);
	if (t.plan->nroles > 0) {
		take_end(&t);
		if (p->now == ITEM_NONE && (rc = take_begin(&t)) != 0)
			return rc;
		if (!t.ends && (rc = take_steps(&t)) != 0)
			return rc;
		p->counts.orphans += p->now == ITEM_NONE && t.missed;
	}
	if (p->now == ITEM_NONE)
		take_current(&t);
	if (p->now == ITEM_NONE)
		return 0;
	answer(&t, ret);
	if (t.ends)
		requests_lose(p, p->now, &p->counts.ended);
	return 0;
}

void
mapper_thread(struct mapper *p, const struct mapper_event *v, struct mapper_result *ret)
{
	uint32_t thread = requests_thread(p, v), at;

	*ret = (struct mapper_result){ 0 };
	at = thread != ITEM_NONE ? thread_at(p, thread)->inner : ITEM_NONE;
	if (at != ITEM_NONE)
		*ret = (struct mapper_result){ .trace_id = request_at(p, at)->trace_id,
			.unit_id = request_at(p, at)->unit_id };
}

void
mapper_gone(struct mapper *p, uint32_t pid)
{
	mapped_spans_forget(p, INT64_MAX, pid);
	for (uint32_t i = 0; i < p->map->nrules; i++)
		for (uint32_t r = p->orders[i].oldest, next; r != ITEM_NONE; r = next) {
			next = request_at(p, r)->newer;
			if (request_at(p, r)->pid == pid)
				requests_lose(p, r, &p->counts.given_up);
		}
}

void
mapper_lost(struct mapper *p)
{
	mapped_spans_forget(p, INT64_MAX, 0);
	for (uint32_t i = 0; i < p->map->nrules; i++)
		while (p->orders[i].oldest != ITEM_NONE)
			requests_lose(p, p->orders[i].oldest, &p->counts.given_up);
}

static bool
is_late(const struct mapper *p, uint32_t request, int64_t now_ns)
{
	const struct mapped_request *r = request_at(p, request);

	return now_ns > r->begin_ns &&
	       (uint64_t)now_ns - (uint64_t)r->begin_ns > (uint64_t)p->map->rules[r->rule].limit_ns;
}

void
mapper_expire(struct mapper *p, int64_t now_ns)
{
	mapped_spans_forget(p, now_ns - SPAN_LIMIT_NS, 0);
	for (uint32_t i = 0; i < p->map->nrules; i++)
		while (p->orders[i].oldest != ITEM_NONE && is_late(p, p->orders[i].oldest, now_ns))
			requests_lose(p, p->orders[i].oldest, &p->counts.given_up);
}

void
mapper_get_counts(const struct mapper *p, struct mapper_counts *ret)
{
	*ret = p->counts;
}

uint32_t
mapper_open(const struct mapper *p)
{
	return p->requests.count + (uint32_t)p->spans.count;
}
