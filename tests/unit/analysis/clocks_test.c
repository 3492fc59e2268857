/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/clocks.h"
#include "base/rng.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

/* ---- nodes ---- */

struct machine { /* a clock with its own offset and drift */
	int64_t ahead_ns;
	double drift_ppm;
};

static int64_t
its(const struct machine *m, int64_t ours_ns)
{
	return ours_ns + m->ahead_ns + (int64_t)((double)ours_ns * m->drift_ppm / 1e6);
}

static struct machine
some_machine(struct rng *r)
{
	return (struct machine){ (int64_t)rng_below(r, 60 * 86400 * (uint64_t)S) - 30 * 86400 * S,
		(rng_unit(r) - 0.5) * 400 };
}

/* A delay of at least 30 us: mostly little more, sometimes much more. */
static int64_t
some_delay(struct rng *r)
{
	int64_t ns = 30 * US + (int64_t)(-log(1 - rng_unit(r)) * 80e3);

	return rng_unit(r) < 0.05 ? ns + (int64_t)rng_below(r, 300 * (uint64_t)MS) : ns;
}

static struct clock_sample
round_trip(struct rng *r, const struct machine *m, int64_t now_ns)
{
	int64_t came_ns = now_ns + some_delay(r),
		went_ns = came_ns + (int64_t)rng_below(r, 50 * (uint64_t)US);

	return (struct clock_sample){ now_ns, went_ns + some_delay(r), its(m, came_ns),
		its(m, went_ns) };
}

static struct clocks *
clocks_of(uint32_t nodes)
{
	struct clocks *c;
	struct err e;

	assert_int_equal(clocks_new(&c, &e), 0);
	for (uint32_t i = 0; i < nodes; i++)
		assert_int_equal(clocks_reset(c, i, &e), 0);
	return c;
}

/*
 * The true offset is always within the bound that clocks_state() states, and the bound is narrow
 * enough to be useful.
 */
static void
the_true_offset_is_within_the_stated_bound(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct clocks *c = clocks_of(1);
		struct clock_state look;
		struct machine m;
		struct rng r;
		int64_t now_ns = 100 * S, looked_ns, off_ns, quickest_ns = INT64_MAX;

		rng_seed(&r, seed);
		m = some_machine(&r);
		for (int i = 0; i < 300; i++) {
			struct clock_sample s = round_trip(&r, &m, now_ns);

			clocks_sample(c, 0, &s);
			looked_ns = s.back_ns + (int64_t)rng_below(&r, 100 * (uint64_t)MS);
			clocks_map(c, 0, its(&m, looked_ns));
			clocks_state(c, 0, looked_ns, &look);
			assert_true(look.known && look.bounded && look.steps == 0);
			off_ns = looked_ns - its(&m, looked_ns) - look.offset_ns;
			assert_true(llabs(off_ns) <= look.uncertain_ns);
			if (i % 8 == 0 || s.back_ns - s.asked_ns < quickest_ns)
				quickest_ns = s.back_ns - s.asked_ns;
			/*
			 * the fastest of the last 8 round trips, at most 1.1 s apart: 9 s of drift,
			 * both ways, at 250 ppm, and of slewing
			 */
			if (i > 20)
				assert_true(look.uncertain_ns < quickest_ns + 16 * MS);
			now_ns = looked_ns + 400 * MS + (int64_t)rng_below(&r, 50 * (uint64_t)MS);
		}
		clocks_free(c);
	}
}

