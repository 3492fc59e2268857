/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies of requests in, traces as the controller assembles them out: records go through analysis/assemble.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/assemble.h"
#include "analysis/critpath.h"
#include "base/buf.h"
#include "otel/spans/event_names.h"
#include "otel/spans/otel_source.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)
#define WALL (INT64_C(1700000000) * S) /* when the monotonic clock was 0 */

static const struct otel_source_options OPTIONS = { { 16 << 20, 1000, 2 * S, 60 * S }, 1 << 20,
	3 * S, 1 * S, 600 * S };

struct kit {
	struct otel_source *s;
	struct assemble *a, *to; /* to: which gets the records, of this node */
	uint32_t node;
	struct labels *labels;
	struct buf body;
	struct receipt receipt;
	int64_t watermark_ns;
	uint64_t losses;
	struct loss lost; /* the last one */
	struct err e;
};

static void
kit_begin(struct kit *k, const struct otel_source_options *o)
{
	struct assemble_options a = { 64 << 20, 5 * MS, 30 * S, 0 };
	struct want w = { .sampled = 1 };

	*k = (struct kit){ .watermark_ns = INT64_MIN };
	k->labels = labels_new();
	assert_int_equal(assemble_new(&k->a, &a, k->labels, &k->e), 0);
	assert_int_equal(assemble_join(k->a, 0, &k->e), 0);
	k->to = k->a;
	assert_int_equal(otel_source_new(&k->s, o, &k->e), 0);
	assert_false(otel_source_clocks(
	    k->s, (struct mono){ 0 }, (struct wall){ WALL }, (struct mono){ 0 }));
	otel_source_sample(k->s, true);
	assert_int_equal(otel_source_want(k->s, &w, (struct mono){ 0 }, &k->e), 0);
}

static void
kit_end(struct kit *k)
{
	otel_source_free(k->s);
	assemble_free(k->a);
	labels_free(k->labels);
	buf_release(&k->body);
}

/* A body of OTLP in JSON with spans of one service, each given as text. */
static void
send_spans(struct kit *k, const char *service, const char *spans, int64_t now_ns)
{
	buf_reset(&k->body);
	buf_printf(&k->body,
	    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"%s\"}}]},"
	    "\"scopeSpans\":[{\"spans\":[%s]}]}]}",
	    service, spans);
	assert_int_equal(otel_source_receive(k->s, SPANS_OTLP_JSON, k->body.data, k->body.len,
			     (struct mono){ now_ns }, &k->receipt, &k->e),
	    0);
}

/* Times in ms by the monotonic clock. */
static const char *
span_text(char out[600], unsigned trace, unsigned id, unsigned parent, const char *name,
    int64_t begin_ms, int64_t end_ms, const char *state)
{
	snprintf(out, 600,
	    "{\"traceId\":\"00000000000000aa%016x\",\"spanId\":\"%016x\",\"parentSpanId\":\"%.16s\",\"name\":\"%s\",\"kind\":1,"
	    "\"startTimeUnixNano\":\"%lld\",\"endTimeUnixNano\":\"%lld\",\"traceState\":\"%s\","
	    "\"attributes\":[{\"key\":\"rows\",\"value\":{\"intValue\":\"%u\"}}]}",
	    trace, id, parent != 0 ? "                " : "", name,
	    (long long)(WALL + begin_ms * MS), (long long)(WALL + end_ms * MS), state, id);
	if (parent != 0) {
		char hex[17];

		snprintf(hex, sizeof hex, "%016x", parent);
		memcpy(strstr(out, "                "), hex, 16);
	}
	return out;
}

static void
send_span(struct kit *k, const char *service, unsigned trace, unsigned id, unsigned parent,
    const char *name, int64_t begin_ms, int64_t end_ms, const char *state, int64_t now_ms)
{
	char text[600];

	send_spans(k, service, span_text(text, trace, id, parent, name, begin_ms, end_ms, state),
	    now_ms * MS);
}

/* Polls, and hands the records to the controller's assembly. */
static void
poll_all(struct kit *k, int64_t now_ms)
{
	struct source_output out;
	struct batch b = { 0 };

	do {
		assert_int_equal(
		    otel_source_poll(k->s, (struct mono){ now_ms * MS }, false, &out, &k->e), 0);
		for (uint32_t i = 0; i < out.nrecords; i++)
			assert_true(i == 0 || out.records[i].time_ns >= out.records[i - 1].time_ns);
		assert_true(out.watermark_ns >= k->watermark_ns);
		k->watermark_ns = out.watermark_ns;
		k->losses += out.nlosses;
		if (out.nlosses > 0)
			k->lost = out.losses[out.nlosses - 1];
		b.watermark_ns = out.watermark_ns;
		b.nrecords = out.nrecords;
		b.records = (struct record *)(uintptr_t)out.records;
		b.nlosses = out.nlosses;
		b.losses = (struct loss *)(uintptr_t)out.losses;
		b.labels = (struct batch_label *)(uintptr_t)otel_source_labels(k->s, &b.nlabels);
		assert_int_equal(assemble_batch(k->to, k->node, &b, &k->e), 0);
	} while (out.more);
}

/* The trace's path: "label@ms" of each step. Frees the trace. */
static const char *
path_of(struct kit *k, struct trace *t, char out[2000])
{
	struct arena a = { 0 };
	struct critpath p;
	size_t len = 0;

	out[0] = '\0';
	assert_true(trace_is_evidence(t));
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &a, &k->e), 0);
	for (uint32_t i = 0; i < p.nsteps; i++)
		len += (size_t)snprintf(out + len, 2000 - len, "%s%s@%lld", i > 0 ? " " : "",
		    labels_get(k->labels, p.steps[i].label)->text,
		    (long long)(p.steps[i].time_ns / MS));
	arena_release(&a);
	trace_free(t);
	return out;
}

/* That of the next trace, which is this one. NULL: no trace is complete. */
static const char *
next_path(struct kit *k, char out[2000], uint64_t trace)
{
	struct trace *t = assemble_next(k->a);

	if (t == NULL)
		return NULL;
	assert_int_equal(t->id, trace);
	assert_int_equal(t->id_high, 0xaa);
	return path_of(k, t, out);
}

static struct otel_source_stats
stats_of(const struct kit *k)
{
	struct otel_source_stats st;

	otel_source_stats(k->s, &st);
	return st;
}

/* A child in another service, in another request, that comes before its parent: as libhone would have written it. */
static void
spans_become_a_request_with_forks_and_joins(void **state)
{
	char path[2000];
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_span(&k, "back", 1, 3, 2, "query", 10020, 10080, "", 10100);
	send_span(&k, "front", 1, 2, 1, "GET", 10010, 10090, "", 10200);
	poll_all(&k, 12199);
	send_span(&k, "front", 1, 1, 0, "GET /", 10000, 10100, "", 12199);
	poll_all(&k, 14198);
	assert_null(next_path(&k, path, 1));
	poll_all(&k, 14199);
	assert_null(next_path(&k, path, 1)); /* other nodes may have a part in it */
	poll_all(&k, 15105);
	assert_string_equal(next_path(&k, path, 1),
	    "front/hone:request_begin(GET /)@10000 front/hone:fork(GET)@10010 front/hone:unit_begin(GET)@10010 "
	    "front/hone:fork(query)@10020 back/hone:unit_begin(query)@10020 back/hone:unit_end(query)@10080 "
	    "front/hone:join(query)@10080 front/hone:unit_end(GET)@10090 front/hone:join(GET)@10090 "
	    "front/hone:request_end(GET /)@10100");
	assert_int_equal(stats_of(&k).records.requests, 1);
	assert_int_equal(stats_of(&k).records.records, 10);
	assert_int_equal(k.losses, 0);
	kit_end(&k);
}

