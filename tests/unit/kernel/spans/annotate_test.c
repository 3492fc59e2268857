/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/spans/annotate.h"
#include "kernel/spans/unit_watch.h"
#include "tests/unit/kernel/spans/span_pool.h"

/* ---- spans of a pool, whose truth is known ---- */

static void
assert_same(const struct pool *p, const struct annotate *a)
{
	const struct span_call *calls = annotate_calls(a);

	for (uint32_t i = 0; i < p->nspans; i++) {
		const struct pool_span *s = &p->spans[i];
		const struct span_result *r = annotate_result(a, i);
		int64_t sum = 0;

		for (int k = 0; k < SPAN_STATES; k++) {
			assert_int_equal(r->self_ns[k], s->self_ns[k]);
			assert_int_equal(r->state_ns[k], s->state_ns[k]);
			sum += r->state_ns[k];
		}
		assert_int_equal(sum + r->shared_ns, r->active_ns);
		assert_int_equal(r->shared_ns, 0);
		assert_int_equal(r->unseen_ns, 0);
		assert_int_equal(r->begun[SPAN_PREEMPTED], s->preemptions);
		assert_int_equal(r->ncalls, s->ncalls);
		for (uint32_t k = 0, at = s->first_call; k < r->ncalls;
		     k++, at = p->calls[at].next) {
			const struct span_call *c = &calls[r->first_call + k];

			assert_int_equal(c->span, i);
			assert_int_equal(c->begin_ns, p->calls[at].begin_ns);
			assert_int_equal(c->end_ns, p->calls[at].end_ns);
			assert_int_equal(c->number, p->calls[at].number);
			assert_int_equal(c->argument, p->calls[at].argument);
			assert_int_equal(c->result, p->calls[at].result);
			assert_int_equal(c->flags, SPAN_CALL_BEGIN | SPAN_CALL_END);
		}
	}
}

static void
annotate_pool(struct pool *p, const struct annotate_options *o, const struct span_place *places,
    size_t nplaces, struct annotate **ret, struct kernel_graph **graph)
{
	struct span_node *nodes = calloc(p->nspans, sizeof *nodes);
	struct err e = { 0 };

	for (uint32_t i = 0; i < p->nspans; i++)
		nodes[i] = (struct span_node){ p->spans[i].parent, true };
	assert_int_equal(
	    kernel_graph_new(graph, &(struct kernel_graph_options){ 0 }, &p->names, &e), 0);
	assert_int_equal(annotate_new(ret, o, &p->names, nodes, p->nspans, places, nplaces, &e), 0);
	free(nodes);
	for (uint32_t i = 0; i < p->nevents; i++) {
		assert_int_equal(kernel_graph_take(*graph, &p->events[i], &e), 0);
		assert_int_equal(annotate_take(*ret, &p->events[i], &e), 0);
	}
	assert_int_equal(kernel_graph_end(*graph, &e), 0);
	assert_int_equal(annotate_end(*ret, *graph, &e), 0);
}

static void
asynchronous_and_nested_spans_of_a_pool_get_what_is_theirs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct annotate *a;
		struct kernel_graph *g;
		struct annotate_counts n;
		struct pool p;

		pool_make(&p, seed, 1 + (uint32_t)(seed % 7), 60);
		annotate_pool(&p, &(struct annotate_options){ 0 }, p.places, p.nplaces, &a, &g);
		assert_same(&p, a);
		n = annotate_counts(a);
		assert_int_equal(n.calls, p.ncalls + p.idle_calls);
		assert_int_equal(n.calls_outside, p.idle_calls);
		assert_int_equal(
		    n.calls_shared + n.without_begin + n.without_end + n.mismatched + n.lost_calls,
		    0);
		assert_false(n.lean);
		annotate_free(a);
		kernel_graph_free(g);
		pool_release(&p);
	}
}

static void
the_places_of_units_follow_from_their_records(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct span_places places = { 0 };
		struct annotate *a;
		struct kernel_graph *g;
		struct pool p;
		struct err e;

		pool_make(&p, seed, 1 + (uint32_t)(seed % 5), 50);
		assert_int_equal(span_places_add(&places, p.records, p.nrecords, NULL, 0,
				     p.of_units, p.nof_units, SIZE_MAX, &e),
		    0);
		annotate_pool(
		    &p, &(struct annotate_options){ 0 }, places.list, places.nlist, &a, &g);
		assert_same(&p, a);
		annotate_free(a);
		kernel_graph_free(g);
		span_places_release(&places);
		pool_release(&p);
	}
}

