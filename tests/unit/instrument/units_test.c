/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "instrument/inside.h"

static const struct hone_carrier NONE;

static int
begin_outside(void **state)
{
	(void)state;
	policy_init(NULL, true,
	    true); /* no table, and everything sampled: the tracepoints' code runs too */
	hone_attach(&(struct hone_unit){ 0 });
	return 0;
}

static void
assert_outside(void)
{
	struct hone_carrier c;

	assert_true(hone_trace_id() == 0 && hone_unit_id() == 0 && hone_probed() == 0);
	hone_fork("probe", &c);
	assert_memory_equal(&c, &NONE, sizeof c);
}

static void
outside_of_requests_calls_do_nothing(void **state)
{
	struct hone_carrier c = { .trace_id = 7, .link_id = 8, .sampled = 1 };
	struct hone_unit u;
	(void)state;

	assert_outside();
	hone_join(&c, "x");
	hone_request_end(200);
	hone_unit_end();
	hone_detach(&u);
	assert_true(u.unit_id == 0 && u.carrier.trace_id == 0);
	hone_attach(&u);
	assert_outside();
}

static void
invalid_calls_are_ignored(void **state)
{
	(void)state;

	hone_request_begin(NULL, NULL);
	hone_fork("x", NULL);
	hone_join(NULL, NULL);
	hone_detach(NULL);
	hone_attach(NULL);
	hone_unit_begin(NULL, NULL);
	hone_unit_end();
	assert_outside();
	hone_request_begin("GET", NULL);
	hone_unit_begin(NULL, NULL); /* work without a request */
	assert_outside();
	hone_unit_end(); /* and back */
	assert_true(hone_trace_id() != 0);
	hone_request_end(0);
}

static void
a_request_has_ids_of_its_own(void **state)
{
	uint64_t trace_id, unit_id;
	struct hone_carrier c;
	(void)state;

	hone_request_begin("GET", NULL);
	trace_id = hone_trace_id();
	unit_id = hone_unit_id();
	assert_true(trace_id != 0 && unit_id != 0);
	hone_fork("x", &c);
	assert_true(c.trace_id == trace_id && c.trace_id_high != 0 && c.link_id != 0 &&
		    c.link_id != unit_id);
	assert_int_equal(c.request_type, hone_request_type("GET"));
	assert_int_equal(hone_from_known(&c), 1);
	hone_request_end(200);
	assert_outside();
	hone_request_begin("GET", NULL);
	assert_true(hone_trace_id() != trace_id && hone_unit_id() != unit_id);
	hone_request_end(200);
}

