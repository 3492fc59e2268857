/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads and processes: their contexts, forks, and what workers do. */
#include <stddef.h>

#include "base/texts.h"
#include "kernel/requests/requests_inside.h"

static uint64_t
key_of(uint32_t host, uint32_t number)
{
	return (uint64_t)host << 32 | number;
}

/* ---- tables ---- */

static void
forget_process(struct requests *r, struct task_process *p)
{
	map_take(&r->process_of, p->key);
	recent_remove(&r->by_process, &p->recent);
	handle_pool_give(&r->processes, p);
}

void
thread_forget(struct requests *r, struct task_thread *t)
{
	map_take(&r->thread_of, t->key);
	recent_remove(&r->by_thread, &t->recent);
	handle_pool_give(&r->threads, t);
}

static void
make_room(struct requests *r)
{
	if (r->threads.count >= r->threads.max) {
		thread_forget(r, (struct task_thread *)((char *)r->by_thread.oldest -
							offsetof(struct task_thread, recent)));
		r->counts.evicted++;
	}
	if (r->processes.count >= r->processes.max) {
		forget_process(r, (struct task_process *)((char *)r->by_process.oldest -
							  offsetof(struct task_process, recent)));
		r->counts.evicted++;
	}
}

struct task_process *
process_of(struct requests *r, uint32_t host, uint32_t pid)
{
	uint64_t key = key_of(host, pid);
	struct task_process *p = map_get(&r->process_of, key);

	if (p != NULL) {
		recent_touch(&r->by_process, &p->recent);
		return p;
	}
	make_room(r);
	if ((p = handle_pool_take(&r->processes)) == NULL) {
		note_failure_of(r, ERR_MEMORY, "no memory for processes");
		return NULL;
	}
	p->key = key;
	p->doubt_ns = INT64_MIN;
	recent_add(&r->by_process, &p->recent);
	if (!map_put(&r->process_of, key, p)) {
		recent_remove(&r->by_process, &p->recent);
		handle_pool_give(&r->processes, p);
		note_failure_of(r, ERR_MEMORY, "no memory for processes");
		return NULL;
	}
	return p;
}

static struct task_thread *
new_thread(struct requests *r, uint32_t host, uint32_t tid)
{
	struct task_thread *t;

	make_room(r);
	if ((t = handle_pool_take(&r->threads)) != NULL) {
		t->key = key_of(host, tid);
		t->host = host;
		t->tid = tid;
		t->epoch = r->epoch;
		t->doubt_ns = INT64_MIN;
		t->in_syscall = SYSCALL_UNKNOWN;
		if (map_put(&r->thread_of, t->key, t)) {
			recent_add(&r->by_thread, &t->recent);
			return t;
		}
		handle_pool_give(&r->threads, t);
	}
	note_failure_of(r, ERR_MEMORY, "no memory for threads");
	return NULL;
}

struct task_thread *
thread_known(const struct requests *r, uint32_t host, uint32_t tid)
{
	return map_get(&r->thread_of, key_of(host, tid));
}

/* After a loss nothing that was known of it is certain. */
static void
clear_context(struct requests *r, struct task_thread *t)
{
	t->epoch = r->epoch;
	t->known = KNOWN_NOTHING;
	t->nactive = t->nopen = t->outstanding = 0;
	t->hint = HINT_NONE;
	t->handed = t->ran = false;
	t->out_ns = 0;
	t->out_flags = 0;
	t->in_syscall = SYSCALL_UNKNOWN;
	t->worker = (struct handle){ 0 };
}

struct task_thread *
thread_of(struct requests *r, uint32_t host, uint32_t tid, uint32_t pid)
{
	struct task_thread *t = tid != 0 ? thread_known(r, host, tid) : NULL;
	struct task_process *p;

	if (tid == 0)
		return NULL;
	if (t != NULL && pid != 0 && t->pid != 0 && t->pid != pid) {
		r->counts.reused++;
		thread_forget(r, t);
		t = NULL;
	}
	if (t == NULL && (t = new_thread(r, host, tid)) == NULL)
		return NULL;
	recent_touch(&r->by_thread, &t->recent);
	if (t->epoch != r->epoch)
		clear_context(r, t);
	/* Where nothing says the process, each thread is one of its own. */
	if ((pid != 0 && t->pid == 0) || handle_pool_get(&r->processes, t->process) == NULL) {
		t->pid = pid != 0 ? pid : t->pid;
		if ((p = process_of(r, host, t->pid != 0 ? t->pid : tid)) == NULL)
			return NULL;
		t->process = p->pooled.self;
	}
	return t;
}

