/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "instrument/via.h"

/*
 * Node 0 has the records of spans: R is the request, its unit 10; C the client span in it, its unit and its link 20. Node 1 has those of a program with
 * libhone that C calls. Node 2: of one that called R.
 */
#define SPAN UINT64_C(0x2020202020202020)
#define R_BEGINS                      \
	{                             \
		0, 0, 10, 'B', 0, "R" \
	}
#define R_ENDS                          \
	{                               \
		100, 0, 10, 'E', 0, "R" \
	}
#define C_BEGINS                            \
	{ 10, 0, 10, 'F', SPAN, "C" },      \
	{                                   \
		10, 0, SPAN, 'b', SPAN, "C" \
	}
#define C_ENDS                            \
	{ 90, 0, SPAN, 'e', SPAN, "C" },  \
	{                                 \
		90, 0, 10, 'J', SPAN, "C" \
	}

/* The path, without what is silent, as "name:kind@time ...", and "incomplete" before it if it is no evidence. */
static void
describe(struct kit *k, struct trace *t, char *out, size_t size)
{
	struct critpath p;
	size_t at = 0;

	out[0] = '\0';
	if (critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e) != 0)
		fail_msg("%s", k->e.text);
	if (!trace_is_evidence(t))
		at += (size_t)snprintf(out, size, "incomplete ");
	for (uint32_t i = 0; i < p.nsteps; i++) {
		const struct label *l = labels_get(k->labels, p.steps[i].label);

		const char *name = l->kind == RECORD_POINT ? strchr(l->event, ':') + 1 : l->name;

		at += (size_t)snprintf(out + at, size - at, "%s%c%.*s@%lld", i > 0 ? " " : "",
		    ".BEFbeJ"[l->kind], l -> kind == RECORD_POINT ? 99 : (int)l -> name_len, name,
		    (long long)p.steps[i].time_ns);
	}
}

/* All rows, and what became of them: the path of each trace, by lines. */
static void
assert_traces(const struct row *rows, size_t n, const char *expected)
{
	struct kit *k = kit_new(NULL);
	struct trace *t;
	char got[4096] = "", one[2048];

	kit_rows(k, rows, n);
	while ((t = assemble_next(k->assemble)) != NULL) {
		describe(k, t, one, sizeof one);
		snprintf(
		    got + strlen(got), sizeof got - strlen(got), "%s%s", got[0] ? "\n" : "", one);
		trace_free(t);
	}
	kit_counts(k);
	assert_string_equal(got, expected);
	kit_free(k);
}

static void
a_request_that_a_span_called_is_a_unit_of_its_trace(void **state)
{
	(void)state;

	assert_traces(ROWS(R_BEGINS, C_BEGINS, { 30, 1, 7, 'B', SPAN, "stock" },
			  { 40, 1, 7, '.', 0, "p" }, { 60, 1, 7, 'E', 0, "stock" }, C_ENDS, R_ENDS),
	    "BR@0 FC@10 bC@10 bstock@30 .p@40 estock@60 eC@90 JC@90 ER@100");
	/* By the same clock. */
	assert_traces(ROWS(R_BEGINS, C_BEGINS, { 30, 0, 7, 'B', SPAN, "stock" },
			  { 40, 0, 7, '.', 0, "p" }, { 60, 0, 7, 'E', 0, "stock" }, C_ENDS, R_ENDS),
	    "BR@0 FC@10 bC@10 bstock@30 .p@40 estock@60 eC@90 JC@90 ER@100");
}

static void
several_parts_of_one_span_and_what_they_call_are_in_it(void **state)
{
	(void)state;

	assert_traces(
	    ROWS(R_BEGINS, C_BEGINS, { 20, 0, 7, 'B', SPAN, "one" }, { 25, 0, 7, 'F', 99, "deep" },
		{ 26, 0, 9, 'b', 99, "deep" }, { 35, 0, 9, 'e', 99, "deep" },
		{ 36, 0, 7, 'J', 99, "deep" }, { 40, 0, 7, 'E', 0, "one" },
		{ 50, 0, 8, 'B', SPAN, "two" }, { 80, 0, 8, 'E', 0, "two" }, C_ENDS, R_ENDS),
	    "BR@0 FC@10 bC@10 bone@20 Fdeep@25 bdeep@26 edeep@35 Jdeep@36 eone@40 btwo@50 etwo@80 eC@90 JC@90 ER@100");
}

