/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/source_before.h"

enum { WAIT, SAMPLE, BEGIN, POINT, LABELS, RECORDS = 64 };

static const char *const WAIT_FIELDS[] = { "off_ns", "owner_place", "before_ns" },
			 *const SAMPLE_FIELDS[] = { "weight_ns", "before_ns" };
#define LABEL(kind, text, n, fields)                                               \
	{                                                                          \
		kind, sizeof text - 1, n, text, (const char **)(uintptr_t)(fields) \
	}
static const struct batch_label labels[LABELS] = {
	LABEL(RECORD_WAIT, "s/below:lock(main;f)", 3, WAIT_FIELDS),
	LABEL(RECORD_SAMPLE, "s/below:running(main;g)", 2, SAMPLE_FIELDS),
	LABEL(RECORD_UNIT_BEGIN, "s/hone:unit_begin(u)", 0, NULL),
	LABEL(RECORD_POINT, "s/p:e", 0, NULL),
};

struct tape { /* an inner source that plays records */
	struct record records[RECORDS];
	struct value values[RECORDS][3];
	char places[RECORDS][32];
	uint32_t n, nlate;
	bool wanted, closed;
	struct source source;
	struct source_output out;
};

static int
tape_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct tape *t = state;
	(void)e;

	*ret = (struct source_output){
		.records = t->records, .nrecords = t->n, .nlate = t->nlate, .watermark_ns = now.ns
	};
	return 0;
}

static void
tape_stats(void *state, struct source_stats *ret)
{
	*ret = (struct source_stats){ .records = ((struct tape *)state)->n, .trouble = "" };
}

static const struct batch_label *
tape_labels(void *state, uint32_t *count)
{
	(void)state;
	*count = LABELS;
	return labels;
}

static void
tape_close(void *state)
{
	((struct tape *)state)->closed = true;
}

static void
open_tape(struct tape *t)
{
	const struct source inner = { t, tape_poll, tape_stats, tape_labels, tape_close };
	struct err e;

	*t = (struct tape){ .wanted = true };
	assert_int_equal(source_before_open(&t->source, &inner, &t->wanted, &e), 0);
}

static struct record *
add(struct tape *t, uint32_t label, int64_t time_ns, uint32_t tid, uint64_t trace)
{
	struct value *v = t->values[t->n];
	struct record *r = &t->records[t->n];

	strcpy(t->places[t->n], "hold() at a.c:3");
	v[0] = (struct value){ .type = VALUE_UINT, .u = 70 };
	v[1] = label == WAIT
	           ? (struct value){ .type = VALUE_TEXT, .len = 15, .text = t->places[t->n] }
	           : (struct value){ .type = VALUE_UINT };
	v[2] = (struct value){ .type = VALUE_UINT };
	*r = (struct record){ .trace_id = trace,
		.unit_id = trace,
		.time_ns = time_ns,
		.label = label,
		.pid = 4,
		.tid = tid,
		.nvalues = labels[label].nfields,
		.values = v };
	t->n++;
	return r;
}

static void
poll_it(struct tape *t)
{
	struct err e;

	assert_int_equal(t->source.poll(t->source.state, (struct mono){ 1 }, &t->out, &e), 0);
	t->n = t->nlate = 0;
}

static void
what_a_thread_did_before_comes_with_the_unit_that_it_begins(void **state)
{
	struct tape t;
	const struct record *r;
	(void)state;

	open_tape(&t);
	add(&t, WAIT, 100, 8, 0);
	add(&t, WAIT, 150, 9, 0); /* another thread */
	poll_it(&t);
	assert_int_equal(t.out.nrecords, 0); /* no trace: they go no further */
	memset(t.places, 'x', sizeof t.places);
	add(&t, SAMPLE, 200, 8, 0);
	add(&t, BEGIN, 250, 8, 77);
	add(&t, POINT, 260, 8, 77);
	poll_it(&t);
	assert_int_equal(t.out.nrecords, 4);
	r = t.out.records;
	assert_true(r[0].label == BEGIN && r[3].label == POINT);
	assert_true(r[1].label == WAIT && r[1].trace_id == 77 && r[1].unit_id == 77 &&
		    r[1].time_ns == 250 && r[1].tid == 8);
	assert_true(r[1].values[0].u == 70 && r[1].values[2].u == 150);
	assert_memory_equal(r[1].values[1].text, "hold() at a.c:3", 15);
	assert_true(r[2].label == SAMPLE && r[2].values[1].u == 50);
	t.source.close(t.source.state);
	assert_true(t.closed);
}

static void
the_newest_of_the_last_second_are_told_and_those_of_another_request_too(void **state)
{
	struct tape t;
	(void)state;

	open_tape(&t);
	add(&t, WAIT, 100, 9, 0); /* over a second before */
	for (uint32_t i = 0; i < BEFORE_EACH_MAX + 5; i++)
		add(&t, WAIT, BEFORE_NS + i, 8, 5);
	poll_it(&t);
	assert_int_equal(t.out.nrecords, BEFORE_EACH_MAX + 5); /* they have a trace */
	add(&t, BEGIN, BEFORE_NS + 1000, 8, 77);
	poll_it(&t);
	assert_int_equal(t.out.nrecords, 1 + BEFORE_EACH_MAX);
	assert_int_equal(t.out.records[1].values[2].u, 1000 - 5);
	assert_int_equal(t.out.records[BEFORE_EACH_MAX].values[2].u, 1000 - (BEFORE_EACH_MAX + 4));
	add(&t, BEGIN, BEFORE_NS + 1001, 9, 78);
	poll_it(&t);
	assert_int_equal(t.out.nrecords, 1);
	t.source.close(t.source.state);
}

static void
while_nobody_wants_it_records_pass_untouched(void **state)
{
	struct tape t;
	(void)state;

	open_tape(&t);
	add(&t, WAIT, 100, 8, 0);
	poll_it(&t);
	t.wanted = false;
	add(&t, BEGIN, 200, 8, 77);
	poll_it(&t);
	assert_true(t.out.nrecords == 1 && t.out.records == t.records);
	t.wanted = true; /* what was remembered is forgotten */
	add(&t, BEGIN, 300, 8, 78);
	poll_it(&t);
	assert_int_equal(t.out.nrecords, 1);
	t.source.close(t.source.state);
}

static void
late_records_stay_the_first_ones(void **state)
{
	struct tape t;
	(void)state;

	open_tape(&t);
	add(&t, WAIT, 90, 8, 0);
	add(&t, BEGIN, 100, 8, 77);
	add(&t, POINT, 110, 8, 77);
	t.nlate = 2;
	poll_it(&t);
	assert_true(t.out.nrecords == 3 && t.out.nlate == 2);
	assert_int_equal(t.out.records[2].label, POINT);
	t.source.close(t.source.state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_thread_did_before_comes_with_the_unit_that_it_begins),
		cmocka_unit_test(
		    the_newest_of_the_last_second_are_told_and_those_of_another_request_too),
		cmocka_unit_test(while_nobody_wants_it_records_pass_untouched),
		cmocka_unit_test(late_records_stay_the_first_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
