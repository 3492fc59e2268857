/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this room share. Lower files first: traces, threads, connections, messages, waits. */
#ifndef KERNEL_REQUESTS_REQUESTS_INSIDE_H
#define KERNEL_REQUESTS_REQUESTS_INSIDE_H

#include "analysis/pending_trace.h"
#include "base/hash_map.h"
#include "kernel/requests/handle_pool.h"
#include "kernel/requests/requests_types.h"
#include "wire/below.h"

enum {
	COUNTED_MAX = 8,       /* names of events that the user chose */
	ACTIVE_MAX = 32,       /* contexts of a thread, by RULE_ALL */
	EXCHANGES_MAX = 64,    /* of a connection at a time */
	CONTEXT_DEPTH_MAX = 8, /* interrupts inside of each other on a CPU */
	LOSSES_MAX = 64,       /* remembered; more are one that covers all of them */
	TYPES_MAX = 4096,      /* names of requests; further ones are "(other)" */
	CPUS_MAX = 65536
};

/* ---- lists by last use ---- */

struct recent { /* the first member after struct pooled */
	struct recent *older, *newer;
};

struct recent_list {
	struct recent *oldest, *newest;
};

static inline void
recent_remove(struct recent_list *l, struct recent *i)
{
	*(i->older != NULL ? &i->older->newer : &l->oldest) = i->newer;
	*(i->newer != NULL ? &i->newer->older : &l->newest) = i->older;
}

static inline void
recent_add(struct recent_list *l, struct recent *i)
{
	i->older = l->newest;
	i->newer = NULL;
	*(l->newest != NULL ? &l->newest->newer : &l->oldest) = i;
	l->newest = i;
}

static inline void
recent_touch(struct recent_list *l, struct recent *i)
{
	if (l->newest == i)
		return;
	recent_remove(l, i);
	recent_add(l, i);
}

/* ---- traces, units, records ---- */

struct unit_record {
	struct pooled pooled;
	struct unit_record
	    *next; /* of its trace, in the order of time but for those that were moved */
	struct request_unit *unit;
	struct unit_record *pair; /* of a join: its fork */
	int64_t time_ns;
	uint64_t link_id; /* of a wait: the address of the lock */
	uint32_t pid, tid;
	uint32_t name;            /* in requests.types */
	int64_t off_ns, ready_ns; /* of a wait; off_ns of a sample: how long it ran */
	uint8_t kind;             /* enum record_kind */
	uint8_t state;            /* of a wait: enum below_state */
	bool begun;               /* of a fork: a unit began by it */
	bool expected; /* of a fork: the other side is recorded, so a unit should have begun */
};

struct request_unit { /* lives as long as its trace */
	struct pooled pooled;
	struct request_unit *next; /* of its trace */
	struct request_trace *trace;
	struct handle same_as; /* it is a part of that unit, which a worker did */
	struct handle thread;  /* that received it */
	struct handle process;
	uint64_t id;
	int64_t begin_ns, end_ns;
	struct unit_record *begin, *end; /* end: NULL until a response is sent */
	struct request_unit *parent;     /* of a unit that a fork of a thread began */
	uint64_t parent_link;
	uint32_t service, name, host, pid, tid, epoch;
	bool open;   /* not answered */
	bool worker; /* it is what a worker does, which is to be attributed */
	bool hinted; /* it was handed to a worker by a wake-up */
	uint32_t counts[COUNTED_MAX];
	int64_t state_ns[BELOW_STATES]; /* of waits */
};

struct request_trace {
	struct pooled pooled;
	struct recent recent; /* in requests.open, by its begin; or in requests.held, by its end */
	uint64_t id;
	struct request_unit *units, *root; /* root NULL: the work of a worker, to be attributed */
	struct unit_record *first, *last;
	uint32_t nrecords;
	int64_t begin_ns, end_ns;
	struct handle works_in; /* a worker's: its process, where it may belong to a unit */
	struct handle from;     /* process that sent the request, if it is recorded */
	struct handle on;       /* channel that it came on */
	uint8_t client_side;    /* of that */
	bool lossy, too_long, held;
};

