/* SPDX-License-Identifier: GPL-2.0-only OR GPL-3.0-or-later */
/*
 * Runs in the kernel. Follows processes that user space names; in these, threads that are in a probed request, by the
 * context that libhone keeps for each thread; and while one of these waits for a lock, the thread that holds it.
 *
 * At each switch of the machine: one look-up by process for the thread that leaves, one in the storage of the thread that
 * comes. Only for threads that are followed: what it waits for, and a copy of its stack.
 */
#include "below/kernel/core.h"
#include "below/kernel/futex_owner.h"
#include "below/kernel/raw.h"

enum {
	PROCESSES_MAX = 1024,
	HOLDERS_MAX = 4096,
	INNER_MAX = 16384,
	DEPTH_MAX = 16,
	LEVELS_MAX = 32, /* of pid namespaces */
	KERNEL_THREAD = 0x00200000
};
#define CONTEXT_MAGIC 0x31585443454e4f48ull /* HONE_CONTEXT_MAGIC */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, u32);
	__type(value, struct raw_process);
} processes SEC(".maps");

struct cpu_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* One of each CPU: CPUs that write to one ring wait for each other, in the scheduler. User space makes them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct cpu_ring);
} rings SEC(".maps");

struct { /* of threads that are off the CPU; out_ns 0: nothing is noted */
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct raw_wait);
} waits SEC(".maps");

struct { /* threads that own a lock for which a followed thread waits, and that thread */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HOLDERS_MAX);
	__type(key, u32);
	__type(value, u32);
} holders SEC(".maps");

struct inner_id { /* of a thread, in the pid namespace that it is in */
	u32 pid, tid;
};

struct
{ /* threads of processes that have a pid namespace of their own, as in a container: their ids here */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, INNER_MAX);
	__type(key, struct inner_id);
	__type(value, u32);
} inner_threads SEC(".maps");

struct left_thread { /* where it was in its program when it left a CPU */
	u32 pid;
	u32 is_on; /* it has come back */
	u64 fsbase;
	u64 registers[RAW_REGISTERS];
};

/* Threads of the processes that are followed, where the kernel has no bpf_task_from_pid(). User space makes it large then. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct left_thread);
} left_threads SEC(".maps");

struct interrupts { /* that a CPU is in, one inside the other */
	u32 depth;
	u8 kind[DEPTH_MAX], vector[DEPTH_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct interrupts);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RAW_WHENS);
	__type(key, u32);
	__type(value, struct raw_stack);
} stacks SEC(".maps");

struct { /* by place */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RAW_PROBES_MAX);
	__type(key, u32);
	__type(value, struct raw_probe);
} probes SEC(".maps");

struct { /* how often a place was passed, by whomever */
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RAW_PROBES_MAX);
	__type(key, u32);
	__type(value, u64);
} passes SEC(".maps");

struct { /* of the last record of the CPU */
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} numbers SEC(".maps");

struct hit_room {
	struct raw_hit hit;
	u64 registers[32]; /* RAW_REGISTERS, and the rest of what 5 bits can number */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hit_room);
} hits SEC(".maps");

struct raw_lost lost;
const volatile struct raw_without without;

extern struct task_struct *bpf_task_from_pid(s32 pid) __attribute__((section(".ksyms")))
__attribute__((weak));
extern void bpf_task_release(struct task_struct *p) __attribute__((section(".ksyms")))
__attribute__((weak));
/* bpf_helper_defs.h of libbpf 1.1 returns long. */
static struct pt_regs *(*registers_of)(struct task_struct *) = (void *)175; /* bpf_task_pt_regs() */

static __always_inline void
lose(u64 from_ns)
{
	__sync_fetch_and_add(&lost.count, 1);
	if (lost.from_ns == 0 || from_ns < lost.from_ns)
		lost.from_ns = from_ns;
	lost.to_ns = bpf_ktime_get_ns();
}

