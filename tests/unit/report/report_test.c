/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shop.h"

#include "report/document.h"

static const struct judged *
first_group(const struct shop *s)
{
	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	assert_true(report_type(s->report, 0)->ngroups > 0);
	return report_type(s->report, 0)->groups[0];
}

static void
the_edge_that_varies_carries_the_variance(void **state)
{
	struct shop *s = shop_new(NULL);
	const struct judged *j;
	const struct shape_edge *top;
	double sum = 0;
	(void)state;

	shop_requests(s, "HOME", 400, 0.8);
	j = first_group(s);
	top = &j->group->shape.edges[j->finding.top];
	assert_true(j->deep);
	assert_int_equal(j->finding.problem, PROBLEM_UNPREDICTABLE);
	assert_string_equal(labels_get(s->kit->labels, top->from)->text, "s/hone:unit_begin(cart)");
	assert_string_equal(labels_get(s->kit->labels, top->to)->text, "s/hone:unit_end(cart)");
	for (uint32_t i = 0; i < j->finding.nedges; i++)
		sum += j->finding.edges[i].share;
	assert_near(sum, 1, 1e-9);
	assert_near(j->finding.edges[j->finding.top].share, 1, 1e-9);
	assert_true(j->has_what_if);
	assert_true(j->what_if.then.cv < 0.01 && j->what_if.now.cv > 0.3);
	assert_int_equal(j->tail.nedges, j->finding.nedges);
	assert_near(j->tail.edges[j->finding.top].excess_share, 1, 1e-9);
	assert_ptr_equal(report_problem(s->report, 0)->judged, j);
	assert_null(report_problem(s->report, 1));
	shop_free(s);
}

static void
steady_requests_are_no_problem(void **state)
{
	struct shop *s = shop_new(NULL);
	(void)state;

	shop_requests(s, "HOME", 400, 0.01);
	assert_int_equal(first_group(s)->finding.problem, PROBLEM_NONE);
	assert_false(first_group(s)->has_what_if);
	assert_null(report_problem(s->report, 0));
	shop_free(s);
}

static void
few_requests_are_not_judged(void **state)
{
	struct shop *s = shop_new(NULL);
	(void)state;

	shop_requests(s, "HOME", 29, 0.8);
	assert_false(first_group(s)->deep);
	assert_int_equal(first_group(s)->finding.problem, PROBLEM_UNSURE);
	shop_requests(s, "HOME", 1, 0.8);
	assert_true(first_group(s)->deep);
	shop_free(s);
}

static char *
text_of(struct shop *s)
{
	struct document_options o = {
		.source = json_object(), .samples = true, .label = LABEL_NONE
	};
	json_t *document;
	char *text;

	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	document = document_new(s->report, &o);
	text = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	return text;
}

static void
any_number_of_threads_gives_the_same_report(void **state)
{
	char *texts[3];
	(void)state;

	for (uint32_t threads = 1; threads <= 3; threads++) {
		struct report_options o = report_defaults();
		struct shop *s;
		char name[16];

		o.threads = threads;
		s = shop_new(&o);
		for (int i = 0; i < 12; i++) {
			snprintf(name, sizeof name, "T%d", i);
			shop_requests(s, name, 20 + 8 * i, 0.07 * i);
		}
		texts[threads - 1] = text_of(s);
		shop_free(s);
	}
	assert_string_equal(texts[0], texts[1]);
	assert_string_equal(texts[0], texts[2]);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
}

static void
problems_of_all_types_are_ranked_by_cost(void **state)
{
	struct shop *s = shop_new(NULL);
	const struct report_problem *p;
	double last = INFINITY;
	uint32_t n = 0;
	(void)state;

	shop_requests(s, "A", 50, 0.5);
	shop_requests(s, "B", 200, 0.5);
	shop_requests(s, "C", 100, 0.5);
	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	for (; (p = report_problem(s->report, n)) != NULL; n++) {
		assert_true(p->judged->finding.cost_ns <= last);
		assert_int_equal(p->type->label, p->judged->group->type);
		last = p->judged->finding.cost_ns;
	}
	assert_int_equal(n, 3);
	assert_int_equal(report_problem(s->report, 0)->type->total.n, 200);
	shop_free(s);
}

/* What a type's own judgement finds is what the judgement of all finds of it, and nothing of others. */
static void
one_type_is_judged_alone_as_it_is_with_all(void **state)
{
	struct shop *s = shop_new(NULL);
	struct judged with_all;
	struct hash128 key, other;
	uint32_t label;
	(void)state;

	shop_requests(s, "A", 60, 0.5);
	shop_requests(s, "B", 200, 0.5);
	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	with_all = *report_problem(s->report, 1)->judged;
	key = with_all.group->shape.key;
	other = report_problem(s->report, 0)->judged->group->shape.key;
	label = with_all.group->type;
	assert_int_equal(report_judge_type(s->report, label, true, &s->kit->e), 0);
	assert_non_null(report_problem(s->report, 0));
	assert_null(report_problem(s->report, 1));
	assert_null(report_judged(s->report, other));
	assert_true(
	    report_judged(s->report, key)->finding.probability == with_all.finding.probability);
	assert_true(report_judged(s->report, key)->what_if.then.cv == with_all.what_if.then.cv);
	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	assert_non_null(report_judged(s->report, other));
	shop_free(s);
}

/* A report limited to the most costly problems has the same details for these, and only the
 * summary figures of the others. */
