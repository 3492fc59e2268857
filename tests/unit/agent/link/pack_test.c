/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/link/pack.h"
#include "base/rng.h"

#define MS INT64_C(1000000)

static const char *const FIELDS[] = { "n" };
static struct batch_label labels[] = {
	{ RECORD_POINT, 5, 1, "s/p:a", (const char **)(uintptr_t)FIELDS },
	{ RECORD_POINT, 5, 1, "s/p:b", (const char **)(uintptr_t)FIELDS },
};

/*
 * Sends all pending records, checks the invariants that readers rely on, and returns the number of
 * records.
 */
struct seen {
	int64_t watermark_ns;
	uint64_t records, batches, losses, late;
};

static void
drain(struct outbox *o, struct seen *s)
{
	const uint8_t *data;
	size_t len;
	uint64_t seq;

	while ((seq = outbox_next(o, 1000, &data, &len)) != 0) {
		struct arena a = { 0 };
		struct batch b;
		struct err e = { 0 };

		assert_int_equal(batch_decode(&b, &a, data, len, &e), 0);
		for (uint32_t i = 0; i < b.nrecords; i++) {
			assert_string_equal(labels[b.records[i].label].fields[0], "n");
			assert_int_equal(b.labels[b.records[i].label].text[4],
			    b.records[i].values[0].u == 0 ? 'a' : 'b');
			s->late += b.records[i].time_ns <= s->watermark_ns;
			assert_true(i == 0 || b.records[i].time_ns >= b.records[i - 1].time_ns);
		}
		assert_true(b.watermark_ns >= s->watermark_ns);
		s->watermark_ns = b.watermark_ns;
		s->records += b.nrecords;
		s->losses += b.nlosses;
		s->batches++;
		arena_release(&a);
		outbox_sent(o);
		assert_int_equal(outbox_ack(o, seq, NULL), 0);
	}
}

/*
 * Records of any number and order per poll, equal times, late records: a batch's watermark never
 * exceeds the time of a record still to come.
 */
static void
no_record_comes_before_its_watermark(void **state)
{
	struct pack_options options = { 2000, 20 * MS, 100 * MS };
	struct outbox *o = outbox_new(1 << 24);
	struct pack *p = pack_new(&options, o);
	struct seen s = { .watermark_ns = INT64_MIN };
	uint64_t made = 0, nlate = 0;
	int64_t time_ns = 1000;
	struct rng r;
	(void)state;

	rng_seed(&r, 11);
	for (int turn = 0; turn < 300; turn++) {
		struct value values[400];
		struct record list[400];
		struct source_output t = { .records = list };

		if (turn > 0 && rng_below(&r, 5) == 0)
			t.nlate = (uint32_t)rng_below(&r, 5);
		t.nrecords = t.nlate + (uint32_t)rng_below(&r, 300);
		for (uint32_t i = 0; i < t.nrecords; i++) {
			int which = (int)rng_below(&r, 2);

			values[i] = (struct value){ .type = VALUE_UINT, .u = (uint64_t)which };
			if (i >= t.nlate)
				time_ns += i == t.nlate ? 1
				                        : (int64_t)rng_below(
							      &r, 3); /* several of one time */
			list[i] = (struct record){ .trace_id = 1,
				.label = (uint32_t)which,
				.nvalues = 1,
				.values = &values[i],
				.time_ns = i < t.nlate ? time_ns - 5 + i : time_ns };
		}
		t.watermark_ns = time_ns;
		made += t.nrecords;
		nlate += t.nlate;
		pack_take(p, &t, labels, 2, (struct mono){ turn * MS });
		pack_tick(p, (struct mono){ turn * MS });
		drain(o, &s);
	}
	pack_flush(p, (struct mono){ 0 });
	drain(o, &s);
	assert_int_equal(s.records, made);
	assert_true(s.late <= nlate);
	assert_int_equal(s.watermark_ns, time_ns);
	pack_free(p);
	outbox_free(o);
}

static void
watermarks_are_sent_without_records(void **state)
{
	struct pack_options options = { 65536, 20 * MS, 100 * MS };
	struct outbox *o = outbox_new(1 << 20);
	struct pack *p = pack_new(&options, o);
	struct value v = { .type = VALUE_UINT };
	struct record rec = { .trace_id = 1, .time_ns = 5, .nvalues = 1, .values = &v };
	struct source_output t = { .watermark_ns = 7 };
	struct seen s = { 0 };
	(void)state;

	assert_false(pack_tick(p, (struct mono){ 500 * MS })); /* no watermark is known yet */
	pack_take(p, &t, labels, 2, (struct mono){ 1000 * MS });
	assert_true(pack_tick(p, (struct mono){ 1000 * MS }));
	t.watermark_ns = 8;
	pack_take(p, &t, labels, 2, (struct mono){ 1050 * MS });
	assert_false(pack_tick(p, (struct mono){ 1099 * MS }));
	assert_true(pack_tick(p, (struct mono){ 1100 * MS }));
	drain(o, &s);
	assert_int_equal(s.batches, 2);
	assert_int_equal(s.watermark_ns, 8);

	t = (struct source_output){ .records = &rec, .nrecords = 1, .watermark_ns = 9 };
	pack_take(p, &t, labels, 2, (struct mono){ 1110 * MS });
	assert_int_equal(pack_due_ms(p, (struct mono){ 1110 * MS }), 10);
	assert_false(pack_tick(p, (struct mono){ 1119 * MS }));
	assert_true(pack_tick(p, (struct mono){ 1120 * MS }));
	pack_free(p);
	outbox_free(o);
}