/* Whatever the spans' order of arrival within delay and hold: the trace is complete, and not before. */
static void
no_trace_is_completed_before_its_spans_came(void **state)
{
	struct kit k;
	uint32_t complete = 0;
	(void)state;

	kit_begin(&k, &OPTIONS);
	for (unsigned trace = 1; trace <= 60;
	     trace++) { /* one each 100 ms; its parts come up to 3 s after its end */
		int64_t at = 10000 + trace * 100, came = at + 50 + trace * 7 % 60 * 49;

		poll_all(&k, at > came - 3000 ? at : came - 3000);
		send_span(&k, "b", trace, 2, 1, "y", at + 10, at + 40, "", came - trace % 2);
		send_span(&k, "a", trace, 1, 0, "x", at, at + 50, "", came);
	}
	for (int64_t ms = 19000; ms < 30000; ms += 50) {
		struct trace *t;

		poll_all(&k, ms);
		while ((t = assemble_next(k.a)) != NULL) {
			assert_true(trace_is_evidence(t));
			assert_int_equal(t->nunits, 2);
			complete++;
			trace_free(t);
		}
	}
	assert_int_equal(complete, 60);
	assert_int_equal(stats_of(&k).delayed, 0);
	kit_end(&k);
}

/* nginx with libhone (simulated by records of its own) calls a program with OpenTelemetry twice. */
static void
send_nginx(struct kit *k, uint32_t node)
{
	enum { BEGIN, FORK, JOIN, END };
	static const char *const none[1] = { NULL };
	static const char *const high[1] = { "trace_id_high" };
	struct batch_label labels[] = { { RECORD_REQUEST_BEGIN, 0, 1,
					    "nginx/hone:request_begin(GET)",
					    (const char **)(uintptr_t)high },
		{ RECORD_FORK, 0, 0, "nginx/hone:fork(node)", (const char **)(uintptr_t)none },
		{ RECORD_JOIN, 0, 0, "nginx/hone:join(node)", (const char **)(uintptr_t)none },
		{ RECORD_REQUEST_END, 0, 0, "nginx/hone:request_end(GET)",
		    (const char **)(uintptr_t)none } };
	struct value v = { .type = VALUE_UINT, .u = 0xaa };
	struct record records[] = { { 5, 77, 0, 10000 * MS, BEGIN, .nvalues = 1, .values = &v },
		{ 5, 77, 0x51, 10010 * MS, FORK }, { 5, 77, 0x51, 10040 * MS, JOIN },
		{ 5, 77, 0x52, 10050 * MS, FORK }, { 5, 77, 0x52, 10090 * MS, JOIN },
		{ 5, 77, 0, 10100 * MS, END } };
	struct batch b = { 20000 * MS, 4, 6, 0, labels, records, NULL };

	for (int i = 0; i < 4; i++)
		labels[i].len = (uint32_t)strlen(labels[i].text);
	assert_int_equal(assemble_join(k->to, node, &k->e), 0);
	assert_int_equal(assemble_batch(k->to, node, &b, &k->e), 0);
}

static void
a_caller_with_libhone_and_spans_are_one_trace(void **state)
{
	char path[2000];
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_nginx(&k, 1);
	/* The member is the same in all spans of a request; a proxy replaced the parent of the second. */
	send_span(
	    &k, "node", 5, 2, 1, "sql", 10021, 10029, "hone=0000000000000051-000000013", 10100);
	send_span(&k, "node", 5, 1, 0x51, "GET /", 10020, 10030,
	    "x=y,hone=0000000000000051-000000013", 10200);
	send_span(&k, "node", 5, 3, 0x99, "GET /", 10060, 10080, "hone=0000000000000052-000000013",
	    10200);
	poll_all(&k, 12300);
	poll_all(&k, 15110);
	assert_string_equal(next_path(&k, path, 5),
	    "nginx/hone:request_begin(GET)@10000 nginx/hone:fork(node)@10010 node/hone:unit_begin(GET /)@10020 "
	    "node/hone:fork(sql)@10021 node/hone:unit_begin(sql)@10021 node/hone:unit_end(sql)@10029 "
	    "node/hone:join(sql)@10029 node/hone:unit_end(GET /)@10030 nginx/hone:join(node)@10040 "
	    "nginx/hone:fork(node)@10050 node/hone:unit_begin(GET /)@10060 node/hone:unit_end(GET /)@10080 "
	    "nginx/hone:join(node)@10090 nginx/hone:request_end(GET)@10100");
	assert_int_equal(stats_of(&k).records.entries, 2);
	assert_int_equal(stats_of(&k).records.requests, 0);
	kit_end(&k);
}

static void
a_caller_that_did_not_sample_is_followed(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_span(&k, "node", 5, 1, 0x51, "GET /", 10020, 10030, "hone=0000000000000051-000000010",
	    10200);
	poll_all(&k, 12300);
	assert_int_equal(stats_of(&k).records.unsampled, 1);
	assert_int_equal(stats_of(&k).records.records, 0);
	kit_end(&k);
}

static void
a_caller_outside_of_hone_begins_a_request(void **state)
{
	char path[2000];
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_span(&k, "node", 6, 1, 0x51, "GET /", 10020, 10030, "", 10200);
	poll_all(&k, 12300);
	poll_all(&k, 15110);
	assert_string_equal(next_path(&k, path, 6),
	    "node/hone:request_begin(GET /)@10020 node/hone:request_end(GET /)@10030");
	kit_end(&k);
}

/* A span of a server. */
static void
send_kind(struct kit *k, const char *service, unsigned trace, unsigned id, unsigned parent,
    const char *name, int kind, int64_t begin_ms, int64_t end_ms, const char *state, int64_t now_ms)
{
	char text[600];

	span_text(text, trace, id, parent, name, begin_ms, end_ms, state);
	strstr(text, "\"kind\":1")[7] = (char)('0' + kind);
	send_spans(k, service, text, now_ms * MS);
}

static void
send_served(struct kit *k, const char *service, unsigned trace, unsigned id, unsigned parent,
    const char *name, int64_t begin_ms, int64_t end_ms, int64_t now_ms)
{
	send_kind(
	    k, service, trace, id, parent, name, SPAN_KIND_SERVER, begin_ms, end_ms, "", now_ms);
}

/* Two nodes, each with its agent: "far" serves what "near" calls, and calls "near" in turn. */
static void
two_nodes_begin(struct kit *near, struct kit *far)
{
	kit_begin(near, &OPTIONS);
	kit_begin(far, &OPTIONS);
	far->to = near->a;
	far->node = 1;
	assert_int_equal(assemble_join(near->a, 1, &near->e), 0);
}

static void
send_both_parts(struct kit *near, struct kit *far)
{
	send_span(near, "shop", 4, 1, 0, "GET /", 10000, 10100, "", 10200);
	send_span(near, "shop", 4, 2, 1, "call", 10010, 10090, "", 10200);
	send_served(near, "shop", 4, 5, 4, "GET /self", 10040, 10050, 10200);
	send_served(far, "stock", 4, 3, 2, "GET /stock", 10020, 10080, 10200);
	send_span(far, "stock", 4, 4, 3, "back", 10030, 10060, "", 10200);
}

