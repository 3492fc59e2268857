/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shop.h"

#include "report/request.h"

/* A request of 100 requests, as JSON. `times`: of its loop. */
static json_t *
request(struct shop *s, int64_t cart_ns, int times)
{
	uint64_t id = ++s->traces, unit = 2 * id, link = 1000000 + id;
	int64_t t = s->now_ns, begin = t;
	struct row rows[64] = {
		{ t, 0, unit, 'B', 0, "HOME", id },
		{ t + 40000, 0, unit, 'F', link, "cart", id },
		{ t + 50000, 0, unit + 1, 'b', link, "cart", id },
		{ t + 50000 + cart_ns, 0, unit + 1, 'e', link, "cart", id },
		{ t + 60000 + cart_ns, 0, unit, 'J', link, "cart", id },
	};
	size_t n = 5;
	struct request_facts f = { .report = s->report,
		.labels = s->kit->labels,
		.nodes = shop_nodes,
		.wall_offset_ns = 7 };
	struct arena a = { 0 };
	struct critpath path;
	struct shape shape;
	struct trace *trace;
	json_t *j;

	t += 60000 + cart_ns;
	for (int i = 0; i < times; i++) {
		rows[n++] = (struct row){ t += 5000, 0, unit, '.', 0, "draw", id };
		rows[n++] = (struct row){ t += 5000, 0, unit, '.', 0, "drawn", id };
	}
	rows[n++] = (struct row){ t + 40000, 0, unit, 'E', 0, "HOME", id };
	s->now_ns = t + 100000000;
	kit_batch(s->kit, 0, rows, n, s->now_ns);
	trace = assemble_next(s->kit->assemble);
	assert_non_null(trace);
	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	assert_int_equal(critpath_extract(&path, trace, s->kit->labels, NULL, &a, NULL), 0);
	assert_int_equal(shape_of(&shape, &path, s->kit->labels, &a, NULL), 0);
	f.trace = trace;
	f.path = &path;
	f.shape = &shape;
	j = request_json(&f, &a);
	assert_non_null(j);
	assert_int_equal(json_integer_value(json_object_get(j, "begin_ns")), begin + 7);
	trace_free(trace);
	arena_release(&a);
	return j;
}

static double
number(const json_t *o, const char *key)
{
	assert_true(json_is_number(json_object_get(o, key)));
	return json_number_value(json_object_get(o, key));
}

static const json_t *
unit_of(const json_t *request, size_t i)
{
	return json_array_get(json_object_get(request, "units"), i);
}

static void
the_units_have_all_of_the_path_and_of_the_shares(void **state)
{
	struct shop *s = shop_new(NULL);
	const json_t *front, *cart;
	json_t *j;

	(void)state;
	shop_requests(s, "HOME", 200, 0.8);
	j = request(s, 3000000, 0);
	front = unit_of(j, 0);
	cart = unit_of(j, 1);
	assert_near(number(cart, "path_ms"), 3, 1e-9);
	assert_near(number(front, "path_ms"), 0.1, 1e-9);
	assert_near(number(j, "total_ms"), 3.1, 1e-9);
	assert_near(number(cart, "share") + number(front, "share"), 1, 1e-9);
	assert_true(number(cart, "share") > 0.99);
	assert_true(number(cart, "usual_ms") > 0.5 && number(cart, "usual_ms") < 1.5);
	assert_near(number(front, "usual_ms"), 0.1, 1e-9);
	assert_near(number(cart, "edges_ms"), 3, 1e-9);
	assert_int_equal(json_integer_value(json_object_get(cart, "parent")), 0);
	assert_true(json_is_true(json_object_get(cart, "joined")));
	assert_string_equal(json_string_value(json_object_get(cart, "name")), "cart");
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(j, "group"), "problem")),
	    "unpredictable");
	json_decref(j);
	shop_free(s);
}

/* A loop has a number of its own in each request, and its edge counts once however often it is passed. */
static void
an_edge_that_is_passed_often_counts_once(void **state)
{
	struct shop *s = shop_new(NULL);
	const json_t *front;
	json_t *j;

	(void)state;
	for (int i = 0; i < 100; i++)
		shop_request(s, "HOME", 1000000 + i * 1000, 1 + i % 5);
	j = request(s, 1000000, 4);
	front = unit_of(j, 0);
	assert_near(number(front, "path_ms"), 0.14, 1e-9);
	assert_near(number(front, "edges_ms"), 0.14, 1e-9);
	assert_near(number(front, "share") + number(unit_of(j, 1), "share"), 1, 1e-9);
	assert_int_equal(json_array_size(json_object_get(front, "records")), 8);
	json_decref(j);
	shop_free(s);
}

static void
a_request_of_an_unknown_group_has_no_shares(void **state)
{
	struct shop *s = shop_new(NULL);
	json_t *j = request(s, 1000000, 0);

	(void)state;
	assert_true(json_is_null(json_object_get(j, "group")));
	assert_true(json_is_null(json_object_get(unit_of(j, 0), "share")));
	assert_near(number(unit_of(j, 1), "path_ms"), 1, 1e-9);
	json_decref(j);
	shop_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_units_have_all_of_the_path_and_of_the_shares),
		cmocka_unit_test(an_edge_that_is_passed_often_counts_once),
		cmocka_unit_test(a_request_of_an_unknown_group_has_no_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
