/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces made of spans: where they fork and join, what is corrected, what is left out, and how
 * much memory is held. */
#include "formats/span_names.h"
#include "tests/unit/formats/kit.h"

enum { UNKNOWN = -1 };

struct row { /* a span; parent 0: none */
	uint64_t id, parent;
	int64_t begin_ns, end_ns; /* UNKNOWN: not known */
	const char *node;
	bool follows;
	enum span_kind kind;
};

static struct text_view
text_of(const char *s)
{
	return (struct text_view){ s, s != NULL ? (uint32_t)strlen(s) : 0 };
}

static void
add(struct kit *k, uint64_t trace, const struct row *row)
{
	char name[32];
	struct span s = { .trace = { 0, trace },
		.id = row->id,
		.parent = row->parent,
		.has_parent = row->parent != 0,
		.follows = row->follows,
		.kind = (uint8_t)row->kind,
		.no_begin = row->begin_ns == UNKNOWN,
		.no_end = row->end_ns == UNKNOWN,
		.begin_ns = row->begin_ns,
		.end_ns = row->end_ns,
		.service = text_of("s"),
		.node = text_of(row->node) };

	snprintf(name, sizeof name, "%llu", (unsigned long long)row->id);
	s.name = text_of(name);
	assert_int_equal(reading_span(k->r, &s, &k->e), 0);
}

static void
add_all(struct kit *k, const struct row *rows, size_t n)
{
	kit_begin(k, 0);
	for (size_t i = 0; i < n; i++)
		add(k, 1, &rows[i]);
	assert_int_equal(reading_complete(k->r, (struct trace_id){ 0, 1 }, &k->e), 0);
}
#define rows_to_trace(k, ...)                           \
	add_all(k, (const struct row[]){ __VA_ARGS__ }, \
	    sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row))

/* A unit's events: "b0 f2@10 j2@30 e40", f and j with the child's id. */
static const char *
unit_text(const struct kit *k, const struct trace *t, uint32_t unit)
{
	static char text[1024];
	size_t len = 0;

	for (uint32_t i = 0; i < t->units[unit].count; i++) {
		const struct event *e = &t->events[t->units[unit].first + i];
		const struct label *l = labels_get(k->labels, e->label);
		bool link = l->kind == RECORD_FORK || l->kind == RECORD_JOIN;

		len += (size_t)snprintf(text + len, sizeof text - len, "%s%c", i > 0 ? " " : "",
		    l->kind == RECORD_FORK                                            ? 'f'
		    : l->kind == RECORD_JOIN                                          ? 'j'
		    : l->kind == RECORD_UNIT_BEGIN || l->kind == RECORD_REQUEST_BEGIN ? 'b'
										      : 'e');
		if (link) {
			assert_true(l->silent);
			len += (size_t)snprintf(
			    text + len, sizeof text - len, "%llu@", (unsigned long long)e->link_id);
		}
		len += (size_t)snprintf(
		    text + len, sizeof text - len, "%lld", (long long)e->time_ns);
		assert_int_equal(e->unit, unit);
		assert_true(len < sizeof text);
	}
	return text;
}

static uint32_t
unit_of(const struct trace *t, uint64_t id)
{
	for (uint32_t u = 0; u < t->nunits; u++)
		if (t->units[u].id == id)
			return u;
	fail_msg("span %llu is not in the trace", (unsigned long long)id);
	return 0;
}

/* Checks what trace.h guarantees for every trace. */
static void
check_trace(const struct kit *k, const struct trace *t)
{
	uint32_t at = 0;

	assert_int_equal(t->root, 0);
	assert_int_equal(labels_get(k->labels, t->type)->kind, RECORD_REQUEST_BEGIN);
	for (uint32_t u = 0; u < t->nunits; u++) {
		const struct unit *unit = &t->units[u];

		assert_int_equal(unit->first, at);
		at += unit->count;
		for (uint32_t i = 1; i < unit->count; i++)
			assert_true(t->events[unit->first + i - 1].time_ns <=
				    t->events[unit->first + i].time_ns);
		if (u == 0) {
			assert_int_equal(unit->fork, TRACE_NONE);
		} else {
			assert_true(unit->fork < unit->first);
			assert_true(t->events[unit->fork].link_id == unit->id);
			assert_true(t->events[unit->first].link_id == unit->id);
		}
	}
	assert_int_equal(at, t->nevents);
}

