/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes a trace waits for (options.order_ns of analysis/assemble.h). */
#include "kit.h"

#include "analysis/fork_labels.h"
#include "base/rng.h"

enum { SKEW = 5000, ORDER = 100000, OPEN = 1000000, LATE_ENDS = 20000, NODES = 5, TAUGHT = 1000 };

static struct kit *
closure_kit(void)
{
	const struct assemble_options o = { .memory_max_bytes = 64 << 20,
		.skew_ns = SKEW,
		.patience_ns = INT64_C(1000000000),
		.order_ns = ORDER,
		.open_ns = OPEN,
		.late_ends_ns = LATE_ENDS };
	struct kit *k = kit_new(&o);

	for (uint32_t node = 0; node < NODES; node++)
		assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
	return k;
}

static void
watermark(struct kit *k, uint32_t node, int64_t ns)
{
	kit_batch(k, node, NULL, 0, ns);
}

/* Plays requests from 10 to 50 that fork once, and for which all nodes are waited: so many units of node 1 begin by each fork. */
static void
teach(struct kit *k, const char *label, int begins, int times)
{
	static uint64_t id = TAUGHT;

	for (int i = 0; i < times; i++, id++) {
		const struct row rows[] = {
			{ 10, 0, 1, 'B', 0, "T", id },
			{ 20, 0, 1, 'F', 9, label, id },
			{ 30, 1, 2, 'b', 9, "serve", id },
			{ 31, 1, 3, 'b', 9, "serve", id },
			{ 50, 0, 1, 'E', 0, "T", id },
		};

		kit_batch(k, 1, rows, 2 + (size_t)begins, 60);
		kit_batch(k, 0, rows, 2, 60);
		kit_batch(k, 0, &rows[4], 1, 60);
	}
	for (uint32_t node = 0; node < NODES; node++)
		watermark(k, node, 50 + SKEW);
	for (struct trace *t; (t = assemble_next(k->assemble)) != NULL; trace_free(t))
		assert_true(t->id >= TAUGHT);
	assert_int_equal(kit_counts(k).early, 0);
}

/* Where the forks "call" are known to be begun by one unit. */
static struct kit *
taught_kit(void)
{
	struct kit *k = closure_kit();

	teach(k, "call", 1, FORKS_SEEN);
	return k;
}

/* The id of the next trace, or 0; `lossy`: whether it is. */
static uint64_t
next(struct kit *k, bool *lossy)
{
	struct trace *t = assemble_next(k->assemble);
	uint64_t id = t != NULL ? t->id : 0;

	if (lossy != NULL)
		*lossy = t != NULL && t->lossy;
	trace_free(t);
	return id;
}

/* Node 0 asks node 1, from 1000 to 5000; due at 10000. */
static const struct row TWO[] = {
	{ 1000, 0, 1, 'B', 0, "T", 7 },
	{ 2000, 0, 1, 'F', 11, "call", 7 },
	{ 2500, 1, 2, 'b', 11, "serve", 7 },
	{ 3500, 1, 2, 'e', 11, "serve", 7 },
	{ 4000, 0, 1, 'J', 11, "call", 7 },
	{ 5000, 0, 1, 'E', 0, "T", 7 },
};
enum { TWO_ROWS = sizeof TWO / sizeof TWO[0], DUE = 5000 + SKEW };

static void
a_trace_waits_for_its_nodes_and_not_for_others(void **state)
{
	struct kit *k = taught_kit();
	bool lossy;
	(void)state;

	/* Nodes 2 to 4 say nothing at all. */
	kit_batch(k, 0, TWO, TWO_ROWS, DUE + ORDER);
	assert_int_equal(next(k, NULL), 0);
	kit_batch(k, 1, TWO, TWO_ROWS, DUE + ORDER - 1);
	assert_int_equal(next(k, NULL), 0);
	watermark(k, 1, DUE + ORDER);
	assert_int_equal(next(k, &lossy), 7);
	assert_false(lossy);
	assert_int_equal(kit_counts(k).early, 1);
	assert_int_equal(kit_counts(k).opened, 0);
	assert_int_equal(kit_counts(k).used, TWO_ROWS + FORKS_SEEN * 4);
	kit_free(k);
}

