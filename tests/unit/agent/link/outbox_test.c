/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/link/outbox.h"
#include "base/rng.h"

/*
 * A parcel of `records` records that begin at time `at`, each with a text of `padding` bytes (at
 * most 200).
 */
static struct parcel
parcel_of(uint64_t records, int64_t at, size_t padding)
{
	struct parcel p = { .records = records, .from_ns = at, .to_ns = at + (int64_t)records - 1 };
	struct batch_writer w = { 0 };
	const char *field = "n";
	char text[200];
	struct value v = { .type = VALUE_TEXT, .text = text };

	memset(text, 'x', sizeof text);
	v.len = (uint32_t)(padding < sizeof text ? padding : sizeof text);
	p.watermark_ns = p.to_ns;
	batch_begin(&w);
	batch_label(&w, RECORD_POINT, "s/p:e", 5, &field, 1);
	for (uint64_t i = 0; i < records; i++)
		batch_record(
		    &w, &(struct record){ .time_ns = at + (int64_t)i, .nvalues = 1, .values = &v });
	assert_int_equal(batch_end(&w, p.watermark_ns, &p.bytes, NULL), 0);
	batch_release(&w);
	return p;
}

/* A model of the controller, with what it has received. */
struct controller {
	uint64_t have_seq;
	int64_t next_ns; /* the time of the next record if no record is lost */
	uint64_t records, lost;
};

static void
controller_take(struct controller *c, uint64_t seq, const uint8_t *data, size_t len)
{
	struct arena a = { 0 };
	struct batch b;
	struct err e;

	if (seq <= c->have_seq)
		return;
	assert_int_equal(seq, c->have_seq + 1);
	assert_int_equal(batch_decode(&b, &a, data, len, &e), 0);
	for (uint32_t i = 0; i < b.nlosses; i++) {
		assert_int_equal(b.losses[i].reason, LOSS_QUEUE);
		assert_int_equal(
		    /* the loss is reported at its position, not later */
		    b.losses[i].from_ns, c->next_ns);
		c->lost += b.losses[i].count;
		c->next_ns = b.losses[i].to_ns + 1;
	}
	for (uint32_t i = 0; i < b.nrecords; i++)
		assert_int_equal(b.records[i].time_ns, c->next_ns++);
	c->records += b.nrecords;
	assert_int_equal(b.watermark_ns, c->next_ns - 1);
	c->have_seq = seq;
	arena_release(&a);
}

static bool
send_one(struct outbox *o, struct controller *c, uint32_t window, bool arrives)
{
	const uint8_t *data;
	size_t len;
	uint64_t seq = outbox_next(o, window, &data, &len);

	if (seq == 0)
		return false;
	if (arrives)
		controller_take(c, seq, data, len);
	outbox_sent(o);
	return true;
}

/*
 * In any order of puts, sends, acknowledgements, lost connections and controllers that keep their
 * state: each record arrives or is counted as lost at its position.
 */
static void
every_lost_record_is_counted(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct outbox *o = outbox_new(4000 + seed % 7 * 3000);
		struct controller c = { 0 };
		struct outbox_stats f;
		uint64_t made = 0;
		bool connected = true;
		struct rng r;

		rng_seed(&r, seed);
		for (int step = 0; step < 600; step++) {
			uint64_t dice = rng_below(&r, 100), n = rng_below(&r, 9);

			if (dice < 45) {
				struct parcel p = parcel_of(n, (int64_t)made, rng_below(&r, 200));

				outbox_put(o, &p);
				assert_null(p.bytes.data);
				made += n;
			} else if (dice < 80 && connected) {
				send_one(o, &c, 4, true);
			} else if (dice < 90 && connected && c.have_seq > 0) {
				assert_int_equal(
				    outbox_ack(o, rng_below(&r, c.have_seq + 1), NULL), 0);
			} else if (dice < 93 && connected) {
				send_one(o, &c, 4, false); /* written, but the connection fails */
				connected = false;
			} else if (dice < 97 && !connected) {
				assert_in_range(outbox_first(o), 1, c.have_seq + 1);
				assert_int_equal(outbox_restart(o, c.have_seq, NULL), 0);
				connected = true;
			}
		}
		assert_int_equal(outbox_restart(o, c.have_seq, NULL), 0);
		while (send_one(o, &c, 4, true) || c.have_seq >= outbox_first(o))
			assert_int_equal(outbox_ack(o, c.have_seq, NULL), 0);
		outbox_stats(o, &f);
		assert_int_equal(c.records + c.lost, made);
		assert_int_equal(c.lost, f.dropped_records);
		assert_int_equal(f.unacknowledged, 0);
		assert_int_equal(f.held_bytes, 0);
		outbox_free(o);
	}
}

