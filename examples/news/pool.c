/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

struct question {
	struct question *next;
	int fd; /* where the answer goes */
	struct message message;
};

static const struct pool_service *service;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static struct question *first, **last = &first;
static int queued;

static void
give(struct question *q)
{
	q->next = NULL;
	pthread_mutex_lock(&mutex);
	*last = q;
	last = &q->next;
	queued++;
	pthread_cond_signal(&given);
	pthread_mutex_unlock(&mutex);
}

static struct question *
take(int *behind)
{
	struct question *q;

	pthread_mutex_lock(&mutex);
	while (!first)
		pthread_cond_wait(&given, &mutex);
	q = first;
	first = q->next;
	if (!first)
		last = &first;
	*behind = --queued;
	pthread_mutex_unlock(&mutex);
	return q;
}

static void *
work(void *arg)
{
	int worker = (int)(intptr_t)arg, behind;

	for (;;) {
		struct question *q = take(&behind);

		hone_unit_begin(&q->message.carrier, service->unit_name(q->message.op));
		service->answer(&q->message, worker, behind);
		hone_unit_end();
		message_send(q->fd, &q->message);
		free(q);
	}
	return NULL;
}

/* The socket stays open when its asker is gone: a worker may still answer it. */
static void *
listen_to(void *arg)
{
	int fd = (int)(intptr_t)arg;

	for (;;) {
		struct question *q = malloc(sizeof *q);

		if (!q || message_receive(fd, &q->message) != 1) {
			free(q);
			shutdown(fd, SHUT_RDWR);
			return NULL;
		}
		q->fd = fd;
		give(q);
	}
}

static int
thread(void *(*run)(void *), int number)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, (void *)(intptr_t)number) != 0)
		return -1;
	return pthread_detach(t);
}

int
pool_serve(const struct pool_service *s)
{
	int listener = message_listen(s->dir, s->name), fd;

	service = s;
	if (listener < 0)
		return 1;
	for (int i = 0; i < s->workers; i++)
		if (thread(work, i) != 0) {
			perror("pool: a worker");
			return 1;
		}
	while ((fd = accept(listener, NULL, NULL)) >= 0)
		if (thread(listen_to, fd) != 0)
			break;
	perror("pool: accept");
	return 1;
}
