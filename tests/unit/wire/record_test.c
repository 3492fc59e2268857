/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "wire/record.h"

/* A batch in memory of its own, to compare with the decoded one. */
struct model {
	struct arena memory;
	struct batch batch;
};

static uint64_t
some(struct rng *r) /* of any magnitude, also 0 */
{
	return rng_next(r) >> rng_below(r, 64) >> rng_below(r, 2);
}

static const char *
random_text(struct model *m, struct rng *r, uint32_t least, uint32_t most, uint32_t *len)
{
	char *s = arena_alloc(&m->memory, most + 1);

	*len = least + (uint32_t)rng_below(r, rng_below(r, 20) == 0 ? most - least + 1 : 10);
	for (uint32_t i = 0; i < *len; i++)
		s[i] = (char)(1 + rng_below(r, 255));
	s[*len] = 0;
	return s;
}

static struct value
random_value(struct model *m, struct rng *r)
{
	struct value v = { .type = (uint8_t)rng_below(r, VALUE_TEXT + 1) };

	if (v.type == VALUE_TEXT)
		v.text = random_text(m, r, 0, VALUE_TEXT_MAX, &v.len);
	else if (v.type == VALUE_REAL)
		v.d = rng_normal(r);
	else if (v.type != VALUE_NONE)
		v.u = some(r);
	return v;
}

static void
random_label(struct model *m, struct batch_label *l, struct rng *r)
{
	uint32_t len;

	l->kind = (uint8_t)rng_below(r, RECORD_KINDS);
	l->text = random_text(m, r, 1, LABEL_TEXT_MAX, &l->len);
	l->nfields = (uint32_t)rng_below(r, rng_below(r, 10) == 0 ? RECORD_VALUES_MAX + 1 : 5);
	l->fields = arena_alloc(&m->memory, l->nfields * sizeof *l->fields);
	for (uint32_t i = 0; i < l->nfields; i++)
		l->fields[i] = random_text(m, r, 1, 255, &len);
}

static void
random_record(struct model *m, struct record *ret, int64_t time_ns, struct rng *r)
{
	uint32_t label = (uint32_t)rng_below(r, m->batch.nlabels);
	const struct batch_label *l = &m->batch.labels[label];
	struct value *values = arena_alloc(&m->memory, l->nfields * sizeof *values);

	bool links = l->kind != RECORD_POINT && l->kind != RECORD_WAIT && l->kind != RECORD_SAMPLE;

	for (uint32_t i = 0; i < l->nfields; i++)
		values[i] = random_value(m, r);
	*ret = (struct record){ rng_next(r), rng_next(r), links ? some(r) : 0, time_ns, label,
		(uint32_t)some(r), (uint32_t)some(r), l->nfields, values };
}

static void
random_batch(struct model *m, uint32_t nlabels, uint32_t nrecords, uint32_t nlosses, struct rng *r)
{
	struct batch *b = &m->batch;
	int64_t time_ns = rng_below(r, 2) ? INT64_MIN : (int64_t)(rng_next(r) >> 4);

	*m = (struct model){ 0 };
	b->watermark_ns = (int64_t)rng_next(r);
	b->nlabels = nlabels;
	b->nrecords = nrecords;
	b->nlosses = nlosses;
	b->labels = arena_alloc(&m->memory, nlabels * sizeof *b->labels);
	b->records = arena_alloc(&m->memory, nrecords * sizeof *b->records);
	b->losses = arena_alloc(&m->memory, nlosses * sizeof *b->losses);
	for (uint32_t i = 0; i < nlabels; i++)
		random_label(m, &b->labels[i], r);
	for (uint32_t i = 0; i < nrecords; i++) {
		random_record(m, &b->records[i], time_ns, r);
		time_ns += (int64_t)(some(r) >> 16);
	}
	for (uint32_t i = 0; i < nlosses; i++) {
		int64_t from_ns = (int64_t)rng_next(r) >> 2;

		b->losses[i] = (struct loss){ (uint8_t)rng_below(r, LOSS_REASONS), some(r), from_ns,
			from_ns + (int64_t)(some(r) >> 2) };
	}
}

static void
write_batch(struct batch_writer *w, const struct batch *b, struct buf *out)
{
	batch_begin(w);
	for (uint32_t i = 0; i < b->nlabels; i++)
		assert_int_equal(
		    batch_label(w, (enum record_kind)b->labels[i].kind, b->labels[i].text,
			b->labels[i].len, b->labels[i].fields, b->labels[i].nfields),
		    i);
	for (uint32_t i = 0; i < b->nrecords; i++)
		batch_record(w, &b->records[i]);
	for (uint32_t i = 0; i < b->nlosses; i++)
		batch_loss(w, &b->losses[i]);
	buf_reset(out);
	assert_int_equal(batch_end(w, b->watermark_ns, out, NULL), 0);
	assert_true(out->len <= batch_size(w));
	assert_true(batch_size(w) <= out->len + 32);
}