static __always_inline void
put(struct raw_head *record, u64 size, u64 from_ns)
{
	u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	u64 *number = bpf_map_lookup_elem(&numbers, &zero);

	record->cpu = cpu;
	if (number != 0)
		record->number = __sync_fetch_and_add(number, 1) + 1;
	if (ring == 0 || bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP) != 0)
		lose(from_ns);
}

/* The current thread is one of the process: what that published can be read now. False: nothing was published yet. */
static __always_inline bool
find_context(struct raw_process *p)
{
	struct raw_place published;

	if (p->all || p->context != 0 || p->of != RAW_OF_HONE)
		return true;
	if (p->address == 0 ||
	    bpf_probe_read_user(&published, sizeof published, (void *)p->address) != 0 ||
	    published.magic != CONTEXT_MAGIC)
		return false;
	p->trace_id = published.trace_id;
	p->unit_id = published.unit_id;
	p->request_type = published.request_type;
	p->probed = published.probed;
	p->context = published.offset;
	return published.offset != 0;
}

/* The thread-local variable in a module's block: the thread pointer's second word leads to the table of blocks, of 16 bytes each. 0: the thread
 * has no such block yet. */
static __always_inline u64
in_block(u64 pointer, u64 module, u64 offset)
{
	u64 table = 0, block = 0;

	if (module == 0 || module > 65535 ||
	    bpf_probe_read_user(&table, 8, (void *)(pointer + 8)) != 0 ||
	    bpf_probe_read_user(&block, 8, (void *)(table + 16 * module)) != 0 || block == 0 ||
	    block == ~0ull)
		return 0;
	return block + offset;
}

/* Where the SDK's pointer of this thread lies; 0: nowhere yet. */
static __always_inline u64
otel_pointer(struct task_struct *t, const struct raw_process *p)
{
	u64 pointer = t->thread.fsbase, word = 0, of[2];

	if (p->of == RAW_OF_OTEL_FIXED)
		return pointer + p->context;
	if (bpf_probe_read_user(
		&word, 8, (void *)(p->address + (p->of == RAW_OF_OTEL_DESCRIPTOR ? 8 : 0))) != 0)
		return 0;
	if (p->of == RAW_OF_OTEL_MODULE)
		return in_block(pointer, word, p->context);
	if ((s64)word < 0 || p->of == RAW_OF_OTEL_OFFSET)
		return pointer + word;
	if (bpf_probe_read_user(of, sizeof of, (void *)word) != 0) /* module, offset */
		return 0;
	return in_block(pointer, of[0], of[1]);
}

static __always_inline u64
number_at(const u8 *bytes)
{
	u64 n;

	__builtin_memcpy(&n, bytes, 8);
	return __builtin_bswap64(n);
}

/* The span that an OpenTelemetry SDK says is active on the thread. */
static __attribute__((noinline)) int
read_otel(struct task_struct *t, struct raw_process *p, struct raw_request *ret)
{
	u64 at = otel_pointer(t, p), record = 0;
	struct raw_otel o;

	if (at == 0 || bpf_probe_read_user(&record, 8, (void *)at) != 0 || record == 0 ||
	    bpf_probe_read_user(&o, sizeof o, (void *)record) != 0 || o.valid != 1)
		return 0;
	ret->trace_id = number_at(o.trace_id + 8);
	ret->unit_id = number_at(o.span_id);
	ret->probed = ret->trace_id != 0;
	return 0;
}

/* False: the memory of its context cannot be read. */
static __always_inline bool
read_request(struct task_struct *t, struct raw_process *p, struct raw_request *ret)
{
	u64 context = t->thread.fsbase + p->context;
	u8 probed = 0;

	__builtin_memset(ret, 0, sizeof *ret);
	if (p->all) {
		ret->probed = 1;
		return true;
	}
	if (p->of != RAW_OF_HONE) {
		read_otel(t, p, ret);
		return true;
	}
	if (bpf_probe_read_user(&probed, 1, (void *)(context + p->probed)) != 0)
		return false;
	ret->probed = probed;
	if (probed)
		return bpf_probe_read_user(&ret->trace_id, 8, (void *)(context + p->trace_id)) ==
		           0 &&
		       bpf_probe_read_user(&ret->unit_id, 8, (void *)(context + p->unit_id)) == 0 &&
		       bpf_probe_read_user(&ret->type, 4, (void *)(context + p->request_type)) == 0;
	return true;
}

