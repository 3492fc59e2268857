/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/trace_queue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/*
 * A ring of batches. Batches number `taken` to `put` - 1 are ready for the analysing thread; batch
 * number `put` is being filled by the reading thread, without the lock.
 */
struct trace_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	uint64_t put, taken; /* batch numbers; index in the ring: modulo QUEUE_BATCHES */
	bool holds;          /* the analysing thread still uses batch number `taken` */
	bool ended, closed;
	struct trace_batch ring[QUEUE_BATCHES];
};

static void
reset(struct trace_batch *b)
{
	b->n = 0;
	b->bytes = 0;
}

static void
empty(struct trace_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		trace_free(b->traces[i]);
	reset(b);
}

struct trace_queue *
trace_queue_new(void)
{
	struct trace_queue *q = calloc(1, sizeof *q);
	pthread_condattr_t attr;

	if (q == NULL)
		return NULL;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, &attr);
	pthread_cond_init(&q->emptied, NULL);
	pthread_condattr_destroy(&attr);
	return q;
}

void
trace_queue_free(struct trace_queue *q)
{
	if (q == NULL)
		return;
	for (uint64_t b = q->taken + q->holds; b <= q->put; b++)
		empty(&q->ring[b % QUEUE_BATCHES]);
	pthread_cond_destroy(&q->filled);
	pthread_cond_destroy(&q->emptied);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* Hands the batch being filled to the analysing thread, and waits for an empty one unless it is the
 * last. false: the queue was closed. */
static bool
hand_over(struct trace_queue *q, bool last)
{
	bool open;

	pthread_mutex_lock(&q->lock);
	while (!last && q->put + 1 - q->taken >= QUEUE_BATCHES && !q->closed)
		pthread_cond_wait(&q->emptied, &q->lock);
	open = !q->closed;
	if (last)
		q->ended = true;
	else if (open)
		reset(&q->ring[++q->put % QUEUE_BATCHES]);
	else
		empty(&q->ring[q->put % QUEUE_BATCHES]);
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	return open;
}

bool
trace_queue_put(struct trace_queue *q, struct trace *t)
{
	struct trace_batch *b = &q->ring[q->put % QUEUE_BATCHES];

	assert(b->n < QUEUE_BATCH_TRACES && !q->ended);
	b->traces[b->n++] = t;
	b->bytes += t->arena.total_bytes;
	if (b->n < QUEUE_BATCH_TRACES && b->bytes < QUEUE_BATCH_BYTES)
		return true;
	return hand_over(q, false);
}

void
trace_queue_end(struct trace_queue *q)
{
	hand_over(q, true);
}

static struct timespec
after(int wait_ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += wait_ms % 1000 * 1000000L;
	t.tv_sec += wait_ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

struct trace_batch *
trace_queue_take(struct trace_queue *q, int wait_ms, bool *over)
{
	struct timespec until = after(wait_ms);
	struct trace_batch *b = NULL;
	int rc = 0;

	pthread_mutex_lock(&q->lock);
	if (q->holds) {
		q->holds = false;
		q->taken++;
		pthread_cond_signal(&q->emptied);
	}
	while (q->taken == q->put && !q->ended && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&q->filled, &q->lock, &until);
	/* after the end, batch number `put` is complete, too */
	if (q->taken < q->put || (q->ended && q->taken == q->put)) {
		b = &q->ring[q->taken % QUEUE_BATCHES];
		q->holds = true;
	}
	*over = q->ended && q->taken > q->put;
	pthread_mutex_unlock(&q->lock);
	return b;
}

void
trace_queue_close(struct trace_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_signal(&q->emptied);
	pthread_mutex_unlock(&q->lock);
}
