/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/spans/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "kernel/spans/segments.h"

enum { ERRNO_MAX = 4095, CALL_NONE = UINT32_MAX };

struct open_call { /* that began on a thread */
	bool is;
	struct span_call call;
};

struct span_thread_state { /* of each thread of the segments */
	struct open_call open;
	uint32_t at;        /* the first of its segments that ends after all earlier events */
	uint32_t last_call; /* listed call that ended, since which none began; CALL_NONE */
	uint32_t cpu;       /* + 1: the last one it ran on; 0: not known */
};

struct annotate {
	struct annotate_options o;
	const struct kernel_names *names;
	struct span_node *nodes;
	uint32_t nnodes;
	struct span_segments segments;
	struct span_thread_state *threads; /* one for each of segments.threads */
	struct hash_table by_tid;          /* host and tid -> thread */
	struct span_result *results;
	struct span_call *calls;
	struct span_sum *sums;
	uint32_t ncalls, calls_cap, nsums, sums_cap;
	struct hash_table by_name; /* span, kind and name -> sum */
	struct annotate_counts counts;
	int64_t *lost_ns; /* of each host: until then events were lost */
	uint32_t nlost, lost_cap;
	bool *wanted; /* [KERNEL number of system calls]; NULL: all */
	uint32_t nwanted;
	size_t fixed_bytes; /* of spans and segments */
	/* after the end: where each annotated thread's lives are */
	const struct kernel_thread **lives; /* by host, tid and begin */
	uint32_t nlives;
};

const char *
span_state_word(unsigned state)
{
	return state == SPAN_PREEMPTED ? "preempted" : below_state_word((enum below_state)state);
}

/* ---- which calls count ---- */

static const char *
name_of(const struct annotate *a, int32_t number, uint32_t name)
{
	const char *known = name == 0 ? kernel_syscall_name(number) : NULL;

	return name != 0 ? texts_get(a->names->texts, name) : known != NULL ? known : "";
}

static bool
is_listed(const struct annotate_options *o, const char *name)
{
	for (uint32_t i = 0; i < o->ncalls; i++)
		if (strcmp(o->calls[i], name) == 0)
			return true;
	return false;
}

static bool
is_wanted(const struct annotate *a, const struct span_call *c)
{
	if (a->wanted == NULL)
		return true;
	if (c->name == 0 && c->number >= 0 && (uint32_t)c->number < a->nwanted)
		return a->wanted[c->number];
	return is_listed(&a->o, name_of(a, c->number, c->name));
}

static bool
choose_calls(struct annotate *a)
{
	enum { NUMBERS = 1024 };

	if (a->o.ncalls == 0)
		return true;
	if ((a->wanted = calloc(NUMBERS, sizeof *a->wanted)) == NULL)
		return false;
	a->nwanted = NUMBERS;
	for (uint32_t i = 0; i < a->o.ncalls; i++) {
		int number = kernel_syscall_number(a->o.calls[i]);

		if (number >= 0 && number < NUMBERS)
			a->wanted[number] = true;
	}
	return true;
}

/* ---- begin and end ---- */

static uint64_t
thread_key(uint32_t host, uint32_t tid)
{
	return hash_u64((uint64_t)host << 32 | tid);
}

static int
index_threads(struct annotate *a, struct err *e)
{
	const struct span_segments *s = &a->segments;

	a->threads = calloc((size_t)s->nthreads + 1, sizeof *a->threads);
	if (a->threads == NULL || !hash_table_reserve(&a->by_tid, s->nthreads))
		return err_set(e, ERR_MEMORY, "no memory for %u threads", s->nthreads);
	for (uint32_t i = 0; i < s->nthreads; i++) {
		a->threads[i].at = s->threads[i].first;
		a->threads[i].last_call = CALL_NONE;
		if (!hash_table_put(
			&a->by_tid, thread_key(s->threads[i].host, s->threads[i].tid), i))
			return err_set(e, ERR_MEMORY, "no memory for %u threads", s->nthreads);
	}
	return 0;
}