struct requests {
	struct requests_options o;
	struct kernel_names *names;
	struct labels *labels;
	struct requests_counts counts;
	struct trace_builder *builder;
	struct texts *types;
	struct handle_pool traces, units, records, threads, processes, channels, exchanges, calls,
	    cpus;
	struct recent_list open, held, by_thread, by_process, by_channel;
	struct map thread_of, process_of, channel_of, cpu_of;
	struct map serving; /* names of processes that serve requests */
	int64_t begun_ns, now_ns;
	int64_t piece_gap_ns; /* the longest between two pieces of a response */
	bool ended;
	uint64_t last_id;
	uint32_t epoch; /* counts losses: what was known before is not, after */
	struct {
		int64_t from_ns, to_ns;
	} losses[LOSSES_MAX];
	uint32_t nlosses;
	uint32_t counted[COUNTED_MAX], ncounted;
	bool wakes, switches;     /* such events were seen */
	bool with_states, frozen; /* the fields of ends are settled */
	struct value values[RECORD_VALUES_MAX];
	const char *nodes[KERNEL_HOSTS_MAX + 1];
	int rc; /* the first failure */
	struct err *e;
};

/* A trace without a unit; the oldest is given up if there are too many. NULL: out of memory, which is noted. */
struct request_trace *trace_begin(struct requests *r);
/* The unit of a process, with a record that begins it: RECORD_REQUEST_BEGIN makes it the root, RECORD_POINTs are not
 * recorded. NULL: as above. The caller sets `open` and where it belongs. */
struct unit_source { /* where something happened */
	uint32_t host, pid, tid;
};
struct request_unit *unit_begin(struct requests *r, struct request_trace *t, enum record_kind kind,
    struct unit_source at, uint32_t name, uint64_t link_id);
/* NULL: the trace has too many records, or there are too many of all. */
struct unit_record *unit_add(struct requests *r, struct request_unit *u, enum record_kind kind,
    struct unit_source at, uint32_t name, uint64_t link_id);
/* It ends now, or later than it seemed. */
void unit_end(struct requests *r, struct request_unit *u, struct unit_source at);
/* The unit of a handle, or that of which it is a part. NULL: it is no more. */
struct request_unit *unit_of(const struct requests *r, struct handle h);
/* A unit that this thread received is open from now on, or no more: then it is lossy if its thread or process was in doubt. */
struct task_thread;
void unit_open(struct requests *r, struct request_unit *u, struct task_thread *t);
void unit_close(struct requests *r, struct request_unit *u);
/* A worker's trace becomes a part of that unit. */
void trace_merge(struct requests *r, struct request_trace *worker, struct request_unit *into);
void trace_drop(struct requests *r, struct request_trace *t);
void trace_hold(struct requests *r, struct request_trace *t); /* it has its response */
/* Hands out what is held until then, gives up what is open since before then. */
void traces_pass(struct requests *r, int64_t held_until_ns, int64_t open_until_ns);
uint32_t type_number(struct requests *r, const char *name);
void note_failure_of(struct requests *r, int rc, const char *why);

/* ---- threads and processes ---- */

enum known { KNOWN_NOTHING, KNOWN_OUTSIDE, KNOWN_UNITS }; /* of a thread's context */
enum hint { HINT_NONE, HINT_ONE, HINT_SEVERAL };          /* who woke it since it went to sleep */

struct task_process {
	struct pooled pooled;
	struct recent recent;
	uint64_t key;
	uint32_t name;      /* in names.texts; 0 */
	bool named_by_main; /* the name is that of its first thread */
	bool serves;        /* it has received a request */
	struct handle parent;
	bool adopts;       /* its workers send the responses themselves */
	uint32_t nopen;    /* of its units */
	uint32_t nhinted;  /* of these, those that were handed to a worker by a wake-up */
	uint32_t nworkers; /* worker's traces to be attributed, which may belong to a unit */
	int64_t doubt_ns;  /* units that are open now may lack something */
};