/* However the offset changes: the order of two times of a node stays, and the true time is near. */
static void
mapped_times_do_not_decrease(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct clocks *c = clocks_of(1);
		struct machine m;
		struct rng r;
		int64_t now_ns = 100 * S, next_ns = now_ns, was_ns = INT64_MIN,
			was_its_ns = INT64_MIN;

		rng_seed(&r, seed);
		m = some_machine(&r);
		for (int i = 0; i < 20000; i++) {
			int64_t its_ns, mapped_ns;

			if (now_ns >= next_ns) {
				struct clock_sample s = round_trip(&r, &m, now_ns);

				if (clocks_sample(c, 0, &s))
					was_ns = INT64_MIN;
				next_ns = now_ns + 500 * MS;
			}
			now_ns += rng_below(&r, 2) == 0 ? 1 : (int64_t)rng_below(&r, (uint64_t)MS);
			its_ns = its(&m, now_ns);
			mapped_ns = clocks_map(c, 0, its_ns);
			assert_true(its_ns <= was_its_ns
					? mapped_ns <= was_ns || was_ns == INT64_MIN
					: mapped_ns > was_ns);
			assert_int_equal(clocks_map(c, 0, its_ns), mapped_ns);
			assert_true(clocks_map(c, 0, its_ns - 1) <
				    mapped_ns); /* a watermark just before it */
			was_ns = mapped_ns;
			was_its_ns = its_ns;
		}
		assert_true(llabs(was_ns - now_ns) < 10 * MS);
		clocks_free(c);
	}
}

static void
a_slow_first_message_is_corrected_by_the_next(void **state)
{
	struct clocks *c = clocks_of(1);
	struct clock_sample hello = { INT64_MIN, 13 * S, 5000 * S,
		5000 * S }; /* it was 3 s on its way */
	struct clock_sample quick = { 13 * S, 13 * S + 200 * US, 5003 * S + 100 * US,
		5003 * S + 100 * US };
	struct clock_state look;
	(void)state;

	assert_false(clocks_sample(c, 0, &hello));
	clocks_state(c, 0, 13 * S, &look);
	assert_true(look.known && !look.bounded && look.uncertain_ns == INT64_MAX);
	assert_int_equal(clocks_map(c, 0, 5000 * S), 13 * S);
	assert_true(clocks_sample(c, 0, &quick)); /* times mapped so far were wrong by 3 s */
	assert_int_equal(clocks_map(c, 0, 5003 * S + 100 * US), 13 * S + 100 * US);
	clocks_state(c, 0, 13 * S + 200 * US, &look);
	assert_true(look.bounded && look.uncertain_ns <= 101 * US);
	assert_int_equal(look.steps, 0); /* this correction is no step of the clock */
	clocks_free(c);
}

/*
 * The clock of a machine that was suspended falls behind; if our machine was suspended, the other
 * clock is ahead.
 */
static void
a_clock_step_is_detected_at_the_next_round_trip(void **state)
{
	(void)state;

	for (int64_t jump_ns = -40 * S; jump_ns <= 40 * S; jump_ns += 80 * S) {
		struct clocks *c = clocks_of(1);
		struct machine m = { 7 * S, 50 };
		struct clock_state look;
		struct clock_sample s;
		struct rng r;

		rng_seed(&r, 1);
		for (int i = 0; i < 20; i++) {
			s = round_trip(&r, &m, 100 * S + i * 500 * MS);
			assert_false(clocks_sample(c, 0, &s));
			clocks_map(c, 0, its(&m, s.back_ns));
		}
		m.ahead_ns += jump_ns;
		s = round_trip(&r, &m, 111 * S);
		assert_true(clocks_sample(c, 0, &s));
		clocks_state(c, 0, s.back_ns, &look);
		assert_int_equal(look.steps, 1);
		assert_true(llabs(clocks_map(c, 0, its(&m, s.back_ns)) - s.back_ns) <=
			    s.back_ns - s.asked_ns);
		clocks_free(c);
	}
}

static void
agents_on_our_machine_have_our_clock_exactly(void **state)
{
	struct clocks *c = clocks_of(1);
	struct machine m = { 0, 0 };
	struct clock_state look;
	struct rng r;
	(void)state;

	rng_seed(&r, 2);
	assert_int_equal(clocks_map(c, 0, 77), 77); /* also before the first sample */
	clocks_sample(c, 0, &(struct clock_sample){ INT64_MIN, 50 * S + 40 * US, 50 * S, 50 * S });
	assert_int_equal(clocks_map(c, 0, 50 * S), 50 * S);
	for (int i = 0; i < 1000; i++) {
		struct clock_sample s = round_trip(&r, &m, 100 * S + i * 500 * MS);

		clocks_sample(c, 0, &s);
		assert_int_equal(clocks_map(c, 0, s.went_ns), s.went_ns);
		clocks_state(c, 0, s.back_ns, &look);
		assert_true(look.here && look.offset_ns == 0);
	}
	clocks_free(c);
}

