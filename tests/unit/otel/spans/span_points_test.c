/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "otel/spans/otel_source.h"
#include "otel/spans/shares.h"
#include "otel/spans/span_points.h"
#include "otel/spans/trace_draw.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)
#define WALL (INT64_C(1700000000) * S) /* when the monotonic clock was 0 */

/* ---- small parts ---- */

static void
a_draw_is_that_of_the_gate(void **state)
{
	(void)state;

	/* npm/hone-otel-gate/test/gate.test.js has the same numbers. */
	assert_float_equal(trace_draw(0), 0.407293127, 1e-9);
	assert_float_equal(trace_draw(UINT64_C(0x0123456789abcdef)), 0.442630809, 1e-9);
}

static void
draws_are_spread_evenly(void **state)
{
	uint32_t counts[10] = { 0 };
	(void)state;

	for (uint64_t i = 0; i < 10000; i++)
		counts[(int)(trace_draw(i) * 10)]++;
	for (int i = 0; i < 10; i++)
		assert_in_range(counts[i], 880, 1120);
}

static bool
fits(const char *s)
{
	return point_name_fits(s, strlen(s));
}

static void
names_of_points_are_those_of_tracepoints(void **state)
{
	char longest[POINT_NAME_MAX + 2] = "";
	(void)state;

	assert_true(fits("shop-price:discount") && fits("@otel/pg:pg.query:SELECT shop"));
	assert_false(fits("") || fits(":x") || fits("x:") || fits("x") || fits("x:*") ||
		     fits("x:a\nb") || fits("hone:fork"));
	assert_true(fits("honest:fork"));
	memset(longest, 'a', POINT_NAME_MAX + 1);
	longest[1] = ':';
	assert_false(fits(longest));
	longest[POINT_NAME_MAX] = '\0';
	assert_true(fits(longest));
}

static void
points_are_inside_of_their_unit_and_nest(void **state)
{
	const struct span spans[] = { { .begin_ns = 100, .end_ns = 300 }, /* as long as the unit */
		{ .begin_ns = 90, .end_ns = 400 },                        /* longer */
		{ .begin_ns = 200, .end_ns = 200 },                       /* no time */
		{ .begin_ns = 200, .end_ns = 250 }, { .begin_ns = 299, .end_ns = 299 } };
	struct point_time t[10];
	(void)state;

	for (uint32_t i = 0; i < 5; i++)
		assert_true(point_times(&t[2 * i], &spans[i], i, 100, 300));
	assert_false(point_times(t, &spans[0], 0, 100, 101));
	assert_true(point_times(t, &spans[0], 0, 100, 300));
	for (int i = 0; i < 10; i += 2) {
		assert_true(t[i].time_ns >= 100 && t[i].time_ns < t[i + 1].time_ns);
		assert_true(t[i + 1].time_ns < 300);
	}
	qsort(&t[4], 4, sizeof *t, point_time_order); /* 200 to 201, and 200 to 250 */
	assert_true(t[4].span == 3 && !t[4].end && t[5].span == 2 && !t[5].end);
	assert_true(t[6].span == 2 && t[6].end && t[7].span == 3 && t[7].end);
}

static void
the_least_share_of_a_time_counts(void **state)
{
	struct shares s = { 0 };
	(void)state;

	assert_float_equal(shares_least(&s, 0, 10), 0, 0);
	shares_add(&s, 1, INT64_MIN);
	assert_float_equal(shares_least(&s, 0, 10), 1, 0);
	shares_add(&s, 0.25, 100);
	shares_add(&s, 0.25, 150);
	shares_add(&s, 0.5, 200);
	assert_float_equal(shares_least(&s, 0, 99), 1, 0);
	assert_float_equal(shares_least(&s, 0, 100), 0.25, 0);
	assert_float_equal(shares_least(&s, 150, 300), 0.25, 0);
	assert_float_equal(shares_least(&s, 200, 300), 0.5, 0);
	for (int i = 0; i < 3 * SHARES_KEPT; i++)
		shares_add(&s, i % 2 ? 1 : 0.75, 300 + i);
	assert_float_equal(shares_least(&s, 299, 10000), 0, 0); /* forgotten */
	assert_float_equal(shares_least(&s, 300 + 3 * SHARES_KEPT - 1, 10000), 1, 0);
	assert_float_equal(shares_least(&s, 300 + 2 * SHARES_KEPT, 10000), 0.75, 0);
}

