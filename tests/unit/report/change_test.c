/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "../analysis/calls.h"

#include "base/rng.h"
#include "report/change.h"
#include "report/change_stats.h"
#include "report/operations.h"
#include "tests/unit/sanitized.h"

/* ---- windows of traffic ------------------------------------------------------- */

struct window {
	uint64_t seed;
	uint32_t requests;
	double cart_ms, way_ms, own_ms; /* cart's own time, the way to it, and front's own time */
	double failing;   /* share of requests for which cart's query is not made and front fails */
	uint32_t windows; /* of so many requests; 0: one */
	uint32_t slow_window; /* one of them in which cart takes three times as long; 0: none */
};

static int64_t
around(struct rng *r, double ms)
{
	return (int64_t)(ms * 1e6 * exp(0.3 * rng_normal(r)));
}

#define REQUEST_NS INT64_C(100000000) /* one begins every 100 ms */

static void
begin_at(struct made_call *c, uint32_t n, int64_t ns)
{
	for (uint32_t i = 0; i < n; i++) {
		c[i].begin_ns += ns;
		c[i].end_ns += ns;
	}
}

/* front asks auth, cart (which queries), then ads: a document with its operations. */
static json_t *
document_of(const struct window *w)
{
	struct labels *l = labels_new();
	struct profile *p = profile_new(512);
	uint32_t n = w->requests * (w->windows > 0 ? w->windows : 1);
	json_t *type = json_pack(
	    "{s:s, s:s, s:i, s:[]}", "type", "HOME", "service", "front", "count", (int)n, "groups");
	struct rng r;
	struct err e;

	rng_seed(&r, w->seed);
	for (uint32_t i = 0; i < n; i++) {
		bool fails = rng_unit(&r) < w->failing;
		int64_t own = around(&r, w->own_ms), way = around(&r, w->way_ms),
			cart = around(&r, w->cart_ms) *
		               (w->slow_window > 0 && i / w->requests == w->slow_window ? 3 : 1);
		int64_t query = around(&r, 2), ads = around(&r, 5), at = own;
		struct made_call c[8] = { { -1, "front", "HOME", 0, 0 } };
		uint32_t ncalls = 1;

		c[ncalls++] = (struct made_call){ 0, "front", "GET", at, at + ads + 200000 };
		c[ncalls++] = (struct made_call){ 1, "auth", "who", at + 100000, at + ads };
		at += ads + 200000;
		c[ncalls++] = (struct made_call){ 0, "front", "GET", at,
			at + 2 * way + cart + query };
		c[ncalls++] = (struct made_call){ 3, "cart", "get", at + way,
			at + way + cart + query };
		if (!fails)
			c[ncalls++] = (struct made_call){ 4, "cart", "query", at + way + cart,
				at + way + cart + query };
		at += 2 * way + cart + query + own;
		if (!fails) {
			c[ncalls++] = (struct made_call){ 0, "front", "GET", at,
				at + ads + 200000 };
			c[ncalls] = (struct made_call){ (int)ncalls - 1, "ads", "show", at + 100000,
				at + ads };
			ncalls++;
			at += ads + 200000;
		}
		c[0].end_ns = at + own;
		begin_at(c, ncalls, i * REQUEST_NS);
		profile_calls(p, l, c, ncalls, false);
	}
	assert_int_equal(operations_put(type, p, l, &e), 0);
	profile_free(p);
	labels_free(l);
	return json_pack("{s:s, s:[o]}", "made", "then", "types", type);
}

static json_t *
change_of(json_t *now, json_t *then)
{
	struct err e;
	json_t *c = change_json(now, then, "healthy", NULL, &e);

	if (c == NULL)
		fail_msg("%s", e.text);
	json_decref(now);
	json_decref(then);
	return c;
}

enum { WINDOWS = 24 }; /* of a baseline */

static json_t *
change_between(struct window now, struct window then)
{
	now.seed += 1000;
	if (then.windows == 0)
		then.windows = WINDOWS;
	return change_of(document_of(&now), document_of(&then));
}

static const char *
suspect(const json_t *c, size_t rank)
{
	const char *s = json_string_value(
	    json_object_get(json_array_get(json_object_get(c, "suspects"), rank), "service"));

	return s != NULL ? s : "nobody";
}