static void
memory_stays_within_its_limit(void **state)
{
	struct outbox *o = outbox_new(20000);
	struct outbox_stats f;
	(void)state;

	for (int i = 0; i < 500; i++) {
		struct parcel p = parcel_of(5, i * 5, 100);

		outbox_put(o, &p);
		outbox_stats(o, &f);
		assert_in_range(f.held_bytes, 0, 20000);
	}
	assert_true(f.dropped_records > 0);
	outbox_free(o);
}

static void
the_window_limits_unacknowledged_batches(void **state)
{
	struct outbox *o = outbox_new(1 << 20);
	struct controller c = { 0 };
	(void)state;

	for (int i = 0; i < 10; i++) {
		struct parcel p = parcel_of(1, i, 1);

		outbox_put(o, &p);
	}
	for (int i = 0; i < 3; i++)
		assert_true(send_one(o, &c, 3, true));
	assert_false(outbox_ready(o, 3));
	assert_false(send_one(o, &c, 3, true));
	assert_int_equal(outbox_ack(o, 1, NULL), 0);
	assert_true(send_one(o, &c, 3, true));
	assert_false(send_one(o, &c, 3, true));
	outbox_free(o);
}

static void
a_peer_cannot_acknowledge_what_was_not_sent(void **state)
{
	struct outbox *o = outbox_new(1 << 20);
	struct controller c = { 0 };
	struct parcel p = parcel_of(1, 0, 1), q = parcel_of(1, 1, 1);
	struct err e;
	(void)state;

	outbox_put(o, &p);
	outbox_put(o, &q);
	assert_int_equal(outbox_restart(o, 1, &e), ERR_INPUT);
	assert_true(send_one(o, &c, 9, true));
	assert_int_equal(outbox_ack(o, 2, &e), ERR_INPUT);
	assert_int_equal(outbox_ack(o, 1, &e), 0);
	assert_int_equal(outbox_first(o), 2);
	assert_true(send_one(o, &c, 9, true));
	assert_int_equal(
	    outbox_restart(o, 1, &e), 0); /* another connection: it was not sent on this one */
	assert_int_equal(outbox_ack(o, 2, &e), ERR_INPUT);
	assert_int_equal(outbox_first(o), 2);
	outbox_free(o);
}

/*
 * The bytes of a batch that is being written stay valid, even if its acknowledgement comes before
 * the write returns.
 */
static void
a_batch_being_written_is_not_freed(void **state)
{
	struct outbox *o = outbox_new(1 << 20);
	struct parcel p = parcel_of(3, 0, 50);
	struct controller c = { 0 };
	const uint8_t *data;
	size_t len;
	(void)state;

	outbox_put(o, &p);
	assert_int_equal(outbox_next(o, 9, &data, &len), 1);
	assert_int_equal(outbox_ack(o, 1, NULL), 0);
	controller_take(&c, 1, data, len);
	outbox_sent(o);
	assert_int_equal(c.records, 3);
	outbox_free(o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_lost_record_is_counted),
		cmocka_unit_test(memory_stays_within_its_limit),
		cmocka_unit_test(the_window_limits_unacknowledged_batches),
		cmocka_unit_test(a_peer_cannot_acknowledge_what_was_not_sent),
		cmocka_unit_test(a_batch_being_written_is_not_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
