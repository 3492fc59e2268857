/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <string.h>

#include "mapping/open_requests.h"
#include "base/hash.h"

enum { IDS_MAX = 64 }; /* of a request */

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory to follow a program's requests");
}

/* Hashes pid, rule, kind and value. A signed and an unsigned number are equal if their values are; a
 * number and a text never are. */
bool
requests_id_hash(const struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t kind,
    uint32_t field, struct id_hash *ret)
{
	struct {
		uint32_t pid, rule, kind, type;
		char bytes[VALUE_TEXT_MAX + 1];
	} id = { v->pid, rule, kind, VALUE_UINT, { 0 } };
	const struct value *value = field < v->nfields ? &v->values[field] : NULL;
	struct hash128 h;
	size_t len;

	if (value != NULL && value->type == VALUE_TEXT && value->len > 0) {
		len = value->len < VALUE_TEXT_MAX ? value->len : VALUE_TEXT_MAX;
		memcpy(id.bytes, value->text, len);
		id.type = VALUE_TEXT;
	} else if (value != NULL && (value->type == VALUE_INT || value->type == VALUE_UINT)) {
		len = sizeof value->u;
		memcpy(id.bytes, &value->u, len);
		id.type = value->type == VALUE_INT && value->i < 0 ? VALUE_INT : VALUE_UINT;
	} else {
		return false;
	}
	h = hash_bytes128(p->base, &id, offsetof(__typeof__(id), bytes) + len);
	*ret = (struct id_hash){ h.a, h.b };
	return true;
}

uint32_t
requests_find(const struct mapper *p, const struct id_hash *name)
{
	uint32_t i = item_pool_find(&p->ids, name->key);

	return i == ITEM_NONE || id_at(p, i)->more != name->more ? ITEM_NONE : id_at(p, i)->request;
}

uint32_t
requests_thread(const struct mapper *p, const struct mapper_event *v)
{
	return item_pool_find(&p->threads, (uint64_t)v->pid << 32 | v->tid);
}

uint32_t
requests_thread_add(struct mapper *p, const struct mapper_event *v)
{
	uint32_t i = requests_thread(p, v);

	if (i != ITEM_NONE ||
	    (i = item_pool_add(&p->threads, (uint64_t)v->pid << 32 | v->tid)) == ITEM_NONE)
		return i;
	thread_at(p, i)->inner = thread_at(p, i)->carried = ITEM_NONE;
	return i;
}

static void
thread_leave(struct mapper *p, uint32_t i)
{
	if (thread_at(p, i)->inner == ITEM_NONE && thread_at(p, i)->carried == ITEM_NONE)
		item_pool_drop(&p->threads, i);
}

void
requests_leave(struct mapper *p, uint32_t thread)
{
	uint32_t carried = thread != ITEM_NONE ? thread_at(p, thread)->carried : ITEM_NONE;

	if (carried == ITEM_NONE)
		return;
	request_at(p, carried)->thread = ITEM_NONE;
	thread_at(p, thread)->carried = ITEM_NONE;
	thread_leave(p, thread);
}

static bool
is_field(const struct mapper *p, uint32_t request)
{
	return p->map->rules[request_at(p, request)->rule].correlate == MAP_FIELD;
}

int
requests_enter(struct mapper *p, const struct mapper_event *v, uint32_t request, struct err *e)
{
	uint32_t thread = requests_thread(p, v);

	if (thread != ITEM_NONE && thread_at(p, thread)->carried == request)
		return 0;
	requests_leave(p, request_at(p, request)->thread);
	if (thread != ITEM_NONE && thread_at(p, thread)->inner != ITEM_NONE)
		return 0; /* it is in a request of correlate = thread, which comes first */
	requests_leave(p, thread);
	if (!p->map->rules[request_at(p, request)->rule].carry)
		return 0;
	if ((thread = requests_thread_add(p, v)) == ITEM_NONE)
		return no_memory(e);
	thread_at(p, thread)->carried = request;
	request_at(p, request)->thread = thread;
	return 0;
}

static void
leave_thread(struct mapper *p, uint32_t request)
{
	struct mapped_request *r = request_at(p, request);
	uint32_t thread = r->thread, *at;

	if (thread == ITEM_NONE)
		return;
	if (is_field(p, request)) {
		requests_leave(p, thread);
		return;
	}
	for (at = &thread_at(p, thread)->inner; *at != request;)
		at = &request_at(p, *at)->outer;
	*at = r->outer;
	thread_leave(p, thread);
}