static void
invalid_samples_are_refused(void **state)
{
	static const int64_t ends[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX / 4,
		INT64_MAX - 1, INT64_MAX };
	struct clocks *c = clocks_of(1);
	struct clock_sample good = { 10 * S, 10 * S + 100, 20 * S + 50, 20 * S + 50 };
	struct clock_state look;
	(void)state;

	clocks_sample(c, 0, &good);
	/* received before it was asked; the agent's reply before its receipt */
	assert_false(clocks_sample(c, 0, &(struct clock_sample){ 11 * S, 10 * S, 20 * S, 20 * S }));
	assert_false(clocks_sample(
	    c, 0, &(struct clock_sample){ 11 * S, 11 * S + 100, 21 * S + 60, 21 * S + 40 }));
	/* the agent took longer for its reply than the round trip lasted */
	assert_false(clocks_sample(
	    c, 0, &(struct clock_sample){ 11 * S, 11 * S + 100, 21 * S, 21 * S + 200 }));
	clocks_state(c, 0, 10 * S + 100, &look);
	assert_int_equal(look.uncertain_ns, 50);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0];
	     i++) /* no overflow; the sanitizer checks it */
		for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
			clocks_sample(
			    c, 0, &(struct clock_sample){ ends[i], ends[k], ends[i], ends[k] });
			clocks_map(c, 0, ends[k]);
			clocks_near(c, 0, ends[i]);
			clocks_state(c, 0, ends[k], &look);
		}
	clocks_free(c);
}

/* ---- pairs ---- */

/*
 * One request: node 0 calls node 1 and waits. Times are true; each node stamps them by its own
 * clock.
 */
struct call {
	int64_t at_ns, there_ns, works_ns, back_ns;
	bool joins;
};

static struct trace *
call_trace(struct kit *k, uint64_t id, const struct call *call, const struct machine *m)
{
	int64_t t = call->at_ns, begin = t + 10 * US + call->there_ns, end = begin + call->works_ns;
	int64_t join = end + call->back_ns;
	struct row rows[] = {
		{ its(&m[0], t), 0, 1, 'B', 0, "R", id },
		{ its(&m[0], t + 10 * US), 0, 1, 'F', 7, "c", id },
		{ its(&m[1], begin), 1, 2, 'b', 7, "c", id },
		{ its(&m[1], begin + call->works_ns / 2), 1, 2, '.', 0, "w", id },
		{ its(&m[1], end), 1, 2, 'e', 7, "c", id },
		{ its(&m[0], join), 0, 1, call->joins ? 'J' : '.', call->joins ? 7 : 0, "c", id },
		{ its(&m[0], join + 10 * US), 0, 1, 'E', 0, "R", id },
	};

	for (uint32_t node = 0; node < 2; node++) { /* with no watermark known yet */
		assemble_leave(k->assemble, node);
		assemble_join(k->assemble, node, &k->e);
	}
	kit_batch(k, 0, rows, 7, rows[6].time_ns + 40 * S);
	kit_batch(k, 1, rows, 7, rows[6].time_ns + 40 * S);
	return assemble_next(k->assemble);
}

static struct kit *
two_nodes(void)
{
	static const struct assemble_options wide = { 64 << 20, 30 * S, 3600 * S };
	struct kit *k = kit_new(&wide);

	assemble_join(k->assemble, 0, &k->e);
	assemble_join(k->assemble, 1, &k->e);
	return k;
}

/*
 * critpath_test.c checks that edges add up; this checks it after the correction of clocks, with no
 * event moved.
 */
