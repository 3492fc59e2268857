/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/bins.h"
#include "analysis/group.h"

static const char *const FIELDS[] = { "size", "http.method" };

struct one { /* a path with one label twice; its first occurrence has two fields */
	struct labels *labels;
	struct bins *bins;
	struct value values[2];
	struct event events[2];
	struct step steps[2];
	struct trace t;
	struct critpath p;
};

static void
one_begin(struct one *o, const char *rule)
{
	uint32_t label;

	*o = (struct one){ .labels = labels_new(), .bins = bins_new() };
	label = labels_intern(o->labels, RECORD_POINT, "shop/app:get.all", 16, FIELDS, 2);
	o->events[0] = (struct event){ .label = label, .nvalues = 2, .values = o->values };
	o->events[1] = (struct event){ .label = label, .time_ns = 5 };
	o->steps[0] = (struct step){ 0, 0, label, label, LABEL_NONE, BIN_NONE };
	o->steps[1] = (struct step){ 5, 1, label, label, label, BIN_NONE };
	o->t = (struct trace){ .id = 1, .nevents = 2, .events = o->events, .end_ns = 5 };
	o->p = (struct critpath){ 2, o->steps, 0 };
	assert_int_equal(bins_add(o->bins, rule, NULL), 0);
}

static void
one_end(struct one *o)
{
	bins_free(o->bins);
	labels_free(o->labels);
}

static uint32_t
bin_with(struct one *o, struct value size, const char *method)
{
	o->values[0] = size;
	o->values[1] = (struct value){ .type = method ? VALUE_TEXT : VALUE_NONE,
		.len = method ? (uint32_t)strlen(method) : 0,
		.text = method };
	o->steps[0].bin = o->steps[1].bin = BIN_NONE;
	bins_apply(o->bins, &o->t, o->labels, &o->p);
	assert_int_equal(o->steps[1].bin, BIN_NONE); /* it has no fields */
	return o->steps[0].bin;
}

static void
assert_prints(const struct one *o, uint32_t bin, const char *expected)
{
	struct buf out = { 0 };

	bin_print(o->bins, o->labels, o->events[0].label, bin, &out);
	buf_u8(&out, 0);
	assert_string_equal((const char *)out.data, expected);
	buf_release(&out);
}

static void
numbers_are_divided_at_the_bounds(void **state)
{
	struct one o;
	(void)state;

	one_begin(&o, "shop/*.size=10,100");
	assert_prints(
	    &o, bin_with(&o, (struct value){ .type = VALUE_UINT, .u = 9 }, NULL), "size < 10");
	assert_prints(
	    &o, bin_with(&o, (struct value){ .type = VALUE_INT, .i = -9 }, NULL), "size < 10");
	assert_prints(&o, bin_with(&o, (struct value){ .type = VALUE_UINT, .u = 10 }, NULL),
	    "10 <= size < 100");
	assert_prints(&o, bin_with(&o, (struct value){ .type = VALUE_REAL, .d = 99.9 }, NULL),
	    "10 <= size < 100");
	assert_prints(
	    &o, bin_with(&o, (struct value){ .type = VALUE_UINT, .u = 100 }, NULL), "size >= 100");
	assert_int_equal(bin_with(&o, (struct value){ .type = VALUE_NONE }, NULL), BIN_NONE);
	assert_int_equal(
	    bin_with(&o, (struct value){ .type = VALUE_REAL, .d = NAN }, NULL), BIN_NONE);
	assert_int_equal(
	    bin_with(&o, (struct value){ .type = VALUE_TEXT, .text = "9", .len = 1 }, NULL),
	    BIN_NONE);
	assert_prints(&o, BIN_NONE, "");
	one_end(&o);
}

