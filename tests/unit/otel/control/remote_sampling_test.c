/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "otel/control/remote_sampling.h"

#define S INT64_C(1000000000)
static const struct remote_sampling_options OPTIONS = { 0.5, 30 * S };

/* The answer; the caller's. */
static json_t *
ask(struct remote_sampling *s, const char *service, struct mono now, bool is_new)
{
	struct buf b = { 0 };
	struct err e;
	json_t *j;
	bool first;

	assert_int_equal(remote_sampling_ask(s, service, now, &b, &first, &e), 0);
	assert_int_equal(first, is_new);
	j = json_loadb((char *)b.data, b.len, 0, NULL);
	assert_non_null(j);
	buf_release(&b);
	return j;
}

static double
rate_of(const json_t *answer, const char *operation)
{
	const json_t *all = json_object_get(answer, "operationSampling"), *o;
	size_t i;

	if (operation == NULL)
		return json_number_value(json_object_get(
		    json_object_get(answer, "probabilisticSampling"), "samplingRate"));
	json_array_foreach (json_object_get(all, "perOperationStrategies"), i, o)
		if (strcmp(json_string_value(json_object_get(o, "operation")), operation) == 0)
			return json_number_value(json_object_get(
			    json_object_get(o, "probabilisticSampling"), "samplingRate"));
	return json_number_value(json_object_get(all, "defaultSamplingProbability"));
}

static void
all_three_paths_are_known(void **state)
{
	(void)state;
	assert_true(remote_sampling_is_path("/sampling"));
	assert_true(remote_sampling_is_path("/api/sampling"));
	assert_true(remote_sampling_is_path("/api/sampling/sampling"));
	assert_false(remote_sampling_is_path("/"));
	assert_false(remote_sampling_is_path("/api/sampling/"));
}

/* Rates of the controller while it wants them, the operator's before, after and at the end. */
static void
services_are_told_what_is_wanted(void **state)
{
	struct remote_sampling *s = remote_sampling_new(&OPTIONS);
	struct rate rates[] = { { .request_type = "GET /", .sampled = 1 } };
	struct want w = { .sampled = 0.1, .rates = rates, .nrates = 1 };
	struct mono now = { 100 * S };
	struct text_view shop = { "shop", 4 };
	struct err e;
	json_t *j;
	(void)state;

	j = ask(s, "shop", now, true);
	assert_true(rate_of(j, NULL) == 0.5 && rate_of(j, "GET /") == 0.5);
	assert_string_equal(json_string_value(json_object_get(j, "strategyType")), "PROBABILISTIC");
	json_decref(j);
	assert_true(remote_sampling_told(s, shop, 99 * S) == 1); /* it had not asked then */
	assert_true(remote_sampling_told(s, shop, 100 * S) == 0.5);
	assert_int_equal(remote_sampling_want(s, &w, (struct mono){ 105 * S }, &e), 0);
	assert_true(
	    remote_sampling_told(s, shop, 101 * S) == 0.5); /* it does not know the new rates yet */
	now.ns = 102 * S;
	j = ask(s, "shop", now, false);
	assert_true(rate_of(j, NULL) == 0.1 && rate_of(j, "GET /") == 1 && rate_of(j, "x") == 0.1);
	json_decref(j);
	assert_true(remote_sampling_told(s, shop, 101 * S) == 0.5);
	assert_true(remote_sampling_told(s, shop, 102 * S) == 0.1);
	assert_true(remote_sampling_told(s, (struct text_view){ "other", 5 }, 102 * S) == 1);
	assert_int_equal(remote_sampling_want(s, &w, (struct mono){ 110 * S }, &e), 0);
	now.ns = 111 * S;
	j = ask(s, "shop", now, false);
	assert_true(rate_of(j, NULL) == 0.5 && rate_of(j, "GET /") == 0.5);
	json_decref(j);
	assert_int_equal(remote_sampling_want(s, &w, (struct mono){ 200 * S }, &e), 0);
	json_decref(ask(s, "shop", now, false));
	remote_sampling_set_back(s);
	assert_false(remote_sampling_is_set_back(s, now, 3 * S));
	assert_true(remote_sampling_is_set_back(s, (struct mono){ now.ns + 4 * S }, 3 * S));
	j = ask(s, "shop", now, false);
	assert_true(rate_of(j, "GET /") == 0.5);
	json_decref(j);
	assert_true(remote_sampling_is_set_back(s, now, 3 * S));
	remote_sampling_free(s);
}

static void
services_are_bounded_and_forgotten(void **state)
{
	struct remote_sampling *s = remote_sampling_new(&OPTIONS);
	struct mono now = { 100 * S };
	struct programs p = { 0 };
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct err e;
	char name[80];
	bool first;
	(void)state;

	assert_int_equal(remote_sampling_ask(s, NULL, now, &b, &first, &e), ERR_INPUT);
	assert_int_equal(remote_sampling_ask(s, "", now, &b, &first, &e), ERR_INPUT);
	assert_int_equal(remote_sampling_ask(s, "a/b", now, &b, &first, &e), ERR_INPUT);
	memset(name, 'x', sizeof name);
	name[79] = '\0';
	assert_int_equal(remote_sampling_ask(s, name, now, &b, &first, &e), ERR_INPUT);
	for (int i = 0; i <= SAMPLING_SERVICES_MAX; i++) {
		snprintf(name, sizeof name, "s%d", i);
		buf_reset(&b);
		assert_int_equal(remote_sampling_ask(s, name, now, &b, &first, &e),
		    i < SAMPLING_SERVICES_MAX ? 0 : ERR_FULL);
	}
	assert_true(remote_sampling_programs(s, &p, &a));
	assert_int_equal(p.nprograms, SAMPLING_SERVICES_MAX);
	assert_int_equal(p.programs[3].lever, LEVER_SAMPLING);
	remote_sampling_turn(s, (struct mono){ 131 * S });
	p = (struct programs){ 0 };
	assert_true(remote_sampling_programs(s, &p, &a));
	assert_int_equal(p.nprograms, 0);
	arena_release(&a);
	buf_release(&b);
	remote_sampling_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_three_paths_are_known),
		cmocka_unit_test(services_are_told_what_is_wanted),
		cmocka_unit_test(services_are_bounded_and_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
