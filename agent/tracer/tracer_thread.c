/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "agent/tracer/tracer_thread.h"

struct tracer_thread {
	pthread_mutex_t lock; /* of what follows tracer */
	pthread_cond_t given, ended;
	pthread_t thread;
	pthread_t owner;      /* the thread that calls the functions of tracer_thread.h */
	struct tracer tracer; /* the thread's alone */
	int wake;
	bool stop, stopped;
	enum task task; /* that runs */
	struct mono since;
	/* While a task runs it is the thread's, without the lock. */
	struct task_result result;
};

/* An error-checking mutex knows its holder: to lock it twice fails, and so does to unlock it
 * without holding it. */
static void
lock(struct tracer_thread *t)
{
	int rc = pthread_mutex_lock(&t->lock);

	assert(rc == 0);
	(void)rc;
}

static void
unlock(struct tracer_thread *t)
{
	int rc = pthread_mutex_unlock(&t->lock);

	assert(rc == 0);
	(void)rc;
}

static void
assert_owner(const struct tracer_thread *t)
{
	assert(pthread_equal(pthread_self(), t->owner));
	(void)t;
}

/* Makes the call without the lock, since it may never return. */
static void
run(struct tracer_thread *t, enum task task)
{
	struct task_result *r = &t->result;

	assert(pthread_equal(pthread_self(), t->thread));
	switch (task) {
	case TASK_OPEN:
		r->code = t->tracer.open(t->tracer.state, &r->session, &r->err);
		break;
	case TASK_SET:
		r->code = t->tracer.set(t->tracer.state, r->changes, r->nchanges, &r->gap, &r->err);
		break;
	case TASK_LIST:
		r->code = t->tracer.list(t->tracer.state, &r->listed, &r->err);
		break;
	case TASK_CHECK:
		r->code = t->tracer.check(t->tracer.state, &r->err);
		break;
	case TASK_TEND:
		r->code = t->tracer.tend(t->tracer.state, clock_mono(), &r->err);
		break;
	case TASK_RECORD:
		r->code = t->tracer.record(t->tracer.state, r->rules, &r->recorder, &r->err);
		break;
	case TASK_SNAPSHOT:
		r->code = t->tracer.snapshot(t->tracer.state, r->snapshot, &r->err);
		if (r->code != 0)
			r->snapshot[0] = '\0';
		break;
	case TASK_NONE:
		break;
	}
	r->ended = clock_mono();
}

static void *
worker(void *arg)
{
	struct tracer_thread *t = arg;

	lock(t);
	for (;;) {
		enum task task;

		while (t->task == TASK_NONE && !t->stop)
			pthread_cond_wait(&t->given, &t->lock);
		if ((task = t->task) == TASK_NONE)
			break;
		unlock(t);
		run(t, task);
		lock(t);
		t->result.task = task;
		t->task = TASK_NONE;
		eventfd_write(t->wake, 1);
	}
	unlock(t);
	t->tracer.close(t->tracer.state);
	lock(t);
	t->stopped = true;
	pthread_cond_signal(&t->ended);
	unlock(t);
	return NULL;
}

static void
sync_init(struct tracer_thread *t)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&t->lock, &mutex);
	pthread_mutexattr_destroy(&mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&t->given, NULL);
	pthread_cond_init(&t->ended, &cond);
	pthread_condattr_destroy(&cond);
}

int
tracer_thread_start(
    struct tracer_thread **ret, const struct tracer *tracer, int wake, struct err *e)
{
	struct tracer_thread *t = calloc(1, sizeof *t);
	int rc;

	if (t == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	t->tracer = *tracer;
	t->wake = wake;
	t->owner = pthread_self();
	sync_init(t);
	lock(t); /* until t->thread is set, which the thread reads */
	rc = pthread_create(&t->thread, NULL, worker, t);
	unlock(t);
	if (rc != 0) {
		free(t);
		return err_set(e, ERR_SYSTEM, "no thread for the tracer");
	}
	*ret = t;
	return 0;
}

bool
tracer_thread_idle(struct tracer_thread *t)
{
	bool idle;

	assert_owner(t);
	lock(t);
	idle = t->task == TASK_NONE && t->result.task == TASK_NONE;
	unlock(t);
	return idle;
}

static void
give(struct tracer_thread *t, enum task task, struct tracer_change *changes, uint32_t n,
    struct recorder_rules *rules)
{
	assert_owner(t);
	lock(t);
	assert(t->task == TASK_NONE && t->result.task == TASK_NONE && !t->stop);
	memset(&t->result, 0, sizeof t->result);
	t->result.changes = changes;
	t->result.nchanges = n;
	t->result.rules = rules;
	t->task = task;
	t->since = clock_mono();
	pthread_cond_signal(&t->given);
	unlock(t);
}

void
tracer_thread_give(
    struct tracer_thread *t, enum task task, struct tracer_change *changes, uint32_t n)
{
	assert(task != TASK_NONE && task != TASK_RECORD && (changes != NULL) == (task == TASK_SET));
	give(t, task, changes, n, NULL);
}

void
tracer_thread_record(struct tracer_thread *t, struct recorder_rules *rules)
{
	assert(rules != NULL);
	give(t, TASK_RECORD, NULL, 0, rules);
}

void
tracer_thread_take(struct tracer_thread *t, struct task_result *ret)
{
	assert_owner(t);
	lock(t);
	ret->task = TASK_NONE;
	if (t->task == TASK_NONE && t->result.task != TASK_NONE) {
		*ret = t->result;
		memset(&t->result, 0, sizeof t->result);
	}
	unlock(t);
}

int64_t
tracer_thread_busy_ns(struct tracer_thread *t, struct mono now, enum task *task)
{
	int64_t ns;

	assert_owner(t);
	lock(t);
	*task = t->task;
	ns = t->task != TASK_NONE ? mono_since_ns(now, t->since) : 0;
	unlock(t);
	return ns > 0 ? ns : 0;
}

int
tracer_thread_stop(struct tracer_thread *t, int timeout_ms, struct err *e)
{
	struct timespec until;
	int rc = 0;

	assert_owner(t);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (until.tv_nsec / 1000000 + timeout_ms) / 1000;
	until.tv_nsec = (until.tv_nsec / 1000000 + timeout_ms) % 1000 * 1000000;
	lock(t);
	t->stop = true;
	pthread_cond_signal(&t->given);
	while (!t->stopped && rc == 0)
		rc = pthread_cond_timedwait(&t->ended, &t->lock, &until);
	rc = t->stopped ? 0 : ERR_TIMEOUT;
	unlock(t);
	if (rc != 0) {
		pthread_detach(t->thread);
		return err_set(e, ERR_TIMEOUT, "the session daemon hangs");
	}
	pthread_join(t->thread, NULL);
	t->tracer.free(t->tracer.state);
	free(t->result.changes);
	free(t->result.rules);
	tracepoints_release(&t->result.listed);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->given);
	pthread_cond_destroy(&t->ended);
	free(t);
	return 0;
}