static void
a_span_that_another_node_called_is_a_unit_of_its_caller(void **state)
{
	char path[2000];
	struct kit near, far;
	(void)state;

	two_nodes_begin(&near, &far);
	send_both_parts(&near, &far);
	poll_all(&near, 12300);
	poll_all(&far, 12300);
	poll_all(&near, 15200);
	poll_all(&far, 15200);
	assert_string_equal(next_path(&near, path, 4),
	    "shop/hone:request_begin(GET /)@10000 shop/hone:fork(call)@10010 shop/hone:unit_begin(call)@10010 "
	    "stock/hone:unit_begin(GET /stock)@10020 stock/hone:fork(back)@10030 stock/hone:unit_begin(back)@10030 "
	    "shop/hone:unit_begin(GET /self)@10040 shop/hone:unit_end(GET /self)@10050 "
	    "stock/hone:unit_end(back)@10060 stock/hone:join(back)@10060 stock/hone:unit_end(GET /stock)@10080 "
	    "shop/hone:unit_end(call)@10090 shop/hone:join(call)@10090 shop/hone:request_end(GET /)@10100");
	assert_int_equal(stats_of(&near).records.entries, 1);
	assert_int_equal(stats_of(&far).records.entries, 1);
	assert_int_equal(stats_of(&far).records.incomplete, 0);
	kit_end(&far);
	kit_end(&near);
}

/* A message that is done while the producer still sends, and one that is done later: neither is on the path, and the request is whole. */
static void
no_producer_waits_for_a_consumer_on_another_node(void **state)
{
	static const char hone[] = "hone=0000000000000051-000000013";
	char path[2000];
	struct kit near, far;
	struct trace *t;
	(void)state;

	two_nodes_begin(&near, &far);
	send_span(&near, "shop", 4, 1, 0, "GET /", 10000, 10100, "", 10200);
	send_span(&near, "shop", 4, 2, 1, "send", 10010, 10090, "", 10200);
	send_kind(&far, "stock", 4, 3, 2, "take", SPAN_KIND_CONSUMER, 10020, 10080, "", 10200);
	send_nginx(&near, 2);
	send_span(&near, "node", 5, 2, 1, "send", 10021, 10029, hone, 10100);
	send_span(&near, "node", 5, 1, 0x51, "GET /", 10020, 10030, hone, 10200);
	send_kind(&far, "stock", 5, 3, 2, "take", SPAN_KIND_CONSUMER, 10022, 10028, hone, 10200);
	send_span(&near, "node", 5, 4, 0x52, "GET /", 10060, 10080,
	    "hone=0000000000000052-000000013", 10200);
	poll_all(&near, 12300);
	poll_all(&far, 12300);
	poll_all(&near, 15200);
	poll_all(&far, 15200);
	for (int i = 0; i < 2; i++) {
		uint32_t units = 0;

		assert_non_null(t = assemble_next(near.a));
		for (uint32_t e = 0; e < t->nevents; e++)
			units += strcmp(labels_get(near.labels, t->events[e].label)->text,
				     "stock/hone:unit_begin(take)") == 0;
		assert_int_equal(units, 1);
		assert_null(strstr(path_of(&near, t, path), "stock"));
	}
	kit_end(&far);
	kit_end(&near);
}

/* The far node's span has the link of nginx's fork, too, which the near one hands on. */
static void
so_it_is_where_a_caller_with_libhone_is_before_them(void **state)
{
	static const char hone[] = "hone=0000000000000051-000000013";
	char path[2000];
	struct kit near, far;
	(void)state;

	two_nodes_begin(&near, &far);
	send_nginx(&near, 2);
	send_span(&near, "node", 5, 2, 1, "call", 10021, 10029, hone, 10100);
	send_span(&near, "node", 5, 1, 0x51, "GET /", 10020, 10030, hone, 10200);
	send_span(&far, "stock", 5, 3, 2, "GET /stock", 10022, 10028, hone, 10200);
	send_span(&near, "node", 5, 4, 0x52, "GET /", 10060, 10080,
	    "hone=0000000000000052-000000013", 10200);
	poll_all(&near, 12300);
	poll_all(&far, 12300);
	poll_all(&near, 15200);
	poll_all(&far, 15200);
	assert_string_equal(next_path(&near, path, 5),
	    "nginx/hone:request_begin(GET)@10000 nginx/hone:fork(node)@10010 node/hone:unit_begin(GET /)@10020 "
	    "node/hone:fork(call)@10021 node/hone:unit_begin(call)@10021 stock/hone:unit_begin(GET /stock)@10022 "
	    "stock/hone:unit_end(GET /stock)@10028 node/hone:unit_end(call)@10029 node/hone:join(call)@10029 "
	    "node/hone:unit_end(GET /)@10030 nginx/hone:join(node)@10040 nginx/hone:fork(node)@10050 "
	    "node/hone:unit_begin(GET /)@10060 node/hone:unit_end(GET /)@10080 nginx/hone:join(node)@10090 nginx/hone:request_end(GET)@10100");
	kit_end(&far);
	kit_end(&near);
}

static void
its_attributes_stay_fields(void **state)
{
	struct kit near, far;
	struct trace *t;
	uint32_t found = 0;
	(void)state;

	two_nodes_begin(&near, &far);
	send_both_parts(&near, &far);
	poll_all(&near, 12300);
	poll_all(&far, 12300);
	poll_all(&near, 15200);
	poll_all(&far, 15200);
	assert_non_null(t = assemble_next(near.a));
	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct label *l = labels_get(near.labels, t->events[i].label);

		if (strcmp(l->text, "stock/hone:unit_begin(GET /stock)") != 0)
			continue;
		found++;
		assert_int_equal(l->nfields, 3);
		assert_string_equal(l->fields[1], "failed");
		assert_string_equal(l->fields[2], "rows");
		assert_int_equal(t->events[i].nvalues, 3);
		assert_int_equal(t->events[i].values[2].u, 3);
	}
	assert_int_equal(found, 1);
	trace_free(t);
	kit_end(&far);
	kit_end(&near);
}

/* Nor are there client spans, by which units tell that a node sends spans. The part's records come first, and its end is past. */
static void
a_part_waits_for_a_request_of_a_single_span(void **state)
{
	struct kit near, far;
	struct trace *t;
	(void)state;

	two_nodes_begin(&near, &far);
	send_served(&far, "stock", 4, 2, 1, "GET /stock", 10020, 10080, 10200);
	poll_all(&far, 12300);
	send_span(&near, "shop", 4, 1, 0, "GET /", 10000, 11000, "", 11100);
	poll_all(&near, 15090);
	poll_all(&far, 15200);
	assert_null(
	    assemble_next(near.a)); /* the watermark of the near one is past the part's end only */
	poll_all(&near, 16200);
	poll_all(&far, 16200);
	assert_non_null(t = assemble_next(near.a));
	assert_int_equal(t->nunits, 2);
	assert_true(trace_is_evidence(t));
	trace_free(t);
	kit_end(&far);
	kit_end(&near);
}

/* The far node knows the type of its part only, and not that of the request that is probed. */
static void
such_a_request_is_probed_if_all_of_its_parts_have_their_points(void **state)
{
	struct rate rates[] = { { "GET /", 1, 1 } };
	struct want want = { .sampled = 1, .nrates = 1, .rates = rates };
	(void)state;

	for (int on = 0; on < 2; on++) {
		struct kit near, far;
		struct trace *t;

		two_nodes_begin(&near, &far);
		assert_int_equal(
		    otel_source_want(near.s, &want, (struct mono){ 60 * S }, &near.e), 0);
		assert_int_equal(
		    otel_source_want(far.s, &want, (struct mono){ 60 * S }, &far.e), 0);
		otel_source_share(far.s, on, (struct mono){ 9 * S });
		send_both_parts(&near, &far);
		poll_all(&near, 12300);
		poll_all(&far, 12300);
		poll_all(&near, 15200);
		poll_all(&far, 15200);
		assert_non_null(t = assemble_next(near.a));
		assert_true(trace_is_evidence(t));
		assert_int_equal(t->probed, on);
		trace_free(t);
		kit_end(&far);
		kit_end(&near);
	}
}