void
threads_name(struct requests *r, const struct kernel_event *ev)
{
	struct task_thread *t = thread_of(r, ev->host, ev->tid, ev->pid);
	struct task_process *p = t != NULL ? handle_pool_get(&r->processes, t->process) : NULL;
	bool main_thread = ev->tid == ev->pid;

	if (p == NULL || ev->thread.name >= texts_count(r->names->texts))
		return;
	if (p->name == 0 || main_thread || !p->named_by_main) {
		p->name = ev->thread.name;
		p->named_by_main = main_thread;
	}
}

/* ---- contexts ---- */

void
context_set(struct task_thread *t, struct request_unit *u)
{
	/* A worker may take something else at any time. */
	t->known = u != NULL ? KNOWN_UNITS : t->receives ? KNOWN_OUTSIDE : KNOWN_NOTHING;
	t->handed = false;
	t->nactive = u != NULL;
	if (u != NULL)
		t->active[0] = u->pooled.self;
}

void
context_add(struct requests *r, struct task_thread *t, struct request_unit *u)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->nactive; i++) {
		struct request_unit *other = unit_of(r, t->active[i]);

		if (other != NULL && other->open && other != u)
			t->active[kept++] = t->active[i];
	}
	t->nactive = kept;
	t->known = KNOWN_UNITS;
	if (kept < ACTIVE_MAX) {
		t->active[t->nactive++] = u->pooled.self;
		return;
	}
	r->counts.unattributed++;
	u->trace->lossy = true;
}

void
context_remove(struct requests *r, struct task_thread *t, const struct request_unit *u)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->nactive; i++)
		if (unit_of(r, t->active[i]) != u)
			t->active[kept++] = t->active[i];
	t->nactive = kept;
	if (kept == 0)
		t->known = KNOWN_NOTHING;
}

struct request_unit *
context_unit(const struct requests *r, const struct task_thread *t)
{
	for (uint32_t i = 0; t->known == KNOWN_UNITS && i < t->nactive; i++) {
		struct request_unit *u = unit_of(r, t->active[i]);

		if (u != NULL && u->open)
			return u;
	}
	return NULL;
}

/* ---- forks ---- */

/* The child works for what its parent works for. */
static void
inherit(struct requests *r, struct task_thread *parent, struct task_thread *child)
{
	uint32_t name = type_number(r, "fork");

	child->known = parent->known == KNOWN_OUTSIDE ? KNOWN_OUTSIDE : KNOWN_NOTHING;
	for (uint32_t i = 0; parent->known == KNOWN_UNITS && i < parent->nactive; i++) {
		struct request_unit *u = unit_of(r, parent->active[i]), *made;
		uint64_t link = ++r->last_id;
		struct unit_record *fork;

		if (u == NULL || !u->open)
			continue;
		fork = unit_add(r, u, RECORD_FORK,
		    (struct unit_source){ parent->host, parent->pid, parent->tid }, name, link);
		made = fork == NULL
		           ? NULL
		           : unit_begin(r, u->trace, RECORD_UNIT_BEGIN,
				 (struct unit_source){ child->host, child->pid, child->tid }, name,
				 link);
		if (made == NULL)
			continue;
		fork->begun = true;
		made->parent = u;
		made->parent_link = link;
		unit_open(r, made, child);
		context_add(r, child, made);
		child->fork_unit = made->pooled.self;
	}
}

void
threads_fork(struct requests *r, const struct kernel_event *ev)
{
	struct task_thread *parent = thread_of(r, ev->host, ev->tid, ev->pid), *child;
	struct task_process *of, *made;

	if (ev->child.tid == 0 || ev->child.tid == ev->tid)
		return;
	if ((child = thread_known(r, ev->host, ev->child.tid)) != NULL)
		thread_forget(r, child);
	if (ev->child.tid == ev->child.pid &&
	    (made = map_get(&r->process_of, key_of(ev->host, ev->child.pid))) != NULL)
		forget_process(r, made);
	child = thread_of(r, ev->host, ev->child.tid, ev->child.pid);
	/* thread_of() makes room: the parent may be gone. */
	parent = parent != NULL ? thread_known(r, ev->host, ev->tid) : NULL;
	if (parent == NULL || child == NULL)
		return;
	of = handle_pool_get(&r->processes, parent->process);
	made = handle_pool_get(&r->processes, child->process);
	if (of != NULL && made != NULL && of != made) {
		made->name = of->name;
		made->parent = of->pooled.self;
	}
	inherit(r, parent, child);
}