static void
expect_path(struct kit *k, const char *path)
{
	assert_int_equal(k->ntraces, 1);
	check_trace(k, k->traces[0]);
	assert_string_equal(kit_path(k, k->traces[0], 1), path);
	kit_end(k);
}

/* ---- forks and joins ---- */

static void
a_span_is_forked_and_joined(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, 10, 30 }, { 3, 2, 15, 20 });
	assert_string_equal(unit_text(&k, k.traces[0], 0), "b0 f2@10 j2@30 e100");
	assert_string_equal(unit_text(&k, k.traces[0], 1), "b10 f3@15 j3@20 e30");
	assert_string_equal(unit_text(&k, k.traces[0], 2), "b15 e20");
	expect_path(&k, "s.1 10 s.2 5 s.3 5 s.2 10 s.1 70");
}

/* In any order of arrival. */
static void
order_of_arrival_does_not_matter(void **state)
{
	static const struct row rows[] = { { 1, 0, 0, 100 }, { 2, 1, 10, 30 }, { 3, 1, 30, 60 },
		{ 4, 3, 35, 50 } };
	static const uint8_t orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 },
		{ 1, 3, 0, 2 } };
	(void)state;

	for (int o = 0; o < 4; o++) {
		struct kit k;

		kit_begin(&k, 0);
		for (int i = 0; i < 4; i++)
			add(&k, 1, &rows[orders[o][i]]);
		assert_int_equal(reading_end(k.r, &k.e), 0);
		assert_string_equal(
		    unit_text(&k, k.traces[0], 0), "b0 f2@10 j2@30 f3@30 j3@60 e100");
		expect_path(&k, "s.1 10 s.2 20 s.3 5 s.4 15 s.3 10 s.1 40");
	}
}

static void
equal_times_have_a_fixed_order(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 10, 40 }, { 2, 1, 10, 20 }, { 3, 1, 20, 30 }, { 4, 1, 20, 20 },
	    { 5, 1, 40, 40 }, { 6, 1, 30, 40 }, { 7, 1, 10, 10 });
	assert_string_equal(unit_text(&k, k.traces[0], 0),
	    "b10 f7@10 j7@10 f2@10 j2@20 f4@20 j4@20 f3@20 j3@30 f6@30 j6@40 f5@40 j5@40 e40");
	expect_path(&k, "s.2 10 s.3 10 s.6 10");
}

static void
of_concurrent_children_the_last_to_end_was_waited_for(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(
	    &k, { 1, 0, 0, 1000 }, { 2, 1, 100, 500 }, { 3, 1, 110, 700 }, { 4, 1, 120, 600 });
	expect_path(&k, "s.1 110 s.3 590 s.1 300");
}

/* ---- children that do not fit ---- */

static void
what_overlaps_the_parents_ends_is_cut(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(
	    &k, { 1, 0, 100, 200 }, { 2, 1, 50, 120 }, { 3, 1, 150, 300 }, { 4, 3, 160, 280 });
	assert_string_equal(unit_text(&k, k.traces[0], 0), "b100 f2@100 j2@120 f3@150 j3@200 e200");
	assert_string_equal(unit_text(&k, k.traces[0], unit_of(k.traces[0], 4)), "b160 e200");
	expect_path(&k, "s.2 20 s.1 30 s.3 10 s.4 40");
}

static void
a_child_outside_of_its_parent_is_off_the_path(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 100, 200 }, { 2, 1, 20, 60 }, { 3, 1, 250, 300 },
	    { 4, 3, 260, 280 }, { 5, 1, 200, 210 }, { 6, 1, 90, 100 });
	assert_string_equal(unit_text(&k, k.traces[0], 0), "b100 f2@100 f6@100 f3@200 f5@200 e200");
	assert_int_equal(k.traces[0]->nunits, 6);
	expect_path(&k, "s.1 100");
}

static void
a_following_span_is_not_waited_for(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(
	    &k, { 1, 0, 0, 100 }, { 2, 1, 10, 20, "", true }, { 3, 1, 50, 150, "", true });
	assert_string_equal(unit_text(&k, k.traces[0], 0), "b0 f2@10 j2@20 f3@50 e100");
	expect_path(&k, "s.1 10 s.2 10 s.1 80");
}

