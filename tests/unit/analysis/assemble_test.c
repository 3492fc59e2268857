/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "generator.h"

enum { BATCHES_MAX = 4096 };

/* Prints the whole trace except addresses. */
static void
describe(const struct trace *t, const struct labels *labels, struct buf *out)
{
	buf_printf(out, "trace %llu %s root %u %lld..%lld probed %d lossy %d\n",
	    (unsigned long long)t->id, labels_get(labels, t->type)->text, t->root,
	    (long long)t->begin_ns, (long long)t->end_ns, t->probed, t->lossy);
	for (uint32_t u = 0; u < t->nunits; u++)
		buf_printf(out, "unit %llu %u+%u fork %u\n", (unsigned long long)t->units[u].id,
		    t->units[u].first, t->units[u].count, t->units[u].fork);
	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct event *e = &t->events[i];

		buf_printf(out, "%lld %s u%u n%u l%llu %u/%u:", (long long)e->time_ns,
		    labels_get(labels, e->label)->text, e->unit, e->node,
		    (unsigned long long)e->link_id, e->pid, e->tid);
		for (uint32_t v = 0; v < e->nvalues; v++) {
			if (e->values[v].type == VALUE_TEXT)
				buf_bytes(out, e->values[v].text, e->values[v].len);
			else
				buf_printf(out, " %llu", (unsigned long long)e->values[v].u);
		}
		buf_printf(out, "\n");
	}
}

static void
drain(struct kit *k, struct buf *out)
{
	struct trace *t;

	while ((t = assemble_next(k->assemble)) != NULL) {
		describe(t, k->labels, out);
		trace_free(t);
	}
}

/*
 * Feeds each node's records in batches of its own. `order` is the random seed for the order in
 * which nodes send them.
 */
static struct assemble_counts
interleave(struct gen *g, const size_t first[GEN_NODES + 1], uint64_t order, int64_t late_ends_ns,
    struct buf *out)
{
	struct kit *k = kit_new(&(struct assemble_options){ .memory_max_bytes = 64 << 20,
	    .skew_ns = late_ends_ns > 0 ? 5000 : 50000,
	    .patience_ns = INT64_C(3000000),
	    .late_ends_ns = late_ends_ns });
	size_t at[GEN_NODES];
	struct assemble_counts c;
	struct rng rng, cut[GEN_NODES];
	uint32_t left = GEN_NODES;

	rng_seed(&rng, order);
	for (uint32_t node = 0; node < GEN_NODES; node++) {
		rng_seed(
		    &cut[node], 77 + node); /* the batches of a node are the same in every order */
		at[node] = first[node];
		assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
	}
	while (left > 0) {
		uint32_t node = (uint32_t)rng_below(&rng, GEN_NODES);
		size_t end = at[node] + 1 + rng_below(&cut[node], 60), n;
		struct record *records;
		struct loss loss;
		struct batch b = { .labels = g->labels, .nlabels = g->nlabels };

		if (at[node] == SIZE_MAX)
			continue;
		end = end < first[node + 1] ? end : first[node + 1];
		while (end < first[node + 1] &&
		       g->records[end].r.time_ns == g->records[end - 1].r.time_ns)
			end++;
		n = end - at[node];
		records = malloc((n + 1) * sizeof *records);
		for (size_t i = 0; i < n; i++)
			records[i] = g->records[at[node] + i].r;
		b.records = records;
		b.nrecords = (uint32_t)n;
		b.watermark_ns = end == first[node + 1] ? INT64_MAX / 8
		                                        : g->records[end - 1].r.time_ns;
		if (n > 0 && rng_below(&cut[node], 10) == 0) {
			loss = (struct loss){ LOSS_RING, 3, records[0].time_ns,
				records[0].time_ns + 1000 };
			b.losses = &loss;
			b.nlosses = 1;
		}
		assert_int_equal(assemble_batch(k->assemble, node, &b, &k->e), 0);
		free(records);
		at[node] = end == first[node + 1] ? SIZE_MAX : end;
		left -= at[node] == SIZE_MAX;
		if (rng_below(&rng, 3) == 0)
			drain(k, out);
	}
	drain(k, out);
	c = kit_counts(k);
	assert_int_equal(c.held, 0);
	assert_int_equal(c.pending, 0);
	assert_int_equal(c.memory_bytes, 0);
	kit_free(k);
	return c;
}

static void
traces_do_not_depend_on_the_interleaving_of_nodes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		int64_t late_ends_ns = seed > 4 ? 60000 : 0;
		struct gen *g = gen_new(seed);
		size_t first[GEN_NODES + 1];
		struct buf expected = { 0 };
		struct assemble_counts c;

		g->no_end = 0.1;
		g->late_end = 0.2;
		for (uint32_t node = 0; node < GEN_NODES; node++)
			g->offset_ns[node] = (int64_t)rng_below(&g->when, 40000);
		for (uint32_t i = 0; i < 120; i++)
			gen_request(
			    g, i + 1, seed * 1000 + i, 1000000 + i * 100000, 30 + (int)i % 100);
		gen_sort(g, first);
		c = interleave(g, first, 1, late_ends_ns, &expected);
		assert_true(c.complete > 50);
		assert_true(c.late > 0); /* units that no join waits for continue after the end */
		assert_true(c.lossy > 0 && c.lossy < c.complete);
		for (uint64_t order = 2; order <= 40; order++) {
			struct buf got = { 0 };
			struct assemble_counts d = interleave(g, first, order, late_ends_ns, &got);

			assert_int_equal(got.len, expected.len);
			assert_memory_equal(got.data, expected.data, got.len);
			assert_memory_equal(&c, &d, sizeof c);
			buf_release(&got);
		}
		buf_release(&expected);
		gen_free(g);
	}
}

