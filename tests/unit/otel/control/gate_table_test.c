/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/control/gate_message.h"
#include "otel/control/gate_table.h"

#define S INT64_C(1000000000)

struct kit {
	struct gate_table *t;
	struct arena a;
	struct gate_answer told;
	struct err e;
	bool is_new;
	int64_t now_s;
};

static void
kit_begin(struct kit *k)
{
	const struct gate_table_options o = { 5 * S, S / 4, S, 100 };

	*k = (struct kit){ .now_s = 1000 };
	assert_non_null(k->t = gate_table_new(&o));
}

static void
kit_end(struct kit *k)
{
	gate_table_free(k->t);
	arena_release(&k->a);
}

static struct mono
now_of(const struct kit *k)
{
	return (struct mono){ k->now_s * S };
}

/* names: separated by commas, or "" */
static int
ask(struct kit *k, const char *service, const char *instance, uint64_t version, const char *names)
{
	struct buf b = { 0 };
	struct gate_question q;
	int rc;

	buf_printf(&b,
	    "{\"service\":\"%s\",\"pid\":7,\"instance\":\"%s\",\"gate\":\"1\",\"first\":%s,\"version\":%llu,\"spans\":3,"
	    "\"on_ns\":9000,\"off_ns\":200.5,\"names\":[",
	    service, instance, version == 0 ? "true" : "false", (unsigned long long)version);
	for (const char *at = names; *at != '\0';) {
		size_t len = strcspn(at, ",");

		buf_printf(&b, "%s\"%.*s\"", at > names ? "," : "", (int)len, at);
		at += len + (at[len] == ',');
	}
	buf_printf(&b, "]}");
	rc = gate_question_read(&q, &k->a, b.data, b.len, &k->e);
	if (rc == 0)
		rc = gate_table_ask(k->t, &q, now_of(k), &k->told, &k->is_new, &k->a, &k->e);
	buf_release(&b);
	return rc;
}

static void
want(struct kit *k, const char *first, const char *second, double probed, int64_t lease_s)
{
	struct toggle toggles[2] = { { first }, { second } };
	struct rate rate = { "GET", 1, probed };
	struct want w = { .ntoggles = (first != NULL) + (second != NULL),
		.toggles = toggles,
		.nrates = 1,
		.rates = &rate };

	assert_int_equal(
	    gate_table_want(k->t, &w, (struct mono){ (k->now_s + lease_s) * S }, &k->e), 0);
}

static void
a_span_is_on_from_its_want_until_its_lease_ends(void **state)
{
	uint64_t version;
	struct kit k;
	(void)state;

	kit_begin(&k);
	assert_int_equal(ask(&k, "price", "a", 0, "price:tax,price:round"), 0);
	assert_true(k.is_new && k.told.listed && k.told.non == 0 && !k.told.again);
	assert_int_equal(k.told.poll_ms, 1000);
	want(&k, "price:tax_begin", NULL, 1, 3);
	assert_false(gate_table_confirmed(k.t));
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 0, 0);
	assert_int_equal(ask(&k, "price", "a", 100, ""), 0);
	assert_int_equal(k.told.non, 1);
	assert_string_equal(k.told.on[0], "price:tax");
	assert_int_equal(k.told.lease_ms, 3000);
	assert_int_equal(k.told.poll_ms, 250);
	assert_false(gate_table_confirmed(k.t));
	version = k.told.version;
	assert_int_equal(ask(&k, "price", "a", version, ""), 0);
	assert_false(k.told.listed); /* as before */
	assert_true(gate_table_confirmed(k.t));
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 1, 0);
	k.now_s += 3;
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 0, 0);
	gate_table_turn(k.t, now_of(&k));
	assert_false(gate_table_confirmed(k.t));
	assert_int_equal(ask(&k, "price", "a", version, ""), 0);
	assert_true(k.told.listed && k.told.non == 0 && k.told.version > version);
	kit_end(&k);
}

