/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/engine/parts.h"
#include "controlplane/metrics/metrics.h"
#include "forest/forest.h"
#include "wire/record.h"

static const struct engine_options OPTIONS = {
	.conditions = { 0.10, 0.95, 30, 0.95 },
	.seed = 1,
	.memory_max_bytes = 1 << 24,
	.skew_ns = 1000000,
	.patience_ns = 1000000000,
	.groups_max = 100,
	.samples_max = 64,
	.tracepoints_per_cycle = 3,
	.isolate_min = 0.5,
	.explain_min = 0.5,
	.pause_fill = 0.5,
	.resume_fill = 0.35,
	.withdraw_ns = 5000000000,
	.cycle_max_ns = 5000000000,
	.sampled = 1,
	.lease_ns = 5000000000,
	.report_max_bytes = 1 << 24,
	.watch = { .types = "*",
	    .objectives = "*<1ms:99%",
	    .window_ns = INT64_C(60000000000),
	    .learn_ns = INT64_C(86400000000000) },
};

enum { REQUESTS = 200 };

struct house {
	struct forest *forest;
	struct engine *engine;
	char *text;
};

/* Requests of type "a \"b\"", which begin together and take 1, 2, 3 ... ms. */
static void
send_requests(struct engine *g, uint32_t node)
{
	static const char BEGIN[] = "s/hone:request_begin(a \"b\")",
			  END[] = "s/hone:request_end(a \"b\")";
	struct batch_writer w = { 0 };
	struct buf out = { 0 };
	uint32_t begin, end;
	struct err e;

	batch_begin(&w);
	begin = batch_label(&w, RECORD_REQUEST_BEGIN, BEGIN, sizeof BEGIN - 1, NULL, 0);
	end = batch_label(&w, RECORD_REQUEST_END, END, sizeof END - 1, NULL, 0);
	for (uint32_t i = 0; i < 2 * REQUESTS; i++) {
		uint32_t id = i < REQUESTS ? i + 1 : i - REQUESTS + 1;
		const struct record r = { .trace_id = id,
			.unit_id = 1,
			.label = i < REQUESTS ? begin : end,
			.time_ns = 1000000000 + (i < REQUESTS ? 0 : (int64_t)id * 1000000) };

		batch_record(&w, &r);
	}
	assert_int_equal(batch_end(&w, INT64_C(3000000000), &out, &e), 0);
	if (engine_batch(g, node, out.data, out.len, (struct mono){ INT64_C(3000000000) }, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(
	    engine_step(g, (struct mono){ INT64_C(3100000000) }, (struct wall){ 1 }, &e), 0);
	buf_release(&out);
	batch_release(&w);
}

static int
build(void **state)
{
	struct house *h = calloc(1, sizeof *h);
	struct err e;
	uint32_t node;

	h->forest = forest_new();
	assert_int_equal(engine_new(&h->engine, &OPTIONS, h->forest, &e), 0);
	assert_int_equal(engine_join(h->engine, "n1", "1", (struct mono){ 1000 }, &node, &e), 0);
	send_requests(h->engine, node);
	*state = h;
	return 0;
}

static int
tear_down(void **state)
{
	struct house *h = *state;

	engine_free(h->engine);
	forest_free(h->forest);
	free(h->text);
	free(h);
	return 0;
}

static const char *
text_of(struct house *h, enum metrics_form form)
{
	const struct metrics_process p = { 1.5, 1700000000, 1 << 20, -1, 1024, true };
	struct buf b = { 0 };

	metrics_write(&b, h->engine, (struct mono){ INT64_C(4000000000) }, &p, form);
	buf_u8(&b, 0);
	assert_false(b.failed);
	free(h->text);
	return h->text = (char *)b.data;
}

/* The value of the line that begins with this, or NAN. */
static double
value_of(const char *text, const char *line)
{
	char begin[400];
	const char *at;

	snprintf(begin, sizeof begin, "\n%s ", line);
	at = strstr(text, begin);
	return at != NULL ? strtod(at + strlen(begin), NULL) : NAN;
}

#define OF "{type=\"a \\\"b\\\"\",service=\"s\""

static void
buckets_add_up_to_the_requests(void **state)
{
	static const struct {
		const char *le;
		double least, most;
	} BUCKETS[] = { { "0.0005", 0, 0 }, { "0.01", 10, 10 }, { "0.1", 98, 103 },
		{ "1.0", REQUESTS, REQUESTS }, { "+Inf", REQUESTS, REQUESTS } };
	const char *text = text_of(*state, METRICS_TEXT);
	char line[200];

	for (size_t i = 0; i < sizeof BUCKETS / sizeof *BUCKETS; i++) {
		snprintf(line, sizeof line, "hone_request_duration_seconds_bucket" OF ",le=\"%s\"}",
		    BUCKETS[i].le);
		assert_true(value_of(text, line) >= BUCKETS[i].least &&
			    value_of(text, line) <= BUCKETS[i].most);
	}
	assert_true(value_of(text, "hone_requests_total" OF "}") == REQUESTS);
	assert_true(value_of(text, "hone_request_duration_seconds_count" OF "}") == REQUESTS);
	assert_true(fabs(value_of(text, "hone_request_duration_seconds_sum" OF "}") -
			 REQUESTS * (REQUESTS + 1) / 2 / 1e3) < 1e-6);
	assert_true(value_of(text, "hone_agent_up{node=\"n1\"}") == 1);
	assert_true(value_of(text, "hone_records_total{fate=\"used\"}") == 2 * REQUESTS);
	assert_true(value_of(text, "hone_traces_total{fate=\"complete\"}") == REQUESTS);
	assert_true(isnan(value_of(text, "process_open_fds"))); /* it was not known */
}

#define SLOWEST " # {trace_id=\"000000000000000000000000000000c8\"} 0.2\n"

static void
the_slowest_request_is_the_exemplar_of_its_bucket(void **state)
{
	const char *text = text_of(*state, METRICS_OPENMETRICS),
		   *at = strstr(text, " # {trace_id=\"");

	assert_non_null(at);
	assert_null(strstr(at + 1, " # {"));
	assert_memory_equal(at, SLOWEST, sizeof SLOWEST - 1);
	assert_memory_equal(
	    at - strlen(",le=\"0.25\"} 200"), ",le=\"0.25\"} 200", strlen(",le=\"0.25\"} 200"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	assert_null(strstr(text_of(*state, METRICS_TEXT), " # {"));
}

static void
the_state_of_what_is_watched_is_told(void **state)
{
	struct house *h = *state;
	struct watched_type *t = NULL;
	const char *text;

	for (uint32_t i = 0; i < WATCHED_MAX && t == NULL; i++)
		t = engine_parts(h->engine)->watcher.types[i];
	assert_non_null(t);
	t->all.last.answer = RANGE_LEARNING;
	text = text_of(h, METRICS_TEXT);
	assert_true(value_of(text, "hone_watch_healthy_windows" OF "}") == 0);
	assert_true(value_of(text, "hone_watch_judged" OF "}") == 0);
	assert_true(isnan(value_of(text, "hone_watch_outside" OF "}")));
	assert_true(isnan(value_of(text, "hone_watch_excess_ratio" OF "}")));
	assert_true(value_of(text, "hone_alert_firing" OF ",kind=\"range\"}") == 0);
	assert_true(value_of(text, "hone_alert_firing" OF ",kind=\"objective\"}") == 0);
	assert_true(value_of(text, "hone_alerts_total") == 0);
	t->all.last.answer = RANGE_OUTSIDE;
	t->all.last.cost_share = 0.25;
	t->firing = true;
	t->slos[0].firing = true;
	text = text_of(h, METRICS_TEXT);
	assert_true(value_of(text, "hone_watch_judged" OF "}") == 1);
	assert_true(value_of(text, "hone_watch_outside" OF "}") == 1);
	assert_true(value_of(text, "hone_watch_excess_ratio" OF "}") == 0.25);
	assert_true(value_of(text, "hone_alert_firing" OF ",kind=\"range\"}") == 1);
	assert_true(value_of(text, "hone_alert_firing" OF ",kind=\"objective\"}") == 1);
	t->all.last.answer = RANGE_INSIDE;
	text = text_of(h, METRICS_TEXT);
	assert_true(value_of(text, "hone_watch_outside" OF "}") == 0);
}

static void
log_levels_are_told(void **state)
{
	struct house *h = *state;
	const char *text = text_of(h, METRICS_TEXT);
	struct err e;

	assert_null(strstr(text, "hone_level_rule{"));
	assert_true(value_of(text, "hone_levels_held{reason=\"congestion\"}") == 0);
	assert_int_equal(engine_set_level(h->engine, "shop-*", LOGLEVEL_INFO, &e), 0);
	engine_parts(h->engine)->levels.held = LEVELS_HELD_CONGESTION;
	engine_parts(h->engine)->levels.holds = 3;
	text = text_of(h, METRICS_TEXT);
	assert_true(value_of(text, "hone_level_rule{service=\"shop-*\",level=\"info\"}") == 1);
	assert_true(value_of(text, "hone_levels_held{reason=\"congestion\"}") == 1);
	assert_true(value_of(text, "hone_levels_held{reason=\"learning\"}") == 0);
	assert_true(value_of(text, "hone_levels_holds_total") == 3);
	assert_true(value_of(text, "hone_agent_tracepoints_by_level{node=\"n1\"}") == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(buckets_add_up_to_the_requests, build, tear_down),
		cmocka_unit_test_setup_teardown(log_levels_are_told, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    the_state_of_what_is_watched_is_told, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    the_slowest_request_is_the_exemplar_of_its_bucket, build, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