void
requests_drop(struct mapper *p, uint32_t request)
{
	struct mapped_request *r = request_at(p, request);
	struct rule_order *o = &p->orders[r->rule];

	leave_thread(p, request);
	if (p->now == request)
		p->now = ITEM_NONE;
	for (uint32_t id = r->ids, next; id != ITEM_NONE; id = next) {
		next = id_at(p, id)->next;
		item_pool_drop(&p->ids, id);
	}
	*(r->older != ITEM_NONE ? &request_at(p, r->older)->newer : &o->oldest) = r->newer;
	*(r->newer != ITEM_NONE ? &request_at(p, r->newer)->older : &o->newest) = r->older;
	item_pool_drop(&p->requests, request);
}

void
requests_lose(struct mapper *p, uint32_t request, uint64_t *count)
{
	*count += request_at(p, request)->trace_id != 0;
	requests_drop(p, request);
}

/* The oldest request but `but`, of all rules or of those with ids. ITEM_NONE: there is none. */
static uint32_t
oldest(const struct mapper *p, bool with_ids, uint32_t but)
{
	uint32_t best = ITEM_NONE;

	for (uint32_t i = 0; i < p->map->nrules; i++) {
		uint32_t r = p->orders[i].oldest;

		if (r == but && r != ITEM_NONE)
			r = request_at(p, r)->newer;
		if (r == ITEM_NONE || (with_ids && p->map->rules[i].correlate != MAP_FIELD))
			continue;
		if (best == ITEM_NONE || request_at(p, r)->begin_ns < request_at(p, best)->begin_ns)
			best = r;
	}
	return best;
}

static uint64_t
draw(struct mapper *p)
{
	uint64_t id;

	do
		id = hash_u64(p->base + ++p->drawn);
	while (id == 0);
	return id;
}

uint32_t
requests_add(struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t type)
{
	struct rule_order *o = &p->orders[rule];
	const char *words = texts_get(p->types, type);
	bool sampled = p->options.sampled == NULL || p->options.sampled(p->options.of, words);
	uint32_t i;
	struct mapped_request *r;

	if (p->requests.count == p->options.requests_max)
		requests_lose(p, oldest(p, false, ITEM_NONE), &p->counts.given_up);
	if ((i = item_pool_add(&p->requests, ++p->drawn)) == ITEM_NONE)
		return i;
	r = request_at(p, i);
	*r = (struct mapped_request){ .link = r->link,
		.begin_ns = v->time_ns,
		.pid = v->pid,
		.rule = rule,
		.type = type,
		.thread = ITEM_NONE,
		.outer = ITEM_NONE,
		.ids = ITEM_NONE,
		.older = o->newest,
		.newer = ITEM_NONE };
	if (sampled) {
		r->trace_id = draw(p);
		r->unit_id = draw(p);
	}
	*(sampled ? &p->counts.begun : &p->counts.unsampled) += 1;
	*(o->newest != ITEM_NONE ? &request_at(p, o->newest)->newer : &o->oldest) = i;
	o->newest = i;
	return i;
}

int
requests_add_id(struct mapper *p, uint32_t request, const struct id_hash *name, struct err *e)
{
	struct mapped_request *r = request_at(p, request);
	uint32_t before = item_pool_find(&p->ids, name->key), i, old;

	if (before != ITEM_NONE && id_at(p, before)->request == request)
		return 0;
	if (before != ITEM_NONE)
		requests_lose(p, id_at(p, before)->request, &p->counts.clashes);
	if (r->nids == IDS_MAX)
		return 0; /* a record with this id will count as an orphan */
	if (p->ids.count == p->ids.max) {
		if ((old = oldest(p, true, request)) == ITEM_NONE)
			return 0;
		requests_lose(p, old, &p->counts.given_up);
	}
	if ((i = item_pool_add(&p->ids, name->key)) == ITEM_NONE)
		return no_memory(e);
	*id_at(p, i) = (struct request_id){ id_at(p, i)->link, name->more, request, r->ids };
	r->ids = i;
	r->nids++;
	return 0;
}
