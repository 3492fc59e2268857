/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shop.h"

#include "report/document.h"

static json_t *
document_of(struct shop *s, bool samples)
{
	struct document_options o = { .made = { 1000000000 },
		.source = json_pack("{s:b}", "live", 0),
		.samples = samples,
		.label = LABEL_NONE };
	json_t *j;

	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	j = document_new(s->report, &o);
	assert_non_null(j);
	return j;
}

static const char *
text_at(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static double
number_at(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_number(v))
		fail_msg("%s is no number", key);
	return json_number_value(v);
}

static json_t *
group_at(const json_t *document, size_t type, size_t group)
{
	return json_array_get(
	    json_object_get(json_array_get(json_object_get(document, "types"), type), "groups"),
	    group);
}

/* The cart is slow in the groups of all three types: one row has the sum of the time lost. */
static void
problems_are_added_up_by_call(void **state)
{
	struct shop *s = shop_new(NULL);
	double cost = 0, sum = 0, share = 0;
	json_t *d, *rows, *row;
	size_t i;
	(void)state;

	shop_requests(s, "A", 50, 0.5);
	shop_requests(s, "B", 200, 0.5);
	shop_requests(s, "C", 100, 0.5);
	shop_requests(s, "STEADY", 100, 0.001);
	d = document_of(s, false);
	rows = json_object_get(d, "lost_in");
	row = json_array_get(rows, 0);
	assert_string_equal(text_at(row, "call"), "s/hone:unit_begin(cart)");
	assert_string_equal(text_at(row, "service"), "s");
	assert_true(json_is_null(json_object_get(row, "from")));
	assert_int_equal(number_at(row, "groups"), 3);
	assert_int_equal(number_at(row, "requests"), 350);
	assert_true(number_at(row, "share") > 0.99);
	json_array_foreach (json_object_get(d, "problems"), i, row)
		cost += number_at(row, "cost_ms");
	json_array_foreach (rows, i, row) {
		sum += number_at(row, "cost_ms");
		share += number_at(row, "share");
	}
	assert_near(sum, cost, 1e-6 * cost);
	assert_near(share, 1, 1e-6);
	json_decref(d);
	shop_free(s);
}

static void
requests_have_their_time(void **state)
{
	struct shop *s = shop_new(NULL);
	double requests = 0, in_problems = 0;
	json_t *d, *type, *bin, *worst;
	size_t i;
	(void)state;

	for (int k = 0; k < 300; k++)
		shop_request(s, "HOME", k >= 100 && k < 130 ? 20000000 : 1000000 + k, 0);
	d = document_of(s, false);
	type = json_array_get(json_object_get(d, "types"), 0);
	json_array_foreach (json_object_get(json_object_get(type, "times"), "bins"), i, bin) {
		requests += json_number_value(json_array_get(bin, 0));
		in_problems += json_number_value(json_array_get(bin, 2));
	}
	assert_true(i > 1 && i <= TIMELINE_BINS);
	assert_int_equal(requests, 300);
	assert_int_equal(in_problems, 300);
	worst = json_object_get(group_at(d, 0, 0), "worst");
	assert_in_range(number_at(worst, "requests"), 25, 50);
	assert_true(number_at(worst, "mean_ms") > 5 * number_at(worst, "other_mean_ms"));
	json_decref(d);
	shop_free(s);
}

static void
the_top_of_a_document(void **state)
{
	struct shop *s = shop_new(NULL);
	json_t *d, *problem;
	struct err e;
	(void)state;

	shop_requests(s, "HOME", 100, 0.5);
	d = document_of(s, false);
	assert_int_equal(document_check(d, "d", &e), 0);
	assert_string_equal(text_at(d, "made"), "1970-01-01T00:00:01.000Z");
	assert_int_equal(number_at(d, "version"), 1);
	assert_near(number_at(json_object_get(d, "options"), "cv_max"), 0.1, 0);
	problem = json_array_get(json_object_get(d, "problems"), 0);
	assert_string_equal(text_at(problem, "type"), "HOME");
	assert_string_equal(text_at(problem, "service"), "s");
	assert_string_equal(text_at(problem, "group"), text_at(group_at(d, 0, 0), "group"));
	assert_int_equal(strlen(text_at(problem, "group")), 32);
	assert_string_equal(text_at(problem, "problem"), "unpredictable");
	json_decref(d);
	shop_free(s);
}

