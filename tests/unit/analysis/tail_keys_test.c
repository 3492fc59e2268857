/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"

#include "analysis/tail_keys.h"
#include "base/texts.h"

enum { REQUESTS = 3000, RESERVOIR = 400, SLOWEST = 100, ROUNDS = 199 };
static const double TAIL_NS = 20000;

struct traffic { /* one request of a made group */
	bool slow;
	int64_t size;
	const char *kind;
	uint32_t node;
};

static struct group *
add(struct made *m, const struct traffic *t, struct rng *r)
{
	int64_t x[3] = { 1000 + (int64_t)rng_below(r, 500), 2000 + (int64_t)rng_below(r, 1000),
		50 };
	struct value v[4] = { { .type = VALUE_INT, .i = t->size },
		{ .type = VALUE_TEXT, .len = (uint32_t)strlen(t->kind), .text = t->kind },
		{ .type = VALUE_INT, .i = 1 }, { .type = VALUE_TEXT, .len = 1, .text = "x" } };

	x[1] += t->slow ? 40000 : 0;
	return made_add(m, x, v, t->node);
}

static void
begin(struct made *m, struct rng *r, uint64_t seed)
{
	made_begin_slow(m, 3, RESERVOIR, SLOWEST, seed);
	rng_seed(r, seed);
}

static struct tail_key
found(struct made *m, const struct group *g, uint64_t seed)
{
	struct tail_key k;

	assert_int_equal(
	    tail_key_of(&k, g, TAIL_KEYS_WHOLE, TAIL_NS, 1, 0.01, ROUNDS, seed, &m->arena, NULL),
	    0);
	return k;
}

static const char *
text_of(const struct group *g, double value)
{
	return texts_get(g->texts, (uint32_t)value);
}

/* One request in a hundred is slow, and all of these have a kind that one in a hundred others has. */
static void
a_text_that_only_slow_requests_have_is_found(void **state)
{
	struct group *g = NULL;
	struct tail_key k;
	struct made m;
	struct rng r;
	(void)state;

	begin(&m, &r, 1);
	for (int i = 0; i < REQUESTS; i++) {
		bool slow = i % 100 == 7;

		g = add(&m,
		    &(struct traffic){ slow, (int64_t)rng_below(&r, 50),
			slow || i % 100 == 8 ? "rare" : "usual", 0 },
		    &r);
	}
	k = found(&m, g, 1);
	assert_true(k.key != UINT32_MAX);
	assert_int_equal(g->keys[k.key].kind, KEY_FIELD);
	assert_int_equal(k.has, TAIL_HAS_EQUAL);
	assert_string_equal(text_of(g, k.value), "rare");
	assert_int_equal(k.nslow, REQUESTS / 100);
	assert_near(k.slow, 1, 1e-12);
	assert_true(k.usual < 0.05);
	assert_true(k.p <= 0.01);
	made_end(&m);
}

/* The tail is of requests with more than 900, of 1,000 sizes, of which each occurs a few times. */
static void
a_number_is_compared_with_a_limit(void **state)
{
	struct group *g = NULL;
	struct tail_key k;
	struct made m;
	struct rng r;
	(void)state;

	begin(&m, &r, 2);
	for (int i = 0; i < REQUESTS; i++) {
		bool slow = i % 100 == 7;
		int64_t size = (int64_t)rng_below(&r, slow ? 50 : 900);

		g = add(&m, &(struct traffic){ slow, slow ? 950 + size : size, "same", 0 }, &r);
	}
	k = found(&m, g, 2);
	assert_true(k.key != UINT32_MAX);
	assert_int_equal(k.has, TAIL_HAS_AT_LEAST);
	assert_true(k.value >= 950 && k.value < 965);
	assert_true(k.slow > 0.9 && k.usual < 0.01);
	made_end(&m);
}

/* All slow requests began on one of three nodes, which a third of the others did, too. */
static void
a_node_that_others_have_too_is_found_with_its_share_of_these(void **state)
{
	struct group *g = NULL;
	struct tail_key k;
	struct made m;
	struct rng r;
	(void)state;

	begin(&m, &r, 3);
	for (int i = 0; i < REQUESTS; i++) {
		bool slow = i % 100 == 7;

		g = add(&m,
		    &(struct traffic){ slow, (int64_t)rng_below(&r, 50), "same",
			slow ? 1 : (uint32_t)rng_below(&r, 3) },
		    &r);
	}
	k = found(&m, g, 3);
	assert_true(k.key != UINT32_MAX);
	assert_int_equal(g->keys[k.key].kind, KEY_NODE);
	assert_string_equal(text_of(g, k.value), "beta");
	assert_near(k.usual, 1.0 / 3, 0.1);
	made_end(&m);
}