/* An overlap of less than 1 % of the parent, with no other child in it. */
static void
small_overlaps_are_treated_as_sequential(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 1000 }, { 2, 1, 100, 309 }, { 3, 1, 300, 500 });
	expect_path(&k, "s.1 100 s.2 200 s.3 200 s.1 500");
	rows_to_trace(&k, { 1, 0, 0, 1000 }, { 2, 1, 100, 310 }, { 3, 1, 300, 500 });
	expect_path(&k, "s.1 300 s.3 200 s.1 500");
	rows_to_trace(
	    &k, { 1, 0, 0, 1000 }, { 2, 1, 100, 305 }, { 3, 1, 300, 500 }, { 4, 1, 303, 400 });
	expect_path(&k, "s.1 300 s.3 200 s.1 500");
}

/* ---- clocks ---- */

static void
another_nodes_clock_is_corrected(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(
	    &k, { 1, 0, 1000, 2000, "a" }, { 2, 1, 500, 900, "b" }, { 3, 2, 600, 700, "b" });
	assert_int_equal(kit_skipped(&k, SKIP_SKEW), 1);
	assert_string_equal(unit_text(&k, k.traces[0], 1), "b1000 f3@1100 j3@1200 e1400");
	expect_path(&k, "s.2 100 s.3 100 s.2 200 s.1 600");
	rows_to_trace(
	    &k, { 1, 0, 1000, 2000, "a" }, { 2, 1, 5000, 5400, "b" }, { 3, 2, 5100, 5200, "b" });
	assert_int_equal(kit_skipped(&k, SKIP_SKEW), 1);
	expect_path(&k, "s.1 600 s.2 100 s.3 100 s.2 200");
}

/* One clock; no node known; too long to fit in; one that follows may come at any time after. */
static void
nothing_else_is_corrected(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 1000, 2000, "a" }, { 2, 1, 500, 900, "a" }, { 3, 1, 500, 900 },
	    { 4, 1, 3000, 9000, "b" }, { 5, 1, 5000, 5100, "b", true });
	assert_int_equal(kit_skipped(&k, SKIP_SKEW), 0);
	expect_path(&k, "s.1 1000");
}

/* A client that waits from 100 to 900, and its server. */
static void
add_call(struct kit *k, uint64_t trace, int64_t begin_ns, int64_t end_ns, enum span_kind kind)
{
	add(k, trace, &(struct row){ 1, 0, 0, 1000, "a" });
	add(k, trace, &(struct row){ 2, 1, 100, 900, "a", false, SPAN_KIND_CLIENT });
	add(k, trace, &(struct row){ 3, 2, begin_ns, end_ns, "b", false, kind });
	assert_int_equal(reading_complete(k->r, (struct trace_id){ 0, trace }, &k->e), 0);
}

/* A server that ends after its client is moved as far as its clock can be ahead: as no server before began sooner after its client. */
static void
a_clock_that_is_ahead_by_less_than_a_call_is_corrected(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	add_call(&k, 1, 400, 1000, SPAN_KIND_SERVER);
	assert_string_equal(unit_text(&k, k.traces[0], 2), "b300 e900");
	assert_int_equal(kit_skipped(&k, SKIP_SKEW), 1);
	add_call(&k, 2, 400, 1000, SPAN_KIND_INTERNAL); /* its parent may not have waited */
	assert_string_equal(unit_text(&k, k.traces[1], 2), "b400 e900");
	add_call(&k, 3, 170, 1000, SPAN_KIND_SERVER); /* longer than the call */
	assert_string_equal(unit_text(&k, k.traces[2], 2), "b170 e900");
	/* By that one the clock is ahead by 70 at most: this one was late to end, and began late. */
	add_call(&k, 4, 400, 1000, SPAN_KIND_SERVER);
	assert_string_equal(unit_text(&k, k.traces[3], 2), "b400 e900");
	add_call(&k, 5, 400, 960, SPAN_KIND_SERVER);
	assert_string_equal(unit_text(&k, k.traces[4], 2), "b340 e900");
	for (uint32_t i = 0; i < k.ntraces; i++)
		check_trace(&k, k.traces[i]);
	kit_end(&k);
}

/* ---- invalid ids ---- */

static void
of_duplicates_the_first_is_kept(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, 10, 30 }, { 2, 1, 40, 90 }, { 2, 0, 0, 500 });
	assert_int_equal(kit_skipped(&k, SKIP_DUPLICATE), 2);
	assert_false(k.traces[0]->lossy);
	expect_path(&k, "s.1 10 s.2 20 s.1 70");
}

