/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "analysis/mistake.h"
#include "tests/unit/analysis/kit.h"

enum { EACH_NS = 100000, MISTAKES_MAX = 16, ROWS_MAX = 64 };

/* A program of many requests, the facts of its traces, and the mistakes that they show. */
struct play {
	struct kit *k;
	struct place_table facts;
	struct mistake found[MISTAKES_MAX];
	uint32_t n;
	uint64_t requests;
	uint32_t threads; /* nodes, which tell threads apart in a kit */
};

static void
play_begin(struct play *p, uint32_t threads)
{
	*p = (struct play){ .k = kit_new(NULL), .threads = threads };
	for (uint32_t i = 0; i < threads; i++)
		assert_int_equal(assemble_join(p->k->assemble, i, &p->k->e), 0);
}

/* Adds the rows once, as a request of their own: traces, units and links get numbers of their
 * own. */
static void
play_rows(struct play *p, const struct row *rows, size_t n)
{
	struct row all[ROWS_MAX];
	uint64_t i = ++p->requests;

	assert_true(n <= ROWS_MAX);
	for (size_t r = 0; r < n; r++) {
		all[r] = rows[r];
		all[r].time_ns += (int64_t)i * EACH_NS;
		all[r].unit += i * 100;
		all[r].link += rows[r].link != 0 ? i * 100 : 0;
		all[r].trace = i * 100 + rows[r].trace;
	}
	for (uint32_t node = 0; node < p->threads; node++)
		kit_batch(p->k, node, all, n, (int64_t)(i + 1) * EACH_NS - 1);
}

static void
play_end(struct play *p, const char *const *idle)
{
	const struct mistake_limits limits = mistake_defaults();
	struct trace *t;

	for (uint32_t node = 0; node < p->threads; node++)
		kit_batch(p->k, node, NULL, 0, INT64_MAX / 8);
	while ((t = assemble_next(p->k->assemble)) != NULL ||
	       (t = assemble_next_incomplete(p->k->assemble)) != NULL) {
		assert_true(place_table_add(&p->facts, t, p->k->labels));
		trace_free(t);
	}
	p->n = mistakes_find(p->found, MISTAKES_MAX, &p->facts, p->k->labels, idle, &limits);
}

static void
play_free(struct play *p)
{
	place_table_release(&p->facts);
	kit_free(p->k);
}

static const char *
text(const struct play *p, uint32_t label)
{
	return label != LABEL_NONE ? labels_get(p->k->labels, label)->text : "";
}

static void
expect(const struct play *p, uint32_t i, enum mistake_kind kind, const char *at, const char *to)
{
	assert_true(i < p->n);
	assert_string_equal(mistake_word(p->found[i].kind), mistake_word(kind));
	assert_string_equal(text(p, p->found[i].at), at);
	assert_string_equal(text(p, p->found[i].to), to);
	assert_true(p->found[i].low <= p->found[i].share && p->found[i].share <= p->found[i].high);
}

#define TIMES(p, count, ...)                             \
	for (int times_ = 0; times_ < (count); times_++) \
	play_rows((p), ROWS(__VA_ARGS__))

/* A request of thread 0 that has one piece of work done by thread 1. */
#define BEGIN                                \
	{ 0, 0, 1, 'B', 0, "R", 1 },         \
	{                                    \
		100, 0, 1, 'F', 1, "work", 1 \
	}
#define UNIT                                 \
	{                                    \
		200, 1, 2, 'b', 1, "work", 1 \
	}
#define UNIT_ENDS                             \
	{                                     \
		5000, 1, 2, 'e', 1, "work", 1 \
	}
#define JOIN                                  \
	{                                     \
		5100, 0, 1, 'J', 1, "work", 1 \
	}
#define END                                \
	{                                  \
		6000, 0, 1, 'E', 0, "R", 1 \
	}

static void
a_right_program_has_no_mistakes(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 100, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 0);
	for (uint32_t i = 0; i < p.facts.n; i++) {
		const struct place_facts *f = &p.facts.items[i];

		if (f->forked == 0)
			continue;
		assert_int_equal(f->forked, 100);
		assert_int_equal(f->begun, 100);
		assert_int_equal(f->ended, 100);
		assert_int_equal(f->joined, 100);
	}
	play_free(&p);
}

