/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/observe.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "below/main/probes.h"
#include "below/main/thread_proc.h"
#include "below/stacks/stacks.h"
#include "kernel/off_cpu.h"

/* Threads whose last stack, and whose lock's holder is remembered. */
enum { THREADS = 4096, HELD_MAX = 8 };

#define NAMED_NS UINT64_C(1000000000) /* until the name of a thread is read again */

struct held { /* what the holder of a lock did while this thread waited */
	enum below_state state;
	uint32_t place;
	uint64_t ns;
};

struct thread_notes { /* of a thread, in the slot of its id: a newer thread takes it */
	uint32_t tid;
	uint64_t out_ns; /* when its last stack was copied ... */
	uint32_t place;  /* ... and where that was */
	uint32_t nheld;  /* of the present wait: */
	struct held held[HELD_MAX];
	uint32_t
	    holder_place; /* where the holder was when the wait began, or was seen on a CPU later */
	uint32_t running_place;
	char name[BELOW_WORD_MAX + 1]; /* as an owner of a lock, as of: */
	uint64_t named_ns;
};

struct observer {
	struct trace_bpf *trace;
	struct stacks *stacks;
	uint32_t samples_hz;
	bool calls_only;
	struct thread_notes *threads; /* [THREADS] */
	struct places *places;
	struct probes *probes; /* NULL: none are possible */
	below_take *take;
	void *of;
};

/* ---- places ---- */

/* Registers of struct pt_regs (r15, r14, r13, r12, rbp, rbx, r11 to r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, flags,
 * rsp, ss) in the order of DWARF. */
static const uint8_t AT[STACK_REGISTERS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0,
	16 };

/* Of struct pt_regs: the number of the system call, as note_call() of trace.bpf.c reads it; -1 in the code of the program. */
enum { AT_CALL = 15, CALLS_MAX = 1024 };

static uint32_t
place_of(struct observer *x, const struct raw_stack *s)
{
	struct stack_sample sample = {
		.pid = (pid_t)s->pid, .time_ns = s->time_ns, .bytes = s->bytes, .nbytes = s->nbytes
	};
	struct code_place place;

	if (x->calls_only && s->registers[AT_CALL] >= CALLS_MAX)
		return 0;
	for (int i = 0; i < STACK_REGISTERS; i++)
		sample.registers[i] = s->registers[AT[i]];
	stacks_place(x->stacks, &sample, &place);
	return places_id(x->places, &place, x->take, x->of);
}

/* ---- threads ---- */

static struct thread_notes *
notes_of(struct observer *x, uint32_t tid)
{
	struct thread_notes *t = &x->threads[tid % THREADS];

	if (t->tid != tid)
		*t = (struct thread_notes){ .tid = tid };
	return t;
}

static void
add_held(struct thread_notes *t, enum below_state state, uint32_t place, uint64_t ns)
{
	for (uint32_t i = 0; i < t->nheld; i++)
		if (t->held[i].state == state && t->held[i].place == place) {
			t->held[i].ns += ns;
			return;
		}
	if (t->nheld < HELD_MAX)
		t->held[t->nheld++] = (struct held){ state, place, ns };
}

static void
put_sample(struct observer *x, const struct raw_stack *s, uint32_t place)
{
	struct below_message m = { .kind = BELOW_SAMPLE,
		.sample = { .pid = s->pid,
		    .tid = s->tid,
		    .trace_id = s->trace_id,
		    .unit_id = s->unit_id,
		    .time_ns = (int64_t)s->time_ns,
		    .weight_ns = INT64_C(1000000000) / x->samples_hz,
		    .place = place } };

	x->take(x->of, &m);
}

static void
take_stack(struct observer *x, const struct raw_stack *s)
{
	uint32_t place = place_of(x, s);
	struct thread_notes *t;

	if (s->when == RAW_CLOCK) {
		if (s->followed)
			put_sample(x, s, place);
		if (s->for_tid != 0)
			notes_of(x, s->for_tid)->running_place = place;
		return;
	}
	if (s->when == RAW_HOLDER)
		notes_of(x, s->for_tid)->holder_place = place;
	t = notes_of(x, s->tid);
	t->out_ns = s->time_ns;
	t->place = place;
}

