/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several sources as one. Test sources with chosen records, watermarks and failures are the
 * members.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/source_set.h"
#include "base/rng.h"

enum { RECORDS_MAX = 4000, LABELS = 3 };

/* A source with a list of records; a poll delivers those up to upto_ns. */
struct player {
	struct record records[RECORDS_MAX];
	struct value values[RECORDS_MAX];
	char texts[RECORDS_MAX][8];
	uint32_t count, at;
	int64_t upto_ns, watermark_ns;
	struct batch_label labels[LABELS];
	uint32_t nlabels;
	struct loss loss;
	bool fails, closed;
	/* the copy that a poll returns, overwritten by the next one as the contract permits */
	struct record out[RECORDS_MAX];
	struct value out_values[RECORDS_MAX];
	char out_texts[RECORDS_MAX][8];
};

static int
player_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct player *p = state;
	uint32_t n = 0;
	(void)now;

	if (p->fails)
		return err_set(e, ERR_SYSTEM, "a player failed");
	memset(p->out, 0xee, sizeof p->out);
	memset(p->out_values, 0xee, sizeof p->out_values);
	memset(p->out_texts, 0xee, sizeof p->out_texts);
	for (; p->at < p->count && p->records[p->at].time_ns <= p->upto_ns; p->at++, n++) {
		p->out[n] = p->records[p->at];
		memcpy(p->out_texts[n], p->texts[p->at], 8);
		p->out_values[n] = (struct value){
			.type = VALUE_TEXT, .len = 8, .text = p->out_texts[n]
		};
		p->out[n].values = &p->out_values[n];
		p->out[n].nvalues = 1;
	}
	if (p->upto_ns > p->watermark_ns)
		p->watermark_ns = p->upto_ns;
	*ret = (struct source_output){ .records = p->out,
		.nrecords = n,
		.losses = &p->loss,
		.nlosses = p->loss.count > 0,
		.watermark_ns = p->watermark_ns };
	return 0;
}

static void
player_stats(void *state, struct source_stats *ret)
{
	struct player *p = state;

	*ret = (struct source_stats){ .fullest = 0.25,
		.files_bytes = 10,
		.changes = 1,
		.outside_dropped = 2,
		.lost = { p->loss.count },
		.trouble = "" };
}

static const struct batch_label *
player_labels(void *state, uint32_t *count)
{
	struct player *p = state;

	*count = p->nlabels;
	return p->labels;
}

static void
player_close(void *state)
{
	((struct player *)state)->closed = true;
}

static struct player *
player_new(const char *service)
{
	struct player *p = calloc(1, sizeof *p);

	assert_non_null(p);
	for (int i = 0; i < LABELS; i++) {
		char text[64];
		snprintf(text, sizeof text, "%s/p:e%d", service, i);
		p->labels[i] = (struct batch_label){ .text = strdup(text),
			.len = (uint32_t)strlen(text) };
	}
	return p;
}

static void
player_free(struct player *p)
{
	for (int i = 0; i < LABELS; i++)
		free((char *)(uintptr_t)p->labels[i].text);
	free(p);
}

static struct source
source_of(struct player *p)
{
	return (struct source){ p, player_poll, player_stats, player_labels, player_close };
}

static void
add(struct player *p, int64_t time_ns, uint32_t label, uint64_t id)
{
	p->records[p->count] = (struct record){
		.time_ns = time_ns, .label = label, .trace_id = id
	};
	snprintf(p->texts[p->count], 8, "%07u", (unsigned)(id % 10000000));
	if (label >= p->nlabels)
		p->nlabels = label + 1;
	p->count++;
}

static struct source_output
poll_set(struct source *s)
{
	struct source_output o;
	struct err e;

	if (s->poll(s->state, (struct mono){ 0 }, &o, &e) != 0)
		fail_msg("%s", e.text);
	return o;
}

static void
one_member_is_the_set_itself(void **state)
{
	struct player *p = player_new("a");
	const struct source member = source_of(p);
	struct source s;
	struct err e;
	(void)state;

	assert_int_equal(source_set_open(&s, &member, 1, 0, &e), 0);
	assert_ptr_equal(s.state, p);
	s.close(s.state);
	assert_true(p->closed);
	player_free(p);
}

static void
records_come_in_order_up_to_the_least_watermark(void **state)
{
	struct player *a = player_new("a"), *b = player_new("b");
	const struct source members[2] = { source_of(a), source_of(b) };
	struct source_output o;
	struct source s;
	struct err e;
	uint32_t n;
	(void)state;

	assert_int_equal(source_set_open(&s, members, 2, 0, &e), 0);
	add(a, 10, 0, 1);
	add(a, 30, 1, 2);
	add(a, 50, 0, 3);
	add(b, 20, 0, 4);
	add(b, 40, 0, 5);
	a->upto_ns = 60;
	b->upto_ns = 25;
	o = poll_set(&s);
	assert_true(o.watermark_ns == 25 && o.nrecords == 2 && o.nlate == 0);
	assert_true(o.records[0].trace_id == 1 && o.records[1].trace_id == 4);
	assert_int_not_equal(o.records[0].label, o.records[1].label);
	assert_memory_equal(
	    s.labels(s.state, &n)[o.records[1].label].text, "b/p:e0", sizeof "b/p:e0" - 1);
	b->upto_ns = 45;
	o = poll_set(&s); /* a's records were pending, their texts are unchanged */
	assert_true(o.watermark_ns == 45 && o.nrecords == 2);
	assert_true(o.records[0].trace_id == 2 && o.records[1].trace_id == 5);
	assert_memory_equal(o.records[0].values[0].text, "0000002", 8);
	assert_memory_equal(
	    s.labels(s.state, &n)[o.records[0].label].text, "a/p:e1", sizeof "a/p:e1" - 1);
	s.close(s.state);
	assert_true(a->closed && b->closed);
	player_free(a);
	player_free(b);
}