static void
traces_come_out_by_end_and_id_once_all_watermarks_passed(void **state)
{
	struct kit *k = kit_new(&(struct assemble_options){ 1 << 20, 10, 100000 });
	const struct row rows[] = { { 1, 0, 1, 'B', 0, "R", 5 }, { 2, 0, 2, 'B', 0, "R", 4 },
		{ 3, 0, 3, 'B', 0, "R", 9 }, { 50, 0, 2, 'E', 0, "R", 4 },
		{ 60, 0, 1, 'E', 0, "R", 5 }, { 50, 0, 3, 'E', 0, "R", 9 } };
	static const uint64_t order[] = { 4, 9, 5 };
	struct trace *t;
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	assert_int_equal(assemble_join(k->assemble, 1, &k->e), 0);
	kit_batch(k, 0, rows, 6, 1000);
	assert_null(assemble_next(k->assemble)); /* node 1 has sent no watermark */
	kit_batch(k, 1, rows, 6, 59);
	assert_null(assemble_next(k->assemble));
	kit_batch(k, 1, rows, 6, 60);
	for (int i = 0; i < 2; i++) {
		t = assemble_next(k->assemble);
		assert_non_null(t);
		assert_int_equal(t->id, order[i]);
		trace_free(t);
	}
	assert_null(assemble_next(k->assemble)); /* watermark 70 of node 1 is needed: end 60 + 10 */
	kit_batch(k, 1, rows, 6, 70);
	t = assemble_next(k->assemble);
	assert_int_equal(t->id, order[2]);
	trace_free(t);
	kit_free(k);
}

enum { CALL_ROWS = 7 };

/* A call from 20 to 80 whose unit ends at this time; the request ends at 100. */
static void
call_ends(struct row rows[CALL_ROWS], int64_t unit_end_ns)
{
	const struct row all[CALL_ROWS] = { { 10, 0, 1, 'B', 0, "R" }, { 20, 0, 1, 'F', 7, "c" },
		{ 30, 1, 2, 'b', 7, "c" }, { 40, 1, 2, '.', 0, "p" }, { 80, 0, 1, 'J', 7, "c" },
		{ 100, 0, 1, 'E', 0, "R" }, { unit_end_ns, 1, 2, 'e', 7, "c" } };

	memcpy(rows, all, sizeof all);
}

static struct kit *
late_ends_kit(void)
{
	struct kit *k = kit_new(&(struct assemble_options){ .memory_max_bytes = 1 << 20,
	    .skew_ns = 50,
	    .patience_ns = 100000,
	    .late_ends_ns = 1000 });

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	assert_int_equal(assemble_join(k->assemble, 1, &k->e), 0);
	return k;
}

/* The next trace, of `events` events. */
static void
expect_events(struct kit *k, uint32_t events)
{
	struct trace *t = assemble_next(k->assemble);

	assert_non_null(t);
	assert_int_equal(t->nevents, events);
	assert_int_equal(t->end_ns, 100);
	assert_true(trace_is_evidence(t));
	trace_free(t);
}

static void
the_end_of_a_joined_unit_is_awaited_after_that_of_its_request(void **state)
{
	struct kit *k = late_ends_kit();
	struct row rows[CALL_ROWS];
	(void)state;

	call_ends(rows, 500);
	kit_batch(k, 0, rows, CALL_ROWS, 2000);
	kit_batch(k, 1, rows, CALL_ROWS - 1, 400);
	assert_int_equal(kit_counts(k).pending, 1);
	kit_batch(k, 1, &rows[CALL_ROWS - 1], 1, 1149);
	assert_null(assemble_next(k->assemble));
	kit_batch(k, 1, NULL, 0, 1150);
	expect_events(k, 7);
	assert_int_equal(kit_counts(k).late, 0);
	kit_free(k);
}

/* So that as many units have ended as have begun. */
static void
an_end_that_came_twice_hides_no_unit_that_is_open(void **state)
{
	enum { N = 12 };
	const struct row rows[N] = { { 10, 0, 1, 'B', 0, "R" }, { 20, 0, 1, 'F', 7, "c" },
		{ 21, 0, 1, 'F', 8, "c" }, { 30, 1, 2, 'b', 7, "c" }, { 31, 1, 3, 'b', 8, "c" },
		{ 40, 1, 2, '.', 0, "p" }, { 60, 1, 2, 'e', 7, "c" }, { 60, 1, 2, 'e', 7, "c" },
		{ 80, 0, 1, 'J', 7, "c" }, { 81, 0, 1, 'J', 8, "c" }, { 100, 0, 1, 'E', 0, "R" },
		{ 500, 1, 3, 'e', 8, "c" } };
	struct kit *k = late_ends_kit();
	(void)state;

	kit_batch(k, 0, rows, N, 2000);
	kit_batch(k, 1, rows, N - 1, 400);
	assert_null(assemble_next(k->assemble));
	kit_batch(k, 1, &rows[N - 1], 1, 1150);
	expect_events(k, N - 1);
	kit_free(k);
}