/* Of each unit the first and the last record. */
static uint32_t
only_ends(const struct pool *p, uint32_t nunits, struct place_record *to)
{
	uint32_t n = 0;

	for (uint32_t u = 0; u < nunits; u++) {
		const struct place_record *first = NULL, *last = NULL;

		for (uint32_t i = 0; i < p->nrecords; i++)
			if (p->records[i].unit == u) {
				first = first == NULL || p->records[i].time_ns < first->time_ns
				            ? &p->records[i]
				            : first;
				last = last == NULL || p->records[i].time_ns >= last->time_ns
				           ? &p->records[i]
				           : last;
			}
		to[n++] = *first;
		to[n++] = *last;
	}
	return n;
}

static void
units_that_move_get_all_their_calls_where_the_kernel_sees_them(void **state)
{
	enum { UNITS = 50 };

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct place_record records[2 * UNITS];
		struct unit_id ids[UNITS];
		struct span_places places = { 0 };
		const struct place_note *notes;
		struct unit_watch *w;
		struct annotate *a;
		struct kernel_graph *g;
		uint32_t nrecords;
		size_t nnotes;
		struct pool p;
		struct err e;

		pool_make(&p, seed, 2 + (uint32_t)(seed % 5), UNITS);
		nrecords = only_ends(&p, UNITS, records);
		for (uint32_t u = 0; u < UNITS; u++)
			ids[u] = (struct unit_id){ u + 1000, u };
		assert_int_equal(unit_watch_new(&w, records, nrecords, ids, UNITS, &e), 0);
		for (uint32_t i = 0; i < p.nevents; i++)
			assert_int_equal(unit_watch_take(w, &p.events[i], &e), 0);
		notes = unit_watch_notes(w, &nnotes);
		assert_int_equal(span_places_add(&places, records, nrecords, notes, nnotes,
				     p.of_units, p.nof_units, SIZE_MAX, &e),
		    0);
		annotate_pool(
		    &p, &(struct annotate_options){ 0 }, places.list, places.nlist, &a, &g);
		for (uint32_t i = 0; i < p.nspans; i++) {
			const struct pool_span *s = &p.spans[i];
			const struct span_result *r = annotate_result(a, i);

			/* what it computed before it was seen is not known to be its own */
			assert_true(r->self_ns[BELOW_RUNNING] <= s->self_ns[BELOW_RUNNING]);
			for (int k = BELOW_RUNNING + 1; k < SPAN_STATES; k++)
				assert_int_equal(r->self_ns[k], s->self_ns[k]);
			assert_int_equal(r->ncalls, s->ncalls);
			for (uint32_t k = 0, at = s->first_call; k < r->ncalls;
			     k++, at = p.calls[at].next)
				assert_int_equal(annotate_calls(a)[r->first_call + k].begin_ns,
				    p.calls[at].begin_ns);
		}
		assert_int_equal(annotate_counts(a).calls_outside, p.idle_calls);
		annotate_free(a);
		kernel_graph_free(g);
		span_places_release(&places);
		unit_watch_free(w);
		pool_release(&p);
	}
}

static void
calls_below_the_threshold_are_summed_by_name(void **state)
{
	struct annotate *a;
	struct kernel_graph *g;
	struct pool p;
	uint64_t all = 0, listed = 0, short_ones = 0, summed = 0, sum_listed = 0;
	int64_t total = 0, sum_total = 0;

	(void)state;
	pool_make(&p, 7, 4, 60);
	annotate_pool(
	    &p, &(struct annotate_options){ .call_over_ns = 3000 }, p.places, p.nplaces, &a, &g);
	for (uint32_t i = 0; i < p.ncalls; i++) {
		all++;
		total += p.calls[i].end_ns - p.calls[i].begin_ns;
		short_ones += p.calls[i].end_ns - p.calls[i].begin_ns < 3000;
	}
	for (uint32_t i = 0; i < p.nspans; i++) {
		const struct span_result *r = annotate_result(a, i);

		listed += r->ncalls;
		for (uint32_t k = 0; k < r->nsums; k++) {
			const struct span_sum *s = &annotate_sums(a)[r->first_sum + k];

			assert_int_equal(s->span, i);
			if (s->kind != SPAN_SUM_CALL)
				continue;
			assert_true(k == 0 || s[-1].total_ns >= s->total_ns);
			summed += s->count;
			sum_listed += s->listed;
			sum_total += s->total_ns;
		}
	}
	assert_true(short_ones > 0 && listed > 0);
	assert_int_equal(listed + short_ones, all);
	assert_int_equal(summed, all);
	assert_int_equal(sum_listed, listed);
	assert_int_equal(sum_total, total);
	annotate_free(a);
	kernel_graph_free(g);
	pool_release(&p);
}

