/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * map_program CONTROL_FILE: a server that has tracepoints and does not use libhone.
 *
 * Six threads serve calls, each on one thread, at a fixed rate that does not depend on slow steps.
 * One thread queues jobs; the worker that starts a job gives it a task number, and a third thread,
 * which receives that number, finishes it: only the numbers connect the records of a job. The
 * control file is read before each call and job: the name of the step ("lookup", "render") that is
 * slow now, by 0 to 36 ms; or "die": the next job ends the process between two of its steps. There
 * are enough workers that a slow step makes no job wait for one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/map_program_tp.h"

enum { QUEUE = 64, CALL_EVERY_US = 45000, JOB_EVERY_US = 8000 };

struct queue { /* of numbers, from thread to thread */
	pthread_mutex_t lock;
	pthread_cond_t filled;
	uint64_t items[QUEUE];
	uint32_t first, count;
};

static struct queue jobs = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { 0 }, 0, 0 };
static struct queue tasks = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { 0 }, 0, 0 };
static const char *control;

static void
push(struct queue *q, uint64_t item)
{
	pthread_mutex_lock(&q->lock);
	if (q->count < QUEUE)
		q->items[(q->first + q->count++) % QUEUE] = item;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static uint64_t
pop(struct queue *q)
{
	uint64_t item;

	pthread_mutex_lock(&q->lock);
	while (q->count == 0)
		pthread_cond_wait(&q->filled, &q->lock);
	item = q->items[q->first];
	q->first = (q->first + 1) % QUEUE;
	q->count--;
	pthread_mutex_unlock(&q->lock);
	return item;
}

static void
pause_us(long us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

static void
told(char out[16])
{
	int fd = open(control, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, 15);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* What a step takes: a little, and where it is the slow one, sometimes much. */
static void
work(const char *step, const char *slow, unsigned *dice)
{
	pause_us(60 + rand_r(dice) % 20);
	if (strcmp(step, slow) == 0)
		pause_us(rand_r(dice) % 36000);
}

#define STEP(name)                                             \
	do {                                                   \
		lttng_ust_tracepoint(broker, name##_begin, 1); \
		work(#name, slow, &dice);                      \
		lttng_ust_tracepoint(broker, name##_end, 1);   \
	} while (0)

static void *
serve(void *number)
{
	unsigned dice = 1 + (unsigned)(uintptr_t)number;
	struct timespec next;
	char slow[16];

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		told(slow);
		lttng_ust_tracepoint(broker, call_begin, "SEARCH", 100 + dice % 900);
		STEP(parse);
		STEP(check);
		STEP(lookup);
		STEP(rank);
		STEP(format);
		STEP(send);
		lttng_ust_tracepoint(broker, call_end, "SEARCH", 0);
		next.tv_nsec += CALL_EVERY_US * 1000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return NULL;
}

static void *
enqueue(void *unused)
{
	(void)unused;
	for (uint64_t job = 1000;; job++) {
		lttng_ust_tracepoint(broker, queued, job, (uint32_t)(job % 7));
		push(&jobs, job);
		pause_us(JOB_EVERY_US);
	}
	return NULL;
}

static void *
convert(void *number)
{
	unsigned dice = 100 + (unsigned)(uintptr_t)number;
	uint64_t task = (uint64_t)(uintptr_t)number << 32;
	char slow[16];

	for (;; task++) {
		uint64_t job = pop(&jobs);

		told(slow);
		lttng_ust_tracepoint(broker, started, job, task);
		STEP(load);
		STEP(decode);
		if (strcmp(slow, "die") == 0)
			kill(getpid(), SIGKILL);
		STEP(render);
		STEP(encode);
		STEP(store);
		lttng_ust_tracepoint(broker, written, task);
		push(&tasks, task);
	}
	return NULL;
}

static void *
finish(void *unused)
{
	(void)unused;
	for (;;)
		lttng_ust_tracepoint(broker, done, pop(&tasks));
	return NULL;
}

int
main(int argc, char **argv)
{
	void *(*const parts[])(void *) = { serve, serve, serve, serve, serve, serve, enqueue,
		convert, convert, convert, convert, convert, convert, convert, convert, convert,
		convert, finish };
	pthread_t thread;

	if (argc != 2) {
		fprintf(stderr, "usage: map_program CONTROL_FILE\n");
		return 2;
	}
	control = argv[1];
	for (uintptr_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (pthread_create(&thread, NULL, parts[i], (void *)(i + 1)) != 0)
			return 1;
	pause();
	return 0;
}