static uint32_t
moved_of(struct kit *k, const struct trace *t, int64_t *there_ns, int64_t *back_ns)
{
	struct critpath p;
	int64_t sum_ns = 0;

	arena_reset(&k->arena);
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e), 0);
	*there_ns = *back_ns = -1;
	for (uint32_t i = 1; i < p.nsteps; i++) {
		int64_t edge_ns = p.steps[i].time_ns - p.steps[i - 1].time_ns;
		uint32_t from = t->events[p.steps[i - 1].event].node,
			 to = t->events[p.steps[i].event].node;

		assert_true(edge_ns >= 0);
		sum_ns += edge_ns;
		if (from == 0 && to == 1)
			*there_ns = edge_ns;
		if (from == 1 && to == 0)
			*back_ns = edge_ns;
	}
	assert_int_equal(sum_ns, t->end_ns - t->begin_ns);
	return p.moved;
}

static void
calls_both_ways_keep_the_skew_out_of_both_edges(void **state)
{
	const struct call call = { 100 * S, 100 * US, MS, 100 * US, true };
	(void)state;

	for (int64_t ahead_ns = -3 * MS; ahead_ns <= 3 * MS; ahead_ns += 6 * MS) {
		const struct machine m[2] = { { 0, 0 }, { ahead_ns, 0 } };
		struct clocks *c = clocks_of(2);
		struct kit *k = two_nodes();
		struct trace *t = call_trace(k, 1, &call, m);
		int64_t there_ns, back_ns, x_ns, uncertain_ns;
		struct clocks_counts n;

		assert_true(moved_of(k, t, &there_ns, &back_ns) > 0);
		assert_true(there_ns == 0 || back_ns == 0);
		assert_true(clocks_trace(c, t, k->labels));
		assert_int_equal(moved_of(k, t, &there_ns, &back_ns), 0);
		assert_int_equal(there_ns, 100 * US);
		assert_int_equal(back_ns, 100 * US);
		assert_true(clocks_pair(c, 0, 1, &x_ns, &uncertain_ns));
		assert_int_equal(x_ns, ahead_ns);
		assert_int_equal(uncertain_ns, 100 * US);
		assert_true(clocks_pair(c, 1, 0, &x_ns, &uncertain_ns));
		assert_int_equal(x_ns, -ahead_ns);
		clocks_counts(c, &n);
		assert_int_equal(n.corrected, 1);
		assert_int_equal(n.pairs, 1);
		trace_free(t);
		kit_free(k);
		clocks_free(c);
	}
}

/* As traces do that waited for a slow node. The clocks drift apart by 2 ms in between. */
static void
a_trace_that_ended_before_others_and_comes_after_them_gives_wider_bounds(void **state)
{
	const struct machine m[2] = { { 0, 0 }, { 3 * MS, 200 } };
	const int64_t at_ns[] = { 200 * S, 190 * S, 200 * S + 10 * MS };
	(void)state;

	struct clocks *c = clocks_of(2);
	struct kit *k = two_nodes();

	for (uint64_t i = 0; i < 3; i++) {
		const struct call call = { at_ns[i], 100 * US, MS, 100 * US, true };
		struct trace *t = call_trace(k, i + 1, &call, m);
		int64_t ahead_ns = its(&m[1], 200 * S) - its(&m[0], 200 * S), x_ns, uncertain_ns;
		int64_t there_ns, back_ns;

		assert_true(clocks_trace(c, t, k->labels));
		if (i != 1)
			assert_int_equal(moved_of(k, t, &there_ns, &back_ns), 0);
		assert_true(clocks_pair(c, 0, 1, &x_ns, &uncertain_ns));
		assert_true(uncertain_ns <= 120 * US);
		assert_true(x_ns - ahead_ns <= uncertain_ns && ahead_ns - x_ns <= uncertain_ns);
		trace_free(t);
	}
	kit_free(k);
	clocks_free(c);
}

/*
 * Random delays and drifting clocks: the estimate is within its bound and keeps causes before their
 * effects in every trace.
 */