static void
what_a_call_waited_for_is_in_its_detail(void **state)
{
	struct annotate *a;
	struct kernel_graph *g;
	struct pool p;
	uint32_t waited = 0;

	(void)state;
	pool_make(&p, 11, 4, 60);
	annotate_pool(&p, &(struct annotate_options){ 0 }, p.places, p.nplaces, &a, &g);
	for (uint32_t i = 0; i < p.nspans; i++) {
		const struct pool_span *s = &p.spans[i];
		const struct span_result *r = annotate_result(a, i);

		for (uint32_t k = 0, at = s->first_call; k < r->ncalls;
		     k++, at = p.calls[at].next) {
			struct span_call_detail d = annotate_detail(
			    a, &annotate_calls(a)[r->first_call + k]);
			int64_t sum = 0;

			for (int m = 0; m < SPAN_STATES; m++)
				sum += d.state_ns[m];
			assert_int_equal(sum, p.calls[at].end_ns - p.calls[at].begin_ns);
			assert_int_equal(d.wait_ns, p.calls[at].wait_ns);
			waited += d.wait_ns > 0;
			if (d.wait_ns > 0)
				assert_int_equal(d.wait_state, p.calls[at].wait_state);
		}
	}
	assert_true(waited > 20);
	annotate_free(a);
	kernel_graph_free(g);
	pool_release(&p);
}

/* ---- small cases ---- */

struct small {
	struct kernel_names names;
	struct kernel_graph *g;
	struct annotate *a;
	struct err e;
};

static void
small_begin(struct small *s, const struct annotate_options *o, const struct span_node *nodes,
    uint32_t n, const struct span_place *places, size_t nplaces)
{
	assert_int_equal(kernel_names_new(&s->names, &s->e), 0);
	assert_int_equal(texts_intern(s->names.hosts, "a", 1), 0);
	assert_int_equal(
	    kernel_graph_new(&s->g, &(struct kernel_graph_options){ 0 }, &s->names, &s->e), 0);
	assert_int_equal(annotate_new(&s->a, o, &s->names, nodes, n, places, nplaces, &s->e), 0);
}

static void
small_take(struct small *s, struct kernel_event ev)
{
	assert_int_equal(kernel_graph_take(s->g, &ev, &s->e), 0);
	assert_int_equal(annotate_take(s->a, &ev, &s->e), 0);
}

static void
small_finish(struct small *s)
{
	assert_int_equal(kernel_graph_end(s->g, &s->e), 0);
	assert_int_equal(annotate_end(s->a, s->g, &s->e), 0);
}

static void
small_end(struct small *s)
{
	annotate_free(s->a);
	kernel_graph_free(s->g);
	kernel_names_release(&s->names);
}

static struct kernel_event
call_in(int64_t t, uint32_t tid, int number, int64_t argument)
{
	return (struct kernel_event){ .time_ns = t,
		.tid = tid,
		.kind = KERNEL_SYSCALL_IN,
		.call = { number, 0, argument, 0 } };
}

static struct kernel_event
call_out(int64_t t, uint32_t tid, int number, int64_t result)
{
	return (struct kernel_event){ .time_ns = t,
		.tid = tid,
		.kind = KERNEL_SYSCALL_OUT,
		.call = { number, 0, result, 0 } };
}

static struct kernel_event
change(int64_t t, uint16_t cpu, uint32_t from, uint8_t flags, uint32_t to)
{
	return (struct kernel_event){ .time_ns = t,
		.cpu = cpu,
		.tid = from,
		.kind = KERNEL_SWITCH,
		.flags = flags,
		.change = { .next_tid = to, .syscall = SYSCALL_UNKNOWN } };
}

enum { FSYNC = 74, CLOSE = 3, NANOSLEEP = 35 };

static void
unrelated_spans_of_one_thread_share_its_time_and_their_ancestor_owns_it(void **state)
{
	/* 0 is the parent of 1 and 2; 3 is unrelated */
	static const struct span_node nodes[] = { { SPAN_NONE, true }, { 0, true }, { 0, true },
		{ SPAN_NONE, true } };
	static const struct span_place places[] = { { 0, 100, 0, 0, 7 }, { 10, 40, 1, 0, 7 },
		{ 30, 60, 2, 0, 7 }, { 80, 120, 3, 0, 7 } };
	static const int arguments[] = { 2, 1, 3, 5 };
	struct small s;
	const struct span_result *r;

	(void)state;
	small_begin(&s, &(struct annotate_options){ 0 }, nodes, 4, places, 4);
	small_take(&s, change(0, 0, 0, 0, 7));
	small_take(&s, call_in(12, 7, FSYNC, 1)); /* of 1 */
	small_take(&s, call_out(14, 7, FSYNC, 0));
	small_take(&s, call_in(32, 7, FSYNC, 2)); /* of 1 or 2, so of 0 */
	small_take(&s, call_out(36, 7, FSYNC, 0));
	small_take(&s, call_in(50, 7, FSYNC, 3)); /* of 2 */
	small_take(&s, call_out(52, 7, FSYNC, 0));
	small_take(&s, call_in(85, 7, FSYNC, 4)); /* of 0 or 3 */
	small_take(&s, call_out(86, 7, FSYNC, 0));
	small_take(&s, call_in(110, 7, FSYNC, 5)); /* of 3 */
	small_take(&s, call_out(111, 7, FSYNC, 0));
	small_take(&s, change(200, 0, 7, SWITCH_ASLEEP, 0));
	small_finish(&s);
	for (uint32_t i = 0; i < 4; i++) {
		r = annotate_result(s.a, i);
		assert_int_equal(r->ncalls, 1);
		assert_int_equal(annotate_calls(s.a)[r->first_call].argument, arguments[i]);
	}
	assert_int_equal(annotate_counts(s.a).calls_shared, 1);
	r = annotate_result(s.a, 0);
	assert_int_equal(r->self_ns[BELOW_RUNNING], 10 + 10 + 20);
	assert_int_equal(r->state_ns[BELOW_RUNNING], 80);
	assert_int_equal(r->shared_ns, 20);
	r = annotate_result(s.a, 1);
	assert_int_equal(r->self_ns[BELOW_RUNNING], 20);
	assert_int_equal(r->shared_ns, 10);
	r = annotate_result(s.a, 3);
	assert_int_equal(r->self_ns[BELOW_RUNNING], 20);
	assert_int_equal(r->shared_ns, 20);
	small_end(&s);
}