static void
assert_same_value(const struct value *a, const struct value *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->len, b->len);
	if (a->type == VALUE_TEXT)
		assert_memory_equal(a->text, b->text, a->len);
	else
		assert_true(a->u == b->u);
}

static void
assert_same_record(const struct record *a, const struct record *b)
{
	assert_true(
	    a->trace_id == b->trace_id && a->unit_id == b->unit_id && a->link_id == b->link_id);
	assert_true(a->time_ns == b->time_ns);
	assert_true(a->label == b->label && a->pid == b->pid && a->tid == b->tid);
	assert_int_equal(a->nvalues, b->nvalues);
	for (uint32_t i = 0; i < a->nvalues; i++)
		assert_same_value(&a->values[i], &b->values[i]);
}

static void
assert_same_batch(const struct batch *a, const struct batch *b)
{
	assert_true(a->watermark_ns == b->watermark_ns);
	assert_int_equal(a->nlabels, b->nlabels);
	assert_int_equal(a->nrecords, b->nrecords);
	assert_int_equal(a->nlosses, b->nlosses);
	for (uint32_t i = 0; i < a->nlabels; i++) {
		assert_int_equal(a->labels[i].kind, b->labels[i].kind);
		assert_int_equal(a->labels[i].len, b->labels[i].len);
		assert_memory_equal(a->labels[i].text, b->labels[i].text, a->labels[i].len);
		assert_int_equal(a->labels[i].nfields, b->labels[i].nfields);
		for (uint32_t j = 0; j < a->labels[i].nfields; j++)
			assert_string_equal(a->labels[i].fields[j], b->labels[i].fields[j]);
	}
	for (uint32_t i = 0; i < a->nrecords; i++)
		assert_same_record(&a->records[i], &b->records[i]);
	for (uint32_t i = 0; i < a->nlosses; i++) {
		assert_int_equal(a->losses[i].reason, b->losses[i].reason);
		assert_true(a->losses[i].count == b->losses[i].count);
		assert_true(a->losses[i].from_ns == b->losses[i].from_ns);
		assert_true(a->losses[i].to_ns == b->losses[i].to_ns);
	}
}

/*
 * Decodes a copy that ends where the allocation ends, so that the sanitizer detects a read past it.
 */
static int
decode(struct batch *ret, struct arena *a, uint8_t **copy, const uint8_t *data, size_t len,
    struct err *e)
{
	*copy = malloc(len + (len == 0));
	if (len > 0)
		memcpy(*copy, data, len);
	return batch_decode(ret, a, *copy, len, e);
}

static void
a_batch_is_decoded_unchanged(void **state)
{
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct err e = { 0 };
	struct batch got;
	struct model m;
	struct rng r;
	uint8_t *copy;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 300; i++) {
		uint32_t nlabels = 1 + (uint32_t)rng_below(&r, 20);

		random_batch(
		    &m, nlabels, (uint32_t)rng_below(&r, 200), (uint32_t)rng_below(&r, 4), &r);
		write_batch(&w, &m.batch, &out);
		if (decode(&got, &a, &copy, out.data, out.len, &e) != 0)
			fail_msg("%s", e.text);
		assert_same_batch(&m.batch, &got);
		assert_true(a.total_bytes <= 64 * out.len + 4096);
		free(copy);
		arena_release(&a);
		arena_release(&m.memory);
	}
	batch_release(&w);
	buf_release(&out);
}

static void
an_empty_batch_carries_its_watermark(void **state)
{
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	(void)state;

	assert_int_equal(batch_end(&w, -5, &out, NULL), 0); /* a writer set to zero is ready */
	assert_int_equal(batch_decode(&got, &a, out.data, out.len, NULL), 0);
	assert_int_equal(got.watermark_ns, -5);
	assert_int_equal(got.nrecords, 0);
	batch_release(&w);
	buf_release(&out);
	arena_release(&a);
}

