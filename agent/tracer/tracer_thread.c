/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "agent/tracer/tracer_thread.h"

struct tracer_thread {
	pthread_mutex_t lock;
	pthread_cond_t given, ended;
	pthread_t thread;
	struct tracer door;
	int wake;
	bool stop, stopped;
	enum task task; /* that runs */
	struct mono since;
	struct task_result result; /* the thread's while a task runs, else whoever has the lock */
};

static void
run(struct tracer_thread *s, enum task task)
{
	struct task_result *r = &s->result;

	switch (task) {
	case TASK_OPEN:
		r->code = s->door.open(s->door.state, &r->session, &r->err);
		break;
	case TASK_SET:
		r->code = s->door.set(s->door.state, r->changes, r->nchanges, &r->gap, &r->err);
		break;
	case TASK_LIST:
		r->code = s->door.list(s->door.state, &r->listed, &r->err);
		break;
	case TASK_CHECK:
		r->code = s->door.check(s->door.state, &r->err);
		break;
	case TASK_TEND:
		r->code = s->door.tend(s->door.state, clock_mono(), &r->err);
		break;
	case TASK_NONE:
		break;
	}
	r->ended = clock_mono();
}

static void *
worker(void *arg)
{
	struct tracer_thread *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		enum task task;

		while (s->task == TASK_NONE && !s->stop)
			pthread_cond_wait(&s->given, &s->lock);
		if ((task = s->task) == TASK_NONE)
			break;
		pthread_mutex_unlock(&s->lock);
		run(s, task);
		pthread_mutex_lock(&s->lock);
		s->result.task = task;
		s->task = TASK_NONE;
		eventfd_write(s->wake, 1);
	}
	pthread_mutex_unlock(&s->lock);
	s->door.close(s->door.state);
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_cond_signal(&s->ended);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int
tracer_thread_start(struct tracer_thread **ret, const struct tracer *door, int wake, struct err *e)
{
	struct tracer_thread *s = calloc(1, sizeof *s);
	pthread_condattr_t attr;

	if (s == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	s->door = *door;
	s->wake = wake;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->given, NULL);
	pthread_cond_init(&s->ended, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&s->thread, NULL, worker, s) != 0) {
		free(s);
		return err_set(e, ERR_SYSTEM, "no thread for the tracer");
	}
	*ret = s;
	return 0;
}

bool
tracer_thread_idle(struct tracer_thread *s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = s->task == TASK_NONE && s->result.task == TASK_NONE;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void
tracer_thread_give(
    struct tracer_thread *s, enum task task, struct tracer_change *changes, uint32_t n)
{
	pthread_mutex_lock(&s->lock);
	memset(&s->result, 0, sizeof s->result);
	s->result.changes = changes;
	s->result.nchanges = n;
	s->task = task;
	s->since = clock_mono();
	pthread_cond_signal(&s->given);
	pthread_mutex_unlock(&s->lock);
}

void
tracer_thread_take(struct tracer_thread *s, struct task_result *ret)
{
	pthread_mutex_lock(&s->lock);
	ret->task = TASK_NONE;
	if (s->task == TASK_NONE && s->result.task != TASK_NONE) {
		*ret = s->result;
		memset(&s->result, 0, sizeof s->result);
	}
	pthread_mutex_unlock(&s->lock);
}

int64_t
tracer_thread_busy_ns(struct tracer_thread *s, struct mono now, enum task *task)
{
	int64_t ns;

	pthread_mutex_lock(&s->lock);
	*task = s->task;
	ns = s->task != TASK_NONE ? mono_since_ns(now, s->since) : 0;
	pthread_mutex_unlock(&s->lock);
	return ns > 0 ? ns : 0;
}

int
tracer_thread_stop(struct tracer_thread *s, int timeout_ms, struct err *e)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (until.tv_nsec / 1000000 + timeout_ms) / 1000;
	until.tv_nsec = (until.tv_nsec / 1000000 + timeout_ms) % 1000 * 1000000;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->given);
	while (!s->stopped && rc == 0)
		rc = pthread_cond_timedwait(&s->ended, &s->lock, &until);
	rc = s->stopped ? 0 : ERR_TIMEOUT;
	pthread_mutex_unlock(&s->lock);
	if (rc != 0) {
		pthread_detach(s->thread);
		return err_set(e, ERR_TIMEOUT, "the session daemon hangs");
	}
	pthread_join(s->thread, NULL);
	s->door.free(s->door.state);
	free(s->result.changes);
	tracepoints_release(&s->result.listed);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->given);
	pthread_cond_destroy(&s->ended);
	free(s);
	return 0;
}