/* R itself was called by a program with libhone, whose link 5 all that is below hands on. */
#define H_BEGINS                     \
	{ 0, 2, 3, 'B', 0, "H" },    \
	{                            \
		1, 2, 3, 'F', 5, "R" \
	}
#define H_ENDS                         \
	{ 110, 2, 3, 'J', 5, "R" },    \
	{                              \
		120, 2, 3, 'E', 0, "H" \
	}
#define ENTRY_BEGINS                  \
	{                             \
		2, 0, 10, 'b', 5, "R" \
	}
#define ENTRY_ENDS                      \
	{                               \
		100, 0, 10, 'e', 5, "R" \
	}

static void
the_link_that_was_handed_on_leads_to_the_span_in_between(void **state)
{
	uint16_t via = hone_via_of(SPAN), entry = hone_via_of(10);
	(void)state;

	assert_traces(
	    ROWS(H_BEGINS, ENTRY_BEGINS, C_BEGINS, { 30, 1, 7, 'b', 5, "stock", .via = via },
		{ 60, 1, 7, 'e', 5, "stock" }, C_ENDS, ENTRY_ENDS, H_ENDS),
	    "BH@0 FR@1 bR@2 FC@10 bC@10 bstock@30 estock@60 eC@90 JC@90 eR@100 JR@110 EH@120");
	/* The program has no client spans: what it hands on is the span that it began with. */
	assert_traces(ROWS(H_BEGINS, ENTRY_BEGINS, { 30, 1, 7, 'b', 5, "stock", .via = entry },
			  { 60, 1, 7, 'e', 5, "stock" }, ENTRY_ENDS, H_ENDS),
	    "BH@0 FR@1 bR@2 bstock@30 estock@60 eR@100 JR@110 EH@120");
}

static void
of_a_proxy_whose_spans_nobody_sends_the_link_counts(void **state)
{
	(void)state;

	assert_traces(ROWS(H_BEGINS, { 30, 1, 7, 'b', 5, "stock", .via = hone_via_of(SPAN) },
			  { 60, 1, 7, 'e', 5, "stock" }, H_ENDS),
	    "BH@0 FR@1 bstock@30 estock@60 JR@110 EH@120");
}

static void
a_request_whose_caller_is_not_in_the_trace_stays_one(void **state)
{
	(void)state;

	assert_traces(ROWS({ 30, 1, 7, 'B', SPAN, "stock" }, { 60, 1, 7, 'E', 0, "stock" }),
	    "Bstock@30 Estock@60");
	assert_traces(ROWS({ 0, 0, 10, 'B', 0, "R", 2 }, { 100, 0, 10, 'E', 0, "R", 2 },
			  { 30, 1, 7, 'B', SPAN, "stock" }, { 60, 1, 7, 'E', 0, "stock" }),
	    "Bstock@30 Estock@60\nBR@0 ER@100");
}

/* Two requests began in one trace, and none in a span of it: as before. */
static void
a_second_request_without_a_span_is_still_a_mistake(void **state)
{
	struct kit *k = kit_new(NULL);
	struct trace *t;
	(void)state;

	kit_rows(k, ROWS(R_BEGINS, { 30, 1, 7, 'B', 12345, "stock" }, { 60, 1, 7, 'E', 0, "stock" },
			R_ENDS));
	assert_null(assemble_next(k->assemble));
	t = assemble_next_incomplete(k->assemble);
	assert_non_null(t);
	assert_int_equal(t->incomplete, INCOMPLETE_SEVERAL_BEGINS);
	trace_free(t);
	kit_free(k);
}