static void
an_end_that_never_comes_is_awaited_up_to_a_bound(void **state)
{
	struct kit *k = late_ends_kit();
	struct row rows[CALL_ROWS];
	(void)state;

	call_ends(rows, 1151);
	kit_batch(k, 0, rows, CALL_ROWS, 2000);
	kit_batch(k, 1, rows, CALL_ROWS, 1149);
	assert_null(assemble_next(k->assemble));
	kit_batch(k, 1, NULL, 0, 1150);
	expect_events(k, 6); /* the end came after the bound */
	assert_int_equal(kit_counts(k).late, 1);
	kit_free(k);
}

/* That a span called (trace_callers.h): it is a request of its own until the trace is built, and no record joins it. */
static void
the_end_of_a_part_that_a_span_called_is_awaited_too(void **state)
{
	enum { N = 7, C = 0x2020 };
	const struct row rows[N] = { { 10, 0, 1, 'B', 0, "R" }, { 20, 0, C, 'b', C, "c" },
		{ 21, 0, 1, 'F', C, "c" }, { 30, 1, 2, 'B', C, "part" }, { 80, 0, C, 'e', C, "c" },
		{ 100, 0, 1, 'E', 0, "R" }, { 500, 1, 2, 'E', C, "part" } };
	struct kit *k = late_ends_kit();
	struct trace *t;
	(void)state;

	kit_batch(k, 0, rows, N, 2000);
	kit_batch(k, 1, rows, N - 1, 400);
	assert_null(assemble_next(k->assemble));
	kit_batch(k, 1, &rows[N - 1], 1, 1150);
	assert_non_null(t = assemble_next(k->assemble));
	assert_true(trace_is_evidence(t));
	assert_int_equal(kit_counts(k).late, 0);
	trace_free(t);
	kit_free(k);
}

static void
a_trace_whose_joined_units_have_ended_is_not_held(void **state)
{
	struct kit *k = late_ends_kit();
	struct row rows[CALL_ROWS];
	(void)state;

	call_ends(rows, 70);
	kit_batch(k, 0, rows, CALL_ROWS, 150);
	kit_batch(k, 1, rows, CALL_ROWS, 150);
	expect_events(k, 7);
	kit_free(k);
}

static void
a_unit_that_nobody_joined_is_not_awaited(void **state)
{
	struct kit *k = late_ends_kit();
	struct row rows[CALL_ROWS];
	(void)state;

	call_ends(rows, 500);
	rows[4].kind = '.';
	kit_batch(k, 0, rows, CALL_ROWS, 150);
	kit_batch(k, 1, rows, CALL_ROWS, 150);
	expect_events(k, 6);
	kit_free(k);
}

static void
a_node_that_left_is_not_waited_for_and_its_traces_are_lossy(void **state)
{
	struct kit *k = kit_new(NULL);
	const struct row rows[] = { { 1, 0, 1, 'B', 0, "R", 1 }, { 9, 0, 1, 'E', 0, "R", 1 },
		{ 5, 1, 3, '.', 0, "p", 1 }, { 2, 0, 2, 'B', 0, "R", 2 },
		{ 8, 0, 2, 'E', 0, "R", 2 } };
	struct trace *t;
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	assert_int_equal(assemble_join(k->assemble, 1, &k->e), 0);
	kit_batch(k, 1, rows, 5, 6);
	kit_batch(k, 0, rows, 5, 100000);
	assert_null(assemble_next(k->assemble));
	assemble_leave(k->assemble, 1);
	t = assemble_next(k->assemble);
	assert_int_equal(t->id, 2);
	assert_false(t->lossy);
	trace_free(t);
	t = assemble_next(k->assemble);
	assert_int_equal(t->id, 1);
	assert_true(t->lossy);
	trace_free(t);
	assert_int_equal(kit_counts(k).lossy, 1);
	kit_free(k);
}

static void
records_of_a_delivered_trace_are_late(void **state)
{
	struct kit *k = kit_new(NULL);
	const struct row rows[] = { { 1, 0, 1, 'B', 0, "R" }, { 9, 0, 1, 'E', 0, "R" },
		{ 10, 1, 1, '.', 0, "p" }, { 11, 1, 1, '.', 0, "p" } };
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	kit_batch(k, 0, rows, 4, 100000);
	trace_free(assemble_next(k->assemble));
	kit_batch(k, 1, rows, 4, 100000);
	assert_int_equal(kit_counts(k).complete, 1);
	assert_int_equal(kit_counts(k).late, 2);
	assert_int_equal(kit_counts(k).pending, 0);
	kit_free(k);
}

