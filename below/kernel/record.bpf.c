/* SPDX-License-Identifier: GPL-2.0-only OR GPL-3.0-or-later */
/*
 * Runs in the kernel. Records what happens on all CPUs, or to the threads of some processes and their children, one record for
 * each event, in the ring buffer of the CPU. Nothing is kept but: the interrupts that a CPU is in, which processes are followed, and
 * from what a thread is just receiving.
 *
 * A record's room is taken first, then its time: so when user space finds no room taken, all that has happened before is in the ring.
 */
#include "below/kernel/core.h"
#include "below/kernel/raw.h"
#include "below/kernel/record_raw.h"

enum {
	FOLLOWED_MAX = 16384,
	DEPTH_MAX = 16,
	KERNEL_THREAD = 0x00200000,
	STATE_UNINTERRUPTIBLE = 2,
	STATE_DEAD = 0x80,
	FUTEX = 202,
	MODE_KIND = 0170000,
	MODE_SOCKET = 0140000,
	NONBLOCK = 04000,
	MESSAGE_PEEK = 2,
	MESSAGE_DONTWAIT = 0x40,
	FAMILY_4 = 2,
	FAMILY_6 = 10,
	PROTOCOL_TCP = 6,
	TCP_IS_ESTABLISHED = 1,
	TCP_IS_CLOSE_WAIT = 8,
	SHUT_SENDING = 2,
	PIECES_MAX = 8, /* of a message in several pieces; its length is not known if it has more */
	FILES_MAX = 1 << 26
};

struct record_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct { /* one of each CPU; user space makes them */
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct record_ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record_gap);
} gaps SEC(".maps");

struct { /* processes, with the filter */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED_MAX);
	__type(key, u32);
	__type(value, u32);
} followed SEC(".maps");

struct record_contexts { /* that a CPU is in, one inside the other */
	u32 depth;
	u8 kind[DEPTH_MAX];
	u16 vector[DEPTH_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record_contexts);
} cpus SEC(".maps");

struct
    in_call { /* a message of the system call that the thread is in, which is told when that ends */
	struct record_ends ends;
	u32 net;
	u32 received; /* it has received something */
	u32 refused;  /* there was no room for what it sends, when the call began */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct in_call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, struct record_place);
} places SEC(".maps"); /* of processes whose threads have a context */

struct unit_seen {
	u64 id;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct unit_seen);
} units SEC(".maps"); /* that was told of a thread last */

const volatile struct record_options options;
u64 unfollowed; /* new processes for which there was no room */

extern struct task_struct *bpf_task_from_pid(s32 pid) __attribute__((section(".ksyms")))
__attribute__((weak));
extern void *bpf_rdonly_cast(const void *of, u32 type) __attribute__((section(".ksyms")))
__attribute__((weak));
extern void bpf_task_release(struct task_struct *p) __attribute__((section(".ksyms")))
__attribute__((weak));
/* bpf_helper_defs.h of libbpf 1.1 returns long. */
static struct pt_regs *(*registers_of)(struct task_struct *) = (void *)175; /* bpf_task_pt_regs() */

/* ---- records -------------------------------------------------------------- */

static __always_inline void
submit(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Says what was lost before, as soon as there is room again. */
static __always_inline void
tell_gap(void *ring, struct record_gap *gap)
{
	struct record_lost *r = bpf_ringbuf_reserve(ring, sizeof *r, 0);

	if (r == 0)
		return;
	__builtin_memset(r, 0, sizeof *r);
	r->head.kind = RECORD_LOST;
	r->from_ns = gap->from_ns;
	gap->from_ns = 0;
	r->count = __sync_lock_test_and_set(&gap->count, 0);
	r->head.time_ns = bpf_ktime_get_ns();
	submit(r);
}

/* Room for a record of the current thread; 0: there is none, which is counted. */
static __always_inline void *
begin(u64 size, u8 kind)
{
	u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct record_gap *gap = bpf_map_lookup_elem(&gaps, &zero);
	struct record_head *r;
	u64 id;

	if (ring == 0 || gap == 0)
		return 0;
	if (gap->count != 0)
		tell_gap(ring, gap);
	r = bpf_ringbuf_reserve(ring, size, 0);
	if (r == 0) {
		if (gap->from_ns == 0)
			gap->from_ns = bpf_ktime_get_ns();
		__sync_fetch_and_add(&gap->count, 1);
		return 0;
	}
	id = bpf_get_current_pid_tgid();
	r->time_ns = bpf_ktime_get_ns();
	r->tid = id;
	r->pid = id >> 32;
	r->kind = kind;
	r->flags = 0;
	r->vector = RECORD_NO_VECTOR;
	r->a = 0;
	return r;
}

static __always_inline struct record_other *
begin_other(u8 kind)
{
	struct record_other *r = begin(sizeof *r, kind);

	if (r != 0) {
		r->pid = 0;
		r->by = r->is_new = r->pad[0] = r->pad[1] = 0;
	}
	return r;
}

static __always_inline bool
is_excluded(u32 pid)
{
	return pid != 0 && (pid == options.excluded[0] || pid == options.excluded[1]);
}

/* Of a process that is recorded. */
static __always_inline bool
is_wanted(u32 pid)
{
	return !options.filter || bpf_map_lookup_elem(&followed, &pid) != 0;
}

static __always_inline bool
current_is_wanted(void)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	return !is_excluded(pid) && is_wanted(pid);
}