static void
edges_hold_what_was_measured(void **state)
{
	struct shop *s = shop_new(NULL);
	json_t *d, *g, *edge;
	double shares = 0, means = 0, parts;
	size_t i;
	(void)state;

	shop_requests(s, "HOME", 100, 0.5);
	d = document_of(s, false);
	g = group_at(d, 0, 0);
	assert_int_equal(number_at(g, "count"), 100);
	json_array_foreach (json_object_get(g, "edges"), i, edge) {
		shares += number_at(edge, "share");
		means += number_at(edge, "mean_ms");
		parts = number_at(edge, "own") + number_at(edge, "covariance");
		assert_near(parts, number_at(edge, "share"), 1e-9);
		assert_true(number_at(edge, "low") <= number_at(edge, "share"));
		assert_true(number_at(edge, "high") >= number_at(edge, "share"));
		assert_true(json_is_false(json_object_get(edge, "loop")));
	}
	assert_int_equal(i, 5);
	assert_near(shares, 1, 1e-9);
	assert_near(means, number_at(g, "mean_ms"), 1e-9);
	edge = json_array_get(json_object_get(g, "edges"), (size_t)number_at(g, "top"));
	assert_string_equal(text_at(edge, "from"), "s/hone:unit_begin(cart)");
	assert_string_equal(text_at(edge, "owner"), "s/hone:unit_begin(cart)");
	assert_string_equal(text_at(edge, "owner_service"), "s");
	assert_true(number_at(edge, "p50_ms") > 0.5 && number_at(edge, "p95_ms") < 1.5);
	edge = json_array_get(json_object_get(g, "edges"), 1);
	assert_true(json_is_null(json_object_get(edge, "owner")));
	json_decref(d);
	shop_free(s);
}

static void
small_groups_have_no_intervals(void **state)
{
	struct shop *s = shop_new(NULL);
	json_t *d, *g;
	(void)state;

	shop_requests(s, "HOME", 10, 0.5);
	d = document_of(s, false);
	g = group_at(d, 0, 0);
	assert_string_equal(text_at(g, "problem"), "unsure");
	assert_null(json_object_get(g, "cv_low"));
	assert_null(json_object_get(json_array_get(json_object_get(g, "edges"), 0), "low"));
	assert_true(json_is_null(json_object_get(g, "what_if")));
	json_decref(d);
	shop_free(s);
}

static void
loops_stand_in_brackets(void **state)
{
	static const char *const path[] = { "s/hone:request_begin(HOME)", "s/hone:fork(cart)",
		"s/hone:unit_begin(cart)", "s/hone:unit_end(cart)", "s/hone:join(cart)", "(",
		"s/app:draw", "s/app:drawn", ")+", "s/hone:request_end(HOME)" };
	struct shop *s = shop_new(NULL);
	json_t *d, *g, *steps, *step;
	double last = 0;
	size_t i;
	(void)state;

	for (int k = 0; k < 40; k++)
		shop_request(s, "HOME", 1000000, 2 + k % 5);
	d = document_of(s, false);
	g = group_at(d, 0, 0);
	assert_int_equal(json_array_size(json_object_get(g, "path")), 10);
	for (i = 0; i < 10; i++)
		assert_string_equal(
		    json_string_value(json_array_get(json_object_get(g, "path"), i)), path[i]);
	assert_true(
	    json_is_true(json_object_get(json_array_get(json_object_get(g, "edges"), 7), "loop")));

	steps = json_object_get(g, "steps");
	assert_int_equal(json_array_size(steps), 8);
	json_array_foreach (steps, i, step) {
		assert_true(number_at(step, "first_ms") >= last);
		assert_int_equal(number_at(step, "depth"), i == 2 || i == 3);
		last = number_at(step, "first_ms");
	}
	assert_near(last, number_at(g, "mean_ms"), 1e-9);
	json_decref(d);
	shop_free(s);
}