/* The request that a thread serves, whether it is probed or not; nothing if it serves none or that cannot be read. */
static __always_inline void
read_waker(struct task_struct *t, const struct raw_process *p, struct raw_wait *w)
{
	u64 context = t->thread.fsbase + p->context;

	if (p->all || p->context == 0 || p->of != RAW_OF_HONE)
		return;
	if (bpf_probe_read_user(&w->waker_type, 4, (void *)(context + p->request_type)) != 0)
		w->waker_type = 0;
	if (bpf_probe_read_user(&w->waker_trace_id, 8, (void *)(context + p->trace_id)) != 0)
		w->waker_trace_id = 0;
}

/* The request that the owner of a lock serves, of which the thread pointer is fsbase. It is a thread of the current process. */
static __always_inline void
read_owner(u64 fsbase, const struct raw_process *p, struct raw_wait *w)
{
	u64 context = fsbase + p->context;

	if (fsbase == 0 || p->all || p->context == 0 || p->of != RAW_OF_HONE)
		return;
	w->owner_is_read = bpf_probe_read_user(
			       &w->owner_type, 4, (void *)(context + p->request_type)) == 0 &&
	                   bpf_probe_read_user(
			       &w->owner_trace_id, 8, (void *)(context + p->trace_id)) == 0;
}

struct stack_of {
	u64 time_ns, trace_id, unit_id;
	u32 when, for_tid, followed;
};

/* Copies the registers, which lie there in the kernel, and the stack of a thread whose memory is that of the current one, in pieces, as far
 * as they can be read. */
static __attribute__((noinline)) int
put_stack(u32 pid, u32 tid, const void *registers, struct stack_of *of)
{
	u32 at = of->when;
	struct raw_stack *s;
	u64 sp, n = 0;

	if (without.stacks || at >= RAW_WHENS)
		return 0;
	s = bpf_map_lookup_elem(&stacks, &at);
	if (s == 0 || bpf_probe_read_kernel(s->registers, sizeof s->registers, registers) != 0)
		return 0;
	s->head.kind = RAW_STACK;
	s->tid = tid;
	s->pid = pid;
	s->when = of->when;
	s->for_tid = of->for_tid;
	s->followed = of->followed;
	s->time_ns = of->time_ns;
	s->trace_id = of->trace_id;
	s->unit_id = of->unit_id;
	sp = s->registers[19];
	for (int i = 0; i < RAW_STACK_PIECES; i++) {
		if (bpf_probe_read_user(
			s->bytes + i * RAW_STACK_PIECE, RAW_STACK_PIECE, (void *)(sp + n)) != 0)
			break;
		n += RAW_STACK_PIECE;
	}
	s->nbytes = n;
	if (n > RAW_STACK_PIECE * RAW_STACK_PIECES)
		return 0;
	put(&s->head, __builtin_offsetof(struct raw_stack, bytes) + n, s->time_ns);
	return 0;
}

/* The thread that the word of a futex names as the owner. The caller checks that it is a thread of the process. */
static __always_inline u32
owner_of(u64 word, u64 operation, u32 expected)
{
	int at = futex_owner_at(word, operation, expected);
	u32 owner = 0;

	if (at == FUTEX_NO_OWNER)
		return 0;
	bpf_probe_read_user(&owner, 4, (void *)(word + at));
	return at == 0 ? owner & FUTEX_OWNER_MASK : owner;
}