/* ---- units ----------------------------------------------------------------- */

#define CONTEXT_MAGIC 0x31585443454e4f48ull /* HONE_CONTEXT_MAGIC */

/* The unit in the context of a thread, whose memory is the current one. False: it cannot be read, or is not known yet. */
static __always_inline bool
read_unit(struct task_struct *t, u64 *id)
{
	u32 pid = t->tgid;
	struct record_place *p = bpf_map_lookup_elem(&places, &pid);
	struct raw_place published;

	if (p == 0)
		return false;
	if (p->context == 0) {
		if (bpf_probe_read_user(&published, sizeof published, (void *)p->address) != 0 ||
		    published.magic != CONTEXT_MAGIC || published.offset == 0)
			return false;
		p->unit_id = published.unit_id;
		p->context = published.offset;
	}
	return bpf_probe_read_user(id, 8, (void *)(t->thread.fsbase + p->context + p->unit_id)) ==
	       0;
}

/* Tells that the thread, which is the current one, works for another unit than it did when it was seen last. */
static __always_inline void
note_unit(struct task_struct *t)
{
	struct record_value *r;
	struct unit_seen *seen;
	u64 id = 0;

	if ((options.groups & RECORD_OF_UNITS) == 0 || !read_unit(t, &id))
		return;
	seen = bpf_task_storage_get(&units, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (seen == 0 || seen->id == id || (r = begin(sizeof *r, RECORD_UNIT)) == 0)
		return;
	seen->id = id;
	r->value = (s64)id;
	submit(r);
}

/* ---- interrupts ------------------------------------------------------------ */

static __always_inline struct record_contexts *
contexts_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline int
enter(u8 kind, u16 vector)
{
	struct record_contexts *c = contexts_here();
	struct record_other *r;

	if (c != 0 && c->depth < DEPTH_MAX) {
		u32 at = c->depth;

		/* its place first: an interrupt that comes here takes the next one */
		c->depth = at + 1;
		barrier();
		c->kind[at & (DEPTH_MAX - 1)] = kind;
		c->vector[at & (DEPTH_MAX - 1)] = vector;
	}
	if ((options.groups & RECORD_OF_IRQ) == 0 || kind == RECORD_BY_IRQ ||
	    (r = begin_other(RECORD_CONTEXT_IN)) == 0)
		return 0;
	r->by = kind;
	r->head.vector = vector;
	submit(r);
	return 0;
}

/* Of what is inside it, the end was missed: the kernel does not run a program that it has interrupted. */
static __always_inline void
leave(struct record_contexts *c, u8 kind)
{
	u32 depth = c->depth;

	if (depth == 0)
		return;
	for (u32 i = 0; i < DEPTH_MAX; i++) {
		u8 top = c->kind[(depth - 1) & (DEPTH_MAX - 1)];

		depth--;
		if (top == kind || top == RECORD_BY_STORAGE) {
			c->depth = depth;
			return;
		}
		if (depth == 0)
			return; /* its begin was missed */
	}
}

static __always_inline int
end(u8 kind, u16 vector)
{
	struct record_contexts *c = contexts_here();
	struct record_other *r;

	if (c != 0)
		leave(c, kind);
	if ((options.groups & RECORD_OF_IRQ) == 0 || (r = begin_other(RECORD_CONTEXT_OUT)) == 0)
		return 0;
	r->by = kind;
	r->head.vector = vector;
	submit(r);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int
BPF_PROG(irq_end, int irq)
{
	return end(RECORD_BY_IRQ, irq);
}

SEC("tp_btf/irq_handler_entry")
int
BPF_PROG(irq_begin, int irq, struct irqaction *action)
{
	struct record_name *r;

	enter(RECORD_BY_IRQ, irq);
	if ((options.groups & RECORD_OF_IRQ) == 0 || (r = begin(sizeof *r, RECORD_CONTEXT_IN)) == 0)
		return 0;
	__builtin_memset(r->name, 0, sizeof r->name);
	r->other.pid = 0;
	r->other.by = RECORD_BY_IRQ;
	r->other.is_new = 1; /* it has a name */
	r->other.head.vector = irq;
	bpf_probe_read_kernel_str(r->name, sizeof r->name, action->name);
	submit(r);
	return 0;
}

SEC("tp_btf/softirq_exit")
int
BPF_PROG(softirq_end, unsigned int vector)
{
	return end(RECORD_BY_SOFTIRQ, vector);
}

SEC("tp_btf/softirq_entry")
int
BPF_PROG(softirq_begin, unsigned int vector)
{
	return enter(RECORD_BY_SOFTIRQ, vector);
}

SEC("tp_btf/hrtimer_expire_exit")
int
BPF_PROG(hrtimer_end)
{
	return end(RECORD_BY_HRTIMER, RECORD_NO_VECTOR);
}

SEC("tp_btf/hrtimer_expire_entry")
int
BPF_PROG(hrtimer_begin)
{
	return enter(RECORD_BY_HRTIMER, RECORD_NO_VECTOR);
}

#define IPI(name)                                    \
	SEC("tp_btf/" #name "_exit")                 \
	int BPF_PROG(name##_end, int vector)         \
	{                                            \
		return end(RECORD_BY_IPI, vector);   \
	}                                            \
	SEC("tp_btf/" #name "_entry")                \
	int BPF_PROG(name##_begin, int vector)       \
	{                                            \
		return enter(RECORD_BY_IPI, vector); \
	}
IPI(reschedule)
IPI(call_function)
IPI(call_function_single)
IPI(irq_work)

/* The interrupt that the CPU is in, if any, is the answer of storage. */
SEC("tp_btf/block_rq_complete")
int
BPF_PROG(block_done)
{
	struct record_contexts *c = contexts_here();
	struct record_other *r;

	if (c != 0 && c->depth > 0)
		c->kind[(c->depth - 1) & (DEPTH_MAX - 1)] = RECORD_BY_STORAGE;
	if ((options.groups & RECORD_OF_BLOCK) != 0 && (r = begin_other(RECORD_BLOCK_DONE)) != 0)
		submit(r);
	return 0;
}

/* ---- threads ----------------------------------------------------------------- */

/* Whether futex(2) waits for a lock by its operation and value: as kernel_futex_locks() in kernel/event.h. */
static __always_inline bool
futex_locks(u64 operation, u64 value)
{
	operation &= 127;
	return operation == 6 || operation == 13 || (operation == 0 && (u32)value == 2);
}

/* The thread if it is one of the process; 0. */
static __always_inline u32
thread_of(struct task_struct *t, u32 tid)
{
	struct task_struct *other;
	bool is_thread;

	if (tid == 0 || bpf_task_from_pid == 0 || (other = bpf_task_from_pid(tid)) == 0)
		return 0;
	is_thread = other->tgid == t->tgid;
	bpf_task_release(other);
	return is_thread ? tid : 0;
}

/* Who holds the lock, by the conventions of glibc: pthread_mutex_t.__owner lies 8 bytes behind the word of the futex; behind that on
 * which readers wait, 16 bytes, is pthread_rwlock_t.__cur_writer; the word of a PI futex is its owner. 0: nobody of the process. */
static __always_inline u32
owner_of(struct task_struct *waiter, u64 word, u64 operation)
{
	u32 owner = 0;

	operation &= 127;
	if (operation == 6 || operation == 13) {
		bpf_probe_read_user(&owner, 4, (void *)word);
		return thread_of(waiter, owner & 0x3fffffff);
	}
	if (operation != 0 && operation != 9) /* FUTEX_WAIT, FUTEX_WAIT_BITSET */
		return 0;
	bpf_probe_read_user(&owner, 4, (void *)(word + 8));
	if ((owner = thread_of(waiter, owner)) != 0)
		return owner;
	bpf_probe_read_user(&owner, 4, (void *)(word + 16));
	return thread_of(waiter, owner);
}

static __always_inline void
note_call(struct record_switch *r, struct task_struct *t)
{
	struct pt_regs *regs;
	u64 word, operation;
	s64 number;

	if (t->flags & KERNEL_THREAD) {
		r->syscall = RECORD_SYSCALL_NONE;
		return;
	}
	regs = registers_of(t);
	number = regs->orig_ax;
	r->syscall = number >= 0 && number < 1024 ? (s32)number : RECORD_SYSCALL_NONE;
	if (number != FUTEX)
		return;
	word = regs->di;
	operation = regs->si;
	r->owner = owner_of(t, word, operation);
	if (r->owner == 0 && !futex_locks(operation, regs->dx))
		return;
	r->head.flags |= RECORD_LOCK;
	r->lock = word;
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(on_change, bool preempt, struct task_struct *prev, struct task_struct *next, u32 state)
{
	struct record_contexts *c = contexts_here();
	struct record_switch *r;

	if (c != 0) /* none is left open across a switch */
		c->depth = 0;
	if (!is_wanted(prev->tgid) && !is_wanted(next->tgid))
		return 0;
	if (is_wanted(prev->tgid))
		note_unit(prev);
	if ((r = begin(sizeof *r, RECORD_SWITCH)) == 0)
		return 0;
	r->head.tid = prev->pid;
	r->head.pid = prev->tgid;
	r->head.a = next->pid;
	r->next_pid = next->tgid;
	r->syscall = RECORD_SYSCALL_UNKNOWN;
	r->owner = r->pad = 0;
	r->lock = 0;
	if (state & STATE_DEAD) {
		r->head.flags = RECORD_ENDED;
	} else if (!preempt && state != 0) {
		r->head.flags = RECORD_ASLEEP;
		if (state & STATE_UNINTERRUPTIBLE)
			r->head.flags |= RECORD_UNINTERRUPTIBLE;
		if (BPF_CORE_READ_BITFIELD_PROBED(prev, in_iowait))
			r->head.flags |= RECORD_IOWAIT;
		note_call(r, prev);
	}
	submit(r);
	return 0;
}

static __always_inline int
wake(struct task_struct *woken, bool is_new)
{
	struct record_contexts *c = contexts_here();
	u32 depth = c != 0 ? c->depth : 0;
	struct record_other *r;

	if (is_excluded(woken->tgid) ||
	    (!is_wanted(woken->tgid) && (depth > 0 || !current_is_wanted())))
		return 0;
	if ((r = begin_other(RECORD_WAKING)) == 0)
		return 0;
	r->head.a = woken->pid;
	r->pid = woken->tgid;
	r->is_new = is_new;
	if (depth > 0 && c != 0) {
		r->by = c->kind[(depth - 1) & (DEPTH_MAX - 1)];
		r->head.vector = c->vector[(depth - 1) & (DEPTH_MAX - 1)];
	} else {
		struct task_struct *me = bpf_get_current_task_btf();

		r->by = me->flags & KERNEL_THREAD ? RECORD_BY_KERNEL_TASK : RECORD_BY_TASK;
	}
	submit(r);
	return 0;
}

SEC("tp_btf/sched_waking")
int
BPF_PROG(on_waking, struct task_struct *woken)
{
	return wake(woken, false);
}

SEC("tp_btf/sched_wakeup_new")
int
BPF_PROG(on_first_waking, struct task_struct *woken)
{
	return wake(woken, true);
}

SEC("tp_btf/sched_process_fork")
int
BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 pid = child->tgid, one = 1;
	struct record_name *r;

	if (!is_wanted(parent->tgid))
		return 0;
	if (options.filter && child->tgid != parent->tgid &&
	    bpf_map_update_elem(&followed, &pid, &one, BPF_ANY) != 0)
		__sync_fetch_and_add(&unfollowed, 1);
	if (is_excluded(parent->tgid) || (r = begin(sizeof *r, RECORD_FORK)) == 0)
		return 0;
	r->other.head.a = child->pid;
	r->other.pid = pid;
	r->other.by = r->other.is_new = r->other.pad[0] = r->other.pad[1] = 0;
	bpf_probe_read_kernel(r->name, sizeof r->name, &child->comm);
	submit(r);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int
BPF_PROG(on_exit, struct task_struct *t)
{
	u32 pid = t->tgid;
	struct record_other *r;

	if (!is_excluded(pid) && is_wanted(pid) && (r = begin_other(RECORD_EXIT)) != 0)
		submit(r);
	return 0;
}

/* A thread that executes another program becomes the first thread of its process, with its id: the old id ends. */
SEC("tp_btf/sched_process_exec")
int
BPF_PROG(on_exec, struct task_struct *t, s32 old_tid)
{
	struct record_other *r;

	if (t->pid == old_tid || !current_is_wanted())
		return 0;
	if ((r = begin_other(RECORD_EXIT)) != 0) {
		r->head.tid = old_tid;
		submit(r);
	}
	return 0;
}

SEC("tp_btf/task_rename")
int
BPF_PROG(on_rename, struct task_struct *t, const char *name)
{
	struct record_name *r;

	if (is_excluded(t->tgid) || !is_wanted(t->tgid) || (r = begin(sizeof *r, RECORD_NAME)) == 0)
		return 0;
	r->other.head.tid = t->pid;
	r->other.head.pid = t->tgid;
	r->other.pid = 0;
	r->other.by = r->other.is_new = r->other.pad[0] = r->other.pad[1] = 0;
	__builtin_memset(r->name, 0, sizeof r->name);
	bpf_probe_read_kernel_str(r->name, sizeof r->name, name);
	submit(r);
	return 0;
}

/* ---- TCP ------------------------------------------------------------------------ */

struct tcp_socket { /* what a message needs of it */
	struct record_ends ends;
	u32 net; /* inode of its network namespace; 0: the kernel has none */
	u32 wmem_queued, sndbuf;
	u16 family, protocol;
	u8 state, shutdown;
	bool failed;
};

/* Two functions that read a socket: of a pointer whose type the verifier knows, directly, and of any pointer, by a helper for each member. */
#define DIRECTLY(p, member) ((p)->member)
#define BY_HELPER(p, member) BPF_CORE_READ(p, member)
#define SOCKET_READER(name, READ)                                                             \
	static __always_inline bool name(struct tcp_socket *ret, struct sock *sk)             \
	{                                                                                     \
		struct net *net;                                                              \
		u32 here, there;                                                              \
                                                                                              \
		__builtin_memset(ret, 0, sizeof *ret);                                        \
		ret->family = READ(sk, __sk_common.skc_family);                               \
		ret->protocol = READ(sk, sk_protocol);                                        \
		if (ret->protocol != PROTOCOL_TCP ||                                          \
		    (ret->family != FAMILY_4 && ret->family != FAMILY_6))                     \
			return false;                                                         \
		ret->state = READ(sk, __sk_common.skc_state);                                 \
		ret->shutdown = READ(sk, sk_shutdown);                                        \
		ret->failed = READ(sk, sk_err) != 0;                                          \
		ret->wmem_queued = READ(sk, sk_wmem_queued);                                  \
		ret->sndbuf = READ(sk, sk_sndbuf);                                            \
		if (bpf_core_field_exists(sk->__sk_common.skc_net.net)) {                     \
			net = READ(sk, __sk_common.skc_net.net);                              \
			ret->net = net != 0 ? READ(net, ns.inum) : 0;                         \
		}                                                                             \
		ret->ends.here_port = READ(sk, __sk_common.skc_num);                          \
		ret->ends.there_port = __builtin_bswap16(READ(sk, __sk_common.skc_dport));    \
		if (ret->family == FAMILY_4) {                                                \
			here = READ(sk, __sk_common.skc_rcv_saddr);                           \
			there = READ(sk, __sk_common.skc_daddr);                              \
			ret->ends.here[10] = ret->ends.here[11] = ret->ends.there[10] =       \
			    ret->ends.there[11] = 0xff;                                       \
			__builtin_memcpy(ret->ends.here + 12, &here, 4);                      \
			__builtin_memcpy(ret->ends.there + 12, &there, 4);                    \
		} else {                                                                      \
			bpf_core_read(ret->ends.here, 16, &sk->__sk_common.skc_v6_rcv_saddr); \
			bpf_core_read(ret->ends.there, 16, &sk->__sk_common.skc_v6_daddr);    \
		}                                                                             \
		return true;                                                                  \
	}
SOCKET_READER(read_known_socket, DIRECTLY)
SOCKET_READER(read_any_socket, BY_HELPER)

/* The file of a descriptor of the current thread; 0. */
static __always_inline void *
file_of(u32 fd)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct files_struct *files = t->files;
	struct fdtable *table;
	void **list, *file = 0;

	if (files == 0)
		return 0;
	table = files->fdt; /* directly: the verifier knows these types from the task on */
	list = (void **)table->fd;
	if (fd >= table->max_fds || fd >= FILES_MAX ||
	    bpf_probe_read_kernel(&file, sizeof file, list + fd) != 0)
		return 0;
	return file;
}

/* The TCP socket of a descriptor, and the flags of its file. False: it is none. A cast (Linux 6.2) makes known what a pointer leads to. */
static __always_inline bool
read_tcp(struct tcp_socket *ret, u32 fd, u32 *flags)
{
	void *at = file_of(fd);

	if (at == 0)
		return false;
	if (bpf_rdonly_cast != 0) {
		struct file___kernel *file = bpf_rdonly_cast(
		    at, bpf_core_type_id_kernel(struct file___kernel));
		struct socket *s;
		struct sock *sk;

		if ((file->f_inode->i_mode & MODE_KIND) != MODE_SOCKET)
			return false;
		*flags = file->f_flags;
		s = bpf_rdonly_cast(file->private_data, bpf_core_type_id_kernel(struct socket));
		sk = s->sk;
		return read_known_socket(ret, sk);
	} else {
		struct file___kernel *file = at;
		struct socket *s;

		if ((BPF_CORE_READ(file, f_inode, i_mode) & MODE_KIND) != MODE_SOCKET)
			return false;
		*flags = BPF_CORE_READ(file, f_flags);
		s = BPF_CORE_READ(file, private_data);
		return read_any_socket(ret, BPF_CORE_READ(s, sk));
	}
}

/* Nothing can leave: it is not connected. */
static __always_inline bool
cannot_send(const struct tcp_socket *s)
{
	return (s->state != TCP_IS_ESTABLISHED && s->state != TCP_IS_CLOSE_WAIT) ||
	       (s->shutdown & SHUT_SENDING) != 0 || s->failed;
}

struct pieces { /* of a message, as a system call has them */
	u64 first,
	    bytes; /* where it begins; 0: in several pieces of which the length is not known */
	u64 first_bytes;
};

struct message_piece { /* struct iovec */
	u64 at, bytes;
};

static __always_inline void
read_pieces(struct pieces *ret, u64 list, u64 n)
{
	struct message_piece p;
	u64 sum = 0;

	if (n == 0 || bpf_probe_read_user(&p, sizeof p, (void *)list) != 0)
		return;
	ret->first = p.at;
	ret->first_bytes = p.bytes;
	if (n > PIECES_MAX)
		return;
	for (u32 i = 0; i < PIECES_MAX; i++) {
		if (i >= n || bpf_probe_read_user(&p, sizeof p, (void *)(list + i * sizeof p)) != 0)
			break;
		sum += p.bytes;
	}
	ret->bytes = sum;
}

/* Where the message of a system call of the families send and receive is. False: it is of none. */
static __always_inline bool
find_pieces(struct pieces *ret, u64 number, u64 second, u64 third)
{
	u64 of[2];

	switch (number) {
	case 0:  /* read */
	case 1:  /* write */
	case 44: /* sendto */
	case 45: /* recvfrom */
		ret->first = second;
		ret->bytes = ret->first_bytes = third;
		return true;
	case 19: /* readv */
	case 20: /* writev */
		read_pieces(ret, second, third);
		return true;
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg: the first of its messages */
		if (bpf_probe_read_user(of, sizeof of, (void *)(second + 16)) == 0)
			read_pieces(ret, of[0], of[1]);
		if (number >= 299)
			ret->bytes = 0;
		return true;
	case 40: /* sendfile */
		return true;
	}
	return false;
}

static __always_inline void
put_message(u8 kind, const struct record_ends *ends, u32 net, u64 bytes, u64 text, u64 text_bytes)
{
	if (options.texts && text != 0 && text_bytes > 0) {
		struct record_text *r = begin(sizeof *r, kind);
		u64 n = text_bytes < RECORD_TEXT ? text_bytes : RECORD_TEXT;

		if (r == 0)
			return;
		r->message.head.a = net;
		r->message.ends = *ends;
		r->message.bytes = bytes < ~0u ? bytes : ~0u;
		__builtin_memset(r->text, 0, sizeof r->text);
		if (n > 0 && n <= RECORD_TEXT && bpf_probe_read_user(r->text, n, (void *)text) == 0)
			r->message.head.flags = n;
		submit(r);
	} else {
		struct record_message *r = begin(sizeof *r, kind);

		if (r == 0)
			return;
		r->head.a = net;
		r->ends = *ends;
		r->bytes = bytes < ~0u ? bytes : ~0u;
		submit(r);
	}
}

struct call_arguments { /* of a system call */
	u64 number, fd, second, third, fourth;
};

/* Before the data leave, so that it is never behind what the other side does with them. */
static __attribute__((noinline)) int
note_send(struct call_arguments *of)
{
	struct pieces p = { 0 };
	struct tcp_socket s;
	u64 number = of->number;
	u32 flags = 0, message_flags;

	if (!read_tcp(&s, of->fd, &flags))
		return 0;
	message_flags = number == 44 || number == 307 ? of->fourth : number == 46 ? of->third : 0;
	if (cannot_send(&s) || !find_pieces(&p, number, of->second, of->third))
		return 0;
	if (p.bytes == 0 && p.first_bytes == 0 && number != 40 && number < 299)
		return 0; /* an empty message is none */
	if (((flags & NONBLOCK) || (message_flags & MESSAGE_DONTWAIT)) &&
	    s.wmem_queued >= s.sndbuf) { /* it will be refused, but for an answer that comes now */
		struct in_call *call = bpf_task_storage_get(
		    &calls, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

		if (call != 0) {
			call->ends = s.ends;
			call->net = s.net;
			call->refused = 1;
			return 0;
		}
	}
	put_message(RECORD_SEND, &s.ends, s.net, p.bytes, p.first, p.first_bytes);
	return 0;
}

static __always_inline bool
is_send(u64 number)
{
	return number == 1 || number == 20 || number == 40 || number == 44 || number == 46 ||
	       number == 307;
}

static __always_inline bool
is_receive(u64 number)
{
	return number == 0 || number == 19 || number == 45 || number == 47 || number == 299;
}

SEC("tp_btf/tcp_rcv_space_adjust")
int
BPF_PROG(on_received, struct sock *sk)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct in_call *to;
	struct pt_regs *regs;
	struct tcp_socket s;
	u64 number;

	if (!current_is_wanted() || !read_known_socket(&s, sk))
		return 0;
	regs = registers_of(me);
	number = regs->orig_ax;
	if ((me->flags & KERNEL_THREAD) || !is_receive(number)) { /* io_uring, splice */
		put_message(RECORD_RECEIVE, &s.ends, s.net, 0, 0, 0);
		return 0;
	}
	if ((number == 45 && (regs->r10 & MESSAGE_PEEK)) ||
	    (number == 47 && (regs->dx & MESSAGE_PEEK)))
		return 0;
	to = bpf_task_storage_get(&calls, me, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (to == 0) {
		put_message(RECORD_RECEIVE, &s.ends, s.net, 0, 0, 0);
		return 0;
	}
	to->net = s.net;
	to->ends = s.ends; /* the kernel comes here for each piece: told when the call ends */
	to->received = 1;
	return 0;
}

static __attribute__((noinline)) int
note_end(struct call_arguments *of, s64 result)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct in_call *call = bpf_task_storage_get(&calls, me, 0, 0);
	struct pieces p = { 0 };
	struct record_ends ends;
	u8 kind;

	if (call == 0 || (!call->received && !call->refused))
		return 0;
	kind = call->received ? RECORD_RECEIVE : RECORD_SEND;
	call->received = call->refused = 0;
	if (result <= 0)
		return 0;
	ends = call->ends;
	if (options.texts)
		find_pieces(&p, of->number, of->second, of->third);
	if (of->number >= 299) /* the result is a number of messages */
		result = 0;
	else if (p.first_bytes > (u64)result)
		p.first_bytes = result;
	put_message(kind, &ends, call->net, result, p.first, p.first_bytes);
	return 0;
}

/* ---- system calls ----------------------------------------------------------------- */

SEC("tp_btf/sys_exit")
int
BPF_PROG(call_end, struct pt_regs *regs, s64 result)
{
	u64 number = regs->orig_ax;
	struct record_value *r;

	if ((options.groups & RECORD_OF_SYSCALLS) == 0 && !is_receive(number) && !is_send(number))
		return 0;
	if (!current_is_wanted())
		return 0;
	if ((options.groups & RECORD_OF_SYSCALLS) != 0 &&
	    (r = begin(sizeof *r, RECORD_SYSCALL_OUT)) != 0) {
		r->head.a = number < 1024 ? (s32)number : RECORD_SYSCALL_UNKNOWN;
		r->value = result;
		submit(r);
	}
	if ((options.groups & RECORD_OF_NET) != 0 && (is_receive(number) || is_send(number))) {
		struct call_arguments of = { number, regs->di, regs->si, regs->dx, regs->r10 };

		note_end(&of, result);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int
BPF_PROG(call_begin, struct pt_regs *regs, s64 id)
{
	u64 number = id;
	struct record_value *r;

	if ((options.groups & RECORD_OF_UNITS) != 0 && current_is_wanted())
		note_unit(bpf_get_current_task_btf());
	if ((options.groups & RECORD_OF_SYSCALLS) == 0 && !is_send(number))
		return 0;
	if (!current_is_wanted())
		return 0;
	if ((options.groups & RECORD_OF_SYSCALLS) != 0 &&
	    (r = begin(sizeof *r, RECORD_SYSCALL_IN)) != 0) {
		r->head.a = number < 1024 ? (s32)number : RECORD_SYSCALL_UNKNOWN;
		r->value = regs->di;
		if (number == FUTEX && futex_locks(regs->si, regs->dx))
			r->head.flags = RECORD_LOCK;
		submit(r);
	}
	if ((options.groups & RECORD_OF_NET) != 0 && is_send(number)) {
		struct call_arguments of = { number, regs->di, regs->si, regs->dx, regs->r10 };

		note_send(&of);
	}
	return 0;
}

/* ---- packets ------------------------------------------------------------------------ */

/* What both ends of a connection see of a packet of TCP: sequence numbers and flags. 0: it is none. */
static __always_inline u64
packet_id(struct sk_buff *skb)
{
	unsigned char *head = BPF_CORE_READ(skb, head);
	u16 network = BPF_CORE_READ(skb, network_header), protocol = BPF_CORE_READ(skb, protocol);
	unsigned char ip[40], tcp[14];
	u32 at, seq, ack;

	if (protocol == __builtin_bswap16(0x0800)) {
		if (bpf_probe_read_kernel(ip, 20, head + network) != 0 || ip[9] != PROTOCOL_TCP)
			return 0;
		at = network + 4 * (ip[0] & 15);
	} else if (protocol == __builtin_bswap16(0x86dd)) {
		if (bpf_probe_read_kernel(ip, 40, head + network) != 0 || ip[6] != PROTOCOL_TCP)
			return 0;
		at = network + 40;
	} else {
		return 0;
	}
	if (bpf_probe_read_kernel(tcp, sizeof tcp, head + at) != 0)
		return 0;
	__builtin_memcpy(&seq, tcp + 4, 4);
	__builtin_memcpy(&ack, tcp + 8, 4);
	return ((u64)__builtin_bswap32(seq) << 32 | __builtin_bswap32(ack)) ^ (u64)(tcp[13] & 0x3f)
	                                                                          << 58;
}

static __always_inline int
put_packet(struct sk_buff *skb, u8 kind)
{
	u64 id = packet_id(skb);
	struct record_value *r;

	if (id == 0 || (r = begin(sizeof *r, kind)) == 0)
		return 0;
	r->value = id;
	submit(r);
	return 0;
}

SEC("tp_btf/net_dev_queue")
int
BPF_PROG(packet_out, struct sk_buff *skb)
{
	return put_packet(skb, RECORD_PACKET_OUT);
}

SEC("tp_btf/netif_receive_skb")
int
BPF_PROG(packet_in, struct sk_buff *skb)
{
	return put_packet(skb, RECORD_PACKET_IN);
}

/* ---- what is counted ------------------------------------------------------------------ */

static __always_inline int
count(u32 which)
{
	struct record_other *r;

	if (!current_is_wanted() || (r = begin_other(RECORD_COUNTED)) == 0)
		return 0;
	r->head.a = which;
	submit(r);
	return 0;
}

SEC("tp_btf/page_fault_user")
int
BPF_PROG(count_fault)
{
	return count(RECORD_COUNTED_FAULT);
}

/* Of the thread that changes the CPU, whoever makes it do so. */
SEC("tp_btf/sched_migrate_task")
int
BPF_PROG(count_migration, struct task_struct *t)
{
	struct record_other *r;

	if (is_excluded(t->tgid) || !is_wanted(t->tgid) || (r = begin_other(RECORD_COUNTED)) == 0)
		return 0;
	r->head.tid = t->pid;
	r->head.pid = t->tgid;
	r->head.a = RECORD_COUNTED_MIGRATION;
	submit(r);
	return 0;
}

/* Any tracepoint; user space says which when it attaches. */
#define ANY(n)                   \
	SEC("raw_tp")            \
	int count_##n(void *ctx) \
	{                        \
		return count(n); \
	}
ANY(0)
ANY(1)
ANY(2)
ANY(3)
ANY(4)
ANY(5)
ANY(6)
ANY(7)

/* ---- all threads at a time ---------------------------------------------------------------- */

struct bpf_iter_meta {
	struct seq_file *seq;
} BY_BTF;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} BY_BTF;

SEC("iter/task")
int
list_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct record_thread r = { 0 };

	if (t == 0)
		return 0;
	r.time_ns = bpf_ktime_get_ns();
	r.tid = t->pid;
	r.pid = t->tgid;
	r.parent_pid = BPF_CORE_READ(t, real_parent, tgid);
	r.asleep = t->__state != 0 && !t->on_cpu;
	bpf_probe_read_kernel(r.name, sizeof r.name, &t->comm);
	bpf_seq_write(ctx->meta->seq, &r, sizeof r);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
