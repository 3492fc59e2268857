/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/spans/span_gather.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)

static const struct gather_options OPTIONS = { 1 << 20, 100, 5 * S, 60 * S };

static struct gather *
make(const struct gather_options *o)
{
	struct gather *g;
	struct err e;

	assert_int_equal(gather_new(&g, o, &e), 0);
	return g;
}

static enum gathered
add(struct gather *g, uint64_t trace, uint64_t id, uint64_t parent, int64_t now_ns)
{
	char name[] = "name";
	struct attribute a = {
		.key = "key", .key_len = 3, .value = { VALUE_TEXT, 5, .text = "value" }
	};
	struct span s = { .trace = { 7, trace }, .id = id, .parent = parent };
	enum gathered rc;

	s.has_parent = parent != 0;
	s.name = (struct text_view){ name, 4 };
	s.attributes = &a;
	s.nattributes = 1;
	rc = gather_add(g, &s, (struct mono){ now_ns });
	memset(name, 'x', 4); /* what was taken is a copy */
	return rc;
}

/* The number of spans of the next trace; 0: none is due. */
static uint32_t
next(struct gather *g, int64_t now_ns, uint64_t trace)
{
	struct gathered_trace *t = gather_next(g, (struct mono){ now_ns }, false);
	uint32_t n = 0;

	if (t == NULL)
		return 0;
	assert_int_equal(t->id.low, trace);
	assert_int_equal(t->id.high, 7);
	for (const struct gathered_span *s = t->spans; s != NULL; s = s->next, n++) {
		assert_memory_equal(s->span.name.s, "name", 4);
		assert_memory_equal(s->span.attributes[0].key, "key", 3);
		assert_memory_equal(s->span.attributes[0].value.text, "value", 5);
	}
	assert_int_equal(n, t->nspans);
	gather_trace_free(g, t);
	return n;
}

static void
a_trace_is_due_some_time_after_its_entry_came(void **state)
{
	struct gather *g = make(&OPTIONS);
	(void)state;

	add(g, 1, 10, 9, 0);
	add(g, 1, 9, 0, 1 * S);
	add(g, 1, 11, 9, 5 * S); /* does not put it off */
	assert_int_equal(gather_due_ms(g, (struct mono){ 5500 * MS }, 1000), 500);
	assert_int_equal(next(g, 6 * S - 1, 1), 0);
	assert_int_equal(next(g, 6 * S, 1), 3);
	assert_int_equal(next(g, 100 * S, 1), 0);
	gather_free(g);
}

static void
a_trace_without_an_entry_waits_for_quiet_but_not_for_ever(void **state)
{
	struct gather *g = make(&OPTIONS);
	(void)state;

	add(g, 1, 10, 9, 0);
	add(g, 1, 11, 9, 4 * S);
	add(g, 2, 20, 19, 4 * S);
	add(g, 1, 12, 9, 8 * S);
	assert_int_equal(next(g, 9 * S, 2), 1);
	assert_int_equal(next(g, 13 * S, 1), 3);
	for (int64_t i = 0; i < 60; i++)
		add(g, 3, (uint64_t)i + 1, 99, 20 * S + i * S);
	assert_int_equal(next(g, 80 * S - 1, 3), 0);
	assert_int_equal(next(g, 80 * S, 3), 60);
	gather_free(g);
}

/* All spans of a program carry its caller; only the one whose parent it is is the entry. */
static void
a_caller_under_hone_makes_an_entry(void **state)
{
	struct gather *g = make(&OPTIONS);
	struct span s = { .trace = { 7, 1 }, .id = 2, .parent = 3, .has_parent = true };
	struct attribute a = { "key", 3, { VALUE_TEXT, 5, .text = "value" } };
	static const char words[] = "hone=0000000000000005-000000011";
	(void)state;

	s.state = (struct text_view){ words, sizeof words - 1 };
	s.name = (struct text_view){ "name", 4 };
	s.attributes = &a;
	s.nattributes = 1;
	gather_add(g, &s, (struct mono){ 0 });
	s.id = 3;
	s.parent = 5;
	gather_add(g, &s, (struct mono){ 3 * S });
	assert_null(gather_next(g, (struct mono){ 8 * S - 1 }, false));
	assert_int_equal(next(g, 8 * S, 1), 2);
	gather_free(g);
}

static void
spans_that_come_again_are_known_and_late_ones_told(void **state)
{
	struct gather *g = make(&OPTIONS);
	struct gather_stats st;
	(void)state;

	assert_int_equal(add(g, 1, 9, 0, 0), GATHERED);
	assert_int_equal(add(g, 1, 9, 0, 0), GATHERED_AGAIN);
	assert_int_equal(next(g, 5 * S, 1), 1);
	assert_int_equal(add(g, 1, 9, 0, 6 * S), GATHERED_AGAIN);
	assert_int_equal(add(g, 1, 10, 9, 6 * S), GATHERED_LATE);
	gather_stats(g, &st);
	assert_int_equal(st.bytes, 0);
	assert_int_equal(st.held, 0);
	assert_int_equal(st.results[GATHERED_AGAIN], 2);
	gather_free(g);
}

/* One trace of 500,000 spans: of those that come again, the last GATHER_KNOWN_SPANS are known. */
static void
the_last_spans_are_known(void **state)
{
	enum { SPANS = 500000 };
	struct gather_options o = { 1 << 30, 2 * SPANS, S, S };
	struct gather *g = make(&o);
	struct span s = { .trace = { 7, 1 } };
	(void)state;

	for (s.id = 1; s.id <= SPANS; s.id++)
		assert_int_equal(gather_add(g, &s, (struct mono){ 0 }), GATHERED);
	for (s.id = SPANS - GATHER_KNOWN_SPANS + 1; s.id <= SPANS; s.id++)
		assert_int_equal(gather_add(g, &s, (struct mono){ 0 }), GATHERED_AGAIN);
	s.id = 1;
	assert_int_equal(gather_add(g, &s, (struct mono){ 0 }), GATHERED); /* memory is bounded */
	gather_free(g);
}

static void
memory_is_bounded_and_its_end_is_told(void **state)
{
	struct gather_options o = { 20000, 5, 5 * S, 60 * S };
	struct gather *g = make(&o);
	struct gather_stats st;
	struct gathered_trace *t;
	uint64_t full = 0;
	(void)state;

	for (uint64_t i = 1; i <= 1000; i++)
		full += add(g, i, i, 0, 0) == GATHERED_FULL;
	gather_stats(g, &st);
	assert_in_range(full, 850, 950);
	assert_true(st.bytes <= o.bytes_max);
	assert_true(gather_fill(g) > 0.9);
	while ((t = gather_next(g, (struct mono){ 0 }, true)) != NULL)
		gather_trace_free(g, t);
	for (uint64_t i = 1; i <= 6; i++)
		assert_int_equal(add(g, 5000, i, 0, 0), i <= 5 ? GATHERED : GATHERED_FULL);
	t = gather_next(g, (struct mono){ 0 }, true);
	assert_true(t->cut);
	gather_trace_free(g, t);
	gather_free(g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_is_due_some_time_after_its_entry_came),
		cmocka_unit_test(a_trace_without_an_entry_waits_for_quiet_but_not_for_ever),
		cmocka_unit_test(a_caller_under_hone_makes_an_entry),
		cmocka_unit_test(spans_that_come_again_are_known_and_late_ones_told),
		cmocka_unit_test(the_last_spans_are_known),
		cmocka_unit_test(memory_is_bounded_and_its_end_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
