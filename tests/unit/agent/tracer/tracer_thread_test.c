/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tracer/tracer_thread.h"

/* A tracer whose calls return when `gate` is unlocked. */
struct fake {
	pthread_mutex_t gate;
	pthread_t caller;
	int nopened, nset, closed, code;
	struct mono tended;
};

static int
fake_open(void *state, struct tracer_session *ret, struct err *e)
{
	struct fake *f = state;

	f->caller = pthread_self();
	f->nopened++;
	strcpy(ret->channel, "fake");
	return f->code != 0 ? err_set(e, f->code, "no") : 0;
}

static int
fake_set(
    void *state, struct tracer_change *changes, uint32_t n, struct tracer_gap *gap, struct err *e)
{
	struct fake *f = state;
	(void)e;

	pthread_mutex_lock(&f->gate);
	pthread_mutex_unlock(&f->gate);
	f->nset += (int)n;
	changes[0].failed = true;
	gap->from_ns = 1;
	gap->to_ns = 2;
	return 0;
}

static int
fake_tend(void *state, struct mono now, struct err *e)
{
	struct fake *f = state;
	(void)e;

	f->tended = now;
	return 0;
}

static void
fake_close(void *state)
{
	((struct fake *)state)->closed++;
}

static void
fake_free(void *state)
{
	(void)state;
}

static struct tracer
tracer_of(struct fake *f)
{
	pthread_mutex_init(&f->gate, NULL);
	return (struct tracer){ .state = f,
		.open = fake_open,
		.set = fake_set,
		.tend = fake_tend,
		.close = fake_close,
		.free = fake_free };
}

static void
await(struct tracer_thread *t, int wake, struct task_result *r)
{
	struct pollfd p = { .fd = wake, .events = POLLIN };
	eventfd_t n;

	assert_int_equal(poll(&p, 1, 20000), 1);
	eventfd_read(wake, &n);
	tracer_thread_take(t, r);
}

static void
tasks_run_on_its_thread_and_report(void **state)
{
	int wake = eventfd(0, 0);
	struct fake f = { .code = ERR_TRACER };
	struct tracer tracer = tracer_of(&f);
	struct task_result r;
	struct tracer_thread *t;
	struct err e;
	(void)state;

	assert_int_equal(tracer_thread_start(&t, &tracer, wake, &e), 0);
	assert_true(tracer_thread_idle(t));
	tracer_thread_give(t, TASK_OPEN, NULL, 0);
	await(t, wake, &r);
	assert_int_equal(r.task, TASK_OPEN);
	assert_int_equal(r.code, ERR_TRACER);
	assert_string_equal(r.err.text, "no");
	assert_false(pthread_equal(f.caller, pthread_self()));

	tracer_thread_give(t, TASK_SET, calloc(3, sizeof(struct tracer_change)), 3);
	await(t, wake, &r);
	assert_int_equal(r.task, TASK_SET);
	assert_int_equal(r.nchanges, 3);
	assert_true(r.changes[0].failed);
	assert_int_equal(r.gap.to_ns, 2);
	free(r.changes);

	tracer_thread_give(t, TASK_TEND, NULL, 0);
	await(t, wake, &r);
	assert_int_equal(r.task, TASK_TEND);
	assert_int_equal(r.code, 0);
	assert_true(f.tended.ns > 0 && f.tended.ns <= r.ended.ns);
	assert_int_equal(tracer_thread_stop(t, 20000, &e), 0);
	assert_int_equal(f.closed, 1);
	close(wake);
}

/* At the end the call returns, so that the thread ends with the test. */
static void
a_call_that_hangs_does_not_block_the_caller(void **state)
{
	static struct fake f;
	int wake = eventfd(0, 0);
	struct tracer tracer = tracer_of(&f);
	struct task_result r;
	struct mono later;
	struct tracer_thread *t;
	enum task task;
	struct err e;
	(void)state;

	assert_int_equal(tracer_thread_start(&t, &tracer, wake, &e), 0);
	pthread_mutex_lock(&f.gate);
	tracer_thread_give(t, TASK_SET, calloc(1, sizeof(struct tracer_change)), 1);
	tracer_thread_take(t, &r);
	assert_int_equal(r.task, TASK_NONE);
	assert_false(tracer_thread_idle(t));
	later.ns = clock_mono().ns + 3000000000;
	assert_true(tracer_thread_busy_ns(t, later, &task) > 2900000000);
	assert_int_equal(task, TASK_SET);

	pthread_mutex_unlock(&f.gate);
	await(t, wake, &r);
	assert_int_equal(r.task, TASK_SET);
	free(r.changes);
	assert_int_equal(tracer_thread_busy_ns(t, later, &task), 0);
	assert_int_equal(tracer_thread_stop(t, 20000, &e), 0);
	close(wake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_run_on_its_thread_and_report),
		cmocka_unit_test(a_call_that_hangs_does_not_block_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