/* ---- records ---- */

struct kit {
	struct otel_source *s;
	struct buf spans, said;
	uint32_t nspans;
	struct err e;
};

static void
kit_begin(struct kit *k, double probed)
{
	static const struct otel_source_options o = { { 16 << 20, 1000, 2 * S, 60 * S }, 1 << 20,
		3 * S, 1 * S, 600 * S };
	struct rate rate = { "GET", 1, probed };
	struct want w = { .sampled = 1, .nrates = 1, .rates = &rate };

	*k = (struct kit){ 0 };
	assert_int_equal(otel_source_new(&k->s, &o, &k->e), 0);
	otel_source_clocks(k->s, (struct mono){ 0 }, (struct wall){ WALL }, (struct mono){ 0 });
	otel_source_sample(k->s, true);
	assert_int_equal(otel_source_want(k->s, &w, (struct mono){ 1000 * S }, &k->e), 0);
}

static void
kit_end(struct kit *k)
{
	otel_source_free(k->s);
	buf_release(&k->spans);
	buf_release(&k->said);
}

/* point: "" for none; parent 0: none. Times in ms. */
static void
add_span(struct kit *k, unsigned id, unsigned parent, const char *name, const char *point,
    int begin_ms, int end_ms)
{
	char parent_hex[17] = "";

	if (parent != 0)
		snprintf(parent_hex, sizeof parent_hex, "%016x", parent);
	buf_printf(&k->spans,
	    "%s{\"traceId\":\"00000000000000aa00000000000000bb\",\"spanId\":\"%016x\",\"parentSpanId\":\"%s\",\"name\":\"%s\","
	    "\"kind\":1,\"startTimeUnixNano\":\"%lld\",\"endTimeUnixNano\":\"%lld\",\"attributes\":["
	    "{\"key\":\"rows\",\"value\":{\"intValue\":\"%u\"}}%s%s%s]}",
	    k->nspans++ > 0 ? "," : "", id, parent_hex, name, (long long)(WALL + begin_ms * MS),
	    (long long)(WALL + end_ms * MS), id,
	    point[0] != '\0' ? ",{\"key\":\"hone.point\",\"value\":{\"stringValue\":\"" : "", point,
	    point[0] != '\0' ? "\"}}" : "");
}

/* Sends the spans, and returns their records: "LABEL@ms" of each, without the service, "=rows" where it has this field. */
static const char *
records(struct kit *k)
{
	struct source_output out;
	const struct batch_label *labels;
	struct receipt receipt;
	struct buf body = { 0 };
	uint32_t n;

	buf_printf(&body,
	    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"s/v\"}}]},"
	    "\"scopeSpans\":[{\"spans\":[%.*s]}]}]}",
	    (int)k->spans.len, (char *)k->spans.data);
	assert_int_equal(otel_source_receive(k->s, SPANS_OTLP_JSON, body.data, body.len,
			     (struct mono){ 1 * S }, &receipt, &k->e),
	    0);
	assert_int_equal(receipt.taken, k->nspans);
	buf_release(&body);
	assert_int_equal(otel_source_poll(k->s, (struct mono){ 9 * S }, true, &out, &k->e), 0);
	labels = otel_source_labels(k->s, &n);
	for (uint32_t i = 0; i < out.nrecords; i++) {
		const struct record *r = &out.records[i];
		const struct batch_label *l = &labels[r->label];

		assert_memory_equal(l->text, "s.v/", 4);
		buf_printf(&k->said, "%s%.*s@%lld", i > 0 ? " " : "", (int)l->len - 4, l->text + 4,
		    (long long)(r->time_ns / MS));
		assert_int_equal(r->nvalues, l->nfields);
		for (uint32_t f = 0; f < l->nfields && l->kind == RECORD_POINT; f++)
			if (strcmp(l->fields[f], "rows") == 0)
				buf_printf(&k->said, "=%lld", (long long)r->values[f].i);
			else
				assert_string_not_equal(l->fields[f], "hone.point");
	}
	buf_u8(&k->said, '\0');
	return (char *)k->said.data;
}

