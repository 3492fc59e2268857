/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crew.h"

#include <pthread.h>
#include <stdlib.h>

struct crew {
	pthread_mutex_t mutex;
	pthread_cond_t given, finished;
	struct task *first, **last;
	int64_t queued;
};

static struct task *
take(struct crew *c)
{
	struct task *t;

	pthread_mutex_lock(&c->mutex);
	while (!c->first)
		pthread_cond_wait(&c->given, &c->mutex);
	t = c->first;
	c->first = t->next;
	if (!c->first)
		c->last = &c->first;
	c->queued--;
	pthread_mutex_unlock(&c->mutex);
	return t;
}

static void *
work(void *arg)
{
	struct crew *c = arg;

	for (;;) {
		struct task *t = take(c);

		hone_unit_begin(&t->carrier, t->name);
		t->run(t->arg);
		hone_unit_end();
		pthread_mutex_lock(&c->mutex);
		t->done = 1;
		pthread_cond_broadcast(&c->finished);
		pthread_mutex_unlock(&c->mutex);
	}
	return NULL;
}

struct crew *
crew_new(int threads)
{
	struct crew *c = calloc(1, sizeof *c);
	pthread_t thread;

	if (!c)
		return NULL;
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->given, NULL);
	pthread_cond_init(&c->finished, NULL);
	c->last = &c->first;
	for (int i = 0; i < threads; i++) {
		if (pthread_create(&thread, NULL, work, c) != 0)
			return NULL;
		pthread_detach(thread);
	}
	return c;
}

void
crew_give(struct crew *c, struct task *t)
{
	hone_fork(t->name, &t->carrier);
	t->next = NULL;
	t->done = 0;
	pthread_mutex_lock(&c->mutex);
	*c->last = t;
	c->last = &t->next;
	c->queued++;
	pthread_cond_signal(&c->given);
	pthread_mutex_unlock(&c->mutex);
}

void
crew_wait(struct crew *c, struct task *t)
{
	pthread_mutex_lock(&c->mutex);
	while (!t->done)
		pthread_cond_wait(&c->finished, &c->mutex);
	pthread_mutex_unlock(&c->mutex);
	hone_join(&t->carrier, t->name);
}

int64_t
crew_queued(struct crew *c)
{
	int64_t n;

	pthread_mutex_lock(&c->mutex);
	n = c->queued;
	pthread_mutex_unlock(&c->mutex);
	return n;
}
