/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/formats/kit.h"

#define TRACE "5b8efff798038103d269b633813fc60c"
#define TIMES(begin_us, end_us)                                   \
	"\"startTimeUnixNano\":\"1544712660000" begin_us "000\"," \
	"\"endTimeUnixNano\":\"1544712660000" end_us "000\""
#define SPAN(id, parent, name, begin_us, end_us, more)                    \
	"{\"traceId\":\"" TRACE "\",\"spanId\":\"00000000000000" id "\"," \
	"\"parentSpanId\":\"" parent "\",\"name\":\"" name "\"," TIMES(begin_us, end_us) more "}"
#define PARENT(id) "00000000000000" id
#define TEXT(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define RESOURCE(attributes) "\"resource\":{\"attributes\":[" attributes "]}"
#define SCOPE(spans) "\"scopeSpans\":[{\"scope\":{\"name\":\"lib\"},\"spans\":[" spans "]}]"
#define FRONT RESOURCE(TEXT("service.name", "front"))
#define CART RESOURCE(TEXT("service.name", "cart"))
#define TREE                                                                        \
	"{\"resourceSpans\":[{" FRONT "," SCOPE(SPAN("01", "", "get", "000", "100", \
	    "")) "},{" CART "," SCOPE(SPAN("02", PARENT("01"), "add", "010", "090", "")) "}]}"
#define TREE_PATH "front:get+@0 cart:add+@10 cart:add-@90 front:get-@100"

static void
spans_stand_below_their_resource(void **state)
{
	struct kit *k = kit_text(TREE);
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	assert_true(k->traces[0]->id_high == UINT64_C(0x5b8efff798038103));
	assert_true(k->traces[0]->id == UINT64_C(0xd269b633813fc60c));
	kit_free(k);
}

static void
documents_may_be_a_line_each_or_an_array(void **state)
{
	static const char lines[] = "{\"resourceSpans\":[{" FRONT "," SCOPE(SPAN("01", "", "get",
	    "000", "100", "")) "}]}\n"
			       "{\"resourceSpans\":[{" CART
			       "," SCOPE(SPAN("02", PARENT("01"), "add", "010", "090", "")) "}]}\n";
	struct kit *k = kit_text(lines);
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	kit_free(k);
	k = kit_text("[" TREE "]");
	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	kit_free(k);
}

static void
a_resource_may_stand_behind_its_spans(void **state)
{
	struct kit *k = kit_text("{\"resourceSpans\":[{" SCOPE(SPAN("01", "", "get", "000", "100",
	    ",\"attributes\":[" TEXT("http.method", "PUT") "]")) "," FRONT "},{" SCOPE(SPAN("02",
	    PARENT("01"), "add", "010", "090", "")) "," CART "}]}");
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	assert_string_equal(kit_value(k, 0, "front/hone:request_begin(get)", "http.method"), "PUT");
	kit_free(k);
}

static void
older_and_other_names_are_known(void **state)
{
	struct kit *k = kit_text(
	    "{\"batches\":[{" FRONT
	    ",\"instrumentationLibrarySpans\":[{\"spans\":[" SPAN("01", "", "get", "000", "100",
		"") "]}]},{" CART ",\"scope_spans\":[{\"spans\":[{"
		    "\"trace_id\":\"W47/95gDgQPSabYzgT/GDA==\",\"span_id\":\"AAAAAAAAAAI=\",\"parent_span_id\":\"AAAAAAAAAAE=\","
		    "\"name\":\"add\",\"start_time_unix_nano\":1544712660000010000,\"end_time_unix_nano\":1544712660000090000}]}]}]}");
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	kit_free(k);
}

static void
attributes_keep_their_types(void **state)
{
	struct kit *k = kit_text("{\"resourceSpans\":[{" FRONT "," SCOPE(SPAN("01", "", "get",
	    "000", "100",
	    ",\"attributes\":[" TEXT("s",
		"x\\ny") ",{\"key\":\"i\",\"value\":{\"intValue\":\"-7\"}},"
			 "{\"key\":\"j\",\"value\":{\"intValue\":8}},{\"key\":\"d\",\"value\":{\"doubleValue\":0.25}},"
			 "{\"key\":\"b\",\"value\":{\"boolValue\":true}},{\"key\":\"a\",\"value\":{\"arrayValue\":{\"values\":[]}}},"
			 "{\"key\":\"n\"},{\"value\":{\"intValue\":1}},{\"key\":\"e\",\"value\":{\"doubleValue\":\"NaN\"}}]"
			 ",\"status\":{\"code\":2,\"message\":\"no\"}")) "}]}");
	const char *label = "front/hone:request_begin(get)";
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_value(k, 0, label, "s"), "x\ny");
	assert_string_equal(kit_value(k, 0, label, "i"), "-7");
	assert_string_equal(kit_value(k, 0, label, "j"), "8");
	assert_string_equal(kit_value(k, 0, label, "d"), "0.25");
	assert_string_equal(kit_value(k, 0, label, "b"), "1");
	assert_string_equal(kit_value(k, 0, label, "a"), "");
	assert_string_equal(kit_value(k, 0, label, "e"), "");
	kit_free(k);
}