static void
a_trace_without_an_end_is_given_up_when_the_watermark_passes_its_deadline(void **state)
{
	struct kit *k = kit_new(&(struct assemble_options){ 1 << 20, 0, 100 });
	const struct row rows[] = { { 1000, 0, 1, 'B', 0, "R" }, { 1101, 1, 1, 'E', 0, "R" } };
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	kit_batch(k, 0, rows, 2, 1099);
	assert_int_equal(kit_counts(k).pending, 1);
	kit_batch(k, 1, rows, 2,
	    2000); /* these traces have an end, which came after they were given up */
	kit_batch(k, 0, NULL, 0, 1100);
	assert_int_equal(kit_counts(k).given_up_patience, 1);
	assert_int_equal(kit_counts(k).pending, 0);
	assert_int_equal(kit_counts(k).memory_bytes, 0);
	assert_null(assemble_next(k->assemble));
	kit_free(k);
}

static void
malformed_traces_are_given_up(void **state)
{
	struct kit *k = kit_new(NULL);
	(void)state;

	kit_rows(k, ROWS({ 1, 0, 1, '.', 0, "p", 1 }, { 2, 0, 1, 'E', 0, "R", 1 }, /* no begin */
			{ 1, 0, 2, 'B', 0, "R", 2 }, { 2, 0, 2, 'E', 0, "R", 2 },
			{ 3, 0, 2, 'E', 0, "R", 2 }, /* two ends */
			/* the end before the begin */
			{ 9, 0, 3, 'B', 0, "R", 3 }, { 8, 0, 3, 'E', 0, "R", 3 },
			{ 1, 0, 4, 'B', 0, "R", 4 }, { 8, 0, 4, 'E', 0, "R", 4 }));
	trace_free(assemble_next(k->assemble));
	assert_null(assemble_next(k->assemble));
	assert_int_equal(kit_counts(k).given_up_malformed, 3);
	assert_int_equal(kit_counts(k).complete, 1);
	kit_free(k);
}

static void
memory_is_bounded_by_giving_up_the_oldest_traces(void **state)
{
	enum { MAX_BYTES = 200000 };
	struct kit *k = kit_new(&(struct assemble_options){ MAX_BYTES, 0, INT64_MAX });
	struct trace *t;
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	for (int64_t i = 1; i <= 5000; i++) {
		struct row rows[3];

		for (int j = 0; j < 3; j++)
			rows[j] = (struct row){ 10 * i + j, 0, 1, j == 0 ? 'B' : '.', 0, "x",
				(uint64_t)i };
		kit_batch(k, 0, rows, 3, 10 * i);
		assert_true(kit_counts(k).memory_bytes <= MAX_BYTES);
	}
	assert_int_equal(kit_counts(k).given_up_memory + kit_counts(k).pending, 5000);
	assert_true(kit_counts(k).pending > 10);
	/*
	 * the newest traces are in memory, so one of them can end; the oldest were given up: late
	 */
	kit_batch(
	    k, 0, ROWS({ 50003, 0, 1, 'E', 0, "x", 5000 }, { 50004, 0, 1, 'E', 0, "x", 1 }), 60000);
	t = assemble_next(k->assemble);
	assert_non_null(t);
	assert_int_equal(t->id, 5000);
	trace_free(t);
	assert_int_equal(kit_counts(k).late, 1);
	kit_free(k);
}

static void
losses_mark_the_traces_open_at_that_time(void **state)
{
	struct kit *k = kit_new(&(struct assemble_options){ 1 << 20, 10, 100000 });
	struct loss loss = { LOSS_RING, 7, 200, 300 };
	struct batch b = { .watermark_ns = 150, .losses = &loss, .nlosses = 1 };
	const struct row rows[] = { { 100, 0, 1, 'B', 0, "R", 1 },
		{ 189, 0, 1, 'E', 0, "R", 1 }, /* ended before the loss by more than the skew */
		{ 100, 0, 2, 'B', 0, "R", 2 },
		{ 190, 0, 2, 'E', 0, "R", 2 }, /* ended within the skew */
		{ 250, 0, 3, 'B', 0, "R", 3 },
		{ 260, 0, 3, 'E', 0, "R", 3 }, /* begins after the loss */
		{ 311, 0, 4, 'B', 0, "R", 4 }, { 320, 0, 4, 'E', 0, "R", 4 } }; /* after */
	struct trace *t;
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	kit_batch(k, 0, rows, 1, 120);
	assert_int_equal(assemble_batch(k->assemble, 0, &b, &k->e), 0);
	kit_batch(k, 0, rows + 1, 7, 1000);
	for (int i = 0; i < 4; i++) {
		t = assemble_next(k->assemble);
		assert_non_null(t);
		assert_int_equal(t->lossy, t->id == 2 || t->id == 3);
		trace_free(t);
	}
	assert_int_equal(kit_counts(k).lost[LOSS_RING], 7);
	assert_int_equal(kit_counts(k).lossy, 2);
	kit_free(k);
}

