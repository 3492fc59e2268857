/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each event goes to the file that knows what it means:
 *
 *	requests.c --> request_messages.c --> request_channels.c --> request_traces.c
 *	          \--> request_waits.c    --> request_threads.c  --/
 */
#include "kernel/requests/requests.h"

#include <stdlib.h>

#include "base/texts.h"
#include "kernel/requests/requests_inside.h"

enum { FEWEST = 16 };

struct requests_options
requests_defaults(void)
{
	return (struct requests_options){ .rule = RULE_CURRENT,
		.traces_max = 65536,
		.records_max = 1 << 19,
		.records_each = 20000,
		.threads_max = 65536,
		.connections_max = 65536,
		.hold_ns = INT64_C(1000000000),
		.patience_ns = INT64_C(60000000000) };
}

static uint32_t
at_least(uint32_t n)
{
	return n > FEWEST ? n : FEWEST;
}

static bool
init_pools(struct requests *r)
{
	const struct requests_options *o = &r->o;
	uint32_t records = at_least(o->records_max), channels = at_least(o->connections_max);

	return handle_pool_init(
		   &r->traces, sizeof(struct request_trace), at_least(o->traces_max)) &&
	       handle_pool_init(&r->records, sizeof(struct unit_record), records) &&
	       handle_pool_init(&r->units, sizeof(struct request_unit), records / 2) &&
	       handle_pool_init(
		   &r->threads, sizeof(struct task_thread), at_least(o->threads_max)) &&
	       handle_pool_init(
		   &r->processes, sizeof(struct task_process), at_least(o->threads_max)) &&
	       handle_pool_init(&r->channels, sizeof(struct tcp_channel), channels) &&
	       handle_pool_init(
		   &r->exchanges, sizeof(struct message_exchange), channels * 2 + EXCHANGES_MAX) &&
	       handle_pool_init(
		   &r->calls, sizeof(struct exchange_call), channels * 4 + EXCHANGES_MAX) &&
	       handle_pool_init(&r->cpus, sizeof(struct cpu_contexts), CPUS_MAX);
}

int
requests_new(struct requests **ret, const struct requests_options *o, struct kernel_names *names,
    struct labels *labels, struct err *e)
{
	struct requests *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	r->o = *o;
	r->names = names;
	r->labels = labels;
	r->now_ns = INT64_MIN;
	r->builder = trace_builder_new();
	r->types = texts_new();
	for (uint32_t i = 0; i <= KERNEL_HOSTS_MAX; i++)
		r->nodes[i] = "";
	if (r->builder == NULL || r->types == NULL || !init_pools(r) ||
	    texts_intern(r->types, "", 0) != 0) {
		requests_free(r);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	*ret = r;
	return 0;
}

void
requests_free(struct requests *r)
{
	if (r == NULL)
		return;
	trace_builder_free(r->builder);
	texts_free(r->types);
	map_release(&r->thread_of);
	map_release(&r->process_of);
	map_release(&r->channel_of);
	map_release(&r->cpu_of);
	map_release(&r->serving);
	handle_pool_release(&r->traces);
	handle_pool_release(&r->records);
	handle_pool_release(&r->units);
	handle_pool_release(&r->threads);
	handle_pool_release(&r->processes);
	handle_pool_release(&r->channels);
	handle_pool_release(&r->exchanges);
	handle_pool_release(&r->calls);
	handle_pool_release(&r->cpus);
	free(r);
}

/* What was known of threads and connections is not certain any more. Requests of that time are lossy. */
static void
take_loss(struct requests *r, const struct kernel_event *ev)
{
	int64_t from_ns = ev->lost.from_ns < r->now_ns ? ev->lost.from_ns : r->now_ns;
	uint32_t i = r->nlosses;

	r->counts.losses++;
	r->counts.lost += ev->lost.count;
	r->epoch++;
	if (i == LOSSES_MAX || (i > 0 && r->losses[i - 1].to_ns >= from_ns)) {
		i--;
		from_ns = r->losses[i].from_ns < from_ns ? r->losses[i].from_ns : from_ns;
	} else {
		r->nlosses++;
	}
	r->losses[i].from_ns = from_ns;
	r->losses[i].to_ns = r->now_ns;
}

/* A message may change the context of its thread. */
static void
note_run(struct requests *r, const struct kernel_event *ev)
{
	struct task_thread *t;

	if ((ev->kind == KERNEL_SEND || ev->kind == KERNEL_RECEIVE) &&
	    (t = thread_of(r, ev->host, ev->tid, ev->pid)) != NULL)
		waits_ran(r, t);
}

static void
dispatch(struct requests *r, const struct kernel_event *ev)
{
	note_run(r, ev);
	switch (ev->kind) {
	case KERNEL_SEND:
		messages_send(r, ev);
		return;
	case KERNEL_RECEIVE:
		messages_receive(r, ev);
		return;
	case KERNEL_SWITCH:
		waits_switch(r, ev);
		return;
	case KERNEL_WAKING:
		waits_waking(r, ev);
		return;
	case KERNEL_FORK:
		threads_fork(r, ev);
		return;
	case KERNEL_EXIT:
		threads_exit(r, ev);
		return;
	case KERNEL_NAME:
		threads_name(r, ev);
		return;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		waits_context(r, ev);
		return;
	case KERNEL_BLOCK_DONE:
		waits_block_done(r, ev);
		return;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		waits_syscall(r, ev);
		return;
	case KERNEL_COUNTED:
		waits_counted(r, ev);
		return;
	case KERNEL_LOST:
		take_loss(r, ev);
		return;
	case KERNEL_PACKET_IN:
	case KERNEL_PACKET_OUT:
	case KERNEL_STACK:
		return;
	}
	r->counts.malformed++;
}

int
requests_event(void *requests, const struct kernel_event *ev, struct err *e)
{
	struct requests *r = requests;

	r->e = e;
	r->counts.events++;
	/* Room for sums and differences: 73 years before or after the beginning. */
	if (ev->time_ns > INT64_MAX / 4 || ev->time_ns < -(INT64_MAX / 4) ||
	    ev->host >= KERNEL_HOSTS_MAX) {
		r->counts.malformed++;
		return r->rc;
	}
	if (r->now_ns == INT64_MIN)
		r->begun_ns = ev->time_ns;
	if (ev->time_ns < r->now_ns)
		r->counts.back_in_time++;
	else
		r->now_ns = ev->time_ns;
	dispatch(r, ev);
	traces_pass(r, r->now_ns - r->o.hold_ns, r->now_ns - r->o.patience_ns);
	return r->rc;
}

int
requests_pass(struct requests *r, int64_t until_ns, struct err *e)
{
	r->e = e;
	if (r->now_ns == INT64_MIN) /* no event yet */
		return r->rc;
	if (until_ns > r->now_ns && until_ns <= INT64_MAX / 4)
		r->now_ns = until_ns;
	traces_pass(r, r->now_ns - r->o.hold_ns, r->now_ns - r->o.patience_ns);
	return r->rc;
}

int
requests_end(struct requests *r, struct err *e)
{
	r->e = e;
	for (struct recent *i = r->by_thread.oldest; i != NULL; i = i->newer)
		worker_resolve(r,
		    (struct task_thread *)((char *)i - offsetof(struct task_thread, recent)), NULL);
	r->ended = true;
	traces_pass(r, INT64_MAX, INT64_MAX);
	return r->rc;
}

void
requests_counts(const struct requests *r, struct requests_counts *ret)
{
	*ret = r->counts;
}

const char *const *
requests_nodes(const struct requests *r)
{
	return r->nodes;
}
