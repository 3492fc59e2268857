/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/thread_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_map.h"

enum { CONTEXTS_MAX = 16, MAP_ENTRY_BYTES = 48, NONE = KERNEL_THREAD_NONE };

enum status { /* of a thread, at the time of the last event that told */
	STATUS_UNKNOWN,
	STATUS_RUNNING,
	STATUS_READY,
	STATUS_ASLEEP
};

struct thread {
	struct kernel_thread open; /* intervals and nintervals are set when asked for */
	struct kernel_interval *intervals;
	uint32_t nintervals, intervals_cap;
	enum status status;
	int64_t since_ns; /* of the status; its interval is not closed yet */
	uint32_t earlier; /* life of the same tid; NONE */
	/* ASLEEP: how it was left. READY: how it was woken. */
	struct kernel_event
	    out; /* the switch by which it left its CPU; `kind` is not SWITCH if none was seen */
	uint32_t waker;
	int64_t waker_ns;
	uint8_t by;
	bool is_early; /* a wake-up came while it ran: it may have been about to leave its CPU */
	int16_t syscall;
	uint8_t call_flags; /* of the SYSCALL_IN */
	uint32_t
	    network; /* 1 + the number of its last interval that waited for the network, until it is known who sent */
	bool exits, is_ended;
};

struct context {
	uint8_t kind;
	uint16_t vector;
};

struct cpu {
	uint32_t current; /* number of the thread; NONE: the idle task, or not known */
	bool is_known;
	uint32_t ncontexts;
	struct context contexts[CONTEXTS_MAX];
	/* The packet that the interrupt in progress has received: who sent it, and when. */
	uint32_t sender;
	int64_t sent_ns;
	int64_t lost_from_ns, lost_to_ns; /* since the last switch; 0: nothing */
	int64_t softirq_ns;               /* begin of the outermost softirq in progress; 0: none */
	uint32_t worker; /* number of the thread that stands for its interrupts; NONE */
};

struct host {
	struct cpu *cpus;
	uint32_t ncpus, cpus_cap;
	int64_t last_ns;
	int64_t lost_to_ns; /* end of the last loss; INT64_MIN: none */
	bool has_contexts;  /* its events tell of interrupts */
};

struct
    sent_message { /* a packet, or what a thread sent on a connection, that nobody has received yet */
	uint32_t thread;
	int64_t time_ns;
	/* Of a connection: the sockets at both ends, kernel_connection_place(); NO_PLACE: none was seen */
	uint64_t from, to;
	bool ambiguous; /* there are several sockets that have the same ends, in other namespaces */
};

#define NO_PLACE UINT64_MAX

struct kernel_graph {
	struct kernel_graph_options o;
	struct kernel_names *names;
	struct thread **threads;
	uint32_t nthreads, threads_cap;
	struct map by_tid; /* host << 32 | tid -> struct thread, the newest life; number + 1 */
	struct host *hosts;
	uint32_t nhosts, hosts_cap;
	struct map packets;     /* hash of the id -> struct sent_message */
	struct map connections; /* kernel_connection_key() of the sender -> struct sent_message */
	size_t memory_bytes;
	struct kernel_graph_counts counts;
};

/* ---- memory ----------------------------------------------------------------- */

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory");
}

static bool
room(struct kernel_graph *g, size_t bytes)
{
	if (g->memory_bytes + bytes > g->o.memory_max_bytes)
		return false;
	g->memory_bytes += bytes;
	return true;
}

static int
full(const struct kernel_graph *g, struct err *e)
{
	return err_set(e, ERR_FULL,
	    "the kernel events need more than %zu MiB of memory: raise --memory, or record for a shorter time or fewer processes",
	    g->o.memory_max_bytes >> 20);
}

int
kernel_graph_new(struct kernel_graph **ret, const struct kernel_graph_options *o,
    struct kernel_names *names, struct err *e)
{
	struct kernel_graph *g = calloc(1, sizeof *g);

	if (g == NULL)
		return no_memory(e);
	g->o = *o;
	if (g->o.memory_max_bytes == 0)
		g->o.memory_max_bytes = KERNEL_GRAPH_MEMORY_BYTES;
	g->names = names;
	*ret = g;
	return 0;
}

static void
free_messages(struct map *m)
{
	struct sent_message *message;
	size_t at = 0;

	while ((message = map_next(m, &at, NULL)) != NULL)
		free(message);
	map_release(m);
}

