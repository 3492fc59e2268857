/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Learning a healthy window and comparing others with it, on an application that is made up. */
#include "kernel/patterns/states_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kernel/patterns/states_compare.h"
#include "tests/unit/kernel/patterns/shop.h"

static struct states_baseline *
learn_with(uint64_t seed, uint32_t requests, enum fault fault)
{
	struct states_options o = { .seed = 1 };
	struct states_learner *l;
	struct states_baseline *b = NULL;
	struct shop s;
	struct err e = { 0 };

	shop_init(&s, seed, fault);
	assert_int_equal(states_learner_new(&l, &o, &e), 0);
	for (uint32_t i = 0; i < requests; i++) {
		struct operations r = shop_request(&s);

		assert_int_equal(states_learner_add(l, &r, &e), 0);
	}
	assert_int_equal(states_learner_finish(l, &b, &e), 0);
	states_learner_free(l);
	return b;
}

static struct states_baseline *
learn(uint64_t seed, uint32_t requests)
{
	return learn_with(seed, requests, FAULT_NONE);
}

static struct states_comparison *
compare(const struct states_baseline *b, uint64_t seed, uint32_t requests, enum fault fault)
{
	struct states_comparer *c;
	struct states_comparison *ret = NULL;
	struct shop s;
	struct err e = { 0 };

	shop_init(&s, seed, fault);
	assert_int_equal(states_comparer_new(&c, b, &e), 0);
	for (uint32_t i = 0; i < requests; i++) {
		struct operations r = shop_request(&s);

		assert_int_equal(states_comparer_add(c, &r, NULL, &e), 0);
	}
	assert_int_equal(states_comparer_finish(c, &ret, &e), 0);
	states_comparer_free(c);
	return ret;
}

static void
a_healthy_window_raises_no_alarm_in_99_percent(void **state)
{
	static const uint32_t sizes[] = { 60, 200, 600, 2000 };
	(void)state;

	for (uint32_t k = 0; k < 4; k++) {
		uint64_t operations = 0, outside = 0, places = 0, found = 0;

		for (uint64_t seed = 0; seed < 10; seed++) {
			struct states_baseline *b = learn(1000 + seed, sizes[k]);
			struct states_comparison *c = compare(b, 5000 + seed, 500, FAULT_NONE);

			operations += c->operations;
			outside += c->outside;
			for (uint32_t i = 0; i < c->ntypes; i++)
				for (uint32_t p = 0; p < c->types[i].type->nplaces; p++) {
					places++;
					found += c->types[i].places[p].nfindings > 0;
				}
			states_comparison_free(c);
			states_baseline_free(b);
		}
		assert_true(outside < 0.01 * (double)operations);
		assert_true(found <= 1);
	}
}

static const struct {
	enum fault fault;
	const char *place;
	enum below_state state;
	bool more;
} expected[] = {
	{ FAULT_DISK, "database query", BELOW_DISK, true },
	{ FAULT_LOCK, "articles get", BELOW_LOCK, true },
	{ FAULT_CPU, "users check", BELOW_READY, true },
	{ FAULT_NETWORK, "front GET /page", BELOW_NETWORK, true },
	{ FAULT_TIMER, "articles get", BELOW_TIMER, true },
	{ FAULT_COMPUTE, "front GET /page", BELOW_RUNNING, true },
	{ FAULT_THREADED, "users check", BELOW_NETWORK, false },
};

static void
each_fault_is_found_at_its_operation_and_state(void **state)
{
	struct states_baseline *b = learn(1, 1500);
	(void)state;

	for (uint32_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
		struct states_comparison *c = compare(b, 100 + k, 200, expected[k].fault);
		uint32_t here = 0, elsewhere = 0;

		assert_int_equal(c->ntypes, 1);
		assert_int_equal(c->nnews, 0);
		for (uint32_t p = 0; p < c->types[0].type->nplaces; p++) {
			const struct states_place_change *x = &c->types[0].places[p];

			if (x->nfindings == 0)
				continue;
			if (strcmp(x->place->name, expected[k].place) != 0) {
				elsewhere++;
				continue;
			}
			assert_int_equal(x->findings[0].state, expected[k].state);
			assert_int_equal(x->findings[0].more, expected[k].more);
			here++;
		}
		assert_int_equal(here, 1);
		assert_int_equal(elsewhere, 0);
		states_comparison_free(c);
	}
	states_baseline_free(b);
}