static void
a_batch_cut_at_any_byte_is_malformed(void **state)
{
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	struct model m;
	struct rng r;
	struct err e;
	uint8_t *copy;
	(void)state;

	rng_seed(&r, 2);
	random_batch(&m, 5, 40, 2, &r);
	write_batch(&w, &m.batch, &out);
	for (size_t len = 0; len < out.len; len++) {
		assert_int_equal(decode(&got, &a, &copy, out.data, len, &e), ERR_INPUT);
		assert_non_null(strstr(e.text, "batch: "));
		free(copy);
		arena_reset(&a);
	}
	buf_u8(&out, 0);
	assert_int_equal(batch_decode(&got, &a, out.data, out.len, &e), ERR_INPUT);
	assert_string_equal(e.text, "batch: 1 bytes too many");
	arena_release(&a);
	arena_release(&m.memory);
	batch_release(&w);
	buf_release(&out);
}

/*
 * Without a CRC: for any bytes, memory is bounded, indexes are in range, and times do not decrease.
 */
static void
damaged_batches_are_refused_or_valid(void **state)
{
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	struct model m;
	struct rng r;
	uint8_t *copy;
	int refused = 0;
	(void)state;

	rng_seed(&r, 3);
	random_batch(&m, 5, 30, 2, &r);
	write_batch(&w, &m.batch, &out);
	for (int i = 0; i < 20000; i++) {
		size_t at = rng_below(&r, out.len);
		uint8_t was = out.data[at];

		out.data[at] = (uint8_t)rng_next(&r);
		if (decode(&got, &a, &copy, out.data, out.len, NULL) != 0)
			refused++;
		else
			for (uint32_t j = 0; j < got.nrecords; j++) {
				assert_true(got.records[j].label < got.nlabels);
				assert_true(got.records[j].nvalues ==
					    got.labels[got.records[j].label].nfields);
				assert_true(
				    j == 0 || got.records[j].time_ns >= got.records[j - 1].time_ns);
			}
		assert_true(a.total_bytes <= 64 * out.len + 4096);
		out.data[at] = was;
		free(copy);
		arena_release(&a);
	}
	assert_true(refused > 1000);
	arena_release(&m.memory);
	batch_release(&w);
	buf_release(&out);
}

/* Encodes and decodes a batch of this record and its label. Returns the decoder's error code. */
static int
decode_one(struct record *r, enum record_kind kind, uint32_t nfields, struct err *e)
{
	static const char *const fields[] = { "a", "b" };
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	int rc;

	batch_label(&w, kind, "s/p:e", 5, fields, nfields);
	batch_record(&w, r);
	assert_int_equal(batch_end(&w, 0, &out, e), 0);
	rc = batch_decode(&got, &a, out.data, out.len, e);
	batch_release(&w);
	buf_release(&out);
	arena_release(&a);
	return rc;
}

static void
records_must_fit_their_labels(void **state)
{
	struct value values[2] = { { VALUE_UINT, .u = 1 }, { VALUE_UINT, .u = 2 } };
	struct record r = { .values = values };
	struct err e;
	(void)state;

	assert_int_equal(decode_one(&r, RECORD_POINT, 0, &e), 0);
	r.label = 1;
	assert_int_equal(decode_one(&r, RECORD_POINT, 0, &e), ERR_INPUT);
	assert_string_equal(e.text, "batch: record 0 is malformed or cut off");
	r.label = 0;
	for (r.nvalues = 0; r.nvalues <= 2; r.nvalues++)
		for (uint32_t nfields = 0; nfields <= 2; nfields++)
			assert_int_equal(decode_one(&r, RECORD_POINT, nfields, &e),
			    nfields == r.nvalues ? 0 : ERR_INPUT);
	r.nvalues = 1;
	values[0].type = 77;
	assert_int_equal(decode_one(&r, RECORD_POINT, 1, &e), ERR_INPUT);
	r.nvalues = 0;
	r.link_id = 5;
	assert_int_equal(decode_one(&r, RECORD_FORK, 0, &e), 0);
	assert_int_equal(decode_one(&r, RECORD_POINT, 0, &e), ERR_INPUT);
	assert_int_equal(decode_one(&r, RECORD_WAIT, 0, &e), ERR_INPUT);
	assert_int_equal(decode_one(&r, RECORD_SAMPLE, 0, &e), ERR_INPUT);
	assert_int_equal(decode_one(&r, RECORD_KINDS, 0, &e), ERR_INPUT);
	assert_string_equal(e.text, "batch: label 0 is malformed or cut off");
}

static void
decreasing_times_are_refused(void **state)
{
	static const int64_t times[][2] = { { 5, 4 }, { 0, -1 }, { INT64_MAX, INT64_MIN },
		{ INT64_MAX, 0 } };
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		for (int rising = 0; rising < 2; rising++) {
			batch_begin(&w);
			batch_label(&w, RECORD_POINT, "x", 1, NULL, 0);
			batch_record(&w, &(struct record){ .time_ns = times[i][rising] });
			batch_record(&w, &(struct record){ .time_ns = times[i][!rising] });
			buf_reset(&out);
			assert_int_equal(batch_end(&w, 0, &out, &e), 0);
			assert_int_equal(
			    batch_decode(&got, &a, out.data, out.len, &e), rising ? 0 : ERR_INPUT);
		}
	batch_release(&w);
	buf_release(&out);
	arena_release(&a);
}