static void
the_end_of_a_joined_unit_is_awaited_from_its_own_nodes_only(void **state)
{
	struct kit *k = taught_kit();
	struct row rows[TWO_ROWS];
	(void)state;

	memcpy(rows, TWO, sizeof rows);
	rows[3].time_ns = DUE + 3000; /* its unit's end */
	kit_batch(k, 0, rows, TWO_ROWS, DUE + LATE_ENDS + ORDER);
	kit_batch(k, 1, rows, 3, DUE + 1);
	kit_batch(k, 1, &rows[3], TWO_ROWS - 3, DUE + ORDER);
	assert_int_equal(next(k, NULL), 0);
	watermark(k, 1, DUE + LATE_ENDS + ORDER - 1);
	assert_int_equal(next(k, NULL), 0);
	watermark(k, 1, DUE + LATE_ENDS + ORDER);
	assert_int_equal(next(k, NULL), 7);
	assert_int_equal(kit_counts(k).early, 1);
	assert_int_equal(kit_counts(k).late, 0);
	kit_free(k);
}

static void
where_no_node_lags_traces_come_in_the_order_of_their_ends(void **state)
{
	struct kit *k = taught_kit();
	const struct row other[] = { { 900, 3, 1, 'B', 0, "T", 9 },
		{ 4900, 3, 1, 'E', 0, "T", 9 } };
	(void)state;

	kit_batch(k, 0, TWO, TWO_ROWS, DUE);
	kit_batch(k, 1, TWO, TWO_ROWS, DUE);
	watermark(k, 2, DUE);
	watermark(k, 4, DUE);
	assert_int_equal(next(k, NULL), 0);
	kit_batch(k, 3, other, 2, DUE);
	assert_int_equal(next(k, NULL), 9);
	assert_int_equal(next(k, NULL), 7);
	assert_int_equal(kit_counts(k).early, 0);
	kit_free(k);
}

static void
while_a_fork_is_open_it_waits_for_all_nodes_up_to_a_bound(void **state)
{
	struct kit *k = taught_kit();
	bool lossy;
	(void)state;

	kit_batch(k, 0, TWO, TWO_ROWS, DUE + ORDER);
	for (uint32_t node = 2; node < NODES; node++)
		watermark(k, node, DUE + ORDER);
	watermark(k, 0, DUE + OPEN - 1);
	assert_int_equal(next(k, NULL), 0); /* its unit may still come from node 1 */
	watermark(k, 0, DUE + OPEN);
	assert_int_equal(next(k, &lossy), 7);
	assert_true(lossy);
	assert_int_equal(kit_counts(k).opened, 1);
	kit_batch(k, 1, TWO, TWO_ROWS, DUE + OPEN);
	assert_int_equal(next(k, NULL), 0);
	assert_int_equal(kit_counts(k).late, 2);
	kit_free(k);
}

static void
a_unit_whose_fork_has_not_come_yet_is_open_too(void **state)
{
	struct kit *k = taught_kit();
	/* Node 2 forks to node 1, and node 0 to node 2. */
	const struct row rows[] = {
		{ 1000, 0, 1, 'B', 0, "T", 7 },
		{ 1100, 1, 3, 'b', 12, "leaf", 7 },
		{ 1200, 1, 3, 'e', 12, "leaf", 7 },
		{ 1050, 2, 2, 'b', 11, "middle", 7 },
		{ 1060, 2, 2, 'F', 12, "call", 7 },
		{ 1300, 2, 2, 'e', 11, "middle", 7 },
		{ 1020, 0, 1, 'F', 11, "call", 7 },
		{ 5000, 0, 1, 'E', 0, "T", 7 },
	};
	bool lossy;
	(void)state;

	kit_batch(k, 0, &rows[0], 1, 1010);
	kit_batch(k, 1, rows, 8, DUE + OPEN / 2);
	kit_batch(k, 0, &rows[6], 2, DUE + OPEN / 2);
	assert_int_equal(next(k, NULL), 0);
	kit_batch(k, 2, rows, 8, DUE + ORDER);
	assert_int_equal(next(k, &lossy), 7); /* closed by the batch of the last node */
	assert_false(lossy);
	assert_int_equal(kit_counts(k).used, 8 + FORKS_SEEN * 4);
	kit_free(k);
}