static void
a_few_requests_that_are_cut_off_are_no_mistake(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 4, UNIT, UNIT_ENDS, END); /* begun before the observation */
	TIMES(&p, 1000, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	TIMES(&p, 4, BEGIN, UNIT);
	play_end(&p, NULL);
	assert_int_equal(p.n, 0);
	play_free(&p);
}

/* 1 */
static void
a_unit_that_does_not_end_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 50, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	TIMES(&p, 10, BEGIN, UNIT, JOIN, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_UNIT_OPEN, "s/hone:unit_begin(work)", "");
	assert_int_equal(p.found[0].count, 10);
	assert_int_equal(p.found[0].of, 60);
	play_free(&p);
}

/* 1 and 2b: a thread with four open units begins no further ones. */
static void
units_missing_behind_open_ones_are_no_lost_carriers(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 4, BEGIN, UNIT, JOIN, END);
	TIMES(&p, 200, BEGIN, JOIN, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_UNIT_OPEN, "s/hone:unit_begin(work)", "");
	play_free(&p);
}

/* 2c */
static void
a_carrier_that_arrives_sometimes_is_lost_where_it_arrived(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 50, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	TIMES(&p, 10, BEGIN, JOIN, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_CARRIER_LOST, "s/hone:fork(work)", "s/hone:unit_begin(work)");
	assert_int_equal(p.found[0].count, 10);
	assert_int_equal(p.found[0].of, 60);
	assert_null(p.found[0].to_service);
	play_free(&p);
}

/* 2d, 2e */
static void
a_carrier_that_never_arrives_is_lost_in_a_silent_program_or_unseen(void **state)
{
	static const char *const idle[] = { "store", NULL }, *const none[] = { NULL };
	struct play p;
	(void)state;

	for (int silent = 0; silent < 3; silent++) {
		play_begin(&p, 2);
		TIMES(&p, 50, BEGIN, JOIN, END);
		play_end(&p, silent == 0 ? NULL : silent == 1 ? none : idle);
		assert_int_equal(p.n, 1);
		expect(&p, 0, silent == 2 ? MISTAKE_CARRIER_LOST : MISTAKE_PROGRAM_UNSEEN,
		    "s/hone:fork(work)", "");
		if (silent == 2)
			assert_string_equal(p.found[0].to_service, "store");
		play_free(&p);
	}
}

/* 3 */
static void
a_carrier_that_begins_two_units_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 3);
	TIMES(&p, 20, BEGIN, UNIT, UNIT_ENDS, { 300, 2, 3, 'b', 1, "work", 1 },
	    { 400, 2, 3, 'e', 1, "work", 1 }, JOIN, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_FORK_REUSED, "s/hone:fork(work)", "s/hone:unit_begin(work)");
	play_free(&p);
}

/* 4: thread 0 serves another request while it waits, without having detached the first one */
static void
a_missing_detach_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 100, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	/* the joins come in the context of another request, or outside of all requests: libhone
	 * drops them */
	TIMES(&p, 30, BEGIN, UNIT, { 1000, 0, 11, 'B', 0, "R", 2 }, UNIT_ENDS,
	    { 5200, 0, 11, 'E', 0, "R", 2 });
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_DETACH_MISSING, "s/hone:request_begin(R)", "");
	play_free(&p);
	/* the same with units, which libhone nests */
	play_begin(&p, 2);
	TIMES(&p, 100, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	TIMES(&p, 30, BEGIN, UNIT, { 1000, 0, 11, 'b', 9, "other", 2 },
	    { 1100, 0, 11, 'e', 9, "other", 2 }, UNIT_ENDS, END);
	play_end(&p, NULL);
	assert_true(p.n >= 1);
	expect(&p, 0, MISTAKE_DETACH_MISSING, "s/hone:request_begin(R)", "s/hone:fork(work)");
	play_free(&p);
}