static void
a_span_that_was_not_chosen_passes_on_what_it_owns(void **state)
{
	static const struct span_node nodes[] = { { SPAN_NONE, true }, { 0, false }, { 1, false },
		{ SPAN_NONE, false } };
	static const struct span_place places[] = { { 0, 100, 0, 0, 7 }, { 10, 40, 1, 0, 7 },
		{ 20, 30, 2, 0, 7 }, { 100, 120, 3, 0, 7 }, { 0, 50, 2, 0, 8 } };
	struct small s;

	(void)state;
	small_begin(&s, &(struct annotate_options){ 0 }, nodes, 4, places, 5);
	small_take(&s, change(0, 0, 0, 0, 7));
	small_take(&s, call_in(25, 7, FSYNC, 1)); /* of 2, for 0 */
	small_take(&s, call_out(28, 7, FSYNC, 0));
	small_take(
	    &s, call_in(28, 8, FSYNC, 2)); /* of 2 on another thread: of nobody who was chosen */
	small_take(&s, call_out(29, 8, FSYNC, 0));
	small_take(&s, call_in(105, 7, FSYNC, 3)); /* of 3, which was not chosen */
	small_take(&s, call_out(106, 7, FSYNC, 0));
	small_take(&s, change(200, 0, 7, SWITCH_ASLEEP, 0));
	small_finish(&s);
	assert_int_equal(annotate_result(s.a, 0)->ncalls, 1);
	assert_int_equal(annotate_calls(s.a)[0].argument, 1);
	assert_int_equal(annotate_result(s.a, 0)->self_ns[BELOW_RUNNING], 100);
	assert_int_equal(annotate_result(s.a, 1)->ncalls + annotate_result(s.a, 2)->ncalls +
			     annotate_result(s.a, 3)->ncalls,
	    0);
	small_end(&s);
}

static void
calls_without_an_end_or_a_begin_are_counted_not_guessed(void **state)
{
	static const struct span_node nodes[] = { { SPAN_NONE, true } };
	static const struct span_place places[] = { { 0, 1000, 0, 0, 7 } };
	struct small s;
	struct annotate_counts n;
	const struct span_call *c;

	(void)state;
	small_begin(&s, &(struct annotate_options){ 0 }, nodes, 1, places, 1);
	small_take(&s, call_out(5, 7, FSYNC, 0)); /* no begin */
	small_take(&s, call_in(10, 7, FSYNC, 1)); /* no end */
	small_take(&s, call_in(20, 7, FSYNC, 2));
	small_take(&s, call_out(30, 7, CLOSE, 0)); /* another one */
	small_take(&s, call_in(40, 7, FSYNC, 3));
	small_take(
	    &s, (struct kernel_event){
		    .time_ns = 50, .kind = KERNEL_LOST, .cpu = KERNEL_CPU_ALL, .lost = { 3, 45 } });
	small_take(&s, call_out(60, 7, FSYNC, 0)); /* a begin and an end may be lost in between */
	small_take(&s, call_in(70, 7, FSYNC, 4));
	small_take(&s, call_out(80, 7, FSYNC, -5));
	small_take(&s, call_in(90, 7, NANOSLEEP, 5));  /* goes on at the end */
	small_take(&s, call_in(200, 9, NANOSLEEP, 6)); /* of a thread without spans */
	small_finish(&s);
	n = annotate_counts(s.a);
	assert_int_equal(n.without_begin, 1);
	assert_int_equal(n.without_end, 1);
	assert_int_equal(n.mismatched, 1);
	assert_int_equal(n.lost_calls, 1);
	assert_int_equal(n.losses, 1);
	assert_int_equal(n.calls, 2);
	assert_int_equal(annotate_result(s.a, 0)->ncalls, 2);
	c = annotate_calls(s.a);
	assert_int_equal(c[0].argument, 4);
	assert_int_equal(c[0].result, -5);
	assert_int_equal(c[1].argument, 5);
	assert_int_equal(c[1].flags, SPAN_CALL_BEGIN);
	assert_int_equal(c[1].end_ns, 200);
	assert_int_equal(annotate_sums(s.a)[1].failed + annotate_sums(s.a)[0].failed, 1);
	/* nothing says what the thread did */
	assert_int_equal(
	    annotate_result(s.a, 0)->unseen_ns + annotate_result(s.a, 0)->self_ns[BELOW_RUNNING],
	    1000);
	small_end(&s);
}