void
kernel_graph_free(struct kernel_graph *g)
{
	if (g == NULL)
		return;
	for (uint32_t i = 0; i < g->nthreads; i++) {
		free(g->threads[i]->intervals);
		free(g->threads[i]);
	}
	for (uint32_t i = 0; i < g->nhosts; i++)
		free(g->hosts[i].cpus);
	free(g->threads);
	free(g->hosts);
	map_release(&g->by_tid);
	free_messages(&g->packets);
	free_messages(&g->connections);
	free(g);
}

/* ---- hosts, CPUs, threads ---------------------------------------------------- */

static struct host *
host_of(struct kernel_graph *g, uint32_t number)
{
	if (number >= KERNEL_HOSTS_MAX || !array_reserve(g->hosts, g->hosts_cap, number + 1))
		return NULL;
	while (g->nhosts <= number)
		g->hosts[g->nhosts++] = (struct host){ .last_ns = INT64_MIN,
			.lost_to_ns = INT64_MIN };
	return &g->hosts[number];
}

static struct cpu *
cpu_of(struct kernel_graph *g, struct host *h, uint32_t number)
{
	if (number >= h->ncpus) {
		if (!room(g, (number + 1 - h->ncpus) * sizeof(struct cpu)) ||
		    !array_reserve(h->cpus, h->cpus_cap, number + 1))
			return NULL;
		while (h->ncpus <= number)
			h->cpus[h->ncpus++] = (struct cpu){
				.current = NONE, .sender = NONE, .worker = NONE
			};
	}
	return &h->cpus[number];
}

static uint64_t
tid_key(uint32_t host, uint32_t tid)
{
	return (uint64_t)host << 32 | tid;
}

static uint32_t
newest(const struct kernel_graph *g, uint32_t host, uint32_t tid)
{
	return (uint32_t)(uintptr_t)map_get(&g->by_tid, tid_key(host, tid)) - 1;
}

/* A thread that begins now. NONE: out of memory, or over the bound. */
static uint32_t
add_thread(struct kernel_graph *g, uint32_t host, uint32_t tid, uint32_t pid, int64_t now)
{
	uint32_t number = g->nthreads;
	struct thread *t;

	if (!room(g, sizeof *t + 2 * sizeof(void *) + MAP_ENTRY_BYTES) ||
	    !array_reserve(g->threads, g->threads_cap, number + 1) ||
	    (t = calloc(1, sizeof *t)) == NULL)
		return NONE;
	t->open = (struct kernel_thread){ .tid = tid,
		.pid = pid,
		.parent = NONE,
		.host = (uint16_t)host,
		.begin_ns = now,
		.end_ns = now };
	t->since_ns = now;
	t->waker = NONE;
	t->syscall = SYSCALL_UNKNOWN;
	t->out.kind = KERNEL_KINDS;
	t->earlier = NONE;
	g->threads[g->nthreads++] = t;
	return number;
}

static uint32_t
begin_life(struct kernel_graph *g, uint32_t host, uint32_t tid, uint32_t pid, int64_t now)
{
	uint32_t before = newest(g, host, tid), number = add_thread(g, host, tid, pid, now);

	if (number == NONE)
		return NONE;
	g->threads[number]->earlier = before;
	if (!map_put(&g->by_tid, tid_key(host, tid), (void *)((uintptr_t)number + 1)))
		return NONE;
	return number;
}

/* The thread of an event, which begins with it if it was not known. NONE: out of memory, or over the bound. */
static uint32_t
thread_of(struct kernel_graph *g, uint32_t host, uint32_t tid, uint32_t pid, int64_t now)
{
	uint32_t number = newest(g, host, tid);

	if (number == NONE || g->threads[number]->is_ended)
		return begin_life(g, host, tid, pid, now);
	if (pid != 0)
		g->threads[number]->open.pid = pid;
	return number;
}

/* ---- intervals --------------------------------------------------------------- */

/* Appends [since, to) with this state, and makes it one with the last if nothing tells them apart. */
static int
append(struct kernel_graph *g, struct thread *t, int64_t to, const struct kernel_interval *as,
    struct err *e)
{
	struct kernel_interval *last = t->nintervals > 0 ? &t->intervals[t->nintervals - 1] : NULL;
	uint32_t before = t->intervals_cap;