static void
patterns_are_those_of_the_program(void **state)
{
	struct states_baseline *b = learn(1, 500);
	struct buf text = { 0 };
	bool disk = false;
	(void)state;

	for (uint32_t p = 0; p < b->types[0].nplaces; p++)
		for (uint32_t i = 0; i < b->types[0].places[p].nintervals; i++)
			for (uint32_t k = 0; k < b->types[0].places[p].intervals[i].npatterns;
			     k++) {
				const struct states_pattern
				    *q = &b->types[0].places[p].intervals[i].patterns[k];

				buf_reset(&text);
				states_pattern_text(&text, q);
				disk = disk ||
				       (text.len == 8 && memcmp(text.data, "(R-D)+-R", 8) == 0);
			}
	assert_true(disk);
	buf_release(&text);
	states_baseline_free(b);
}

/* ---- waits for a processor ---- */

enum { SERVICES = 8 };

struct busy { /* operations of services that call nobody */
	struct rng rng;
	double wait;        /* waits for a processor are so many times as long, of all */
	double wait_of_one; /* and of the first service */
	double work_of_one; /* it works so many times as long, */
	uint32_t work_in;   /* in one operation of so many */
	double loss;        /* and waits so many times as long as it works */
};

/* One request of one service, whose name is in the operation. */
static struct operations
busy_request(struct busy *b, uint32_t service)
{
	static const char *const names[SERVICES] = { "a GET /", "b GET /", "c GET /", "d GET /",
		"e GET /", "f GET /", "g GET /", "h GET /" };
	static struct operation_piece pieces[2];
	static struct operation op;
	double wait = 100e3 * b->wait * exp(0.5 * rng_normal(&b->rng));
	double work = 500e3 * exp(0.1 * rng_normal(&b->rng));

	if (service == 0) {
		wait *= b->wait_of_one;
		work *= rng_below(&b->rng, b->work_in) == 0 ? b->work_of_one : 1;
		wait += b->loss * work;
	}
	pieces[0] = (struct operation_piece){ 0, (int64_t)wait, OPERATION_NONE, BELOW_READY };
	pieces[1] = (struct operation_piece){ (int64_t)wait, (int64_t)(wait + work), OPERATION_NONE,
		BELOW_RUNNING };
	op = (struct operation){ .name = names[service],
		.name_len = (uint32_t)strlen(names[service]),
		.parent = OPERATION_NONE,
		.end_ns = (int64_t)(wait + work),
		.pieces = pieces,
		.npieces = 2 };
	return (struct operations){ .id = 1, .list = &op, .n = 1 };
}

static struct states_baseline *
busy_learn(uint64_t seed)
{
	struct busy usual = { .wait = 1, .wait_of_one = 1, .work_of_one = 1, .work_in = 1 };
	struct states_options o = { .seed = 1 };
	struct states_learner *l;
	struct states_baseline *b = NULL;
	struct err e = { 0 };

	rng_seed(&usual.rng, seed);
	assert_int_equal(states_learner_new(&l, &o, &e), 0);
	for (uint32_t i = 0; i < 400 * SERVICES; i++) {
		struct operations r = busy_request(&usual, i % SERVICES);

		assert_int_equal(states_learner_add(l, &r, &e), 0);
	}
	assert_int_equal(states_learner_finish(l, &b, &e), 0);
	states_learner_free(l);
	return b;
}

static struct states_comparison *
busy_compare(const struct states_baseline *b, struct busy now, uint32_t services, uint64_t seed)
{
	struct states_comparer *c;
	struct states_comparison *ret = NULL;
	struct err e = { 0 };

	rng_seed(&now.rng, seed);
	assert_int_equal(states_comparer_new(&c, b, &e), 0);
	for (uint32_t i = 0; i < 150 * services; i++) {
		struct operations r = busy_request(&now, i % services);

		assert_int_equal(states_comparer_add(c, &r, NULL, &e), 0);
	}
	assert_int_equal(states_comparer_finish(c, &ret, &e), 0);
	states_comparer_free(c);
	return ret;
}

/* The finding of service `a`; NULL: none. No other has one. */
static const struct states_finding *
only_finding(const struct states_comparison *c)
{
	const struct states_finding *ret = NULL;

	for (uint32_t i = 0; i < c->ntypes; i++) {
		const struct states_place_change *p = &c->types[i].places[0];

		if (p->nfindings == 0)
			continue;
		assert_int_equal(p->place->name[0], 'a');
		ret = &p->findings[0];
		for (uint32_t k = 1; k < p->nfindings; k++)
			assert_true(p->findings[k].cost_ns <= ret->cost_ns);
	}
	return ret;
}