/* No record was lost: the carrier did not arrive, so the trace is incomplete and not lossy. */
static void
a_joined_fork_without_its_unit_is_incomplete_and_no_loss(void **state)
{
	struct kit *k = kit_new(NULL);
	struct trace *t;
	(void)state;

	kit_rows(k, ROWS({ 1, 0, 1, 'B', 0, "R", 1 }, { 2, 0, 1, 'F', 7, "c", 1 },
			{ 3, 0, 1, 'J', 7, "c", 1 }, { 4, 0, 1, 'E', 0, "R", 1 },
			{ 1, 0, 2, 'B', 0, "R", 2 }, { 2, 0, 2, 'F', 7, "c", 2 },
			{ 5, 0, 2, 'E', 0, "R", 2 }));
	t = assemble_next(k->assemble);
	assert_false(t->lossy);
	assert_int_equal(t->incomplete, INCOMPLETE_NO_UNIT);
	assert_string_equal(labels_get(k->labels, t->incomplete_label)->text, "s/hone:fork(c)");
	assert_false(trace_is_evidence(t));
	assert_true(trace_has_times(t));
	trace_free(t);
	t = assemble_next(k->assemble); /* no join: the unit may begin at any later time */
	assert_false(t->lossy);
	assert_true(trace_is_evidence(t));
	trace_free(t);
	assert_int_equal(kit_counts(k).lossy, 0);
	assert_int_equal(kit_counts(k).incomplete[INCOMPLETE_NO_UNIT], 1);
	assert_int_equal(kit_counts(k).complete, 2);
	kit_free(k);
}

static void
expect_incomplete(struct kit *k, uint64_t id, enum incomplete why)
{
	struct trace *t = assemble_next_incomplete(k->assemble);

	assert_non_null(t);
	assert_int_equal(t->id, id);
	assert_int_equal(t->incomplete, why);
	assert_false(t->lossy);
	assert_false(trace_has_times(t));
	assert_int_equal(t->type == LABEL_NONE, why == INCOMPLETE_NO_BEGIN);
	assert_int_equal(t->root == TRACE_NONE, why == INCOMPLETE_NO_BEGIN);
	assert_int_equal(kit_counts(k).incomplete[why], 1);
	trace_free(t);
}

/* What a program does within one request is bounded, and the request is named. */
static void
a_trace_with_more_records_than_are_examined_is_incomplete(void **state)
{
	struct kit *k = kit_new(
	    &(struct assemble_options){ 64 << 20, 5000, INT64_C(1000000000), 4 });
	struct assemble_counts c;
	struct trace *t;
	(void)state;

	kit_rows(k, ROWS({ 1, 0, 1, 'B', 0, "R", 1 }, { 2, 0, 1, '.', 0, "p", 1 },
			{ 3, 0, 1, '.', 0, "p", 1 }, { 4, 0, 1, 'E', 0, "R", 1 },
			{ 1, 0, 2, 'B', 0, "R", 2 }, { 2, 0, 2, '.', 0, "p", 2 },
			{ 3, 0, 2, '.', 0, "p", 2 }, { 4, 0, 2, '.', 0, "p", 2 },
			{ 5, 0, 2, 'E', 0, "R", 2 }));
	assert_non_null(t = assemble_next(k->assemble));
	assert_int_equal(t->id, 1); /* as many as are examined */
	assert_true(trace_is_evidence(t));
	trace_free(t);
	assert_null(assemble_next(k->assemble));
	assert_non_null(t = assemble_next_incomplete(k->assemble));
	assert_true(t->id == 2 && t->nevents == 4 && t->incomplete == INCOMPLETE_TOO_LONG);
	assert_false(trace_has_times(t));
	trace_free(t);
	c = kit_counts(k);
	assert_int_equal(c.incomplete[INCOMPLETE_TOO_LONG], 1);
	assert_true(c.records == 9 && c.used == 4 && c.given_up == 5 && c.held == 0);
	kit_free(k);
}

static void
a_trace_that_was_given_up_is_handed_out_with_what_it_lacks(void **state)
{
	struct kit *k = kit_new(NULL);
	(void)state;

	kit_rows(k, ROWS({ 1, 0, 1, 'B', 0, "R", 1 }, { 2, 0, 1, 'F', 7, "c", 1 },
			{ 3, 0, 2, 'E', 0, "R", 2 }, { 4, 0, 3, 'B', 0, "R", 3 },
			{ 5, 0, 4, 'B', 0, "S", 3 }, { 6, 0, 4, 'E', 0, "S", 3 },
			{ 7, 0, 5, 'B', 0, "R", 4 }, { 8, 0, 5, 'E', 0, "R", 4 },
			{ 9, 0, 5, 'E', 0, "R", 4 }, { 10, 0, 6, 'E', 0, "R", 5 },
			{ 11, 0, 6, 'B', 0, "R", 5 }));
	assert_null(assemble_next(k->assemble));
	expect_incomplete(k, 1, INCOMPLETE_NO_END);
	expect_incomplete(k, 2, INCOMPLETE_NO_BEGIN);
	expect_incomplete(k, 3, INCOMPLETE_SEVERAL_BEGINS);
	expect_incomplete(k, 4, INCOMPLETE_SEVERAL_ENDS);
	expect_incomplete(k, 5, INCOMPLETE_END_FIRST);
	assert_null(assemble_next_incomplete(k->assemble));
	assert_int_equal(kit_counts(k).lossy, 0);
	assert_int_equal(kit_counts(k).complete, 0);
	kit_free(k);
}

static void
note_pending(void *ctx, const struct trace *t)
{
	uint64_t *ids = ctx;

	assert_int_equal(t->incomplete, INCOMPLETE_NO_END);
	ids[ids[0] + 1] = t->id;
	ids[0]++;
}