/* Slow requests that differ from others by chance alone: at p <= 1 %, of 100 groups a few at most. */
static void
chance_finds_no_more_than_it_says(void **state)
{
	int wrong = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		static const char *const kinds[] = { "a", "b" };
		struct group *g = NULL;
		struct made m;
		struct rng r;

		made_begin_slow(&m, 3, 60, 30, seed);
		rng_seed(&r, seed);
		for (int i = 0; i < 400; i++)
			g = add(&m,
			    &(struct traffic){ i % 40 == 7, (int64_t)rng_below(&r, 8),
				kinds[rng_below(&r, 2)], (uint32_t)rng_below(&r, 2) },
			    &r);
		wrong += found(&m, g, seed).key != UINT32_MAX;
		made_end(&m);
	}
	assert_true(wrong <= 4);
}

static void
few_slow_requests_are_not_compared(void **state)
{
	struct group *g = NULL;
	struct tail_key k;
	struct made m;
	struct rng r;
	(void)state;

	begin(&m, &r, 5);
	for (int i = 0; i < 2000; i++) {
		bool slow = i > 1992;

		g = add(&m, &(struct traffic){ slow, 1, slow ? "rare" : "usual", 0 }, &r);
	}
	k = found(&m, g, 5);
	assert_int_equal(k.key, UINT32_MAX);
	assert_int_equal(k.nslow, TAIL_KEYS_SLOW_MIN - 1);
	made_end(&m);
}

/* Edge 1 takes long for one request in a hundred; what requests take elsewhere varies more than that. */
static void
requests_that_are_slow_in_one_edge_are_told_apart(void **state)
{
	struct group *g = NULL;
	struct tail_key k;
	uint32_t nslow;
	double above_ns;
	struct made m;
	struct rng r;
	(void)state;

	begin(&m, &r, 6);
	for (int i = 0; i < REQUESTS; i++) {
		bool slow = i % 100 == 7;
		struct value v[4] = {
			{ .type = VALUE_INT, .i = slow ? 7 : (int64_t)rng_below(&r, 40) },
			{ .type = VALUE_TEXT, .len = 1, .text = "x" },
			{ .type = VALUE_INT, .i = 1 }, { .type = VALUE_TEXT, .len = 1, .text = "x" }
		};

		g = made_add(&m,
		    (const int64_t[]){ (int64_t)rng_below(&r, 900000),
			2000 + (int64_t)rng_below(&r, 1000) + (slow ? 40000 : 0), 50 },
		    v, 0);
	}
	assert_int_equal(tail_division(&above_ns, &nslow, g, 1, 6, &m.arena, NULL), 0);
	assert_true(above_ns >= 2900 && above_ns < 42000);
	assert_true(nslow >= TAIL_KEYS_SLOW_MIN);
	assert_int_equal(tail_key_of(&k, g, 1, above_ns, 1, 0.01, ROUNDS, 6, &m.arena, NULL), 0);
	assert_true(k.key != UINT32_MAX);
	assert_int_equal(k.has, TAIL_HAS_EQUAL);
	assert_near(k.value, 7, 0);
	assert_near(k.slow, 1, 1e-12);
	/* of edge 0 no few requests are apart, and so of all of the response time */
	assert_int_equal(tail_division(&above_ns, &nslow, g, 0, 6, &m.arena, NULL), 0);
	assert_true(isnan(above_ns));
	assert_int_equal(
	    tail_division(&above_ns, &nslow, g, TAIL_KEYS_WHOLE, 6, &m.arena, NULL), 0);
	assert_true(isnan(above_ns));
	made_end(&m);
}