static bool
is_sure(const json_t *c, size_t rank)
{
	return json_is_true(
	    json_object_get(json_array_get(json_object_get(c, "suspects"), rank), "sure"));
}

static const json_t *
of_type(const json_t *c, const char *list, size_t i)
{
	return json_array_get(
	    json_object_get(json_array_get(json_object_get(c, "types"), 0), list), i);
}

static const struct window HEALTHY = { 1, 400, 3, 1, 0.5, 0, 0, 0 };

/* ---- suspects ------------------------------------------------------------------- */

static void
a_service_whose_own_time_grew_is_the_suspect(void **state)
{
	struct window now = HEALTHY;
	json_t *c;
	(void)state;

	now.cart_ms = 4.5;
	c = change_between(now, HEALTHY);
	assert_string_equal(suspect(c, 0), "cart");
	assert_true(is_sure(c, 0));
	assert_false(is_sure(c, 1));
	assert_string_equal(
	    json_string_value(json_object_get(of_type(c, "operations", 0), "operation")),
	    "cart/hone:unit_begin(get)");
	assert_string_equal(
	    json_string_value(json_object_get(of_type(c, "operations", 0), "what")), "self");
	json_decref(c);
}

static void
time_lost_on_the_way_may_lie_with_either_end(void **state)
{
	struct window now = HEALTHY;
	const json_t *o;
	json_t *c;
	(void)state;

	now.way_ms = 10;
	c = change_between(now, HEALTHY);
	o = of_type(c, "operations", 0);
	assert_string_equal(json_string_value(json_object_get(o, "what")), "way");
	assert_string_equal(
	    json_string_value(json_array_get(json_object_get(o, "services"), 0)), "cart");
	assert_string_equal(
	    json_string_value(json_array_get(json_object_get(o, "services"), 1)), "front");
	/* front has other calls that go well: it is less likely */
	assert_string_equal(suspect(c, 0), "cart");
	assert_string_equal(suspect(c, 1), "front");
	json_decref(c);
}

static void
where_requests_are_cut_short_is_found_though_nothing_is_slower(void **state)
{
	struct window now = HEALTHY;
	const json_t *s;
	json_t *c;
	(void)state;

	now.failing = 0.2;
	c = change_between(now, HEALTHY);
	assert_string_equal(suspect(c, 0), "cart");
	s = of_type(c, "steps", 0);
	assert_true(json_is_true(json_object_get(s, "sure")));
	assert_true(json_is_null(json_object_get(s, "then")));
	assert_false(json_is_true(json_object_get(of_type(c, "operations", 0), "sure")));
	json_decref(c);
}

static bool
anything_sure(const json_t *c)
{
	for (size_t i = 0; i < json_array_size(json_object_get(c, "suspects")); i++)
		if (is_sure(c, i))
			return true;
	return false;
}

static void
what_did_not_change_has_no_sure_suspects(void **state)
{
	uint32_t wrong = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 200; seed += SANITIZED_STRIDE) {
		struct window w = { 2 * seed, 100, 3, 1, 0.5, 0.1, 0, 0 };
		json_t *c = change_between(w, w);

		wrong += anything_sure(c);
		json_decref(c);
	}
	assert_true(wrong <= 2); /* q = 0.01 */
}

static const char *
unsure(const json_t *c)
{
	const char *s = json_string_value(
	    json_object_get(json_array_get(json_object_get(c, "suspects"), 0), "unsure"));

	return s != NULL ? s : "";
}

static void
a_short_baseline_makes_nobody_sure_and_says_so(void **state)
{
	struct window now = HEALTHY, then = HEALTHY;
	const json_t *blocks;
	json_t *c;
	(void)state;

	now.cart_ms = 6;
	then.windows = 4; /* of which blocks of a quarter of the window's length are made */
	c = change_between(now, then);
	blocks = json_object_get(c, "blocks");
	assert_string_equal(suspect(c, 0), "cart");
	assert_string_equal(unsure(c), "too_few_blocks");
	assert_int_equal(json_integer_value(json_object_get(blocks, "count")), 16);
	assert_int_equal(json_integer_value(json_object_get(blocks, "needed")), 19);
	assert_false(json_is_true(json_object_get(blocks, "enough")));
	assert_near(json_number_value(json_object_get(blocks, "p")), 1.0 / 17, 1e-9);
	json_decref(c);
}

