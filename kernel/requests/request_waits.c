/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads wait for while they work for a request, from switches and wake-ups; who wakes whom; and what the user has chosen to count.
 */
#include "base/texts.h"
#include "kernel/requests/requests_inside.h"

/* ---- the interrupts that a CPU is in ---- */

static struct cpu_contexts *
contexts_of(struct requests *r, const struct kernel_event *ev, bool make)
{
	uint64_t key = (uint64_t)ev->host << 16 | ev->cpu;
	struct cpu_contexts *c = map_get(&r->cpu_of, key);

	if (c != NULL || !make || (c = handle_pool_take(&r->cpus)) == NULL)
		return c;
	if (map_put(&r->cpu_of, key, c))
		return c;
	handle_pool_give(&r->cpus, c);
	return NULL;
}

void
waits_context(struct requests *r, const struct kernel_event *ev)
{
	struct cpu_contexts *c = contexts_of(r, ev, ev->kind == KERNEL_CONTEXT_IN);

	if (c == NULL)
		return;
	if (ev->kind == KERNEL_CONTEXT_IN) {
		if (c->depth == CONTEXT_DEPTH_MAX)
			c->depth = 0; /* their ends are lost */
		c->stack[c->depth].kind = ev->context.kind;
		c->stack[c->depth].vector = ev->context.vector;
		c->stack[c->depth++].block = false;
	} else if (c->depth > 0 && c->stack[c->depth - 1].kind == ev->context.kind) {
		c->depth--;
	}
}

void
waits_block_done(struct requests *r, const struct kernel_event *ev)
{
	struct cpu_contexts *c = contexts_of(r, ev, false);

	if (c != NULL && c->depth > 0)
		c->stack[c->depth - 1].block = true;
}

static enum wake_context
woken_by(struct requests *r, const struct kernel_event *ev)
{
	const struct cpu_contexts *c = contexts_of(r, ev, false);

	if (ev->waking.by != WAKE_UNKNOWN)
		return (enum wake_context)ev->waking.by;
	if (c == NULL || c->depth == 0)
		return ev->tid != 0 ? WAKE_TASK : WAKE_INTERRUPT;
	if (c->stack[c->depth - 1].block)
		return WAKE_BLOCK;
	switch (c->stack[c->depth - 1].kind) {
	case CONTEXT_HRTIMER:
		return WAKE_TIMER;
	case CONTEXT_RECEPTION:
		return WAKE_NETWORK;
	case CONTEXT_SOFTIRQ:
		return wake_by_softirq(c->stack[c->depth - 1].vector);
	}
	return WAKE_INTERRUPT;
}

/* ---- threads leave CPUs, and return ---- */

/* It waits for several things at a time. */
static bool
is_poll(int32_t syscall)
{
	switch (syscall) {
	case 7:   /* poll */
	case 23:  /* select */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
		return true;
	}
	return false;
}

void
waits_ran(struct requests *r, struct task_thread *t)
{
	struct request_unit *u = context_unit(r, t);
	struct unit_record *c;

	if (!r->o.runs)
		return;
	if (u != NULL && u->open && t->on_ns != 0 && r->now_ns > t->on_ns &&
	    (c = unit_add(r, u, RECORD_SAMPLE, (struct unit_source){ t->host, t->pid, t->tid }, 0,
		 0)) != NULL)
		c->off_ns = r->now_ns - t->on_ns;
	t->on_ns = r->now_ns;
}

static void
leaves(struct requests *r, struct task_thread *t, const struct kernel_event *ev)
{
	const struct request_unit *u = context_unit(r, t);

	waits_ran(r, t);
	t->on_ns = 0;
	t->ran = true;
	t->out_ns = r->now_ns;
	t->woken_ns = 0;
	t->woken_by = WAKE_UNKNOWN;
	t->out_flags = ev->flags;
	t->out_syscall = ev->change.syscall != SYSCALL_UNKNOWN ? ev->change.syscall : t->in_syscall;
	t->out_owner = ev->change.owner;
	t->out_lock = ev->change.lock;
	t->out_unit = u != NULL ? u->pooled.self : (struct handle){ 0 };
	if ((ev->flags & SWITCH_ASLEEP) &&
	    !(ev->flags & (SWITCH_LOCK | SWITCH_IOWAIT | SWITCH_UNINTERRUPTIBLE)))
		worker_sleeps(r, t);
}

enum { FUTEX_OPERATION_LOCK = 6, FUTEX_OPERATION_OTHER = 1, OWNER_UNKNOWN = INT32_MAX };

static struct off_cpu
wait_of(const struct requests *r, const struct task_thread *t)
{
	struct off_cpu w = { .out_ns = (uint64_t)t->out_ns,
		.in_ns = (uint64_t)r->now_ns,
		.woken_ns = (uint64_t)t->woken_ns,
		.pid = t->pid,
		.tid = t->tid,
		.preempted = !(t->out_flags & SWITCH_ASLEEP),
		.in_iowait = (t->out_flags & SWITCH_IOWAIT) != 0,
		.uninterruptible = (t->out_flags & SWITCH_UNINTERRUPTIBLE) != 0,
		.syscall = t->out_syscall,
		.woken_by = (enum wake_context)t->woken_by,
		.owner = t->out_owner };

	w.arguments[1] = FUTEX_OPERATION_OTHER;
	if (t->out_flags & SWITCH_LOCK) {
		w.arguments[1] = FUTEX_OPERATION_LOCK;
		w.owner = t->out_owner != 0 ? t->out_owner : OWNER_UNKNOWN;
	}
	return w;
}