/* The far node's part has a rate of its own, as it has once it was alone: the request is chosen by another one. */
static void
no_part_is_rarer_than_the_request_it_belongs_to(void **state)
{
	struct rate diagnosed[] = { { "GET /", 1, 1 }, { "GET /stock", 0.02, 0 } };
	struct rate rare[] = { { "GET /stock", 0.02, 0 } }; /* "GET /" has that of all others */
	const struct want wants[] = { { .sampled = 0.1, .nrates = 2, .rates = diagnosed },
		{ .sampled = 1, .nrates = 1, .rates = rare } };
	(void)state;

	for (int i = 0; i < 2; i++) {
		struct kit near, far;

		two_nodes_begin(&near, &far);
		otel_source_want(near.s, &wants[i], (struct mono){ 60 * S }, &near.e);
		otel_source_want(far.s, &wants[i], (struct mono){ 60 * S }, &far.e);
		for (unsigned trace = 1; trace <= 200; trace++) {
			send_span(&near, "shop", trace, 1, 0, "GET /", 10000, 10100, "", 10200);
			send_span(&near, "shop", trace, 2, 1, "call", 10010, 10090, "", 10200);
			send_served(&far, "stock", trace, 3, 2, "GET /stock", 10020, 10080, 10200);
		}
		poll_all(&near, 12300);
		poll_all(&far, 12300);
		assert_int_equal(stats_of(&near).records.requests, 200);
		assert_int_equal(stats_of(&far).records.requests, 0);
		assert_int_equal(stats_of(&far).records.entries, 200);
		kit_end(&far);
		kit_end(&near);
	}
}

static void
a_trace_with_a_missing_parent_is_left_out_and_counted(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_span(&k, "a", 7, 1, 0, "x", 10000, 10100, "", 10200);
	send_span(&k, "a", 7, 3, 2, "z", 10020, 10030, "", 10200);
	poll_all(&k, 13000);
	assert_int_equal(stats_of(&k).records.incomplete, 1);
	assert_int_equal(stats_of(&k).records.incomplete_spans, 2);
	assert_int_equal(stats_of(&k).records.records, 0);
	/* Circles, and a span that is its own parent. */
	send_span(&k, "a", 8, 1, 2, "x", 10000, 10100, "", 13000);
	send_span(&k, "a", 8, 2, 1, "x", 10000, 10100, "", 13000);
	send_span(&k, "a", 9, 4, 4, "x", 10000, 10100, "", 13000);
	poll_all(&k, 20000);
	assert_int_equal(stats_of(&k).records.incomplete, 2);
	kit_end(&k);
}

static void
what_is_refused_is_told_and_its_trace_left_out(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_span(&k, "a", 1, 1, 0, "x", 10000, 10100, "", 10200);
	assert_int_equal(k.receipt.taken, 1);
	send_span(&k, "a", 1, 2, 1, "x", 10050, 10040, "", 10200);
	assert_int_equal(k.receipt.rejected, 1);
	assert_non_null(strstr(k.receipt.why, "ends before it begins"));
	send_span(&k, "a", 2, 2, 1, "x", 10050, 12040, "", 10200);
	assert_non_null(strstr(k.receipt.why, "in the future"));
	send_span(&k, "a", 2, 3, 1, "x", 10050, 10060, "", 700000);
	assert_non_null(strstr(k.receipt.why, "too old"));
	send_span(&k, "a", 2, 0, 1, "x", 10050, 10060, "", 10200);
	assert_int_equal(k.receipt.rejected, 1);
	assert_int_equal(k.receipt.taken, 0);
	send_span(
	    &k, "a", 3, 2, 1, "x", 10050, 10040, "", 10200); /* before all others of its trace */
	assert_int_equal(k.receipt.rejected, 1);
	send_span(&k, "a", 3, 1, 0, "x", 10000, 10100, "", 10200);
	assert_int_equal(k.receipt.taken, 1);
	poll_all(&k, 20000);
	assert_int_equal(stats_of(&k).records.incomplete, 2);
	assert_int_equal(stats_of(&k).rejected, 5);
	kit_end(&k);
}

static void
receive(struct kit *k, enum span_format format, const void *body, size_t len)
{
	assert_int_equal(otel_source_receive(k->s, format, body, len, (struct mono){ 10200 * MS },
			     &k->receipt, &k->e),
	    0);
}

/* Ids as they stand in the texts, of a span of 1 ms. */
static void
receive_ids(
    struct kit *k, enum span_format format, const char *trace, const char *id, const char *parent)
{
	long long begin = WALL + 10100 * MS, end = begin + MS;
	char body[600];
	int len;

	if (format == SPANS_ZIPKIN)
		len = snprintf(body, sizeof body,
		    "[{\"traceId\":\"%s\",\"id\":\"%s\",\"parentId\":\"%s\",\"name\":\"x\",\"timestamp\":%lld,\"duration\":1000}]",
		    trace, id, parent, begin / 1000);
	else
		len = snprintf(body, sizeof body,
		    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"%s\",\"spanId\":\"%s\",\"parentSpanId\":\"%s\","
		    "\"name\":\"x\",\"startTimeUnixNano\":\"%lld\",\"endTimeUnixNano\":\"%lld\"}]}]}]}",
		    trace, id, parent, begin, end);
	receive(k, format, body, (size_t)len);
}

#define TRACE32 "000000000000000000000000000000c"
#define SPAN16 "000000000000000"

static void
ids_of_a_wrong_length_are_refused(void **state)
{
	static const struct {
		enum span_format format;
		const char *trace, *id, *parent;
		bool taken;
	} cases[] = { { SPANS_OTLP_JSON, TRACE32 "1", SPAN16 "1", "", true },
		{ SPANS_OTLP_JSON, "C2", SPAN16 "1", "", false },
		{ SPANS_OTLP_JSON, TRACE32 "300", SPAN16 "1", "", false },
		{ SPANS_OTLP_JSON, TRACE32 "4", "01", "", false },
		{ SPANS_OTLP_JSON, TRACE32 "5", SPAN16 "100", "", false },
		{ SPANS_OTLP_JSON, TRACE32 "6", SPAN16 "2", "01", false },
		{ SPANS_OTLP_JSON, TRACE32 "7", SPAN16 "2", SPAN16 "100", false },
		{ SPANS_OTLP_JSON, TRACE32 "8", SPAN16 "2", "no id", false },
		{ SPANS_OTLP_JSON, TRACE32 "9", SPAN16 "2", SPAN16 "0", true },
		{ SPANS_ZIPKIN, "a", "1", "", true }, /* as Zipkin's servers take them */
		{ SPANS_ZIPKIN, TRACE32 "b00", SPAN16 "1", "", false },
		{ SPANS_ZIPKIN, TRACE32 "c", SPAN16 "100", "", false },
		{ SPANS_ZIPKIN, TRACE32 "d", SPAN16 "2", "no id", false },
		{ SPANS_ZIPKIN, "no trace", SPAN16 "2", "", false } };
	/* ResourceSpans { ScopeSpans { Span { trace of 16 bytes, id of 8, parent of 9, begin, end } } }, without the times */
	static const uint8_t proto[] = { 0x0a, 43, 0x12, 41, 0x12, 39, 0x0a, 16, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0xce, 0x12, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0x22, 9, 0, 0, 0,
		0, 0, 0, 0, 0, 1 };
	uint64_t refused = 0;
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		receive_ids(&k, cases[i].format, cases[i].trace, cases[i].id, cases[i].parent);
		assert_int_equal(k.receipt.taken, cases[i].taken);
		assert_int_equal(k.receipt.rejected, !cases[i].taken);
		refused += !cases[i].taken;
		assert_true(cases[i].taken || k.receipt.why[0] != '\0');
	}
	receive(&k, SPANS_OTLP_PROTO, proto, sizeof proto);
	assert_int_equal(k.receipt.rejected, 1);
	assert_non_null(strstr(k.receipt.why, "wrong length"));
	poll_all(&k, 20000);
	assert_int_equal(stats_of(&k).rejected, refused + 1);
	assert_int_equal(stats_of(&k).records.requests,
	    3); /* of no span whose parent's id is wrong a request was made */
	kit_end(&k);
}

