/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-below is played by the test: a writer of kernel events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/source_requests.h"
#include "kernel/kernel_stream.h"

#define MS INT64_C(1000000)
#define BEGIN (INT64_C(1000) * 1000 * MS)

enum { FRONT = 10, BACK = 20, FRONT_PORT = 80, BACK_PORT = 81 };

struct stage {
	struct source source;
	struct source_requests *requests;
	struct source_output out;
	struct kernel_names names;
	struct kernel_writer *writer;
	struct buf bytes;
	enum mapped_choice chosen;
	const char *below; /* the service that is looked below; NULL: none */
	char asked[64];    /* the type that was asked for last */
};

static enum mapped_choice
choose(void *of, const char *type)
{
	struct stage *g = of;

	snprintf(g->asked, sizeof g->asked, "%s", type);
	return g->chosen;
}

static bool
looks_below(void *of, const char *service)
{
	const struct stage *g = of;

	return g->below != NULL && strcmp(g->below, service) == 0;
}

static void
stream_begin(struct stage *g)
{
	struct err e;

	kernel_writer_free(g->writer);
	kernel_names_release(&g->names);
	assert_int_equal(kernel_names_new(&g->names, &e), 0);
	assert_int_equal(texts_intern(g->names.hosts, "alpha", 5), 0);
	assert_non_null(g->writer = kernel_writer_new(&g->names));
	assert_int_equal(source_requests_begin(g->requests, (struct mono){ BEGIN }, &e), 0);
}

static void
stage_open(struct stage *g, uint64_t seed)
{
	struct source_requests_options o = {
		.choose = choose, .looks_below = looks_below, .of = g, .seed = seed
	};
	struct err e;

	memset(g, 0, sizeof *g);
	g->chosen = MAPPED_PROBED;
	assert_int_equal(source_requests_open(&g->source, &g->requests, &o, &e), 0);
	stream_begin(g);
}

static void
stage_close(struct stage *g)
{
	g->source.close(g->source.state);
	kernel_writer_free(g->writer);
	kernel_names_release(&g->names);
	buf_release(&g->bytes);
}

static int
feed(struct stage *g)
{
	struct err e;
	int rc;

	kernel_writer_flush(g->writer, &g->bytes);
	/* in pieces, as they come */
	for (size_t at = 0, n; at < g->bytes.len; at += n) {
		n = g->bytes.len - at < 100 ? g->bytes.len - at : 100;
		if ((rc = source_requests_feed(g->requests, g->bytes.data + at, n, &e)) != 0) {
			buf_reset(&g->bytes);
			return rc;
		}
	}
	buf_reset(&g->bytes);
	return 0;
}

static void
poll_at(struct stage *g, int64_t mark_ms, int64_t now_ms)
{
	struct err e;

	assert_int_equal(feed(g), 0);
	source_requests_mark(g->requests, BEGIN + mark_ms * MS);
	assert_int_equal(
	    g->source.poll(g->source.state, (struct mono){ BEGIN + now_ms * MS }, &g->out, &e), 0);
}

static struct kernel_end
end_of(uint8_t last, uint16_t port)
{
	return (
	    struct kernel_end){ .address = { [10] = 0xff, 0xff, 127, 0, 0, last }, .port = port };
}

static void
put(struct stage *g, int64_t ms, uint32_t tid, struct kernel_event ev)
{
	ev.time_ns = BEGIN + ms * MS;
	ev.tid = ev.pid = tid;
	kernel_writer_event(g->writer, &ev, &g->bytes);
}

static void
message(struct stage *g, int64_t ms, uint32_t tid, enum kernel_event_kind kind,
    struct kernel_end here, struct kernel_end there)
{
	struct kernel_connection c = { here, there };

	put(g, ms, tid,
	    (struct kernel_event){ .kind = (uint8_t)kind,
		.message = { kernel_connection_intern(&g->names, &c), 10, 0 } });
}