static void
the_smallest_delays_both_ways_give_the_offset(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine m[2] = { { 0, 0 }, { 0, 0 } };
		struct clocks *c = clocks_of(2);
		struct kit *k = two_nodes();
		struct rng r;
		int64_t now_ns = 100 * S, there_ns, back_ns, x_ns, uncertain_ns, drifted_ns;
		int tight = 0;

		rng_seed(&r, seed);
		m[1].ahead_ns = (int64_t)rng_below(&r, 20 * (uint64_t)MS) - 10 * MS;
		m[1].drift_ppm = (rng_unit(&r) - 0.5) * 400;
		for (uint64_t i = 1; i <= 500; i++) {
			struct call call = { now_ns, some_delay(&r),
				(int64_t)rng_below(&r, 5 * (uint64_t)MS), some_delay(&r), true };
			struct trace *t = call_trace(k, i, &call, m);

			assert_non_null(t);
			assert_true(clocks_trace(c, t, k->labels));
			assert_int_equal(moved_of(k, t, &there_ns, &back_ns), 0);
			assert_true(clocks_pair(c, 0, 1, &x_ns, &uncertain_ns));
			/* the clock drifted during the trace */
			drifted_ns = (int64_t)(fabs(m[1].drift_ppm) / 1e6 *
					       (double)(t->end_ns - t->begin_ns));
			assert_true(llabs(its(&m[1], t->end_ns) - t->end_ns - x_ns) <=
				    uncertain_ns + drifted_ns + 1);
			tight += uncertain_ns < 300 * US;
			now_ns = t->end_ns + S / 200;
			trace_free(t);
		}
		assert_true(
		    tight >
		    /* of 500: a one-way delay is 110 us on average, one in 20 is up to 300 ms */
		    300);
		kit_free(k);
		clocks_free(c);
	}
}

/*
 * Without round trips the one-way delay is unknown: only events before their cause are moved, and
 * only as far as necessary.
 */
static void
calls_one_way_move_only_what_precedes_its_cause(void **state)
{
	const struct call call = { 100 * S, 100 * US, MS, 100 * US, false };
	const struct machine ahead[2] = { { 0, 0 }, { 5 * MS, 0 } },
			     behind[2] = { { 0, 0 }, { -5 * MS, 0 } };
	struct clocks *c = clocks_of(2);
	struct kit *k = two_nodes();
	struct trace *t = call_trace(k, 1, &call, ahead);
	int64_t x_ns, uncertain_ns;
	(void)state;

	assert_true(clocks_trace(c, t, k->labels));
	assert_true(clocks_pair(c, 0, 1, &x_ns, &uncertain_ns));
	assert_true(x_ns == 0 && uncertain_ns == INT64_MAX);
	assert_int_equal(t->events[t->units[1].first].time_ns - call.at_ns, 5 * MS + 110 * US);
	trace_free(t);
	t = call_trace(k, 2, &call, behind);
	assert_true(clocks_trace(c, t, k->labels));
	assert_true(clocks_pair(c, 0, 1, &x_ns, &uncertain_ns));
	assert_int_equal(x_ns, -5 * MS + 100 * US);
	for (uint32_t u = 0; u < t->nunits; u++)
		if (t->units[u].fork != TRACE_NONE)
			assert_int_equal(t->events[t->units[u].first].time_ns,
			    t->events[t->units[u].fork].time_ns);
	trace_free(t);
	kit_free(k);
	clocks_free(c);
}

static void
feed_round_trips(struct clocks *c, uint32_t node, int64_t now_ns)
{
	clocks_sample(c, node,
	    &(struct clock_sample){ now_ns, now_ns + 60 * US, now_ns + 30 * US, now_ns + 30 * US });
	clocks_map(c, node, now_ns);
}

/*
 * Two nodes on our machine have one clock: a long one-way delay or a late end does not mean that a
 * clock is wrong.
 */