int
annotate_new(struct annotate **ret, const struct annotate_options *o,
    const struct kernel_names *names, const struct span_node *spans, uint32_t nspans,
    const struct span_place *places, size_t nplaces, struct err *e)
{
	struct annotate *a = calloc(1, sizeof *a);
	struct span_place *own = calloc(nplaces + 1, sizeof *own);
	int rc;

	*ret = NULL;
	if (a != NULL) {
		a->o = *o;
		a->names = names;
		a->nnodes = nspans;
		a->nodes = calloc((size_t)nspans + 1, sizeof *a->nodes);
		a->results = calloc((size_t)nspans + 1, sizeof *a->results);
	}
	if (a == NULL || own == NULL || a->nodes == NULL || a->results == NULL ||
	    !choose_calls(a)) {
		free(own);
		annotate_free(a);
		return err_set(e, ERR_MEMORY, "no memory for %u spans", nspans);
	}
	if (a->o.memory_max_bytes == 0)
		a->o.memory_max_bytes = SPAN_MEMORY_BYTES;
	if (a->o.calls_max == 0)
		a->o.calls_max = SPAN_CALLS_MAX;
	a->counts.lean = true;
	a->counts.first_ns = INT64_MAX;
	a->counts.last_ns = INT64_MIN;
	a->fixed_bytes = nspans * (sizeof *a->nodes + sizeof *a->results) + nplaces * sizeof *own;
	if (nspans > 0)
		memcpy(a->nodes, spans, nspans * sizeof *spans);
	if (nplaces > 0)
		memcpy(own, places, nplaces * sizeof *own);
	if (a->fixed_bytes > a->o.memory_max_bytes)
		rc = err_set(e, ERR_FULL, "%u spans in %zu places need more than the memory limit",
		    nspans, nplaces);
	else if ((rc = span_nodes_mend(a->nodes, nspans, e)) == 0)
		rc = span_segments_make(&a->segments, a->nodes, nspans, own, nplaces, a->results,
		    a->o.memory_max_bytes - a->fixed_bytes, e);
	free(own);
	if (rc == 0)
		rc = index_threads(a, e);
	a->counts.ignored_places = a->segments.ignored;
	a->counts.crowded = a->segments.crowded;
	a->fixed_bytes += a->segments.list_cap * sizeof *a->segments.list +
	                  a->segments.chains_cap * sizeof *a->segments.chains +
	                  a->segments.nthreads * (sizeof *a->threads + sizeof *a->segments.threads);
	if (rc != 0)
		annotate_free(a);
	else
		*ret = a;
	return rc;
}

void
annotate_free(struct annotate *a)
{
	if (a == NULL)
		return;
	span_segments_release(&a->segments);
	hash_table_release(&a->by_tid);
	hash_table_release(&a->by_name);
	free(a->nodes);
	free(a->threads);
	free(a->results);
	free(a->calls);
	free(a->sums);
	free(a->lost_ns);
	free(a->wanted);
	free(a->lives);
	free(a);
}

/* ---- sums ---- */

static int
check_memory(const struct annotate *a, struct err *e)
{
	if (a->fixed_bytes + a->calls_cap * sizeof *a->calls + a->sums_cap * sizeof *a->sums <=
	    a->o.memory_max_bytes)
		return 0;
	return err_set(e, ERR_FULL,
	    "the calls of spans need more than the memory limit; a higher threshold for calls needs less");
}