static void
a_strangers_trace_id_is_kept(void **state)
{
	struct hone_carrier from, c;
	(void)state;

	assert_int_equal(hone_carrier_read(&from,
			     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", NULL),
	    0);
	hone_request_begin("GET", &from);
	assert_true(hone_trace_id() == from.trace_id);
	hone_fork("x", &c);
	assert_true(c.trace_id_high == from.trace_id_high && c.link_id != from.link_id);
	hone_request_end(200);
	hone_request_begin("GET", &NONE);
	assert_true(hone_trace_id() != 0);
	hone_request_end(200);
}

static void
units_nest_four_deep_and_come_back(void **state)
{
	uint64_t unit_id[UNITS_ASIDE_MAX + 1];
	struct hone_carrier c;
	(void)state;

	hone_request_begin("GET", NULL);
	for (int i = 0; i < UNITS_ASIDE_MAX; i++) {
		unit_id[i] = hone_unit_id();
		hone_fork("deeper", &c);
		hone_unit_begin(&c, "deeper");
		assert_true(hone_unit_id() != unit_id[i] && hone_trace_id() == c.trace_id);
	}
	for (int i = UNITS_ASIDE_MAX - 1; i >= 0; i--) {
		hone_unit_end();
		assert_true(hone_unit_id() == unit_id[i] && hone_trace_id() == c.trace_id);
	}
	hone_request_end(200);
	assert_outside();
}

/* A unit nested too deeply is in no request: no record is better than one in the wrong unit. */
static void
deeper_units_are_not_traced_and_do_no_harm(void **state)
{
	struct hone_carrier c, deeper;
	uint64_t fourth;
	(void)state;

	hone_request_begin("GET", NULL);
	hone_fork("x", &c);
	for (int i = 0; i < UNITS_ASIDE_MAX; i++)
		hone_unit_begin(&c, "x");
	fourth = hone_unit_id();
	for (int i = 0; i < 100; i++) {
		hone_unit_begin(&c, "too deep");
		hone_fork("x", &deeper);
		assert_memory_equal(&deeper, &NONE, sizeof deeper);
	}
	for (int i = 0; i < 100; i++) {
		assert_true(hone_unit_id() == 0 && hone_trace_id() == 0);
		hone_unit_end();
	}
	assert_true(hone_unit_id() == fourth && hone_trace_id() == c.trace_id);
	for (int i = 0; i < UNITS_ASIDE_MAX; i++)
		hone_unit_end();
	assert_true(hone_trace_id() == c.trace_id);
	hone_request_end(200);
	assert_outside();
}

/* A thread of a server that does not end units on some path must still trace later requests. */
static void
a_new_request_starts_clean(void **state)
{
	struct hone_carrier c = { .trace_id = 1, .link_id = 2 };
	(void)state;

	for (int i = 0; i < 10; i++)
		hone_unit_begin(&c, "never ended");
	hone_request_begin("GET", NULL);
	assert_true(hone_trace_id() > 1);
	hone_fork("x", &c);
	hone_unit_begin(&c, "x");
	assert_true(hone_unit_id() != 0);
	hone_unit_end();
	hone_request_end(200);
	hone_unit_end();
	assert_outside();
}

static void *
attach_and_end(void *arg)
{
	const struct hone_unit *u = arg;
	uint64_t *seen = malloc(2 * sizeof *seen);

	hone_attach(u);
	seen[0] = hone_trace_id();
	seen[1] = hone_unit_id();
	hone_request_end(200);
	return seen;
}

static void
a_unit_moves_to_another_thread(void **state)
{
	uint64_t trace_id, unit_id, *seen;
	pthread_t other;
	struct hone_unit u;
	(void)state;

	hone_request_begin("GET", NULL);
	trace_id = hone_trace_id();
	unit_id = hone_unit_id();
	hone_detach(&u);
	assert_outside();
	assert_string_equal(u.name, "GET");
	assert_int_equal(pthread_create(&other, NULL, attach_and_end, &u), 0);
	assert_int_equal(pthread_join(other, (void **)&seen), 0);
	assert_true(seen[0] == trace_id && seen[1] == unit_id);
	assert_outside();
	free(seen);
}

/* An event loop: many units begun and detached on one thread, ended in another order. */
static void
many_units_take_turns_on_one_thread(void **state)
{
	struct hone_unit units[50];
	(void)state;

	for (int i = 0; i < 50; i++) {
		struct hone_carrier c = { .trace_id = 100 + (uint64_t)i, .link_id = 1 };

		hone_unit_begin(&c, "turn");
		assert_true(hone_trace_id() == c.trace_id);
		hone_detach(&units[i]);
		assert_outside();
	}
	for (int i = 0; i < 50; i++) {
		const struct hone_unit *u = &units[i * 7 % 50];

		hone_attach(u);
		assert_true(hone_trace_id() == u->carrier.trace_id && hone_unit_id() == u->unit_id);
		hone_unit_end();
		assert_outside();
	}
}

static void
flags_travel_with_the_work(void **state)
{
	struct hone_carrier c = { .trace_id = 5,
		.link_id = 6,
		.request_type = 9,
		.sampled = 1,
		.probed = 1 },
			    next;
	(void)state;

	hone_unit_begin(&c, "x");
	assert_int_equal(hone_probed(), 1);
	hone_fork("y", &next);
	assert_true(
	    next.sampled == 1 && next.probed == 1 && next.request_type == 9 && next.link_id != 6);
	hone_unit_end();
	assert_outside();
}

static void
names_may_be_long(void **state)
{
	char name[2000];
	struct hone_carrier c;
	(void)state;

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(
	    hone_request_type(name), hone_request_type(name + 1000)); /* 63 bytes count */
	hone_request_begin(name, NULL);
	hone_fork(name, &c);
	hone_unit_begin(&c, name);
	hone_unit_end();
	hone_join(&c, name);
	hone_request_end(0);
	assert_outside();
}

static void
request_types_have_distinct_hashes_and_none_is_0(void **state)
{
	char name[16];
	(void)state;

	assert_int_equal(hone_request_type(""), 0x011c9dc5 ^ 1); /* FNV-1a's basis, folded */
	for (int i = 0; i < 100000; i++) {
		uint32_t t;

		snprintf(name, sizeof name, "GET_%d", i);
		t = hone_request_type(name);
		assert_true(t != 0 && t <= INT32_MAX);
	}
	assert_int_not_equal(hone_request_type("GET_HOME"), hone_request_type("GET_CART"));
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
assert_all_differ(uint64_t *ids, size_t n)
{
	qsort(ids, n, sizeof *ids, by_value);
	for (size_t i = 0; i < n; i++)
		assert_true(ids[i] != 0 && (i == 0 || ids[i] != ids[i - 1]));
}

enum { IDS = 20000, THREADS = 4 };

static void
make_some(uint64_t *ids, int n)
{
	for (int i = 0; i < n; i++)
		ids[i] = ids_next();
}

static void *
make_ids(void *arg)
{
	make_some(arg, IDS);
	return NULL;
}

static void
threads_do_not_repeat_ids(void **state)
{
	uint64_t *ids = calloc(THREADS * IDS, sizeof *ids);
	pthread_t t[THREADS];
	(void)state;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, make_ids, ids + i * IDS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_all_differ(ids, THREADS * IDS);
	free(ids);
}

/* Child, its child, and that one's: each writes its ids, and where it believes to be. */
static void
children(int fd, int generations)
{
	for (; generations > 0; generations--) {
		uint64_t mine[102];
		int status = 0;
		pid_t pid = 0;

		make_some(mine, 100);
		mine[100] = hone_trace_id();
		mine[101] = hone_unit_id();
		if (write(fd, mine, sizeof mine) != (ssize_t)sizeof mine)
			_exit(1);
		if (generations > 1)
			pid = fork();
		if (pid != 0)
			_exit(pid < 0 || waitpid(pid, &status, 0) != pid || status != 0);
	}
	_exit(0);
}

static void
forked_children_make_ids_of_their_own_and_are_in_no_request(void **state)
{
	uint64_t got[102], ids[400];
	int pipes[2], status;
	pid_t pid;
	(void)state;

	hone_request_begin("GET", NULL); /* seeds this thread before it forks */
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		children(pipes[1], 3);
	make_some(ids, 100);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(read(pipes[0], got, sizeof got), sizeof got);
		assert_true(got[100] == 0 && got[101] == 0);
		memcpy(ids + i * 100, got, 100 * sizeof *ids);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_all_differ(ids, 400);
	assert_true(hone_trace_id() != 0); /* the parent still is */
	hone_request_end(0);
	close(pipes[0]);
	close(pipes[1]);
}

#define TEST(f) cmocka_unit_test_setup(f, begin_outside)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(outside_of_requests_calls_do_nothing),
		TEST(invalid_calls_are_ignored),
		TEST(a_request_has_ids_of_its_own),
		TEST(a_strangers_trace_id_is_kept),
		TEST(units_nest_four_deep_and_come_back),
		TEST(deeper_units_are_not_traced_and_do_no_harm),
		TEST(a_new_request_starts_clean),
		TEST(a_unit_moves_to_another_thread),
		TEST(many_units_take_turns_on_one_thread),
		TEST(flags_travel_with_the_work),
		TEST(names_may_be_long),
		TEST(request_types_have_distinct_hashes_and_none_is_0),
		TEST(threads_do_not_repeat_ids),
		TEST(forked_children_make_ids_of_their_own_and_are_in_no_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
