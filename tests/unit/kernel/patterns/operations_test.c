/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/request_operations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernel/patterns/mine.h"

/* "a 0-100 (b 10-20 c 30-40)" is the tree; here as rows: name, parent, begin, end. */
struct row {
	const char *name;
	uint32_t parent;
	int64_t begin_ns, end_ns;
};

static struct workflow
workflow(struct arena *a, const struct row *rows, uint32_t n)
{
	struct operation *list = arena_calloc(a, n, sizeof *list);
	struct operations o = { .list = list, .n = n };
	struct workflow w;
	struct err e = { 0 };

	for (uint32_t i = 0; i < n; i++)
		list[i] = (struct operation){ .name = rows[i].name,
			.name_len = (uint32_t)strlen(rows[i].name),
			.parent = rows[i].parent,
			.begin_ns = rows[i].begin_ns,
			.end_ns = rows[i].end_ns };
	assert_int_equal(workflow_of(&w, &o, a, &e), 0);
	return w;
}

#define WORKFLOW(a, ...)                                 \
	workflow(a, (const struct row[]){ __VA_ARGS__ }, \
	    sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row))

static bool
same_type(const struct workflow *a, const struct workflow *b)
{
	return a->type.a == b->type.a && a->type.b == b->type.b;
}

static void
the_type_is_the_tree_of_names_in_their_order(void **state)
{
	const uint32_t none = OPERATION_NONE;
	struct arena a = { 0 };
	struct workflow w = WORKFLOW(
	    &a, { "a", none, 0, 100 }, { "b", 0, 10, 20 }, { "c", 0, 30, 40 });
	struct workflow longer = WORKFLOW(
	    &a, { "a", none, 5, 900 }, { "c", 0, 300, 800 }, { "b", 0, 10, 20 });
	struct workflow turned = WORKFLOW(
	    &a, { "a", none, 0, 100 }, { "c", 0, 10, 20 }, { "b", 0, 30, 40 });
	struct workflow deeper = WORKFLOW(
	    &a, { "a", none, 0, 100 }, { "b", 0, 10, 40 }, { "c", 1, 30, 40 });
	struct workflow named = WORKFLOW(
	    &a, { "a", none, 0, 100 }, { "b", 0, 10, 20 }, { "cc", 0, 30, 40 });
	struct workflow fewer = WORKFLOW(&a, { "a", none, 0, 100 }, { "b", 0, 10, 20 });
	(void)state;

	assert_true(same_type(&w, &longer));
	assert_false(same_type(&w, &turned));
	assert_false(same_type(&w, &deeper));
	assert_false(same_type(&w, &named));
	assert_false(same_type(&w, &fewer));
	assert_int_equal(w.nplaces, 3);
	assert_int_equal(longer.place[1], w.place[2]); /* of c */
	arena_release(&a);
}

static void
a_loop_of_any_length_is_one_type_and_one_slot(void **state)
{
	const uint32_t none = OPERATION_NONE;
	struct arena a = { 0 };
	struct workflow once = WORKFLOW(
	    &a, { "a", none, 0, 100 }, { "b", 0, 10, 20 }, { "x", 1, 11, 12 }, { "c", 0, 60, 70 });
	struct workflow thrice = WORKFLOW(&a, { "a", none, 0, 100 }, { "b", 0, 10, 20 },
	    { "b", 0, 20, 30 }, { "b", 0, 40, 50 }, { "c", 0, 60, 70 }, { "x", 1, 11, 12 },
	    { "x", 2, 21, 22 }, { "x", 3, 41, 42 }, { "x", 3, 43, 44 });
	struct workflow other = WORKFLOW(&a, { "a", none, 0, 100 }, { "b", 0, 10, 20 },
	    { "b", 0, 20, 30 }, { "x", 1, 11, 12 }, { "c", 0, 60, 70 });
	(void)state;

	assert_true(same_type(&once, &thrice));
	assert_false(same_type(&once, &other)); /* the second b calls no x */
	assert_int_equal(thrice.nplaces, 4);
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(thrice.place[i], once.place[1]);
	for (uint32_t i = 5; i <= 8; i++)
		assert_int_equal(thrice.place[i], once.place[2]);
	assert_int_equal(thrice.slot[4], 1);
	arena_release(&a);
}