static void
a_pod_names_the_node_before_a_host_does(void **state)
{
	struct kit *k = kit_text("{\"resourceSpans\":[{" RESOURCE(
	    TEXT("service.instance.id", "i") "," TEXT("host.name", "h") "," TEXT(
		"k8s.pod.name", "front-1") "," TEXT("service.name", "front")) "," SCOPE(SPAN("01",
	    "", "get", "000", "100", "")) "},{" RESOURCE(TEXT("host.name",
	    "h")) "," SCOPE(SPAN("02", PARENT("01"), "add", "010", "090", "")) "}]}");
	bool other = false;
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(
	    kit_steps(k, 0), "front:get+@0 unknown:add+@10 unknown:add-@90 front:get-@100");
	assert_string_equal(kit_node(k, 0, 0), "front-1");
	for (uint32_t i = 0; i < k->traces[0]->nevents; i++)
		other |= strcmp(kit_node(k, 0, i), "h") == 0;
	assert_true(other);
	kit_free(k);
}

static void
a_consumer_is_not_waited_for(void **state)
{
	struct kit *k = kit_text("{\"resourceSpans\":[{" FRONT "," SCOPE(
	    SPAN("01", "", "get", "000", "100", "") "," SPAN("02", PARENT("01"), "consume", "010",
		"500", ",\"kind\":\"SPAN_KIND_CONSUMER\"") "," SPAN("03", PARENT("01"), "later",
		"020", "300", ",\"kind\":5")) "}]}");
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), "front:get+@0 front:get-@100");
	kit_free(k);
}

static void
what_is_malformed_is_counted_and_the_rest_read(void **state)
{
	struct kit *k = kit_text("{\"resourceSpans\":[{" FRONT "," SCOPE(
	    "3,{\"traceId\":nope}," SPAN("01", "", "get", "000", "100",
		"") ",{\"traceId\":\"" TRACE "\",\"spanId\":\"02\"},"
		    "{\"traceId\":\"\",\"spanId\":\"03\"," TIMES(
			"000", "100") "},{\"traceId\":7,\"spanId\":[\"03\"]," TIMES("000",
			"100") "}") "}]}\n{\"resourceMetrics\":[]}\n{\"resourceSpans\":[{" CART
				    "," SCOPE(SPAN("02", PARENT("01"), "add", "010", "090",
					"")) "}]}\n{\"resourceSpans\":[{\"scopeSp");
	(void)state;

	assert_int_equal(k->rc, 0);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 3);
	assert_int_equal(kit_skipped(k, SKIP_INCOMPLETE), 2);
	assert_int_equal(kit_skipped(k, SKIP_UNTIMED), 1);
	assert_int_equal(kit_skipped(k, SKIP_TRUNCATED), 1);
	kit_free(k);
}

static void
deep_nesting_is_passed_over(void **state)
{
	enum { DEEP = 200000 };
	const char *head = "{\"resourceSpans\":[{" FRONT
			   "," SCOPE(SPAN("01", "", "get", "000", "100", "")) ",\"x\":";
	char *text = malloc(2 * DEEP + strlen(head) + 64);
	struct kit *k;
	(void)state;

	strcpy(text, head);
	memset(text + strlen(head), '[', DEEP);
	memset(text + strlen(head) + DEEP, ']', DEEP);
	strcpy(text + strlen(head) + 2 * DEEP, "}]}");
	k = kit_text(text);
	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0), "front:get+@0 front:get-@100");
	kit_free(k);
	free(text);
}

static void
the_specifications_example_is_read(void **state)
{
	char path[512];
	struct kit *k;
	(void)state;

	if (!kit_data(path, "otlp/trace.json"))
		return;
	k = kit_file(path, NULL);
	assert_int_equal(k->rc, 0);
	assert_string_equal(kit_steps(k, 0),
	    "my.service:I'm a server span+@0 my.service:I'm a server span-@1000000");
	assert_string_equal(
	    kit_value(k, 0, "my.service/hone:request_begin(I'm a server span)", "my.span.attr"),
	    "some value");
	kit_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_stand_below_their_resource),
		cmocka_unit_test(documents_may_be_a_line_each_or_an_array),
		cmocka_unit_test(a_resource_may_stand_behind_its_spans),
		cmocka_unit_test(older_and_other_names_are_known),
		cmocka_unit_test(attributes_keep_their_types),
		cmocka_unit_test(a_pod_names_the_node_before_a_host_does),
		cmocka_unit_test(a_consumer_is_not_waited_for),
		cmocka_unit_test(what_is_malformed_is_counted_and_the_rest_read),
		cmocka_unit_test(deep_nesting_is_passed_over),
		cmocka_unit_test(the_specifications_example_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