/* The sum for this span, kind and name, which is made if there is none. NULL: *rc is set. */
static struct span_sum *
sum_of(struct annotate *a, uint32_t span, enum span_sum_kind kind, int32_t number, uint32_t name,
    int *rc, struct err *e)
{
	uint64_t key = hash_u64(span + hash_u64((uint64_t)kind << 32 | name) +
				hash_u64((uint64_t)(uint32_t)number << 8 | 1));
	struct hash_slot *s = hash_table_first(&a->by_name, key);

	for (; s != NULL; s = hash_table_next(&a->by_name, s)) {
		struct span_sum *is = &a->sums[s->entry];

		if (is->span == span && is->kind == kind && is->number == number &&
		    is->name == name)
			return is;
	}
	if (!array_reserve(a->sums, a->sums_cap, a->nsums + 1) ||
	    !hash_table_put(&a->by_name, key, a->nsums)) {
		*rc = err_set(e, ERR_MEMORY, "no memory for the calls of spans");
		return NULL;
	}
	if ((*rc = check_memory(a, e)) != 0)
		return NULL;
	a->sums[a->nsums] = (struct span_sum){
		.span = span, .kind = (uint8_t)kind, .number = number, .name = name
	};
	return &a->sums[a->nsums++];
}

/* ---- whose time ---- */

/* The segment of the thread that a time lies in, or NULL. Times of a thread that go back are searched for. O(1) amortised. */
static const struct span_segment *
segment_at(struct annotate *a, uint32_t thread, int64_t at_ns)
{
	const struct span_thread *t = &a->segments.threads[thread];
	uint32_t last = t->first + t->nsegments, *at = &a->threads[thread].at;
	const struct span_segment *s = a->segments.list;

	while (*at < last && s[*at].to_ns <= at_ns)
		++*at;
	if (*at < last && s[*at].from_ns <= at_ns)
		return &s[*at];
	/* an event of an earlier time: a call that began before the last counted event */
	for (uint32_t i = *at; i > t->first && s[i - 1].to_ns > at_ns; i--)
		if (s[i - 1].from_ns <= at_ns)
			return &s[i - 1];
	return NULL;
}

static uint32_t
owner_in(const struct annotate *a, const struct span_segment *s)
{
	return s != NULL && s->chain > 0 ? a->segments.chains[s->first] : SPAN_NONE;
}

/* ---- calls ---- */

static int
list_call(struct annotate *a, uint32_t thread, const struct span_call *c, struct span_sum *sum,
    struct err *e)
{
	struct span_result *r = &a->results[c->span];

	if (r->ncalls >= a->o.calls_max) {
		r->calls_left_out++;
		return 0;
	}
	if (!array_reserve(a->calls, a->calls_cap, a->ncalls + 1))
		return err_set(e, ERR_MEMORY, "no memory for the calls of spans");
	sum->listed++;
	r->ncalls++;
	a->threads[thread].last_call = a->ncalls;
	a->calls[a->ncalls++] = *c;
	return check_memory(a, e);
}

/* A call that ended, or that the recording or the thread ended. */
static int
take_call(struct annotate *a, uint32_t thread, struct span_call *c, struct err *e)
{
	int64_t duration_ns = c->end_ns - c->begin_ns;
	bool middle = a->o.by_middle && (c->flags & SPAN_CALL_BEGIN) != 0 &&
	              (c->flags & SPAN_CALL_END) != 0;
	const struct span_segment *s = segment_at(
	    a, thread, c->begin_ns + (middle ? duration_ns / 2 : 0));
	struct span_sum *sum;
	int rc = 0;

	a->counts.calls++;
	a->threads[thread].last_call = CALL_NONE;
	c->span = owner_in(a, s);
	if (c->span == SPAN_NONE) {
		a->counts.calls_outside += s == NULL;
		a->counts.calls_shared += s != NULL;
		return 0;
	}
	if (!is_wanted(a, c))
		return 0;
	if ((sum = sum_of(a, c->span, SPAN_SUM_CALL, c->number, c->name, &rc, e)) == NULL)
		return rc;
	sum->count++;
	sum->total_ns += duration_ns;
	if (duration_ns > sum->max_ns)
		sum->max_ns = duration_ns;
	sum->failed += c->flags & SPAN_CALL_END && c->result < 0 && c->result >= -ERRNO_MAX;
	return duration_ns >= a->o.call_over_ns ? list_call(a, thread, c, sum, e) : 0;
}

