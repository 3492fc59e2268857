/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "below/main/looks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "agent/system/thread_context.h"
#include "base/array.h"
#include "base/rng.h"
#include "below/main/thread_proc.h"
#include "below/main/thread_times.h"
#include "below/stacks/stacks.h"

enum {
	PROCESSES_MAX = 64,
	THREADS_MAX = 4096, /* of one process */
	BATCH = 256,        /* contexts that are read at once */
	SPAN_MAX = 256,     /* bytes of a context */
	FILES_MAX = 8192,   /* descriptors */
	STACK_MAX = 16 << 10,
	WHY_MAX = 300 /* bytes of why there is no better way */
};
#define INTERVAL_MIN_NS INT64_C(1000000)
/* The first names of a file with debug information take up to 100 ms. */
#define STACK_DEBT_MAX_NS 500e6
#define INTERVAL_MEAN_NS 2e9
#define SCAN_NS INT64_C(100000000) /* threads are listed again */

struct seen_thread {
	pid_t tid;
	uint64_t pointer; /* 0: not found yet */
	struct thread_files files;
	struct thread_times line;
	bool listed;
};

struct seen_process {
	pid_t pid;
	bool all;
	int64_t from; /* of what is read of a context, from the thread pointer */
	uint32_t span;
	uint16_t trace_id, unit_id, probed; /* in it */
	int64_t distance;                   /* thread_pointer() */
	int task;                           /* its folder */
	nlink_t links;
	int64_t scanned_ns;
	struct seen_thread *threads;
	uint32_t nthreads, threads_cap;
};

struct looks {
	struct seen_process processes[PROCESSES_MAX];
	uint32_t nprocesses, refused; /* refused: processes that may not be looked at */
	struct stacks *stacks;
	struct places *places;
	struct mono due;
	double stack_debt_ns; /* CPU time of unwinding, less what LOOKS_SHARE permitted since */
	struct mono began;    /* the last round */
	int64_t marked_ns;
	double interval_ns, told_ns; /* the mean, and what was told of it */
	char why[WHY_MAX + 1], missing[BELOW_MISSING_MAX + 1];
	struct rng rng;
	below_take *take;
	void *of;
};

/* ---- processes and threads ---- */

static void
free_thread(struct looks *x, struct seen_thread *t)
{
	if (x->take != NULL)
		thread_times_end(&t->line, x->take, x->of);
	thread_close(&t->files);
}

static struct seen_thread *
thread_of(struct seen_process *p, uint32_t tid)
{
	for (uint32_t i = 0; i < p->nthreads; i++)
		if (p->threads[i].tid == (pid_t)tid)
			return &p->threads[i];
	return NULL;
}

static void
drop_thread(struct looks *x, struct seen_process *p, uint32_t i)
{
	free_thread(x, &p->threads[i]);
	p->threads[i] = p->threads[--p->nthreads];
}