/* One request in five passes edge 1, on a node of its own, and of these one in ten takes long there: the node is what those that pass it have. */
static void
requests_that_do_not_pass_the_edge_are_not_among_the_others(void **state)
{
	(void)state;

	for (int slow_ns = 0; slow_ns <= 900000; slow_ns += 900000) {
		struct group *g = NULL;
		struct tail_key k;
		uint32_t nslow;
		double above_ns;
		struct made m;
		struct rng r;

		made_begin(&m, 3, REQUESTS, 7);
		rng_seed(&r, 7);
		for (int i = 0; i < REQUESTS; i++) {
			bool passes = i % 5 == 0, slow = i % 50 == 0;
			int64_t size = slow ? 7 : (int64_t)rng_below(&r, 40);
			struct value v[4] = { { .type = VALUE_INT, .i = size },
				{ .type = VALUE_TEXT, .len = 1, .text = "x" },
				{ .type = VALUE_INT, .i = 1 },
				{ .type = VALUE_TEXT, .len = 1, .text = "x" } };
			int64_t there_ns = 20000 + (int64_t)rng_below(&r, 8000) +
			                   (slow ? slow_ns : 0);

			g = made_add(
			    &m, (const int64_t[]){ 1000, passes ? there_ns : 0, 50 }, v, passes);
		}
		assert_int_equal(tail_division(&above_ns, &nslow, g, 1, 7, &m.arena, NULL), 0);
		if (slow_ns == 0) {
			assert_true(isnan(above_ns)); /* not between passing it and not */
		} else {
			assert_true(above_ns >= 27000 && above_ns < 920000);
			assert_int_equal(
			    tail_key_of(&k, g, 1, above_ns, 1, 0.01, ROUNDS, 7, &m.arena, NULL), 0);
			assert_true(k.key != UINT32_MAX);
			assert_int_equal(g->keys[k.key].kind, KEY_FIELD);
			assert_near(k.value, 7, 0);
			assert_near((double)k.nslow / (k.nslow + k.nusual), 0.1, 0.06);
		}
		made_end(&m);
	}
}

/* Exponential times, as of a queue: the longest ones are no kind of their own. */
static void
times_that_only_vary_are_not_divided(void **state)
{
	int divided = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct group *g = NULL;
		uint32_t nslow;
		double above_ns;
		struct made m;
		struct rng r;

		made_begin(&m, 1, 600, seed);
		rng_seed(&r, seed);
		for (int i = 0; i < 500; i++)
			g = made_add(&m,
			    (const int64_t[]){ (int64_t)(-10000 * log(1 - rng_unit(&r))) }, NULL,
			    0);
		assert_int_equal(tail_division(&above_ns, &nslow, g, 0, seed, &m.arena, NULL), 0);
		divided += !isnan(above_ns);
		made_end(&m);
	}
	assert_true(divided <= 2);
}

/* Sums by edge are exact, whatever the reservoir holds. */
static void
sums_of_the_tail_are_of_all_requests(void **state)
{
	struct group *g = NULL;
	struct groups_options o = { .groups_max = 4, .samples_max = 8, .tail_ns = TAIL_NS };
	struct made m;
	(void)state;

	made_begin(&m, 2, 8, 1);
	groups_free(m.groups);
	m.groups = groups_new(&o, m.labels);
	for (int i = 0; i < 1000; i++)
		g = made_add(
		    &m, (const int64_t[]){ 1000, i % 100 == 0 ? 30000 + i : 500 }, NULL, 0);
	assert_int_equal(g->ntail, 10);
	assert_near(g->tail_ns[0], 10 * 1000, 1e-9);
	assert_near(g->tail_ns[1], 10 * 30000 + 4500, 1e-9);
	assert_near(g->tail_total_ns, g->tail_ns[0] + g->tail_ns[1], 1e-9);
	made_end(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_that_only_slow_requests_have_is_found),
		cmocka_unit_test(a_number_is_compared_with_a_limit),
		cmocka_unit_test(a_node_that_others_have_too_is_found_with_its_share_of_these),
		cmocka_unit_test(chance_finds_no_more_than_it_says),
		cmocka_unit_test(few_slow_requests_are_not_compared),
		cmocka_unit_test(requests_that_are_slow_in_one_edge_are_told_apart),
		cmocka_unit_test(requests_that_do_not_pass_the_edge_are_not_among_the_others),
		cmocka_unit_test(times_that_only_vary_are_not_divided),
		cmocka_unit_test(sums_of_the_tail_are_of_all_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