static void
what_is_no_body_is_told_apart_from_one_without_spans(void **state)
{
	static const char deep[] = "\x1f\x8b\x08 gzip again";
	static const struct {
		enum span_format format;
		const char *body;
		bool malformed;
	} cases[] = { { SPANS_OTLP_JSON, "{}", false }, { SPANS_OTLP_JSON, " { }\n", false },
		{ SPANS_OTLP_JSON, "{\"resourceSpans\":[]}", false },
		{ SPANS_OTLP_PROTO, "", false }, { SPANS_ZIPKIN, "[]", false },
		{ SPANS_OTLP_JSON, "", true }, { SPANS_OTLP_JSON, "{", true },
		{ SPANS_OTLP_JSON, "[1,2", true }, { SPANS_OTLP_JSON, "hello", true },
		{ SPANS_OTLP_PROTO, "hello", true },
		{ SPANS_OTLP_PROTO, "\x0a\xff\xff\xff\xff\x7f", true }, { SPANS_ZIPKIN, "{", true },
		{ SPANS_OTLP_PROTO, deep, true }, { SPANS_OTLP_JSON, deep, true } };
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(otel_source_receive(k.s, cases[i].format, cases[i].body,
				     strlen(cases[i].body), (struct mono){ S }, &k.receipt, &k.e),
		    0);
		if (k.receipt.malformed != cases[i].malformed)
			fail_msg("case %zu: %s (%s)", i, cases[i].body, k.receipt.why);
		assert_true(k.receipt.malformed == (k.receipt.why[0] != '\0'));
	}
	kit_end(&k);
}

static void
a_span_that_comes_too_late_is_a_loss_and_one_that_comes_again_is_none(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_span(&k, "a", 1, 1, 0, "x", 10000, 10100, "", 10200);
	send_span(&k, "a", 1, 1, 0, "x", 10000, 10100, "", 10200);
	poll_all(&k, 13000);
	send_span(&k, "a", 1, 1, 0, "x", 10000, 10100, "", 13100);
	assert_int_equal(k.receipt.lost, 0);
	send_span(&k, "a", 1, 2, 1, "x", 10000, 10100, "", 13100);
	assert_int_equal(k.receipt.lost, 1);
	poll_all(&k, 13200);
	assert_int_equal(k.losses, 1);
	assert_int_equal(stats_of(&k).again, 2);
	assert_int_equal(stats_of(&k).records.requests, 1);
	kit_end(&k);
}

static void
a_step_of_the_wall_clock_is_a_loss(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	assert_true(otel_source_clocks(
	    k.s, (struct mono){ 10 * S }, (struct wall){ WALL + 11 * S }, (struct mono){ 10 * S }));
	poll_all(&k, 10000);
	assert_int_equal(k.losses, 1);
	assert_int_equal(stats_of(&k).clock_steps, 1);
	kit_end(&k);
}

/* Of 4,000 requests of a type: the share that the rates say, and the same ones again. */
static void
rates_choose_by_type(void **state)
{
	struct rate rates[] = { { "half", 0.5, 0.25 }, { "none", 0, 0 } };
	struct want w = { .sampled = 1, .nrates = 2, .rates = rates };
	uint32_t probed = 0;
	struct trace *t;
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	assert_int_equal(otel_source_want(k.s, &w, (struct mono){ 100 * S }, &k.e), 0);
	memset(rates, 0, sizeof rates); /* they were copied */
	for (unsigned i = 1; i <= 4000; i++)
		send_span(&k, "a", i, 1, 0,
		    i % 2 == 0   ? "half"
		    : i % 4 == 1 ? "none"
				 : "other",
		    10000, 10100, "", 10200);
	poll_all(&k, 13000);
	assert_in_range(stats_of(&k).records.requests, 1000 + 900, 1000 + 1100);
	assert_int_equal(stats_of(&k).records.requests + stats_of(&k).records.unsampled, 4000);
	poll_all(&k, 16000);
	while ((t = assemble_next(k.a)) != NULL) {
		probed += t->probed;
		trace_free(t);
	}
	assert_in_range(probed, 430, 570);
	otel_source_sample(k.s, false);
	send_span(&k, "a", 5000, 1, 0, "other", 16000, 16100, "", 16200);
	poll_all(&k, 19000);
	assert_in_range(stats_of(&k).records.unsampled, 4001 - 2100, 4001 - 1900);
	kit_end(&k);
}

/* A span with more members, as text of JSON. */
static void
send_more(struct kit *k, unsigned id, unsigned parent, const char *name, int64_t begin_ms,
    int64_t end_ms, const char *more)
{
	char text[600], all[1600];

	span_text(text, 1, id, parent, name, begin_ms, end_ms, "");
	text[strlen(text) - 1] = '\0';
	snprintf(all, sizeof all, "%s,%s}", text, more);
	send_spans(k, "shop", all, 10200 * MS);
}

static const struct event *
find_event(struct kit *k, const struct trace *t, const char *label)
{
	for (uint32_t i = 0; i < t->nevents; i++)
		if (strcmp(labels_get(k->labels, t->events[i].label)->text, label) == 0)
			return &t->events[i];
	return NULL;
}

static struct text_view
switch_express(void *ctx, struct text_view service, struct text_view scope)
{
	static const char is[] = "@opentelemetry/instrumentation-express";

	++*(int *)ctx;
	assert_memory_equal(service.s, "shop", 4);
	return scope.len == sizeof is - 1 && memcmp(scope.s, is, scope.len) == 0
	           ? (struct text_view){ "opamp:express", 13 }
	           : (struct text_view){ 0 };
}

/* Of the scope that is switched, spans are points of probed requests, with their names as a field; but not those that begin or take over a request. */
static void
take_switched(const struct want *w, bool probed, bool points)
{
	struct kit k;
	struct trace *t;
	const struct event *e;
	int asked = 0;
	const struct otel_levers levers = { switch_express, NULL, &asked };
	char text[600], root[600], all[3000];

	kit_begin(&k, &OPTIONS);
	otel_source_levers(k.s, &levers);
	assert_int_equal(otel_source_want(k.s, w, (struct mono){ 100 * S }, &k.e), 0);
	buf_reset(&k.body);
	snprintf(all, sizeof all,
	    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}}]},\"scopeSpans\":["
	    "{\"scope\":{\"version\":\"1\",\"name\":\"@opentelemetry/instrumentation-express\"},\"spans\":[%s,%s]},",
	    span_text(text, 1, 2, 1, "middleware", 10010, 10050, ""),
	    span_text(root, 1, 1, 0, "GET /", 10000, 10100, ""));
	buf_printf(&k.body, "%s", all);
	buf_printf(
	    &k.body, "{\"spans\":[%s]}]}]}", span_text(text, 1, 3, 2, "query", 10020, 10030, ""));
	assert_int_equal(otel_source_receive(k.s, SPANS_OTLP_JSON, k.body.data, k.body.len,
			     (struct mono){ 10200 * MS }, &k.receipt, &k.e),
	    0);
	assert_int_equal(asked, 1); /* not of spans without a scope, nor of the root */
	poll_all(&k, 13000);
	poll_all(&k, 16000);
	t = assemble_next(k.a);
	assert_non_null(t);
	assert_true(trace_is_evidence(t) && t->probed == probed);
	assert_int_equal(t->nunits, 2);
	e = find_event(&k, t, "shop/opamp:express_begin");
	assert_true((e != NULL) == points);
	if (points) {
		assert_int_equal(t->units[e->unit].id, 1);
		assert_string_equal(labels_get(k.labels, e->label)->fields[0], "span.name");
		assert_memory_equal(e->values[0].text, "middleware", 10);
		assert_non_null(find_event(&k, t, "shop/opamp:express_end"));
	}
	trace_free(t);
	kit_end(&k);
}

