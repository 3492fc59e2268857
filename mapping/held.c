/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <string.h>

#include "mapping/mapper_inside.h"
#include "base/hash.h"

enum { IDS_MAX = 64 }; /* of a request */

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory to follow a program's requests");
}

/* ---- ids ---- */

/* Numbers are equal whatever their sign's type; a number and a text never are. Of a pid, a rule and
 * a kind. */
bool
held_name(const struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t kind,
    uint32_t field, struct name *ret)
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
	*ret = (struct name){ h.a, h.b };
	return true;
}

uint32_t
held_named(const struct mapper *p, const struct name *name)
{
	uint32_t i = pool_find(&p->ids, name->key);

	return i == POOL_NONE || id_at(p, i)->more != name->more ? POOL_NONE : id_at(p, i)->request;
}

/* ---- threads ---- */

uint32_t
held_thread(const struct mapper *p, const struct mapper_event *v)
{
	return pool_find(&p->threads, (uint64_t)v->pid << 32 | v->tid);
}

uint32_t
held_thread_made(struct mapper *p, const struct mapper_event *v)
{
	uint32_t i = held_thread(p, v);

	if (i != POOL_NONE ||
	    (i = pool_add(&p->threads, (uint64_t)v->pid << 32 | v->tid)) == POOL_NONE)
		return i;
	thread_at(p, i)->inner = thread_at(p, i)->carried = POOL_NONE;
	return i;
}

static void
thread_leave(struct mapper *p, uint32_t i)
{
	if (thread_at(p, i)->inner == POOL_NONE && thread_at(p, i)->carried == POOL_NONE)
		pool_drop(&p->threads, i);
}

/* The thread carries none; whichever it was is still open. */
void
held_leave(struct mapper *p, uint32_t thread)
{
	uint32_t carried = thread != POOL_NONE ? thread_at(p, thread)->carried : POOL_NONE;

	if (carried == POOL_NONE)
		return;
	request_at(p, carried)->thread = POOL_NONE;
	thread_at(p, thread)->carried = POOL_NONE;
	thread_leave(p, thread);
}

static bool
is_field(const struct mapper *p, uint32_t request)
{
	return p->map->rules[request_at(p, request)->rule].correlate == MAP_FIELD;
}

/* A request of correlate = field is worked on by this thread now: no other carries it, and this one
 * no other. */
int
held_enter(struct mapper *p, const struct mapper_event *v, uint32_t request, struct err *e)
{
	uint32_t thread = held_thread(p, v);

	if (thread != POOL_NONE && thread_at(p, thread)->carried == request)
		return 0;
	held_leave(p, request_at(p, request)->thread);
	if (thread != POOL_NONE && thread_at(p, thread)->inner != POOL_NONE)
		return 0; /* where it is in, it is in */
	held_leave(p, thread);
	if (!p->map->rules[request_at(p, request)->rule].carry)
		return 0;
	if ((thread = held_thread_made(p, v)) == POOL_NONE)
		return no_memory(e);
	thread_at(p, thread)->carried = request;
	request_at(p, request)->thread = thread;
	return 0;
}

/* ---- requests ---- */

static void
leave_thread(struct mapper *p, uint32_t request)
{
	struct request *r = request_at(p, request);
	uint32_t thread = r->thread, *at;

	if (thread == POOL_NONE)
		return;
	if (is_field(p, request)) {
		held_leave(p, thread);
		return;
	}
	for (at = &thread_at(p, thread)->inner; *at != request;)
		at = &request_at(p, *at)->outer;
	*at = r->outer;
	thread_leave(p, thread);
}

void
held_drop(struct mapper *p, uint32_t request)
{
	struct request *r = request_at(p, request);
	struct order *o = &p->orders[r->rule];

	leave_thread(p, request);
	if (p->now == request)
		p->now = POOL_NONE;
	for (uint32_t id = r->ids, next; id != POOL_NONE; id = next) {
		next = id_at(p, id)->next;
		pool_drop(&p->ids, id);
	}
	*(r->older != POOL_NONE ? &request_at(p, r->older)->newer : &o->oldest) = r->newer;
	*(r->newer != POOL_NONE ? &request_at(p, r->newer)->older : &o->newest) = r->older;
	pool_drop(&p->requests, request);
}

void
held_lose(struct mapper *p, uint32_t request, uint64_t *count)
{
	*count += request_at(p, request)->trace_id != 0;
	held_drop(p, request);
}

/* The oldest request, of any rule or of those with ids. POOL_NONE: there is no other than that one.
 */
static uint32_t
oldest(const struct mapper *p, bool with_ids, uint32_t but)
{
	uint32_t best = POOL_NONE;

	for (uint32_t i = 0; i < p->map->nrules; i++) {
		uint32_t r = p->orders[i].oldest;

		if (r == but && r != POOL_NONE)
			r = request_at(p, r)->newer;
		if (r == POOL_NONE || (with_ids && p->map->rules[i].correlate != MAP_FIELD))
			continue;
		if (best == POOL_NONE || request_at(p, r)->begin_ns < request_at(p, best)->begin_ns)
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
held_new(struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t type)
{
	struct order *o = &p->orders[rule];
	const char *words = texts_get(p->types, type);
	bool sampled = p->options.sampled == NULL || p->options.sampled(p->options.of, words);
	uint32_t i;
	struct request *r;

	if (p->requests.count == p->options.requests_max)
		held_lose(p, oldest(p, false, POOL_NONE), &p->counts.given_up);
	if ((i = pool_add(&p->requests, ++p->drawn)) == POOL_NONE)
		return i;
	r = request_at(p, i);
	*r = (struct request){ .link = r->link,
		.begin_ns = v->time_ns,
		.pid = v->pid,
		.rule = rule,
		.type = type,
		.thread = POOL_NONE,
		.outer = POOL_NONE,
		.ids = POOL_NONE,
		.older = o->newest,
		.newer = POOL_NONE };
	if (sampled) {
		r->trace_id = draw(p);
		r->unit_id = draw(p);
	}
	*(sampled ? &p->counts.begun : &p->counts.unsampled) += 1;
	*(o->newest != POOL_NONE ? &request_at(p, o->newest)->newer : &o->oldest) = i;
	o->newest = i;
	return i;
}

/* From now on the request is known by this id as well. */
int
held_call(struct mapper *p, uint32_t request, const struct name *name, struct err *e)
{
	struct request *r = request_at(p, request);
	uint32_t before = pool_find(&p->ids, name->key), i, old;

	if (before != POOL_NONE && id_at(p, before)->request == request)
		return 0;
	if (before != POOL_NONE)
		held_lose(p, id_at(p, before)->request, &p->counts.clashes);
	if (r->nids == IDS_MAX)
		return 0; /* what comes by that id is an orphan, and counted */
	if (p->ids.count == p->ids.max) {
		if ((old = oldest(p, true, request)) == POOL_NONE)
			return 0;
		held_lose(p, old, &p->counts.given_up);
	}
	if ((i = pool_add(&p->ids, name->key)) == POOL_NONE)
		return no_memory(e);
	*id_at(p, i) = (struct id){ id_at(p, i)->link, name->more, request, r->ids };
	r->ids = i;
	r->nids++;
	return 0;
}
