/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A mutex that knows its holder, so that a function whose caller must hold it can assert that. Taking a lock twice in
 * one thread, or giving one that this thread does not hold, is a mistake of the program and is asserted, too. Costs two
 * stores more than the mutex.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

struct lock {
	pthread_mutex_t mutex;
	pthread_t owner; /* the thread that holds it, if `held` */
	bool held;
};

static inline void
lock_init(struct lock *l)
{
	pthread_mutex_init(&l->mutex, NULL);
	l->held = false;
}

static inline void
lock_destroy(struct lock *l) /* not held by any thread */
{
	pthread_mutex_destroy(&l->mutex);
}

static inline void
lock_take(struct lock *l)
{
	pthread_mutex_lock(&l->mutex);
	assert(!l->held);
	l->owner = pthread_self();
	l->held = true;
}

/* Whether this thread holds it; for assert(). */
static inline bool
lock_is_held(const struct lock *l)
{
	return l->held && pthread_equal(l->owner, pthread_self());
}

static inline void
lock_give(struct lock *l)
{
	assert(lock_is_held(l));
	l->held = false;
	pthread_mutex_unlock(&l->mutex);
}

/* Gives the lock, waits for the condition until this time on the condition's clock (NULL: without a limit), and takes the
 * lock again. 0, or ETIMEDOUT. */
static inline int
lock_wait(struct lock *l, pthread_cond_t *c, const struct timespec *until)
{
	int rc;

	assert(lock_is_held(l));
	l->held = false;
	rc = until != NULL ? pthread_cond_timedwait(c, &l->mutex, until)
	                   : pthread_cond_wait(c, &l->mutex);
	l->owner = pthread_self();
	l->held = true;
	return rc;
}

#endif
