/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/relay/row_merge.h"

static const char *const names[] = { "n0" };

static uint32_t
node_number(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, names[0]) == 0 ? 0 : TRACE_NONE;
}

/* A request of three events in one unit; the point in the middle has two values. */
struct request {
	struct trace t;
	struct event events[3];
	struct unit unit;
	struct value values[2];
};

static const char *const fields[] = { "size", "key" };

static void
make(struct request *q, struct labels *l)
{
	uint32_t begin = labels_intern(l, RECORD_REQUEST_BEGIN, "a/b:begin(R)", 12, NULL, 0),
		 point = labels_intern(l, RECORD_POINT, "a/b:point", 9, fields, 2),
		 end = labels_intern(l, RECORD_REQUEST_END, "a/b:end(R)", 10, NULL, 0);

	*q = (struct request){ .t = { .id = 7,
				   .type = begin,
				   .begin_ns = 1000,
				   .end_ns = 3000,
				   .incomplete_label = LABEL_NONE,
				   .nevents = 3,
				   .nunits = 1 },
		.events = { { .time_ns = 1000, .label = begin },
		    { .time_ns = 2000, .label = point, .nvalues = 2 },
		    { .time_ns = 3000, .label = end } },
		.unit = { .id = 7, .count = 3, .fork = TRACE_NONE },
		.values = { { .type = VALUE_UINT, .u = 5 }, { .type = VALUE_INT, .i = -1 } } };
	q->events[1].values = q->values;
	q->t.events = q->events;
	q->t.units = &q->unit;
}

static void
write(struct buf *b, const struct request *q, int64_t due_ns, const struct labels *l)
{
	const struct row_counts counts = { 0 };
	struct relay_head h = {
		.kind = RELAY_ROWS, .source = "s", .epoch = 1, .number = 1, .items = 1
	};
	struct rows_writer w = { 0 };
	struct err e;

	rows_begin(&w);
	assert_true(rows_add(&w, &q->t, due_ns, l, names));
	assert_int_equal(rows_end(&w, &h, 0, due_ns, &counts, b, &e), 0);
	rows_release(&w);
}

static int
read(struct trace **ret, const struct buf *b, struct labels *l)
{
	struct reader r = reader_of(b->data, b->len);
	struct arena a = { 0 };
	struct rows_message m;
	struct relay_head h;
	int64_t due_ns;
	struct err e;
	int rc;

	*ret = NULL;
	assert_int_equal(relay_head_decode(&h, &r, RELAY_ROWS, &e), 0);
	if ((rc = rows_open(&m, &r, l, node_number, NULL, &a, &e)) == 0)
		rc = rows_next(ret, &due_ns, &m, &r, 0, &e);
	arena_release(&a);
	return rc;
}

/* Programs of two versions; the reader knows the label by the other one. */
static void
values_go_by_the_names_of_their_fields(void **state)
{
	static const char *const others[] = { "key", "color", "size" };
	struct labels *shard = labels_new(), *decider = labels_new();
	struct buf b = { 0 };
	struct request q;
	struct trace *t;
	(void)state;

	make(&q, shard);
	write(&b, &q, 3000, shard);
	assert_int_not_equal(
	    labels_intern(decider, RECORD_POINT, "a/b:point", 9, others, 3), LABEL_NONE);
	assert_int_equal(read(&t, &b, decider), 0);
	assert_int_equal(t->events[1].nvalues, 3);
	assert_int_equal(t->events[1].values[0].type, VALUE_INT);
	assert_int_equal(t->events[1].values[0].i, -1);
	assert_int_equal(t->events[1].values[1].type, VALUE_NONE);
	assert_int_equal(t->events[1].values[2].u, 5);
	trace_free(t);
	labels_free(decider);
	decider = labels_new();
	labels_intern(decider, RECORD_POINT, "a/b:point", 9, NULL, 0);
	assert_int_equal(read(&t, &b, decider), 0);
	assert_int_equal(t->events[1].nvalues, 0);
	trace_free(t);
	labels_free(decider);
	labels_free(shard);
	buf_release(&b);
}

static void
refuses(const struct request *q, int64_t due_ns, struct labels *l)
{
	struct buf b = { 0 };
	struct trace *t;

	write(&b, q, due_ns, l);
	assert_int_equal(read(&t, &b, l), ERR_INPUT);
	assert_null(t);
	buf_release(&b);
}

static void
a_row_that_no_assembler_makes_is_refused(void **state)
{
	struct labels *l = labels_new();
	struct buf b = { 0 };
	struct request q;
	struct trace *t;
	(void)state;

	make(&q, l);
	write(&b, &q, 3000 + INT64_C(3600000000000), l);
	assert_int_equal(read(&t, &b, l), 0);
	trace_free(t);
	buf_release(&b);
	refuses(&q, 2999, l);
	refuses(&q, 3001 + INT64_C(3600000000000), l);
	q.t.incomplete = INCOMPLETE_NO_UNIT;
	refuses(&q, 3000, l);
	make(&q, l);
	q.t.incomplete = INCOMPLETE_NO_END;
	q.t.type = q.events[1].label;
	refuses(&q, 3000, l);
	make(&q, l);
	q.t.begin_ns = q.events[0].time_ns = INT64_MIN / 2;
	refuses(&q, 3000, l);
	make(&q, l);
	q.unit.shared_ns = INT64_MAX / 2;
	refuses(&q, 3000, l);
	labels_free(l);
}

/* Whoever writes to the log cannot fill the decider's table of labels by what counts for nothing. */
static void
a_message_that_came_before_adds_no_label(void **state)
{
	const struct row_merge_options o = {
		.partitions = 1, .wait_ns = 10, .memory_max_bytes = 1 << 20
	};
	struct labels *shard = labels_new(), *decider = labels_new();
	struct buf b = { 0 };
	struct row_merge *m;
	struct request q;
	uint32_t known;
	struct err e;
	(void)state;

	make(&q, shard);
	write(&b, &q, 3000, shard);
	assert_int_equal(row_merge_new(&m, &o, decider, (struct mono){ 1 }, &e), 0);
	assert_int_equal(
	    row_merge_take(m, b.data, b.len, node_number, NULL, (struct mono){ 1 }, &e), 0);
	known = labels_count(decider);
	q.events[1].label = labels_intern(shard, RECORD_POINT, "a/b:more", 8, fields, 2);
	buf_reset(&b);
	write(&b, &q, 3000, shard);
	assert_int_equal(
	    row_merge_take(m, b.data, b.len, node_number, NULL, (struct mono){ 1 }, &e), 0);
	assert_int_equal(labels_count(decider), known);
	row_merge_free(m);
	labels_free(decider);
	labels_free(shard);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_go_by_the_names_of_their_fields),
		cmocka_unit_test(a_row_that_no_assembler_makes_is_refused),
		cmocka_unit_test(a_message_that_came_before_adds_no_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