static void
spans_of_a_switched_scope_are_points(void **state)
{
	struct rate rate = { .request_type = "GET /", .sampled = 1, .probed = 1 };
	const struct want w = { .sampled = 1, .rates = &rate, .nrates = 1 };
	(void)state;

	take_switched(&w, true, true);
	rate.probed = 0;
	take_switched(&w, false, false);
}

static void
so_they_are_in_all_sampled_requests_if_some_are_wanted_there(void **state)
{
	struct toggle toggle = { "opamp:express_begin", true };
	struct want w = { .sampled = 1, .ntoggles = 1, .toggles = &toggle };
	(void)state;

	take_switched(&w, false, true);
	toggle.sampled = false;
	take_switched(&w, false, false);
}

/* In the span's unit, between its first and its last record, with their attributes as fields; a tracepoint that is on. */
static void
events_of_spans_are_points_with_keys(void **state)
{
	struct programs none = { 0 };
	struct arena a = { 0 };
	struct kit k;
	struct trace *t;
	const struct event *e;
	char more[800];
	(void)state;

	kit_begin(&k, &OPTIONS);
	snprintf(more, sizeof more,
	    "\"events\":[{\"timeUnixNano\":\"%lld\",\"name\":\"cache.miss\",\"attributes\":[{\"key\":\"size\",\"value\":{\"intValue\":\"9\"}},"
	    "{\"key\":\"why\",\"value\":{\"stringValue\":\"old\"}}]},{\"timeUnixNano\":\"%lld\",\"name\":\"after\"},"
	    "{\"timeUnixNano\":\"1\",\"name\":\"no*name\"},{\"name\":\"\"},7]",
	    (long long)(WALL + 10040 * MS), (long long)(WALL + 10900 * MS));
	send_more(&k, 2, 1, "GET", 10010, 10090, more);
	send_span(&k, "shop", 1, 1, 0, "GET /", 10000, 10100, "", 10200);
	poll_all(&k, 13000);
	poll_all(&k, 16000);
	t = assemble_next(k.a);
	assert_non_null(t);
	assert_true(trace_is_evidence(t));
	e = find_event(&k, t, "shop/event:cache.miss");
	assert_non_null(e);
	assert_int_equal(e->time_ns, 10040 * MS);
	assert_int_equal(t->units[e->unit].id, 2);
	assert_int_equal(e->nvalues, 2);
	assert_string_equal(labels_get(k.labels, e->label)->fields[0], "size");
	assert_int_equal(e->values[0].i, 9);
	assert_memory_equal(e->values[1].text, "old", 3);
	e = find_event(&k, t, "shop/event:after");
	assert_non_null(e);
	assert_int_equal(e->time_ns, 10090 * MS - 1);
	trace_free(t);
	assert_int_equal(stats_of(&k).records.events, 2);
	assert_int_equal(stats_of(&k).records.point_records, 0); /* they cost no more than before */
	assert_true(event_names_has(otel_source_events(k.s), "event:cache.miss"));
	assert_true(event_names_has(otel_source_events(k.s), "event:*"));
	assert_false(event_names_has(otel_source_events(k.s), "event:no*name"));
	none.nprograms = 2;
	none.programs = (struct program[]){ { .service = "shop" }, { .service = "other" } };
	assert_true(event_names_fill(otel_source_events(k.s), &none, 0, &a));
	assert_int_equal(none.programs[0].count, 2);
	assert_string_equal(none.names[none.programs[0].first], "event:cache.miss");
	assert_int_equal(none.programs[1].count, 0);
	arena_release(&a);
	kit_end(&k);
}

static void
names_of_events_are_bounded(void **state)
{
	struct event_names *n = event_names_new();
	struct text_view shop = { "shop", 4 };
	char name[32];
	(void)state;

	for (int i = 0; i < EVENT_NAMES_MAX + 5; i++) {
		struct text_view v = { name, (uint32_t)snprintf(name, sizeof name, "e%d", i) };
		const char *got = event_names_note(n, shop, v);

		assert_true((got != NULL) == (i < EVENT_NAMES_MAX));
	}
	assert_string_equal(event_names_note(n, shop, (struct text_view){ "e7", 2 }), "event:e7");
	assert_int_equal(event_names_left(n), 5);
	event_names_free(n);
}

/* The producer hands the work on: the path leads from the consumer into it, over the time in the queue. Links to what is not done, to the span itself,
 * or to spans that are not there change nothing; their number is a key. */
static void
a_link_to_a_span_that_ended_before_is_the_cause(void **state)
{
	char path[2000];
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_span(&k, "shop", 1, 2, 1, "produce", 10010, 10030, "", 10200);
	send_span(&k, "shop", 1, 4, 1, "other", 10020, 10095, "", 10200);
	send_more(&k, 3, 1, "consume", 10050, 10090,
	    "\"links\":[{\"traceId\":\"00000000000000aa0000000000000001\",\"spanId\":\"0000000000000002\"},"
	    "{\"traceId\":\"00000000000000aa0000000000000001\",\"spanId\":\"0000000000000004\"},"
	    "{\"traceId\":\"00000000000000aa0000000000000001\",\"spanId\":\"0000000000000003\"},"
	    "{\"traceId\":\"00000000000000aa0000000000000001\",\"spanId\":\"0000000000000099\"},"
	    "{\"traceId\":\"000000000000000000000000000000bb\",\"spanId\":\"0000000000000002\"}]");
	send_more(&k, 1, 0, "GET /", 10000, 10100, "\"events\":[],\"links\":[]");
	poll_all(&k, 13000);
	poll_all(&k, 16000);
	assert_non_null(next_path(&k, path, 1));
	assert_non_null(strstr(path, "shop/hone:unit_begin(other)@10020")); /* it ended last */
	assert_int_equal(stats_of(&k).records.links, 1);
	kit_end(&k);

	kit_begin(&k, &OPTIONS);
	send_span(&k, "shop", 1, 2, 1, "produce", 10010, 10030, "", 10200);
	send_more(&k, 3, 1, "consume", 10050, 10090,
	    "\"links\":[{\"traceId\":\"00000000000000aa0000000000000001\",\"spanId\":\"0000000000000002\"}]");
	send_span(&k, "shop", 1, 1, 0, "GET /", 10000, 10100, "", 10200);
	poll_all(&k, 13000);
	poll_all(&k, 16000);
	assert_string_equal(next_path(&k, path, 1),
	    "shop/hone:request_begin(GET /)@10000 shop/hone:fork(produce)@10010 shop/hone:unit_begin(produce)@10010 "
	    "shop/hone:fork(consume)@10029 shop/hone:unit_begin(consume)@10050 shop/hone:unit_end(consume)@10090 "
	    "shop/hone:join(consume)@10090 shop/hone:request_end(GET /)@10100");
	kit_end(&k);
}