/* ---- waits ---- */

static enum wake_context
woken_by(const struct raw_wait *w)
{
	switch (w->woken_by) {
	case RAW_TASK:
		return WAKE_TASK;
	case RAW_KERNEL_TASK:
		return WAKE_KERNEL_TASK;
	case RAW_HRTIMER:
		return WAKE_TIMER;
	case RAW_SOFTIRQ:
		return wake_by_softirq(w->vector);
	case RAW_UNSEEN:
		return WAKE_UNKNOWN;
	}
	return WAKE_INTERRUPT;
}

static struct off_cpu
wait_of(const struct raw_wait *w)
{
	/* TASK_UNINTERRUPTIBLE */
	return (struct off_cpu){ .out_ns = w->out_ns,
		.in_ns = w->in_ns,
		.woken_ns = w->woken_ns,
		.pid = w->pid,
		.tid = w->tid,
		.preempted = w->preempted != 0,
		.in_iowait = w->in_iowait != 0,
		.uninterruptible = (w->state & 2) != 0,
		.syscall = w->syscall,
		.arguments = { w->arguments[0], w->arguments[1], w->arguments[2] },
		.woken_by = w->woken_ns != 0 ? woken_by(w) : WAKE_UNKNOWN,
		.owner = w->owner };
}

/* The holder was off the CPU: for the thread that waits for it. */
static void
take_holder(struct observer *x, const struct raw_wait *w)
{
	struct thread_notes *waiter = notes_of(x, w->holder_of), *holder = notes_of(x, w->tid);
	struct off_cpu wait = wait_of(w);
	struct wait_part parts[WAIT_PARTS_MAX];
	uint32_t place = waiter->holder_place != 0 ? waiter->holder_place : holder->place;
	int n = off_cpu_parts(&wait, parts);

	for (int i = 0; i < n; i++) { /* it may have begun before the other thread waited */
		uint64_t from = parts[i].from_ns > waiter->out_ns ? parts[i].from_ns
		                                                  : waiter->out_ns;

		if (parts[i].to_ns > from)
			add_held(waiter, parts[i].state, place, parts[i].to_ns - from);
	}
	waiter->holder_place = 0;
}

/* A name may change, but seldom. */
static void
put_owner(struct observer *x, struct below_wait *to, const struct raw_wait *w)
{
	struct thread_notes *owner = notes_of(x, w->owner);

	_Static_assert((int)THREAD_NAME_MAX == (int)BELOW_WORD_MAX, "both hold a name");
	to->owner_tid = w->owner;
	if (w->owner == 0)
		return;
	if (owner->named_ns == 0 || w->in_ns - owner->named_ns > NAMED_NS)
		thread_name((pid_t)w->pid, (pid_t)w->owner, owner->name);
	owner->named_ns = w->in_ns;
	memcpy(to->owner_name, owner->name, sizeof to->owner_name);
	to->owner_is_read = w->owner_is_read != 0;
	to->owner_trace_id = to->owner_is_read ? w->owner_trace_id : 0;
	to->owner_type = to->owner_is_read ? w->owner_type : 0;
}

static void
put_waker(struct below_wait *to, const struct raw_wait *w)
{
	_Static_assert((int)RAW_NAME_BYTES == (int)BELOW_WORD_MAX + 1, "both hold a name");
	to->waker_tid = w->waker_tid;
	to->waker_trace_id = w->waker_trace_id;
	to->waker_type = w->waker_type;
	if (w->waker_tid == 0)
		return;
	memcpy(to->waker_name, w->waker_name, BELOW_WORD_MAX);
	thread_name_clean(to->waker_name);
}

/* What the holder did for most of the wait. What is not known of it, it was running, or ready before it ran. */
static void
put_holder(struct below_wait *to, struct thread_notes *t, uint64_t blocked_ns)
{
	struct held most = { BELOW_UNKNOWN, 0, 0 };
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->nheld; i++) {
		sum += t->held[i].ns;
		if (t->held[i].ns > most.ns)
			most = t->held[i];
	}
	if (blocked_ns > sum && blocked_ns - sum > most.ns && t->running_place != 0)
		most = (struct held){ BELOW_RUNNING, t->running_place, blocked_ns - sum };
	to->owner_state = (uint8_t)most.state;
	to->owner_place = most.ns > 0 ? most.place : t->holder_place; /* it may still be there */
}