static void
only_the_chosen_calls_count(void **state)
{
	static const char *const chosen[] = { "close", "my_call" };
	static const struct span_node nodes[] = { { SPAN_NONE, true } };
	static const struct span_place places[] = { { 0, 1000, 0, 0, 7 } };
	struct kernel_event named_in = { .time_ns = 30, .tid = 7, .kind = KERNEL_SYSCALL_IN },
			    named_out = named_in;
	struct small s;

	(void)state;
	small_begin(
	    &s, &(struct annotate_options){ .calls = chosen, .ncalls = 2 }, nodes, 1, places, 1);
	named_in.call.number = named_out.call.number = SYSCALL_UNKNOWN;
	named_in.call.name = named_out.call.name = texts_intern(s.names.texts, "my_call", 7);
	named_out.kind = KERNEL_SYSCALL_OUT;
	named_out.time_ns = 35;
	small_take(&s, call_in(10, 7, FSYNC, 1));
	small_take(&s, call_out(15, 7, FSYNC, 0));
	small_take(&s, call_in(20, 7, CLOSE, 2));
	small_take(&s, call_out(25, 7, CLOSE, 0));
	small_take(&s, named_in);
	small_take(&s, named_out);
	small_finish(&s);
	assert_int_equal(annotate_result(s.a, 0)->ncalls, 2);
	assert_int_equal(annotate_calls(s.a)[0].number, CLOSE);
	assert_string_equal(texts_get(s.names.texts, annotate_calls(s.a)[1].name), "my_call");
	small_end(&s);
}

static void
stacks_messages_and_counted_events_find_their_call_or_span(void **state)
{
	static const struct span_node nodes[] = { { SPAN_NONE, true } };
	static const struct span_place places[] = { { 0, 1000, 0, 0, 7 } };
	struct kernel_event stack = { .time_ns = 25, .tid = 7, .kind = KERNEL_STACK },
			    fault = { .time_ns = 40, .tid = 7, .kind = KERNEL_COUNTED },
			    sent = { .time_ns = 12, .tid = 7, .kind = KERNEL_SEND };
	struct small s;
	const struct span_result *r;
	uint32_t one, two;

	(void)state;
	small_begin(&s, &(struct annotate_options){ .call_over_ns = 5 }, nodes, 1, places, 1);
	one = texts_intern(s.names.texts, "main;read", 9);
	two = texts_intern(s.names.texts, "main;spin", 9);
	sent.message.connection = kernel_connection_intern(
	    &s.names, &(struct kernel_connection){ .here.port = 1 });
	sent.message.bytes = 10;
	small_take(&s, call_in(10, 7, 44, 1));
	small_take(&s, sent);
	small_take(&s, call_out(25, 7, 44, 10));
	stack.stack.folded = one;
	small_take(&s, stack); /* at the end of the call */
	small_take(&s, call_in(30, 7, CLOSE, 1));
	small_take(&s, call_out(31, 7, CLOSE, 0)); /* too short to be listed */
	stack.time_ns = 35;
	stack.stack.folded = two;
	small_take(&s, stack);
	stack.time_ns = 36;
	small_take(&s, stack);
	fault.counted.name = texts_intern(s.names.texts, "page_fault_user", 15);
	fault.counted.value = 1;
	small_take(&s, fault);
	fault.counted.value = 2;
	small_take(&s, fault);
	small_finish(&s);
	r = annotate_result(s.a, 0);
	assert_int_equal(r->ncalls, 1);
	assert_int_equal(annotate_calls(s.a)[0].stack, one);
	assert_int_equal(annotate_calls(s.a)[0].connection, sent.message.connection + 1);
	assert_int_equal(annotate_calls(s.a)[0].bytes, 10);
	assert_int_equal(r->nsums, 4);
	assert_int_equal(annotate_sums(s.a)[2].kind, SPAN_SUM_COUNTED);
	assert_int_equal(annotate_sums(s.a)[2].count, 3);
	assert_int_equal(annotate_sums(s.a)[3].kind, SPAN_SUM_STACK);
	assert_int_equal(annotate_sums(s.a)[3].name, two);
	assert_int_equal(annotate_sums(s.a)[3].count, 2);
	small_end(&s);
}