static void
a_node_without_records_becomes_calm_and_wakes_at_once(void **state)
{
	struct pack_options options = { 65536, 20 * MS, 100 * MS, false, 1000 * MS };
	struct outbox *o = outbox_new(1 << 20);
	struct pack *p = pack_new(&options, o);
	struct value v = { .type = VALUE_UINT };
	struct record rec = { .trace_id = 1, .time_ns = 5, .nvalues = 1, .values = &v };
	struct loss l = { LOSS_RING, 1, 6, 7 };
	struct source_output t = { .watermark_ns = 4 };
	uint64_t batches = 0;
	int64_t at;
	(void)state;

	for (at = 10000 * MS; at <= 14000 * MS; at += 10 * MS) {
		t.watermark_ns++;
		pack_take(p, &t, labels, 2, (struct mono){ at });
		batches += pack_tick(p, (struct mono){ at });
	}
	assert_int_equal(batches, 1 + 20 + 2); /* ten a second for two seconds, then one a second */
	/* A record, and a loss, are sent as always; then it is calm only after two seconds. */
	t = (struct source_output){ .records = &rec, .nrecords = 1, .watermark_ns = 1000 };
	rec.time_ns = 900;
	pack_take(p, &t, labels, 2, (struct mono){ at });
	assert_true(pack_tick(p, (struct mono){ at + 20 * MS }));
	at += 20 * MS;
	assert_int_equal(pack_due_ms(p, (struct mono){ at }), 100);
	for (int64_t until = at + 3500 * MS; at < until; at += 10 * MS)
		pack_tick(p, (struct mono){ at });
	pack_flush(p, (struct mono){ at });
	assert_int_equal(pack_due_ms(p, (struct mono){ at }), 1000);
	pack_loss(p, &l);
	assert_int_equal(pack_due_ms(p, (struct mono){ at }), 100);
	assert_true(pack_tick(p, (struct mono){ at + 100 * MS }));
	assert_int_equal(pack_due_ms(p, (struct mono){ at + 100 * MS }), 100);
	pack_free(p);
	outbox_free(o);
}

/*
 * With 1, 10, 100 records in each turn of 5 ms: as few batches as the time limit permits; records
 * after a pause are sent at once.
 */
static void
batches_grow_with_the_load(void **state)
{
	struct pack_options options = { 1 << 18, 20 * MS, 100 * MS };
	struct value v = { .type = VALUE_UINT };
	struct record list[100];
	(void)state;

	for (uint32_t each = 1; each <= 100; each *= 10) {
		struct outbox *o = outbox_new(1 << 24);
		struct pack *p = pack_new(&options, o);
		struct seen s = { 0 };
		int64_t now = 1000 * MS;

		for (int turn = 0; turn < 200; turn++, now += 5 * MS) {
			struct source_output t = {
				.records = list, .nrecords = each, .watermark_ns = now
			};

			for (uint32_t i = 0; i < each; i++)
				list[i] = (struct record){
					.trace_id = 1, .time_ns = now, .nvalues = 1, .values = &v
				};
			pack_take(p, &t, labels, 2, (struct mono){ now });
			assert_int_equal(pack_tick(p, (struct mono){ now }), turn % 4 == 0);
		}
		drain(o, &s);
		assert_int_equal(s.batches, 50);
		assert_int_equal(s.records, 197 * each);
		pack_free(p);
		outbox_free(o);
	}
}

static void
losses_travel_with_the_batch(void **state)
{
	struct pack_options options = { 65536, 20 * MS, 100 * MS };
	struct outbox *o = outbox_new(1 << 20);
	struct pack *p = pack_new(&options, o);
	struct loss l = { LOSS_RING, 12, 3, 4 };
	struct source_output t = { .losses = &l, .nlosses = 1, .watermark_ns = 9 };
	struct seen s = { 0 };
	(void)state;

	pack_take(p, &t, labels, 2, (struct mono){ 0 });
	assert_true(pack_flush(p, (struct mono){ 0 }));
	drain(o, &s);
	assert_int_equal(s.losses, 1);
	pack_free(p);
	outbox_free(o);
}

/* 200 records of which each poll's are up to 1 s later than the next poll's, in batches that are full within a poll. */
static void
a_poll_may_have_records_later_than_the_next(void **state)
{
	struct pack_options options = { 400, 20 * MS, 100 * MS, true };
	struct outbox *o = outbox_new(1 << 24);
	struct pack *p = pack_new(&options, o);
	struct value v = { .type = VALUE_UINT };
	struct seen s = { .watermark_ns = INT64_MIN };
	(void)state;

	for (int turn = 0; turn < 2; turn++) {
		struct record list[100];
		struct source_output t = { .records = list, .nrecords = 100 };

		for (int i = 0; i < 100; i++)
			list[i] = (struct record){ .trace_id = 1,
				.nvalues = 1,
				.values = &v,
				.time_ns = 1000 * MS + i * 10 * MS + turn };
		t.watermark_ns = 900 * MS + turn;
		pack_take(p, &t, labels, 2, (struct mono){ turn * MS });
	}
	pack_flush(p, (struct mono){ 0 });
	drain(o, &s);
	assert_true(s.batches > 4);
	assert_int_equal(s.records, 200);
	assert_int_equal(s.late, 0);
	assert_int_equal(s.watermark_ns, 900 * MS + 1);
	pack_free(p);
	outbox_free(o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_record_comes_before_its_watermark),
		cmocka_unit_test(watermarks_are_sent_without_records),
		cmocka_unit_test(a_node_without_records_becomes_calm_and_wakes_at_once),
		cmocka_unit_test(a_poll_may_have_records_later_than_the_next),
		cmocka_unit_test(batches_grow_with_the_load),
		cmocka_unit_test(losses_travel_with_the_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
