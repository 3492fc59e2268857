/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gates, shards and the decider's merge beside one assembler that has all records. The log is an array: a message may be missing, come
 * twice, or be read again by another shard.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "controlplane/relay/row_merge.h"
#include "controlplane/relay/partition_shard.h"
#include "tests/unit/analysis/generator.h"

enum { TRACES = 1500, MESSAGES = 4096, PARTS = 64, SHARDS = 8 };
#define MS INT64_C(1000000)
#define STEP_NS (20 * MS)

static const char *const names[GEN_NODES] = { "n0", "n1", "n2", "n3" };
static const struct assemble_options options = { .memory_max_bytes = 1 << 30,
	.skew_ns = 5 * MS,
	.patience_ns = INT64_C(2000000000),
	.records_max = 100000 };

struct digest {
	uint64_t value, rows, lossy;
};

static void
digest_add(struct digest *d, const struct trace *t, const struct labels *l)
{
	uint64_t one = row_digest(t, l, names);

	d->value = hash_bytes(d->value, &one, sizeof one);
	d->rows++;
	d->lossy += t->lossy;
}

static struct gen *
make(size_t first[GEN_NODES + 1])
{
	struct gen *g = gen_new(11);

	for (uint64_t i = 0; i < TRACES; i++)
		gen_request(g, 1 + (i + 1) * UINT64_C(0x9e3779b97f4a7c15), 3 + i % 5,
		    MS + (int64_t)i * MS / 2, 20 + (int)(i % 30));
	gen_sort(g, first);
	return g;
}

/* The records of one node from one watermark to the next. */
struct slice {
	struct record *records;
	size_t n, at[GEN_NODES];
	int64_t mark_ns;
	bool more;
};

static struct batch
slice_batch(struct slice *s, struct gen *g, const size_t *first, uint32_t node)
{
	size_t from = s->at[node], to = from;

	s->n = 0;
	while (to < first[node + 1] && g->records[to].r.time_ns <= s->mark_ns)
		s->records[s->n++] = g->records[to++].r;
	s->at[node] = to;
	s->more |= to < first[node + 1];
	return (struct batch){ .watermark_ns = s->mark_ns,
		.nlabels = g->nlabels,
		.labels = g->labels,
		.nrecords = (uint32_t)s->n,
		.records = s->records };
}

static struct digest
all_in_one(struct gen *g, const size_t *first)
{
	struct labels *labels = labels_new();
	struct slice s = { .records = malloc(g->nrecords * sizeof *s.records) };
	struct digest d = { 0 };
	struct assemble *a;
	struct trace *t;
	struct err e;

	memcpy(s.at, first, sizeof s.at);
	assert_int_equal(assemble_new(&a, &options, labels, &e), 0);
	for (uint32_t i = 0; i < GEN_NODES; i++)
		assert_int_equal(assemble_join(a, i, &e), 0);
	/* The end is seen by watermarks without records. */
	for (int rest = 200; rest > 0; rest -= !s.more) {
		s.more = false;
		s.mark_ns += STEP_NS;
		for (uint32_t i = 0; i < GEN_NODES; i++) {
			struct batch b = slice_batch(&s, g, first, i);

			assert_int_equal(assemble_batch(a, i, &b, &e), 0);
		}
		while ((t = assemble_next(a)) != NULL) {
			digest_add(&d, t, labels);
			trace_free(t);
		}
	}
	assemble_free(a);
	labels_free(labels);
	free(s.records);
	return d;
}

/* ---- the log ---- */

struct log {
	struct buf messages[PARTS][MESSAGES];
	uint32_t n[PARTS], parts;
};

static void
put(struct log *l, struct split *gate, int64_t made_ns)
{
	for (uint32_t p = 0; p < l->parts; p++) {
		struct err e;
		bool none;

		assert_true(l->n[p] < MESSAGES);
		assert_int_equal(
		    split_take(gate, p, made_ns, &l->messages[p][l->n[p]], &none, &e), 0);
		l->n[p] += !none;
	}
}