static void
a_pending_trace_can_be_seen_before_it_is_given_up(void **state)
{
	struct kit *k = kit_new(NULL);
	struct row rows[] = { { 50, 0, 1, 'B', 0, "R", 1 }, { 60, 0, 2, 'B', 0, "R", 2 },
		{ 70, 0, 3, 'B', 0, "R", 3 }, { 80, 0, 1, 'p', 0, "x", 1 } };
	uint64_t ids[8] = { 0 };
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	kit_batch(k, 0, rows, 4, 90);
	assemble_look_pending(k->assemble, 70, 8, note_pending, ids);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[1], 1);
	assert_int_equal(ids[2], 2);
	ids[0] = 0;
	assemble_look_pending(k->assemble, 1000, 1, note_pending, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(kit_counts(k).pending, 3);
	kit_free(k);
}

static void
a_unit_that_shares_its_thread_with_another_trace_knows_since_when(void **state)
{
	struct kit *k = kit_new(NULL);
	struct trace *t;
	(void)state;

	/* unit 1 of trace 1 has forked, and is open when trace 2 begins on its thread */
	kit_rows(k, ROWS({ 10, 0, 1, 'B', 0, "R", 1 }, { 20, 0, 1, 'F', 7, "c", 1 },
			{ 30, 0, 2, 'B', 0, "R", 2 }, { 40, 0, 2, 'E', 0, "R", 2 },
			{ 50, 0, 1, 'E', 0, "R", 1 }));
	t = assemble_next(k->assemble);
	assert_int_equal(t->id, 2);
	assert_int_equal(t->units[0].shared_ns, 0);
	trace_free(t);
	t = assemble_next(k->assemble);
	assert_int_equal(t->id, 1);
	assert_int_equal(t->units[0].shared_ns, 30);
	trace_free(t);
	kit_free(k);
}

static void
values_follow_their_fields_names(void **state)
{
	struct kit *k = kit_new(NULL);
	const char *old[] = { "size", "name" }, *new[] = { "extra", "name", "size" };
	struct batch_label labels[3] = { { RECORD_REQUEST_BEGIN, 0, 0,
					     "front/hone:request_begin(R)", NULL },
		{ RECORD_REQUEST_END, 0, 0, "front/hone:request_end(R)", NULL },
		{ RECORD_POINT, 0, 2, "front/app:p", old } };
	struct value first[2] = { { .type = VALUE_UINT, .u = 42 },
		{ .type = VALUE_TEXT, .len = 3, .text = "abc" } };
	struct value second[3] = { { .type = VALUE_UINT, .u = 9 },
		{ .type = VALUE_TEXT, .len = 2, .text = "xy" }, { .type = VALUE_UINT, .u = 43 } };
	struct record r[4] = { { 1, 1, 0, 10, 0, 1, 1, 0, NULL },
		{ 1, 1, 0, 20, 2, 1, 1, 2, first }, { 1, 1, 0, 30, 2, 1, 1, 3, second },
		{ 1, 1, 0, 40, 1, 1, 1, 0, NULL } };
	struct batch b = {
		.watermark_ns = 25, .nlabels = 3, .nrecords = 2, .labels = labels, .records = r
	};
	struct trace *t;
	(void)state;

	for (int i = 0; i < 3; i++)
		labels[i].len = (uint32_t)strlen(labels[i].text);
	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	assert_int_equal(assemble_batch(k->assemble, 0, &b, &k->e), 0);
	labels[2].fields = new; /* a newer version of the program */
	labels[2].nfields = 3;
	b.records = r + 2;
	b.watermark_ns = 100000;
	assert_int_equal(assemble_batch(k->assemble, 0, &b, &k->e), 0);
	t = assemble_next(k->assemble);
	assert_int_equal(t->events[1].nvalues, 2);
	assert_int_equal(t->events[1].values[0].u, 42);
	assert_memory_equal(t->events[1].values[1].text, "abc", 3);
	assert_int_equal(t->events[2].nvalues, 2);
	assert_int_equal(t->events[2].values[0].u, 43);
	assert_int_equal(t->events[2].values[1].len, 2);
	assert_memory_equal(t->events[2].values[1].text, "xy", 2);
	trace_free(t);
	kit_free(k);
}

static void
invalid_records_are_counted_and_dropped(void **state)
{
	struct kit *k = kit_new(NULL);
	struct batch_label labels[2] = { { RECORD_POINT, 9, 0, "noservice", NULL },
		{ RECORD_POINT, 5, 0, "s/p:e", NULL } };
	struct record r[4] = { { 1, 1, 0, 10, 0, 1, 1, 0, NULL },
		{ 1, 1, 0, INT64_MIN, 1, 1, 1, 0, NULL }, { 1, 1, 0, INT64_MAX, 1, 1, 1, 0, NULL },
		{ 0, 1, 0, 5, 1, 1, 1, 0, NULL } };
	struct batch b = {
		.watermark_ns = 25, .nlabels = 2, .nrecords = 4, .labels = labels, .records = r
	};
	(void)state;

	assert_int_equal(assemble_batch(k->assemble, 3, &b, &k->e), 0);
	assert_int_equal(kit_counts(k).records, 0);
	assert_int_equal(kit_counts(k).pending, 0);
	assert_int_equal(kit_counts(k).lost[LOSS_DECODE], 3);
	kit_free(k);
}

