/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/formats/kit.h"

#define SPAN(id, parent, service, name, begin_us, duration_us, more)                             \
	"{\"traceId\":\"86154a4ba6e91385\",\"id\":\"" id "\","                                   \
	"\"parentId\":\"" parent "\",\"name\":\"" name "\",\"timestamp\":1472470996000" begin_us \
	","                                                                                      \
	"\"duration\":" duration_us ",\"localEndpoint\":{\"serviceName\":\"" service             \
	"\",\"ipv4\":\"10.0.0.1\",\"port\":80}" more "}"
#define CLIENT ",\"kind\":\"CLIENT\""
#define SERVER ",\"kind\":\"SERVER\""
#define SHARED SERVER ",\"shared\":true"
#define TREE                                             \
	SPAN("01", "", "front", "get", "000", "100", "") \
	"," SPAN("02", "01", "cart", "add", "010", "80", "")
#define TREE_PATH "front:get+@0 cart:add+@10 cart:add-@90 front:get-@100"

static void
spans_come_in_an_array_in_arrays_or_in_lines(void **state)
{
	static const char *const texts[] = { "[" TREE "]", "[[" TREE "]]",
		"[" SPAN("02", "01", "cart", "add", "010", "80", "") "]\n[" SPAN(
		    "01", "", "front", "get", "000", "100", "") "]\n" };
	(void)state;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct kit *k = kit_text(texts[i]);

		kit_assert_clean(k);
		assert_string_equal(kit_steps(k, 0), TREE_PATH);
		assert_true(k->traces[0]->id == UINT64_C(0x86154a4ba6e91385));
		assert_string_equal(kit_node(k, 0, 0), "10.0.0.1");
		kit_free(k);
	}
}

/* Front calls cart; both use the same span id for the call. Cart calls the store. The order in
 * the file does not matter. */
static void
the_servers_half_is_a_child_of_the_clients(void **state)
{
	static const char *const spans[] = {
		SPAN("01", "", "front", "get", "000", "100", SERVER),
		SPAN("02", "01", "front", "call", "010", "80", CLIENT),
		SPAN("02", "01", "cart", "add", "020", "60", SHARED),
		SPAN("03", "02", "cart", "select", "030", "40", CLIENT),
	};
	static const uint8_t orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 3, 0, 1 },
		{ 3, 1, 0, 2 } };
	(void)state;

	for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
		char text[4096];
		struct kit *k;

		snprintf(text, sizeof text, "[%s,%s,%s,%s]", spans[orders[o][0]],
		    spans[orders[o][1]], spans[orders[o][2]], spans[orders[o][3]]);
		k = kit_text(text);
		kit_assert_clean(k);
		assert_string_equal(kit_steps(k, 0),
		    "front:get+@0 front:call+@10 cart:add+@20 cart:select+@30 "
		    "cart:select-@70 cart:add-@80 front:call-@90 front:get-@100");
		kit_free(k);
	}
}

static void
a_servers_half_alone_keeps_its_place(void **state)
{
	struct kit *k = kit_text("[" SPAN("01", "", "front", "get", "000", "100", SERVER) "," SPAN(
	    "02", "01", "cart", "add", "010", "80", SHARED) "," SPAN("03", "02", "cart", "select",
	    "030", "40", CLIENT) "]");
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_steps(k, 0),
	    "front:get+@0 cart:add+@10 cart:select+@30 cart:select-@70 cart:add-@90 "
	    "front:get-@100");
	kit_free(k);
}

static void
tags_are_attributes_and_error_is_one(void **state)
{
	struct kit *k = kit_text("[" SPAN("01", "", "front", "get", "000", "100",
	    ",\"tags\":{\"http.path\":\"/api\",\"http.status_code\":\"500\",\"ratio\":\"0.5\",\"version\":\"1.2.3\",\"error\":\"\"}") "," SPAN("02",
	    "01", "front", "get", "010", "20", "") "]");
	const char *label = "front/hone:request_begin(get)";
	(void)state;

	kit_assert_clean(k);
	assert_string_equal(kit_value(k, 0, label, "http.path"), "/api");
	assert_string_equal(kit_value(k, 0, label, "http.status_code"), "500");
	assert_string_equal(kit_value(k, 0, label, "ratio"), "0.5");
	assert_string_equal(kit_value(k, 0, label, "version"), "1.2.3");
	assert_string_equal(kit_value(k, 0, label, "failed"), "1");
	kit_free(k);
}

static void
what_is_malformed_is_counted_and_the_rest_read(void **state)
{
	struct kit *k = kit_text("[7,{\"traceId\":nope}," SPAN("01", "", "front", "get", "000",
	    "100",
	    "") ",{\"traceId\":\"86154a4ba6e91385\",\"id\":\"05\"},{\"id\":\"05\",\"timestamp\":1,\"duration\":1},[[3]]," SPAN("06",
	    "06", "front", "self", "000", "100", "") "," SPAN("07", "01", "front", "back", "090",
	    "-80", "") "," SPAN("08", "01", "front", "huge", "000", "9223372036854775807",
	    "") "," SPAN("02", "01", "cart", "add", "010", "80", "") ",{\"traceId\":\"86");
	(void)state;

	assert_int_equal(k->rc, 0);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 3);
	assert_int_equal(kit_skipped(k, SKIP_INCOMPLETE), 1);
	assert_int_equal(kit_skipped(k, SKIP_UNTIMED), 2);
	assert_int_equal(kit_skipped(k, SKIP_NEGATIVE), 1);
	assert_int_equal(kit_skipped(k, SKIP_SELF_PARENT), 1);
	assert_int_equal(kit_skipped(k, SKIP_TRUNCATED), 1);
	kit_free(k);
}

/* More requests than may be kept at the same time: 40,000 requests of two spans. */
static void
large_files_are_handed_on_in_parts(void **state)
{
	enum { N = 40000 };
	char *text = malloc(N * 400 + 16), *at = text;
	struct kit *k;
	(void)state;

	*at++ = '[';
	for (int i = 0; i < N; i++)
		at += sprintf(at,
		    "%s{\"traceId\":\"%x\",\"id\":\"1\",\"name\":\"get\",\"timestamp\":1472470996000000,"
		    "\"duration\":100,\"localEndpoint\":{\"serviceName\":\"front\"}},"
		    "{\"traceId\":\"%x\",\"id\":\"2\",\"parentId\":\"1\",\"name\":\"add\",\"timestamp\":1472470996000010,"
		    "\"duration\":50,\"localEndpoint\":{\"serviceName\":\"cart\"}}",
		    i > 0 ? "," : "", i + 1, i + 1);
	strcpy(at, "]");
	k = kit_text(text);
	assert_int_equal(k->rc, 0);
	assert_int_equal(k->counts.spans, 2 * N);
	assert_int_equal(k->counts.traces, N);
	kit_free(k);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_come_in_an_array_in_arrays_or_in_lines),
		cmocka_unit_test(the_servers_half_is_a_child_of_the_clients),
		cmocka_unit_test(a_servers_half_alone_keeps_its_place),
		cmocka_unit_test(tags_are_attributes_and_error_is_one),
		cmocka_unit_test(what_is_malformed_is_counted_and_the_rest_read),
		cmocka_unit_test(large_files_are_handed_on_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