/* ---- clocks of other hosts ---- */

enum { CALL_MS = 100, CALLS = 2000 }; /* a request each 100 ms */

/* One span with kind and an event in its middle; times in us by the clock of its host. */
static void
send_from(struct kit *k, const char *host, unsigned trace, unsigned id, unsigned parent,
    const char *name, int kind, int64_t begin_us, int64_t end_us, int64_t now_us)
{
	char above[40] = "";

	if (parent != 0)
		snprintf(above, sizeof above, "\"parentSpanId\":\"%016x\",", parent);
	buf_reset(&k->body);
	buf_printf(&k->body,
	    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"%s\"}},"
	    "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"%s%s\"}}]},\"scopeSpans\":[{\"spans\":["
	    "{\"traceId\":\"00000000000000aa%016x\",\"spanId\":\"%016x\",%s\"name\":\"%s\",\"kind\":%d,"
	    "\"startTimeUnixNano\":\"%lld\",\"endTimeUnixNano\":\"%lld\",\"events\":[{\"timeUnixNano\":\"%lld\",\"name\":\"half\"}]}]}]}]}",
	    host, host, host[0] != '\0' ? ".example" : "", trace, id, above, name, kind,
	    (long long)(WALL + begin_us * 1000), (long long)(WALL + end_us * 1000),
	    (long long)(WALL + (begin_us + end_us) / 2 * 1000));
	assert_int_equal(otel_source_receive(k->s, SPANS_OTLP_JSON, k->body.data, k->body.len,
			     (struct mono){ now_us * 1000 }, &k->receipt, &k->e),
	    0);
}

struct call_times { /* of a trace, as assembled */
	int64_t root_us, client_us, client_end_us, server_us, server_end_us, half_us;
	uint64_t number;
};

static int64_t
time_us(struct kit *k, const struct trace *t, const char *label)
{
	const struct event *e = find_event(k, t, label);

	if (e == NULL)
		fail_msg("trace %llu has no %s", (unsigned long long)t->id, label);
	return e->time_ns / 1000;
}

static bool
next_call(struct kit *k, struct call_times *ret)
{
	struct trace *t = assemble_next(k->a);

	if (t == NULL)
		return false;
	assert_true(trace_is_evidence(t));
	*ret = (struct call_times){ time_us(k, t, "front/hone:request_begin(GET)"),
		time_us(k, t, "front/hone:unit_begin(call)"),
		time_us(k, t, "front/hone:unit_end(call)"),
		time_us(k, t, "back/hone:unit_begin(serve)"),
		time_us(k, t, "back/hone:unit_end(serve)"), time_us(k, t, "back/event:half"),
		t->id };
	trace_free(t);
	return true;
}

/*
 * Requests of 50 ms on the host "front", of which a call takes 40 ms, of which 30 ms are on the host "back". By the clocks of the hosts, which are ahead of
 * this machine's by what the functions say, in us. Of most of them a trace is made, in which the server is within its client, takes 30 ms, and has its event
 * in its middle. The first ones are lost: before three bodies nothing says what the clock is.
 */
static void
take_calls(struct kit *k, int64_t (*front_us)(unsigned call), int64_t (*back_us)(unsigned call),
    uint32_t lost_max)
{
	const struct otel_source_options o = { { 16 << 20, 1000, 2 * S, 60 * S }, 1 << 20, 3 * S,
		1 * S, 600 * S };
	struct call_times c;
	uint32_t n = 0;

	kit_begin(k, &o);
	for (unsigned i = 1; i <= CALLS; i++) {
		int64_t at = 10000000 + (int64_t)i * CALL_MS * 1000, f = at + front_us(i),
			b = at + back_us(i);

		send_from(k, "back", i, 3, 2, "serve", SPAN_KIND_SERVER, b + 10000, b + 40000,
		    at + 60000);
		send_from(
		    k, "front", i, 2, 1, "call", SPAN_KIND_CLIENT, f + 5000, f + 45000, at + 60000);
		send_from(k, "front", i, 1, 0, "GET", SPAN_KIND_SERVER, f, f + 50000, at + 60000);
		poll_all(k, at / 1000 + 60);
	}
	poll_all(k, 10000 + CALLS * CALL_MS + 3000);
	poll_all(k, 10000 + CALLS * CALL_MS + 9000);
	for (; next_call(k, &c); n++) {
		int64_t at = 10000000 + (int64_t)c.number * CALL_MS * 1000;

		assert_true(c.root_us <= at + 1000000 && c.root_us >= at - 50000);
		assert_int_equal(c.client_us, c.root_us + 5000);
		assert_int_equal(c.client_end_us, c.root_us + 45000);
		assert_true(c.client_us <= c.server_us && c.server_end_us <= c.client_end_us);
		assert_int_equal(c.server_end_us - c.server_us, 30000);
		assert_int_equal(c.half_us - c.server_us, 15000);
	}
	assert_true(n <= CALLS && n >= CALLS - lost_max);
	/* Where the client is lost, the server's part is a tree of its own; of what was refused altogether there is none. */
	assert_in_range(stats_of(k).records.incomplete, (CALLS - n + 1) / 2, 2 * (CALLS - n));
	kit_end(k);
}

static int64_t
in_time(unsigned call)
{
	(void)call;
	return 0;
}

/* By 3 s, and by 20 us more with each call: 200 ppm. */
static int64_t
seconds_ahead(unsigned call)
{
	return 3000000 + (int64_t)call * 20;
}

static int64_t
seconds_behind(unsigned call)
{
	return -seconds_ahead(call);
}

/* From 10 ms behind to 50 ms ahead: 300 ppm. Between, the server's time is partly within the client's. */
static int64_t
drifts_through(unsigned call)
{
	return -10000 + (int64_t)call * 30;
}

static void
a_host_whose_clock_is_seconds_off_loses_no_requests_but_the_first_ones(void **state)
{
	struct kit k;
	(void)state;

	take_calls(&k, in_time, in_time, 0);
	take_calls(&k, in_time, seconds_ahead, 3);
	take_calls(&k, seconds_ahead, in_time, 2);
	take_calls(&k, seconds_ahead, seconds_ahead, 3);
	take_calls(&k, in_time, seconds_behind, 0);
}

/* A server that takes longer than its client by its own clock, or a host without a name, is put nowhere by a clock that is 3 s ahead. */
static void
a_request_with_a_part_that_is_put_nowhere_is_left_out(void **state)
{
	(void)state;

	for (int named = 0; named < 2; named++) {
		const char *host = named ? "back" : "";
		int64_t server_us = named ? 41000 : 30000;
		struct kit k;

		kit_begin(&k, &OPTIONS);
		for (unsigned i = 1; i <= 8; i++) {
			int64_t at = 10000000 + (int64_t)i * 100000, b = at + 3000000;

			send_from(&k, host, i, 3, 2, "serve", SPAN_KIND_SERVER, b + 10000,
			    b + 10000 + server_us, at + 60000);
			send_from(&k, "front", i, 2, 1, "call", SPAN_KIND_CLIENT, at + 5000,
			    at + 45000, at + 60000);
			send_from(&k, "front", i, 1, 0, "GET", SPAN_KIND_SERVER, at, at + 50000,
			    at + 60000);
		}
		poll_all(&k, 14000);
		poll_all(&k, 25000);
		assert_null(assemble_next(k.a));
		assert_int_equal(stats_of(&k).records.requests, 0);
		assert_int_equal(stats_of(&k).records.incomplete, 8);
		kit_end(&k);
	}
}