static void
circles_are_left_out(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 3, 10, 30 }, { 3, 4, 10, 30 }, { 4, 2, 10, 30 },
	    { 5, 4, 11, 12 }, { 6, 6, 20, 30 }, { 7, 6, 21, 22 });
	assert_int_equal(kit_skipped(&k, SKIP_CYCLE), 4);
	assert_int_equal(kit_skipped(&k, SKIP_SELF_PARENT), 2);
	assert_true(k.traces[0]->lossy);
	assert_int_equal(k.traces[0]->nunits, 1);
	expect_path(&k, "s.1 100");
}

static void
orphans_are_left_out_with_what_is_below(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, 10, 30 }, { 3, 99, 40, 60 }, { 4, 3, 45, 50 },
	    { 5, 98, 70, 80 });
	assert_int_equal(kit_skipped(&k, SKIP_ORPHAN), 3);
	assert_true(k.traces[0]->lossy);
	expect_path(&k, "s.1 10 s.2 20 s.1 70");
}

static void
of_several_roots_the_earliest_counts(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 50, 90 }, { 2, 0, 10, 20 }, { 3, 0, 10, 100 }, { 4, 3, 20, 30 },
	    { 5, 1, 60, 70 });
	assert_int_equal(kit_skipped(&k, SKIP_ROOTS), 3);
	assert_false(k.traces[0]->lossy);
	expect_path(&k, "s.3 10 s.4 10 s.3 70");
}

static void
the_root_may_have_to_be_guessed(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 77, 0, 100 }, { 2, 1, 10, 30 }); /* its parent was not recorded */
	assert_false(k.traces[0]->lossy);
	expect_path(&k, "s.1 10 s.2 20 s.1 70");
	rows_to_trace(&k, { 1, 1, 0, 100 }, { 2, 1, 10, 30 }); /* its own parent */
	expect_path(&k, "s.1 10 s.2 20 s.1 70");
	rows_to_trace(&k, { 1, 77, 0, 100 }, { 2, 78, 10, 30 });
	assert_int_equal(k.ntraces, 0);
	assert_int_equal(kit_skipped(&k, SKIP_ROOTLESS), 1);
	kit_end(&k);
	rows_to_trace(&k, { 1, 2, 0, 100 }, { 2, 1, 10, 30 });
	assert_int_equal(k.ntraces, 0);
	assert_int_equal(kit_skipped(&k, SKIP_ROOTLESS), 1);
	kit_end(&k);
}

static void
nonsense_is_counted(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, 30, 10 }, { 0, 1, 1, 2 },
	    { 3, 1, INT64_MIN, INT64_MAX }, { 4, 1, 0, INT64_MAX });
	assert_int_equal(kit_skipped(&k, SKIP_NEGATIVE), 1);
	assert_int_equal(kit_skipped(&k, SKIP_INCOMPLETE), 1);
	assert_int_equal(kit_skipped(&k, SKIP_UNTIMED), 2);
	assert_int_equal(kit_counts(&k).spans, 4);
	assert_int_equal(kit_counts(&k).spans_used, 4);
	assert_true(k.traces[0]->lossy);
	expect_path(&k, "s.1 100");
	kit_begin(&k, 0);
	assert_int_equal(reading_complete(k.r, (struct trace_id){ 0, 1 }, &k.e), 0);
	assert_int_equal(reading_end(k.r, &k.e), 0);
	assert_int_equal(k.ntraces, 0);
	kit_end(&k);
}

/* ---- spans whose times are not known ---- */

static void
a_span_without_an_end_keeps_what_is_below_it(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, 10, UNKNOWN }, { 3, 2, 20, 50 },
	    { 4, 2, 50, 70 }, { 5, 4, 55, 60 });
	assert_int_equal(k.traces[0]->nunits, 5);
	assert_true(k.traces[0]->lossy);
	assert_int_equal(kit_skipped(&k, SKIP_UNTIMED), 1);
	assert_int_equal(kit_skipped(&k, SKIP_ORPHAN), 0);
	assert_int_equal(kit_skipped(&k, SKIP_OPEN), 0);
	assert_int_equal(kit_counts(&k).spans_used, 5);
	expect_path(&k, "s.1 10 s.2 10 s.3 30 s.4 5 s.5 5 s.4 10 s.1 30");
}