	if (to <= t->since_ns)
		return 0;
	if (last != NULL && last->state == as->state && last->waker == NONE && as->waker == NONE &&
	    last->by == as->by && last->syscall == as->syscall && last->owner == as->owner &&
	    (as->state == BELOW_RUNNING || as->state == BELOW_READY ||
		as->state == BELOW_UNKNOWN)) {
		last->to_ns = last->waker_ns = to;
		goto done;
	}
	if (!array_reserve(t->intervals, t->intervals_cap, t->nintervals + 1))
		return no_memory(e);
	if (!room(g, (t->intervals_cap - before) * sizeof *as))
		return full(g, e);
	t->intervals[t->nintervals] = *as;
	last = &t->intervals[t->nintervals++];
	last->from_ns = t->since_ns;
	last->to_ns = to;
	if (last->waker == NONE)
		last->waker_ns = to;
done:
	t->since_ns = t->open.end_ns = to;
	return 0;
}

static struct kernel_interval
plain(enum below_state s)
{
	return (struct kernel_interval){
		.state = (uint8_t)s, .waker = NONE, .syscall = SYSCALL_UNKNOWN, .by = WAKE_UNKNOWN
	};
}

/* The wait of a thread that was left by t->out, as it was when t->by woke it. */
static struct kernel_interval
wait_of(const struct thread *t)
{
	const struct kernel_event *out = &t->out;
	struct kernel_interval ret = plain(BELOW_UNKNOWN);
	struct off_cpu w = { .woken_by = t->by, .syscall = SYSCALL_UNKNOWN };

	ret.waker = t->waker;
	ret.waker_ns = t->waker_ns;
	ret.by = t->by;
	if (out->kind != KERNEL_SWITCH)
		w.woken_by = t->by;
	else {
		w.syscall = out->change.syscall;
		w.in_iowait = out->flags & SWITCH_IOWAIT;
		w.uninterruptible = out->flags & SWITCH_UNINTERRUPTIBLE;
		ret.syscall = (int16_t)out->change.syscall;
	}
	if (out->kind == KERNEL_SWITCH && (out->flags & SWITCH_LOCK)) {
		ret.state = BELOW_LOCK;
		ret.owner = out->change.owner;
	} else
		ret.state = (uint8_t)off_cpu_cause(&w);
	return ret;
}

/* Closes what the thread was in, by its status, but for RUNNING. What a loss on its host overlaps is unknown. */
static int
close_off(struct kernel_graph *g, struct thread *t, int64_t now, struct err *e)
{
	struct kernel_interval as = plain(BELOW_UNKNOWN);
	int rc;

	if (g->hosts[t->open.host].lost_to_ns <= t->since_ns) {
		if (t->status == STATUS_READY)
			as = plain(BELOW_READY);
		else if (t->status == STATUS_ASLEEP)
			as = wait_of(t);
	}
	if ((rc = append(g, t, now, &as, e)) != 0)
		return rc;
	if (as.state == BELOW_NETWORK && as.waker == NONE)
		t->network = t->nintervals;
	t->since_ns = t->open.end_ns = now;
	return 0;
}

/* Nobody saw what it did since then. */
static int
close_unseen(struct kernel_graph *g, struct thread *t, int64_t now, struct err *e)
{
	t->status = STATUS_UNKNOWN;
	return close_off(g, t, now, e);
}

/* The thread that a CPU runs: its time there, but for what a loss of this CPU hides. */
static int
close_running(
    struct kernel_graph *g, const struct cpu *c, uint16_t number, int64_t now, struct err *e)
{
	struct thread *t = g->threads[c->current];
	struct kernel_interval running = plain(BELOW_RUNNING), unknown = plain(BELOW_UNKNOWN);
	int64_t lost_to = c->lost_to_ns < now ? c->lost_to_ns : now;
	int rc;

	running.cpu = number;
	if (c->lost_to_ns > t->since_ns && c->lost_from_ns < now &&
	    ((rc = append(g, t, c->lost_from_ns, &running, e)) != 0 ||
		(rc = append(g, t, lost_to, &unknown, e)) != 0))
		return rc;
	return append(g, t, now, &running, e);
}

/* ---- switches ---------------------------------------------------------------- */

static void
reset_contexts(struct kernel_graph *g, struct cpu *c)
{
	g->counts.open_contexts += c->ncontexts;
	c->ncontexts = 0;
	c->softirq_ns = 0;
	c->sender = NONE;
}

