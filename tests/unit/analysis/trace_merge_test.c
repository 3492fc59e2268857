/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a flight recorder had, in the trace that came without it; and where a slow request differs from usual ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/assemble.h"
#include "analysis/outlier.h"
#include "analysis/trace_merge.h"

enum { TRACE = 99, ROOT = 5, CHILD = 6, LINK = 77 };

struct one { /* a record to be */
	enum record_kind kind;
	const char *label;
	uint64_t unit, link;
	int64_t time_ns;
};

/* The request, without tracepoints: a unit that forks another one and joins it. */
static const struct one REQUEST[] = {
	{ RECORD_REQUEST_BEGIN, "front/hone:request_begin(GET)", ROOT, 0, 1000 },
	{ RECORD_FORK, "front/hone:fork(ask)", ROOT, LINK, 2000 },
	{ RECORD_UNIT_BEGIN, "back/hone:unit_begin(answer)", CHILD, LINK, 3000 },
	{ RECORD_POINT, "back/shop:known", CHILD, 0, 4000 },
	{ RECORD_UNIT_END, "back/hone:unit_end", CHILD, LINK, 8000 },
	{ RECORD_JOIN, "front/hone:join(ask)", ROOT, LINK, 9000 },
	{ RECORD_REQUEST_END, "front/hone:request_end", ROOT, 0, 10000 },
};

struct shop {
	struct labels *labels;
	struct trace *trace;
};

/* A batch of these records, in an arena. */
static struct batch
batch_of(const struct one *list, uint32_t n, uint64_t trace, int64_t later_ns, struct arena *a)
{
	static const char *fields[] = { "n" };
	static const struct value value = { .type = VALUE_TEXT, .len = 4, { .text = "text" } };
	struct batch b = { .watermark_ns = 1000000 };

	b.nlabels = b.nrecords = n;
	b.labels = arena_calloc(a, n, sizeof *b.labels);
	b.records = arena_calloc(a, n, sizeof *b.records);
	for (uint32_t i = 0; i < n; i++) {
		bool point = list[i].kind == RECORD_POINT;

		b.labels[i] = (struct batch_label){ .kind = (uint8_t)list[i].kind,
			.len = (uint32_t)strlen(list[i].label),
			.text = list[i].label,
			.nfields = point,
			.fields = point ? fields : NULL };
		b.records[i] = (struct record){ .trace_id = trace,
			.unit_id = list[i].unit,
			.link_id = list[i].link,
			.time_ns = list[i].time_ns + later_ns,
			.label = i,
			.pid = 1,
			.tid = 2,
			.nvalues = point,
			.values = &value };
	}
	return b;
}

static int
begin(void **state)
{
	static struct shop s;
	const struct assemble_options o = {
		.memory_max_bytes = 1 << 20, .skew_ns = 100, .patience_ns = 1000000000
	};
	struct assemble *assemble;
	struct arena a = { 0 };
	struct batch b;

	s.labels = labels_new();
	b = batch_of(REQUEST, sizeof REQUEST / sizeof *REQUEST, TRACE, 0, &a);
	assert_int_equal(assemble_new(&assemble, &o, s.labels, NULL), 0);
	assert_int_equal(assemble_join(assemble, 0, NULL), 0);
	assert_int_equal(assemble_batch(assemble, 0, &b, NULL), 0);
	assert_non_null(s.trace = assemble_next(assemble));
	assemble_free(assemble);
	arena_release(&a);
	*state = &s;
	return 0;
}

static int
end(void **state)
{
	struct shop *s = *state;

	trace_free(s->trace);
	labels_free(s->labels);
	return 0;
}

static struct trace *
merged(struct shop *s, const struct one *list, uint32_t n, uint64_t id, const int64_t *shift_ns,
    struct trace_merge_counts *counts)
{
	struct arena a = { 0 };
	struct batch b = batch_of(list, n, id, 0, &a);
	const struct trace_addition add = { 0, &b };
	struct trace *ret;

	assert_int_equal(
	    trace_merge(&ret, s->trace, shift_ns, &add, 1, s->labels, counts, NULL), 0);
	arena_release(&a);
	return ret;
}