static void
a_loop_that_detaches_and_joins_has_no_mistake(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 50, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	TIMES(&p, 50, BEGIN, UNIT, { 1000, 0, 11, 'B', 0, "R", 2 }, { 1100, 0, 11, 'E', 0, "R", 2 },
	    UNIT_ENDS, JOIN, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 0);
	play_free(&p);
}

static void
an_answer_that_never_comes_is_no_missing_detach(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 37, BEGIN, UNIT, { 1000, 0, 11, 'B', 0, "R", 2 }, { 1100, 0, 11, 'E', 0, "R", 2 },
	    UNIT_ENDS, JOIN, END);
	TIMES(&p, 27, BEGIN, { 1000, 0, 11, 'B', 0, "R", 2 }, { 1100, 0, 11, 'E', 0, "R", 2 });
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_REQUEST_OPEN, "s/hone:request_begin(R)", "");
	play_free(&p);
}

/* 5 */
static void
a_wait_without_a_join_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 40, BEGIN, UNIT, UNIT_ENDS, { 5100, 0, 1, '.', 0, "x", 1 }, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_JOIN_MISSING, "s/hone:fork(work)", "s/hone:unit_begin(work)");
	assert_int_equal(p.found[0].count, 40);
	play_free(&p);
}

static void
work_that_is_not_waited_for_needs_no_join(void **state)
{
	struct play p;
	(void)state;

	/* the unit ends somewhere in what the request does meanwhile, or after it */
	play_begin(&p, 2);
	for (int i = 0; i < 100; i++)
		play_rows(&p, ROWS(BEGIN, UNIT, { 300 + i * 60, 1, 2, 'e', 1, "work", 1 }, END));
	play_end(&p, NULL);
	assert_int_equal(p.n, 0);
	play_free(&p);
}

/* 5: three pieces of work run concurrently; the one that ends last ends the wait */
static void
a_missing_join_of_work_side_by_side_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 4);
	for (int i = 0; i < 30; i++)
		play_rows(&p,
		    ROWS({ 0, 0, 1, 'B', 0, "R", 1 }, { 10, 0, 1, 'F', 1, "a", 1 },
			{ 20, 0, 1, 'F', 2, "b", 1 }, { 30, 1, 2, 'b', 1, "a", 1 },
			{ 40, 2, 3, 'b', 2, "b", 1 }, { i % 2 ? 2000 : 4000, 1, 2, 'e', 1, "a", 1 },
			{ 3000, 2, 3, 'e', 2, "b", 1 },
			{ i % 2 ? 3050 : 4050, 0, 1, 'E', 0, "R", 1 }));
	play_end(&p, NULL);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.found[0].kind, MISTAKE_JOIN_MISSING);
	assert_int_equal(p.found[1].kind, MISTAKE_JOIN_MISSING);
	play_free(&p);
}

/* 6 */
static void
a_unit_without_its_fork_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 20, { 0, 0, 1, 'B', 0, "R", 1 }, { 200, 1, 2, 'b', 7, "work", 1 },
	    { 5000, 1, 2, 'e', 7, "work", 1 }, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_FORK_UNSEEN, "s/hone:unit_begin(work)", "");
	play_free(&p);
}

/* 7 */
static void
a_request_that_does_not_end_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 20, BEGIN, UNIT, UNIT_ENDS, JOIN);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_REQUEST_OPEN, "s/hone:request_begin(R)", "");
	assert_int_equal(p.found[0].count, 20);
	play_free(&p);
}

/* 8 */
static void
a_request_that_ends_twice_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 20, BEGIN, UNIT, UNIT_ENDS, JOIN, END, { 6100, 0, 1, 'E', 0, "R", 1 });
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_ENDS_AGAIN, "s/hone:request_begin(R)", "");
	play_free(&p);
}