static void
name(struct stage *g, int64_t ms, uint32_t tid, const char *text)
{
	put(g, ms, tid,
	    (struct kernel_event){ .kind = KERNEL_NAME,
		.thread = { texts_intern(g->names.texts, text, strlen(text)), false } });
}

static void
names(struct stage *g)
{
	name(g, 0, FRONT, "front");
	name(g, 0, BACK, "back");
}

/* A client, of whom nothing is recorded, asks front, which asks back, which waits for a lock from ms + 3 to ms + 6. */
static void
request(struct stage *g, int64_t ms, uint16_t port)
{
	const struct kernel_end client = end_of(1, port), front = end_of(2, FRONT_PORT),
				caller = end_of(2, (uint16_t)(port + 1)),
				back = end_of(3, BACK_PORT);
	struct kernel_event out = { .kind = KERNEL_SWITCH,
		.flags = SWITCH_ASLEEP | SWITCH_LOCK,
		.change = { .syscall = 202, .lock = 0x1000 } };
	struct kernel_event in = { .kind = KERNEL_SWITCH, .change = { BACK, BACK, -2, 0, 0 } };

	message(g, ms, FRONT, KERNEL_RECEIVE, front, client);
	message(g, ms + 1, FRONT, KERNEL_SEND, caller, back);
	message(g, ms + 2, BACK, KERNEL_RECEIVE, back, caller);
	put(g, ms + 3, BACK, out);
	put(g, ms + 6, 0, in);
	message(g, ms + 7, BACK, KERNEL_SEND, back, caller);
	message(g, ms + 8, FRONT, KERNEL_RECEIVE, caller, back);
	message(g, ms + 9, FRONT, KERNEL_SEND, front, client);
}

static const char *
text_of(const struct stage *g, uint32_t record)
{
	uint32_t count;
	const struct batch_label *labels = g->source.labels(g->source.state, &count);

	assert_true(record < g->out.nrecords && g->out.records[record].label < count);
	return labels[g->out.records[record].label].text;
}

static uint64_t
field_of(const struct stage *g, uint32_t record, const char *field)
{
	uint32_t count;
	const struct batch_label *l = &g->source.labels(
	    g->source.state, &count)[g->out.records[record].label];

	for (uint32_t i = 0; i < l->nfields; i++)
		if (strcmp(l->fields[i], field) == 0)
			return g->out.records[record].values[i].u;
	fail_msg("%s has no field %s", l->text, field);
	return 0;
}

static void
a_request_comes_as_libhone_would_have_written_it(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
		int link;
		uint32_t tid;
	} WANTED[] = { { "front/hone:request_begin(127.0.0.2:80)", 10, 0, FRONT },
		{ "front/hone:fork(127.0.0.3:81)", 11, 1, FRONT },
		{ "back/hone:unit_begin(127.0.0.3:81)", 12, 1, BACK },
		{ "back/hone:unit_end(127.0.0.3:81)", 17, 1, BACK },
		{ "front/hone:join(127.0.0.3:81)", 18, 1, FRONT },
		{ "front/hone:request_end(127.0.0.2:80)", 19, 0, FRONT } };
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	names(&g);
	request(&g, 10, 40000);
	poll_at(&g, 118, 130);
	assert_int_equal(g.out.nrecords, 0); /* further pieces of its response may come */
	poll_at(&g, 119, 131);
	assert_int_equal(g.out.nrecords, 6);
	for (uint32_t i = 0; i < 6; i++) {
		const struct record *r = &g.out.records[i];

		assert_string_equal(text_of(&g, i), WANTED[i].text);
		assert_int_equal(r->time_ns, BEGIN + WANTED[i].ms * MS);
		assert_int_equal(r->tid, WANTED[i].tid);
		assert_int_equal(r->link_id != 0, WANTED[i].link);
		assert_int_equal(r->link_id, WANTED[i].link ? g.out.records[1].link_id : 0);
		assert_int_equal(r->trace_id, g.out.records[0].trace_id);
		assert_int_equal(r->unit_id, g.out.records[WANTED[i].tid == FRONT ? 0 : 2].unit_id);
	}
	assert_int_not_equal(g.out.records[0].trace_id, 0);
	assert_int_not_equal(g.out.records[0].unit_id, g.out.records[2].unit_id);
	assert_int_equal(field_of(&g, 0, "probed"), 1);
	assert_int_equal(field_of(&g, 0, "lossy"), 0);
	assert_int_equal(field_of(&g, 3, "lock_ns"), 3 * MS);
	poll_at(&g, 200, 200);
	assert_int_equal(g.out.nrecords, 0);
	stage_close(&g);
}