/* Bounds are taken through spans all of whose times are unknown. */
static void
bounds_come_from_the_closest_below_whose_times_are_known(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, UNKNOWN, UNKNOWN }, { 3, 2, UNKNOWN, UNKNOWN },
	    { 4, 3, 20, 50 }, { 5, 3, 50, 60 }, { 6, 2, UNKNOWN, UNKNOWN });
	assert_int_equal(k.traces[0]->nunits, 6);
	assert_int_equal(kit_skipped(&k, SKIP_UNTIMED), 3);
	expect_path(&k, "s.1 20 s.4 30 s.5 10 s.1 40");
	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, UNKNOWN, 80 }, { 3, 2, 20, 50 });
	expect_path(&k, "s.1 20 s.3 30 s.2 30 s.1 20");
	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, 10, UNKNOWN }, { 3, 2, 20, 90, "", true });
	expect_path(&k, "s.1 10 s.2 10 s.1 80");
}

/* No span shows that the span without an end was waited for. */
static void
without_an_end_or_children_a_span_is_not_on_the_path(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, 100 }, { 2, 1, 10, UNKNOWN }, { 3, 1, UNKNOWN, 60 },
	    { 4, 1, UNKNOWN, UNKNOWN }, { 5, 1, 20, 30 });
	assert_string_equal(unit_text(&k, k.traces[0], 0), "b0 f4@0 f2@10 f5@20 j5@30 f3@60 e100");
	expect_path(&k, "s.1 20 s.5 10 s.1 70");
}

static void
a_request_without_an_end_took_at_least_what_is_below(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 5, UNKNOWN }, { 2, 1, 10, 30 }, { 3, 1, 40, 90 });
	assert_int_equal(kit_skipped(&k, SKIP_OPEN), 1);
	assert_true(k.traces[0]->lossy);
	expect_path(&k, "s.1 5 s.2 20 s.1 10 s.3 50");
	rows_to_trace(&k, { 1, 0, 5, UNKNOWN }, { 2, 1, 10, UNKNOWN });
	assert_int_equal(kit_skipped(&k, SKIP_OPEN), 1);
	expect_path(&k, "s.1 5");
	rows_to_trace(&k, { 1, 0, 5, UNKNOWN }, { 2, 1, UNKNOWN, UNKNOWN });
	assert_int_equal(k.ntraces, 0);
	assert_int_equal(kit_skipped(&k, SKIP_ROOTLESS), 1);
	assert_int_equal(kit_counts(&k).spans_used, 0);
	kit_end(&k);
}

/* Some programs write a span when it begins, and again when it has ended. */
static void
of_duplicates_the_one_whose_times_are_known_is_kept(void **state)
{
	struct kit k;
	(void)state;

	rows_to_trace(&k, { 1, 0, 0, UNKNOWN }, { 2, 1, 10, UNKNOWN }, { 2, 1, 10, 40 },
	    { 3, 1, 50, UNKNOWN }, { 3, 1, UNKNOWN, 70 }, { 1, 0, 0, 100 });
	assert_int_equal(kit_skipped(&k, SKIP_DUPLICATE), 3);
	assert_int_equal(kit_skipped(&k, SKIP_OPEN), 0);
	assert_false(k.traces[0]->lossy);
	expect_path(&k, "s.1 10 s.2 30 s.1 10 s.3 20 s.1 30");
}

/* ---- large ones ---- */

static void
a_trace_may_be_deep(void **state)
{
	enum { DEPTH = 100000 };
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	for (int i = DEPTH; i > 0; i--)
		add(&k, 1,
		    &(struct row){
			(uint64_t)i, (uint64_t)i - 1, i, 4 * DEPTH - i, i % 2 == 0 ? "a" : "b" });
	assert_int_equal(reading_complete(k.r, (struct trace_id){ 0, 1 }, &k.e), 0);
	assert_int_equal(k.traces[0]->nunits, DEPTH);
	check_trace(&k, k.traces[0]);
	kit_end(&k);
}

/* All spans have one parent, in the worst order; also more spans than the bound, which does not
 * apply to a single trace. */
static void
a_trace_may_be_wide(void **state)
{
	enum { SPANS = 300000 };
	struct kit k;
	(void)state;

	kit_begin(&k, (size_t)1 << 30);
	add(&k, 1, &(struct row){ 1, 0, 0, 10 * SPANS });
	for (int i = 0; i < SPANS; i++) {
		int64_t at = (int64_t)(hash_u64((uint64_t)i) % (9 * SPANS));

		add(&k, 1, &(struct row){ (uint64_t)i + 2, 1, at, at + 5 });
	}
	assert_int_equal(reading_complete(k.r, (struct trace_id){ 0, 1 }, &k.e), 0);
	assert_int_equal(k.traces[0]->nunits, SPANS + 1);
	check_trace(&k, k.traces[0]);
	kit_end(&k);
}