static const char *
label_of_event(const struct shop *s, const struct trace *t, uint32_t event)
{
	return labels_get(s->labels, t->events[event].label)->text;
}

/* Events of each unit are in time order, and each event knows its unit. */
static void
assert_ordered(const struct trace *t)
{
	for (uint32_t u = 0; u < t->nunits; u++)
		for (uint32_t i = t->units[u].first; i < t->units[u].first + t->units[u].count;
		     i++) {
			assert_int_equal(t->events[i].unit, u);
			assert_true(i == t->units[u].first ||
				    t->events[i - 1].time_ns <= t->events[i].time_ns);
		}
}

static void
records_come_to_their_place_in_their_unit(void **state)
{
	static const struct one MORE[] = { { RECORD_POINT, "front/shop:before", ROOT, 0, 1500 },
		{ RECORD_POINT, "back/shop:slow_begin", CHILD, 0, 5000 },
		{ RECORD_POINT, "back/shop:slow_end", CHILD, 0, 7500 } };
	struct shop *s = *state;
	struct trace_merge_counts n;
	struct trace *t = merged(s, MORE, 3, TRACE, NULL, &n);
	struct critpath path;
	struct arena a = { 0 };

	assert_int_equal(n.added, 3);
	assert_int_equal(n.duplicate + n.strays + n.structure + n.moved, 0);
	assert_int_equal(t->nevents, s->trace->nevents + 3);
	assert_ordered(t);
	/* forks still point to the fork, though an event came before it */
	for (uint32_t u = 0; u < t->nunits; u++)
		if (t->units[u].fork != TRACE_NONE)
			assert_string_equal(
			    label_of_event(s, t, t->units[u].fork), "front/hone:fork(ask)");
	assert_int_equal(critpath_extract(&path, t, s->labels, NULL, &a, NULL), 0);
	assert_int_equal(path.nsteps, 10);
	assert_int_equal(path.steps[9].time_ns - path.steps[0].time_ns, 9000);
	arena_release(&a);
	trace_free(t);
}

static void
what_the_trace_has_is_not_added_twice(void **state)
{
	static const struct one MORE[] = { { RECORD_POINT, "back/shop:known", CHILD, 0, 4001 },
		{ RECORD_UNIT_END, "back/hone:unit_end", CHILD, LINK, 8001 },
		{ RECORD_POINT, "back/shop:known", ROOT, 0, 9500 },
		{ RECORD_POINT, "back/shop:known", 12345, 0, 4002 } };
	struct shop *s = *state;
	struct trace_merge_counts n;
	struct trace *t = merged(s, MORE, 4, TRACE, NULL, &n);

	assert_int_equal(n.duplicate, 1); /* in that unit it is on anyway */
	assert_int_equal(n.structure, 1);
	assert_int_equal(n.strays, 1);
	assert_int_equal(n.added, 1); /* in another unit it is new */
	assert_ordered(t);
	trace_free(t);
	t = merged(s, MORE, 4, TRACE + 1, NULL, &n); /* of another trace */
	assert_int_equal(n.strays, 4);
	trace_free(t);
}

static void
what_is_no_label_is_left_out(void **state)
{
	static const struct one MORE[] = { { RECORD_POINT, "without a service", CHILD, 0, 4001 },
		{ RECORD_POINT, "back/shop:new", CHILD, 0, 4002 } };
	struct shop *s = *state;
	struct trace_merge_counts n;
	struct trace *t = merged(s, MORE, 2, TRACE, NULL, &n);

	assert_non_null(t);
	assert_true(n.strays == 1 && n.added == 1);
	trace_free(t);
}