void
fork_ends(struct requests *r, struct task_thread *t, int64_t joined_ns)
{
	struct request_unit *u = unit_of(r, t->fork_unit);
	struct unit_source at = { t->host, t->pid, t->tid }, parent;
	int64_t now_ns = r->now_ns;

	if (u == NULL || !u->open || u->parent == NULL)
		return;
	/* Both as of the time at which its parent went on. */
	if (joined_ns != 0 && joined_ns >= u->begin_ns)
		r->now_ns = joined_ns;
	unit_end(r, u, at);
	parent = (struct unit_source){ u->parent->host, u->parent->pid, u->parent->tid };
	if (joined_ns != 0 && u->parent->open)
		unit_add(r, u->parent, RECORD_JOIN, parent, u->name, u->parent_link);
	r->now_ns = now_ns;
	unit_close(r, u);
}

void
threads_exit(struct requests *r, const struct kernel_event *ev)
{
	struct task_thread *t = thread_known(r, ev->host, ev->tid);

	if (t == NULL)
		return;
	worker_resolve(r, t, NULL);
	fork_ends(r, t, t->fork_wake_ns);
	thread_forget(r, t);
}

/* ---- workers ---- */

/* A timer woke it, and nobody who works for a request ever did. */
static bool
is_background(const struct task_thread *t)
{
	return t->by_timer && t->hint == HINT_NONE && !t->pool;
}

void
worker_begin(struct requests *r, struct task_thread *t)
{
	struct task_process *p = handle_pool_get(&r->processes, t->process);
	struct request_trace *trace = trace_begin(r);
	struct request_unit *u;

	if (trace == NULL)
		return;
	u = unit_begin(
	    r, trace, RECORD_POINT, (struct unit_source){ t->host, t->pid, t->tid }, 0, 0);
	if (u == NULL) {
		trace_drop(r, trace);
		return;
	}
	if (p != NULL && !is_background(t)) {
		trace->works_in = p->pooled.self;
		p->nworkers++;
	}
	u->worker = u->open = true;
	t->worker = trace->pooled.self;
	t->outstanding = 0;
	t->handed = false;
	context_set(t, u);
}

void
worker_resolve(struct requests *r, struct task_thread *t, struct request_unit *u)
{
	struct request_trace *trace = handle_pool_get(&r->traces, t->worker);
	struct task_process *p = handle_pool_get(&r->processes, t->process);

	t->worker = (struct handle){ 0 };
	if (trace == NULL)
		return;
	if (u != NULL && u->trace != trace && u->begin_ns <= trace->begin_ns) {
		trace_merge(r, trace, u);
		return;
	}
	if (is_background(t)) {
		r->counts.background++;
	} else {
		r->counts.unattributed++;
		if (p != NULL)
			p->doubt_ns = r->now_ns;
	}
	trace_drop(r, trace);
}

/* What it did belongs to the unit for which it was woken, if it may be known by now. Returns that. */
static struct request_unit *
attribute_by_hint(struct requests *r, struct task_thread *t)
{
	struct request_unit *u = t->hint == HINT_ONE ? unit_of(r, t->hint_unit) : NULL;
	struct task_process *p = handle_pool_get(&r->processes, t->process);

	if (handle_pool_get(&r->traces, t->worker) == NULL || t->outstanding > 0 || u == NULL ||
	    !u->open || u->worker || p == NULL || p->adopts)
		return NULL;
	/* It may have taken a request from the queue for which nobody was woken. */
	if (p->nopen > p->nhinted)
		p->doubt_ns = r->now_ns;
	worker_resolve(r, t, u);
	r->counts.handed_over++;
	return u;
}

void
worker_sleeps(struct requests *r, struct task_thread *t)
{
	struct request_unit *u = attribute_by_hint(r, t);

	if (u != NULL) {
		context_set(t, u);
		t->handed = true;
	}
	if (handle_pool_get(&r->traces, t->worker) == NULL)
		t->hint = HINT_NONE;
}

void
worker_hands_back(struct requests *r, struct task_thread *t)
{
	if (attribute_by_hint(r, t) == NULL)
		return;
	t->known = KNOWN_NOTHING;
	t->nactive = 0;
	t->hint = HINT_NONE;
}

void
worker_woken(struct requests *r, struct task_thread *t, struct request_unit *by)
{
	struct request_unit *own = context_unit(r, t);
	struct task_process *p = handle_pool_get(&r->processes, t->process);

	t->pool = true;
	if (!by->hinted && !by->worker && p != NULL) {
		by->hinted = true;
		p->nhinted++;
	}
	if (own != NULL &&
	    ((!own->worker && !t->handed) || t->outstanding > 0 || p == NULL || p->adopts))
		return;
	if (own != NULL) {
		worker_resolve(r, t, NULL);
		t->known = KNOWN_NOTHING;
		t->nactive = 0;
		t->handed = false;
	}
	if (t->hint == HINT_NONE)
		t->hint_unit = by->pooled.self;
	else if (unit_of(r, t->hint_unit) != by)
		t->hint = HINT_SEVERAL;
	if (t->hint == HINT_NONE)
		t->hint = HINT_ONE;
}