/* The thread that leaves: what it was doing until now, and what it does next. */
static int
leave(struct kernel_graph *g, struct cpu *c, const struct kernel_event *ev, struct err *e)
{
	uint32_t number = thread_of(g, ev->host, ev->tid, ev->pid, ev->time_ns);
	struct thread *t;
	int rc;

	if (number == NONE)
		return full(g, e);
	t = g->threads[number];
	if (c->is_known && c->current == number) {
		if ((rc = close_running(g, c, ev->cpu, ev->time_ns, e)) != 0)
			return rc;
	} else {
		if (c->is_known)
			g->counts.unexpected++;
		if (c->current != NONE) {
			struct thread *ran = g->threads[c->current];

			if ((rc = close_unseen(g, ran, ev->time_ns, e)) != 0)
				return rc;
			ran->is_ended = ran->exits;
		}
		if ((rc = close_unseen(g, t, ev->time_ns, e)) != 0)
			return rc;
	}
	t->status = ev->flags & SWITCH_ASLEEP ? STATUS_ASLEEP : STATUS_READY;
	t->since_ns = ev->time_ns;
	t->waker = NONE;
	t->by = WAKE_UNKNOWN;
	t->out = *ev;
	if (t->out.change.syscall == SYSCALL_UNKNOWN) {
		t->out.change.syscall = t->syscall;
		t->out.flags |= t->call_flags;
	}
	/* A thread that exits still runs and waits, as for files that it closes, until the kernel says of a switch that it was the last. */
	t->is_ended = (ev->flags & SWITCH_ENDED) != 0;
	return 0;
}

/* No CPU of the host runs this thread, whatever was said before. O(CPUs); for events that contradict each other. */
static void
forget_current(struct kernel_graph *g, uint32_t host, uint32_t number)
{
	struct host *h = &g->hosts[host];

	for (uint32_t i = 0; i < h->ncpus; i++)
		if (h->cpus[i].current == number) {
			h->cpus[i].current = NONE;
			h->cpus[i].is_known = false;
		}
}

/* The thread that comes. */
static int
arrive(struct kernel_graph *g, struct cpu *c, const struct kernel_event *ev, struct err *e)
{
	uint32_t number = thread_of(
	    g, ev->host, ev->change.next_tid, ev->change.next_pid, ev->time_ns);
	struct thread *t;
	int rc;

	if (number == NONE)
		return full(g, e);
	t = g->threads[number];
	switch (t->status) {
	case STATUS_RUNNING: /* on another CPU, as far as is known */
		g->counts.unexpected++;
		forget_current(g, ev->host, number);
		t->status = STATUS_UNKNOWN;
		break;
	case STATUS_ASLEEP: /* woken just before the switch was recorded by which it left: it waited for nothing */
		if (t->is_early)
			t->status = STATUS_READY;
		else
			g->counts.unwoken++;
		break;
	case STATUS_READY:
	case STATUS_UNKNOWN:
		break;
	}
	if ((rc = close_off(g, t, ev->time_ns, e)) != 0)
		return rc;
	t->status = STATUS_RUNNING;
	t->since_ns = ev->time_ns;
	t->is_early = false;
	c->current = number;
	c->is_known = true;
	return 0;
}

static int
take_switch(struct kernel_graph *g, struct cpu *c, const struct kernel_event *ev, struct err *e)
{
	int rc = 0;

	reset_contexts(g, c);
	if (ev->tid != 0)
		rc = leave(g, c, ev, e);
	else if (c->current != NONE) {
		g->counts.unexpected++;
		rc = close_unseen(g, g->threads[c->current], ev->time_ns, e);
	}
	if (rc != 0)
		return rc;
	c->lost_from_ns = c->lost_to_ns = 0;
	c->current = NONE;
	c->is_known = true;
	return ev->change.next_tid != 0 ? arrive(g, c, ev, e) : 0;
}

/* ---- wake-ups ---------------------------------------------------------------- */

/* Threads of the kernel that finish what storage does, by the names that Linux gives them. */
static bool
is_kernel_thread(const struct kernel_graph *g, const struct thread *t)
{
	const char *name = texts_get(g->names->texts, t->open.name);

	return strncmp(name, "kworker/", 8) == 0 || strncmp(name, "jbd2/", 5) == 0;
}

static enum wake_context
by_context(const struct context *top)
{
	switch (top->kind) {
	case CONTEXT_HRTIMER:
		return WAKE_TIMER;
	case CONTEXT_RECEPTION:
		return WAKE_NETWORK;
	case CONTEXT_SOFTIRQ:
		return wake_by_softirq(top->vector);
	}
	return WAKE_INTERRUPT;
}

