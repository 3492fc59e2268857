/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open requests: their units and records, until they are handed out as traces. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/texts.h"
#include "kernel/requests/requests_inside.h"

static const char OTHER[] = "(other)";

void
note_failure_of(struct requests *r, int rc, const char *why)
{
	if (r->rc == 0)
		r->rc = why != NULL ? err_set(r->e, rc, "%s", why) : rc;
}

static void
no_memory(struct requests *r)
{
	note_failure_of(r, ERR_MEMORY, "no memory for requests from kernel events");
}

uint32_t
type_number(struct requests *r, const char *name)
{
	uint32_t n = texts_find(r->types, name, strlen(name));

	if (n == UINT32_MAX && texts_count(r->types) >= TYPES_MAX)
		name = OTHER;
	if (n == UINT32_MAX && (n = texts_intern(r->types, name, strlen(name))) == UINT32_MAX) {
		no_memory(r);
		n = 0;
	}
	return n;
}

/* ---- units and records ---- */

struct request_unit *
unit_of(const struct requests *r, struct handle h)
{
	struct request_unit *u = handle_pool_get(&r->units, h);

	while (u != NULL && u->same_as.generation != 0)
		u = handle_pool_get(&r->units, u->same_as);
	return u;
}

static void
give_up_oldest(struct requests *r)
{
	struct recent *old = r->open.oldest != NULL ? r->open.oldest : r->held.oldest;
	struct request_trace *t;

	if (old == NULL)
		return;
	t = (struct request_trace *)((char *)old - offsetof(struct request_trace, recent));
	r->counts.given_up += t->root != NULL;
	r->counts.unattributed += t->root == NULL;
	trace_drop(r, t);
}

struct request_trace *
trace_begin(struct requests *r)
{
	struct request_trace *t;

	while (r->traces.count >= r->traces.max)
		give_up_oldest(r);
	if ((t = handle_pool_take(&r->traces)) == NULL) {
		no_memory(r);
		return NULL;
	}
	t->id = hash_u64(++r->last_id);
	t->begin_ns = t->end_ns = r->now_ns;
	recent_add(&r->open, &t->recent);
	return t;
}

struct unit_record *
unit_add(struct requests *r, struct request_unit *u, enum record_kind kind, struct unit_source at,
    uint32_t name, uint64_t link_id)
{
	struct request_trace *t = u->trace;
	struct unit_record *c;

	if (t->nrecords >= r->o.records_each) {
		t->too_long = true;
		return NULL;
	}
	if (r->records.count >= r->records.max) {
		t->lossy = true; /* the others are as large: they make room when they end */
		return NULL;
	}
	if ((c = handle_pool_take(&r->records)) == NULL) {
		no_memory(r);
		return NULL;
	}
	c->unit = u;
	c->kind = (uint8_t)kind;
	c->time_ns = r->now_ns;
	c->link_id = link_id;
	c->pid = at.pid;
	c->tid = at.tid;
	c->name = name;
	*(t->last != NULL ? &t->last->next : &t->first) = c;
	t->last = c;
	t->nrecords++;
	return c;
}

struct request_unit *
unit_begin(struct requests *r, struct request_trace *t, enum record_kind kind,
    struct unit_source at, uint32_t name, uint64_t link_id)
{
	struct request_unit *u = handle_pool_take(&r->units);

	if (u == NULL) {
		if (r->units.count < r->units.max)
			no_memory(r);
		t->too_long = true;
		return NULL;
	}
	u->trace = t;
	u->next = t->units;
	t->units = u;
	u->id = ++r->last_id;
	u->begin_ns = u->end_ns = r->now_ns;
	u->host = at.host;
	u->pid = at.pid;
	u->tid = at.tid;
	u->name = name;
	if (kind == RECORD_REQUEST_BEGIN)
		t->root = u;
	if (kind != RECORD_POINT)
		u->begin = unit_add(r, u, kind, at, name, link_id);
	return u;
}

void
unit_end(struct requests *r, struct request_unit *u, struct unit_source at)
{
	bool root = u->trace->root == u;

	if (root && !u->open && r->now_ns - u->end_ns > r->piece_gap_ns)
		r->piece_gap_ns = r->now_ns - u->end_ns;
	u->end_ns = r->now_ns;
	if (root)
		u->trace->end_ns = r->now_ns;
	if (root && u->trace->held)
		recent_touch(&r->held, &u->trace->recent);
	if (u->end == NULL)
		u->end = unit_add(r, u, root ? RECORD_REQUEST_END : RECORD_UNIT_END, at, u->name,
		    root || u->begin == NULL ? 0 : u->begin->link_id);
	if (u->end != NULL) {
		u->end->time_ns = r->now_ns;
		u->end->tid = at.tid;
		u->end->pid = at.pid;
	}
}