static void
samples_name_their_texts(void **state)
{
	struct shop *s = shop_new(NULL);
	json_t *d, *g, *keys, *samples, *key, *sample;
	size_t i, k;
	(void)state;

	shop_requests(s, "HOME", 500, 0.5);
	d = document_of(s, true);
	g = group_at(d, 0, 0);
	keys = json_object_get(g, "sample_keys");
	samples = json_object_get(g, "samples");
	assert_true(
	    json_array_size(samples) <= DOCUMENT_SAMPLES_MAX && json_array_size(samples) > 200);
	assert_true(json_array_size(keys) > 0);
	json_array_foreach (samples, i, sample) {
		double sum = 0;

		for (k = 0; k < 5; k++)
			sum += json_number_value(
			    json_array_get(json_object_get(sample, "edges_ms"), k));
		assert_near(sum, number_at(sample, "total_ms"), 1e-9);
		json_array_foreach (keys, k, key) {
			const json_t *v = json_array_get(json_object_get(sample, "keys"), k);

			if (json_is_false(json_object_get(key, "numeric")) && !json_is_null(v))
				assert_true((size_t)json_integer_value(v) <
					    json_array_size(json_object_get(key, "texts")));
		}
	}
	json_decref(d);
	d = document_of(s, false);
	assert_null(json_object_get(group_at(d, 0, 0), "samples"));
	json_decref(d);
	shop_free(s);
}

static void
names_that_are_no_text_are_shown_all_the_same(void **state)
{
	struct shop *s = shop_new(NULL);
	json_t *d;
	(void)state;

	shop_requests(s, "H\xff\xfe", 3, 0);
	d = document_of(s, false);
	assert_string_equal(text_at(json_array_get(json_object_get(d, "types"), 0), "type"), "H??");
	json_decref(d);
	shop_free(s);
}

static void
a_report_without_traces_is_a_document(void **state)
{
	struct shop *s = shop_new(NULL);
	json_t *d = document_of(s, true);
	(void)state;

	assert_int_equal(json_array_size(json_object_get(d, "types")), 0);
	assert_int_equal(json_array_size(json_object_get(d, "problems")), 0);
	json_decref(d);
	shop_free(s);
}

static void
other_documents_are_refused(void **state)
{
	json_t *other = json_pack("{s:s}", "document", "x"),
	       *later = json_pack(
		   "{s:s, s:i, s:[]}", "document", "hone.analysis", "version", 2, "types"),
	       *empty = json_pack("{s:s, s:i}", "document", "hone.analysis", "version", 1);
	struct err e;
	(void)state;

	assert_int_equal(document_check(other, "f", &e), ERR_INPUT);
	assert_int_equal(document_check(later, "f", &e), ERR_VERSION);
	assert_int_equal(document_check(empty, "f", &e), ERR_INPUT);
	assert_int_equal(document_check(NULL, "f", &e), ERR_INPUT);
	json_decref(other);
	json_decref(later);
	json_decref(empty);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_top_of_a_document),
		cmocka_unit_test(problems_are_added_up_by_call),
		cmocka_unit_test(requests_have_their_time),
		cmocka_unit_test(edges_hold_what_was_measured),
		cmocka_unit_test(small_groups_have_no_intervals),
		cmocka_unit_test(loops_stand_in_brackets),
		cmocka_unit_test(samples_name_their_texts),
		cmocka_unit_test(names_that_are_no_text_are_shown_all_the_same),
		cmocka_unit_test(a_report_without_traces_is_a_document),
		cmocka_unit_test(other_documents_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
