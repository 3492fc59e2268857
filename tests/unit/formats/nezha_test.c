/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/formats/kit.h"

#define HEADER \
	"TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration\n"
#define ROOT "0a,01,root,front-579b9bff58-t2dbm,get,1661140374000000000,1661140374000100000,100\n"
#define CHILD "0a,02,01,cart-6f6cfc45b-h5m2n,add,1661140374000010000,1661140374000090000,80\n"

static void
a_line_is_a_span(void **state)
{
	struct kit *k = kit_text(HEADER ROOT CHILD);
	(void)state;

	kit_assert_clean(k);
	assert_int_equal(k->counts.spans, 2);
	assert_string_equal(
	    kit_steps(k, 0), "front:get+@0 cart:add+@10 cart:add-@90 front:get-@100");
	assert_int_equal(k->traces[0]->id, 0x0a);
	assert_string_equal(kit_node(k, 0, 0), "front-579b9bff58-t2dbm");
	kit_free(k);
}

static void
columns_come_in_any_order_and_further_ones_are_attributes(void **state)
{
	struct kit *k = kit_text(
	    "size,EndTimeUnixNano,shard,StartTimeUnixNano,SpanID,load,TraceID,OperationName,PodName\r\n"
	    "12,1661140374000100000,eu,1661140374000000000,01,0.5,0a,get,front\r\n");
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), "front:get+@0 front:get-@100");
	assert_string_equal(kit_value(k, 0, "front/hone:request_begin(get)", "size"), "12");
	assert_string_equal(kit_value(k, 0, "front/hone:request_begin(get)", "shard"), "eu");
	assert_string_equal(kit_value(k, 0, "front/hone:request_begin(get)", "load"), "0.5");
	kit_free(k);
}

static void
without_an_end_the_duration_gives_it(void **state)
{
	struct kit *k = kit_text(
	    "TraceID,SpanID,StartTimeUnixNano,Duration\n0a,01,1661140374000000000,100\n");
	(void)state;

	kit_assert_clean(k);
	assert_int_equal(k->traces[0]->end_ns - k->traces[0]->begin_ns, 100000);
	kit_free(k);
}

static void
services_are_pods_without_the_suffixes_of_kubernetes(void **state)
{
	static const char *const pods[][2] = {
		{ "front-579b9bff58-t2dbm", "front" },
		{ "ts-food-service-f5756978c-k8vqf", "ts-food-service" },
		{ "pay-9cdb6588f-554sm", "pay" },
		{ "redis-0", "redis-0" },
		{ "nginx", "nginx" },
		{ "mail-worker-abcde", "mail-worker-abcde" },
		{ "a-579b9bff58-t2dbmx", "a-579b9bff58-t2dbmx" },
		{ "x-579b9bff585-t2dbm", "x-579b9bff585-t2dbm" },
		{ "-579b9bff58-t2dbm", "-579b9bff58-t2dbm" },
		{ "579b9bff58-t2dbm", "579b9bff58-t2dbm" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
		char text[512], expected[128];
		struct kit *k;

		snprintf(text, sizeof text,
		    HEADER "0a,01,root,%s,get,1661140374000000000,1661140374000100000,100\n",
		    pods[i][0]);
		k = kit_text(text);
		snprintf(
		    expected, sizeof expected, "%s:get+@0 %s:get-@100", pods[i][1], pods[i][1]);
		assert_string_equal(kit_steps(k, 0), expected);
		kit_free(k);
	}
}

static void
cells_in_quotes_hold_commas_lines_and_quotes(void **state)
{
	struct kit *k = kit_text(HEADER
	    "0a,01,,\"front\",\"get \"\"a, b\"\"\nand c\",1661140374000000000,"
	    "\"1661140374000100000\",100\r\n0b,01,\"root\",,\"\",1661140374000000000,1661140374000100000,\"100\"\r\n");
	(void)state;

	kit_assert_clean(k);
	assert_int_equal(k->ntraces, 2);
	assert_non_null(strstr(kit_steps(k, 0), "get \"a, b\""));
	assert_string_equal(kit_steps(k, 1), "unknown:unknown+@0 unknown:unknown-@100");
	kit_free(k);
}

static void
an_unclosed_quote_costs_its_line_only(void **state)
{
	struct kit *k = kit_text(
	    HEADER "0a,01,root,\"front,get,1661140374000000000,1661140374000100000,100\n" ROOT
		   "0a,02,01,\"cart\"x,get,1661140374000000000,1661140374000100000,100\n" CHILD);
	(void)state;

	assert_int_equal(k->rc, 0);
	assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 2);
	assert_int_equal(k->counts.skipped[SKIP_MALFORMED].offset, sizeof HEADER - 1);
	assert_int_equal(k->counts.spans, 2);
	assert_string_equal(
	    kit_steps(k, 0), "front:get+@0 cart:add+@10 cart:add-@90 front:get-@100");
	kit_free(k);
}