static void
records_move_with_their_unit_and_stay_in_it(void **state)
{
	static const struct one MORE[] = { { RECORD_POINT, "back/shop:early", CHILD, 0, 2500 },
		{ RECORD_POINT, "back/shop:mid", CHILD, 0, 4500 },
		{ RECORD_POINT, "back/shop:late", CHILD, 0, 9000 } };
	struct shop *s = *state;
	int64_t shift_ns[8] = { 0 };
	struct trace_merge_counts n;
	struct trace *t;

	for (uint32_t u = 0; u < s->trace->nunits; u++)
		if (s->trace->units[u].id == CHILD)
			shift_ns[u] = 1000;
	t = merged(s, MORE, 3, TRACE, shift_ns, &n);
	assert_int_equal(n.added, 3);
	assert_int_equal(n.moved, 1); /* 3500 and 5500 are within 3000 to 8000, 10000 is not */
	assert_ordered(t);
	for (uint32_t u = 0; u < t->nunits; u++)
		if (t->units[u].id == CHILD) {
			uint32_t last = t->units[u].first + t->units[u].count - 1;

			assert_string_equal(label_of_event(s, t, last), "back/hone:unit_end");
			assert_string_equal(label_of_event(s, t, last - 1), "back/shop:late");
			assert_int_equal(t->events[last - 1].time_ns, 8000);
		}
	trace_free(t);
}

static void
a_copy_does_not_need_the_original(void **state)
{
	struct shop *s = *state;
	struct trace_merge_counts n;
	struct trace *t;

	assert_int_equal(trace_merge(&t, s->trace, NULL, NULL, 0, s->labels, &n, NULL), 0);
	trace_free(s->trace);
	s->trace = NULL;
	assert_int_equal(t->nevents, sizeof REQUEST / sizeof *REQUEST);
	assert_ordered(t);
	for (uint32_t i = 0; i < t->nevents; i++)
		if (strcmp(label_of_event(s, t, i), "back/shop:known") == 0)
			assert_memory_equal(t->events[i].values[0].text, "text", 4);
	trace_free(t);
}

static void
the_edge_that_differs_most_comes_first(void **state)
{
	static const struct one SLOW[] = { { RECORD_POINT, "back/shop:a", CHILD, 0, 4200 },
		{ RECORD_POINT, "back/shop:b", CHILD, 0, 7900 } },
				USUAL[] = { { RECORD_POINT, "back/shop:a", CHILD, 0, 4200 },
					{ RECORD_POINT, "back/shop:b", CHILD, 0, 4300 } };
	struct shop *s = *state;
	struct trace_merge_counts n;
	struct trace *slow = merged(s, SLOW, 2, TRACE, NULL, &n),
		     *usual = merged(s, USUAL, 2, TRACE, NULL, &n);
	struct critpath slow_path, usual_path;
	struct outlier_edge *edges;
	struct arena a = { 0 };
	uint32_t count;

	assert_int_equal(critpath_extract(&slow_path, slow, s->labels, NULL, &a, NULL), 0);
	assert_int_equal(critpath_extract(&usual_path, usual, s->labels, NULL, &a, NULL), 0);
	assert_int_equal(outlier_edges(&edges, &count, &slow_path, &usual_path, 1, &a, NULL), 0);
	assert_int_equal(count, slow_path.nsteps - 1);
	assert_string_equal(labels_get(s->labels, edges[0].from)->text, "back/shop:a");
	assert_string_equal(labels_get(s->labels, edges[0].to)->text, "back/shop:b");
	assert_int_equal((int)edges[0].slow_ns, 3700);
	assert_int_equal((int)edges[0].usual_ns, 100);
	/* without any usual request all of it is more than usual */
	assert_int_equal(outlier_edges(&edges, &count, &slow_path, NULL, 0, &a, NULL), 0);
	assert_int_equal((int)edges[0].usual_ns, 0);
	arena_release(&a);
	trace_free(slow);
	trace_free(usual);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    records_come_to_their_place_in_their_unit, begin, end),
		cmocka_unit_test_setup_teardown(what_the_trace_has_is_not_added_twice, begin, end),
		cmocka_unit_test_setup_teardown(what_is_no_label_is_left_out, begin, end),
		cmocka_unit_test_setup_teardown(
		    records_move_with_their_unit_and_stay_in_it, begin, end),
		cmocka_unit_test_setup_teardown(a_copy_does_not_need_the_original, begin, end),
		cmocka_unit_test_setup_teardown(the_edge_that_differs_most_comes_first, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