/* ---- traces whose spans are still expected ---- */

static void
traces_come_in_the_order_they_began(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t t = 1; t <= 100; t++)
			add(&k, t * 37 % 101,
			    &(struct row){ round + 1, round, (int64_t)round, 10 });
	assert_int_equal(reading_end(k.r, &k.e), 0);
	assert_int_equal(k.ntraces, 100);
	for (uint64_t t = 1; t <= 100; t++) {
		assert_int_equal(k.traces[t - 1]->id, t * 37 % 101);
		assert_int_equal(k.traces[t - 1]->nunits, 2);
	}
	kit_end(&k);
}

static void
memory_is_bounded(void **state)
{
	enum { TRACES = 5000 };
	struct kit k;
	(void)state;

	kit_begin(&k, 100000);
	for (uint64_t t = 1; t <= TRACES; t++)
		for (uint64_t i = 1; i <= 3; i++)
			add(&k, t, &(struct row){ i, i - 1, (int64_t)i, 10 });
	assert_in_range(k.ntraces, TRACES - 500, TRACES - 1);
	assert_int_equal(
	    k.traces[0]->id, 1); /* the trace that has been longest without a new span */
	add(&k, 1, &(struct row){ 4, 1, 4, 10 });
	add(&k, 1, &(struct row){ 5, 1, 4, 10 });
	add(&k, 2, &(struct row){ 4, 1, 4, 10 });
	assert_int_equal(kit_skipped(&k, SKIP_LATE), 3);
	assert_int_equal(kit_skipped(&k, SKIP_SPLIT), 2);
	assert_int_equal(reading_end(k.r, &k.e), 0);
	assert_int_equal(k.ntraces, TRACES);
	for (uint32_t i = 0; i < k.ntraces; i++)
		assert_int_equal(k.traces[i]->nunits, 3);
	kit_end(&k);
}

static void
ids_of_128_bits_are_kept_apart(void **state)
{
	struct span s = { .id = 1, .end_ns = 10 };
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	for (uint64_t high = 0; high < 3; high++) {
		s.trace = (struct trace_id){ high, 7 };
		assert_int_equal(reading_span(k.r, &s, &k.e), 0);
	}
	assert_int_equal(reading_end(k.r, &k.e), 0);
	assert_int_equal(k.ntraces, 3);
	assert_int_equal(k.traces[2]->id_high, 2);
	assert_int_equal(k.traces[2]->id, 7);
	kit_end(&k);
}

/* ---- names, attributes, ids ---- */

static const char *
begin_label(struct text_view service, struct text_view name, struct kit *k)
{
	struct span s = {
		.trace = { 0, 1 }, .id = 1, .end_ns = 10, .service = service, .name = name
	};

	kit_begin(k, 0);
	assert_int_equal(reading_span(k->r, &s, &k->e), 0);
	assert_int_equal(reading_end(k->r, &k->e), 0);
	return labels_get(k->labels, k->traces[0]->type)->text;
}

static void
any_name_makes_a_label(void **state)
{
	static const struct {
		const char *service, *name, *label;
	} names[] = {
		{ "cart", "GET /cart", "cart/hone:request_begin(GET /cart)" },
		{ "a/b", "x(y)", "a.b/hone:request_begin(x(y))" },
		{ "", "", "unknown/hone:request_begin(unknown)" },
		{ "z\xc3\xbc", "\xff\n",
		    "z\xc3\xbc/hone:request_begin(?"
		    "?)" },
		{ "\xed\xa0\x80", "\xc0\x80",
		    "?"
		    "?"
		    "?/hone:request_begin(?"
		    "?)" },
	};
	struct kit k;
	char longest[1000];
	(void)state;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_string_equal(
		    begin_label(text_of(names[i].service), text_of(names[i].name), &k),
		    names[i].label);
		kit_end(&k);
	}
	memset(longest, 'x', sizeof longest);
	assert_int_equal(strlen(begin_label((struct text_view){ longest, 1000 },
			     (struct text_view){ longest, 1000 }, &k)),
	    LABEL_TEXT_MAX);
	kit_end(&k);
	assert_string_equal(begin_label(text_of("s"), (struct text_view){ "a\0b", 3 }, &k),
	    "s/hone:request_begin(a?b)");
	kit_end(&k);
}