static void
forks_that_nobody_ever_answers_are_not_open(void **state)
{
	struct kit *k = closure_kit();
	int64_t t = 0;
	bool lossy;
	(void)state;

	for (uint64_t id = 1; id <= 40; id++, t += 10 * OPEN) {
		const struct row rows[] = {
			{ t + 1000, 0, 1, 'B', 0, "T", id },
			{ t + 2000, 0, 1, 'F', id, "to a database", id },
			{ t + 4000, 0, 1, 'J', id, "to a database", id },
			{ t + 5000, 0, 1, 'E', 0, "T", id },
		};

		kit_batch(k, 0, rows, 4, t + DUE + ORDER);
		if (id <= 32) {
			assert_int_equal(next(k, NULL), 0);
			watermark(k, 0, t + DUE + OPEN);
		}
		assert_int_equal(next(k, &lossy), id);
		assert_int_equal(lossy, id <= 32);
	}
	assert_int_equal(kit_counts(k).opened, 32);
	/* A new node may be the one that answers. */
	assert_int_equal(assemble_join(k->assemble, NODES, &k->e), 0);
	const struct row rows[] = {
		{ t + 1000, 0, 1, 'B', 0, "T", 100 },
		{ t + 2000, 0, 1, 'F', 100, "to a database", 100 },
		{ t + 3000, NODES, 2, 'b', 100, "a database", 100 },
		{ t + 5000, 0, 1, 'E', 0, "T", 100 },
	};

	kit_batch(k, 0, rows, 4, t + DUE + ORDER);
	assert_int_equal(next(k, NULL), 0);
	kit_batch(k, NODES, rows, 4, t + DUE);
	for (uint32_t node = 1; node < NODES; node++)
		watermark(k, node, t + DUE);
	assert_int_equal(next(k, &lossy), 100);
	assert_false(lossy);
	kit_free(k);
}

static void
until_a_label_is_known_its_traces_wait_for_all_nodes(void **state)
{
	struct kit *k = closure_kit();
	(void)state;

	teach(k, "call", 1, FORKS_SEEN - 1);
	kit_batch(k, 0, TWO, TWO_ROWS, DUE + OPEN / 2);
	kit_batch(k, 1, TWO, TWO_ROWS, DUE + OPEN / 2);
	assert_int_equal(next(k, NULL), 0);
	for (uint32_t node = 2; node < NODES; node++)
		watermark(k, node, DUE);
	assert_int_equal(next(k, NULL), 7);
	assert_int_equal(kit_counts(k).early, 0);
	kit_free(k);
}

/* As where a service with OpenTelemetry hands on the link that it was called by. */
static void
where_several_units_begin_by_a_link_more_may_come(void **state)
{
	struct kit *k = taught_kit();
	(void)state;

	teach(k, "call", 2, 1);
	kit_batch(k, 0, TWO, TWO_ROWS, DUE + OPEN / 2);
	kit_batch(k, 1, TWO, TWO_ROWS, DUE + OPEN / 2);
	assert_int_equal(next(k, NULL), 0);
	for (uint32_t node = 2; node < NODES; node++)
		watermark(k, node, DUE);
	assert_int_equal(next(k, NULL), 7);
	assert_int_equal(kit_counts(k).early, 0);
	kit_free(k);
}

/* The begins of units that a label had so far, 0 or 1; one more comes late. */
static void
late_begin_corrects(int begins)
{
	const struct row rows[] = {
		{ 1000, 0, 1, 'B', 0, "T", 7 },
		{ 2000, 0, 1, 'F', 11, "call", 7 },
		{ 2500, 1, 2, 'b', 11, "serve", 7 },
		{ 5000, 0, 1, 'E', 0, "T", 7 },
		{ 2600, 2, 3, 'b', 11, "serve", 7 },
	};
	struct kit *k = closure_kit();
	bool lossy;

	teach(k, "call", begins, FORKS_SEEN);
	kit_batch(k, 0, rows, 5, DUE + ORDER);
	if (begins > 0)
		kit_batch(k, 1, rows, 5, DUE + ORDER);
	assert_int_equal(next(k, &lossy), 7);
	assert_false(lossy);
	assert_int_equal(kit_counts(k).early, 1);
	kit_batch(k, 2, rows, 5, 3000);
	assert_int_equal(kit_counts(k).late, 1);

	struct row again[5];
	memcpy(again, rows, sizeof again);
	for (int i = 0; i < 5; i++) {
		again[i].time_ns += 10 * OPEN;
		again[i].trace = 8;
	}
	kit_batch(k, 0, again, 5, 10 * OPEN + DUE + OPEN / 2);
	if (begins > 0)
		kit_batch(k, 1, again, 5, 10 * OPEN + DUE + OPEN / 2);
	assert_int_equal(next(k, NULL), 0);
	kit_batch(k, 2, again, 5, 10 * OPEN + DUE + OPEN / 2);
	for (uint32_t node = 1; node < NODES; node++)
		watermark(k, node, 10 * OPEN + DUE + OPEN / 2);
	assert_int_equal(next(k, &lossy), 8);
	assert_false(lossy);
	assert_int_equal(kit_counts(k).late, 1);
	kit_free(k);
}