struct waking { /* who wakes */
	enum wake_context by;
	uint32_t waker;
	int64_t waker_ns;
};

static struct waking
waking_of(struct kernel_graph *g, const struct host *h, const struct cpu *c,
    const struct kernel_event *ev)
{
	struct waking ret = { ev->waking.by, NONE, ev->time_ns };
	uint32_t current = c->is_known || ev->tid == 0 ? c->current : newest(g, ev->host, ev->tid);

	if (ret.by == WAKE_UNKNOWN && h->has_contexts) {
		if (c->ncontexts > 0)
			ret.by = by_context(&c->contexts[c->ncontexts - 1]);
		else if (current != NONE)
			ret.by = is_kernel_thread(g, g->threads[current]) ? WAKE_KERNEL_TASK
			                                                  : WAKE_TASK;
		else if (c->is_known) /* the idle task wakes nobody by itself */
			ret.by = WAKE_INTERRUPT;
	}
	if (ret.by == WAKE_UNKNOWN)
		g->counts.without_context++;
	if (ret.by == WAKE_TASK || ret.by == WAKE_KERNEL_TASK)
		ret.waker = current;
	if (ret.by == WAKE_NETWORK && c->sender != NONE) {
		ret.waker = c->sender;
		ret.waker_ns = c->sent_ns;
	}
	return ret;
}

static int
take_waking(struct kernel_graph *g, const struct host *h, const struct cpu *c,
    const struct kernel_event *ev, struct err *e)
{
	uint32_t number = thread_of(g, ev->host, ev->waking.tid, ev->waking.pid, ev->time_ns);
	struct waking w = waking_of(g, h, c, ev);
	struct thread *t;
	int rc;

	if (number == NONE)
		return full(g, e);
	t = g->threads[number];
	if (w.waker ==
	    number) /* a thread that is about to sleep, and is woken by its own interrupt */
		w.waker = NONE;
	switch (t->status) {
	case STATUS_RUNNING:
		t->is_early = true;
		return 0;
	case STATUS_READY:
		return 0;
	case STATUS_UNKNOWN: /* seen for the first time, or after a loss: it was asleep, nobody knows why */
	case STATUS_ASLEEP:
		break;
	}
	t->by = (uint8_t)w.by;
	t->waker = w.waker;
	t->waker_ns = w.waker_ns;
	if ((rc = close_off(g, t, ev->time_ns, e)) != 0)
		return rc;
	t->status = STATUS_READY;
	t->since_ns = ev->time_ns;
	return 0;
}

/* ---- interrupts, packets, messages ------------------------------------------- */

/* The softirq of a CPU goes on until now; by WAKE_NETWORK: until a packet arrived. */
static int
worker_interval(struct kernel_graph *g, struct cpu *c, const struct kernel_event *ev,
    enum wake_context by, struct err *e)
{
	struct kernel_interval running = plain(BELOW_RUNNING), unknown = plain(BELOW_UNKNOWN);
	struct thread *t;
	int rc;

	if (!g->o.workers || c->softirq_ns == 0)
		return 0;
	if (c->worker == NONE) {
		if ((c->worker = add_thread(g, ev->host, ev->cpu, 0, c->softirq_ns)) == NONE)
			return full(g, e);
		g->threads[c->worker]->open.is_worker = true;
	}
	t = g->threads[c->worker];
	running.by = (uint8_t)by;
	if ((rc = append(g, t, c->softirq_ns, &unknown, e)) != 0)
		return rc;
	t->since_ns = c->softirq_ns;
	c->softirq_ns = ev->time_ns;
	return append(g, t, ev->time_ns, &running, e);
}

static int
take_context(struct kernel_graph *g, struct host *h, struct cpu *c, const struct kernel_event *ev,
    struct err *e)
{
	struct context *top = c->ncontexts > 0 ? &c->contexts[c->ncontexts - 1] : NULL;
	bool softirq = ev->context.kind == CONTEXT_SOFTIRQ;