static void
what_runs_at_the_same_time_has_no_order(void **state)
{
	const uint32_t none = OPERATION_NONE;
	struct arena a = { 0 };
	struct workflow w = WORKFLOW(&a, { "a", none, 0, 100 }, { "b", 0, 10, 30 },
	    { "c", 0, 11, 40 }, { "d", 0, 20, 25 }, { "e", 0, 50, 60 });
	struct workflow turned = WORKFLOW(&a, { "a", none, 0, 100 }, { "b", 0, 15, 30 },
	    { "c", 0, 11, 40 }, { "d", 0, 12, 19 }, { "e", 0, 50, 60 });
	struct workflow one_by_one = WORKFLOW(&a, { "a", none, 0, 100 }, { "b", 0, 10, 11 },
	    { "c", 0, 11, 20 }, { "d", 0, 20, 25 }, { "e", 0, 50, 60 });
	(void)state;

	assert_true(same_type(&w, &turned));
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(w.place[i], turned.place[i]);
	/* of three that follow each other the order is theirs, of which one in six is the same */
	assert_int_equal(one_by_one.slot[1], 0);
	assert_int_equal(one_by_one.slot[3], 2);
	arena_release(&a);
}

static void
what_is_no_tree_is_refused(void **state)
{
	struct operation list[2] = { { .name = "a", .name_len = 1, .parent = OPERATION_NONE },
		{ .name = "b", .name_len = 1, .parent = 1 } };
	struct operations o = { .list = list, .n = 2 };
	struct workflow w;
	struct arena a = { 0 };
	struct err e = { 0 };
	(void)state;

	assert_int_equal(workflow_of(&w, &o, &a, &e), ERR_INPUT);
	list[1].parent = OPERATION_NONE;
	assert_int_equal(workflow_of(&w, &o, &a, &e), ERR_INPUT);
	o.n = 0;
	assert_int_equal(workflow_of(&w, &o, &a, &e), ERR_INPUT);
	o.n = OPERATIONS_MAX + 1;
	assert_int_equal(workflow_of(&w, &o, &a, &e), ERR_INPUT);
	arena_release(&a);
}

static void
a_request_with_ten_thousand_operations_below_one_takes_no_time(void **state)
{
	struct arena a = { 0 };
	struct row *rows = calloc(OPERATIONS_MAX, sizeof *rows);
	struct workflow w;
	(void)state;

	rows[0] = (struct row){ "a", OPERATION_NONE, 0, 1 << 20 };
	for (uint32_t i = 1; i < OPERATIONS_MAX; i++)
		rows[i] = (struct row){ i % 2 == 0 ? "b" : "c", i % 3 == 0 ? i - 1 : 0, i, i + 3 };
	w = workflow(&a, rows, OPERATIONS_MAX);
	assert_in_range(w.nplaces, 4, OPERATIONS_MAX);
	free(rows);
	arena_release(&a);
}

/* ---- states ---- */

/* "R10 D5 [3]7 R1": states with their times; [i]: within operation i. */
static struct operation_states
states(struct arena *a, const struct row *rows, uint32_t n, const char *text)
{
	struct operation *list = arena_calloc(a, n, sizeof *list);
	struct operation_piece *pieces = arena_calloc(a, 600, sizeof *pieces);
	struct operations o = { .list = list, .n = n };
	struct operation_states ret;
	struct workflow w;
	struct err e = { 0 };
	int64_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		list[i] = (struct operation){ .name = rows[i].name,
			.name_len = (uint32_t)strlen(rows[i].name),
			.parent = rows[i].parent,
			.begin_ns = rows[i].begin_ns,
			.end_ns = rows[i].end_ns };
	for (char *end; *text != '\0'; text = end) {
		struct operation_piece *p = &pieces[list[0].npieces++];

		while (*text == ' ')
			text++;
		*p = (struct operation_piece){ at, at, OPERATION_NONE, BELOW_NETWORK };
		if (*text == '[')
			p->within = (uint32_t)strtoul(text + 1, &end, 10);
		else
			p->state = (uint8_t)letter_state(*text);
		p->to_ns = at += strtol(*text == '[' ? end + 1 : text + 1, &end, 10);
	}
	list[0].pieces = pieces;
	list[0].end_ns = at;
	assert_int_equal(workflow_of(&w, &o, a, &e), 0);
	assert_int_equal(operation_states_of(&ret, &o, &w, 0, a, &e), 0);
	return ret;
}