static void
preemptions_and_migrations_are_counted(void **state)
{
	static const struct span_node nodes[] = { { SPAN_NONE, true } };
	static const struct span_place places[] = { { 0, 1000, 0, 0, 7 } };
	struct small s;
	const struct span_result *r;

	(void)state;
	small_begin(&s, &(struct annotate_options){ 0 }, nodes, 1, places, 1);
	small_take(&s, change(0, 0, 0, 0, 7));
	small_take(&s, change(100, 0, 7, 0, 9)); /* preempted */
	small_take(&s, change(150, 1, 0, 0, 7)); /* goes on on another CPU */
	small_take(&s, change(300, 1, 7, SWITCH_ASLEEP | SWITCH_IOWAIT, 0));
	small_take(
	    &s, (struct kernel_event){ .time_ns = 500,
		    .kind = KERNEL_WAKING,
		    .waking = { .tid = 7, .by = WAKE_BLOCK, .vector = KERNEL_VECTOR_NONE } });
	small_take(&s, change(530, 1, 0, 0, 7));
	small_take(&s, change(1000, 1, 7, SWITCH_ASLEEP, 0));
	small_finish(&s);
	r = annotate_result(s.a, 0);
	assert_int_equal(r->begun[SPAN_PREEMPTED], 1);
	assert_int_equal(r->self_ns[SPAN_PREEMPTED], 50);
	assert_int_equal(r->self_ns[BELOW_READY], 30);
	assert_int_equal(r->self_ns[BELOW_DISK], 200);
	assert_int_equal(r->begun[BELOW_DISK], 1);
	assert_int_equal(r->migrations, 1);
	small_end(&s);
}

static void
a_lean_recording_knows_the_calls_that_blocked(void **state)
{
	static const struct span_node nodes[] = { { SPAN_NONE, true } };
	static const struct span_place places[] = { { 0, 1000, 0, 0, 7 } };
	struct kernel_event sleep = change(100, 0, 7, SWITCH_ASLEEP, 0);
	struct small s;
	const struct span_call *c;

	(void)state;
	small_begin(&s, &(struct annotate_options){ 0 }, nodes, 1, places, 1);
	small_take(&s, change(0, 0, 0, 0, 7));
	sleep.change.syscall = NANOSLEEP;
	small_take(&s, sleep);
	small_take(
	    &s, (struct kernel_event){ .time_ns = 500,
		    .kind = KERNEL_WAKING,
		    .waking = { .tid = 7, .by = WAKE_TIMER, .vector = KERNEL_VECTOR_NONE } });
	small_take(&s, change(530, 0, 0, 0, 7));
	small_take(&s, change(1000, 0, 7, SWITCH_ASLEEP, 0));
	small_finish(&s);
	assert_true(annotate_counts(s.a).lean);
	assert_int_equal(annotate_result(s.a, 0)->ncalls, 1);
	c = annotate_calls(s.a);
	assert_int_equal(c->number, NANOSLEEP);
	assert_int_equal(c->begin_ns, 100);
	assert_int_equal(c->end_ns, 530);
	assert_int_equal(c->flags, SPAN_CALL_BLOCKED);
	assert_int_equal(annotate_detail(s.a, c).state_ns[BELOW_TIMER], 400);
	small_end(&s);
}

static void
clocks_that_differ_by_little_do_not_move_calls(void **state)
{
	static const struct span_node nodes[] = { { SPAN_NONE, true } };
	static const struct span_place places[] = { { 100, 1000, 0, 0, 7 } };

	(void)state;
	for (int by_middle = 0; by_middle < 2; by_middle++) {
		struct small s;

		small_begin(
		    &s, &(struct annotate_options){ .by_middle = by_middle }, nodes, 1, places, 1);
		small_take(
		    &s, call_in(95, 7, NANOSLEEP, 1)); /* of the span, whose clock is 10 ns late */
		small_take(&s, call_out(900, 7, NANOSLEEP, 0));
		small_take(&s, call_in(992, 7, POOL_EPOLL_WAIT, 2)); /* after it */
		small_take(&s, call_out(5000, 7, POOL_EPOLL_WAIT, 0));
		small_finish(&s);
		assert_int_equal(annotate_result(s.a, 0)->ncalls, 1);
		assert_int_equal(annotate_calls(s.a)[0].argument, by_middle ? 1 : 2);
		small_end(&s);
	}
}