static void
begin_call(struct annotate *a, uint32_t thread, const struct kernel_event *ev)
{
	struct span_thread_state *t = &a->threads[thread];

	a->counts.without_end += t->open.is;
	t->last_call = CALL_NONE;
	t->open.is = true;
	t->open.call = (struct span_call){ .begin_ns = ev->time_ns,
		.argument = ev->call.value,
		.host = ev->host,
		.tid = ev->tid,
		.number = ev->call.number,
		.name = ev->call.number >= 0 ? 0 : ev->call.name,
		.flags = SPAN_CALL_BEGIN };
}

static bool
was_loss(const struct annotate *a, uint32_t host, int64_t since_ns)
{
	return host < a->nlost && a->lost_ns[host] >= since_ns;
}

static int
end_call(struct annotate *a, uint32_t thread, const struct kernel_event *ev, struct err *e)
{
	struct span_thread_state *t = &a->threads[thread];
	struct span_call *c = &t->open.call;
	uint32_t name = ev->call.number >= 0 ? 0 : ev->call.name;

	if (!t->open.is) {
		a->counts.without_begin++;
		return 0;
	}
	t->open.is = false;
	if (was_loss(a, ev->host, c->begin_ns)) {
		a->counts.lost_calls++;
		return 0;
	}
	if (c->begin_ns > ev->time_ns ||
	    (ev->call.number != SYSCALL_UNKNOWN && c->number != ev->call.number) ||
	    (ev->call.number == SYSCALL_UNKNOWN && name != 0 && c->name != name)) {
		a->counts.mismatched++;
		return 0;
	}
	c->end_ns = ev->time_ns;
	c->result = ev->call.value;
	c->flags |= SPAN_CALL_END;
	return take_call(a, thread, c, e);
}

/* The thread ends in a call, as in exit(2). */
static int
break_off(struct annotate *a, uint32_t thread, int64_t at_ns, struct err *e)
{
	struct open_call *open = &a->threads[thread].open;

	if (!open->is)
		return 0;
	open->is = false;
	if (was_loss(a, open->call.host, open->call.begin_ns)) {
		a->counts.lost_calls++;
		return 0;
	}
	open->call.end_ns = at_ns > open->call.begin_ns ? at_ns : open->call.begin_ns;
	return take_call(a, thread, &open->call, e);
}

/* ---- other events ---- */

static int
take_message(struct annotate *a, uint32_t thread, const struct kernel_event *ev)
{
	struct span_thread_state *t = &a->threads[thread];
	struct span_call *c = t->open.is                  ? &t->open.call
	                      : t->last_call != CALL_NONE ? &a->calls[t->last_call]
	                                                  : NULL;

	if (c != NULL) {
		c->connection = ev->message.connection + 1;
		c->bytes += ev->message.bytes;
	}
	return 0;
}

static int
count_for(struct annotate *a, uint32_t thread, int64_t at_ns, enum span_sum_kind kind,
    uint32_t name, uint64_t times, struct err *e)
{
	uint32_t span = owner_in(a, segment_at(a, thread, at_ns));
	struct span_sum *sum;
	int rc = 0;

	if (span == SPAN_NONE)
		return 0;
	if ((sum = sum_of(a, span, kind, SYSCALL_NONE, name, &rc, e)) != NULL)
		sum->count += times;
	return rc;
}

/* A stack belongs to the call that it was taken in, or at whose end. */
static int
take_stack(struct annotate *a, uint32_t thread, const struct kernel_event *ev, struct err *e)
{
	struct span_thread_state *t = &a->threads[thread];

	if (t->open.is) {
		t->open.call.stack = ev->stack.folded;
		return 0;
	}
	if (t->last_call != CALL_NONE) {
		a->calls[t->last_call].stack = ev->stack.folded;
		return 0;
	}
	return count_for(a, thread, ev->time_ns, SPAN_SUM_STACK, ev->stack.folded, 1, e);
}