static void
what_nobody_waited_for_is_off_the_path(void **state)
{
	(void)state;

	/* It began after the span had ended. */
	assert_traces(ROWS(R_BEGINS, C_BEGINS, C_ENDS, { 95, 0, 7, 'B', SPAN, "late" },
			  { 96, 0, 7, 'E', 0, "late" }, R_ENDS),
	    "BR@0 FC@10 bC@10 eC@90 JC@90 ER@100");
	/* On another node, it took longer than the span. */
	assert_traces(ROWS(R_BEGINS, C_BEGINS, { 20, 1, 7, 'B', SPAN, "long" },
			  { 150, 1, 7, 'E', 0, "long" }, C_ENDS, R_ENDS),
	    "BR@0 FC@10 bC@10 eC@90 JC@90 ER@100");
	/* By the same clock it may record its end after its answer: the wait ends with the span. */
	assert_traces(ROWS(R_BEGINS, C_BEGINS, { 20, 0, 7, 'B', SPAN, "stock" },
			  { 92, 0, 7, 'E', 0, "stock" }, C_ENDS, R_ENDS),
	    "BR@0 FC@10 bC@10 bstock@20 estock@89 eC@90 JC@90 ER@100");
}

/* A span of length 0 cannot have waited, one that begins later by the same clock did not call; and a circle ends. */
static void
what_cannot_be_a_caller_is_none(void **state)
{
	struct kit *k = kit_new(NULL);
	struct trace *t;
	(void)state;

	kit_rows(k, ROWS(R_BEGINS, { 10, 0, SPAN, 'b', SPAN, "C" }, { 10, 0, SPAN, 'e', SPAN, "C" },
			{ 10, 0, 7, 'B', SPAN, "stock" }, { 60, 0, 7, 'E', 0, "stock" }, R_ENDS));
	assert_null(assemble_next(k->assemble));
	kit_free(k);
	k = kit_new(NULL);
	kit_rows(k,
	    ROWS({ 5, 0, 7, 'B', SPAN, "stock" }, C_BEGINS, C_ENDS, { 60, 0, 7, 'E', 0, "stock" }));
	assert_non_null(t = assemble_next(k->assemble)); /* its own request */
	trace_free(t);
	kit_free(k);
	k = kit_new(NULL);
	kit_rows(k, ROWS({ 5, 0, 7, 'B', SPAN, "a" }, { 6, 1, SPAN, 'B', 7, "b" },
			{ 60, 1, SPAN, 'E', 0, "b" }, { 70, 0, 7, 'E', 0, "a" }));
	assert_null(assemble_next(k->assemble));
	kit_free(k);
}

/*
 * Spans come later than the records of the part, which ends first: the trace waits for them, and only so long. A quarter of the patience of kit_new()
 * is 250 ms.
 */
static void
a_part_that_ended_waits_for_the_spans_around_it(void **state)
{
	const struct row part[] = { { 30, 1, 7, 'B', SPAN, "stock" },
		{ 60, 1, 7, 'E', 0, "stock" } };
	const struct row spans[] = { R_BEGINS, C_BEGINS, C_ENDS, R_ENDS };
	const struct row others[] = { { 0, 0, 40, 'B', 0, "O", 2 }, { 1, 0, 41, 'b', 41, "o", 2 },
		{ 2, 0, 41, 'e', 41, "o", 2 }, { 3, 0, 40, 'E', 0, "O", 2 } };
	struct kit *k = kit_new(NULL);
	struct trace *t;
	char got[2048];
	(void)state;

	for (uint32_t node = 0; node < 2; node++)
		assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
	kit_batch(k, 0, others, 4, 10000); /* some trace has spans */
	kit_batch(k, 1, part, 2, 200000000);
	trace_free(assemble_next(k->assemble));
	kit_batch(k, 0, spans, 0, 100000000);
	assert_null(assemble_next(k->assemble));
	kit_batch(k, 0, spans, sizeof spans / sizeof *spans, 200000000);
	assert_non_null(t = assemble_next(k->assemble));
	describe(k, t, got, sizeof got);
	assert_string_equal(got, "BR@0 FC@10 bC@10 bstock@30 estock@60 eC@90 JC@90 ER@100");
	trace_free(t);

	kit_batch(k, 1,
	    (const struct row[]){ { 200000030, 1, 9, 'B', SPAN, "alone", 3 },
		{ 200000060, 1, 9, 'E', 0, "alone", 3 } },
	    2, 900000000);
	kit_batch(k, 0, spans, 0, 449000000);
	assert_null(assemble_next(k->assemble));
	kit_batch(k, 0, spans, 0, 451000000);
	assert_non_null(t = assemble_next(k->assemble));
	describe(k, t, got, sizeof got);
	assert_string_equal(got, "Balone@200000030 Ealone@200000060");
	trace_free(t);
	kit_counts(k);
	kit_free(k);
}