static void
a_unit_that_comes_late_shows_that_others_have_to_be_awaited(void **state)
{
	(void)state;
	late_begin_corrects(0);
	late_begin_corrects(1);
}

static void
a_request_whose_begin_has_not_come_is_not_closed(void **state)
{
	struct kit *k = closure_kit();
	const struct row rows[] = {
		{ 1000, 0, 1, 'B', 0, "T", 7 },
		{ 5000, 1, 1, 'E', 0, "T", 7 },
	};
	bool lossy;
	(void)state;

	kit_batch(k, 1, rows, 2, DUE + ORDER);
	assert_int_equal(next(k, NULL), 0);
	kit_batch(k, 0, rows, 2, DUE + ORDER);
	assert_int_equal(next(k, &lossy), 7);
	assert_false(lossy);
	kit_free(k);
}

static void
loss(struct kit *k, uint32_t node, int64_t from_ns, int64_t to_ns)
{
	struct loss l = { LOSS_RING, 3, from_ns, to_ns };
	struct batch b = { .nlosses = 1, .losses = &l };

	assert_int_equal(assemble_batch(k->assemble, node, &b, &k->e), 0);
}

static void
what_other_nodes_lose_was_not_of_a_closed_trace(void **state)
{
	(void)state;

	/* Node 2 is not in it, node 1 is; with its unit_begin lost, the trace is not closed. */
	for (int i = 0; i < 3; i++) {
		struct kit *k = taught_kit();
		bool lossy;

		loss(k, i == 1 ? 1 : 2, 2000, 3000);
		kit_batch(k, 0, TWO, TWO_ROWS, DUE);
		kit_batch(k, 1, TWO, i == 2 ? 0 : TWO_ROWS, DUE);
		for (uint32_t node = 2; node < NODES; node++)
			watermark(k, node, DUE);
		assert_int_equal(next(k, &lossy), 7);
		assert_int_equal(lossy, i != 0);
		kit_free(k);
	}
}

/* Beyond 512 losses the last ones are one, of several nodes. */
static void
losses_that_became_one_are_of_any_node(void **state)
{
	struct kit *k = taught_kit();
	bool lossy;
	(void)state;

	for (int i = 0; i < 600; i++)
		loss(k, i % 2 == 0 ? 2 : 3, 2000, 3000);
	kit_batch(k, 0, TWO, TWO_ROWS, DUE + ORDER);
	kit_batch(k, 1, TWO, TWO_ROWS, DUE + ORDER);
	assert_int_equal(next(k, &lossy), 7);
	assert_true(lossy);
	kit_free(k);
}

static void
a_node_that_leaves_is_not_awaited(void **state)
{
	struct kit *k = taught_kit();
	bool lossy;
	(void)state;

	kit_batch(k, 0, TWO, TWO_ROWS, DUE + ORDER);
	kit_batch(k, 1, TWO, TWO_ROWS, 4000);
	assert_int_equal(next(k, NULL), 0);
	assemble_leave(k->assemble, 1);
	assert_int_equal(next(k, &lossy), 7);
	assert_true(lossy); /* it may have had more of it */
	kit_free(k);
}

static void
of_too_many_nodes_all_are_awaited(void **state)
{
	enum { MANY = 40 };
	struct kit *k = taught_kit();
	struct row rows[2 * MANY + 2];
	size_t n = 0;
	(void)state;

	rows[n++] = (struct row){ 1000, 0, 1000, 'B', 0, "T", 7 };
	for (uint32_t i = 1; i < MANY; i++)
		rows[n++] = (struct row){ 1000 + i, 0, 1000, 'F', 100 + i, "call", 7 };
	rows[n++] = (struct row){ 5000, 0, 1000, 'E', 0, "T", 7 };
	for (uint32_t i = 1; i < MANY; i++) {
		assert_int_equal(assemble_join(k->assemble, i, &k->e), 0);
		rows[n++] = (struct row){ 2000 + i, i, i, 'b', 100 + i, "serve", 7 };
	}
	assert_int_equal(assemble_join(k->assemble, MANY, &k->e), 0);
	for (uint32_t i = MANY; i > 0; i--)
		kit_batch(k, i - 1, rows, n, DUE + 2 * OPEN);
	assert_int_equal(next(k, NULL), 0);
	watermark(k, MANY, DUE);
	assert_int_equal(next(k, NULL), 7);
	assert_int_equal(kit_counts(k).early, 0);
	kit_free(k);
}