void
unit_open(struct requests *r, struct request_unit *u, struct task_thread *t)
{
	struct task_process *p = handle_pool_get(&r->processes, t->process);

	u->open = true;
	u->thread = t->pooled.self;
	u->epoch = r->epoch;
	u->process = t->process;
	t->nopen++;
	if (p != NULL) {
		p->nopen++;
		u->service = p->name;
	}
}

void
unit_close(struct requests *r, struct request_unit *u)
{
	struct task_thread *t = handle_pool_get(&r->threads, u->thread);
	struct task_process *p = handle_pool_get(&r->processes, u->process);

	if (!u->open)
		return;
	u->open = false;
	if (t != NULL && t->epoch == u->epoch && t->nopen > 0)
		t->nopen--;
	if (p != NULL && p->nopen > 0)
		p->nopen--;
	if (p != NULL && u->hinted && p->nhinted > 0)
		p->nhinted--;
	if ((t != NULL && t->doubt_ns >= u->begin_ns) || (p != NULL && p->doubt_ns >= u->begin_ns))
		u->trace->lossy = true;
}

/* It is attributed, or given up. */
static void
worker_over(struct requests *r, const struct request_trace *t)
{
	struct task_process *p = handle_pool_get(&r->processes, t->works_in);

	if (p != NULL && p->nworkers > 0)
		p->nworkers--;
}

void
trace_merge(struct requests *r, struct request_trace *worker, struct request_unit *into)
{
	struct request_trace *t = into->trace;
	struct request_unit *last = NULL;

	assert(worker->root == NULL && worker != t);
	for (struct request_unit *u = worker->units; u != NULL; u = u->next) {
		u->trace = t;
		last = u;
		if (u->worker && u->same_as.generation == 0) {
			u->same_as = into->pooled.self;
			for (uint32_t i = 0; i < COUNTED_MAX; i++)
				into->counts[i] += u->counts[i];
			for (uint32_t i = 0; i < BELOW_STATES; i++)
				into->state_ns[i] += u->state_ns[i];
		}
	}
	if (last != NULL) {
		last->next = t->units;
		t->units = worker->units;
	}
	if (worker->first != NULL) {
		*(t->last != NULL ? &t->last->next : &t->first) = worker->first;
		t->last = worker->last;
		t->nrecords += worker->nrecords;
	}
	worker_over(r, worker);
	t->lossy |= worker->lossy;
	t->too_long |= worker->too_long;
	recent_remove(&r->open, &worker->recent);
	handle_pool_give(&r->traces, worker);
}

void
trace_drop(struct requests *r, struct request_trace *t)
{
	worker_over(r, t);
	for (struct unit_record *c = t->first, *next; c != NULL; c = next) {
		next = c->next;
		handle_pool_give(&r->records, c);
	}
	for (struct request_unit *u = t->units, *next; u != NULL; u = next) {
		next = u->next;
		if (u->open)
			unit_close(r, u);
		handle_pool_give(&r->units, u);
	}
	recent_remove(t->held ? &r->held : &r->open, &t->recent);
	handle_pool_give(&r->traces, t);
}

void
trace_hold(struct requests *r, struct request_trace *t)
{
	if (t->held)
		return;
	recent_remove(&r->open, &t->recent);
	recent_add(&r->held, &t->recent);
	t->held = true;
}

/* ---- handing out ---- */

/* A text as a part of a label: without what separates the parts. */
static void
put_clean(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i] != '\0'; i++)
		to[i] = from[i] == '/' || (unsigned char)from[i] < ' ' ? '_' : from[i];
	to[i] = '\0';
}

static void
put_service(struct requests *r, const struct request_unit *u, char to[64])
{
	const struct task_process *p = handle_pool_get(&r->processes, u->process);
	uint32_t name = p != NULL && p->name != 0 ? p->name : u->service;

	if (name != 0)
		put_clean(to, 64, texts_get(r->names->texts, name));
	if (name == 0 || to[0] == '\0')
		snprintf(to, 64, "pid-%u", u->pid);
}

/* The fields of ends: times of waits by state if threads' switches are recorded, and how often what the user chose happened. What
 * is first seen after the first request was handed out has no field, as a label keeps its fields. */