/* The name of the field contains a dot, and so does the label. */
static void
each_text_has_a_bin_that_is_the_same_in_every_run(void **state)
{
	uint32_t get[2], put[2];
	struct one o;
	(void)state;

	for (int run = 0; run < 2; run++) {
		one_begin(&o, run == 0 ? "*.http.method" : "shop/app:get.all.http.method=");
		if (run == 1)
			bin_with(&o, (struct value){ 0 }, "HEAD");
		put[run] = bin_with(&o, (struct value){ 0 }, "PUT");
		get[run] = bin_with(&o, (struct value){ 0 }, "GET");
		assert_prints(&o, get[run], "http.method = GET");
		one_end(&o);
	}
	assert_int_not_equal(get[0], put[0]);
	assert_int_equal(get[0], get[1]);
	assert_int_equal(put[0], put[1]);
}

static void
texts_over_the_limit_share_a_bin(void **state)
{
	uint32_t bins[5000];
	struct one o;
	(void)state;

	one_begin(&o, "*.http.method");
	for (int i = 0; i < 5000; i++) {
		char text[16];

		snprintf(text, sizeof text, "m%d", i);
		bins[i] = bin_with(&o, (struct value){ 0 }, text);
	}
	assert_int_not_equal(bins[0], bins[4095]);
	assert_int_not_equal(bins[4095], bins[4096]);
	assert_int_equal(bins[4096], bins[4999]);
	assert_prints(&o, bins[4999], "http.method further");
	assert_int_equal(bin_with(&o, (struct value){ 0 }, "m7"), bins[7]);
	one_end(&o);
}

static void
the_first_rule_that_fits_counts(void **state)
{
	struct one o;
	(void)state;

	one_begin(&o, "other/*.size=1");
	/* these records have no such field */
	assert_int_equal(bins_add(o.bins, "shop/*.colour=1", NULL), 0);
	assert_int_equal(
	    bin_with(&o, (struct value){ .type = VALUE_UINT, .u = 9 }, NULL), BIN_NONE);
	assert_int_equal(bins_add(o.bins, "shop/*.size=5", NULL), 0);
	assert_int_equal(bins_add(o.bins, "shop/*.size=50", NULL), 0);
	assert_prints(
	    &o, bin_with(&o, (struct value){ .type = VALUE_UINT, .u = 9 }, NULL), "size >= 5");
	one_end(&o);
}

static void
malformed_rules_are_refused(void **state)
{
	static const char *const bad[] = { "", "=", ".", "size=1", "a.=1", ".size=1", "a.size=1,1",
		"a.size=2,1", "a.size=x", "a.size=1,", "a.size=,1", "a.size=1;2", "a.size=nan",
		"a.size=inf" };
	struct bins *b = bins_new();
	struct err e = { 0 };
	(void)state;

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(bins_add(b, bad[i], &e), ERR_INPUT);
	bins_free(b);
	bins_apply(NULL, NULL, NULL, NULL);
}

static void
requests_in_different_bins_are_in_different_groups(void **state)
{
	static const char *const nodes[] = { "n" };
	struct groups_options go = { .groups_max = 8, .samples_max = 8, .seed = 1 };
	struct groups *gs;
	struct one o;
	(void)state;

	one_begin(&o, "*.size=10");
	gs = groups_new(&go, o.labels);
	for (uint64_t size = 0; size < 20; size++) {
		struct arena a = { 0 };
		struct shape s;

		bin_with(&o, (struct value){ .type = VALUE_UINT, .u = size }, NULL);
		assert_int_equal(shape_of(&s, &o.p, o.labels, &a, NULL), 0);
		assert_int_equal(s.ntokens, 2); /* two bins, so no repeat */
		assert_int_equal(s.bins[0], size < 10 ? 1 : 2);
		assert_non_null(groups_add(gs, &o.t, &o.p, &s, nodes));
		arena_release(&a);
	}
	assert_int_equal(groups_count(gs), 2);
	assert_int_equal(groups_at(gs, 0)->total.n, 10);
	groups_free(gs);
	one_end(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_divided_at_the_bounds),
		cmocka_unit_test(each_text_has_a_bin_that_is_the_same_in_every_run),
		cmocka_unit_test(texts_over_the_limit_share_a_bin),
		cmocka_unit_test(the_first_rule_that_fits_counts),
		cmocka_unit_test(malformed_rules_are_refused),
		cmocka_unit_test(requests_in_different_bins_are_in_different_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