/* So nobody decides before a request has come, and another source waits for so long only. */
static void
no_request_comes_that_ended_before_the_watermark(void **state)
{
	int64_t watermark_ns = INT64_MIN;
	uint32_t came = 0;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	names(&g);
	for (int64_t ms = 0; ms < 2000; ms += 25) {
		if (ms < 1500)
			request(&g, ms + 10, (uint16_t)(40000 + 2 * ms));
		poll_at(&g, ms + 20, ms + 24);
		assert_true(g.out.watermark_ns >= watermark_ns);
		assert_true(g.out.watermark_ns >= BEGIN + (ms + 20) * MS - REQUESTS_HOLD_NS);
		for (uint32_t i = 0; i < g.out.nrecords; i++) {
			const struct record *r = &g.out.records[i];

			assert_true(i == 0 || r[-1].time_ns <= r->time_ns);
			if (strstr(text_of(&g, i), "request_end") != NULL) {
				assert_true(r->time_ns > watermark_ns);
				assert_true(r->time_ns <= g.out.watermark_ns);
				came++;
			}
		}
		watermark_ns = g.out.watermark_ns;
	}
	assert_int_equal(came, 60);
	source_requests_end(g.requests, true);
	poll_at(&g, 0, 5000);
	assert_int_equal(g.out.watermark_ns, BEGIN + 5000 * MS); /* idle: nobody waits for it */
	stage_close(&g);
}

static void
what_is_not_chosen_is_left_out_and_counted(void **state)
{
	struct source_requests_counts c;
	struct source_stats s;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	names(&g);
	g.chosen = MAPPED_NOT;
	request(&g, 10, 40000);
	poll_at(&g, 200, 200);
	assert_int_equal(g.out.nrecords, 0);
	assert_string_equal(g.asked, "127.0.0.2:80");
	g.chosen = MAPPED_SAMPLED;
	g.below = "back";
	request(&g, 210, 40000);
	poll_at(&g, 400, 400);
	assert_int_equal(g.out.nrecords, 6); /* waits are of probed requests */
	assert_int_equal(field_of(&g, 0, "probed"), 0);
	source_requests_count(g.requests, &c);
	assert_int_equal(c.skipped, 1);
	assert_int_equal(c.sampled, 1);
	assert_int_equal(c.events, 18);
	g.source.stats(g.source.state, &s);
	assert_int_equal(s.records, 6);
	assert_int_equal(s.mapped, 18 * REQUESTS_EVENT_RECORDS);
	stage_close(&g);
}

/* What the thread did, of the service that is looked below: it ran, waited for the lock, and ran. */
static void
waits_and_runs_come_of_a_service_that_is_looked_below(void **state)
{
	uint32_t waits = 0, runs = 0;
	uint64_t ran_ns = 0;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	g.below = "back";
	names(&g);
	request(&g, 10, 40000);
	poll_at(&g, 200, 200);
	for (uint32_t i = 0; i < g.out.nrecords; i++) {
		if (strcmp(text_of(&g, i), "back/below:lock()") == 0) {
			assert_int_equal(g.out.records[i].time_ns, BEGIN + 16 * MS);
			assert_int_equal(field_of(&g, i, "off_ns"), 3 * MS);
			assert_int_equal(field_of(&g, i, "lock"), 0x1000);
			waits++;
		} else if (strcmp(text_of(&g, i), "back/below:running()") == 0) {
			ran_ns += field_of(&g, i, "weight_ns");
			runs++;
		} else {
			assert_null(strstr(text_of(&g, i), "below:"));
		}
	}
	assert_int_equal(waits, 1);
	assert_int_equal(runs, 2);
	assert_int_equal(ran_ns, 2 * MS);
	stage_close(&g);
}