	h->has_contexts = true;
	if (ev->kind == KERNEL_CONTEXT_IN) {
		if (c->ncontexts == CONTEXTS_MAX) {
			g->counts.open_contexts++;
			memmove(
			    c->contexts, c->contexts + 1, sizeof c->contexts - sizeof *c->contexts);
			c->ncontexts--;
		}
		if (softirq && c->softirq_ns == 0)
			c->softirq_ns = ev->time_ns;
		c->contexts[c->ncontexts++] = (struct context){ ev->context.kind,
			ev->context.vector };
		return 0;
	}
	if (top == NULL || top->kind != ev->context.kind || top->vector != ev->context.vector) {
		g->counts.stray_contexts++;
		return 0;
	}
	c->ncontexts--;
	if (c->ncontexts == 0)
		c->sender = NONE;
	if (softirq) {
		int rc = worker_interval(g, c, ev, WAKE_UNKNOWN, e);

		c->softirq_ns = 0;
		return rc;
	}
	return 0;
}

/* Notes that the current thread sent something that `key` names, by that socket. */
static int
sent(struct kernel_graph *g, struct map *where, uint64_t key, uint64_t from, uint32_t thread,
    int64_t now, struct err *e)
{
	struct sent_message *m = map_get(where, key);

	if (m == NULL) {
		if (!room(g, sizeof *m + MAP_ENTRY_BYTES))
			return full(g, e);
		if ((m = malloc(sizeof *m)) == NULL || !map_put(where, key, m)) {
			free(m);
			return no_memory(e);
		}
		*m = (struct sent_message){ .from = from, .to = NO_PLACE };
	}
	m->ambiguous |= m->from != from;
	m->thread = thread;
	m->time_ns = now;
	return 0;
}

/* The thread received what was sent before its last wait for the network ended: that thread ended it. */
static void
received(struct thread *t, const struct sent_message *m)
{
	struct kernel_interval *wait = t->network > 0 ? &t->intervals[t->network - 1] : NULL;

	if (wait == NULL || m->time_ns > wait->to_ns)
		return;
	wait->waker = m->thread;
	wait->waker_ns = m->time_ns;
	t->network = 0;
}

/* What the thread sent on a connection, or received there. */
static int
take_data(struct kernel_graph *g, uint32_t thread, const struct kernel_event *ev, struct err *e)
{
	bool receives = ev->kind == KERNEL_RECEIVE;
	uint32_t connection = ev->message.connection;
	uint64_t key = kernel_connection_key(g->names, ev->host, connection, receives),
		 place = kernel_connection_place(ev->host, connection);
	struct sent_message *m;

	if (key == UINT64_MAX)
		return no_memory(e);
	if (!receives)
		return sent(g, &g->connections, key, place, thread, ev->time_ns, e);
	if ((m = map_get(&g->connections, key)) == NULL)
		return 0;
	m->ambiguous |= m->to != NO_PLACE && m->to != place;
	m->to = place;
	if (m->ambiguous)
		g->counts.ambiguous++;
	else if (m->thread != thread)
		received(g->threads[thread], m);
	return 0;
}

static int
take_message(
    struct kernel_graph *g, const struct cpu *c, const struct kernel_event *ev, struct err *e)
{
	uint32_t number = ev->tid != 0 ? thread_of(g, ev->host, ev->tid, ev->pid, ev->time_ns)
	                               : c->current;

	if (ev->tid != 0 && number == NONE)
		return full(g, e);
	switch (ev->kind) {
	case KERNEL_PACKET_OUT:
		return number == NONE ? 0
		                      : sent(g, &g->packets, hash_u64(ev->packet.id), NO_PLACE,
					    number, ev->time_ns, e);
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		return number == NONE ? 0 : take_data(g, number, ev, e);
	}
	return 0;
}

static int
take_packet(struct kernel_graph *g, struct cpu *c, const struct kernel_event *ev, struct err *e)
{
	struct sent_message *m = map_take(&g->packets, hash_u64(ev->packet.id));
	int rc = worker_interval(g, c, ev, WAKE_NETWORK, e);

	if (m == NULL)
		return rc;
	g->memory_bytes -= sizeof *m + MAP_ENTRY_BYTES;
	if (c->ncontexts > 0) {
		c->sender = m->thread;
		c->sent_ns = m->time_ns;
	} else if (c->current != NONE && c->current != m->thread)
		received(g->threads[c->current], m);
	free(m);
	return rc;
}

/* ---- the rest ---------------------------------------------------------------- */