static void
odd_spans_and_places_do_no_harm(void **state)
{
	/* 0 and 1 are each other's parent, 2 its own, 3 has one that does not exist */
	static const struct span_node nodes[] = { { 1, true }, { 0, true }, { 2, true },
		{ 99, true } };
	static const struct span_place places[] = { { 0, 10, 0, 0, 7 }, { 0, 10, 1, 0, 7 },
		{ 20, 30, 2, 0, 7 }, { 40, 50, 3, 0, 7 }, { 45, 60, 3, 0, 7 }, { 9, 9, 0, 0, 7 },
		{ 9, 8, 0, 0, 7 }, { 0, 9, 4, 0, 7 }, { INT64_MIN, INT64_MAX, 0, 0, 7 } };
	struct small s;

	(void)state;
	small_begin(
	    &s, &(struct annotate_options){ 0 }, nodes, 4, places, sizeof places / sizeof *places);
	small_take(&s, change(0, 0, 0, 0, 7));
	small_take(&s, change(100, 0, 7, SWITCH_ASLEEP, 0));
	small_finish(&s);
	assert_int_equal(annotate_counts(s.a).ignored_places, 4);
	assert_int_equal(
	    annotate_result(s.a, 0)->self_ns[0] + annotate_result(s.a, 1)->self_ns[0], 10);
	assert_int_equal(annotate_result(s.a, 2)->self_ns[0], 10);
	assert_int_equal(annotate_result(s.a, 3)->active_ns, 20);
	assert_int_equal(annotate_result(s.a, 3)->self_ns[0], 20);
	small_end(&s);
}

static void
too_many_active_spans_own_nothing(void **state)
{
	struct span_node nodes[SPAN_ACTIVE_MAX + 2];
	struct span_place places[SPAN_ACTIVE_MAX + 2];
	struct small s;

	(void)state;
	for (uint32_t i = 0; i < SPAN_ACTIVE_MAX + 2; i++) {
		nodes[i] = (struct span_node){ i > 0 ? i - 1 : SPAN_NONE, true };
		places[i] = (struct span_place){ i, 1000, i, 0, 7 };
	}
	small_begin(&s, &(struct annotate_options){ 0 }, nodes, SPAN_ACTIVE_MAX + 2, places,
	    SPAN_ACTIVE_MAX + 2);
	small_take(&s, change(0, 0, 0, 0, 7));
	small_take(&s, change(2000, 0, 7, SWITCH_ASLEEP, 0));
	small_finish(&s);
	assert_int_equal(annotate_counts(s.a).crowded, 2);
	for (uint32_t i = 0; i < SPAN_ACTIVE_MAX + 2; i++) {
		const struct span_result *r = annotate_result(s.a, i);

		assert_int_equal(r->active_ns, 1000 - i);
		assert_int_equal(r->shared_ns, 1000 - (i > SPAN_ACTIVE_MAX ? i : SPAN_ACTIVE_MAX));
		assert_int_equal(r->shared_ns + r->state_ns[BELOW_RUNNING], r->active_ns);
	}
	small_end(&s);
}

static void
memory_has_a_bound(void **state)
{
	static const struct span_node nodes[] = { { SPAN_NONE, true } };
	static const struct span_place places[] = { { 0, 1 << 30, 0, 0, 7 } };
	struct small s;
	int rc = 0;

	(void)state;
	small_begin(&s,
	    &(struct annotate_options){ .memory_max_bytes = 1 << 20, .calls_max = UINT32_MAX },
	    nodes, 1, places, 1);
	for (int i = 0; i < 1000000 && rc == 0; i++) {
		struct kernel_event in = call_in(10 * i, 7, FSYNC, i),
				    out = call_out(10 * i + 5, 7, FSYNC, 0);

		rc = annotate_take(s.a, &in, &s.e);
		if (rc == 0)
			rc = annotate_take(s.a, &out, &s.e);
	}
	assert_int_equal(rc, ERR_FULL);
	small_end(&s);
	assert_int_equal(annotate_new(&s.a, &(struct annotate_options){ .memory_max_bytes = 10 },
			     &s.names, nodes, 1, places, 1, &s.e),
	    ERR_FULL);
	assert_null(s.a);
}

static void
a_unit_that_moves_is_nowhere_in_between(void **state)
{
	/* unit 0 on 7, unit 1 in between, unit 0 on 7 and on 8 */
	static struct place_record records[] = { { 0, 0, 7, 0 }, { 10, 0, 7, 0 }, { 20, 0, 7, 1 },
		{ 30, 0, 7, 1 }, { 40, 0, 7, 0 }, { 50, 0, 7, 0 }, { 70, 0, 8, 0 },
		{ 90, 0, 8, 0 } };
	static struct span_of_unit spans[] = { { 0, 90, 0, 0 }, { 5, 75, 0, 1 }, { 20, 30, 1, 2 } };
	static const struct span_place expected[] = { { 0, 10, 0, 0, 7 }, { 40, 50, 0, 0, 7 },
		{ 70, 90, 0, 0, 8 }, { 5, 10, 1, 0, 7 }, { 40, 50, 1, 0, 7 }, { 70, 75, 1, 0, 8 },
		{ 20, 30, 2, 0, 7 } };
	struct span_places p = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(span_places_add(&p, records, 8, NULL, 0, spans, 3, 100, &e), 0);
	assert_int_equal(p.nlist, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < p.nlist; i++) {
		assert_int_equal(p.list[i].from_ns, expected[i].from_ns);
		assert_int_equal(p.list[i].to_ns, expected[i].to_ns);
		assert_int_equal(p.list[i].span, expected[i].span);
		assert_int_equal(p.list[i].tid, expected[i].tid);
	}
	assert_int_equal(
	    span_places_add(&p, records, 8, NULL, 0, spans, 3, p.nlist + 2, &e), ERR_FULL);
	span_places_release(&p);
}

