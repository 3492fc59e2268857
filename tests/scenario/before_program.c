/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * before_program: requests of type ORDER, which a thread hands to another one and waits for. Before that begins its unit it takes a mutex,
 * which for one request in five a third thread holds while it sleeps. No tracepoint lies between hand-over and begin.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "instrument/hone.h"

enum { HELD_US = 15000, REST_US = 4000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct hone_carrier *order; /* NULL: none waits */
static bool held;

static __attribute__((noinline)) void
count_stock(void)
{
	usleep(HELD_US);
	__asm__ volatile(""); /* no tail call, which would take it off the stack */
}

/* Holds the stock when it is asked to. */
static void *
clerk(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!held)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_lock(&stock);
		held = false;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		count_stock();
		pthread_mutex_unlock(&stock);
	}
	return unused;
}

static __attribute__((noinline)) void
reserve(void)
{
	pthread_mutex_lock(&stock);
	pthread_mutex_unlock(&stock);
	__asm__ volatile("");
}

static void *
packer(void *unused)
{
	for (;;) {
		struct hone_carrier c;

		pthread_mutex_lock(&lock);
		while (order == NULL)
			pthread_cond_wait(&changed, &lock);
		c = *order;
		pthread_mutex_unlock(&lock);
		reserve();
		hone_unit_begin(&c, "pack");
		usleep(300);
		hone_unit_end();
		pthread_mutex_lock(&lock);
		order = NULL;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int
main(void)
{
	pthread_t threads[2];
	unsigned dice = 1;

	if (pthread_create(&threads[0], NULL, clerk, NULL) != 0 ||
	    pthread_create(&threads[1], NULL, packer, NULL) != 0 ||
	    pthread_setname_np(threads[0], "clerk") != 0)
		return 1;
	for (;;) {
		struct hone_carrier c;
		bool slow = rand_r(&dice) % 5 == 0;

		pthread_mutex_lock(&lock);
		held = slow;
		pthread_cond_broadcast(&changed);
		while (held)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		hone_request_begin("ORDER", NULL);
		hone_fork("pack", &c);
		pthread_mutex_lock(&lock);
		order = &c;
		pthread_cond_broadcast(&changed);
		while (order != NULL)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		hone_join(&c, "pack");
		hone_request_end(200);
		usleep(REST_US);
	}
}