/* Each batch has one new label. */
static void
labels_of_a_node_are_bounded(void **state)
{
	struct kit *k = kit_new(NULL);
	uint32_t before = labels_count(k->labels);
	char text[32];
	struct batch_label label = { RECORD_POINT, 0, 0, text, NULL };
	struct record r = { 1, 1, 0, 10, 0, 1, 1, 0, NULL };
	struct batch b = {
		.watermark_ns = 25, .nlabels = 1, .nrecords = 1, .labels = &label, .records = &r
	};
	enum { OVER = 10 };
	(void)state;

	for (int i = 0; i < ASSEMBLE_NODE_LABELS_MAX + OVER; i++) {
		label.len = (uint32_t)snprintf(text, sizeof text, "s/p:%d", i);
		assert_int_equal(assemble_batch(k->assemble, 3, &b, &k->e), 0);
	}
	assert_int_equal(assemble_node_labels(k->assemble, 3), ASSEMBLE_NODE_LABELS_MAX);
	assert_int_equal(labels_count(k->labels) - before, ASSEMBLE_NODE_LABELS_MAX);
	assert_int_equal(kit_counts(k).unlabelled, OVER);
	/* A label that is known is taken, and other nodes have a bound of their own. */
	label.len = (uint32_t)snprintf(text, sizeof text, "s/p:%d", 7);
	assert_int_equal(assemble_batch(k->assemble, 3, &b, &k->e), 0);
	assert_int_equal(kit_counts(k).unlabelled, OVER);
	label.len = (uint32_t)snprintf(text, sizeof text, "s/p:other");
	assert_int_equal(assemble_batch(k->assemble, 4, &b, &k->e), 0);
	assert_int_equal(kit_counts(k).unlabelled, OVER);
	assert_int_equal(assemble_node_labels(k->assemble, 4), 1);
	kit_free(k);
}

/*
 * Every record twice, in the same batch or in a later one: the trace is unchanged and the
 * duplicates are counted.
 */