static void
only_the_problems_asked_for_are_looked_into(void **state)
{
	struct report_options o = report_defaults();
	struct shop *all = shop_new(NULL), *some;
	(void)state;

	o.details = 2;
	some = shop_new(&o);
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof name, "T%d", i);
		shop_requests(all, name, 60 + 20 * i, 0.8);
		shop_requests(some, name, 60 + 20 * i, 0.8);
	}
	assert_int_equal(report_judge(all->report, &all->kit->e), 0);
	assert_int_equal(report_judge(some->report, &some->kit->e), 0);
	assert_non_null(report_problem(some->report, 3));
	for (uint32_t i = 0; i < 4; i++) {
		const struct judged *a = report_problem(all->report, i)->judged,
				    *s = report_problem(some->report, i)->judged;

		assert_non_null(a->edges);
		assert_int_equal(s->edges != NULL, i < 2);
		assert_int_equal(s->has_what_if, i < 2);
		assert_true(a->finding.cost_ns == s->finding.cost_ns &&
			    a->finding.probability == s->finding.probability);
		for (uint32_t e = 0; e < a->finding.nedges; e++) {
			const struct edge_share *x = &a->finding.edges[e],
						*y = &s->finding.edges[e];

			assert_true(x->share == y->share);
			assert_true(y->interval.low == (i < 2 ? x->interval.low : x->share));
			assert_true(y->interval.high == (i < 2 ? x->interval.high : x->share));
		}
	}
	shop_free(all);
	shop_free(some);
}

static void
types_are_chosen_and_bounded(void **state)
{
	struct report_options o = report_defaults();
	struct report_counts n;
	struct shop *s;
	(void)state;

	o.type = "GET_*";
	o.types_max = 2;
	s = shop_new(&o);
	shop_requests(s, "GET_A", 3, 0);
	shop_requests(s, "PUT_A", 5, 0);
	shop_requests(s, "GET_B", 7, 0);
	shop_requests(s, "GET_C", 11, 0);
	report_counts(s->report, &n);
	assert_int_equal(n.traces, 10);
	assert_int_equal(n.passed_over, 5);
	assert_int_equal(n.untyped, 11);
	assert_null(report_type(s->report, 2));
	shop_free(s);
}

static void
groups_without_room_are_counted_for_their_type(void **state)
{
	struct report_options o = report_defaults();
	struct report_counts n;
	struct shop *s;
	(void)state;

	o.groups_max = 1;
	s = shop_new(&o);
	shop_requests(s, "A", 3, 0);
	shop_requests(s, "B", 5, 0);
	report_counts(s->report, &n);
	assert_int_equal(n.other, 5);
	assert_int_equal(report_type(s->report, 1)->other.n, 5);
	assert_int_equal(report_type(s->report, 1)->total.n, 5);
	assert_int_equal(report_type(s->report, 0)->other.n, 0);
	shop_free(s);
}

static void
excluded_waits_are_not_part_of_any_time(void **state)
{
	static const char *const ignore[] = { "*unit_begin(cart)", NULL };
	struct report_options o = report_defaults();
	const struct judged *j;
	struct shop *s;
	(void)state;

	o.ignore = ignore;
	s = shop_new(&o);
	shop_requests(s, "A", 100, 0.9);
	j = first_group(s);
	/* 40 us to the fork, 10 from the cart's end to the join, 40 to the end */
	assert_near(report_type(s->report, 0)->total.mean, 90000, 1e-6);
	assert_near(j->group->total.mean, 90000, 1e-6);
	assert_true(j->group->ignored.mean > 9e5);
	assert_int_equal(j->finding.problem, PROBLEM_NONE);
	shop_free(s);
}

static void
structure_only_leaves_out_all_other_tracepoints(void **state)
{
	struct report_options o = report_defaults();
	struct shop *s;
	(void)state;

	o.structure_only = true;
	s = shop_new(&o);
	shop_request(s, "A", 1000, 0);
	shop_request(s, "A", 1000, 3);
	assert_int_equal(first_group(s)->group->total.n, 2);
	shop_free(s);
}

static void
a_trace_without_a_path_is_counted(void **state)
{
	struct shop *s = shop_new(NULL);
	struct event events[1] = { 0 };
	struct unit units[1] = { { .id = 1, .count = 1, .fork = TRACE_NONE } };
	struct trace t = { .id = 0xabc,
		.nevents = 1,
		.nunits = 1,
		.events = events,
		.units = units,
		.end_ns = 5 };
	struct report_counts n;
	(void)state;

	t.type = events[0].label = labels_intern(
	    s->kit->labels, RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", 23, NULL, 0);
	assert_int_equal(report_add(s->report, &t, shop_nodes, &s->kit->e), 0);
	report_counts(s->report, &n);
	assert_int_equal(n.pathless, 1);
	assert_int_equal(n.traces, 0);
	assert_non_null(strstr(n.pathless_why, "0000000000000abc"));
	assert_int_equal(report_judge(s->report, &s->kit->e), 0);
	shop_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_edge_that_varies_carries_the_variance),
		cmocka_unit_test(steady_requests_are_no_problem),
		cmocka_unit_test(few_requests_are_not_judged),
		cmocka_unit_test(any_number_of_threads_gives_the_same_report),
		cmocka_unit_test(problems_of_all_types_are_ranked_by_cost),
		cmocka_unit_test(one_type_is_judged_alone_as_it_is_with_all),
		cmocka_unit_test(only_the_problems_asked_for_are_looked_into),
		cmocka_unit_test(types_are_chosen_and_bounded),
		cmocka_unit_test(groups_without_room_are_counted_for_their_type),
		cmocka_unit_test(excluded_waits_are_not_part_of_any_time),
		cmocka_unit_test(structure_only_leaves_out_all_other_tracepoints),
		cmocka_unit_test(a_trace_without_a_path_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
