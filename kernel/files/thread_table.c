/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/files/thread_table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "kernel/files/translate.h"

enum thread_life { LIFE_UNKNOWN, LIFE_BORN, LIFE_LIVES, LIFE_EXITS, LIFE_ENDED };

struct thread_entry {
	uint32_t tid, pid, name;
	uint16_t host;
	uint8_t life; /* enum thread_life */
};

enum { CONTEXTS_MAX = 8 }; /* interrupts within interrupts */

struct cpu_entry {
	uint16_t host, cpu;
	bool runs_known;
	uint8_t ncontexts; /* more than CONTEXTS_MAX are not checked */
	uint32_t runs;     /* the thread */
	struct {
		uint16_t vector;
		uint8_t kind;
	} contexts[CONTEXTS_MAX];
};

struct thread_table {
	struct account *account;
	struct hash_table thread_index, cpu_index;
	struct thread_entry *threads;
	struct cpu_entry *cpus;
	uint32_t nthreads, threads_cap, threads_max, ncpus, cpus_cap;
	uint64_t seed;
	uint16_t ranks[KERNEL_HOSTS_MAX]; /* of wake-ups: the best one seen */
	bool raw_calls[KERNEL_HOSTS_MAX]; /* system calls are recorded as raw_syscalls */
	struct kernel_event *ret;         /* of the call */
	int nret;
	bool no_memory;
};

int
thread_table_new(
    struct thread_table **ret, size_t memory_max_bytes, struct account *a, struct err *e)
{
	size_t each = sizeof(struct thread_entry) + 2 * sizeof(struct hash_slot), max;