struct task_thread {
	struct pooled pooled;
	struct recent recent;
	uint64_t key;
	uint32_t host, pid, tid, epoch;
	struct handle process;
	enum known known;
	uint32_t nactive;
	struct handle active[ACTIVE_MAX];
	uint32_t nopen; /* units that it received, and that are open */
	int64_t doubt_ns;
	bool ran;      /* it was seen on a CPU */
	int64_t on_ns; /* since then it is, for its context; 0: it is not, or it is not known */
	bool receives; /* it has received a request */
	struct handle worker; /* trace of what it does as a worker */
	uint32_t outstanding; /* of that: messages without their response */
	bool by_timer;        /* a timer woke it last */
	bool pool;            /* it was handed work by wake-ups */
	bool handed;          /* its context came by a wake-up */
	enum hint hint;
	struct handle hint_unit;
	struct handle fork_unit; /* that its fork began */
	int64_t fork_wake_ns;    /* it woke the thread that forked it; 0 */
	/* Since it left the CPU; out_ns 0: it has not, or it is not known. */
	int64_t out_ns, woken_ns;
	struct handle out_unit;
	uint8_t out_flags, woken_by;
	int32_t out_syscall, in_syscall;
	uint32_t out_owner;
	uint64_t out_lock;
};

struct task_process *process_of(struct requests *r, uint32_t host, uint32_t pid);
/* With its context cleared if events were lost since. NULL: tid 0, or out of memory, which is noted. */
struct task_thread *thread_of(struct requests *r, uint32_t host, uint32_t tid, uint32_t pid);
struct task_thread *thread_known(const struct requests *r, uint32_t host, uint32_t tid);
void thread_forget(struct requests *r, struct task_thread *t);
void threads_name(struct requests *r, const struct kernel_event *ev);
void threads_fork(struct requests *r, const struct kernel_event *ev);
void threads_exit(struct requests *r, const struct kernel_event *ev);
/* The unit that the fork of this thread began ends; its parent has waited for that until then, or has not (0). */
void fork_ends(struct requests *r, struct task_thread *t, int64_t joined_ns);
/* Its context. */
void context_set(struct task_thread *t, struct request_unit *u); /* NULL: outside of requests */
void context_add(struct requests *r, struct task_thread *t, struct request_unit *u);
void context_remove(struct requests *r, struct task_thread *t, const struct request_unit *u);
/* The first open unit of its context, or NULL. */
struct request_unit *context_unit(const struct requests *r, const struct task_thread *t);
/* What the thread did as a worker belongs to that unit; NULL: it is not known to which. */
void worker_resolve(struct requests *r, struct task_thread *t, struct request_unit *u);
/* The trace of what it does as a worker from now on; its unit is the context. */
void worker_begin(struct requests *r, struct task_thread *t);
/* It goes to sleep, not for storage or a lock; it was asleep like that, and is woken by a thread of its process that works for a unit. See
 * rule 3 of requests.h. */
void worker_sleeps(struct requests *r, struct task_thread *t);
/* It wakes the thread that received the request for which it was woken. */
void worker_hands_back(struct requests *r, struct task_thread *t);
void worker_woken(struct requests *r, struct task_thread *t, struct request_unit *by);

/* ---- connections ---- */

enum side { SIDE_A, SIDE_B, SIDE_UNKNOWN };
enum exchange_state {
	EXCHANGE_SENT,     /* the request is on its way */
	EXCHANGE_SERVED,   /* the server has received it */
	EXCHANGE_ANSWERED, /* the server has sent a response */
	EXCHANGE_JOINED    /* the client has received that */
};

struct exchange_call { /* an exchange for one context of the client */
	struct pooled pooled;
	struct exchange_call *next;
	struct handle caller; /* unit; none: the request comes from outside */
	struct handle served; /* unit that the request began; none: it has not */
	uint64_t link_id;
	struct unit_record *fork, *join; /* of the caller, valid while that lives */
};