/* Where no node sends spans, a traceparent of an outsider delays nothing. */
static void
without_spans_nothing_waits(void **state)
{
	struct kit *k = kit_new(NULL);
	struct trace *t;
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	kit_batch(
	    k, 0, ROWS({ 30, 0, 7, 'B', SPAN, "stock" }, { 60, 0, 7, 'E', 0, "stock" }), 6000);
	assert_non_null(t = assemble_next(k->assemble));
	trace_free(t);
	kit_free(k);
}

/* More records than the builder had room for, and many parts in each of many spans. */
static void
many_parts_are_found(void **state)
{
	enum { SPANS = 40 };
	struct row rows[2 + SPANS * 4];
	struct kit *k = kit_new(NULL);
	struct trace *t;
	uint32_t n = 0, called = 0;
	(void)state;

	rows[n++] = (struct row){ 0, 0, 1, 'B', 0, "R" };
	for (uint32_t i = 0; i < SPANS; i++) {
		uint64_t span = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		int64_t at = 10 * (i + 1);

		rows[n++] = (struct row){ at, 0, span, 'b', span, "C" };
		rows[n++] = (struct row){ at + 1, 0, 100 + i, 'B', span, "part" };
		rows[n++] = (struct row){ at + 2, 0, 100 + i, 'E', 0, "part" };
		rows[n++] = (struct row){ at + 5, 0, span, 'e', span, "C" };
	}
	rows[n++] = (struct row){ 1000, 0, 1, 'E', 0, "R" };
	kit_rows(k, rows, n);
	assert_non_null(t = assemble_next(k->assemble));
	assert_int_equal(t->incomplete, INCOMPLETE_NONE);
	assert_int_equal(t->nevents, n + 2 * SPANS);
	for (uint32_t u = 0; u < t->nunits; u++)
		if (t->units[u].id >= 100 && t->units[u].id < 100 + SPANS)
			called += t->units[u].fork != TRACE_NONE &&
			          t->units[t->events[t->units[u].fork].unit].id ==
			              (t->units[u].id - 99) * UINT64_C(0x9e3779b97f4a7c15);
	assert_int_equal(called, SPANS);
	trace_free(t);
	kit_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_that_a_span_called_is_a_unit_of_its_trace),
		cmocka_unit_test(several_parts_of_one_span_and_what_they_call_are_in_it),
		cmocka_unit_test(the_link_that_was_handed_on_leads_to_the_span_in_between),
		cmocka_unit_test(of_a_proxy_whose_spans_nobody_sends_the_link_counts),
		cmocka_unit_test(a_request_whose_caller_is_not_in_the_trace_stays_one),
		cmocka_unit_test(a_second_request_without_a_span_is_still_a_mistake),
		cmocka_unit_test(what_nobody_waited_for_is_off_the_path),
		cmocka_unit_test(what_cannot_be_a_caller_is_none),
		cmocka_unit_test(a_part_that_ended_waits_for_the_spans_around_it),
		cmocka_unit_test(without_spans_nothing_waits),
		cmocka_unit_test(many_parts_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