/*
 * Requests over some of the nodes, whose batches arrive in random order, while node 4 lags by up to a second: each trace without it
 * comes in time, each trace has all of its records, and none comes twice.
 */
static void
one_slow_node_delays_its_own_traces_only(void **state)
{
	enum { TRACES = 200, EVERY = 20000, ROUND = 50000, SLOW = 800000 };
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct kit *k = taught_kit();
		bool came[TRACES + 1] = { false };
		struct row rows[TRACES + 1][6];
		struct rng rng;
		uint32_t sent[NODES] = { 0 }, order[NODES] = { 0, 1, 2, 3, 4 };

		rng_seed(&rng, seed);
		for (uint64_t id = 1; id <= TRACES; id++) {
			int64_t t = (int64_t)id * EVERY;
			uint32_t from = (uint32_t)rng_below(&rng, NODES - 1),
				 to = (from + 1 + (uint32_t)rng_below(&rng, NODES - 1)) % NODES;

			memcpy(rows[id], TWO, sizeof TWO);
			for (int i = 0; i < TWO_ROWS; i++) {
				rows[id][i].time_ns += t;
				rows[id][i].node = TWO[i].node == 0 ? from : to;
				rows[id][i].link = rows[id][i].link == 11 ? id * 1000
				                                          : rows[id][i].link;
				rows[id][i].trace = id;
			}
		}
		for (int64_t now = ROUND; now < (TRACES + 1) * EVERY + 4 * SLOW; now += ROUND) {
			for (uint32_t i = NODES; i > 1; i--) {
				uint32_t j = (uint32_t)rng_below(&rng, i), swap = order[i - 1];

				order[i - 1] = order[j];
				order[j] = swap;
			}
			for (uint32_t i = 0; i < NODES; i++) {
				uint32_t node = order[i];
				int64_t until = now - (node == NODES - 1 ? SLOW : 0);
				uint32_t first = sent[node] + 1;

				for (uint64_t id = first;
				     id <= TRACES && (int64_t)id * EVERY + 6000 < until; id++) {
					kit_batch(k, node, rows[id], TWO_ROWS,
					    (int64_t)id * EVERY + 6000);
					sent[node] = (uint32_t)id;
				}
				if (until > 0)
					watermark(k, node, until);
			}
			for (struct trace *t; (t = assemble_next(k->assemble)) != NULL;
			     trace_free(t)) {
				assert_false(came[t->id]);
				came[t->id] = true;
				assert_false(t->lossy);
				assert_int_equal(t->nevents, TWO_ROWS);
			}
			for (uint64_t id = 1; id <= TRACES; id++) {
				bool slow = rows[id][0].node == NODES - 1 ||
				            rows[id][2].node == NODES - 1;

				if (!slow && (int64_t)id * EVERY + DUE + ORDER <= now)
					assert_true(came[id]);
			}
		}
		for (uint64_t id = 1; id <= TRACES; id++)
			assert_true(came[id]);
		assert_int_equal(kit_counts(k).late, 0);
		assert_int_equal(kit_counts(k).opened, 0);
		assert_true(kit_counts(k).early > TRACES / 4);
		kit_free(k);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_waits_for_its_nodes_and_not_for_others),
		cmocka_unit_test(the_end_of_a_joined_unit_is_awaited_from_its_own_nodes_only),
		cmocka_unit_test(where_no_node_lags_traces_come_in_the_order_of_their_ends),
		cmocka_unit_test(while_a_fork_is_open_it_waits_for_all_nodes_up_to_a_bound),
		cmocka_unit_test(a_unit_whose_fork_has_not_come_yet_is_open_too),
		cmocka_unit_test(forks_that_nobody_ever_answers_are_not_open),
		cmocka_unit_test(until_a_label_is_known_its_traces_wait_for_all_nodes),
		cmocka_unit_test(where_several_units_begin_by_a_link_more_may_come),
		cmocka_unit_test(a_unit_that_comes_late_shows_that_others_have_to_be_awaited),
		cmocka_unit_test(a_request_whose_begin_has_not_come_is_not_closed),
		cmocka_unit_test(what_other_nodes_lose_was_not_of_a_closed_trace),
		cmocka_unit_test(losses_that_became_one_are_of_any_node),
		cmocka_unit_test(a_node_that_leaves_is_not_awaited),
		cmocka_unit_test(of_too_many_nodes_all_are_awaited),
		cmocka_unit_test(one_slow_node_delays_its_own_traces_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