static uint32_t
end_fields(struct requests *r, const char *fields[RECORD_VALUES_MAX])
{
	static const char *const states[BELOW_STATES] = { NULL, "ready_ns", "disk_ns", "network_ns",
		"timer_ns", "lock_ns", "thread_ns", "fault_ns", "unknown_ns" };
	uint32_t n = 0;

	if (!r->frozen) {
		r->with_states = r->switches;
		r->frozen = true;
	}
	for (unsigned s = BELOW_RUNNING + 1; r->with_states && s < BELOW_STATES; s++)
		fields[n++] = states[s];
	for (uint32_t i = 0; i < r->ncounted; i++)
		fields[n++] = texts_get(r->names->texts, r->counted[i]);
	return n;
}

static uint32_t
end_label(struct requests *r, enum record_kind kind, const char *text, const struct request_unit *u,
    struct value *values, uint32_t *nvalues)
{
	const char *fields[RECORD_VALUES_MAX];
	uint32_t n = end_fields(r, fields), at = 0;
	uint32_t label = labels_intern(r->labels, kind, text, strlen(text), fields, n);

	*nvalues = label != LABEL_NONE ? labels_get(r->labels, label)->nfields : 0;
	for (unsigned s = BELOW_RUNNING + 1; r->with_states && s < BELOW_STATES; s++)
		values[at++] = (struct value){ .type = VALUE_UINT, .u = (uint64_t)u->state_ns[s] };
	for (uint32_t i = 0; i < COUNTED_MAX && at < RECORD_VALUES_MAX; i++)
		values[at++] = (struct value){ .type = VALUE_UINT, .u = u->counts[i] };
	return label;
}

static const char *const wait_fields[] = { "off_ns", "ready_ns", "lock" };
static const char *const run_fields[] = { "weight_ns" };

/* The label of a record, and its values. A call to a program that is not recorded is a pair of points, since no unit begins. */
static uint32_t
label_of(struct requests *r, const struct unit_record *c, const struct request_unit *u,
    struct value *values, uint32_t *nvalues)
{
	const struct unit_record *fork = c->kind == RECORD_JOIN ? c->pair : c;
	const char *name = texts_get(r->types, c->name);
	char text[LABEL_TEXT_MAX], service[64];
	enum record_kind kind = (enum record_kind)c->kind;
	bool call = (kind == RECORD_FORK || kind == RECORD_JOIN) && fork != NULL && !fork->begun &&
	            !fork->expected;

	*nvalues = 0;
	put_service(r, u, service);
	switch (kind) {
	case RECORD_REQUEST_BEGIN:
		snprintf(text, sizeof text, "%s/hone:request_begin(%s)", service, name);
		break;
	case RECORD_REQUEST_END:
		snprintf(text, sizeof text, "%s/hone:request_end(%s)", service, name);
		return end_label(r, kind, text, u, values, nvalues);
	case RECORD_UNIT_BEGIN:
		snprintf(text, sizeof text, "%s/hone:unit_begin(%s)", service, name);
		break;
	case RECORD_UNIT_END:
		snprintf(text, sizeof text, "%s/hone:unit_end(%s)", service, name);
		return end_label(r, kind, text, u, values, nvalues);
	case RECORD_WAIT:
		snprintf(text, sizeof text, "%s/below:%s()", service,
		    below_state_word((enum below_state)c->state));
		values[0] = (struct value){ .type = VALUE_UINT, .u = (uint64_t)c->off_ns };
		values[1] = (struct value){ .type = VALUE_UINT, .u = (uint64_t)c->ready_ns };
		values[2] = (struct value){ .type = VALUE_UINT, .u = c->link_id };
		*nvalues = 3;
		return labels_intern(r->labels, kind, text, strlen(text), wait_fields, 3);
	case RECORD_SAMPLE:
		snprintf(text, sizeof text, "%s/below:running()", service);
		values[0] = (struct value){ .type = VALUE_UINT, .u = (uint64_t)c->off_ns };
		*nvalues = 1;
		return labels_intern(r->labels, kind, text, strlen(text), run_fields, 1);
	case RECORD_FORK:
		snprintf(text, sizeof text, call ? "%s/call:%s_begin" : "%s/hone:fork(%s)", service,
		    name);
		break;
	default:
		snprintf(
		    text, sizeof text, call ? "%s/call:%s_end" : "%s/hone:join(%s)", service, name);
		break;
	}
	return labels_intern(r->labels, call ? RECORD_POINT : kind, text, strlen(text), NULL, 0);
}

static bool
is_point(const struct labels *l, uint32_t label)
{
	return labels_get(l, label)->kind == RECORD_POINT;
}