static void
impossible_counts_are_refused_before_allocation(void **state)
{
	static const uint64_t counts[][3] = { { BATCH_LABELS_MAX + 1, 0, 0 },
		{ 0, BATCH_RECORDS_MAX + 1, 0 }, { 0, 0, UINT64_MAX }, { 60000, 0, 0 },
		{ 0, 60000, 0 }, { 0, 0, UINT32_MAX }, { 1, 1, 1 } };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		buf_reset(&out);
		buf_int(&out, 0);
		for (int j = 0; j < 3; j++)
			buf_uint(&out, counts[i][j]);
		buf_u64(&out, 0);
		assert_int_equal(batch_decode(&got, &a, out.data, out.len, &e), ERR_INPUT);
		assert_int_equal(a.total_bytes, 0);
	}
	buf_release(&out);
}

/* Records of a newer writer: each body has unknown bytes at its end. */
static void
fields_of_a_newer_writer_are_skipped(void **state)
{
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	struct err e;
	(void)state;

	buf_int(&out, 9);
	buf_uint(&out, 1);
	buf_uint(&out, 2);
	buf_uint(&out, 1);
	buf_bytes(&out, "\x08\0\3s/x\0??", 9);
	for (int i = 0; i < 2; i++) {
		buf_uint(&out, 21 + 3);
		buf_bytes(&out, "\0\1", 2);
		buf_u64(&out, 11);
		buf_u64(&out, 22);
		buf_bytes(&out, "\3\4\0new", 6);
	}
	buf_bytes(&out, "\x05\1\7\2\1?", 6);
	assert_int_equal(batch_decode(&got, &a, out.data, out.len, &e), 0);
	assert_int_equal(got.records[1].time_ns, INT64_MIN + 2);
	assert_int_equal(got.records[1].trace_id, 11);
	assert_int_equal(got.records[1].unit_id, 22);
	assert_int_equal(got.records[1].pid, 3);
	assert_int_equal(got.records[1].tid, 4);
	assert_int_equal(got.losses[0].reason, LOSS_QUEUE);
	assert_int_equal(got.losses[0].count, 7);
	assert_int_equal(got.losses[0].from_ns, 1);
	assert_int_equal(got.losses[0].to_ns, 2);
	buf_release(&out);
	arena_release(&a);
}

static void
the_writer_cuts_long_texts(void **state)
{
	struct value values[RECORD_VALUES_MAX + 1];
	const char *fields[RECORD_VALUES_MAX + 1];
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;
	char big[1000];
	struct err e;
	(void)state;

	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = 0;
	for (int i = 0; i <= RECORD_VALUES_MAX; i++) {
		fields[i] = big;
		values[i] = (struct value){ VALUE_TEXT, sizeof big, { .text = big } };
	}
	batch_label(&w, RECORD_POINT, big, sizeof big - 1, fields, RECORD_VALUES_MAX + 1);
	batch_record(&w, &(struct record){ .nvalues = RECORD_VALUES_MAX + 1, .values = values });
	assert_int_equal(batch_end(&w, 0, &out, &e), 0);
	assert_int_equal(batch_decode(&got, &a, out.data, out.len, &e), 0);
	assert_int_equal(got.labels[0].len, LABEL_TEXT_MAX);
	assert_int_equal(got.labels[0].nfields, RECORD_VALUES_MAX);
	assert_int_equal(strlen(got.labels[0].fields[RECORD_VALUES_MAX - 1]), 255);
	assert_int_equal(got.records[0].nvalues, RECORD_VALUES_MAX);
	assert_int_equal(got.records[0].values[RECORD_VALUES_MAX - 1].len, VALUE_TEXT_MAX);
	batch_release(&w);
	buf_release(&out);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_decoded_unchanged),
		cmocka_unit_test(an_empty_batch_carries_its_watermark),
		cmocka_unit_test(a_batch_cut_at_any_byte_is_malformed),
		cmocka_unit_test(damaged_batches_are_refused_or_valid),
		cmocka_unit_test(records_must_fit_their_labels),
		cmocka_unit_test(decreasing_times_are_refused),
		cmocka_unit_test(impossible_counts_are_refused_before_allocation),
		cmocka_unit_test(fields_of_a_newer_writer_are_skipped),
		cmocka_unit_test(the_writer_cuts_long_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