static void
all_gates_confirm_and_the_least_share_counts(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k);
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 1, 0); /* no gate */
	assert_true(gate_table_confirmed(k.t));
	want(&k, "price:*", NULL, 0.5, 60);
	ask(&k, "price", "a", 0, "price:tax");
	ask(&k, "front", "b", 0, "price:tax,front:x");
	assert_int_equal(k.told.non, 1);
	ask(&k, "price", "a", k.told.version, "");
	assert_false(gate_table_confirmed(k.t));
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 0, 0);
	ask(&k, "front", "b", k.told.version, "");
	assert_true(gate_table_confirmed(k.t));
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 0.5, 0);
	want(&k, "price:*", NULL, 1, 60); /* more: only when both have followed */
	ask(&k, "price", "a", k.told.version, "");
	ask(&k, "price", "a", k.told.version, "");
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 0.5, 0);
	ask(&k, "front", "b", k.told.version, "");
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 1, 0);
	want(&k, "price:*", NULL, 0.1, 60); /* less: when one could have */
	ask(&k, "price", "a", k.told.version - 1, "");
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 0.1, 1e-12);
	k.now_s += 5; /* both are gone */
	gate_table_turn(k.t, now_of(&k));
	assert_true(gate_table_confirmed(k.t));
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 1, 0);
	kit_end(&k);
}

/* Gates have one share for all names. */
static void
spans_for_all_sampled_requests_are_on_in_as_many(void **state)
{
	struct toggle toggles[2] = { { "price:tax_begin" }, { "price:round_begin", true } };
	struct rate rate = { "GET", 0.25, 0.5 };
	struct want w = {
		.sampled = 0.75, .ntoggles = 2, .toggles = toggles, .nrates = 1, .rates = &rate
	};
	struct kit k;
	(void)state;

	kit_begin(&k);
	assert_int_equal(gate_table_want(k.t, &w, (struct mono){ (k.now_s + 60) * S }, &k.e), 0);
	ask(&k, "price", "a", 0, "price:tax,price:round,price:other");
	assert_int_equal(k.told.non, 2);
	assert_float_equal(k.told.share, 0.75, 1e-12);
	toggles[1].sampled = false;
	assert_int_equal(gate_table_want(k.t, &w, (struct mono){ (k.now_s + 60) * S }, &k.e), 0);
	ask(&k, "price", "a", k.told.version, "");
	assert_float_equal(k.told.share, 0.5, 1e-12);
	kit_end(&k);
}

static void
programs_list_both_ends_of_each_span_once_for_a_service(void **state)
{
	struct programs p;
	uint64_t changes;
	struct kit k;
	(void)state;

	kit_begin(&k);
	ask(&k, "a/price", "a", 0, "price:tax");
	ask(&k, "front", "b", 0, "");
	ask(&k, "a/price", "c", 0, "price:round,price:tax,price:x*,hone:fork");
	changes = gate_table_changes(k.t);
	assert_int_equal(gate_table_programs(k.t, &p, &k.a, &k.e), 0);
	assert_int_equal(p.nprograms, 3);
	assert_int_equal(p.nnames, 4);
	assert_string_equal(p.programs[0].service, "a.price");
	assert_int_equal(p.programs[0].count, 4);
	assert_int_equal(p.programs[2].first, p.programs[0].first);
	assert_int_equal(p.programs[1].count, 0);
	assert_string_equal(p.names[0], "price:tax_begin");
	assert_string_equal(p.names[3], "price:round_end");
	assert_true(gate_table_has(k.t, "price:round_end") && gate_table_has(k.t, "price:*"));
	assert_false(gate_table_has(k.t, "price:round") || gate_table_has(k.t, "price:y_end") ||
		     gate_table_has(k.t, "front:*"));
	ask(&k, "a/price", "c", 100, "");
	assert_true(changes == gate_table_changes(k.t));
	ask(&k, "other", "c", 100, ""); /* the SDK's name became known */
	assert_true(changes < gate_table_changes(k.t));
	assert_int_equal(gate_table_programs(k.t, &p, &k.a, &k.e), 0);
	assert_string_equal(p.programs[2].service, "other");
	assert_int_equal(p.programs[2].count, 4);
	kit_end(&k);
}