/* What it waits for, by the system call that it is in. */
static __always_inline void
note_call(struct raw_wait *w, struct task_struct *t)
{
	struct pt_regs r;

	w->syscall = -2;
	if (bpf_probe_read_kernel(&r, sizeof r, registers_of(t)) != 0)
		return;
	w->syscall = (s64)r.orig_ax >= 0 && (s64)r.orig_ax < 1024 ? (s32)r.orig_ax : -1;
	w->arguments[0] = r.di;
	w->arguments[1] = r.si;
	w->arguments[2] = r.dx;
}

/* What the kernel counts of the thread; not all kernels do. */
static __always_inline void
note_counts(struct raw_wait *w, struct task_struct *t)
{
	w->arrivals = w->ready_ns = 0;
	w->ran_ns = t->se.sum_exec_runtime;
	if (!bpf_core_field_exists(t->sched_info.pcount))
		return;
	w->arrivals = t->sched_info.pcount;
	w->ready_ns = t->sched_info.run_delay;
}

static __always_inline void
note_out(struct raw_wait *w, struct task_struct *t, u64 now)
{
	w->head.kind = RAW_WAIT;
	w->tid = t->pid;
	w->pid = t->tgid;
	w->woken_by = RAW_TASK;
	w->vector = 0;
	w->in_iowait = BPF_CORE_READ_BITFIELD_PROBED(t, in_iowait);
	w->owner = w->waker_tid = w->waker_type = w->holder_of = 0;
	w->owner_is_read = w->owner_type = 0;
	w->waker_trace_id = w->owner_trace_id = 0;
	w->woken_ns = 0;
	w->out_ns = now;
	note_counts(w, t);
}

/* The id that a thread has in its own pid namespace, and knows itself by; 0: it has none of its own. */
static __always_inline u32
inner_tid(struct task_struct *t)
{
	struct pid *p = t->thread_pid;
	u32 level = p != 0 ? p->level : 0, id = 0;
	u64 at =
	    0; /* of p, as a number: Linux 6.1 does not add to pointers that it knows the type of */

	if (level == 0 || level > LEVELS_MAX ||
	    bpf_probe_read_kernel(&at, sizeof at, &t->thread_pid) != 0)
		return 0;
	at += bpf_core_field_offset(struct pid, numbers) + bpf_core_field_offset(struct upid, nr) +
	      (u64)level * bpf_core_type_size(struct upid);
	bpf_probe_read_kernel(&id, sizeof id, (void *)at);
	return id;
}

/* Notes the thread for who finds its id in the word of a lock. */
static __always_inline u32
note_inner(struct task_struct *t)
{
	struct inner_id key = { t->tgid, inner_tid(t) };
	u32 tid = t->pid, *known;

	if (key.tid == 0)
		return 0;
	known = bpf_map_lookup_elem(&inner_threads, &key);
	if (known == 0 || *known != tid)
		bpf_map_update_elem(&inner_threads, &key, &tid, BPF_ANY);
	return key.tid;
}

/* The owner's id here; 0: it has not left a CPU since the process is followed. */
static __always_inline u32
outer_tid(u32 pid, u32 owner)
{
	struct inner_id key = { pid, owner };
	u32 *tid = bpf_map_lookup_elem(&inner_threads, &key);

	return tid != 0 ? *tid : 0;
}

static __always_inline bool
knows_threads(void)
{
	return bpf_task_from_pid != 0 && !without.task_from_pid;
}

/* Notes where a thread of a process that is followed was, for those that will wait for it. */
static __attribute__((noinline)) int
note_left(struct task_struct *t)
{
	struct left_thread here = {}, *known;
	u32 tid = t->pid;

	if (without.holders)
		return 0;
	known = bpf_map_lookup_elem(&left_threads, &tid);
	if (known == 0) {
		bpf_map_update_elem(&left_threads, &tid, &here, BPF_ANY);
		known = bpf_map_lookup_elem(&left_threads, &tid);
	}
	if (known == 0)
		return 0;
	known->pid = t->tgid;
	known->is_on = 0;
	known->fsbase = t->thread.fsbase;
	bpf_probe_read_kernel(known->registers, sizeof known->registers, registers_of(t));
	return 0;
}