static void
what_is_malformed_is_counted_and_the_rest_read(void **state)
{
	struct kit *k = kit_text(HEADER
	    "0a,01\n" ROOT "0a,05,01,front,get,soon,1661140374000090000,80\n"
	    ",05,01,front,get,1661140374000010000,1661140374000090000,80\n\n\r\n" HEADER CHILD
	    "0a,03,01,front,get,16611403740000");
	(void)state;

	assert_int_equal(k->rc, 0);
	assert_int_equal(k->counts.spans, 3);
	assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 1);
	assert_int_equal(k->counts.skipped[SKIP_MALFORMED].offset, sizeof HEADER - 1);
	assert_int_equal(kit_skipped(k, SKIP_INCOMPLETE), 1);
	assert_int_equal(kit_skipped(k, SKIP_UNTIMED), 1);
	assert_int_equal(kit_skipped(k, SKIP_TRUNCATED), 1);
	kit_free(k);
}

static void
a_line_that_is_too_long_is_passed_over(void **state)
{
	size_t long_len = 3 << 20;
	char *text = malloc(long_len + 1024);
	struct kit *k;
	(void)state;
	assert_non_null(text);
	strcpy(text, HEADER);
	memset(text + strlen(text), 'x', long_len);
	strcpy(text + strlen(HEADER) + long_len, "\n" ROOT);
	k = kit_text(text);
	assert_int_equal(kit_skipped(k, SKIP_OVERSIZE), 1);
	assert_string_equal(kit_steps(k, 0), "front:get+@0 front:get-@100");
	kit_free(k);
	free(text);
}

static void
a_file_without_a_valid_line_is_refused(void **state)
{
	struct kit *k = kit_bytes("a,b,c\n1,2,3\n", 12, "nezha");
	(void)state;

	assert_int_equal(k->rc, ERR_INPUT);
	assert_int_equal(k->counts.files_failed, 1);
	kit_free(k);
	k = kit_text(HEADER "1,2\n");
	assert_int_equal(k->rc, ERR_INPUT);
	kit_free(k);
}

static void
a_real_minute_is_read(void **state)
{
	char path[512];
	struct kit *k;
	(void)state;

	if (!kit_data(path, "nezha/2022-08-22/03_53_trace.csv.gz"))
		return;
	k = kit_file(path, NULL);
	assert_int_equal(k->rc, 0);
	assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 0);
	assert_true(k->counts.spans > 10000);
	assert_true(k->counts.traces > 100);
	kit_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_span),
		cmocka_unit_test(columns_come_in_any_order_and_further_ones_are_attributes),
		cmocka_unit_test(without_an_end_the_duration_gives_it),
		cmocka_unit_test(services_are_pods_without_the_suffixes_of_kubernetes),
		cmocka_unit_test(cells_in_quotes_hold_commas_lines_and_quotes),
		cmocka_unit_test(an_unclosed_quote_costs_its_line_only),
		cmocka_unit_test(what_is_malformed_is_counted_and_the_rest_read),
		cmocka_unit_test(a_line_that_is_too_long_is_passed_over),
		cmocka_unit_test(a_file_without_a_valid_line_is_refused),
		cmocka_unit_test(a_real_minute_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