/* By bodies each 5 s, whose youngest span is 0 to 4.5 s old: the lead is that of the older ones. */
static void
batches_of_a_host_that_is_ahead_are_taken_once_its_clock_is_known(void **state)
{
	const struct otel_source_options o = { { 16 << 20, 1000, 2 * S, 60 * S }, 1 << 20, 6 * S,
		1 * S, 600 * S };
	uint32_t refused = 0;
	struct kit k;
	(void)state;

	kit_begin(&k, &o);
	for (unsigned i = 1; i <= 40; i++) {
		int64_t now = 10000000 + (int64_t)i * 5000000, age = i * 7 % 10 * 500000,
			end = now - age + 30000000;

		send_from(&k, "front", i, 1, 0, "GET", SPAN_KIND_SERVER, end - 50000, end, now);
		refused += k.receipt.rejected;
		poll_all(&k, now / 1000);
	}
	assert_int_equal(refused, 3);
	kit_end(&k);
}

/* Else the loss would make traces lossy that are still to come, and none of those that it is of. */
static void
a_loss_on_a_host_that_is_ahead_is_told_at_its_time_here(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	for (unsigned i = 1; i <= 8; i++) {
		int64_t at = 10000000 + (int64_t)i * 100000, f = at + 3000000;

		send_from(&k, "front", i, 1, 0, "GET", SPAN_KIND_SERVER, f, f + 90000, at + 100000);
	}
	poll_all(&k, 14000);
	send_from(&k, "front", 8, 2, 1, "call", SPAN_KIND_CLIENT, 13800000, 13850000, 14100000);
	assert_int_equal(k.receipt.lost, 1);
	poll_all(&k, 14200);
	assert_in_range(k.lost.from_ns, 10800 * MS, 10800 * MS + 20 * MS);
	assert_in_range(k.lost.to_ns, 10850 * MS, 10850 * MS + 20 * MS);
	kit_end(&k);
}

/* By a clock 3 s ahead, too: its host's spans are moved with the request. */
static void
what_a_request_begins_after_its_end_does_not_matter(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	for (unsigned i = 1; i <= 8; i++) {
		int64_t at = 10000000 + (int64_t)i * 100000, f = at + 3000000;

		send_from(&k, "front", i, 2, 1, "later", SPAN_KIND_INTERNAL, f + 60000, f + 90000,
		    at + 95000);
		send_from(&k, "front", i, 1, 0, "GET", SPAN_KIND_SERVER, f, f + 50000, at + 95000);
	}
	poll_all(&k, 14000);
	assert_in_range(stats_of(&k).records.requests, 5,
	    7); /* what was sent before the clock was known is refused */
	kit_end(&k);
}

static void
durations_hold_while_a_clock_drifts_through_ours(void **state)
{
	struct kit k;
	(void)state;

	take_calls(&k, in_time, drifts_through, 0);
	take_calls(&k, drifts_through, in_time, 0);
}

/* A wrong time among right ones moves no other request, and is refused, as on a host that is not known. */
static void
one_span_with_a_wrong_time_is_refused(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, &OPTIONS);
	send_from(&k, "back", 9, 1, 0, "GET", SPAN_KIND_SERVER, 10000000, 310000000, 10060000);
	assert_int_equal(k.receipt.rejected, 1);
	assert_int_equal(
	    stats_of(&k).hosts_ahead, 0); /* though it is all that is known of this host */
	send_from(&k, "front", 1, 1, 0, "GET", SPAN_KIND_SERVER, 10000000, 10050000, 10060000);
	send_from(&k, "front", 2, 1, 0, "GET", SPAN_KIND_SERVER, 10100000, 60150000, 10160000);
	assert_int_equal(k.receipt.rejected, 1);
	assert_non_null(strstr(k.receipt.why, "in the future"));
	send_from(&k, "front", 3, 1, 0, "GET", SPAN_KIND_SERVER, 10200000, 10250000, 10260000);
	send_from(&k, "front", 4, 1, 0, "GET", SPAN_KIND_SERVER, 10300000, 60350000, 10360000);
	assert_int_equal(k.receipt.rejected, 1);
	assert_int_equal(stats_of(&k).hosts_ahead, 0);
	kit_end(&k);
}

/* Every span has a name of its own: labels are bounded, and the rest is "other". */
static void
labels_are_bounded(void **state)
{
	struct otel_source_options o = OPTIONS;
	char text[600], name[64], service[64];
	uint32_t n;
	struct kit k;
	(void)state;

	o.names_max_bytes = 64 << 20;
	kit_begin(&k, &o);
	for (unsigned i = 1; i <= 30000; i++) {
		snprintf(name, sizeof name, "name %u", i);
		snprintf(service, sizeof service, "s%u", i % 1000);
		send_spans(
		    &k, service, span_text(text, i, 1, 0, name, 10000, 10100, ""), 10200 * MS);
	}
	poll_all(&k, 13000);
	otel_source_labels(k.s, &n);
	assert_int_equal(n, SPAN_LABELS_MAX);
	assert_int_equal(stats_of(&k).records.records, 60000);
	kit_end(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_become_a_request_with_forks_and_joins),
		cmocka_unit_test(no_trace_is_completed_before_its_spans_came),
		cmocka_unit_test(a_caller_with_libhone_and_spans_are_one_trace),
		cmocka_unit_test(a_caller_that_did_not_sample_is_followed),
		cmocka_unit_test(a_caller_outside_of_hone_begins_a_request),
		cmocka_unit_test(a_span_that_another_node_called_is_a_unit_of_its_caller),
		cmocka_unit_test(no_producer_waits_for_a_consumer_on_another_node),
		cmocka_unit_test(so_it_is_where_a_caller_with_libhone_is_before_them),
		cmocka_unit_test(its_attributes_stay_fields),
		cmocka_unit_test(such_a_request_is_probed_if_all_of_its_parts_have_their_points),
		cmocka_unit_test(a_part_waits_for_a_request_of_a_single_span),
		cmocka_unit_test(no_part_is_rarer_than_the_request_it_belongs_to),
		cmocka_unit_test(a_trace_with_a_missing_parent_is_left_out_and_counted),
		cmocka_unit_test(what_is_refused_is_told_and_its_trace_left_out),
		cmocka_unit_test(ids_of_a_wrong_length_are_refused),
		cmocka_unit_test(what_is_no_body_is_told_apart_from_one_without_spans),
		cmocka_unit_test(
		    a_span_that_comes_too_late_is_a_loss_and_one_that_comes_again_is_none),
		cmocka_unit_test(a_step_of_the_wall_clock_is_a_loss),
		cmocka_unit_test(
		    a_host_whose_clock_is_seconds_off_loses_no_requests_but_the_first_ones),
		cmocka_unit_test(a_request_with_a_part_that_is_put_nowhere_is_left_out),
		cmocka_unit_test(what_a_request_begins_after_its_end_does_not_matter),
		cmocka_unit_test(a_loss_on_a_host_that_is_ahead_is_told_at_its_time_here),
		cmocka_unit_test(batches_of_a_host_that_is_ahead_are_taken_once_its_clock_is_known),
		cmocka_unit_test(durations_hold_while_a_clock_drifts_through_ours),
		cmocka_unit_test(one_span_with_a_wrong_time_is_refused),
		cmocka_unit_test(rates_choose_by_type),
		cmocka_unit_test(labels_are_bounded),
		cmocka_unit_test(events_of_spans_are_points_with_keys),
		cmocka_unit_test(spans_of_a_switched_scope_are_points),
		cmocka_unit_test(so_they_are_in_all_sampled_requests_if_some_are_wanted_there),
		cmocka_unit_test(names_of_events_are_bounded),
		cmocka_unit_test(a_link_to_a_span_that_ended_before_is_the_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