static void
a_baseline_of_six_windows_is_enough_in_quarters(void **state)
{
	struct window now = HEALTHY, then = HEALTHY;
	uint32_t wrong = 0;
	json_t *c;
	(void)state;

	then.windows = 6;
	now.cart_ms = 4.5;
	c = change_between(now, then);
	assert_int_equal(
	    json_integer_value(json_object_get(json_object_get(c, "blocks"), "count")), 24);
	assert_string_equal(suspect(c, 0), "cart");
	assert_true(is_sure(c, 0));
	json_decref(c);
	for (uint64_t seed = 1; seed <= 200; seed += SANITIZED_STRIDE) {
		now = then = (struct window){ 2 * seed, 100, 3, 1, 0.5, 0.1, 0, 0 };
		then.windows = 6;
		c = change_between(now, then);
		wrong += anything_sure(c);
		json_decref(c);
	}
	assert_true(wrong <= 2); /* q = 0.01 */
}

static void
what_healthy_blocks_show_among_themselves_is_usual(void **state)
{
	struct window now = HEALTHY, then = HEALTHY;
	json_t *c;
	(void)state;

	then.slow_window = 7; /* cart is slower once in the baseline */
	now.cart_ms = 6;
	c = change_between(now, then);
	assert_string_equal(suspect(c, 0), "cart");
	assert_false(is_sure(c, 0));
	assert_true(json_number_value(json_object_get(
			json_array_get(json_object_get(c, "suspects"), 0), "usual_score")) > 0.2);
	json_decref(c);
}

/* Each request makes twenty calls, which are all alike. */
static json_t *
alike_document(uint64_t seed, int requests)
{
	struct labels *l = labels_new();
	struct profile *p = profile_new(8);
	json_t *type = json_pack("{s:s, s:s, s:[]}", "type", "HOME", "service", "front", "groups");
	struct rng r;
	struct err e;

	rng_seed(&r, seed);
	for (int i = 0; i < requests; i++) {
		int64_t each = around(&r, 1) * (1 + (int64_t)rng_below(&r, 8));
		struct made_call c[21] = { { -1, "front", "HOME", 0, 20 * each } };
		const char *name = rng_below(&r, 3) == 0 ? "rare" : "usual";

		for (int k = 1; k <= 20; k++)
			c[k] = (struct made_call){ 0, "front", name, (k - 1) * each, k * each };
		begin_at(c, 21, i * REQUEST_NS);
		profile_calls(p, l, c, 21, false);
	}
	assert_int_equal(operations_put(type, p, l, &e), 0);
	profile_free(p);
	labels_free(l);
	return json_pack("{s:[o]}", "types", type);
}

static void
calls_of_one_request_are_one_sample(void **state)
{
	uint32_t wrong = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 200; seed += SANITIZED_STRIDE) {
		json_t *c = change_of(
		    alike_document(2 * seed, 40), alike_document(2 * seed + 1, WINDOWS * 40));

		wrong += anything_sure(c);
		json_decref(c);
	}
	assert_true(wrong <= 2); /* q = 0.01 */
}

static void
a_baseline_that_was_saved_says_what_a_live_one_does(void **state)
{
	struct window now = HEALTHY;
	json_t *live, *saved, *then = document_of(&HEALTHY);
	char *text = json_dumps(then, JSON_COMPACT), *a, *b;
	(void)state;

	now.seed = 5;
	now.cart_ms = 4;
	live = change_of(document_of(&now), then);
	saved = change_of(document_of(&now), json_loads(text, 0, NULL));
	a = json_dumps(live, JSON_SORT_KEYS);
	b = json_dumps(saved, JSON_SORT_KEYS);
	assert_string_equal(a, b);
	free(a);
	free(b);
	free(text);
	json_decref(live);
	json_decref(saved);
}

/* ---- shares of change ------------------------------------------------------------- */

