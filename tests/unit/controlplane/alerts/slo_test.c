/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/alerts/self_start.h"
#include "controlplane/alerts/slo.h"

static void
rules_are_read_and_wrong_ones_named(void **state)
{
	static const char *const wrong[] = { "CHECKOUT", "CHECKOUT<200ms", "<200ms:99%",
		"A<200:99%", "A<2s:101%", "A<2s:10%", "A<0s:99%", "A:99%<2s", "A<2s:99% B" };
	struct slo *s;
	uint32_t n;
	struct err e;
	(void)state;

	assert_int_equal(slo_rules(&s, &n, "  front/GET</a<b><200ms:99.9% B<1s:0.95 ", &e), 0);
	assert_int_equal(n, 2);
	assert_string_equal(s[0].name, "front/GET</a<b>");
	assert_int_equal(s[0].limit_ns, 200000000);
	assert_true(fabs(s[0].goal - 0.999) < 1e-12);
	assert_string_equal(s[1].name, "B");
	free(s);
	assert_int_equal(slo_rules(&s, &n, "", &e), 0);
	assert_int_equal(n, 0);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_int_equal(slo_rules(&s, &n, wrong[i], &e), ERR_INPUT);
		assert_null(s);
		assert_non_null(
		    strstr(e.text, i + 1 < sizeof wrong / sizeof wrong[0] ? wrong[i] : "B"));
	}
}

static struct slo_counts counts;

static void
minutes(uint32_t n, uint32_t requests, uint32_t failures)
{
	for (uint32_t i = 0; i < n; i++)
		slo_counts_add(&counts, requests, failures);
}

static void
a_fast_burn_is_seen_and_ends_with_its_cause(void **state)
{
	struct slo_burn b;
	(void)state;

	memset(&counts, 0, sizeof counts);
	minutes(600, 100, 0);
	assert_false(slo_burn_of(&counts, 0.999).firing);
	minutes(4, 100,
	    20); /* a fifth fails: 200 times too fast; after four minutes the hour has 13 times */
	assert_false(slo_burn_of(&counts, 0.999).firing);
	minutes(1, 100, 20);
	b = slo_burn_of(&counts, 0.999);
	assert_true(b.firing);
	assert_int_equal(b.long_minutes, 60);
	assert_int_equal(b.failures, 100);
	minutes(6, 100, 0);
	assert_false(slo_burn_of(&counts, 0.999).firing);
}

static void
a_slow_burn_is_seen_over_days(void **state)
{
	(void)state;
	memset(&counts, 0, sizeof counts);
	minutes(SLO_MINUTES, 1000, 2); /* twice as many as may fail */
	assert_true(slo_burn_of(&counts, 0.999).firing);
	assert_int_equal(slo_burn_of(&counts, 0.999).long_minutes, SLO_MINUTES);
	assert_false(slo_burn_of(&counts, 0.997).firing);
}

static void
few_failures_of_little_traffic_are_no_alert(void **state)
{
	(void)state;
	memset(&counts, 0, sizeof counts);
	minutes(60, 1, 0);
	minutes(5, 1, 1);
	assert_false(slo_burn_of(&counts, 0.99).firing);
}

static void
diagnoses_start_by_themselves_within_their_limits(void **state)
{
	const int64_t h = 3600000000000;
	struct self_start_limits l = { .per_day = 2, .cool_down_ns = h };
	static struct self_starts s;
	struct wall at = { 100 * h };
	(void)state;

	assert_int_equal(
	    self_start_may(&s, &(struct self_start_limits){ 0 }, 1, false, at), SELF_START_OFF);
	assert_int_equal(self_start_may(&s, &l, 1, true, at), SELF_START_BUSY);
	assert_int_equal(self_start_may(&s, &l, 1, false, at), SELF_START);
	self_start_note(&s, 1, at);
	at.ns += h - 1;
	assert_int_equal(self_start_may(&s, &l, 1, false, at), SELF_START_COOL_DOWN);
	assert_int_equal(self_start_may(&s, &l, 2, false, at), SELF_START);
	self_start_note(&s, 2, at);
	at.ns += h;
	assert_int_equal(self_start_may(&s, &l, 1, false, at), SELF_START_DAY_FULL);
	at.ns += 22 * h + 1; /* 24 h after the first */
	assert_int_equal(self_start_may(&s, &l, 1, false, at), SELF_START);
	assert_int_equal(s.n, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_read_and_wrong_ones_named),
		cmocka_unit_test(a_fast_burn_is_seen_and_ends_with_its_cause),
		cmocka_unit_test(a_slow_burn_is_seen_over_days),
		cmocka_unit_test(few_failures_of_little_traffic_are_no_alert),
		cmocka_unit_test(diagnoses_start_by_themselves_within_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