static struct attribute
number(const char *key, int64_t i)
{
	return (struct attribute){ key, (uint32_t)strlen(key), { .type = VALUE_INT, .i = i } };
}

static int64_t
field(const struct kit *k, const struct event *e, const char *name)
{
	const struct label *l = labels_get(k->labels, e->label);

	assert_true(e->nvalues == 0 || e->nvalues == l->nfields);
	for (uint32_t f = 0; f < e->nvalues; f++)
		if (strcmp(l->fields[f], name) == 0)
			return e->values[f].type == VALUE_NONE ? -1 : e->values[f].i;
	return -2;
}

/* All attributes of the first trace with a name become fields; attributes of later traces are
 * matched to them by name. */
static void
attributes_go_by_name(void **state)
{
	struct attribute first[] = { number("a", 1), number("b", 2) },
			 second[] = { number("c", 3), number("a", 4) };
	struct attribute third[] = { number("new", 5), number("b", 6) };
	struct span s = {
		.trace = { 0, 1 }, .id = 1, .end_ns = 10, .nattributes = 2, .attributes = first
	};
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(reading_span(k.r, &s, &k.e), 0);
	s.id = 2;
	s.parent = 1;
	s.has_parent = true;
	s.attributes = second;
	assert_int_equal(reading_span(k.r, &s, &k.e), 0);
	assert_int_equal(reading_complete(k.r, s.trace, &k.e), 0);
	s.trace.low = 2;
	s.has_parent = false;
	s.attributes = third;
	s.failed = true;
	assert_int_equal(reading_span(k.r, &s, &k.e), 0);
	assert_int_equal(reading_complete(k.r, s.trace, &k.e), 0);
	assert_int_equal(field(&k, &k.traces[0]->events[0], "a"), 1);
	assert_int_equal(field(&k, &k.traces[0]->events[0], "c"), -1);
	assert_int_equal(field(&k, &k.traces[0]->events[k.traces[0]->units[1].first], "a"), 4);
	assert_int_equal(field(&k, &k.traces[0]->events[k.traces[0]->units[1].first], "b"), -1);
	assert_int_equal(field(&k, &k.traces[0]->events[k.traces[0]->units[1].first], "c"), 3);
	assert_int_equal(field(&k, &k.traces[1]->events[0], "a"), -1);
	assert_int_equal(field(&k, &k.traces[1]->events[0], "b"), 6);
	assert_int_equal(field(&k, &k.traces[1]->events[0], "new"), -2);
	assert_int_equal(field(&k, &k.traces[1]->events[0], "failed"), 1);
	kit_end(&k);
}

/* The key is found by its original bytes, and is shown as UTF-8. */
static void
keys_may_be_no_utf8(void **state)
{
	struct attribute a[] = { number("\xff", 1), number("\xfe", 2), number("\xff", 3) };
	struct span s = {
		.trace = { 0, 1 }, .id = 1, .end_ns = 10, .nattributes = 3, .attributes = a
	};
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(reading_span(k.r, &s, &k.e), 0);
	assert_int_equal(reading_end(k.r, &k.e), 0);
	assert_int_equal(labels_get(k.labels, k.traces[0]->type)->nfields, 3); /* and `failed` */
	assert_int_equal(field(&k, &k.traces[0]->events[0], "?"), 3);
	kit_end(&k);
}

static void
names_are_bounded(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	for (uint64_t i = 1; i <= SPAN_NAMES_MAX + 100; i++) {
		add(&k, i, &(struct row){ i, 0, 0, 10 });
		assert_int_equal(reading_complete(k.r, (struct trace_id){ 0, i }, &k.e), 0);
	}
	assert_int_equal(kit_skipped(&k, SKIP_NAMES), 100);
	assert_string_equal(labels_get(k.labels, k.traces[k.ntraces - 1]->type)->text,
	    "s/hone:request_begin((other))");
	kit_end(&k);
}

/* For names of any length: of each, at most the length of a label is kept, and of all together
 * no more than a bound. */