static int
take_fork(struct kernel_graph *g, const struct kernel_event *ev, struct err *e)
{
	uint32_t before = newest(g, ev->host, ev->child.tid), parent, child;
	int rc;

	if (before != NONE && !g->threads[before]->is_ended) {
		struct thread *t = g->threads[before];

		/* A waking of the new thread, or its name, may come before its fork. */
		if (t->nintervals == 0 && t->since_ns == ev->time_ns)
			return 0;
		g->counts.reused++;
		forget_current(g, ev->host, before);
		if ((rc = close_unseen(g, t, ev->time_ns, e)) != 0)
			return rc;
		t->is_ended = true;
	}
	parent = ev->tid != 0 ? thread_of(g, ev->host, ev->tid, ev->pid, ev->time_ns) : NONE;
	if ((ev->tid != 0 && parent == NONE) ||
	    (child = begin_life(g, ev->host, ev->child.tid, ev->child.pid, ev->time_ns)) == NONE)
		return full(g, e);
	g->threads[child]->open.parent = parent;
	g->threads[child]->status = STATUS_READY;
	return 0;
}

static int
take_name(struct kernel_graph *g, const struct kernel_event *ev, struct err *e)
{
	uint32_t number;
	struct thread *t;

	if (ev->tid == 0)
		return 0;
	if ((number = thread_of(g, ev->host, ev->tid, ev->pid, ev->time_ns)) == NONE)
		return full(g, e);
	t = g->threads[number];
	if (ev->thread.name != 0)
		t->open.name = ev->thread.name;
	if (ev->thread.asleep && t->status == STATUS_UNKNOWN && t->nintervals == 0)
		t->status = STATUS_ASLEEP;
	return 0;
}

static void
take_call(struct kernel_graph *g, const struct cpu *c, const struct kernel_event *ev)
{
	uint32_t number = ev->tid != 0 ? newest(g, ev->host, ev->tid) : c->current;

	if (number == NONE)
		return;
	g->threads[number]->syscall = ev->kind == KERNEL_SYSCALL_OUT ? SYSCALL_NONE
	                                                             : (int16_t)ev->call.number;
	g->threads[number]->call_flags = ev->kind == KERNEL_SYSCALL_IN ? ev->flags & SWITCH_LOCK
	                                                               : 0;
}

/* Closed intervals that a loss overlaps are unknown, but for those on other CPUs. */
static void
make_unknown(struct thread *t, int64_t from, uint16_t cpu)
{
	for (uint32_t i = t->nintervals; i-- > 0 && t->intervals[i].to_ns > from;) {
		struct kernel_interval *interval = &t->intervals[i];

		if (interval->state == BELOW_RUNNING && cpu != KERNEL_CPU_ALL &&
		    interval->cpu != cpu)
			continue;
		*interval = (struct kernel_interval){ .from_ns = interval->from_ns,
			.to_ns = interval->to_ns,
			.waker_ns = interval->to_ns,
			.waker = NONE,
			.syscall = SYSCALL_UNKNOWN,
			.state = BELOW_UNKNOWN,
			.by = WAKE_UNKNOWN };
	}
}

static void
take_loss(struct kernel_graph *g, struct host *h, const struct kernel_event *ev)
{
	int64_t from = ev->lost.from_ns < ev->time_ns ? ev->lost.from_ns : ev->time_ns;

	g->counts.losses++;
	g->counts.lost += ev->lost.count;
	h->lost_to_ns = ev->time_ns;
	for (uint32_t i = 0; i < g->nthreads; i++)
		if (g->threads[i]->open.host == ev->host && !g->threads[i]->open.is_worker)
			make_unknown(g->threads[i], from, ev->cpu);
	for (uint32_t i = 0; i < h->ncpus; i++) {
		struct cpu *c = &h->cpus[i];

		if (ev->cpu != i && ev->cpu != KERNEL_CPU_ALL)
			continue;
		if (c->lost_to_ns == 0)
			c->lost_from_ns = from;
		c->lost_to_ns = ev->time_ns;
		reset_contexts(g, c);
	}
}

static void
take_exit(struct kernel_graph *g, const struct kernel_event *ev)
{
	uint32_t number = newest(g, ev->host, ev->tid);

	if (number != NONE)
		g->threads[number]->exits = true;
}