/* A unit that only computes, and has left before the thread is seen again, does not get what the thread does then. */
static void
a_unit_that_the_kernel_did_not_see_ends_at_the_next_sight(void **state)
{
	/* 0 on 7 from 10 to 20, detached; a system call at 30; 0 on 8 at 100; of 9 nothing is said */
	static const struct place_record records[] = { { 10, 0, 7, 0 }, { 20, 0, 7, 0 },
		{ 100, 0, 8, 0 }, { 110, 0, 8, 0 } };
	static const struct unit_id ids[] = { { 500, 0 }, { 501, 1 } };
	struct kernel_event said = { .time_ns = 5, .tid = 9, .kind = KERNEL_UNIT, .unit = { 777 } };
	struct kernel_event events[] = { said, call_in(30, 7, FSYNC, 0), call_in(105, 8, FSYNC, 0),
		said, said };
	struct span_of_unit spans[] = { { 0, 200, 0, 0 } };
	struct span_places places = { 0 };
	const struct place_note *notes;
	struct unit_watch *w;
	size_t n;
	struct err e;

	(void)state;
	events[3].time_ns = 106; /* 8 is seen with the unit 0 now */
	events[3].tid = 8;
	events[3].unit.id = 500;
	events[4].time_ns = 150;
	events[4].tid = 8;
	events[4].unit.id = 0;
	assert_int_equal(unit_watch_new(&w, records, 4, ids, 2, &e), 0);
	assert_int_equal(unit_watch_take(w, &events[1], &e), 0);
	unit_watch_notes(w, &n);
	assert_int_equal(n, 0); /* nothing says that units are recorded */
	unit_watch_free(w);
	assert_int_equal(unit_watch_new(&w, records, 4, ids, 2, &e), 0);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		assert_int_equal(unit_watch_take(w, &events[i], &e), 0);
	notes = unit_watch_notes(w, &n);
	assert_int_equal(n, 5);
	assert_int_equal(span_places_add(&places, records, 4, notes, n, spans, 1, 100, &e), 0);
	assert_int_equal(places.nlist, 3);
	assert_int_equal(places.list[0].from_ns, 10);
	assert_int_equal(places.list[0].to_ns, 30);
	assert_int_equal(places.list[1].from_ns, 100);
	assert_int_equal(places.list[1].to_ns, 105); /* a system call without that unit */
	assert_int_equal(places.list[2].from_ns, 106);
	assert_int_equal(places.list[2].to_ns, 110); /* its end */
	span_places_release(&places);
	unit_watch_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asynchronous_and_nested_spans_of_a_pool_get_what_is_theirs),
		cmocka_unit_test(the_places_of_units_follow_from_their_records),
		cmocka_unit_test(units_that_move_get_all_their_calls_where_the_kernel_sees_them),
		cmocka_unit_test(a_unit_that_the_kernel_did_not_see_ends_at_the_next_sight),
		cmocka_unit_test(calls_below_the_threshold_are_summed_by_name),
		cmocka_unit_test(what_a_call_waited_for_is_in_its_detail),
		cmocka_unit_test(
		    unrelated_spans_of_one_thread_share_its_time_and_their_ancestor_owns_it),
		cmocka_unit_test(a_span_that_was_not_chosen_passes_on_what_it_owns),
		cmocka_unit_test(calls_without_an_end_or_a_begin_are_counted_not_guessed),
		cmocka_unit_test(only_the_chosen_calls_count),
		cmocka_unit_test(stacks_messages_and_counted_events_find_their_call_or_span),
		cmocka_unit_test(preemptions_and_migrations_are_counted),
		cmocka_unit_test(a_lean_recording_knows_the_calls_that_blocked),
		cmocka_unit_test(clocks_that_differ_by_little_do_not_move_calls),
		cmocka_unit_test(odd_spans_and_places_do_no_harm),
		cmocka_unit_test(too_many_active_spans_own_nothing),
		cmocka_unit_test(memory_has_a_bound),
		cmocka_unit_test(a_unit_that_moves_is_nowhere_in_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