struct message_exchange { /* a request and its response on a connection */
	struct pooled pooled;
	struct message_exchange *next; /* the one after it */
	enum exchange_state state;
	bool pipelined;               /* another one was open when it was sent */
	uint32_t name;                /* in requests.types */
	struct exchange_call *calls;  /* none: it belongs to no request */
	struct handle client, worker; /* thread that sent it; trace of the worker that did */
	uint64_t asked_from, asked_to,
	    said_from; /* where request and response lie in the bytes of their direction */
};

#define NO_PLACE UINT64_MAX

struct tcp_channel { /* a connection, seen from both ends */
	struct pooled pooled;
	struct recent recent;
	uint64_t keys[2];   /* kernel_connection_key(), seen from SIDE_A and SIDE_B */
	uint64_t places[2]; /* kernel_connection_place() of the socket; NO_PLACE: not seen yet */
	struct handle processes[2]; /* that send or receive there */
	enum side server;
	uint32_t epoch, nexchanges;
	int64_t begin_ns;
	struct message_exchange *first, *last;
	uint64_t sent[2], received[2]; /* bytes, by the side that sends */
	bool unsized[2];               /* the size of some message is not known */
	bool
	    doubtful; /* which message a piece belongs to was not certain, and it has not been quiet since */
	int64_t last_ns;
	bool http_received;        /* such a response was seen where the client receives */
	bool http, http_responses; /* such a request, such a response was seen */
};

/* The channel, and which side of it the socket of that host is. Sockets of two namespaces or hosts that have the same ends are the same side of
 * one channel: which of the two its other side talks to is not known, so while both are in use it is in doubt. NULL: out of
 * memory, which is noted. O(1) expected. */
struct tcp_channel *channel_of(struct requests *r, uint16_t host, uint32_t number, enum side *side);
/* The process that uses this side. Another one than before, which is not its parent or child: the channel begins anew. */
void channel_used(struct requests *r, struct tcp_channel *c, enum side side, struct task_thread *t);
bool channel_recorded(const struct requests *r, const struct tcp_channel *c, enum side side);
/* The end of that side. */
struct kernel_end channel_end(
    const struct requests *r, const struct tcp_channel *c, enum side side);
/* A new exchange at the end, of the channel that was used last. NULL: too many, or out of memory, which is noted. */
struct message_exchange *exchange_add(struct requests *r, struct tcp_channel *c);
struct exchange_call *exchange_call_add(struct requests *r, struct message_exchange *x);
/* The first in that state, or NULL. */
struct message_exchange *exchange_in(const struct tcp_channel *c, enum exchange_state s);
/* The last that is in that state or a later one. */
struct message_exchange *exchange_last(const struct tcp_channel *c, enum exchange_state s);
/* The requests of it may lack something. */
void exchange_lossy(struct requests *r, const struct message_exchange *x);
/* Which request or response a piece belongs to is not certain: so it is for all of the channel, until that is quiet for a while. */
void channel_doubt(struct requests *r, struct tcp_channel *c);

struct cpu_contexts { /* the interrupts that a CPU is in */
	struct pooled pooled;
	uint32_t depth;
	struct {
		uint8_t kind;
		uint16_t vector;
		bool block; /* storage has answered in it */
	} stack[CONTEXT_DEPTH_MAX];
};

/* ---- messages, waits ---- */

void messages_send(struct requests *r, const struct kernel_event *ev);
void messages_receive(struct requests *r, const struct kernel_event *ev);

/* The thread has run for its context until now, which may change now. */
void waits_ran(struct requests *r, struct task_thread *t);
void waits_switch(struct requests *r, const struct kernel_event *ev);
void waits_waking(struct requests *r, const struct kernel_event *ev);
void waits_context(struct requests *r, const struct kernel_event *ev);
void waits_block_done(struct requests *r, const struct kernel_event *ev);
void waits_syscall(struct requests *r, const struct kernel_event *ev);
void waits_counted(struct requests *r, const struct kernel_event *ev);

#endif