static void
run_on(struct annotate *a, const struct kernel_event *ev)
{
	uint32_t thread = hash_table_find(&a->by_tid, thread_key(ev->host, ev->change.next_tid)),
		 span;
	struct span_thread_state *t;

	if (thread == HASH_TABLE_NONE)
		return;
	t = &a->threads[thread];
	if (t->cpu != 0 && t->cpu != ev->cpu + 1u &&
	    (span = owner_in(a, segment_at(a, thread, ev->time_ns))) != SPAN_NONE)
		a->results[span].migrations++;
	t->cpu = ev->cpu + 1u;
}

static int
take_loss(struct annotate *a, const struct kernel_event *ev, struct err *e)
{
	a->counts.losses++;
	if (ev->host >= KERNEL_HOSTS_MAX)
		return 0;
	if (!array_reserve(a->lost_ns, a->lost_cap, ev->host + 1u))
		return err_set(e, ERR_MEMORY, "no memory for hosts");
	while (a->nlost <= ev->host)
		a->lost_ns[a->nlost++] = INT64_MIN;
	if (a->lost_ns[ev->host] < ev->time_ns)
		a->lost_ns[ev->host] = ev->time_ns;
	return 0;
}

int
annotate_take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct annotate *a = of;
	uint32_t thread;

	if (ev->time_ns < a->counts.first_ns)
		a->counts.first_ns = ev->time_ns;
	if (ev->time_ns > a->counts.last_ns)
		a->counts.last_ns = ev->time_ns;
	if (ev->kind == KERNEL_SWITCH)
		run_on(a, ev);
	else if (ev->kind == KERNEL_LOST)
		return take_loss(a, ev, e);
	else if (ev->kind == KERNEL_SYSCALL_OUT || ev->kind == KERNEL_SYSCALL_IN)
		a->counts.lean = false;
	thread = hash_table_find(&a->by_tid, thread_key(ev->host, ev->tid));
	if (thread == HASH_TABLE_NONE)
		return 0;
	switch (ev->kind) {
	case KERNEL_SYSCALL_IN:
		begin_call(a, thread, ev);
		return 0;
	case KERNEL_SYSCALL_OUT:
		return end_call(a, thread, ev, e);
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		return take_message(a, thread, ev);
	case KERNEL_COUNTED:
		return count_for(a, thread, ev->time_ns, SPAN_SUM_COUNTED, ev->counted.name,
		    ev->counted.value, e);
	case KERNEL_STACK:
		return take_stack(a, thread, ev, e);
	case KERNEL_EXIT:
		return break_off(a, thread, ev->time_ns, e);
	}
	return 0;
}

/* ---- the states of a thread ---- */

static bool
is_wait(const struct kernel_interval *i)
{
	return i->state != BELOW_RUNNING && i->state != BELOW_READY && i->state != BELOW_UNKNOWN;
}

/* Of an interval of a thread's life, with READY divided. */
static unsigned
state_of(const struct kernel_thread *t, uint32_t i)
{
	unsigned state = t->intervals[i].state < BELOW_STATES ? t->intervals[i].state
	                                                      : BELOW_UNKNOWN;

	return state == BELOW_READY && i > 0 && t->intervals[i - 1].state == BELOW_RUNNING
	           ? SPAN_PREEMPTED
	           : state;
}

