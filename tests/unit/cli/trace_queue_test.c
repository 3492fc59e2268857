/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/trace_queue.h"

/* A trace that takes approximately `bytes` of memory. */
static struct trace *
make_trace(uint64_t id, size_t size_bytes)
{
	struct arena arena = { 0 };
	struct trace *t = arena_calloc(&arena, 1, sizeof *t);

	assert_non_null(arena_alloc(&arena, size_bytes));
	t->id = id;
	t->arena = arena;
	return t;
}

struct sender {
	struct trace_queue *queue;
	uint64_t count;
	size_t size_bytes;
	bool refused;
};

static void *
send(void *arg)
{
	struct sender *s = arg;

	for (uint64_t i = 0; i < s->count && !s->refused; i++)
		s->refused = !trace_queue_put(
		    s->queue, make_trace(i, i % 7 == 0 ? s->size_bytes : 16));
	trace_queue_end(s->queue);
	return NULL;
}

static void
traces_arrive_in_order(void **state)
{
	static const uint64_t counts[] = { 0, 1, 63, 64, 65, 5000 };
	(void)state;

	for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
		struct sender s = { trace_queue_new(), counts[k], 300000, false };
		struct trace_batch *b;
		bool over = false;
		uint64_t next = 0;
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, send, &s), 0);
		while (!over) {
			if ((b = trace_queue_take(s.queue, 1000, &over)) == NULL)
				continue;
			for (uint32_t i = 0; i < b->n; i++) {
				assert_int_equal(b->traces[i]->id, next++);
				trace_free(b->traces[i]);
			}
		}
		assert_int_equal(next, counts[k]);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_false(s.refused);
		trace_queue_free(s.queue);
	}
}

/* The sanitizers detect a trace that is not freed. */
static void
a_closed_queue_stops_the_reader(void **state)
{
	struct sender s = { trace_queue_new(), UINT64_MAX, 16, false };
	struct trace_batch *b;
	bool over = false;
	pthread_t thread;
	(void)state;

	assert_int_equal(pthread_create(&thread, NULL, send, &s), 0);
	while ((b = trace_queue_take(s.queue, 1000, &over)) == NULL)
		;
	for (uint32_t i = 0; i < b->n; i++)
		trace_free(b->traces[i]);
	trace_queue_close(s.queue);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(s.refused);
	trace_queue_free(s.queue);
}

static void
waiting_ends_after_its_time(void **state)
{
	struct trace_queue *q = trace_queue_new();
	bool over = true;
	(void)state;

	assert_null(trace_queue_take(q, 10, &over));
	assert_false(over);
	assert_true(trace_queue_put(q, make_trace(1, 16)));
	assert_null(trace_queue_take(q, 10, &over)); /* a batch of one trace waits for more */
	trace_queue_end(q);
	trace_queue_free(q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces_arrive_in_order),
		cmocka_unit_test(a_closed_queue_stops_the_reader),
		cmocka_unit_test(waiting_ends_after_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
