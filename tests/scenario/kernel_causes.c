/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests: "kernel_causes PID RECORDING" says what the first thread of a process waited for, by the phase that its name tells: a
 * line "PHASE STATE TIMES NS" for each. Where the recording has contexts and system calls, it goes by these alone, and says how
 * often they contradict what the wake-ups say ("disagree TIMES of TIMES").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/files/kernel_files.h"

enum { CPUS = 1024, DEPTH = 16, PHASES = 64 };

struct stack { /* of contexts of a CPU */
	uint32_t n;
	struct {
		uint8_t kind;
		uint16_t vector;
		bool storage;
	} list[DEPTH];
};

struct phase {
	char name[32];
	uint64_t times[BELOW_STATES], ns[BELOW_STATES];
};

static struct kernel_names names;
static struct stack cpus[CPUS];
static struct phase phases[PHASES];
static uint32_t nphases, pid;
static struct phase *now;
static struct off_cpu off;
static bool is_off, has_contexts, has_calls;
static int call = SYSCALL_NONE;
static uint64_t disagree, compared, lost;

static struct phase *
phase_of(const char *name)
{
	for (uint32_t i = 0; i < nphases; i++)
		if (strcmp(phases[i].name, name) == 0)
			return &phases[i];
	if (nphases == PHASES)
		exit(1);
	snprintf(phases[nphases].name, sizeof phases[0].name, "%s", name);
	return &phases[nphases++];
}

/* What the contexts say; `task`: it is in none. */
static enum wake_context
woken_by(const struct stack *s, enum wake_context task)
{
	if (s->n == 0)
		return task;
	if (s->list[s->n - 1].storage)
		return WAKE_BLOCK;
	if (s->list[s->n - 1].kind == CONTEXT_HRTIMER)
		return WAKE_TIMER;
	if (s->list[s->n - 1].kind != CONTEXT_SOFTIRQ)
		return WAKE_INTERRUPT;
	switch (s->list[s->n - 1].vector) {
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		return WAKE_TIMER;
	case SOFTIRQ_NET_TX:
	case SOFTIRQ_NET_RX:
		return WAKE_NETWORK;
	case SOFTIRQ_BLOCK:
	case SOFTIRQ_BLOCK_POLL:
		return WAKE_BLOCK;
	}
	return WAKE_INTERRUPT;
}

static void
take_waking(const struct kernel_event *ev)
{
	enum wake_context said = (enum wake_context)ev->waking.by, by = said;

	if (has_contexts) {
		by = woken_by(
		    &cpus[ev->cpu % CPUS], said == WAKE_KERNEL_TASK ? WAKE_KERNEL_TASK : WAKE_TASK);
		compared++;
		disagree += by != said;
	}
	if (ev->waking.tid == pid && is_off && off.woken_ns == 0) {
		off.woken_ns = (uint64_t)ev->time_ns;
		off.woken_by = by;
	}
}

/* With those inside it, whose ends were not told. */
static void
end_context(struct stack *s, uint8_t kind)
{
	for (uint32_t n = s->n; n-- > 0;)
		if (s->list[n].kind == kind || s->list[n].storage) {
			s->n = n;
			return;
		}
}

static void
leave(const struct kernel_event *ev)
{
	off = (struct off_cpu){ .out_ns = (uint64_t)ev->time_ns,
		.pid = pid,
		.tid = pid,
		.preempted = (ev->flags & SWITCH_ASLEEP) == 0,
		.in_iowait = (ev->flags & SWITCH_IOWAIT) != 0,
		.uninterruptible = (ev->flags & SWITCH_UNINTERRUPTIBLE) != 0,
		.syscall = has_calls ? call : ev->change.syscall,
		.owner = ev->change.owner };
	is_off = true;
}

static void
enter(const struct kernel_event *ev)
{
	struct wait_part parts[WAIT_PARTS_MAX];
	int n;

	off.in_ns = (uint64_t)ev->time_ns;
	n = off_cpu_parts(&off, parts);
	for (int i = 0; is_off && now != NULL && i < n; i++) {
		now->times[parts[i].state]++;
		now->ns[parts[i].state] += parts[i].to_ns - parts[i].from_ns;
	}
	is_off = false;
}

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct stack *s = &cpus[ev->cpu % CPUS];

	(void)of;
	(void)e;
	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_SWITCH:
		s->n = 0;
		if (ev->change.next_tid == pid && is_off)
			enter(ev);
		if (ev->tid == pid)
			leave(ev);
		break;
	case KERNEL_WAKING:
		take_waking(ev);
		break;
	case KERNEL_NAME:
		if (ev->tid == pid)
			now = phase_of(texts_get(names.texts, ev->thread.name));
		break;
	case KERNEL_CONTEXT_IN:
		has_contexts = true;
		if (s->n < DEPTH) {
			s->list[s->n].kind = ev->context.kind;
			s->list[s->n].vector = ev->context.vector;
			s->list[s->n++].storage = false;
		}
		break;
	case KERNEL_CONTEXT_OUT:
		end_context(s, ev->context.kind);
		break;
	case KERNEL_BLOCK_DONE:
		if (s->n > 0)
			s->list[s->n - 1].storage = true;
		break;
	case KERNEL_SYSCALL_IN:
		has_calls = true;
		if (ev->tid == pid)
			call = ev->call.number;
		break;
	case KERNEL_SYSCALL_OUT:
		if (ev->tid == pid)
			call = SYSCALL_NONE;
		break;
	case KERNEL_LOST:
		lost += ev->lost.count;
		break;
	default:
		break;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	const struct kernel_files_options o = { .raw_times = true, .take = take };
	struct kernel_files_counts counts;
	struct err e = { 0 };
	int rc;

	if (argc != 3 || kernel_names_new(&names, &e) != 0)
		return 1;
	pid = (uint32_t)atoi(argv[1]);
	rc = kernel_files_read(argv + 2, 1, &o, &names, &counts, &e);
	if (rc != 0)
		fprintf(stderr, "kernel_causes: %s\n", e.text);
	for (uint32_t i = 0; i < nphases; i++)
		for (int k = 0; k < BELOW_STATES; k++)
			if (phases[i].times[k] > 0)
				printf("%s %s %llu %llu\n", phases[i].name,
				    below_state_word((enum below_state)k),
				    (unsigned long long)phases[i].times[k],
				    (unsigned long long)phases[i].ns[k]);
	printf("disagree %llu of %llu\nlost %llu\n", (unsigned long long)disagree,
	    (unsigned long long)compared, (unsigned long long)lost);
	kernel_names_release(&names);
	return rc == 0 ? 0 : 1;
}