static int
compare_lives(const void *x, const void *y)
{
	const struct kernel_thread *a = *(const struct kernel_thread *const *)x,
				   *b = *(const struct kernel_thread *const *)y;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Lives of the threads that have places. */
static int
find_lives(struct annotate *a, const struct kernel_graph *g, struct err *e)
{
	uint32_t n = kernel_graph_count(g), kept = 0;
	const struct kernel_thread *t;

	for (uint32_t i = 0; i < n; i++) {
		t = kernel_graph_thread(g, i);
		kept += !t->is_worker &&
		        hash_table_find(&a->by_tid, thread_key(t->host, t->tid)) != HASH_TABLE_NONE;
	}
	if ((a->lives = calloc((size_t)kept + 1, sizeof *a->lives)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for %u threads", kept);
	for (uint32_t i = 0; i < n; i++) {
		t = kernel_graph_thread(g, i);
		if (!t->is_worker &&
		    hash_table_find(&a->by_tid, thread_key(t->host, t->tid)) != HASH_TABLE_NONE)
			a->lives[a->nlives++] = t;
	}
	qsort(a->lives, a->nlives, sizeof *a->lives, compare_lives);
	return 0;
}

/* The first life of this thread in a->lives, and past the last one. */
static void
lives_of(const struct annotate *a, uint32_t host, uint32_t tid, uint32_t *first, uint32_t *end)
{
	uint32_t low = 0, high = a->nlives;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct kernel_thread *t = a->lives[middle];

		if (t->host < host || (t->host == host && t->tid < tid))
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	while (low < a->nlives && a->lives[low]->host == host && a->lives[low]->tid == tid)
		low++;
	*end = low;
}

/* Adds a piece of time in a state to the owner of a segment and to the chosen spans around it. */
static void
add_time(struct annotate *a, const struct span_segment *s, unsigned state, int64_t ns)
{
	const uint32_t *chain = &a->segments.chains[s->first];

	a->results[chain[0]].self_ns[state] += ns;
	for (uint32_t i = 0; i < s->chain; i++)
		a->results[chain[i]].state_ns[state] += ns;
}

static void
add_unseen(struct annotate *a, const struct span_segment *s, int64_t ns)
{
	add_time(a, s, BELOW_UNKNOWN, ns);
	a->results[a->segments.chains[s->first]].unseen_ns += ns;
}

/* The first interval that ends after this time; nintervals: none. */
static uint32_t
first_after(const struct kernel_thread *t, int64_t at_ns)
{
	uint32_t low = 0, high = t->nintervals;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->intervals[middle].to_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
add_states(struct annotate *a, const struct span_segment *s, uint32_t life, uint32_t end)
{
	int64_t at_ns = s->from_ns, to_ns;

	for (; life < end && at_ns < s->to_ns; life++) {
		const struct kernel_thread *t = a->lives[life];

		for (uint32_t i = first_after(t, at_ns); i < t->nintervals && at_ns < s->to_ns;
		     i++) {
			const struct kernel_interval *is = &t->intervals[i];
			unsigned state = state_of(t, i);

			if (is->from_ns >= s->to_ns)
				break;
			if (is->from_ns > at_ns) {
				add_unseen(a, s, is->from_ns - at_ns);
				at_ns = is->from_ns;
			}
			to_ns = is->to_ns < s->to_ns ? is->to_ns : s->to_ns;
			if (to_ns <= at_ns)
				continue;
			add_time(a, s, state, to_ns - at_ns);
			a->results[a->segments.chains[s->first]].begun[state] += is->from_ns >=
			                                                         s->from_ns;
			at_ns = to_ns;
		}
	}
	if (at_ns < s->to_ns)
		add_unseen(a, s, s->to_ns - at_ns);
}

static void
add_all_states(struct annotate *a)
{
	for (uint32_t i = 0; i < a->segments.nthreads; i++) {
		const struct span_thread *t = &a->segments.threads[i];
		const struct span_segment *s = &a->segments.list[t->first];
		uint32_t life, end;

		lives_of(a, t->host, t->tid, &life, &end);
		for (uint32_t k = 0; k < t->nsegments; k++) {
			while (life < end && a->lives[life]->end_ns <= s[k].from_ns)
				life++;
			if (s[k].chain > 0)
				add_states(a, &s[k], life, end);
		}
	}
}

/* ---- the end ---- */

/* A lean recording: the time that a thread was off its CPU in one call. */
static int
take_blocked(struct annotate *a, uint32_t thread, const struct kernel_thread *t, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0, to; i < t->nintervals && rc == 0; i = to) {
		const struct kernel_interval *is = &t->intervals[i];
		struct span_call c = { .begin_ns = is->from_ns,
			.host = t->host,
			.tid = t->tid,
			.number = is->syscall,
			.flags = SPAN_CALL_BLOCKED };

		to = i + 1;
		if (!is_wait(is) || is->syscall < 0)
			continue;
		while (to < t->nintervals && t->intervals[to].state == BELOW_READY)
			to++;
		c.end_ns = t->intervals[to - 1].to_ns;
		rc = take_call(a, thread, &c, e);
	}
	return rc;
}

static int
take_all_blocked(struct annotate *a, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->nlives && rc == 0; i++) {
		const struct kernel_thread *t = a->lives[i];
		uint32_t thread = hash_table_find(&a->by_tid, thread_key(t->host, t->tid));

		if (i == 0 || a->lives[i - 1]->host != t->host || a->lives[i - 1]->tid != t->tid)
			a->threads[thread].at = a->segments.threads[thread].first;
		rc = take_blocked(a, thread, t, e);
	}
	return rc;
}

static int
compare_calls(const void *x, const void *y)
{
	const struct span_call *a = x, *b = y;

	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static int
compare_sums(const void *x, const void *y)
{
	const struct span_sum *a = x, *b = y;

	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

static void
arrange(struct annotate *a)
{
	if (a->ncalls > 0)
		qsort(a->calls, a->ncalls, sizeof *a->calls, compare_calls);
	if (a->nsums > 0)
		qsort(a->sums, a->nsums, sizeof *a->sums, compare_sums);
	hash_table_release(&a->by_name);
	for (uint32_t i = a->ncalls; i > 0; i--)
		a->results[a->calls[i - 1].span].first_call = i - 1;
	for (uint32_t i = a->nsums; i > 0; i--) {
		a->results[a->sums[i - 1].span].first_sum = i - 1;
		a->results[a->sums[i - 1].span].nsums++;
	}
}

int
annotate_end(struct annotate *a, const struct kernel_graph *g, struct err *e)
{
	int rc = find_lives(a, g, e);

	for (uint32_t i = 0; i < a->segments.nthreads && rc == 0; i++)
		rc = break_off(a, i, a->counts.last_ns, e);
	if (rc == 0 && a->counts.lean)
		rc = take_all_blocked(a, e);
	if (rc != 0)
		return rc;
	add_all_states(a);
	arrange(a);
	return 0;
}

/* ---- being asked ---- */

const struct span_result *
annotate_result(const struct annotate *a, uint32_t span)
{
	return &a->results[span];
}

const struct span_call *
annotate_calls(const struct annotate *a)
{
	return a->calls;
}

const struct span_sum *
annotate_sums(const struct annotate *a)
{
	return a->sums;
}

struct annotate_counts
annotate_counts(const struct annotate *a)
{
	return a->counts;
}

struct span_call_detail
annotate_detail(const struct annotate *a, const struct span_call *of)
{
	struct span_call_detail d = { .waker = KERNEL_THREAD_NONE };
	int64_t at_ns = of->begin_ns, to_ns;
	uint32_t life, end;

	lives_of(a, of->host, of->tid, &life, &end);
	for (; life < end && at_ns < of->end_ns; life++) {
		const struct kernel_thread *t = a->lives[life];

		for (uint32_t i = first_after(t, at_ns); i < t->nintervals && at_ns < of->end_ns;
		     i++) {
			const struct kernel_interval *is = &t->intervals[i];

			if (is->from_ns >= of->end_ns)
				break;
			if (is->from_ns > at_ns) {
				d.state_ns[BELOW_UNKNOWN] += is->from_ns - at_ns;
				at_ns = is->from_ns;
			}
			to_ns = is->to_ns < of->end_ns ? is->to_ns : of->end_ns;
			d.state_ns[state_of(t, i)] += to_ns - at_ns;
			if (is_wait(is) && to_ns - at_ns > d.wait_ns) {
				d.wait_ns = to_ns - at_ns;
				d.wait_state = is->state;
				d.wait_by = is->by;
				d.waker = is->waker;
				d.owner = is->owner;
			}
			at_ns = to_ns;
		}
	}
	if (at_ns < of->end_ns)
		d.state_ns[BELOW_UNKNOWN] += of->end_ns - at_ns;
	return d;
}