static void
duplicates_are_discarded_and_counted(void **state)
{
	static const struct row rows[] = { { 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" },
		{ 20, 1, 2, 'b', 7, "c" }, { 25, 1, 2, '.', 0, "p" }, { 25, 1, 2, '.', 0, "q" },
		{ 80, 1, 2, 'e', 7, "c" }, { 90, 0, 1, 'J', 7, "c" }, { 100, 0, 1, 'E', 0, "R" } };
	enum { N = sizeof rows / sizeof rows[0] };
	struct buf expected = { 0 }, got = { 0 };
	struct kit *k = kit_new(NULL);
	struct assemble_counts c;
	struct row twice[2 * N];
	(void)state;

	kit_rows(k, rows, N);
	drain(k, &expected);
	assert_int_equal(kit_counts(k).complete, 1);
	assert_int_equal(kit_counts(k).duplicate, 0);
	kit_free(k);

	k = kit_new(NULL);
	for (int i = 0; i < N; i++)
		twice[2 * i] = twice[2 * i + 1] = rows[i];
	for (uint32_t node = 0; node < 2; node++)
		assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
	for (uint32_t node = 0; node < 2; node++)
		kit_batch(k, node, twice, 2 * N, 50);
	for (uint32_t node = 0; node < 2; node++)
		kit_batch(k, node, rows, N, INT64_MAX / 8);
	drain(k, &got);
	c = kit_counts(k);
	assert_int_equal(c.complete, 1);
	assert_int_equal(c.duplicate, 2 * N);
	assert_int_equal(got.len, expected.len);
	assert_memory_equal(got.data, expected.data, got.len);
	buf_release(&expected);
	buf_release(&got);
	kit_free(k);
}

/* The records of one node in any order, in one batch or in several: only their times count. */
static void
the_order_of_records_in_a_batch_does_not_matter(void **state)
{
	struct row rows[60], shuffled[60];
	struct buf expected = { 0 };
	struct rng rng;
	(void)state;

	rng_seed(&rng, 1);
	rows[0] = (struct row){ 0, 0, 1, 'B', 0, "R" };
	for (int i = 1; i < 59; i++)
		rows[i] = (struct row){ 10 * i, (uint32_t)i % 2, 1 + (uint64_t)i % 2,
			i == 1 ? 'b' : '.', i == 1 ? 7 : 0, i % 3 ? "x" : "y" };
	rows[59] = (struct row){ 1000, 0, 1, 'E', 0, "R" };
	for (int round = 0; round < 50; round++) {
		struct kit *k = kit_new(NULL);
		struct buf got = { 0 };

		memcpy(shuffled, rows, sizeof rows);
		for (uint64_t i = 59; round > 0 && i > 0; i--) {
			uint64_t j = rng_below(&rng, i + 1);
			struct row swap = shuffled[i];

			shuffled[i] = shuffled[j];
			shuffled[j] = swap;
		}
		for (uint32_t node = 0; node < 2; node++)
			assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
		for (uint32_t node = 0; node < 2; node++)
			for (int part = 0; part < 60; part += 20)
				kit_batch(k, node, shuffled + part, 20,
				    part < 40 ? INT64_MIN : INT64_MAX / 8);
		drain(k, round == 0 ? &expected : &got);
		assert_int_equal(kit_counts(k).complete, 1);
		if (round > 0) {
			assert_int_equal(got.len, expected.len);
			assert_memory_equal(got.data, expected.data, got.len);
		}
		buf_release(&got);
		kit_free(k);
	}
	buf_release(&expected);
}

/*
 * A trace without an end whose records continue to come: it is given up once, all later records are
 * late, and no memory remains in use.
 */
static void
a_trace_without_an_end_does_not_keep_memory(void **state)
{
	struct kit *k = kit_new(&(struct assemble_options){ 64 << 20, 5000, 1000000 });
	struct assemble_counts c;
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	kit_batch(k, 0, ROWS({ 0, 0, 1, 'B', 0, "R" }), 0);
	for (int64_t t = 1; t <= 5000; t++)
		kit_batch(k, 0, ROWS({ t * 1000, 0, 1, '.', 0, "x" }), t * 1000);
	c = kit_counts(k);
	assert_int_equal(c.given_up_patience, 1);
	assert_int_equal(c.records, 5001);
	assert_int_equal(c.late, 4000);
	assert_int_equal(c.pending, 0);
	assert_int_equal(c.memory_bytes, 0);
	assert_null(assemble_next(k->assemble));
	kit_free(k);
}

static void
the_begin_record_has_the_whole_trace_id(void **state)
{
	static const char *const fields[] = { "probed", "trace_id_high" };
	const struct value values[2] = { { .type = VALUE_UINT, .u = 1 },
		{ .type = VALUE_UINT, .u = 0xabcdef } };
	const struct batch_label labels[2] = {
		{ RECORD_REQUEST_BEGIN, 23, 2, "s/hone:request_begin(R)", (const char **)fields },
		{ RECORD_REQUEST_END, 21, 0, "s/hone:request_end(R)", NULL }
	};
	const struct record records[2] = {
		{ .trace_id = 9, .unit_id = 1, .time_ns = 5, .nvalues = 2, .values = values },
		{ .trace_id = 9, .unit_id = 1, .time_ns = 8, .label = 1 }
	};
	const struct batch b = { .watermark_ns = INT64_MAX / 8,
		.nlabels = 2,
		.labels = (struct batch_label *)labels,
		.nrecords = 2,
		.records = (struct record *)records };
	struct kit *k = kit_new(NULL);
	struct trace *t;
	(void)state;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	assert_int_equal(assemble_batch(k->assemble, 0, &b, &k->e), 0);
	t = assemble_next(k->assemble);
	assert_non_null(t);
	assert_int_equal(t->id, 9);
	assert_int_equal(t->id_high, 0xabcdef);
	assert_true(t->probed);
	trace_free(t);
	kit_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces_do_not_depend_on_the_interleaving_of_nodes),
		cmocka_unit_test(traces_come_out_by_end_and_id_once_all_watermarks_passed),
		cmocka_unit_test(the_end_of_a_joined_unit_is_awaited_after_that_of_its_request),
		cmocka_unit_test(an_end_that_came_twice_hides_no_unit_that_is_open),
		cmocka_unit_test(an_end_that_never_comes_is_awaited_up_to_a_bound),
		cmocka_unit_test(the_end_of_a_part_that_a_span_called_is_awaited_too),
		cmocka_unit_test(a_trace_whose_joined_units_have_ended_is_not_held),
		cmocka_unit_test(a_unit_that_nobody_joined_is_not_awaited),
		cmocka_unit_test(a_node_that_left_is_not_waited_for_and_its_traces_are_lossy),
		cmocka_unit_test(records_of_a_delivered_trace_are_late),
		cmocka_unit_test(
		    a_trace_without_an_end_is_given_up_when_the_watermark_passes_its_deadline),
		cmocka_unit_test(malformed_traces_are_given_up),
		cmocka_unit_test(memory_is_bounded_by_giving_up_the_oldest_traces),
		cmocka_unit_test(losses_mark_the_traces_open_at_that_time),
		cmocka_unit_test(a_joined_fork_without_its_unit_is_incomplete_and_no_loss),
		cmocka_unit_test(a_trace_with_more_records_than_are_examined_is_incomplete),
		cmocka_unit_test(a_trace_that_was_given_up_is_handed_out_with_what_it_lacks),
		cmocka_unit_test(a_pending_trace_can_be_seen_before_it_is_given_up),
		cmocka_unit_test(a_unit_that_shares_its_thread_with_another_trace_knows_since_when),
		cmocka_unit_test(values_follow_their_fields_names),
		cmocka_unit_test(invalid_records_are_counted_and_dropped),
		cmocka_unit_test(labels_of_a_node_are_bounded),
		cmocka_unit_test(duplicates_are_discarded_and_counted),
		cmocka_unit_test(the_order_of_records_in_a_batch_does_not_matter),
		cmocka_unit_test(a_trace_without_an_end_does_not_keep_memory),
		cmocka_unit_test(the_begin_record_has_the_whole_trace_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