/* Lists the threads, if their number has changed, or after SCAN_NS. False: the process has ended. */
static bool
scan(struct looks *x, struct seen_process *p, int64_t now_ns)
{
	struct dirent *entry;
	struct stat st;
	DIR *d;
	int fd;

	if (fstat(p->task, &st) != 0 || st.st_nlink <= 2)
		return false;
	if (st.st_nlink == p->links && now_ns - p->scanned_ns < SCAN_NS)
		return true;
	if ((fd = openat(p->task, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return false;
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return false;
	}
	p->links = st.st_nlink;
	p->scanned_ns = now_ns;
	for (uint32_t i = 0; i < p->nthreads; i++)
		p->threads[i].listed = false;
	while ((entry = readdir(d)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct seen_thread *t = thread_of(p, (uint32_t)tid);

		if (tid <= 0)
			continue;
		if (t == NULL && p->nthreads < THREADS_MAX &&
		    array_reserve(p->threads, p->threads_cap, p->nthreads + 1)) {
			t = &p->threads[p->nthreads++];
			*t = (struct seen_thread){ .tid = tid,
				.line = { .pid = (uint32_t)p->pid, .tid = (uint32_t)tid } };
		}
		if (t != NULL)
			t->listed = true;
	}
	closedir(d);
	for (uint32_t i = p->nthreads; i-- > 0;)
		if (!p->threads[i].listed)
			drop_thread(x, p, i);
		else if (!p->all && p->threads[i].pointer == 0)
			p->threads[i].pointer = thread_pointer(
			    p->pid, p->threads[i].tid, &p->distance);
	return true;
}

static void
drop_process(struct looks *x, uint32_t i)
{
	struct seen_process *p = &x->processes[i];

	while (p->nthreads > 0)
		drop_thread(x, p, p->nthreads - 1);
	free(p->threads);
	close(p->task);
	stacks_forget(x->stacks, p->pid, UINT64_MAX);
	*p = x->processes[--x->nprocesses];
}

/* ---- a look at a thread ---- */

static uint32_t
place_of(struct looks *x, pid_t pid, const struct look_call *call, int64_t now_ns)
{
	static uint8_t bytes[STACK_MAX];
	struct stack_sample sample = { .pid = pid, .time_ns = (uint64_t)now_ns, .bytes = bytes };
	struct code_place place;
	uint64_t cpu_ns, after_ns;

	sample.registers[STACK_RSP] = call->sp;
	sample.registers[STACK_RIP] = call->pc;
	sample.nbytes = thread_memory(pid, call->sp, bytes, sizeof bytes);
	if (sample.nbytes == 0 || x->stack_debt_ns > STACK_DEBT_MAX_NS)
		return 0;
	cpu_ns = stacks_cpu_ns(x->stacks);
	stacks_place(x->stacks, &sample, &place);
	if ((after_ns = stacks_cpu_ns(x->stacks)) > cpu_ns) /* else it was replaced */
		x->stack_debt_ns += (double)(after_ns - cpu_ns);
	return places_id(x->places, &place, x->take, x->of);
}

static enum below_state
cause_of(pid_t pid, pid_t tid, const struct look_call *call, uint32_t owner)
{
	char wchan[THREAD_WCHAN_MAX + 1] = "";
	struct look_sleep s = { .call = *call, .owner = owner, .kernel_place = wchan };
	enum below_state state = look_cause(&s);

	if (state == BELOW_UNKNOWN && (s.uninterruptible = thread_uninterruptible(pid, tid))) {
		thread_wchan(pid, tid, wchan);
		state = look_cause(&s);
	}
	return state;
}

static void
look_at_owner(struct looks *x, struct seen_process *p, struct thread_look *l, uint32_t owner)
{
	struct seen_thread *t = thread_of(p, owner);
	struct look_call call;

	if ((t->files.syscall == 0 && !thread_open(&t->files, p->pid, t->tid)) ||
	    !thread_call_read(&t->files, &call) || call.number == LOOK_ON_CPU)
		return; /* on a CPU or ready: not known which */
	l->owner_state = cause_of(p->pid, t->tid, &call, thread_futex_owner(p->pid, &call));
	l->owner_place = place_of(x, p->pid, &call, l->time_ns);
}

/* What it sleeps for. False: it has ended. */
static bool
look_at_sleep(struct looks *x, struct seen_process *p, struct seen_thread *t, struct thread_look *l)
{
	struct look_call call;
	uint32_t owner = 0;

	if (!thread_call_read(&t->files, &call))
		return false;
	l->asleep = call.number != LOOK_ON_CPU;
	if (!l->asleep)
		return true;
	if (call.number == 202) /* futex */
		owner = thread_futex_owner(p->pid, &call);
	if (owner == (uint32_t)t->tid || thread_of(p, owner) == NULL)
		owner = 0;
	l->state = cause_of(p->pid, t->tid, &call, owner);
	l->place = place_of(x, p->pid, &call, l->time_ns);
	if (l->state == BELOW_LOCK) {
		l->lock = call.arguments[0];
		l->owner_tid = owner;
		look_at_owner(x, p, l, owner);
	}
	return true;
}

static bool
read_counts(const struct seen_thread *t, struct thread_look *l)
{
	struct thread_counts counts;

	if (!thread_counts_read(&t->files, &counts))
		return false;
	l->time_ns = clock_mono().ns;
	l->run_ns = counts.run_ns;
	l->ready_ns = counts.ready_ns;
	l->turns = counts.turns;
	return true;
}

/* l: with its unit. False: it has ended. */
static bool
look_at_thread(
    struct looks *x, struct seen_process *p, struct seen_thread *t, struct thread_look *l)
{
	uint64_t turns;

	if (t->files.schedstat == 0 && !thread_open(&t->files, p->pid, t->tid))
		return false;
	if (!read_counts(t, l))
		return false;
	if (thread_times_sleeps_on(&t->line, l)) {
		l->asleep =
		    true; /* or it has been woken, and is ready: it is not counted before it has a CPU */
		return true;
	}
	turns = l->turns;
	if (!look_at_sleep(x, p, t, l))
		return false;
	if (l->asleep &&
	    !read_counts(t, l)) /* those of before it went to sleep may be a tick old */
		return false;
	l->asleep = l->asleep && l->turns == turns;
	return true;
}

/* ---- a round ---- */

/* Reads the contexts of n threads; *got are there, and the thread after them is the one that failed. */
static uint32_t
read_contexts(const struct seen_process *p, struct seen_thread *const *threads, uint32_t n,
    uint8_t bytes[][SPAN_MAX])
{
	struct iovec here[BATCH], there[BATCH];
	ssize_t got;

	for (uint32_t i = 0; i < n; i++) {
		here[i] = (struct iovec){ bytes[i], p->span };
		there[i] = (struct iovec){
			(void *)(uintptr_t)(threads[i]->pointer + (uint64_t)p->from), p->span
		};
	}
	got = process_vm_readv(p->pid, here, n, there, n, 0);
	return got > 0 ? (uint32_t)got / p->span : 0;
}

static struct thread_look
look_of(const struct seen_process *p, const uint8_t *context, int64_t now_ns)
{
	struct thread_look l = { .time_ns = now_ns, .owner_state = BELOW_UNKNOWN };

	memcpy(&l.trace_id, context + p->trace_id, 8);
	memcpy(&l.unit_id, context + p->unit_id, 8);
	l.inside = context[p->probed] != 0 && l.trace_id != 0;
	if (!l.inside)
		l.trace_id = l.unit_id = 0;
	return l;
}

/* A context may change while it is read, or while its thread is looked at: then this look says nothing. Returns how many were read. */
static uint32_t
look_at_batch(struct looks *x, struct seen_process *p, struct seen_thread **threads, uint32_t n)
{
	static uint8_t before[BATCH][SPAN_MAX], after[BATCH][SPAN_MAX];
	static struct thread_look looks[BATCH];
	struct seen_thread *inside[BATCH];
	uint32_t got = read_contexts(p, threads, n, before), ninside = 0, again;
	int64_t now_ns = clock_mono().ns;

	for (uint32_t i = 0; i < got; i++) {
		struct thread_look l = look_of(p, before[i], now_ns);

		if (!l.inside) {
			thread_times_look(&threads[i]->line, &l, x->take, x->of);
		} else if (look_at_thread(x, p, threads[i], &l)) {
			memmove(before[ninside], before[i], p->span);
			looks[ninside] = l;
			inside[ninside++] = threads[i];
		}
	}
	again = ninside > 0 ? read_contexts(p, inside, ninside, after) : 0;
	for (uint32_t i = 0; i < again; i++)
		if (memcmp(before[i], after[i], p->span) == 0)
			thread_times_look(&inside[i]->line, &looks[i], x->take, x->of);
	return got;
}

static void
look_at_all(struct looks *x, struct seen_process *p, struct seen_thread **threads, uint32_t n)
{
	while (n > 0) {
		uint32_t got = look_at_batch(x, p, threads, n);

		if (got == n)
			return;
		threads[got]->pointer = 0; /* it has ended, or its memory is another's */
		p->scanned_ns = 0;
		threads += got + 1;
		n -= got + 1;
	}
}

static void
look_at_process(struct looks *x, struct seen_process *p)
{
	struct seen_thread *batch[BATCH];
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nthreads; i++) {
		struct seen_thread *t = &p->threads[i];

		if (p->all) {
			struct thread_look l = { .inside = true, .owner_state = BELOW_UNKNOWN };

			if (look_at_thread(x, p, t, &l))
				thread_times_look(&t->line, &l, x->take, x->of);
			continue;
		}
		if (t->pointer != 0)
			batch[n++] = t;
		if (n == BATCH) {
			look_at_all(x, p, batch, n);
			n = 0;
		}
	}
	look_at_all(x, p, batch, n);
}

static int64_t
own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The next round: not at regular times, which a periodic program could keep clear of. */
static void
set_due(struct looks *x, int64_t took_ns)
{
	double interval_ns = (double)took_ns / LOOKS_SHARE;

	if (interval_ns < (double)INTERVAL_MIN_NS)
		interval_ns = (double)INTERVAL_MIN_NS;
	x->due.ns = clock_mono().ns + (int64_t)(interval_ns * (0.75 + 0.5 * rng_unit(&x->rng)));
}

/* The mean interval, as a moment of the last seconds sees it: sum of squares / sum. It is told again when it is another. */
static void
note_interval(struct looks *x, int64_t passed_ns)
{
	double passed = (double)passed_ns, part = passed / INTERVAL_MEAN_NS;

	x->interval_ns += (passed - x->interval_ns) * (part < 1 ? part : 1);
	if (x->interval_ns > 1.25 * x->told_ns || x->interval_ns < 0.6 * x->told_ns)
		x->told_ns = x->interval_ns;
}

void
looks_round(struct looks *x, below_take *take, void *of)
{
	struct mono now = clock_mono();
	int64_t cpu_before_ns;

	if (now.ns < x->due.ns)
		return;
	note_interval(x, mono_since_ns(now, x->began));
	x->stack_debt_ns -= LOOKS_SHARE * (double)mono_since_ns(now, x->began);
	x->stack_debt_ns = x->stack_debt_ns > 0 ? x->stack_debt_ns : 0;
	cpu_before_ns = own_cpu_ns();
	x->take = take;
	x->of = of;
	x->began = now;
	for (uint32_t i = x->nprocesses; i-- > 0;)
		if (scan(x, &x->processes[i], now.ns))
			look_at_process(x, &x->processes[i]);
		else
			drop_process(x, i);
	set_due(x, own_cpu_ns() - cpu_before_ns);
}

struct mono
looks_due(const struct looks *x)
{
	return x->due;
}

void
looks_mark(struct looks *x, bool last, below_take *take, void *of)
{
	struct below_message m = { .kind = BELOW_MARK };
	int64_t mark_ns = last ? clock_mono().ns : x->began.ns;

	for (uint32_t i = 0; i < x->nprocesses; i++)
		for (uint32_t k = 0; k < x->processes[i].nthreads; k++) {
			struct thread_times *t = &x->processes[i].threads[k].line;

			if (last)
				thread_times_end(t, take, of);
			else if (thread_times_open_ns(t) <= mark_ns)
				mark_ns = thread_times_open_ns(t) - 1;
		}
	if (mark_ns > x->marked_ns)
		x->marked_ns = mark_ns;
	m.mark_ns = x->marked_ns;
	take(of, &m);
}

/* ---- what is followed ---- */

static bool
set_context(struct seen_process *p, const struct below_follow *f)
{
	uint32_t low = f->trace_id, high = f->trace_id + 8u;

	low = f->unit_id < low ? f->unit_id : low;
	low = f->probed < low ? f->probed : low;
	high = f->unit_id + 8u > high ? f->unit_id + 8u : high;
	high = f->probed + 1u > high ? f->probed + 1u : high;
	if (high - low > SPAN_MAX)
		return false;
	p->from = f->offset + low;
	p->span = high - low;
	p->trace_id = (uint16_t)(f->trace_id - low);
	p->unit_id = (uint16_t)(f->unit_id - low);
	p->probed = (uint16_t)(f->probed - low);
	return true;
}

/* The agent may not read where the contexts lie, or has done so. */
static int
find_context(pid_t pid, struct below_follow *f, struct err *e)
{
	struct hone_context_place place = { 0 };
	enum thread_context c;
	uint64_t address;

	if (f->offset != 0)
		return 0;
	c = thread_context_find(pid, &place, &address);
	if (c != THREAD_CONTEXT_FOUND)
		return err_set(e,
		    c == THREAD_CONTEXT_HIDDEN || c == THREAD_CONTEXT_UNREAD ? ERR_DENIED
									     : ERR_MISSING,
		    "process %d: %s", (int)pid, thread_context_text(c));
	*f = (struct below_follow){ .pid = (uint32_t)pid,
		.offset = place.offset,
		.trace_id = place.trace_id,
		.unit_id = place.unit_id,
		.probed = place.probed };
	return 0;
}

static int
denied(pid_t pid, struct err *e)
{
	return err_set(e, ERR_DENIED,
	    "process %d may not be looked at: it must be of the same user as hone-below (below.user), with no capabilities that "
	    "hone-below lacks, and kernel.yama.ptrace_scope must be 0",
	    (int)pid);
}

static int
check_permitted(pid_t pid, struct err *e)
{
	struct thread_files files = { 0 };
	struct look_call call;
	bool ok = thread_open(&files, pid, pid) && thread_call_read(&files, &call);
	int error = errno;

	thread_close(&files);
	if (ok)
		return 0;
	return error == EACCES || error == EPERM
	           ? denied(pid, e)
	           : err_set(e, ERR_MISSING, "process %d has ended", (int)pid);
}

int
looks_follow(struct looks *x, pid_t pid, const struct below_follow *asked, struct err *e)
{
	struct seen_process p = { .pid = pid, .all = asked == NULL };
	struct below_follow f = { 0 };
	char path[40];
	int rc;

	looks_unfollow(x, pid);
	if (x->nprocesses == PROCESSES_MAX)
		return err_set(
		    e, ERR_FULL, "process %d is not looked at: %d are", (int)pid, PROCESSES_MAX);
	if (asked != NULL && asked->context != BELOW_CONTEXT_HONE)
		return err_set(e, ERR_MISSING,
		    "process %d: its context is that of an OpenTelemetry SDK, which only BPF programs read",
		    (int)pid);
	rc = check_permitted(pid, e);
	if (rc == 0 && asked != NULL) {
		f = *asked;
		rc = find_context(pid, &f, e);
	}
	x->refused += rc == ERR_DENIED;
	if (rc != 0)
		return rc;
	if (asked != NULL && !set_context(&p, &f))
		return err_set(e, ERR_INPUT, "process %d: its contexts are too long", (int)pid);
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if ((p.task = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return err_set(e, ERR_MISSING, "process %d has ended", (int)pid);
	stacks_follow(x->stacks, pid);
	x->processes[x->nprocesses++] = p;
	return 0;
}

void
looks_unfollow(struct looks *x, pid_t pid)
{
	for (uint32_t i = 0; i < x->nprocesses; i++)
		if (x->processes[i].pid == pid) {
			drop_process(x, i);
			return;
		}
}

struct below_can
looks_can(struct looks *x)
{
	if (x->nprocesses == 0 && x->refused > 0) {
		snprintf(x->missing, sizeof x->missing,
		    "%.300s; and threads may not be looked at in /proc, since the programs are of another user than hone-below, or have "
		    "capabilities that it lacks, or kernel.yama.ptrace_scope is not 0",
		    x->why);
		return (struct below_can){ 0, x->missing };
	}
	snprintf(x->missing, sizeof x->missing,
	    "sampled: threads are looked at in /proc each %.0f ms or so, so shorter states may be missed, and who wakes a thread is "
	    "unknown; %.300s",
	    ceil(x->told_ns / 1e6), x->why);
	return (struct below_can){ BELOW_CAN_WAITS | BELOW_CAN_SAMPLES | BELOW_CAN_STACKS |
				       BELOW_CAN_SAMPLED,
		x->missing };
}

/* 0 or more: what Yama permits; -1: it is not there. */
static int
ptrace_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = -1;

	if (f != NULL && fscanf(f, "%d", &scope) != 1)
		scope = -1;
	if (f != NULL)
		fclose(f);
	return scope;
}

int
looks_open(struct looks **ret, const char *why, struct err *e)
{
	struct looks *x;
	struct rlimit files;
	int rc;

	if (ptrace_scope() > 0)
		return err_set(e, ERR_DENIED,
		    "%s; and threads may not be looked at in /proc: kernel.yama.ptrace_scope is not 0",
		    why);
	if (!thread_is_counted(getpid()))
		return err_set(e, ERR_MISSING,
		    "%s; and /proc/PID/task/TID does not say what threads do: it needs CONFIG_SCHED_INFO and CONFIG_HAVE_ARCH_TRACEHOOK",
		    why);
	if ((x = calloc(1, sizeof *x)) == NULL || (x->places = places_new()) == NULL) {
		free(x);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	snprintf(x->why, sizeof x->why, "%s", why);
	x->interval_ns = x->told_ns = (double)INTERVAL_MIN_NS;
	x->marked_ns = INT64_MIN;
	x->began = clock_mono();
	rng_seed(&x->rng, (uint64_t)x->began.ns);
	if ((rc = stacks_open(&x->stacks, &(struct stacks_limits){ 0 }, e)) != 0) {
		looks_close(x);
		return rc;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	*ret = x;
	return 0;
}

void
looks_close(struct looks *x)
{
	if (x == NULL)
		return;
	x->take = NULL;
	while (x->nprocesses > 0)
		drop_process(x, 0);
	stacks_close(x->stacks);
	places_free(x->places);
	free(x);
}

uint64_t
looks_reader_cpu_ns(const struct looks *x)
{
	return stacks_cpu_ns(x->stacks);
}