/* 9, and 2a */
static void
a_request_inside_of_a_request_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	/* Its link is none of the units' ids, as libhone's links are: it would have been called by that span. */
	TIMES(&p, 20, { 0, 0, 1, 'B', 0, "R", 1 }, { 100, 0, 1, 'F', 9, "work", 1 },
	    { 300, 1, 2, 'B', 9, "Q", 1 }, { 400, 1, 2, 'E', 0, "Q", 1 },
	    { 500, 0, 1, 'J', 9, "work", 1 }, END);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_REQUEST_INSIDE, "s/hone:request_begin(Q)", "");
	play_free(&p);
}

/* 10 */
static void
a_trace_that_nobody_began_is_named(void **state)
{
	struct play p;
	(void)state;

	play_begin(&p, 2);
	TIMES(&p, 20, UNIT, UNIT_ENDS);
	play_end(&p, NULL);
	assert_int_equal(p.n, 1);
	expect(&p, 0, MISTAKE_REQUEST_UNSEEN, "s/hone:unit_begin(work)", "");
	play_free(&p);
}

static void
lossy_traces_count_nothing(void **state)
{
	struct loss loss = {
		.reason = LOSS_RING, .count = 1, .from_ns = 0, .to_ns = INT64_MAX / 16
	};
	struct batch b = { .nlosses = 1, .losses = &loss };
	struct play p;
	(void)state;

	play_begin(&p, 2);
	assert_int_equal(assemble_batch(p.k->assemble, 0, &b, &p.k->e), 0);
	TIMES(&p, 50, BEGIN, JOIN, END);
	play_end(&p, NULL);
	assert_int_equal(p.facts.traces, 50);
	assert_int_equal(p.facts.lossy, 50);
	assert_int_equal(p.n, 0);
	play_free(&p);
}