static void
nodes_with_one_clock_are_not_corrected(void **state)
{
	const struct machine same[2] = { { 0, 0 }, { 0, 0 } };
	const struct call slow = { 100 * S, 8 * MS, MS, 20 * US, true },
			  late = { 101 * S, 100 * US, MS, -300 * US, true };
	struct clocks *c = clocks_of(2);
	struct kit *k = two_nodes();
	int64_t there_ns, back_ns;
	struct clocks_counts n;
	struct trace *t;
	(void)state;

	feed_round_trips(c, 0, 100 * S);
	feed_round_trips(c, 1, 100 * S);
	t = call_trace(k, 1, &slow, same);
	assert_true(clocks_trace(c, t, k->labels));
	moved_of(k, t, &there_ns, &back_ns);
	assert_int_equal(there_ns, 8 * MS);
	assert_int_equal(back_ns, 20 * US);
	trace_free(t);
	t = call_trace(k, 2, &late, same);
	assert_true(clocks_trace(c, t, k->labels));
	moved_of(k, t, &there_ns, &back_ns);
	assert_int_equal(there_ns, 100 * US);
	clocks_counts(c, &n);
	assert_int_equal(n.corrected, 0);
	assert_int_equal(n.late_ends, 1);
	trace_free(t);
	kit_free(k);
	clocks_free(c);
}

/* The machine of node 1 was suspended for 3 s, and no round trip has shown it yet. */
static void
a_trace_that_round_trips_exclude_is_no_evidence(void **state)
{
	const struct machine jumped[2] = { { 0, 0 }, { -3 * S, 0 } };
	const struct call call = { 100 * S, 100 * US, MS, 100 * US, true };
	struct clocks *c = clocks_of(2);
	struct kit *k = two_nodes();
	struct clocks_counts n;
	struct trace *t;
	(void)state;

	feed_round_trips(c, 0, 100 * S);
	feed_round_trips(c, 1, 100 * S);
	t = call_trace(k, 1, &call, jumped);
	assert_false(clocks_trace(c, t, k->labels));
	clocks_counts(c, &n);
	assert_int_equal(n.contradictory, 1);
	assert_int_equal(n.corrected, 0);
	trace_free(t);
	kit_free(k);
	clocks_free(c);
}

/*
 * Node 0 calls 1, which calls 2: times of 2 are converted to 0's clock by way of 1, although 0
 * never communicates with 2.
 */
static void
offsets_add_up_along_the_chain_of_forks(void **state)
{
	const int64_t b = 4 * MS, c2 = -6 * MS, T = 100 * S;
	struct kit *k = two_nodes();
	struct clocks *c = clocks_of(3);
	struct trace *t;
	int64_t there_ns, back_ns, x_ns, uncertain_ns;
	(void)state;

	kit_rows(k, ROWS({ T, 0, 1, 'B' }, { T + 10 * US, 0, 1, 'F', 7 },
			{ b + T + 110 * US, 1, 2, 'b', 7 }, { b + T + 120 * US, 1, 2, 'F', 8 },
			{ c2 + T + 220 * US, 2, 3, 'b', 8 }, { c2 + T + 900 * US, 2, 3, 'e', 8 },
			{ b + T + 1000 * US, 1, 2, 'J', 8 }, { b + T + 1100 * US, 1, 2, 'e', 7 },
			{ T + 1200 * US, 0, 1, 'J', 7 }, { T + 1300 * US, 0, 1, 'E' }));
	assert_non_null(t = assemble_next(k->assemble));
	assert_true(clocks_trace(c, t, k->labels));
	assert_int_equal(moved_of(k, t, &there_ns, &back_ns), 0);
	assert_int_equal(there_ns, 100 * US);
	assert_int_equal(back_ns, 100 * US);
	for (uint32_t i = 0; i < t->nevents; i++)
		if (t->events[i].node == 2)
			assert_true(t->events[i].time_ns == T + 220 * US ||
				    t->events[i].time_ns == T + 900 * US);
	assert_false(clocks_pair(c, 0, 2, &x_ns, &uncertain_ns));
	assert_int_equal(clocks_reset(c, 1, &k->e), 0); /* the node returns as another machine */
	assert_false(clocks_pair(c, 0, 1, &x_ns, &uncertain_ns));
	trace_free(t);
	kit_free(k);
	clocks_free(c);
}