static struct log *
written(struct gen *g, const size_t *first, uint32_t parts, uint32_t ngates)
{
	struct log *l = calloc(1, sizeof *l);
	struct slice s = { .records = malloc(g->nrecords * sizeof *s.records) };
	struct split gates[2];
	struct err e;

	l->parts = parts;
	memcpy(s.at, first, sizeof s.at);
	for (uint32_t i = 0; i < ngates; i++)
		assert_int_equal(split_init(&gates[i], i == 0 ? "a" : "b", 5 + i, parts, &e), 0);
	for (int rest = 200, step = 0; rest > 0; rest -= !s.more, step++) {
		s.more = false;
		s.mark_ns += STEP_NS;
		for (uint32_t i = 0; i < GEN_NODES; i++) {
			struct batch b = slice_batch(&s, g, first, i);

			assert_int_equal(split_batch(&gates[i % ngates], names[i], 1,
					     (uint64_t)step + 1, &b, &e),
			    0);
		}
		put(l, &gates[0], s.mark_ns);
		if (ngates > 1 && step % 3 == 2) /* the other gathers for longer */
			put(l, &gates[1], s.mark_ns);
	}
	for (uint32_t i = 0; i < ngates; i++) {
		put(l, &gates[i], s.mark_ns);
		split_release(&gates[i]);
	}
	free(s.records);
	return l;
}

static void
log_free(struct log *l)
{
	for (uint32_t p = 0; p < l->parts; p++)
		for (uint32_t i = 0; i < l->n[p]; i++)
			buf_release(&l->messages[p][i]);
	free(l);
}

/* ---- shards and merge ---- */

struct play {
	uint32_t shards;
	uint32_t lose_part, lose; /* a message that is missing; 0: none */
	bool twice;               /* each message comes twice */
	int hand_over; /* after so many messages another shard takes the partition; 0: none does */
	struct row_merge_counts counts;
	struct relay_counts numbers;
	struct row_counts rows;
};