static void
see(struct stage *g, const char *label, enum record_kind kind, const char *field, int64_t us,
    uint32_t tid, uint64_t value)
{
	const char *fields[] = { field };
	const struct value v = { .type = VALUE_UINT, .u = value };
	const struct record r = {
		.time_ns = BEGIN + us * 1000, .pid = tid, .tid = tid, .nvalues = 1, .values = &v
	};
	const struct batch_label l = { (uint8_t)kind, (uint32_t)strlen(label), 1, label, fields };

	source_requests_seen(g->requests, &r, &l);
}

/* hone-below saw the same wait, at almost the same time, and the thread run for a part of that time. */
static void
what_hone_below_saw_gives_waits_and_runs_their_places(void **state)
{
	uint32_t waits = 0, samples = 0;
	uint64_t ran_ns = 0;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	g.below = "back";
	names(&g);
	request(&g, 10, 40000);
	see(&g, "back/below:running(serve;count)", RECORD_SAMPLE, "weight_ns", 12500, BACK, 400000);
	see(&g, "back/below:lock(serve;take)", RECORD_WAIT, "off_ns", 16001, BACK, 3 * MS);
	see(&g, "back/below:timer(keep)", RECORD_WAIT, "off_ns", 16002, BACK + 1, 3 * MS);
	see(&g, "back/below:disk(serve;write)", RECORD_WAIT, "off_ns", 16500, BACK, MS);
	poll_at(&g, 200, 200);
	for (uint32_t i = 0; i < g.out.nrecords; i++) {
		const struct record *r = &g.out.records[i];

		if (strstr(text_of(&g, i), "below:") == NULL)
			continue;
		assert_int_equal(r->trace_id, g.out.records[0].trace_id);
		assert_int_equal(r->tid, BACK);
		if (strcmp(text_of(&g, i), "back/below:lock(serve;take)") == 0) {
			assert_int_equal(r->time_ns, BEGIN + 16 * MS);
			waits++;
		} else {
			assert_non_null(strstr(text_of(&g, i), "back/below:running("));
			ran_ns += field_of(&g, i, "weight_ns");
			samples += strstr(text_of(&g, i), "(serve;count)") != NULL;
		}
	}
	assert_int_equal(waits, 1);
	assert_int_equal(samples, 1);
	assert_int_equal(ran_ns, 2 * MS);
	stage_close(&g);
}

/* The thread of back slept until the message came, as hone-below saw; the edge to the begin of its unit is then explained. */
static void
what_a_thread_did_before_its_unit_belongs_to_that(void **state)
{
	const char *fields[] = { "off_ns", "before_ns" };
	const struct value values[] = { { .type = VALUE_UINT, .u = 50 * MS },
		{ .type = VALUE_UINT } };
	const struct record r = { .time_ns = BEGIN + 11500000,
		.pid = BACK,
		.tid = BACK,
		.nvalues = 2,
		.values = values };
	const char *text = "back/below:network(serve;recv)";
	const struct batch_label l = { RECORD_WAIT, (uint32_t)strlen(text), 2, text, fields };
	uint32_t found = 0;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	g.below = "back";
	names(&g);
	source_requests_seen(g.requests, &r, &l);
	request(&g, 10, 40000);
	poll_at(&g, 200, 200);
	for (uint32_t i = 0; i < g.out.nrecords; i++) {
		if (strcmp(text_of(&g, i), text) != 0)
			continue;
		assert_int_equal(g.out.records[i].time_ns, BEGIN + 12 * MS);
		assert_int_equal(field_of(&g, i, "before_ns"), 500000);
		assert_int_equal(field_of(&g, i, "off_ns"), 50 * MS);
		found++;
	}
	assert_int_equal(found, 1);
	stage_close(&g);
}