static void
a_failing_member_does_not_stop_others(void **state)
{
	struct player *a = player_new("a"), *b = player_new("b");
	const struct source members[2] = { source_of(a), source_of(b) };
	struct source_output o;
	struct source_stats stats;
	struct source s;
	struct err e;
	(void)state;

	assert_int_equal(source_set_open(&s, members, 2, 0, &e), 0);
	a->upto_ns = b->upto_ns = 5;
	poll_set(&s);
	add(a, 10, 0, 1);
	a->upto_ns = 20;
	a->loss = (struct loss){ LOSS_RING, 3, 6, 7 };
	b->fails = true;
	o = poll_set(&s);
	assert_true(o.watermark_ns == 5 && o.nrecords == 0 && o.nlosses == 1);
	s.stats(s.state, &stats);
	assert_string_equal(stats.trouble, "a player failed");
	assert_int_equal(stats.lost[LOSS_RING], 3);
	assert_int_equal(stats.outside_dropped, 4);
	b->fails = false;
	b->upto_ns = 20;
	o = poll_set(&s);
	assert_true(o.watermark_ns == 20 && o.nrecords == 1 && o.nlate == 0);
	a->fails = b->fails = true;
	assert_int_equal(s.poll(s.state, (struct mono){ 0 }, &o, &e), ERR_SYSTEM);
	s.close(s.state);
	player_free(a);
	player_free(b);
}

static void
a_stalled_member_is_skipped_when_memory_is_short(void **state)
{
	struct player *a = player_new("a"), *b = player_new("b");
	const struct source members[2] = { source_of(a), source_of(b) };
	struct source_output o;
	struct source_stats stats;
	struct source s;
	struct err e;
	uint32_t total = 0;
	(void)state;

	assert_int_equal(source_set_open(&s, members, 2, 20000, &e), 0);
	for (uint32_t i = 0; i < 2000; i++)
		add(a, i + 1, 0, i);
	add(b, 100, 0, 9999);
	for (a->upto_ns = 100; a->upto_ns <= 2000; a->upto_ns += 100)
		total += poll_set(&s).nrecords;
	assert_true(total > 0 && total <= 2000);
	s.stats(s.state, &stats);
	assert_true(stats.stalls > 0);
	b->upto_ns = 3000;
	a->upto_ns = 3000;
	o = poll_set(&s);
	assert_int_equal(o.nlate, 1);
	assert_int_equal(o.records[0].trace_id, 9999);
	assert_int_equal(total + o.nrecords, 2001);
	s.close(s.state);
	player_free(a);
	player_free(b);
}

/* In any interleaving of polls and watermarks: every record once, in order, none late. */
static void
all_records_come_once_and_in_order_however_members_advance(void **state)
{
	struct rng rng;
	(void)state;

	rng_seed(&rng, 5);
	for (int round = 0; round < 60; round++) {
		struct player *p[4];
		struct source members[4], s;
		uint8_t seen[RECORDS_MAX] = { 0 };
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 3), total = 0, ids = 0;
		int64_t before_ns = INT64_MIN, least_ns;
		struct err e;

		for (uint32_t i = 0; i < n; i++) {
			int64_t time_ns = 0;
			p[i] = player_new("p");
			members[i] = source_of(p[i]);
			for (uint32_t k = 0; k < 300; k++)
				add(p[i], time_ns += (int64_t)rng_below(&rng, 4),
				    (uint32_t)rng_below(&rng, LABELS), ids++);
		}
		assert_int_equal(source_set_open(&s, members, n, 0, &e), 0);
		do {
			least_ns = INT64_MAX;
			for (uint32_t i = 0; i < n; i++) {
				p[i]->upto_ns += (int64_t)rng_below(&rng, 80);
				least_ns = p[i]->upto_ns < least_ns ? p[i]->upto_ns : least_ns;
			}
			struct source_output o = poll_set(&s);
			assert_true(o.watermark_ns == least_ns);
			assert_int_equal(o.nlate, 0);
			for (uint32_t i = 0; i < o.nrecords; i++) {
				const struct record *r = &o.records[i];
				char text[8];
				assert_true(r->time_ns >= before_ns && r->time_ns <= least_ns);
				before_ns = r->time_ns;
				assert_int_equal(seen[r->trace_id]++, 0);
				snprintf(text, sizeof text, "%07u", (unsigned)r->trace_id);
				assert_memory_equal(r->values[0].text, text, 8);
				total++;
			}
		} while (least_ns < 1200);
		assert_int_equal(total, ids);
		s.close(s.state);
		for (uint32_t i = 0; i < n; i++)
			player_free(p[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_member_is_the_set_itself),
		cmocka_unit_test(records_come_in_order_up_to_the_least_watermark),
		cmocka_unit_test(a_failing_member_does_not_stop_others),
		cmocka_unit_test(a_stalled_member_is_skipped_when_memory_is_short),
		cmocka_unit_test(all_records_come_once_and_in_order_however_members_advance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