static uint32_t
node_number(void *ctx, const char *name)
{
	(void)ctx;
	for (uint32_t i = 0; i < GEN_NODES; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return TRACE_NONE;
}

static struct partition_shard *
fresh(uint32_t partition)
{
	const struct partition_shard_options o = { options, INT64_C(5000000000), 200 * MS,
		partition };
	struct partition_shard *s;
	struct err e;

	assert_int_equal(partition_shard_new(&s, &o, &e), 0);
	return s;
}

static size_t most_bytes = SIZE_MAX; /* of a message of rows that has several */

static void
pass_rows(struct partition_shard *s, const char *source, uint64_t epoch, struct row_merge *m)
{
	bool none, more = true;
	struct err e;

	while (more) {
		struct buf b = { 0 };

		assert_int_equal(
		    partition_shard_rows(s, source, epoch, 4096, most_bytes, &b, &none, &more, &e),
		    0);
		if (!none) {
			struct reader r = reader_of(b.data, b.len);
			struct relay_head h;

			assert_int_equal(relay_head_decode(&h, &r, RELAY_ROWS, &e), 0);
			assert_true(b.len <= most_bytes || h.items == 1);
			assert_int_equal(row_merge_take(m, b.data, b.len, node_number, NULL,
					     (struct mono){ 1 }, &e),
			    0);
		}
		buf_release(&b);
	}
}

static void
take_rows(struct row_merge *m, struct digest *d, const struct labels *labels)
{
	struct trace *t;

	while ((t = row_merge_next(m, (struct mono){ 1 })) != NULL) {
		digest_add(d, t, labels);
		trace_free(t);
	}
	while ((t = row_merge_next_incomplete(m)) != NULL)
		trace_free(t);
}

static void
add_counts(struct play *y, const struct partition_shard *s)
{
	struct relay_counts n;
	struct row_counts c;

	partition_shard_counts(s, &c, &n);
	y->numbers.items += n.items;
	y->numbers.lost_items += n.lost_items;
	y->numbers.again += n.again;
	y->rows.records += c.records;
	y->rows.used += c.used;
	y->rows.held += c.held;
	y->rows.late += c.late;
	y->rows.duplicate += c.duplicate;
	y->rows.given_up += c.given_up;
	y->rows.lost += c.lost;
	y->rows.outside += c.outside;
}

/* Partition p is read by shard p % shards; shards take turns of different lengths, so that they are apart in time. */
static struct digest
play(struct log *l, struct play *y)
{
	struct labels *labels = labels_new();
	const struct row_merge_options mo = {
		.partitions = l->parts, .wait_ns = INT64_C(30000000000), .memory_max_bytes = 1 << 30
	};
	struct partition_shard *shards[PARTS];
	uint32_t at[PARTS] = { 0 };
	uint64_t epoch[PARTS];
	struct digest d = { 0 };
	struct row_merge *m;
	struct err e;
	bool more = true;

	assert_int_equal(row_merge_new(&m, &mo, labels, (struct mono){ 1 }, &e), 0);
	for (uint32_t p = 0; p < l->parts; p++) {
		shards[p] = fresh(p);
		epoch[p] = 1;
	}
	for (uint32_t turn = 0; more; turn++) {
		more = false;
		for (uint32_t p = 0; p < l->parts; p++) {
			uint32_t who = p % y->shards, quick = 1 + (turn + who) % 4;
			char source[16];

			snprintf(source, sizeof source, "shard-%u", who);
			for (uint32_t i = 0; i < quick && at[p] < l->n[p]; i++, at[p]++) {
				const struct buf *b = &l->messages[p][at[p]];

				if (y->lose > 0 && p == y->lose_part && at[p] == y->lose)
					continue;
				for (int again = 0; again <= y->twice; again++)
					assert_int_equal(partition_shard_take(
							     shards[p], b->data, b->len, at[p], &e),
					    0);
			}
			more |= at[p] < l->n[p];
			pass_rows(shards[p], source, epoch[p], m);
			if (y->hand_over > 0 && turn == (uint32_t)y->hand_over) {
				int64_t from = partition_shard_keep(shards[p]);

				partition_shard_free(shards[p]);
				shards[p] = fresh(p);
				epoch[p]++;
				at[p] = (uint32_t)from;
				more = true;
			}
		}
		take_rows(m, &d, labels);
	}
	for (uint32_t p = 0; p < l->parts; p++) {
		add_counts(y, shards[p]);
		partition_shard_free(shards[p]);
	}
	row_merge_counts(m, (struct mono){ 1 }, &y->counts);
	row_merge_free(m);
	labels_free(labels);
	return d;
}

/* ---- promises ---- */

static void
rows_are_the_same_with_1_2_and_4_shards_as_all_in_one(void **state)
{
	static const uint32_t parts[] = { 1, 8, 64 }, shards[] = { 1, 2, 4 };
	size_t first[GEN_NODES + 1];
	struct gen *g = make(first);
	struct digest whole = all_in_one(g, first);
	(void)state;

	assert_true(whole.rows > TRACES * 9 / 10);
	for (int i = 0; i < 3; i++) {
		struct log *l = written(g, first, parts[i], 1 + (uint32_t)i % 2);

		for (int j = 0; j < 3; j++) {
			struct play y = { .shards = shards[j] };
			struct digest d = play(l, &y);

			assert_int_equal(d.rows, whole.rows);
			assert_int_equal(d.value, whole.value);
			assert_int_equal(y.counts.again, 0);
			assert_int_equal(y.counts.waiting, 0);
			assert_int_equal(y.rows.records, g->nrecords);
		}
		log_free(l);
	}
	gen_free(g);
}

static void
a_row_that_makes_a_message_too_large_goes_into_the_next(void **state)
{
	size_t first[GEN_NODES + 1];
	struct gen *g = make(first);
	struct digest whole = all_in_one(g, first);
	struct log *l = written(g, first, 8, 2);
	(void)state;

	for (most_bytes = 1000; most_bytes < 6000; most_bytes += 900) {
		struct play y = { .shards = 2 };
		struct digest d = play(l, &y);

		assert_int_equal(d.value, whole.value);
		assert_int_equal(y.counts.numbers.lost_items, 0);
	}
	most_bytes = SIZE_MAX;
	log_free(l);
	gen_free(g);
}

static void
messages_that_come_twice_change_nothing(void **state)
{
	size_t first[GEN_NODES + 1];
	struct gen *g = make(first);
	struct digest whole = all_in_one(g, first);
	struct log *l = written(g, first, 8, 2);
	struct play y = { .shards = 2, .twice = true };
	struct digest d = play(l, &y);
	(void)state;

	assert_int_equal(d.value, whole.value);
	assert_true(y.numbers.again > 100);
	assert_int_equal(y.rows.records, g->nrecords);
	log_free(l);
	gen_free(g);
}

static void
who_takes_a_partition_over_makes_the_same_rows_again(void **state)
{
	size_t first[GEN_NODES + 1];
	struct gen *g = make(first);
	struct digest whole = all_in_one(g, first);
	struct log *l = written(g, first, 8, 2);
	(void)state;

	for (int when = 2; when < 60; when += 7) {
		struct play y = { .shards = 4, .hand_over = when };
		struct digest d = play(l, &y);

		assert_int_equal(d.rows, whole.rows);
		assert_int_equal(d.value, whole.value);
		assert_true(when < 5 || y.counts.again > 0);
	}
	log_free(l);
	gen_free(g);
}

/* Traces of that time are lossy in that partition, and the books balance to the last record. */
static void
a_missing_message_is_lost_records_and_no_evidence(void **state)
{
	size_t first[GEN_NODES + 1];
	struct gen *g = make(first);
	struct digest whole = all_in_one(g, first);
	struct log *l = written(g, first, 8, 2);
	(void)state;

	for (uint32_t which = 5; which < 30; which++) {
		struct play y = { .shards = 2, .lose_part = 3, .lose = which };
		struct digest d = play(l, &y);
		struct row_counts *c = &y.rows;

		assert_true(y.numbers.lost_items > 0);
		assert_int_equal(y.numbers.items + y.numbers.lost_items, g->nrecords);
		assert_int_equal(c->lost, y.numbers.lost_items);
		assert_int_equal(c->records + c->lost, g->nrecords);
		assert_int_equal(
		    c->used + c->held + c->late + c->duplicate + c->given_up, c->records);
		assert_true(d.lossy > 0 && d.lossy < TRACES / 8);
		/* No trace that is evidence lacks anything: it would be the same among the whole. */
		assert_true(d.rows <= whole.rows);
	}
	log_free(l);
	gen_free(g);
}

static void
a_trace_is_in_one_partition_for_ever(void **state)
{
	uint32_t n[16] = { 0 };
	(void)state;

	for (uint64_t id = 1; id <= 16000; id++)
		n[relay_partition(id, 16)]++;
	for (int i = 0; i < 16; i++)
		assert_in_range(n[i], 850, 1150);
	/* These numbers are in logs that were written: they never change. */
	assert_int_equal(relay_partition(1, 16), 5);
	assert_int_equal(relay_partition(UINT64_C(0xdeadbeef), 16), 10);
	assert_int_equal(relay_partition(UINT64_MAX, 64), 59);
}

/* A gate that stands still while another goes on has left; its nodes hold nobody back. */
static void
a_silent_gate_holds_nobody_back_for_ever(void **state)
{
	struct partition_shard *s = fresh(0);
	struct split a, b;
	struct err e;
	const struct batch begin = { .watermark_ns = 10 * MS },
			   later = { .watermark_ns = 8000 * MS };
	struct buf m = { 0 }, rows = { 0 };
	struct relay_head h;
	struct rows_message x;
	struct arena arena = { 0 };
	struct labels *labels = labels_new();
	struct reader r;
	bool none, more;
	(void)state;

	assert_int_equal(split_init(&a, "a", 1, 1, &e), 0);
	assert_int_equal(split_init(&b, "b", 1, 1, &e), 0);
	assert_int_equal(split_batch(&a, "n0", 1, 1, &begin, &e), 0);
	assert_int_equal(split_take(&a, 0, 10 * MS, &m, &none, &e), 0);
	assert_int_equal(partition_shard_take(s, m.data, m.len, 0, &e), 0);
	buf_reset(&m);
	assert_int_equal(split_batch(&b, "n1", 1, 1, &later, &e), 0);
	assert_int_equal(split_take(&b, 0, 8000 * MS, &m, &none, &e), 0);
	assert_int_equal(partition_shard_take(s, m.data, m.len, 1, &e), 0);
	assert_int_equal(
	    partition_shard_rows(s, "s", 1, 4096, SIZE_MAX, &rows, &none, &more, &e), 0);
	assert_false(none);
	r = reader_of(rows.data, rows.len);
	assert_int_equal(relay_head_decode(&h, &r, RELAY_ROWS, &e), 0);
	assert_int_equal(rows_open(&x, &r, labels, node_number, NULL, &arena, &e), 0);
	assert_int_equal(x.upto_ns, 8000 * MS);
	arena_release(&arena);
	labels_free(labels);
	buf_release(&m);
	buf_release(&rows);
	split_release(&a);
	split_release(&b);
	partition_shard_free(s);
}

/* The node n0's batch `seq`, in a message of its own. */
static void
put_made(struct partition_shard *s, struct split *gate, int64_t offset, uint64_t seq,
    const struct batch *b, int64_t made_ns)
{
	struct buf m = { 0 };
	struct err e;
	bool none;

	assert_int_equal(split_batch(gate, "n0", 9, seq, b, &e), 0);
	assert_int_equal(split_take(gate, 0, made_ns, &m, &none, &e), 0);
	assert_int_equal(partition_shard_take(s, m.data, m.len, offset, &e), 0);
	buf_release(&m);
}

static void
put_one(struct partition_shard *s, struct split *gate, int64_t offset, uint64_t seq,
    const struct batch *b)
{
	put_made(s, gate, offset, seq, b, b->watermark_ns);
}

/* The time up to which all rows are there, by the next message of rows. */
static int64_t
upto_ns(struct partition_shard *s)
{
	struct labels *labels = labels_new();
	struct arena arena = { 0 };
	struct buf rows = { 0 };
	struct rows_message x;
	struct relay_head h;
	struct reader r;
	bool none, more;
	struct err e;

	assert_int_equal(
	    partition_shard_rows(s, "s", 1, 4096, SIZE_MAX, &rows, &none, &more, &e), 0);
	assert_false(none);
	r = reader_of(rows.data, rows.len);
	assert_int_equal(relay_head_decode(&h, &r, RELAY_ROWS, &e), 0);
	assert_int_equal(rows_open(&x, &r, labels, node_number, NULL, &arena, &e), 0);
	arena_release(&arena);
	labels_free(labels);
	buf_release(&rows);
	return x.upto_ns;
}

static bool
has_no_rows(struct partition_shard *s)
{
	struct buf rows = { 0 };
	bool none, more;
	struct err e;

	assert_int_equal(
	    partition_shard_rows(s, "s", 1, 4096, SIZE_MAX, &rows, &none, &more, &e), 0);
	buf_release(&rows);
	return none;
}

/* It has 5 s to catch up on when the shard begins, and n1 has not spoken yet. */
static void
a_node_that_lags_makes_no_row_before_the_others_have_spoken(void **state)
{
	struct partition_shard *s = fresh(0);
	struct batch b = { .watermark_ns = 10 * MS };
	struct split gate;
	struct err e;
	(void)state;

	assert_int_equal(split_init(&gate, "a", 1, 1, &e), 0);
	put_made(s, &gate, 0, 1, &b, 6000 * MS);
	b.watermark_ns = 5000 * MS;
	put_made(s, &gate, 1, 2, &b, 6050 * MS);
	assert_true(has_no_rows(s));
	put_made(s, &gate, 2, 3, &b, 6200 * MS);
	assert_int_equal(upto_ns(s), 5000 * MS);
	split_release(&gate);
	partition_shard_free(s);
}

/* n1 leaves in a message that Kafka loses. */
static void
a_node_whose_leaving_was_lost_holds_nobody_back_for_ever(void **state)
{
	struct partition_shard *s = fresh(0);
	struct batch b = { .watermark_ns = 10 * MS };
	struct buf m = { 0 };
	struct split gate;
	struct err e;
	bool none;
	(void)state;

	assert_int_equal(split_init(&gate, "a", 1, 1, &e), 0);
	assert_int_equal(split_batch(&gate, "n1", 4, 1, &b, &e), 0);
	put_one(s, &gate, 0, 1, &b);
	assert_int_equal(split_left(&gate, "n1", &e), 0);
	assert_int_equal(split_take(&gate, 0, 10 * MS, &m, &none, &e), 0);
	b.watermark_ns = 4000 * MS;
	put_one(s, &gate, 2, 2, &b);
	assert_int_equal(upto_ns(s), 10 * MS); /* it may be late */
	b.watermark_ns = 8000 * MS;
	put_one(s, &gate, 3, 3, &b);
	assert_int_equal(upto_ns(s), 8000 * MS);
	buf_release(&m);
	split_release(&gate);
	partition_shard_free(s);
}

/* Its traces are lossy also for who takes the partition over. */
static void
a_message_with_losses_alone_is_kept_as_long_as_one_with_records(void **state)
{
	struct partition_shard *s = fresh(0);
	struct loss loss = { .reason = LOSS_RING, .count = 3, .from_ns = 0, .to_ns = 500 * MS };
	struct batch b = { .watermark_ns = 500 * MS, .nlosses = 1, .losses = &loss };
	struct split gate;
	struct err e;
	(void)state;

	assert_int_equal(split_init(&gate, "a", 1, 1, &e), 0);
	put_one(s, &gate, 0, 1, &b);
	b.nlosses = 0;
	b.watermark_ns = 2500 * MS;
	put_one(s, &gate, 1, 2, &b);
	assert_int_equal(upto_ns(s), 2500 * MS);
	assert_int_equal(partition_shard_keep(s), 0);
	b.watermark_ns = 2506 * MS; /* past the patience, and the skew */
	put_one(s, &gate, 2, 3, &b);
	assert_int_equal(upto_ns(s), 2506 * MS);
	assert_int_equal(partition_shard_keep(s), 3);
	split_release(&gate);
	partition_shard_free(s);
}

/* Each gate has its own estimate of a node's clock, so the same batch has other times there. */
static void
a_batch_that_came_through_another_gate_before_counts_once(void **state)
{
	struct partition_shard *s = fresh(0);
	struct batch_label label = {
		.kind = RECORD_POINT, .len = 5, .text = "a/b:c", .fields = NULL
	};
	struct record r = { .trace_id = 7, .unit_id = 7, .time_ns = 3 * MS };
	struct batch b = { .watermark_ns = 10 * MS,
		.nlabels = 1,
		.labels = &label,
		.nrecords = 1,
		.records = &r };
	struct relay_counts numbers;
	struct row_counts c;
	struct split one, two;
	struct err e;
	(void)state;

	assert_int_equal(split_init(&one, "a", 1, 1, &e), 0);
	assert_int_equal(split_init(&two, "b", 1, 1, &e), 0);
	put_one(s, &one, 0, 1, &b);
	put_one(s, &one, 1, 2, &b);
	r.time_ns += 1000;
	put_one(s, &two, 2, 2, &b); /* it was not acknowledged */
	put_one(s, &two, 3, 3, &b);
	put_one(s, &one, 4, 3, &b); /* it waited there for Kafka */
	partition_shard_counts(s, &c, &numbers);
	assert_int_equal(c.records, 5);
	assert_int_equal(c.duplicate, 2);
	assert_int_equal(c.held, 3);
	split_release(&one);
	split_release(&two);
	partition_shard_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_the_same_with_1_2_and_4_shards_as_all_in_one),
		cmocka_unit_test(a_row_that_makes_a_message_too_large_goes_into_the_next),
		cmocka_unit_test(messages_that_come_twice_change_nothing),
		cmocka_unit_test(who_takes_a_partition_over_makes_the_same_rows_again),
		cmocka_unit_test(a_missing_message_is_lost_records_and_no_evidence),
		cmocka_unit_test(a_trace_is_in_one_partition_for_ever),
		cmocka_unit_test(a_silent_gate_holds_nobody_back_for_ever),
		cmocka_unit_test(a_node_that_lags_makes_no_row_before_the_others_have_spoken),
		cmocka_unit_test(a_node_whose_leaving_was_lost_holds_nobody_back_for_ever),
		cmocka_unit_test(a_message_with_losses_alone_is_kept_as_long_as_one_with_records),
		cmocka_unit_test(a_batch_that_came_through_another_gate_before_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