/* GET 1 > outer 2 (a point) > inner 3 (a point) > query 4; it comes in any order. */
static void
add_request(struct kit *k, bool on)
{
	add_span(k, 4, on ? 3 : 1, "query", "", 40, 60);
	if (on) {
		add_span(k, 3, 2, "inner", "lib:inner", 30, 70);
		add_span(k, 2, 1, "outer", "lib:outer", 20, 80);
	}
	add_span(k, 1, 0, "GET", "", 10, 90);
}

static void
spans_that_are_on_are_points_in_the_unit_above(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 1);
	add_request(&k, true);
	assert_string_equal(records(&k),
	    "hone:request_begin(GET)@10 lib:outer_begin@20=2 lib:inner_begin@30=3 hone:fork(query)@40 "
	    "hone:unit_begin(query)@40 hone:join(query)@60 hone:unit_end(query)@60 lib:inner_end@70 lib:outer_end@80 "
	    "hone:request_end(GET)@90");
	kit_end(&k);
}

static void
the_units_are_the_same_without_them(void **state)
{
	static const char units[] =
	    "hone:request_begin(GET)@10 hone:fork(query)@40 hone:unit_begin(query)@40 "
	    "hone:join(query)@60 hone:unit_end(query)@60 hone:request_end(GET)@90";
	struct kit k;
	(void)state;

	kit_begin(&k, 1);
	add_request(&k, false);
	assert_string_equal(records(&k), units);
	kit_end(&k);
	kit_begin(&k, 0); /* on, and the request is not probed */
	add_request(&k, true);
	assert_string_equal(records(&k), units);
	kit_end(&k);
	kit_begin(&k, 1); /* probed, but the points were not on in all programs */
	otel_source_share(k.s, 0, (struct mono){ 0 });
	add_request(&k, true);
	assert_string_equal(records(&k), units);
	kit_end(&k);
}

static void
a_point_without_its_parent_makes_the_trace_incomplete(void **state)
{
	struct otel_source_stats stats;
	struct kit k;
	(void)state;

	kit_begin(&k, 1);
	add_span(&k, 3, 2, "inner", "lib:inner", 30, 70);
	assert_string_equal(records(&k), "");
	otel_source_stats(k.s, &stats);
	assert_int_equal(stats.records.incomplete, 1);
	assert_int_equal(stats.records.incomplete_spans, 1);
	kit_end(&k);
}

static void
points_in_a_circle_end(void **state)
{
	struct otel_source_stats stats;
	struct kit k;
	(void)state;

	kit_begin(&k, 1);
	add_span(&k, 1, 0, "GET", "", 10, 90);
	add_span(&k, 2, 3, "x", "lib:x", 30, 40);
	add_span(&k, 3, 2, "y", "lib:y", 50, 60);
	assert_string_equal(records(&k), "");
	otel_source_stats(k.s, &stats);
	assert_int_equal(stats.records.incomplete, 1);
	kit_end(&k);
}

static void
what_is_no_name_of_a_point_is_a_unit(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 1);
	add_span(&k, 1, 0, "GET", "", 10, 90);
	add_span(&k, 2, 1, "x", "hone:request_begin", 30, 40);
	assert_string_equal(records(&k),
	    "hone:request_begin(GET)@10 hone:fork(x)@30 hone:unit_begin(x)@30 "
	    "hone:join(x)@40 hone:unit_end(x)@40 hone:request_end(GET)@90");
	kit_end(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_draw_is_that_of_the_gate),
		cmocka_unit_test(draws_are_spread_evenly),
		cmocka_unit_test(names_of_points_are_those_of_tracepoints),
		cmocka_unit_test(points_are_inside_of_their_unit_and_nest),
		cmocka_unit_test(the_least_share_of_a_time_counts),
		cmocka_unit_test(spans_that_are_on_are_points_in_the_unit_above),
		cmocka_unit_test(the_units_are_the_same_without_them),
		cmocka_unit_test(a_point_without_its_parent_makes_the_trace_incomplete),
		cmocka_unit_test(points_in_a_circle_end),
		cmocka_unit_test(what_is_no_name_of_a_point_is_a_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