static void
add_wait(struct requests *r, struct task_thread *t, struct request_unit *u)
{
	struct off_cpu w = wait_of(r, t);
	struct wait_part parts[WAIT_PARTS_MAX];
	int n = off_cpu_parts(&w, parts);
	int64_t ready_ns = 0;
	struct unit_record *c;

	for (int i = 0; i < n; i++) {
		int64_t ns = (int64_t)(parts[i].to_ns - parts[i].from_ns);

		u->state_ns[parts[i].state] += ns;
		ready_ns += parts[i].state == BELOW_READY ? ns : 0;
	}
	if (n == 0)
		return;
	c = unit_add(
	    r, u, RECORD_WAIT, (struct unit_source){ t->host, t->pid, t->tid }, 0, t->out_lock);
	if (c == NULL)
		return;
	c->state = (uint8_t)parts[0].state;
	c->off_ns = r->now_ns - t->out_ns;
	c->ready_ns = ready_ns;
}

/* An event loop with several requests waits for none of them; if a timer ended its wait, it goes on with any of them. */
static void
returns(struct requests *r, struct task_thread *t)
{
	struct request_unit *u = unit_of(r, t->out_unit);
	bool asleep = (t->out_flags & SWITCH_ASLEEP) != 0;
	bool loop = asleep && is_poll(t->out_syscall) && t->nopen > 1;

	t->ran = true;
	t->on_ns = r->now_ns;
	if (t->out_ns == 0)
		return;
	if (u != NULL && u->open && !loop && u == context_unit(r, t))
		add_wait(r, t, u);
	if (loop && t->woken_by == WAKE_TIMER && r->o.rule == RULE_CURRENT) {
		t->known = KNOWN_NOTHING;
		t->nactive = 0;
	}
	t->out_ns = 0;
}

void
waits_switch(struct requests *r, const struct kernel_event *ev)
{
	struct cpu_contexts *c = contexts_of(r, ev, false);
	struct task_thread *t;

	r->switches = true;
	if (c != NULL)
		c->depth = 0; /* no interrupt is open where threads are switched */
	if ((t = thread_of(r, ev->host, ev->tid, ev->pid)) != NULL)
		leaves(r, t, ev);
	if ((t = thread_of(r, ev->host, ev->change.next_tid, ev->change.next_pid)) != NULL)
		returns(r, t);
}

/* ---- wake-ups ---- */

void
waits_waking(struct requests *r, const struct kernel_event *ev)
{
	enum wake_context by = woken_by(r, ev);
	struct task_thread *t = thread_of(r, ev->host, ev->waking.tid, ev->waking.pid), *waker;
	struct request_unit *u, *hinted;
	bool asleep;

	if (t == NULL || ev->waking.tid == ev->tid)
		return;
	/* A thread that was never seen to run was asleep when the recording, or the part after a loss, began. */
	asleep = t->out_ns != 0 ? (t->out_flags & SWITCH_ASLEEP) && t->woken_ns == 0 : !t->ran;
	if (asleep && t->out_ns != 0) {
		t->woken_ns = r->now_ns;
		t->woken_by = (uint8_t)by;
		t->by_timer = by == WAKE_TIMER;
	}
	if (by != WAKE_TASK || (waker = thread_known(r, ev->host, ev->tid)) == NULL ||
	    waker->epoch != r->epoch)
		return;
	u = unit_of(r, waker->fork_unit);
	if (u != NULL && u->parent != NULL && u->parent->tid == t->tid &&
	    u->parent->host == t->host)
		waker->fork_wake_ns = r->now_ns;
	u = context_unit(r, waker);
	if (u != NULL && u->worker && t->receives && waker->hint == HINT_ONE &&
	    (hinted = unit_of(r, waker->hint_unit)) != NULL &&
	    same_handle(hinted->thread, t->pooled.self)) {
		worker_hands_back(r, waker);
		return;
	}
	if (u != NULL && asleep && r->o.rule == RULE_CURRENT && !t->receives &&
	    same_handle(waker->process, t->process) &&
	    !(t->out_flags & (SWITCH_LOCK | SWITCH_IOWAIT | SWITCH_UNINTERRUPTIBLE)))
		worker_woken(r, t, u);
}

void
waits_syscall(struct requests *r, const struct kernel_event *ev)
{
	struct task_thread *t = thread_of(r, ev->host, ev->tid, ev->pid);

	if (t != NULL)
		t->in_syscall = ev->kind == KERNEL_SYSCALL_IN ? ev->call.number : SYSCALL_NONE;
}

/* ---- what the user counts ---- */

/* COUNTED_MAX: there are too many names. */
static uint32_t
counted_number(struct requests *r, uint32_t name)
{
	uint32_t i = 0;

	while (i < r->ncounted && r->counted[i] != name)
		i++;
	if (i == r->ncounted && i < COUNTED_MAX && name < texts_count(r->names->texts))
		r->counted[r->ncounted++] = name;
	return i < r->ncounted ? i : COUNTED_MAX;
}

void
waits_counted(struct requests *r, const struct kernel_event *ev)
{
	struct task_thread *t = thread_of(r, ev->host, ev->tid, ev->pid);
	struct request_unit *u = t != NULL ? context_unit(r, t) : NULL;
	uint32_t i = counted_number(r, ev->counted.name);

	if (u == NULL || i == COUNTED_MAX ||
	    __builtin_add_overflow(u->counts[i], ev->counted.value, &u->counts[i]))
		r->counts.not_counted++;
}