static void
memory_for_names_is_bounded(void **state)
{
	static char name[1 << 16], key[100];
	struct attribute attributes[RECORD_VALUES_MAX];
	struct kit k;
	uint64_t i;
	(void)state;

	memset(name, 'x', sizeof name);
	kit_begin(&k, 0);
	for (i = 1; kit_skipped(&k, SKIP_NAMES) == 0; i++) {
		struct span s = { .trace = { 0, i },
			.id = 1,
			.end_ns = 10,
			.name = { name, sizeof name },
			.attributes = attributes,
			.nattributes = RECORD_VALUES_MAX };

		name[snprintf(name, sizeof name, "%llu", (unsigned long long)i)] = 'x';
		snprintf(key, sizeof key, "%099llu", (unsigned long long)i);
		for (uint32_t a = 0; a < RECORD_VALUES_MAX; a++)
			attributes[a] = (struct attribute){ key + a, 99 - a,
				{ .type = VALUE_UINT, .u = i } };
		assert_int_equal(reading_span(k.r, &s, &k.e), 0);
		assert_int_equal(reading_complete(k.r, s.trace, &k.e), 0);
		assert_true(i * LABEL_TEXT_MAX < SPAN_NAMES_MAX_BYTES);
	}
	assert_true(i > 1000);
	assert_string_equal(labels_get(k.labels, k.traces[k.ntraces - 1]->type)->text,
	    "unknown/hone:request_begin((other))");
	assert_memory_equal(labels_get(k.labels, k.traces[0]->type)->name, "1xxxx", 5);
	kit_end(&k);
}

static void
ids_are_hexadecimal_or_hashed(void **state)
{
	struct trace_id id = trace_id_of("0123456789abcdefFEDCBA9876543210", 32);
	(void)state;

	assert_true(id.high == 0x0123456789abcdef && id.low == 0xfedcba9876543210);
	id = trace_id_of("7b", 2);
	assert_true(id.high == 0 && id.low == 0x7b);
	assert_true(span_id_of("520b067330e3ede5", 16) == 0x520b067330e3ede5);
	assert_true(span_id_of("A_SPAN", 6) != span_id_of("B_SPAN", 6));
	assert_true(span_id_of("0123456789abcdef0", 17) != 0x123456789abcdef0);
	id = trace_id_of("not hexadecimal", 15);
	assert_true(id.high != 0 && id.low != 0);
	id = trace_id_of("", 0);
	assert_true(id.high == 0 && id.low == 0);
	assert_true(span_id_of("", 0) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_forked_and_joined),
		cmocka_unit_test(order_of_arrival_does_not_matter),
		cmocka_unit_test(equal_times_have_a_fixed_order),
		cmocka_unit_test(of_concurrent_children_the_last_to_end_was_waited_for),
		cmocka_unit_test(what_overlaps_the_parents_ends_is_cut),
		cmocka_unit_test(a_child_outside_of_its_parent_is_off_the_path),
		cmocka_unit_test(a_following_span_is_not_waited_for),
		cmocka_unit_test(small_overlaps_are_treated_as_sequential),
		cmocka_unit_test(another_nodes_clock_is_corrected),
		cmocka_unit_test(a_clock_that_is_ahead_by_less_than_a_call_is_corrected),
		cmocka_unit_test(nothing_else_is_corrected),
		cmocka_unit_test(of_duplicates_the_first_is_kept),
		cmocka_unit_test(circles_are_left_out),
		cmocka_unit_test(orphans_are_left_out_with_what_is_below),
		cmocka_unit_test(of_several_roots_the_earliest_counts),
		cmocka_unit_test(the_root_may_have_to_be_guessed),
		cmocka_unit_test(nonsense_is_counted),
		cmocka_unit_test(a_span_without_an_end_keeps_what_is_below_it),
		cmocka_unit_test(bounds_come_from_the_closest_below_whose_times_are_known),
		cmocka_unit_test(without_an_end_or_children_a_span_is_not_on_the_path),
		cmocka_unit_test(a_request_without_an_end_took_at_least_what_is_below),
		cmocka_unit_test(of_duplicates_the_one_whose_times_are_known_is_kept),
		cmocka_unit_test(a_trace_may_be_deep),
		cmocka_unit_test(a_trace_may_be_wide),
		cmocka_unit_test(traces_come_in_the_order_they_began),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(ids_of_128_bits_are_kept_apart),
		cmocka_unit_test(any_name_makes_a_label),
		cmocka_unit_test(attributes_go_by_name),
		cmocka_unit_test(keys_may_be_no_utf8),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(memory_for_names_is_bounded),
		cmocka_unit_test(ids_are_hexadecimal_or_hashed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