static json_t *
random_groups(struct rng *r, uint32_t first, uint32_t n)
{
	json_t *groups = json_array();
	double sum = 0, count = 0;

	for (uint32_t g = first; g < first + n; g++) {
		json_t *edges = json_array();
		double mean = 0, of = 1 + (double)rng_below(r, 500);
		char key[33];

		for (uint32_t i = 0; i < 1 + g % 3; i++) {
			double ms = rng_unit(r) * 10;

			mean += ms;
			json_array_append_new(
			    edges, json_pack("{s:s, s:s, s:b, s:f, s:f}", "from", "a", "to", "b",
				       "loop", 0, "mean_ms", ms, "variance_ms2", rng_unit(r)));
		}
		snprintf(key, sizeof key, "%032x", g);
		json_array_append_new(
		    groups, json_pack("{s:s, s:I, s:f, s:o}", "group", key, "count", (json_int_t)of,
				"mean_ms", mean, "edges", edges));
		sum += of * mean;
		count += of;
	}
	return json_pack("{s:s, s:[{s:s, s:s, s:I, s:f, s:f, s:o, s:{s:I, s:f}}]}", "made", "x",
	    "types", "type", "HOME", "service", "front", "count", (json_int_t)count, "mean_ms",
	    sum / count, "cv", 0.3, "groups", groups, "other", "traces",
	    (json_int_t)rng_below(r, 50), "mean_ms", rng_unit(r) * 100);
}