static void
a_gate_that_is_not_known_tells_its_names_again(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k);
	ask(&k, "price", "a", 77, ""); /* of an earlier hone-otel */
	assert_true(k.told.again);
	ask(&k, "price", "a", 77, "price:tax");
	assert_false(k.told.again);
	assert_float_equal(gate_table_share(k.t, now_of(&k)), 0, 0);
	kit_end(&k);
}

static void
gates_and_names_are_bounded(void **state)
{
	struct gate_table_stats stats;
	struct kit k;
	(void)state;

	kit_begin(&k);
	for (int i = 0; i <= GATES_MAX; i++) {
		char instance[20];

		snprintf(instance, sizeof instance, "%d", i);
		assert_int_equal(ask(&k, "price", instance, 0, ""), i < GATES_MAX ? 0 : ERR_FULL);
	}
	for (int i = 0; i < GATE_NAMES_OF_ONE + 10; i++) {
		char name[20];

		snprintf(name, sizeof name, "s:%d", i);
		assert_int_equal(ask(&k, "price", "0", 100, name), 0);
		arena_reset(&k.a);
	}
	gate_table_stats(k.t, &stats);
	assert_int_equal(stats.names, GATE_NAMES_OF_ONE);
	assert_int_equal(stats.names_left, 10);
	assert_int_equal(stats.gates, GATES_MAX);
	assert_float_equal(stats.on_ns, 9000, 1e-6);
	kit_end(&k);
}

static int
question_of(const char *text, struct gate_question *q, struct arena *a)
{
	struct err e;

	return gate_question_read(q, a, text, strlen(text), &e);
}

static void
malformed_questions_are_refused(void **state)
{
	static const char *const bad[] = { "", "[]", "{", "{}", "{\"service\":\"x\"}",
		"{\"service\":7,\"instance\":\"i\"}",
		"{\"service\":\"x\",\"instance\":\"i\",\"pid\":-1}",
		"{\"service\":\"x\",\"instance\":\"i\",\"on_ns\":1e9}",
		"{\"service\":\"x\",\"instance\":\"i\",\"version\":1.5}",
		"{\"service\":\"x\",\"instance\":\"i\",\"names\":{}}",
		"{\"service\":\"x\",\"instance\":\"i\",\"names\":[7]}" };
	struct gate_question q;
	struct arena a = { 0 };
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(question_of(bad[i], &q, &a), ERR_INPUT);
	assert_int_equal(question_of("{\"service\":\"a/b\\tc\",\"instance\":\"i\"}", &q, &a), 0);
	assert_string_equal(q.service, "a.b?c");
	arena_release(&a);
}

static void
an_answer_is_json(void **state)
{
	const char *on[] = { "a:\"b\"" };
	struct gate_answer w = { .version = 8, .lease_ms = 5000, .poll_ms = 250, .share = 0.5 };
	struct buf b = { 0 };
	struct err e;
	(void)state;

	assert_int_equal(gate_answer_write(&w, &b, &e), 0);
	assert_memory_equal(
	    b.data, "{\"version\":8,\"lease_ms\":5000,\"poll_ms\":250,\"share\":0.5}", b.len);
	buf_reset(&b);
	w.listed = w.again = true;
	w.non = 1;
	w.on = on;
	assert_int_equal(gate_answer_write(&w, &b, &e), 0);
	assert_memory_equal(b.data,
	    "{\"version\":8,\"lease_ms\":5000,\"poll_ms\":250,\"share\":0.5,\"on\":[\"a:\\\"b\\\"\"],\"again\":true}",
	    b.len);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_on_from_its_want_until_its_lease_ends),
		cmocka_unit_test(all_gates_confirm_and_the_least_share_counts),
		cmocka_unit_test(spans_for_all_sampled_requests_are_on_in_as_many),
		cmocka_unit_test(programs_list_both_ends_of_each_span_once_for_a_service),
		cmocka_unit_test(a_gate_that_is_not_known_tells_its_names_again),
		cmocka_unit_test(gates_and_names_are_bounded),
		cmocka_unit_test(malformed_questions_are_refused),
		cmocka_unit_test(an_answer_is_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