static void
take_wait(struct observer *x, const struct raw_wait *w)
{
	struct thread_notes *t = notes_of(x, w->tid);
	struct off_cpu wait = wait_of(w);
	struct wait_part parts[WAIT_PARTS_MAX];
	int n = off_cpu_parts(&wait, parts);
	struct below_message m = { .kind = BELOW_WAIT };
	struct below_wait *to = &m.wait;

	if (n == 0 || (x->calls_only && w->syscall < 0))
		return;
	*to = (struct below_wait){ .pid = w->pid,
		.tid = w->tid,
		.trace_id = w->trace_id,
		.unit_id = w->unit_id,
		.begin_ns = (int64_t)w->out_ns,
		.woken_ns = (int64_t)(n == 2                          ? parts[1].from_ns
				      : parts[0].state == BELOW_READY ? w->out_ns
								      : w->in_ns),
		.end_ns = (int64_t)w->in_ns,
		.state = (uint8_t)parts[0].state,
		.place = t->out_ns == w->out_ns ? t->place : 0,
		.owner_state = BELOW_UNKNOWN };
	put_waker(to, w);
	if (parts[0].state == BELOW_LOCK) {
		to->lock = w->arguments[0];
		put_holder(to, t, parts[0].to_ns - parts[0].from_ns);
		put_owner(x, to, w);
	}
	t->nheld = 0;
	t->holder_place = t->running_place = 0;
	x->take(x->of, &m);
}

/* The first word of the text, which is all of it that leaves this process. */
static void
first_word(char ret[BELOW_WORD_MAX + 1], const u8 *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size && text[i] != '\0' && n < BELOW_WORD_MAX; i++)
		if (isalnum(text[i]) || text[i] == '_')
			ret[n++] = (char)toupper(text[i]);
		else if (n > 0 || !isspace(text[i]))
			break;
	ret[n] = '\0';
}

static void
take_hit(struct observer *x, const struct raw_hit *h)
{
	struct below_hit hit = { .id = h->id,
		.pid = h->pid,
		.tid = h->tid,
		.trace_id = h->trace_id,
		.unit_id = h->unit_id,
		.time_ns = (int64_t)h->time_ns,
		.nvalues = (uint8_t)(h->nvalues < BELOW_VALUES_MAX ? h->nvalues
								   : BELOW_VALUES_MAX) };
	const struct below_message m = { .kind = BELOW_HITS, .hits = { 1, &hit } };

	memcpy(hit.values, h->values, hit.nvalues * sizeof *h->values);
	first_word(hit.word, h->text, sizeof h->text);
	x->take(x->of, &m);
}

static void
take_record(void *of, uint32_t cpu, void *record, size_t len)
{
	struct observer *x = of;
	uint32_t kind = ((const struct raw_head *)record)->kind;
	(void)cpu;

	if (kind == RAW_STACK && len >= offsetof(struct raw_stack, bytes)) {
		take_stack(x, record);
	} else if (kind == RAW_BEGUN && len >= sizeof(struct raw_begun)) {
		const struct raw_begun *b = record;

		stacks_forget(x->stacks, (pid_t)b->pid, b->time_ns);
	} else if (kind == RAW_HIT && len >= sizeof(struct raw_hit)) {
		take_hit(x, record);
	} else if (kind == RAW_WAIT && len >= sizeof(struct raw_wait)) {
		const struct raw_wait *w = record;

		if (w->holder_of != 0)
			take_holder(x, w);
		if (w->followed)
			take_wait(x, w);
	}
}