static void
what_was_seen_is_kept_in_bounds(void **state)
{
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	g.below = "back";
	names(&g);
	for (int i = 0; i < 100000; i++)
		see(&g, "back/below:timer(keep)", RECORD_WAIT, "off_ns", i, BACK, MS);
	request(&g, 110, 40000);
	see(&g, "back/below:lock(serve;take)", RECORD_WAIT, "off_ns", 116000, BACK, 3 * MS);
	poll_at(&g, 300, 300);
	for (uint32_t i = 0; i < g.out.nrecords; i++)
		assert_null(strstr(text_of(&g, i), "timer"));
	stage_close(&g);
}

static void
a_loss_marks_the_requests_in_its_time_and_no_others(void **state)
{
	struct source_requests_counts c;
	uint32_t begins = 0;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	names(&g);
	request(&g, 10, 40000);
	request(&g, 310, 40000);
	put(&g, 320, 0,
	    (struct kernel_event){
		.kind = KERNEL_LOST, .cpu = KERNEL_CPU_ALL, .lost = { 5, BEGIN + 315 * MS } });
	request(&g, 610, 40000);
	poll_at(&g, 900, 900);
	for (uint32_t i = 0; i < g.out.nrecords; i++)
		if (strstr(text_of(&g, i), "request_begin") != NULL)
			assert_int_equal(field_of(&g, i, "lossy"), begins++ == 1);
	assert_int_equal(begins, 3);
	assert_int_equal(g.out.nlosses, 0); /* other programs have lost nothing */
	source_requests_count(g.requests, &c);
	assert_int_equal(c.lost, 5);
	assert_int_equal(c.losses, 1);
	stage_close(&g);
}

static void
what_was_open_when_hone_below_died_is_counted(void **state)
{
	struct source_requests_counts c;
	struct source_stats s;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	names(&g);
	request(&g, 10, 40000);
	message(&g, 100, FRONT, KERNEL_RECEIVE, end_of(2, FRONT_PORT), end_of(1, 40000));
	poll_at(&g, 105, 105);
	source_requests_end(g.requests, false);
	poll_at(&g, 106, 106);
	assert_int_equal(g.out.nrecords, 6); /* the first one had its response */
	source_requests_count(g.requests, &c);
	assert_int_equal(c.cut_off, 1);
	assert_int_equal(c.losses, 1);
	g.source.stats(g.source.state, &s);
	assert_int_equal(s.lost[LOSS_RING], 1);
	stage_close(&g);
}