static void
tables_of_two_windows_add_up_to_that_of_both(void **state)
{
	struct place_table sum = { 0 };
	struct play a, b, both;
	(void)state;

	play_begin(&a, 2);
	play_begin(&both, 2);
	TIMES(&a, 10, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	TIMES(&both, 10, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	play_end(&a, NULL);
	play_begin(&b, 2);
	TIMES(&b, 10, BEGIN, JOIN, END);
	TIMES(&both, 10, BEGIN, JOIN, END);
	play_end(&b, NULL);
	play_end(&both, NULL);
	/* labels have the same numbers, since they came in the same order */
	assert_true(place_table_merge(&sum, &a.facts));
	assert_true(place_table_merge(&sum, &b.facts));
	assert_int_equal(sum.traces, both.facts.traces);
	assert_int_equal(sum.n, both.facts.n);
	for (uint32_t i = 0; i < sum.n; i++) {
		assert_int_equal(sum.items[i].forked, both.facts.items[i].forked);
		assert_int_equal(sum.items[i].joined_unbegun, both.facts.items[i].joined_unbegun);
		assert_int_equal(sum.items[i].units, both.facts.items[i].units);
	}
	place_table_release(&sum);
	play_free(&a);
	play_free(&b);
	play_free(&both);
}

static void
units_that_opened_long_ago_explain_why_none_begins_now(void **state)
{
	const struct mistake_limits limits = mistake_defaults();
	struct play before, now, right;
	(void)state;

	play_begin(&before, 2);
	TIMES(&before, 4, BEGIN, UNIT, JOIN, END);
	play_end(&before, NULL);
	/* no unit begins any more */
	play_begin(&now, 2);
	TIMES(&now, 50, BEGIN, JOIN, END);
	play_end(&now, NULL);
	assert_int_equal(now.n, 1);
	assert_int_equal(now.found[0].kind, MISTAKE_PROGRAM_UNSEEN);
	assert_true(place_table_merge_open(&now.facts, &before.facts));
	now.n = mistakes_find(now.found, MISTAKES_MAX, &now.facts, before.k->labels, NULL, &limits);
	assert_int_equal(now.n, 1);
	assert_int_equal(now.found[0].kind, MISTAKE_UNIT_OPEN);
	play_begin(&right, 2);
	TIMES(&right, 50, BEGIN, UNIT, UNIT_ENDS, JOIN, END);
	play_end(&right, NULL);
	/* the program was corrected in the meantime */
	assert_true(place_table_merge_open(&right.facts, &before.facts));
	assert_int_equal(
	    mistakes_find(right.found, MISTAKES_MAX, &right.facts, right.k->labels, NULL, &limits),
	    0);
	play_free(&before);
	play_free(&now);
	play_free(&right);
}

static void
a_mistake_concerns_an_edge_into_which_it_puts_time(void **state)
{
	static const uint32_t path[] = { 10, 11, 12, 13 };
	static const struct {
		enum mistake_kind kind;
		uint32_t type, at, to;
		double low;
		uint32_t from;
		bool concerns;
	} CASES[] = {
		/* 1 */
		{ MISTAKE_JOIN_MISSING, 2, 11, LABEL_NONE, 1, 1, false },
		{ MISTAKE_JOIN_MISSING, 1, 11, LABEL_NONE, 0.04, 1, false },
		/* 2 */
		{ MISTAKE_JOIN_MISSING, 1, 11, LABEL_NONE, 1, 1, true },
		{ MISTAKE_JOIN_MISSING, 1, 11, LABEL_NONE, 1, 2, true },
		{ MISTAKE_JOIN_MISSING, 1, 11, LABEL_NONE, 1, 0, false },
		{ MISTAKE_JOIN_MISSING, 1, 99, LABEL_NONE, 1, 2, false },
		/* 3 */
		{ MISTAKE_DETACH_MISSING, 1, 10, LABEL_NONE, 0.5, 2, true },
		{ MISTAKE_DETACH_MISSING, 1, 99, 12, 0.5, 0, true },
		{ MISTAKE_DETACH_MISSING, 1, 99, LABEL_NONE, 0.5, 2, false },
		{ MISTAKE_UNIT_OPEN, 1, 13, LABEL_NONE, 0.5, 0, true },
		{ MISTAKE_FORK_REUSED, 1, 98, 99, 0.5, 0, false },
		/* 4 */
		{ MISTAKE_CARRIER_LOST, 1, 11, 12, 1, 1, false },
		{ MISTAKE_REQUEST_OPEN, 1, 10, LABEL_NONE, 1, 1, false },
	};
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
		struct mistake m = { .kind = CASES[i].kind,
			.type = CASES[i].type,
			.at = CASES[i].at,
			.to = CASES[i].to,
			.low = CASES[i].low };

		assert_int_equal(
		    mistake_concerns(&m, 1, path, 4, CASES[i].from), CASES[i].concerns);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_program_has_no_mistakes),
		cmocka_unit_test(a_few_requests_that_are_cut_off_are_no_mistake),
		cmocka_unit_test(a_unit_that_does_not_end_is_named),
		cmocka_unit_test(units_missing_behind_open_ones_are_no_lost_carriers),
		cmocka_unit_test(a_carrier_that_arrives_sometimes_is_lost_where_it_arrived),
		cmocka_unit_test(
		    a_carrier_that_never_arrives_is_lost_in_a_silent_program_or_unseen),
		cmocka_unit_test(a_carrier_that_begins_two_units_is_named),
		cmocka_unit_test(a_missing_detach_is_named),
		cmocka_unit_test(a_loop_that_detaches_and_joins_has_no_mistake),
		cmocka_unit_test(an_answer_that_never_comes_is_no_missing_detach),
		cmocka_unit_test(a_wait_without_a_join_is_named),
		cmocka_unit_test(work_that_is_not_waited_for_needs_no_join),
		cmocka_unit_test(a_missing_join_of_work_side_by_side_is_named),
		cmocka_unit_test(a_unit_without_its_fork_is_named),
		cmocka_unit_test(a_request_that_does_not_end_is_named),
		cmocka_unit_test(a_request_that_ends_twice_is_named),
		cmocka_unit_test(a_request_inside_of_a_request_is_named),
		cmocka_unit_test(a_trace_that_nobody_began_is_named),
		cmocka_unit_test(lossy_traces_count_nothing),
		cmocka_unit_test(tables_of_two_windows_add_up_to_that_of_both),
		cmocka_unit_test(units_that_opened_long_ago_explain_why_none_begins_now),
		cmocka_unit_test(a_mistake_concerns_an_edge_into_which_it_puts_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