	if ((*ret = calloc(1, sizeof **ret)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	max = memory_max_bytes / each / 2; /* 2: arrays and tables grow by doubling */
	(*ret)->threads_max = max > 1 << 28 ? 1 << 28 : (uint32_t)max;
	(*ret)->account = a;
	(*ret)->seed = hash_seed();
	return 0;
}

void
thread_table_free(struct thread_table *t)
{
	if (t == NULL)
		return;
	hash_table_release(&t->thread_index);
	hash_table_release(&t->cpu_index);
	free(t->threads);
	free(t->cpus);
	free(t);
}

/* ---- threads ---------------------------------------------------------------- */

/* NULL: the idle task, no room, or out of memory. Valid until the next call. */
static struct thread_entry *
thread_of(struct thread_table *t, uint16_t host, uint32_t tid)
{
	uint64_t hash = hash_u64(((uint64_t)host << 32 | tid) ^ t->seed);
	uint32_t at;

	if (tid == 0)
		return NULL;
	if ((at = hash_table_find(&t->thread_index, hash)) != HASH_TABLE_NONE)
		return &t->threads[at];
	if (t->nthreads >= t->threads_max) {
		account_odd(t->account, ODDITY_BOUND, "over %" PRIu32 " threads", t->threads_max);
		return NULL;
	}
	if (!array_reserve(t->threads, t->threads_cap, t->nthreads + 1) ||
	    !hash_table_put(&t->thread_index, hash, t->nthreads)) {
		t->no_memory = true;
		return NULL;
	}
	t->threads[t->nthreads] = (struct thread_entry){ .tid = tid, .host = host };
	return &t->threads[t->nthreads++];
}

static uint32_t
pid_of(struct thread_table *t, uint16_t host, uint32_t tid)
{
	const struct thread_entry *h = thread_of(t, host, tid);

	return h != NULL ? h->pid : 0;
}

/* What a record says of a thread's process. A NAME tells it to those who take the events. */
static void
learn_pid(struct thread_table *t, const struct kernel_event *ev, uint32_t tid, uint32_t pid)
{
	struct thread_entry *h = thread_of(t, ev->host, tid);
	struct kernel_event *name;

	if (h == NULL || pid == 0 || h->pid == pid)
		return;
	h->pid = pid;
	name = &t->ret[t->nret++];
	*name = (struct kernel_event){ .time_ns = ev->time_ns,
		.tid = tid,
		.pid = pid,
		.cpu = ev->cpu,
		.host = ev->host,
		.kind = KERNEL_NAME };
	name->thread.name = h->name;
}

/* ---- CPUs ------------------------------------------------------------------- */

static struct cpu_entry *
cpu_of(struct thread_table *t, uint16_t host, uint16_t cpu)
{
	uint64_t hash = hash_multiply((uint64_t)host << 16 | cpu);
	uint32_t at = hash_table_find(&t->cpu_index, hash);

	if (at != HASH_TABLE_NONE)
		return &t->cpus[at];
	if (!array_reserve(t->cpus, t->cpus_cap, t->ncpus + 1) ||
	    !hash_table_put(&t->cpu_index, hash, t->ncpus)) {
		t->no_memory = true;
		return NULL;
	}
	t->cpus[t->ncpus] = (struct cpu_entry){ .host = host, .cpu = cpu };
	return &t->cpus[t->ncpus++];
}

static void
context_in(struct cpu_entry *c, const struct kernel_event *ev)
{
	if (c->ncontexts < CONTEXTS_MAX) {
		c->contexts[c->ncontexts].kind = ev->context.kind;
		c->contexts[c->ncontexts].vector = ev->context.vector;
	}
	c->ncontexts += c->ncontexts < UINT8_MAX;
}

static void
context_out(struct thread_table *t, struct cpu_entry *c, const struct kernel_event *ev)
{
	uint32_t top = c->ncontexts;

	while (top > 0 && top <= CONTEXTS_MAX &&
	       (c->contexts[top - 1].kind != ev->context.kind ||
		   c->contexts[top - 1].vector != ev->context.vector))
		top--;
	if (top == 0) {
		account_odd(t->account, ODDITY_NO_BEGIN, "CPU %u of host %.60s, at %" PRId64 " ns",
		    ev->cpu, account_host(t->account, ev->host), ev->time_ns);
		return;
	}
	if (top < c->ncontexts)
		account_odd(t->account, ODDITY_NO_END, "CPU %u of host %.60s, at %" PRId64 " ns",
		    ev->cpu, account_host(t->account, ev->host), ev->time_ns);
	c->ncontexts = (uint8_t)(top - 1);
}

/* ---- events ----------------------------------------------------------------- */

static void
take_switch(struct thread_table *t, struct cpu_entry *c, struct kernel_event *ev)
{
	struct thread_entry *h = thread_of(t, ev->host, ev->tid);

	if (c->runs_known && c->runs != ev->tid)
		account_odd(t->account, ODDITY_SWITCH,
		    "CPU %u of host %.60s, at %" PRId64 " ns: thread %" PRIu32
		    " leaves, thread %" PRIu32 " ran",
		    ev->cpu, account_host(t->account, ev->host), ev->time_ns, ev->tid, c->runs);
	if (c->ncontexts > 0)
		account_odd(t->account, ODDITY_NO_END, "CPU %u of host %.60s, at %" PRId64 " ns",
		    ev->cpu, account_host(t->account, ev->host), ev->time_ns);
	c->ncontexts = 0;
	c->runs_known = true;
	c->runs = ev->change.next_tid;
	if (h != NULL && h->life == LIFE_EXITS && ev->reserved & MARK_DEAD)
		ev->flags = SWITCH_ENDED;
	if (h != NULL)
		h->life = ev->flags & SWITCH_ENDED ? LIFE_ENDED
		          : h->life == LIFE_EXITS  ? LIFE_EXITS
		                                   : LIFE_LIVES;
	ev->change.next_pid = pid_of(t, ev->host, ev->change.next_tid);
}

static void
begin_thread(struct thread_table *t, const struct kernel_event *ev, struct thread_entry *h)
{
	if (h->life == LIFE_LIVES)
		account_odd(t->account, ODDITY_REUSED,
		    "thread %" PRIu32 " of host %.60s, at %" PRId64 " ns", h->tid,
		    account_host(t->account, ev->host), ev->time_ns);
	h->life = LIFE_BORN;
	h->pid = h->name = 0;
}

static void
take_fork(struct thread_table *t, struct kernel_event *ev)
{
	struct thread_entry *h = thread_of(t, ev->host, ev->child.tid);

	if (h == NULL)
		return;
	if (h->life != LIFE_BORN)
		begin_thread(t, ev, h);
	if (ev->child.pid != 0)
		h->pid = ev->child.pid;
	ev->child.pid = h->pid;
	h->life = LIFE_LIVES;
}

/* Whether it says something that is not known. */
static bool
take_name(struct thread_table *t, struct cpu_entry *c, struct kernel_event *ev)
{
	uint32_t current_pid = c->runs_known ? pid_of(t, ev->host, c->runs) : 0;
	struct thread_entry *h = thread_of(t, ev->host, ev->tid);
	bool news = ev->thread.asleep;

	if (ev->reserved & MARK_RUNS) {
		c->runs_known = true;
		c->runs = ev->tid;
	}
	if (h == NULL)
		return ev->tid != 0;
	if (ev->reserved & MARK_BORN)
		begin_thread(t, ev, h);
	else if (h->life == LIFE_UNKNOWN || ev->reserved & MARK_RUNS)
		h->life = LIFE_LIVES;
	if (ev->reserved & MARK_OF_CURRENT)
		ev->pid = current_pid;
	if (ev->pid != 0 && ev->pid != h->pid) {
		h->pid = ev->pid;
		news = true;
	}
	if (ev->reserved & MARK_NAME && ev->thread.name != h->name) {
		h->name = ev->thread.name;
		news = true;
	}
	ev->pid = h->pid;
	ev->thread.name = h->name;
	return news;
}

static bool
take_waking(struct thread_table *t, struct kernel_event *ev)
{
	uint16_t rank = ev->reserved & MARK_RANK_MASK,
		 *best = &t->ranks[ev->host % KERNEL_HOSTS_MAX];

	if (!ev->waking.is_new && rank < *best)
		return false;
	if (rank > *best)
		*best = rank;
	ev->waking.pid = pid_of(t, ev->host, ev->waking.tid);
	return true;
}

/* A recording may have each system call twice, by its name and as one of all. */
static bool
take_call(struct thread_table *t, const struct kernel_event *ev)
{
	bool *raw = &t->raw_calls[ev->host % KERNEL_HOSTS_MAX];

	*raw |= (ev->reserved & MARK_CALL_RAW) != 0;
	return !(*raw && ev->reserved & MARK_CALL_NAMED);
}

/* The thread that the CPU ran, and its process. */
static void
fill_in(struct thread_table *t, struct cpu_entry *c, struct kernel_event *ev)
{
	if (!(ev->reserved & MARK_TID)) {
		ev->tid = c->runs_known ? c->runs : 0;
		ev->reserved &= (uint16_t)~MARK_PID;
	} else if (ev->kind != KERNEL_SWITCH && ev->kind != KERNEL_EXIT &&
		   ev->kind != KERNEL_FORK) {
		c->runs_known = true;
		c->runs = ev->tid;
	}
	if (ev->reserved & MARK_PID)
		learn_pid(t, ev, ev->tid, ev->pid);
	ev->pid = pid_of(t, ev->host, ev->tid);
}

/* Whether the event is to be given. */
static bool
take(struct thread_table *t, struct kernel_event *ev)
{
	struct thread_entry *h;
	struct cpu_entry *c;

	if (ev->kind == KERNEL_LOST) /* perhaps of all CPUs */
		return true;
	if ((c = cpu_of(t, ev->host, ev->cpu)) == NULL)
		return false;
	if (ev->kind == KERNEL_NAME)
		return take_name(t, c, ev);
	fill_in(t, c, ev);
	switch (ev->kind) {
	case KERNEL_SWITCH:
		take_switch(t, c, ev);
		break;
	case KERNEL_WAKING:
		return take_waking(t, ev);
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		return take_call(t, ev);
	case KERNEL_FORK:
		take_fork(t, ev);
		break;
	case KERNEL_EXIT:
		if ((h = thread_of(t, ev->host, ev->tid)) != NULL)
			h->life = LIFE_EXITS;
		break;
	case KERNEL_CONTEXT_IN:
		context_in(c, ev);
		break;
	case KERNEL_CONTEXT_OUT:
		context_out(t, c, ev);
		break;
	}
	return true;
}

/* Hone's own: seen for the counts only. */
static void
see(struct thread_table *t, const struct kernel_event *ev)
{
	struct thread_entry *h = thread_of(t, ev->host, ev->tid);

	if (ev->cpu != KERNEL_CPU_ALL)
		cpu_of(t, ev->host, ev->cpu);
	if (h != NULL && ev->pid != 0)
		h->pid = ev->pid;
}

int
thread_table_take(struct thread_table *t, const struct kernel_event *ev,
    struct kernel_event ret[THREAD_TABLE_MAX], struct err *e)
{
	struct kernel_event copy = *ev;
	bool give = true;

	t->ret = ret;
	t->nret = 0;
	if (ev->reserved & MARK_OWN)
		see(t, ev);
	else
		give = take(t, &copy);
	if (t->no_memory)
		return err_set(e, ERR_MEMORY, "no memory for the table of threads");
	copy.reserved = 0;
	if (give)
		ret[t->nret++] = copy;
	return t->nret;
}

void
thread_table_end(struct thread_table *t)
{
	t->account->counts->cpus = t->ncpus;
	t->account->counts->threads = t->nthreads;
	t->account->file = NULL;
	t->account->placed = false;
	for (uint32_t i = 0; i < t->nthreads; i++)
		if (t->threads[i].pid == 0)
			account_odd(t->account, ODDITY_NO_PROCESS,
			    "thread %" PRIu32 " of host %.60s", t->threads[i].tid,
			    account_host(t->account, t->threads[i].host));
}