static void
a_machine_that_is_busier_for_all_services_is_no_finding_of_an_operation(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct states_baseline *b = busy_learn(seed);
		struct states_comparison *c = busy_compare(b,
		    (struct busy){ .wait = 8, .wait_of_one = 1, .work_of_one = 1, .work_in = 1 },
		    SERVICES, 100 + seed);

		assert_null(only_finding(c));
		assert_true(c->machine > 5 && c->machine < 10);
		states_comparison_free(c);
		/* one service that waits, on a machine that is as usual, or a little busier, is one */
		c = busy_compare(b,
		    (struct busy){ .wait = 1.5, .wait_of_one = 20, .work_of_one = 1, .work_in = 1 },
		    SERVICES, 200 + seed);
		assert_non_null(only_finding(c));
		assert_int_equal(only_finding(c)->state, BELOW_READY);
		assert_true(c->machine < 2);
		states_comparison_free(c);
		/* without another service nothing is known of the machine */
		c = busy_compare(b,
		    (struct busy){ .wait = 8, .wait_of_one = 1, .work_of_one = 1, .work_in = 1 }, 1,
		    300 + seed);
		assert_non_null(only_finding(c));
		assert_true(c->machine == 1);
		states_comparison_free(c);
		states_baseline_free(b);
	}
}

static void
waits_for_a_processor_that_come_of_more_work_are_not_the_first(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct states_baseline *b = busy_learn(seed);
		/* one of four computes for 12.5 ms, and waits five times as long meanwhile */
		struct states_comparison *c = busy_compare(b,
		    (struct busy){
			.wait = 1, .wait_of_one = 1, .work_of_one = 25, .work_in = 4, .loss = 5 },
		    SERVICES, 400 + seed);
		const struct states_finding *f = only_finding(c);

		assert_non_null(f);
		assert_int_equal(f->state, BELOW_RUNNING);
		assert_true(f->cost_ns > 4 * fabs(f->excess_ns) * f->operations);
		states_comparison_free(c);
		/* it works for longer, but all that it waits is by others */
		c = busy_compare(b,
		    (struct busy){ .wait = 1, .wait_of_one = 300, .work_of_one = 3, .work_in = 1 },
		    SERVICES, 500 + seed);
		f = only_finding(c);
		assert_non_null(f);
		assert_int_equal(f->state, BELOW_READY);
		states_comparison_free(c);
		states_baseline_free(b);
	}
}

static void
what_is_a_small_part_of_the_operation_is_no_finding(void **state)
{
	struct states_baseline *b = busy_learn(1);
	struct states_comparison *c = busy_compare(b,
	    (struct busy){ .wait = 1, .wait_of_one = 1, .work_of_one = 1.04, .work_in = 1 },
	    SERVICES, 7);
	(void)state;

	assert_null(only_finding(c));
	states_comparison_free(c);
	states_baseline_free(b);
}

/* ---- documents ---- */

static json_t *
through_text(json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(12));
	json_t *ret = json_loads(text, 0, NULL);

	json_decref(document);
	free(text);
	assert_non_null(ret);
	return ret;
}

/* The baseline has a slow disk, and the window a slow rendering: what reads saves more than what renders loses. */
static void
operations_that_became_slower_are_listed_first(void **state)
{
	struct states_baseline *b = learn_with(1, 500, FAULT_DISK);
	struct states_comparison *c = compare(b, 7, 300, FAULT_COMPUTE);
	json_t *document = states_comparison_json(c, "b"), *o;
	int slower = 0, faster = 0;
	size_t i;
	(void)state;

	json_array_foreach (json_object_get(document, "operations"), i, o) {
		json_t *first = json_array_get(json_object_get(o, "findings"), 0);

		if (first == NULL)
			continue;
		if (!json_is_true(json_object_get(first, "more"))) {
			faster++;
			continue;
		}
		slower++;
		assert_int_equal(faster, 0);
	}
	assert_true(slower > 0 && faster > 0);
	json_decref(document);
	states_comparison_free(c);
	states_baseline_free(b);
}

static void
a_baseline_comes_back_from_its_document(void **state)
{
	struct states_baseline *b = learn(1, 400), *back = NULL;
	json_t *document = through_text(states_json(b, "2026-01-01T00:00:00Z"));
	struct err e = { 0 };
	(void)state;

	assert_int_equal(states_read(&back, document, "b", &e), 0);
	for (int fault = 0; fault < FAULTS; fault++) {
		struct states_comparison *x = compare(b, 7, 100, (enum fault)fault),
					 *y = compare(back, 7, 100, (enum fault)fault);
		json_t *j = states_comparison_json(x, "b"), *k = states_comparison_json(y, "b");
		char *p = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(5)),
		     *q = json_dumps(k, JSON_COMPACT | JSON_REAL_PRECISION(5));

		assert_string_equal(p, q);
		free(p);
		free(q);
		json_decref(j);
		json_decref(k);
		states_comparison_free(x);
		states_comparison_free(y);
	}
	json_decref(document);
	states_baseline_free(b);
	states_baseline_free(back);
}