static struct pending_record *
next_record(struct pending_trace *p)
{
	if (p->last == NULL || p->last->count == CHUNK_RECORDS) {
		struct record_chunk *c = arena_alloc(&p->arena, sizeof *c);

		if (c == NULL)
			return NULL;
		c->next = NULL;
		c->count = 0;
		*(p->last != NULL ? &p->last->next : &p->first) = c;
		p->last = c;
	}
	return &p->last->records[p->last->count++];
}

/* False: out of memory, or of labels. */
static bool
write_record(struct requests *r, struct pending_trace *p, const struct unit_record *c)
{
	const struct request_unit *u = unit_of(r, c->unit->pooled.self);
	struct pending_record *to;
	uint32_t nvalues, label = label_of(r, c, u, r->values, &nvalues);

	if (label == LABEL_NONE || (to = next_record(p)) == NULL)
		return false;
	*to = (struct pending_record){ .unit_id = u->id,
		.event = { .time_ns = c->time_ns,
		    .label = label,
		    .node = u->host,
		    .pid = c->pid,
		    .tid = c->tid,
		    .nvalues = nvalues } };
	if (c->kind != RECORD_WAIT && c->kind != RECORD_SAMPLE && !is_point(r->labels, label))
		to->event.link_id = c->link_id;
	p->nrecords++;
	p->nbelow += c->kind == RECORD_WAIT || c->kind == RECORD_SAMPLE;
	if (nvalues == 0)
		return true;
	to->event.values = arena_copy(&p->arena, r->values, nvalues * sizeof *r->values);
	return to->event.values != NULL;
}

static bool
was_lost(const struct requests *r, int64_t from_ns, int64_t to_ns)
{
	for (uint32_t i = 0; i < r->nlosses; i++)
		if (r->losses[i].from_ns <= to_ns && r->losses[i].to_ns >= from_ns)
			return true;
	return false;
}

static void
name_nodes(struct requests *r, const struct request_trace *t)
{
	for (const struct request_unit *u = t->units; u != NULL; u = u->next)
		if (r->nodes[u->host][0] == '\0' && u->host < texts_count(r->names->hosts))
			r->nodes[u->host] = texts_get(r->names->hosts, u->host);
}

/* Whether the client that seemed to begin it turned out to be a service by now, whose part was not seen. */
static bool
is_part(const struct requests *r, const struct request_trace *t)
{
	const struct task_process *from = handle_pool_get(&r->processes, t->from);
	const struct tcp_channel *on = handle_pool_get(&r->channels, t->on);

	if (from != NULL)
		return from->serves || map_get(&r->serving, from->name) != NULL;
	return on != NULL && handle_pool_get(&r->processes, on->processes[t->client_side]) != NULL;
}

static void
hand_out(struct requests *r, struct request_trace *t)
{
	struct pending_trace p = { .id = t->id, .too_long = t->too_long };
	struct trace *made = NULL;
	uint64_t late = 0, twice = 0;
	bool written = true;
	int rc;

	p.lossy = t->lossy || was_lost(r, t->begin_ns, t->end_ns) || is_part(r, t) ||
	          (r->ended && r->now_ns - t->end_ns < r->piece_gap_ns); /* more of it may follow */
	for (const struct unit_record *c = t->first; c != NULL && written; c = c->next)
		written = write_record(r, &p, c);
	if (!written ||
	    !trace_build(r->builder, &made, &p, &p.arena, INT64_MAX, r->labels, &late, &twice)) {
		arena_release(&p.arena);
		no_memory(r);
		return;
	}
	name_nodes(r, t);
	r->counts.traces++;
	r->counts.lossy += made->lossy;
	r->counts.incomplete += !made->lossy && made->incomplete != INCOMPLETE_NONE;
	if (r->o.take == NULL)
		trace_free(made);
	else if ((rc = r->o.take(r->o.ctx, made, r->e)) != 0)
		note_failure_of(r, rc, NULL);
}

static struct request_trace *
oldest_of(const struct recent_list *l)
{
	return l->oldest == NULL ? NULL
	                         : (struct request_trace *)((char *)l->oldest -
							    offsetof(struct request_trace, recent));
}

void
traces_pass(struct requests *r, int64_t held_until_ns, int64_t open_until_ns)
{
	struct request_trace *t;

	while (r->rc == 0 && (t = oldest_of(&r->held)) != NULL && t->end_ns <= held_until_ns) {
		hand_out(r, t);
		trace_drop(r, t);
	}
	while (r->rc == 0 && (t = oldest_of(&r->open)) != NULL && t->begin_ns <= open_until_ns) {
		r->counts.no_response += t->root != NULL;
		r->counts.unattributed += t->root == NULL;
		trace_drop(r, t);
	}
}