/* As follow_holder(), of an owner that has left a CPU since its process is followed: only such a one is known. */
static __attribute__((noinline)) int
follow_left(u32 pid, u32 tid, u32 owner, u64 now)
{
	struct left_thread *h = bpf_map_lookup_elem(&left_threads, &owner);
	struct stack_of of = { now, 0, 0, RAW_HOLDER, tid, 0 };

	if (h == 0 || h->pid != pid)
		return 0;
	bpf_map_update_elem(&holders, &owner, &tid, BPF_ANY);
	if (!h->is_on)
		put_stack(pid, owner, h->registers, &of);
	return 1;
}

static __always_inline void
read_left(u32 owner, const struct raw_process *p, struct raw_wait *w)
{
	struct left_thread *h = bpf_map_lookup_elem(&left_threads, &owner);

	if (h != 0)
		read_owner(h->fsbase, p, w);
}

/* The owner shares the memory of the thread that waits for it, so its stack can be read while it is off the CPU itself. The rest of its
 * wait is recorded, too. */
static __always_inline bool
follow_holder(struct task_struct *waiter, const struct raw_process *p, struct raw_wait *of_waiter,
    u32 owner, u64 now)
{
	struct task_struct *h;
	u32 tid = waiter->pid;
	bool is_thread;

	if (!knows_threads()) {
		if (follow_left(waiter->tgid, tid, owner, now) == 0)
			return false;
		read_left(owner, p, of_waiter);
		return true;
	}
	if ((h = bpf_task_from_pid(owner)) == 0)
		return false;
	is_thread = h->tgid == waiter->tgid;
	if (is_thread) {
		bpf_map_update_elem(&holders, &owner, &tid, BPF_ANY);
		read_owner(h->thread.fsbase, p, of_waiter);
		if (!h->on_cpu) {
			struct raw_wait *w = bpf_task_storage_get(
			    &waits, h, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
			struct stack_of of = { now, 0, 0, RAW_HOLDER, tid, 0 };

			if (w != 0 && w->out_ns != 0 && w->holder_of == 0)
				w->holder_of = tid;
			/* One that is ready may be coming back on another CPU, and leave again, while this is written. */
			if (w != 0 && w->out_ns == 0 && h->__state != 0) {
				note_out(w, h, now);
				w->turns = h->nvcsw + h->nivcsw;
				w->seen_ns = now;
				w->followed = 0;
				w->preempted = 0;
				w->state = h->__state;
				w->trace_id = w->unit_id = 0;
				w->holder_of = tid;
				note_call(w, h);
			}
			put_stack(h->tgid, h->pid, registers_of(h), &of);
		}
	}
	bpf_task_release(h);
	return is_thread;
}

/* The kernel counts how often a thread leaves a CPU. Where that is more than what was seen, the thread left and came back without a record of
 * it, and what it did since it left a CPU last is lost. */
static __always_inline void
check_turns(struct raw_wait *w, struct task_struct *t, const struct raw_process *p, u64 now)
{
	u64 turns = t->nvcsw + t->nivcsw;

	if (w->turns != 0 && w->seen_ns > p->since_ns && turns != w->turns + 1)
		lose(w->seen_ns);
	w->out_ns = 0;
	w->turns = turns;
	w->seen_ns = now;
}

/* A thread that leaves a CPU, and whose last wait is still open, came back by a switch that the kernel did not report (docs/below.md, Losses). When
 * that was follows from how long it has run since, and when it was woken from how long it was ready. */
static __always_inline void
close_unseen(struct raw_wait *w, struct task_struct *t, u64 now)
{
	u64 arrivals = w->arrivals, ready_ns = w->ready_ns, ran_ns = w->ran_ns;

	if (w->out_ns == 0 || (!w->followed && w->holder_of == 0))
		return;
	note_counts(w, t);
	if (arrivals != 0 && w->arrivals == arrivals)
		return; /* follow_holder() wrote it just when the thread came back */
	w->in_ns = now - (w->ran_ns - ran_ns);
	if (arrivals == 0 || w->arrivals != arrivals + 1 || w->in_ns < w->out_ns ||
	    w->in_ns < w->woken_ns) {
		lose(w->out_ns);
		return;
	}
	if (w->woken_ns == 0 && !w->preempted) {
		w->woken_ns = w->in_ns - (w->ready_ns - ready_ns);
		w->woken_by = RAW_UNSEEN;
	}
	put(&w->head, sizeof *w, w->out_ns);
}

static __always_inline void
leave(struct task_struct *prev, bool preempted, u32 state)
{
	u32 pid = prev->tgid, tid = prev->pid, inner, *holds;
	struct raw_process *p = bpf_map_lookup_elem(&processes, &pid);
	struct raw_request request;
	struct raw_wait *w;
	u64 now;

	if (p == 0 || !p->waits)
		return;
	now = bpf_ktime_get_ns();
	w = bpf_task_storage_get(&waits, prev, 0, 0);
	if (w != 0) {
		close_unseen(w, prev, now);
		check_turns(w, prev, p, now);
	}
	inner = note_inner(prev);
	if (!find_context(p))
		return;
	if (!read_request(
		prev, p, &request)) /* it never wrote its context, so it is in no request */
		return;
	holds = bpf_map_lookup_elem(&holders, &tid);
	if (!knows_threads())
		note_left(prev); /* and its wait: it may be waited for before that ends */
	else if (!request.probed && holds == 0 && !p->before)
		return;
	if (w == 0)
		w = bpf_task_storage_get(&waits, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (w == 0) {
		lose(now);
		return;
	}
	if (w->turns == 0)
		check_turns(w, prev, p, now);
	note_out(w, prev, now);
	w->preempted = preempted || state == 0;
	w->state = state;
	w->trace_id = request.trace_id;
	w->unit_id = request.unit_id;
	w->followed = request.probed != 0 || p->before != 0;
	w->holder_of = holds != 0 ? *holds : 0;
	note_call(w, prev);
	if (!w->followed && holds == 0)
		return;
	if (!w->preempted && w->syscall == RAW_FUTEX && !without.holders) {
		u32 owner = owner_of(w->arguments[0], w->arguments[1], w->arguments[2]);

		if (inner != 0 && owner != 0)
			owner = outer_tid(pid, owner);
		if (owner != 0 && owner != tid && follow_holder(prev, p, w, owner, now))
			w->owner = owner;
	}
	struct stack_of of = { now, request.trace_id, request.unit_id, RAW_OUT, 0, 0 };
	put_stack(pid, tid, registers_of(prev), &of);
}

/* The thread may have become the holder of a lock for which another one waits while it was off the CPU. */
static __always_inline void
come_back(struct task_struct *t, struct raw_wait *w)
{
	u32 tid = t->pid, *holds = bpf_map_lookup_elem(&holders, &tid);
	struct left_thread *left = bpf_map_lookup_elem(&left_threads, &tid);

	if (left != 0)
		left->is_on = 1;
	if (holds != 0 && w->holder_of == 0)
		w->holder_of = *holds;
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, u32 state)
{
	u32 zero = 0;
	struct interrupts *i = bpf_map_lookup_elem(&cpus, &zero);
	struct raw_wait *w = bpf_task_storage_get(&waits, next, 0, 0);

	if (i != 0) /* none is left open across a switch */
		i->depth = 0;
	if (w != 0 && w->out_ns != 0) {
		if (!knows_threads())
			come_back(next, w);
		if (w->followed || w->holder_of != 0) {
			w->in_ns = w->seen_ns = bpf_ktime_get_ns();
			put(&w->head, sizeof *w, w->out_ns);
		}
		w->out_ns = 0;
	}
	leave(prev, preempt, state);
	return 0;
}

SEC("tp_btf/sched_waking")
int
BPF_PROG(on_waking, struct task_struct *woken)
{
	struct raw_wait *w = bpf_task_storage_get(&waits, woken, 0, 0);
	struct task_struct *me = bpf_get_current_task_btf();
	u32 zero = 0, pid, depth, owner;
	struct interrupts *i;
	struct raw_process *p;

	if (w == 0 || w->out_ns == 0 || w->woken_ns != 0)
		return 0;
	w->woken_ns = bpf_ktime_get_ns();
	owner = w->owner;
	if (owner != 0)
		bpf_map_delete_elem(&holders, &owner);
	i = bpf_map_lookup_elem(&cpus, &zero);
	depth = i != 0 ? i->depth : 0;
	if (depth > 0) {
		w->woken_by = i->kind[(depth - 1) & (DEPTH_MAX - 1)];
		w->vector = i->vector[(depth - 1) & (DEPTH_MAX - 1)];
		return 0;
	}
	w->woken_by = me->flags & KERNEL_THREAD ? RAW_KERNEL_TASK : RAW_TASK;
	w->waker_tid = me->pid;
	if (bpf_get_current_comm(w->waker_name, sizeof w->waker_name) != 0)
		w->waker_name[0] = 0;
	pid = me->tgid;
	p = bpf_map_lookup_elem(&processes, &pid);
	if (p != 0)
		read_waker(me, p, w);
	return 0;
}

static __always_inline int
put_begun(u32 pid)
{
	struct raw_begun b = { .head.kind = RAW_BEGUN, .pid = pid, .time_ns = bpf_ktime_get_ns() };

	put(&b.head, sizeof b, b.time_ns);
	return 0;
}

/* Loaded if children are followed, too. */
SEC("tp_btf/sched_process_fork")
int
BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 pid = parent->tgid, new = child->tgid;
	struct raw_process *p = bpf_map_lookup_elem(&processes, &pid), same;

	if (p == 0 || new == pid)
		return 0;
	same = *p;
	if (bpf_map_update_elem(&processes, &new, &same, BPF_ANY) != 0) {
		__sync_fetch_and_add(&lost.unfollowed, 1);
		return 0;
	}
	return put_begun(new);
}

SEC("tp_btf/sched_process_exec")
int
BPF_PROG(on_exec, struct task_struct *t)
{
	u32 pid = t->tgid;

	return bpf_map_lookup_elem(&processes, &pid) != 0 ? put_begun(pid) : 0;
}

static __always_inline int
enter(u8 kind, u8 vector)
{
	u32 zero = 0;
	struct interrupts *i = bpf_map_lookup_elem(&cpus, &zero);

	if (i != 0 && i->depth < DEPTH_MAX) {
		u32 at = i->depth;

		/* its place first: an interrupt that comes here takes the next one */
		i->depth = at + 1;
		barrier();
		i->kind[at & (DEPTH_MAX - 1)] = kind;
		i->vector[at & (DEPTH_MAX - 1)] = vector;
	}
	return 0;
}

static __always_inline int
end(u8 kind)
{
	u32 zero = 0;
	struct interrupts *i = bpf_map_lookup_elem(&cpus, &zero);

	if (i != 0 && i->depth > 0 && i->kind[(i->depth - 1) & (DEPTH_MAX - 1)] == kind)
		i->depth--;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int
BPF_PROG(on_irq, int irq)
{
	return enter(RAW_IRQ, irq);
}

SEC("tp_btf/irq_handler_exit")
int
BPF_PROG(on_irq_end, int irq)
{
	return end(RAW_IRQ);
}

SEC("tp_btf/softirq_entry")
int
BPF_PROG(on_softirq, unsigned int vector)
{
	return enter(RAW_SOFTIRQ, vector);
}

SEC("tp_btf/softirq_exit")
int
BPF_PROG(on_softirq_end, unsigned int vector)
{
	return end(RAW_SOFTIRQ);
}

SEC("tp_btf/hrtimer_expire_entry")
int
BPF_PROG(on_timer)
{
	return enter(RAW_HRTIMER, 0);
}

SEC("tp_btf/hrtimer_expire_exit")
int
BPF_PROG(on_timer_end)
{
	return end(RAW_HRTIMER);
}

SEC("perf_event")
int
on_clock(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	u32 pid = t->tgid, tid = t->pid, *holds;
	struct raw_process *p = bpf_map_lookup_elem(&processes, &pid);
	struct raw_request request;

	if (p == 0 || !p->waits || !find_context(p) || !read_request(t, p, &request))
		return 0;
	holds = bpf_map_lookup_elem(&holders, &tid);
	if (!request.probed && holds == 0 && !p->before)
		return 0;
	struct stack_of of = { bpf_ktime_get_ns(), request.trace_id, request.unit_id, RAW_CLOCK,
		holds != 0 ? *holds : 0, request.probed || p->before };
	put_stack(pid, tid, registers_of(t), &of);
	return 0;
}

static __always_inline s64
value_at(const struct raw_value *v, const struct hit_room *room)
{
	u64 word = 0;
	u32 bits;

	if (v->from == RAW_CONSTANT)
		return v->constant;
	word = room->registers[v->at & 31];
	if (v->from == RAW_MEMORY) {
		u64 address = word + v->constant;

		word = 0;
		/* 1 to 8 bytes, as the verifier can see */
		if (bpf_probe_read_user(&word, ((v->size - 1) & 7) + 1, (void *)address) != 0)
			return 0;
	}
	if (v->size >= 8 || v->size == 0)
		return word;
	bits = 64 - 8 * v->size;
	return v->is_signed ? (s64)(word << bits) >> bits : (s64)(word << bits >> bits);
}

/* The cookie names the place, and above that the generation of the link. When a file gets another link, both are attached for
 * a moment, and each place counts in one of them. */
SEC("kprobe")
int
on_probe(struct pt_regs *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	u32 pid = t->tgid, zero = 0, place;
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct raw_process *p = bpf_map_lookup_elem(&processes, &pid);
	struct raw_request request;
	struct raw_probe *probe;
	struct hit_room *room;
	u64 *passed;

	place = cookie;
	probe = bpf_map_lookup_elem(&probes, &place);
	passed = bpf_map_lookup_elem(&passes, &place);
	if (probe == 0 || passed == 0 || probe->generation != cookie >> 32)
		return 0;
	++*passed;
	if (p == 0 || !find_context(p) || !read_request(t, p, &request) || !request.probed ||
	    (room = bpf_map_lookup_elem(&hits, &zero)) == 0)
		return 0;
	room->hit.head.kind = RAW_HIT;
	room->hit.tid = t->pid;
	room->hit.pid = pid;
	room->hit.id = probe->id;
	room->hit.nvalues = probe->nvalues;
	room->hit.time_ns = bpf_ktime_get_ns();
	room->hit.trace_id = request.trace_id;
	room->hit.unit_id = request.unit_id;
	if (bpf_probe_read_kernel(room->registers, RAW_REGISTERS * 8, ctx) != 0)
		return 0;
	for (u32 i = 0; i < RAW_VALUES_MAX; i++)
		room->hit.values[i] = i < probe->nvalues ? value_at(&probe->values[i], room) : 0;
	room->hit.text[0] = 0;
	place = probe->text - 1;
	if (place < RAW_VALUES_MAX)
		bpf_probe_read_user_str(
		    room->hit.text, RAW_TEXT_MAX, (void *)room->hit.values[place]);
	put(&room->hit.head, sizeof room->hit, room->hit.time_ns);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