static void
a_newer_version_and_other_documents_are_refused(void **state)
{
	struct states_baseline *b = learn(1, 60), *back = NULL;
	json_t *document = through_text(states_json(b, NULL));
	struct err e = { 0 };
	(void)state;

	json_object_set_new(document, "version", json_integer(STATES_VERSION + 1));
	assert_int_equal(states_read(&back, document, "monday", &e), ERR_VERSION);
	assert_non_null(strstr(e.text, "monday: a baseline of states of version 2"));
	json_object_set_new(document, "document", json_string("hone.analysis"));
	assert_int_equal(states_read(&back, document, "monday", &e), ERR_INPUT);
	json_decref(document);
	states_baseline_free(b);
}

/* Visits all values of the document, and lets *left of them pass. */
static bool
spoil(json_t *j, int *left, int how)
{
	static const char *const bad[] = { "\"x\"", "-1", "1e300", "[]", "null", "4294967295" };
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_object(j)) {
		json_object_foreach (j, key, v) {
			if ((*left)-- == 0)
				return json_object_set_new(j, key,
					   json_loads(bad[how], JSON_DECODE_ANY, NULL)) == 0;
			if (spoil(v, left, how))
				return true;
		}
	} else if (json_is_array(j)) {
		json_array_foreach (j, i, v) {
			if ((*left)-- == 0)
				return json_array_set_new(
					   j, i, json_loads(bad[how], JSON_DECODE_ANY, NULL)) == 0;
			if (spoil(v, left, how))
				return true;
		}
	}
	return false;
}

static void
a_spoiled_document_is_refused_or_read(void **state)
{
	struct states_baseline *b = learn(1, 60);
	json_t *document = through_text(states_json(b, NULL));
	int refused = 0, taken = 0;
	(void)state;

	for (int at = 0; at < 4000; at += 3)
		for (int how = 0; how < 6; how++) {
			json_t *copy = json_deep_copy(document);
			struct states_baseline *back = NULL;
			struct err e = { 0 };
			int left = at, rc;

			if (!spoil(copy, &left, how)) {
				json_decref(copy);
				continue;
			}
			rc = states_read(&back, copy, "b", &e);
			assert_true(rc == 0 ||
				    ((rc == ERR_INPUT || rc == ERR_VERSION) && e.text[0] != '\0'));
			if (rc == 0)
				states_comparison_free(compare(back, 3, 5, FAULT_NONE));
			refused += rc != 0;
			taken += rc == 0;
			states_baseline_free(back);
			json_decref(copy);
		}
	assert_true(refused > 500 && taken > 10);
	json_decref(document);
	states_baseline_free(b);
}

static void
what_is_malformed_or_too_much_is_counted(void **state)
{
	struct states_options o = { .memory_bytes = 100000 };
	struct states_learner *l;
	struct states_baseline *b = NULL;
	struct operation_piece gap[] = { { 0, 10, OPERATION_NONE, BELOW_RUNNING },
		{ 11, 20, OPERATION_NONE, BELOW_RUNNING } };
	struct operation op = { .name = "x",
		.name_len = 1,
		.parent = OPERATION_NONE,
		.end_ns = 20,
		.pieces = gap,
		.npieces = 2 };
	struct operations bad = { .list = &op, .n = 1 };
	struct shop s;
	struct err e = { 0 };
	(void)state;

	assert_int_equal(states_learner_new(&l, &o, &e), 0);
	assert_int_equal(states_learner_finish(l, &b, &e), ERR_INPUT);
	assert_int_equal(states_learner_add(l, &bad, &e), 0);
	gap[1].from_ns = 10;
	gap[1].state = BELOW_UNKNOWN;
	assert_int_equal(states_learner_add(l, &bad, &e), 0);
	shop_init(&s, 1, FAULT_NONE);
	for (int i = 0; i < 1000; i++) {
		struct operations r = shop_request(&s);

		assert_int_equal(states_learner_add(l, &r, &e), 0);
	}
	assert_int_equal(states_learner_finish(l, &b, &e), 0);
	assert_int_equal(b->counts.malformed, 1);
	assert_int_equal(b->counts.unknown, 1);
	assert_in_range(b->counts.not_kept, 1000, 6000);
	assert_int_equal(b->ntypes, 2);
	assert_int_equal(b->types[1].places[0].limits.samples, 0); /* too few */
	states_baseline_free(b);
	states_learner_free(l);
	o.support = 1.5;
	assert_int_equal(states_learner_new(&l, &o, &e), ERR_INPUT);
}