int
kernel_graph_take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct kernel_graph *g = of;
	struct host *h = host_of(g, ev->host);
	struct cpu *c;

	if (h == NULL)
		return full(g, e);
	g->counts.events++;
	if (ev->time_ns < h->last_ns) {
		g->counts.back++;
		return 0;
	}
	h->last_ns = ev->time_ns;
	if (ev->kind == KERNEL_LOST) {
		take_loss(g, h, ev);
		return 0;
	}
	if (ev->kind == KERNEL_NAME)
		return take_name(g, ev, e);
	if (ev->cpu == KERNEL_CPU_ALL || (c = cpu_of(g, h, ev->cpu)) == NULL)
		return full(g, e);
	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_SWITCH:
		return take_switch(g, c, ev, e);
	case KERNEL_WAKING:
		return ev->waking.tid == 0 ? 0 : take_waking(g, h, c, ev, e);
	case KERNEL_FORK:
		return ev->child.tid == 0 ? 0 : take_fork(g, ev, e);
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		return take_context(g, h, c, ev, e);
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		take_call(g, c, ev);
		return 0;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
	case KERNEL_PACKET_OUT:
		return take_message(g, c, ev, e);
	case KERNEL_PACKET_IN:
		return take_packet(g, c, ev, e);
	case KERNEL_BLOCK_DONE: /* the interrupt in progress has an answer of storage, whatever its number */
		if (c->ncontexts > 0)
			c->contexts[c->ncontexts - 1].kind = CONTEXT_SOFTIRQ,
						   c->contexts[c->ncontexts - 1]
						       .vector = SOFTIRQ_BLOCK;
		return 0;
	case KERNEL_EXIT:
		take_exit(g, ev);
		return 0;
	case KERNEL_NAME:
	case KERNEL_COUNTED:
	case KERNEL_STACK:
	case KERNEL_UNIT:
	case KERNEL_LOST:
	case KERNEL_KINDS:
		break;
	}
	return 0;
}

/* ---- reading ----------------------------------------------------------------- */

int
kernel_graph_end(struct kernel_graph *g, struct err *e)
{
	int rc;

	for (uint32_t i = 0; i < g->nhosts; i++)
		for (uint32_t k = 0; k < g->hosts[i].ncpus; k++) {
			const struct cpu *c = &g->hosts[i].cpus[k];

			if (c->current != NONE &&
			    g->threads[c->current]->status == STATUS_RUNNING &&
			    (rc = close_running(g, c, (uint16_t)k, g->hosts[i].last_ns, e)) != 0)
				return rc;
		}
	for (uint32_t i = 0; i < g->nthreads; i++) {
		struct thread *t = g->threads[i];

		if (!t->is_ended && !t->open.is_worker && t->status != STATUS_RUNNING &&
		    (rc = close_off(g, t, g->hosts[t->open.host].last_ns, e)) != 0)
			return rc;
	}
	return 0;
}

uint32_t
kernel_graph_count(const struct kernel_graph *g)
{
	return g->nthreads;
}

const struct kernel_thread *
kernel_graph_thread(const struct kernel_graph *g, uint32_t number)
{
	struct thread *t = g->threads[number];

	t->open.intervals = t->intervals;
	t->open.nintervals = t->nintervals;
	return &t->open;
}

struct kernel_graph_counts
kernel_graph_counts(const struct kernel_graph *g)
{
	return g->counts;
}

uint32_t
kernel_graph_find(const struct kernel_graph *g, uint32_t host, uint32_t tid, int64_t at_ns)
{
	uint32_t number = newest(g, host, tid);

	while (number != NONE && g->threads[number]->open.begin_ns > at_ns)
		number = g->threads[number]->earlier;
	return number != NONE && g->threads[number]->open.end_ns < at_ns ? NONE : number;
}

uint32_t
kernel_thread_at(const struct kernel_thread *t, int64_t at_ns)
{
	uint32_t low = 0, high = t->nintervals;

	while (low < high) { /* the first one that ends at it or later */
		uint32_t middle = low + (high - low) / 2;

		if (t->intervals[middle].to_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->nintervals && t->intervals[low].from_ns < at_ns ? low : t->nintervals;
}

void
kernel_graph_forget(struct kernel_graph *g, int64_t before_ns)
{
	for (uint32_t i = 0; i < g->nthreads; i++) {
		struct thread *t = g->threads[i];
		uint32_t n = 0;

		while (n < t->nintervals && t->intervals[n].to_ns < before_ns)
			n++;
		if (n == 0)
			continue;
		t->nintervals -= n;
		memmove(t->intervals, t->intervals + n, t->nintervals * sizeof *t->intervals);
		t->open.begin_ns = t->nintervals > 0 ? t->intervals[0].from_ns : t->since_ns;
		t->network = t->network > n ? t->network - n : 0;
	}
}