/* "0:R10 D5x2 | 2:R1 ~P3": by interval; x: passes; ~: loose. */
static const char *
said(const struct operation_states *s)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < s->n; i++) {
		const struct state_run *r = &s->runs[i];

		if (i == 0 || r[-1].interval != r->interval)
			len += (size_t)snprintf(text + len, sizeof text - len,
			    "%s%u:", i == 0 ? "" : "| ", r->interval);
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%c%ld",
		    r->loose ? "~" : "", state_letter((enum below_state)r->state), (long)r->ns);
		if (r->passes > 1)
			len += (size_t)snprintf(text + len, sizeof text - len, "x%u", r->passes);
		len += (size_t)snprintf(text + len, sizeof text - len, i + 1 < s->n ? " " : "");
	}
	return text;
}

static void
repeated_pairs_are_one_pair(void **state)
{
	static const struct row one[] = { { "a", OPERATION_NONE, 0, 0 } };
	struct arena a = { 0 };
	struct operation_states s;
	(void)state;

	s = states(&a, one, 1, "R1 T2 R3 D4 R5 D6 R7");
	assert_string_equal(said(&s), "0:R1 T2 R8x2 D10x2 R7");
	s = states(&a, one, 1, "R1 D1 R1");
	assert_string_equal(said(&s), "0:R1 D1 R1");
	s = states(&a, one, 1, "R1 D1 R1 D1 R1 N5 R1 N5 R1 D1");
	assert_string_equal(said(&s), "0:R2x2 D2x2 R2x2 N10x2 R1 D1");
	arena_release(&a);
}

static void
when_a_thread_loses_its_cpu_is_no_part_of_the_sequence(void **state)
{
	static const struct row one[] = { { "a", OPERATION_NONE, 0, 0 } };
	struct arena a = { 0 };
	struct operation_states s = states(&a, one, 1, "R1 P9 R1 D4 P2 R5 U1 R1 D6");
	(void)state;

	assert_string_equal(said(&s), "0:R8x2 D10x2 ~P11x2 ~U1");
	assert_int_equal(s.own_ns, 30);
	assert_int_equal(s.unknown_ns, 1);
	arena_release(&a);
}

static void
operations_below_separate_intervals(void **state)
{
	static const struct row rows[] = { { "a", OPERATION_NONE, 0, 0 }, { "b", 0, 1, 2 },
		{ "b", 0, 3, 4 }, { "c", 0, 5, 6 } };
	struct arena a = { 0 };
	struct operation_states s;
	(void)state;

	/* slot 0 is b, twice; slot 1 is c */
	s = states(&a, rows, 4, "R1 N2 [1]50 R3 [2]50 R4 N5 [3]50 R6");
	assert_string_equal(said(&s), "0:R1 N2 | 1:R3 | 2:R4 N5 | 4:R6");
	assert_int_equal(s.own_ns, 21);
	s = states(&a, rows, 4, "[1]50 [2]10 R3 [3]50"); /* nothing between */
	assert_string_equal(said(&s), "2:R3");
	s = states(&a, rows, 4, "R1 [3]10 R2"); /* what is not on the path separates nothing */
	assert_string_equal(said(&s), "0:R1 | 4:R2");
	/* in turns: each interval is one sequence */
	s = states(&a, rows, 4, "R1 [1]1 R2 [3]1 R3 [1]1 R4 [3]1 R5");
	assert_string_equal(said(&s), "0:R1 | 2:R6 | 4:R8");
	arena_release(&a);
}