/* Their numbers begin anew with each stream, and on each node. */
static void
trace_ids_of_streams_and_nodes_differ(void **state)
{
	uint64_t ids[3];
	struct stage g;
	(void)state;

	for (int i = 0; i < 3; i++) {
		if (i == 0)
			stage_open(&g, 7);
		else if (i == 1)
			stream_begin(&g);
		else {
			stage_close(&g);
			stage_open(&g, 8);
		}
		names(&g);
		request(&g, 10, 40000);
		poll_at(&g, 200, 200);
		assert_int_equal(g.out.nrecords, 6);
		ids[i] = g.out.records[0].trace_id;
	}
	assert_true(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
	stage_close(&g);
}

static void
names_may_be_told_anew(void **state)
{
	struct stage g;
	struct err e;
	(void)state;

	stage_open(&g, 7);
	for (int i = 0; i < 3; i++) {
		names(&g);
		request(&g, 10 + i * 300, 40000);
		poll_at(&g, 200 + i * 300, 200 + i * 300);
		assert_int_equal(g.out.nrecords, 6);
		assert_string_equal(text_of(&g, 0), "front/hone:request_begin(127.0.0.2:80)");
		kernel_writer_forget(g.writer, &g.bytes);
		kernel_names_release(&g.names);
		assert_int_equal(kernel_names_new(&g.names, &e), 0);
		assert_int_equal(texts_intern(g.names.hosts, "alpha", 5), 0);
	}
	stage_close(&g);
}

static void
a_malformed_stream_ends_and_the_next_one_is_read(void **state)
{
	struct source_requests_counts c;
	struct source_stats s;
	struct stage g;
	struct err e;
	(void)state;

	stage_open(&g, 7);
	names(&g);
	assert_int_equal(feed(&g), 0);
	assert_int_equal(
	    source_requests_feed(g.requests, "\x05\x00\x00\x00\x01\x02\x03\x04hello", 13, &e),
	    ERR_INPUT);
	poll_at(&g, 0, 100);
	assert_int_equal(g.out.watermark_ns, BEGIN + 100 * MS); /* idle */
	g.source.stats(g.source.state, &s);
	assert_string_not_equal(s.trouble, "");
	source_requests_count(g.requests, &c);
	assert_int_equal(c.losses, 1);
	stream_begin(&g);
	names(&g);
	request(&g, 210, 40000);
	poll_at(&g, 400, 400);
	assert_int_equal(g.out.nrecords, 6);
	stage_close(&g);
}

static void
programs_are_listed(void **state)
{
	const struct source_process list[] = { { "front", FRONT, false, true, true } };
	struct source_stats s;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	g.source.stats(g.source.state, &s);
	assert_int_equal(s.nprocesses, 0);
	assert_true(source_requests_programs(g.requests, list, 1));
	g.source.stats(g.source.state, &s);
	assert_int_equal(s.changes, 1);
	assert_int_equal(s.nprocesses, 1);
	assert_string_equal(s.processes[0].service, "front");
	assert_true(s.processes[0].kernel);
	stage_close(&g);
}

/* A service that sends to ever new addresses makes ever new names. */
static void
labels_are_bounded(void **state)
{
	struct source_requests_counts c;
	uint32_t count;
	struct stage g;
	(void)state;

	stage_open(&g, 7);
	names(&g);
	for (int i = 0; i < 20000; i++) {
		struct kernel_end client = end_of(1, 40000), front = end_of(2, FRONT_PORT),
				  caller = end_of(2, 50000), other = end_of(4, (uint16_t)(i + 1));

		other.address[14] = (uint8_t)(i / 1000);
		other.port = (uint16_t)(1 + i % 30000);
		message(&g, 10 + i, FRONT, KERNEL_RECEIVE, front, client);
		message(&g, 10 + i, FRONT, KERNEL_SEND, caller, other);
		message(&g, 10 + i, FRONT, KERNEL_RECEIVE, caller, other);
		message(&g, 10 + i, FRONT, KERNEL_SEND, front, client);
		if (i % 100 == 0)
			poll_at(&g, 10 + i, 10 + i);
	}
	poll_at(&g, 30000, 30000);
	g.source.labels(g.source.state, &count);
	assert_in_range(count, 100, 9000);
	source_requests_count(g.requests, &c);
	assert_int_equal(c.sampled + c.unlabelled + c.stage.given_up + c.stage.no_response, 20000);
	stage_close(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_comes_as_libhone_would_have_written_it),
		cmocka_unit_test(no_request_comes_that_ended_before_the_watermark),
		cmocka_unit_test(what_is_not_chosen_is_left_out_and_counted),
		cmocka_unit_test(waits_and_runs_come_of_a_service_that_is_looked_below),
		cmocka_unit_test(what_hone_below_saw_gives_waits_and_runs_their_places),
		cmocka_unit_test(what_a_thread_did_before_its_unit_belongs_to_that),
		cmocka_unit_test(what_was_seen_is_kept_in_bounds),
		cmocka_unit_test(a_loss_marks_the_requests_in_its_time_and_no_others),
		cmocka_unit_test(what_was_open_when_hone_below_died_is_counted),
		cmocka_unit_test(trace_ids_of_streams_and_nodes_differ),
		cmocka_unit_test(names_may_be_told_anew),
		cmocka_unit_test(a_malformed_stream_ends_and_the_next_one_is_read),
		cmocka_unit_test(programs_are_listed),
		cmocka_unit_test(labels_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