void
observer_read(struct observer *x, below_take *take, void *of)
{
	struct mono now = clock_mono();
	struct below_message m = { .kind = BELOW_LOST };

	x->take = take;
	x->of = of;
	if (x->probes != NULL)
		probes_limit(x->probes, now, take, of);
	trace_bpf_read(x->trace, take_record, x);
	m.lost.count = trace_bpf_lost(x->trace, &m.lost.from_ns, &m.lost.to_ns);
	if (m.lost.count > 0)
		take(of, &m);
	m = (struct below_message){ .kind = BELOW_MARK, .mark_ns = now.ns };
	take(of, &m);
}

/* ---- what is followed ---- */

int
observer_follow(struct observer *x, pid_t pid, const struct below_follow *f, struct err *e)
{
	struct raw_process p = { .all = 1, .waits = 1 };
	int rc;

	if (f != NULL)
		p = (struct raw_process){ .all = (f->flags & BELOW_FOLLOW_ALL) != 0,
			.waits = (f->flags & BELOW_FOLLOW_WAITS) != 0,
			.before = (f->flags & BELOW_FOLLOW_BEFORE) != 0,
			.of = f->context,
			.context = f->offset,
			.address = f->address,
			.trace_id = f->trace_id,
			.unit_id = f->unit_id,
			.request_type = f->request_type,
			.probed = f->probed };
	p.since_ns = (uint64_t)clock_mono().ns;
	if ((rc = trace_bpf_follow(x->trace, pid, &p, e)) == 0)
		stacks_follow(x->stacks, pid);
	if (rc == 0 && x->probes != NULL)
		probes_follow(x->probes, pid);
	return rc;
}

int
observer_probe(struct observer *x, const struct below_probe *probe, struct err *e)
{
	if (x->probes == NULL)
		return err_set(e, ERR_MISSING, "hone-below can probe no code here");
	probes_set(x->probes, probe);
	return 0;
}

void
observer_list(struct observer *x, pid_t pid, below_take *take, void *of)
{
	const struct below_message none = { .kind = BELOW_LISTED,
		.listed = { .pid = (uint32_t)pid, .last = true, .names = "" } };

	if (x->probes != NULL)
		probes_list(x->probes, pid, take, of);
	else
		take(of, &none);
}

void
observer_apply(struct observer *x, below_take *take, void *of)
{
	if (x->probes != NULL)
		probes_apply(x->probes, take, of);
}

void
observer_unfollow(struct observer *x, pid_t pid)
{
	trace_bpf_unfollow(x->trace, pid);
	stacks_forget(x->stacks, pid, UINT64_MAX);
}

void
observer_forget_ended(struct observer *x)
{
	trace_bpf_forget_ended(x->trace);
}

uint64_t
observer_unfollowed(const struct observer *x)
{
	return trace_bpf_unfollowed(x->trace);
}

struct below_can
observer_can(const struct observer *x)
{
	return (struct below_can){ trace_bpf_can(x->trace), trace_bpf_missing(x->trace) };
}

uint64_t
observer_reader_cpu_ns(const struct observer *x)
{
	return stacks_cpu_ns(x->stacks);
}

int
observer_open(struct observer **ret, const struct observer_options *o, struct err *e)
{
	const struct trace_bpf_options to = { o->samples_hz, o->without, o->children };
	struct observer *x = calloc(1, sizeof *x);
	int rc = 0;

	if (x == NULL || (x->threads = calloc(THREADS, sizeof *x->threads)) == NULL ||
	    (x->places = places_new()) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	if (rc == 0 && (rc = stacks_open(&x->stacks, &(struct stacks_limits){ 0 }, e)) == 0)
		rc = trace_bpf_open(&x->trace, &to, e);
	if (rc != 0) {
		observer_close(x);
		return rc;
	}
	x->samples_hz = o->samples_hz;
	x->calls_only = o->calls_only;
	if ((trace_bpf_can(x->trace) & BELOW_CAN_PROBES) != 0 &&
	    (x->probes = probes_new(x->trace, x->stacks)) == NULL) {
		observer_close(x);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	*ret = x;
	return 0;
}

void
observer_close(struct observer *x)
{
	if (x == NULL)
		return;
	probes_free(x->probes);
	trace_bpf_close(x->trace);
	stacks_close(x->stacks);
	free(x->threads);
	places_free(x->places);
	free(x);
}