static void
of_a_long_sequence_the_rest_is_summed(void **state)
{
	static const struct row one[] = { { "a", OPERATION_NONE, 0, 0 } };
	struct arena a = { 0 };
	struct operation_piece *p = arena_calloc(&a, 5000, sizeof *p);
	struct operation op = { .name = "a",
		.name_len = 1,
		.parent = OPERATION_NONE,
		.end_ns = 5000,
		.pieces = p,
		.npieces = 5000 };
	struct operations o = { .list = &op, .n = 1 };
	struct operation_states s;
	struct workflow w;
	struct rng r;
	struct err e = { 0 };
	int64_t sum = 0;
	(void)state;
	(void)one;

	rng_seed(&r, 1);
	for (int i = 0; i < 5000; i++)
		p[i] = (struct operation_piece){ i, i + 1, OPERATION_NONE,
			(uint8_t)rng_below(&r, BELOW_STATES) };
	assert_int_equal(workflow_of(&w, &o, &a, &e), 0);
	assert_int_equal(operation_states_of(&s, &o, &w, 0, &a, &e), 0);
	assert_in_range(s.n, MINE_LENGTH_MAX, MINE_LENGTH_MAX + BELOW_STATES);
	for (uint32_t i = 0; i < s.n; i++) {
		sum += s.runs[i].ns;
		assert_true(s.runs[i].loose == (i >= MINE_LENGTH_MAX));
	}
	assert_int_equal(sum, 5000);
	arena_release(&a);
}

static void
pieces_that_contradict_each_other_are_refused(void **state)
{
	struct operation_piece p[2] = { { 0, 10, OPERATION_NONE, BELOW_RUNNING },
		{ 10, 20, OPERATION_NONE, BELOW_DISK } };
	struct operation op = { .name = "a",
		.name_len = 1,
		.parent = OPERATION_NONE,
		.end_ns = 20,
		.pieces = p,
		.npieces = 2 };
	struct operations o = { .list = &op, .n = 1 };
	struct operation_states s;
	struct workflow w;
	struct arena a = { 0 };
	struct err e = { 0 };
	(void)state;

	assert_int_equal(workflow_of(&w, &o, &a, &e), 0);
	assert_int_equal(operation_states_of(&s, &o, &w, 0, &a, &e), 0);
	p[1].from_ns = 9;
	assert_int_equal(operation_states_of(&s, &o, &w, 0, &a, &e), ERR_INPUT);
	p[1].from_ns = 10;
	p[1].to_ns = 19;
	assert_int_equal(operation_states_of(&s, &o, &w, 0, &a, &e), ERR_INPUT);
	p[1].to_ns = 20;
	p[1].within = 0;
	assert_int_equal(operation_states_of(&s, &o, &w, 0, &a, &e), ERR_INPUT);
	p[1].within = OPERATION_NONE;
	p[1].state = BELOW_STATES;
	assert_int_equal(operation_states_of(&s, &o, &w, 0, &a, &e), ERR_INPUT);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_type_is_the_tree_of_names_in_their_order),
		cmocka_unit_test(a_loop_of_any_length_is_one_type_and_one_slot),
		cmocka_unit_test(what_runs_at_the_same_time_has_no_order),
		cmocka_unit_test(what_is_no_tree_is_refused),
		cmocka_unit_test(a_request_with_ten_thousand_operations_below_one_takes_no_time),
		cmocka_unit_test(repeated_pairs_are_one_pair),
		cmocka_unit_test(when_a_thread_loses_its_cpu_is_no_part_of_the_sequence),
		cmocka_unit_test(operations_below_separate_intervals),
		cmocka_unit_test(of_a_long_sequence_the_rest_is_summed),
		cmocka_unit_test(pieces_that_contradict_each_other_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