/* Cyclic forks, links of other traces, units without a parent. */
static void
malformed_traces_terminate(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		static const char kinds[] = "FbeJ.";
		struct kit *k = two_nodes();
		struct clocks *c = clocks_of(3);
		struct row rows[60] = { { 0, 0, 1, 'B' } };
		struct trace *t;
		struct rng r;

		rng_seed(&r, seed);
		for (int i = 1; i < 59; i++)
			rows[i] = (struct row){ (int64_t)rng_below(&r, 1000),
				(uint32_t)rng_below(&r, 3), 1 + rng_below(&r, 6),
				kinds[rng_below(&r, 5)], 1 + rng_below(&r, 5) };
		rows[59] = (struct row){ 1000, 0, 1, 'E' };
		for (int i = 0; i < 60; i++) /* a batch is in time order */
			for (int j = i; j > 0 && rows[j].time_ns < rows[j - 1].time_ns; j--) {
				struct row swap = rows[j];

				rows[j] = rows[j - 1];
				rows[j - 1] = swap;
			}
		kit_rows(k, rows, 60);
		if ((t = assemble_next(k->assemble)) != NULL) {
			int64_t took_ns = t->end_ns - t->begin_ns;

			clocks_trace(c, t, k->labels);
			assert_int_equal(t->end_ns - t->begin_ns, took_ns);
			trace_free(t);
		}
		kit_free(k);
		clocks_free(c);
	}
}

/* ---- independence of the order ---- */

enum { NODES = 3, TRACES = 30, TURNS = 20 };

struct world {
	struct machine m[NODES];
	struct row rows[NODES][TRACES * 8];
	uint32_t nrows[NODES];
	struct clock_sample samples[NODES][TURNS];
};

static void
put(struct world *w, uint32_t node, int64_t at_ns, uint64_t unit, char kind, uint64_t link,
    uint64_t trace)
{
	w->rows[node][w->nrows[node]++] = (struct row){ its(&w->m[node], at_ns), node, unit, kind,
		link, "u", trace };
}

/*
 * Requests one after another, so that each node's rows are in order: node 0 calls 1, which calls 2.
 */
static void
world_make(struct world *w, uint64_t seed)
{
	int64_t t = 100 * S;
	struct rng r;

	memset(w, 0, sizeof *w);
	rng_seed(&r, seed);
	for (uint32_t i = 0; i < NODES; i++)
		w->m[i] = some_machine(&r);
	for (uint64_t id = 1; id <= TRACES; id++) {
		put(w, 0, t, 10 * id, 'B', 0, id);
		put(w, 0, t += 10 * US, 10 * id, 'F', 2 * id, id);
		put(w, 1, t += some_delay(&r), 10 * id + 1, 'b', 2 * id, id);
		put(w, 1, t += 10 * US, 10 * id + 1, 'F', 2 * id + 1, id);
		put(w, 2, t += some_delay(&r), 10 * id + 2, 'b', 2 * id + 1, id);
		put(w, 2, t += MS, 10 * id + 2, 'e', 2 * id + 1, id);
		put(w, 1, t += some_delay(&r), 10 * id + 1, 'J', 2 * id + 1, id);
		put(w, 1, t += MS, 10 * id + 1, 'e', 2 * id, id);
		put(w, 0, t += some_delay(&r), 10 * id, 'J', 2 * id, id);
		put(w, 0, t += 10 * US, 10 * id, 'E', 0, id);
		t += 300 * MS;
	}
	for (uint32_t i = 0; i < NODES; i++)
		for (int turn = 0; turn < TURNS; turn++)
			/* short round trips only, so that no correction exceeds the slew limit */
			do {
				w->samples[i][turn] = round_trip(
				    &r, &w->m[i], 100 * S + (t - 100 * S) / TURNS * turn);
			} while (
			    w->samples[i][turn].back_ns - w->samples[i][turn].asked_ns > 4 * MS);
}