static double
number(const json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

static void
parts_add_up_to_the_change_exactly(void **state)
{
	struct rng r;
	(void)state;

	rng_seed(&r, 3);
	for (int round = 0; round < 100; round++) {
		/* groups 5 to 9 on both sides, the rest on one */
		json_t *now = random_groups(&r, 0, 10), *then = random_groups(&r, 5, 40);
		json_t *c = change_of(now, then), *g, *e;
		const json_t *type = json_array_get(json_object_get(c, "types"), 0);
		double change_ms = number(type, "mean_ms") - number(type, "mean_then_ms");
		double groups_ms = number(type, "groups_rest_ms"),
		       edges_ms = number(type, "edges_rest_ms");
		double share = 0, other_ms = 0;
		size_t i;

		json_array_foreach (json_object_get(type, "groups"), i, g) {
			groups_ms += number(g, "change_ms");
			share += number(g, "share");
			assert_near(number(g, "change_ms"),
			    number(g, "within_ms") + number(g, "mix_ms"), 1e-9);
			if (json_is_null(json_object_get(g, "group")))
				other_ms = number(g, "within_ms");
		}
		json_array_foreach (json_object_get(type, "edges"), i, e)
			edges_ms += number(e, "change_ms");
		assert_near(number(type, "change_ms"), change_ms, 1e-9);
		assert_near(groups_ms, change_ms, 1e-9);
		assert_near(share, 1, 1e-6);
		assert_near(number(type, "within_ms") + number(type, "mix_ms"), change_ms, 1e-9);
		assert_near(edges_ms + other_ms, number(type, "within_ms"), 1e-9);
		json_decref(c);
	}
}

static void
groups_that_came_and_went_are_named(void **state)
{
	uint32_t appeared = 0, vanished = 0, both = 0;
	json_t *c, *g;
	struct rng r;
	size_t i;
	(void)state;

	rng_seed(&r, 4);
	c = random_groups(&r, 0, 10);
	c = change_of(c, random_groups(&r, 7, 10));
	json_array_foreach (
	    json_object_get(json_array_get(json_object_get(c, "types"), 0), "groups"), i, g) {
		const char *s = json_string_value(json_object_get(g, "state"));

		appeared += strcmp(s, "appeared") == 0;
		vanished += strcmp(s, "vanished") == 0;
		both += strcmp(s, "both") == 0;
	}
	assert_int_equal(appeared, 7);
	assert_int_equal(vanished, 7);
	assert_int_equal(both, 4); /* three groups, and the row of the other traces */
	json_decref(c);
}

/* ---- statistics, and invalid documents ---- */

static void
half_of_the_time_is_lost_by_calls_that_take_twice_as_long(void **state)
{
	uint32_t then[64] = { 0 }, twice[64] = { 0 }, wide[64] = { 0 }, wider[64] = { 0 };
	enum { MANY = 100000000 };
	struct slower s;
	(void)state;

	then[20] = twice[28] = 1000000;
	for (int i = 0; i < 16; i++)
		wide[20 + i] = wider[24 + i] = 100000;
	s = slower_of(
	    twice, then, 64, MANY, MANY, 0.01); /* exactly twice is by more than seven buckets */
	assert_near(s.calls, 1, 0.01);
	assert_near(s.lost, 1 - exp2(-7.0 / 8), 0.01);
	assert_true(s.p < 1e-300);
	s = slower_of(wider, wide, 64, MANY, MANY,
	    0.01); /* only an increase of 3/16 is sure, because these times also vary by themselves */
	assert_near(s.calls, 3.0 / 16, 0.01);
	assert_true(s.lost > 0 && s.lost < s.calls * (1 - exp2(-3.0 / 8)));
	s = slower_of(then, then, 64, MANY, MANY, 0.01);
	assert_near(s.calls + s.lost, 0, 0);
	assert_near(s.p, 1, 0);
	assert_near(slower_of(then, twice, 64, MANY, MANY, 0.01).calls, 0, 0);
	/* a million calls of four requests are a sample of four */
	assert_near(slower_of(twice, then, 64, 4, MANY, 0.01).p, exp(-8), 1e-6);
}

static void
proportions_are_compared_as_the_books_say(void **state)
{
	(void)state;
	/* Newcombe 1998, table II, method 10: 56/70 - 48/80, 95 % two-sided */
	assert_near(more_often(56, 70, 48, 80, 0.025), 0.0524, 0.0001);
	/* Fisher's tea: 3 of 4 against 1 of 4 */
	assert_near(more_often_p(3, 4, 1, 4), 17.0 / 70, 1e-9);
	assert_near(more_often_p(0, 4, 1, 4), 1, 0);
	assert_near(more_often_p(500000000, 1000000000, 500000000, 1000000000), 0.5, 1e-3);
}

static void
corrected_p_values_are_those_of_benjamini_and_hochberg(void **state)
{
	double p[] = { 0.04, 0.001, 0.03, 0.5 };
	(void)state;

	assert_true(correct_p(p, 4));
	assert_near(p[1], 0.004, 1e-12);
	assert_near(p[2], 0.04 * 4 / 3, 1e-12);
	assert_near(p[0], 0.04 * 4 / 3, 1e-12);
	assert_near(p[3], 0.5, 1e-12);
}

static void
what_is_no_document_is_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"types\":[{\"type\":\"A\",\"service\":\"s\",\"operations\":[{\"service\":\"s\",\"operation\":\"s/x\",\"parent\":0}]}]}",
		"{\"types\":[{\"type\":\"A\",\"service\":\"s\",\"operations\":[{\"parent\":null}]}]}",
		"{\"types\":[{\"type\":\"A\",\"service\":\"s\",\"operations\":[{\"operation\":\"s/x\",\"parent\":null}]}]}",
		"{\"types\":[{\"type\":\"A\",\"service\":\"s\",\"operations\":[{\"service\":\"s\",\"operation\":\"s/x\",\"parent\":null,"
		"\"next\":[[null,7,1]]}]}]}",
	};
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		json_t *d = json_loads(bad[i], 0, NULL);

		assert_null(change_json(d, d, "x", NULL, &e));
		assert_int_equal(e.code, ERR_INPUT);
		json_decref(d);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_whose_own_time_grew_is_the_suspect),
		cmocka_unit_test(time_lost_on_the_way_may_lie_with_either_end),
		cmocka_unit_test(where_requests_are_cut_short_is_found_though_nothing_is_slower),
		cmocka_unit_test(what_did_not_change_has_no_sure_suspects),
		cmocka_unit_test(a_short_baseline_makes_nobody_sure_and_says_so),
		cmocka_unit_test(a_baseline_of_six_windows_is_enough_in_quarters),
		cmocka_unit_test(what_healthy_blocks_show_among_themselves_is_usual),
		cmocka_unit_test(calls_of_one_request_are_one_sample),
		cmocka_unit_test(a_baseline_that_was_saved_says_what_a_live_one_does),
		cmocka_unit_test(parts_add_up_to_the_change_exactly),
		cmocka_unit_test(groups_that_came_and_went_are_named),
		cmocka_unit_test(half_of_the_time_is_lost_by_calls_that_take_twice_as_long),
		cmocka_unit_test(proportions_are_compared_as_the_books_say),
		cmocka_unit_test(corrected_p_values_are_those_of_benjamini_and_hochberg),
		cmocka_unit_test(what_is_no_document_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