static void
a_longer_wait_that_is_below_is_explained(void **state)
{
	/* The caller waits for another thread, of which a part is no operation of its own; both become slower together. */
	struct operation_piece own[2][4];
	struct operation op[2];
	struct operations r = { .list = op, .n = 2 };
	struct states_options o = { .seed = 1 };
	struct states_learner *l;
	struct states_baseline *b = NULL;
	struct states_comparer *c;
	struct states_comparison *x = NULL;
	struct rng rng;
	struct err e = { 0 };
	(void)state;

	rng_seed(&rng, 1);
	assert_int_equal(states_learner_new(&l, &o, &e), 0);
	for (int i = 0; i < 400; i++) {
		int64_t slow = i < 300 ? 1 : 5, at = 0,
			us = 1000 * (90 + (int64_t)rng_below(&rng, 20));

		memset(op, 0, sizeof op);
		op[0] = (struct operation){ "caller", 6, OPERATION_NONE, 0, 0, own[0], 4 };
		op[1] = (struct operation){ "called", 6, 0, 0, 0, own[1], 1 };
		own[0][0] = (struct operation_piece){ 0, us, OPERATION_NONE, BELOW_RUNNING };
		at = own[0][0].to_ns;
		own[0][1] = (struct operation_piece){ at, at + slow * us, OPERATION_NONE,
			BELOW_THREAD };
		at = own[0][1].to_ns;
		own[0][2] = (struct operation_piece){ at, at + slow * us, 1, BELOW_THREAD };
		own[1][0] = (struct operation_piece){ at, at + slow * us, OPERATION_NONE,
			BELOW_DISK };
		op[1].begin_ns = at;
		at = op[1].end_ns = own[0][2].to_ns;
		own[0][3] = (struct operation_piece){ at, at + us, OPERATION_NONE, BELOW_RUNNING };
		op[0].end_ns = at + us;
		if (i < 300) {
			assert_int_equal(states_learner_add(l, &r, &e), 0);
			continue;
		}
		if (i == 300) {
			assert_int_equal(states_learner_finish(l, &b, &e), 0);
			assert_int_equal(states_comparer_new(&c, b, &e), 0);
		}
		assert_int_equal(states_comparer_add(c, &r, NULL, &e), 0);
	}
	assert_int_equal(states_comparer_finish(c, &x, &e), 0);
	assert_int_equal(x->types[0].places[0].nfindings, 0);
	assert_int_equal(x->types[0].places[0].explained, 100);
	assert_int_equal(x->types[0].places[1].findings[0].state, BELOW_DISK);
	assert_int_equal(x->types[0].places[1].outside, 100);
	states_comparison_free(x);
	states_comparer_free(c);
	states_baseline_free(b);
	states_learner_free(l);
}

static void
a_single_request_is_compared_too(void **state)
{
	struct states_baseline *b = learn(1, 2000);
	uint32_t outside = 0;
	(void)state;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct states_comparison *c = compare(b, 900 + seed, 1, FAULT_THREADED);

		outside += c->types[0].places[1].outside;
		assert_true(c->types[0].places[1].outside == 0 ||
			    c->types[0].places[1].examples[0].state == BELOW_NETWORK);
		states_comparison_free(c);
	}
	assert_in_range(outside, 49, 50);
	states_baseline_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_those_of_the_program),
		cmocka_unit_test(each_fault_is_found_at_its_operation_and_state),
		cmocka_unit_test(a_single_request_is_compared_too),
		cmocka_unit_test(a_longer_wait_that_is_below_is_explained),
		cmocka_unit_test(a_healthy_window_raises_no_alarm_in_99_percent),
		cmocka_unit_test(
		    a_machine_that_is_busier_for_all_services_is_no_finding_of_an_operation),
		cmocka_unit_test(waits_for_a_processor_that_come_of_more_work_are_not_the_first),
		cmocka_unit_test(what_is_a_small_part_of_the_operation_is_no_finding),
		cmocka_unit_test(operations_that_became_slower_are_listed_first),
		cmocka_unit_test(a_baseline_comes_back_from_its_document),
		cmocka_unit_test(a_newer_version_and_other_documents_are_refused),
		cmocka_unit_test(a_spoiled_document_is_refused_or_read),
		cmocka_unit_test(what_is_malformed_or_too_much_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