/* One turn of a node: a clock sample, then the batch with the next part of its rows. */
static void
take_turn(const struct world *w, uint32_t node, int turn, struct clocks *c, struct kit *k)
{
	uint32_t from = w->nrows[node] * (uint32_t)turn / TURNS,
		 to = w->nrows[node] * (uint32_t)(turn + 1) / TURNS;
	struct row rows[TRACES * 8];
	uint32_t n = 0;
	int64_t watermark_ns;

	assert_false(clocks_sample(c, node, &w->samples[node][turn]));
	for (uint32_t i = from; i < to; i++) {
		rows[n] = w->rows[node][i];
		rows[n].time_ns = clocks_map(c, node, rows[n].time_ns);
		n++;
	}
	watermark_ns = turn == TURNS - 1 ? INT64_MAX / 8
	               : to == 0         ? 0
	                                 : clocks_map(c, node, w->rows[node][to - 1].time_ns);
	kit_batch(k, node, rows, n, watermark_ns);
}

/*
 * Returns the hash of all results, bit by bit. `order` is the random seed for the order of nodes.
 */
static uint64_t
play(const struct world *w, uint64_t order)
{
	static const struct assemble_options o = { 64 << 20, 20 * MS, 30 * S };
	struct clocks *c = clocks_of(NODES);
	struct kit *k = kit_new(&o);
	int turn[NODES] = { 0 };
	uint64_t hash = 0;
	struct trace *t;
	struct rng r;
	int traces = 0;

	rng_seed(&r, order);
	for (uint32_t i = 0; i < NODES; i++)
		assemble_join(k->assemble, i, &k->e);
	for (int left = NODES * TURNS; left > 0;) {
		uint32_t node = (uint32_t)rng_below(&r, NODES);

		if (turn[node] == TURNS)
			continue;
		take_turn(w, node, turn[node]++, c, k);
		left--;
		while ((t = assemble_next(k->assemble)) != NULL) {
			clocks_trace(c, t, k->labels);
			traces++;
			for (uint32_t i = 0; i < t->nevents; i++)
				hash = hash_bytes(
				    hash, &t->events[i].time_ns, sizeof t->events[i].time_ns);
			trace_free(t);
		}
	}
	assert_int_equal(traces, TRACES);
	clocks_free(c);
	kit_free(k);
	return hash;
}

static void
results_do_not_depend_on_the_interleaving_of_nodes(void **state)
{
	static struct world w;
	(void)state;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint64_t hash;

		world_make(&w, seed);
		hash = play(&w, 1);
		for (uint64_t order = 2; order <= 20; order++)
			assert_true(play(&w, order) == hash);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_true_offset_is_within_the_stated_bound),
		cmocka_unit_test(mapped_times_do_not_decrease),
		cmocka_unit_test(a_slow_first_message_is_corrected_by_the_next),
		cmocka_unit_test(a_clock_step_is_detected_at_the_next_round_trip),
		cmocka_unit_test(agents_on_our_machine_have_our_clock_exactly),
		cmocka_unit_test(invalid_samples_are_refused),
		cmocka_unit_test(calls_both_ways_keep_the_skew_out_of_both_edges),
		cmocka_unit_test(
		    a_trace_that_ended_before_others_and_comes_after_them_gives_wider_bounds),
		cmocka_unit_test(the_smallest_delays_both_ways_give_the_offset),
		cmocka_unit_test(calls_one_way_move_only_what_precedes_its_cause),
		cmocka_unit_test(nodes_with_one_clock_are_not_corrected),
		cmocka_unit_test(a_trace_that_round_trips_exclude_is_no_evidence),
		cmocka_unit_test(offsets_add_up_along_the_chain_of_forks),
		cmocka_unit_test(malformed_traces_terminate),
		cmocka_unit_test(results_do_not_depend_on_the_interleaving_of_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
