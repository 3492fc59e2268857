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
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct lock {
	pthread_mutex_t mutex;
	/* pthread_self() of the thread that holds it; 0: none. Atomic, as others may ask whether they
	 * hold it. */
	_Atomic uintptr_t owner;
};

/* For lock.h alone. */
static inline void
lock_set_owner(struct lock *l, uintptr_t owner)
{
	atomic_store_explicit(&l->owner, owner, memory_order_relaxed);
}

static inline void
lock_init(struct lock *l)
{
	pthread_mutex_init(&l->mutex, NULL);
	lock_set_owner(l, 0);
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
	assert(atomic_load_explicit(&l->owner, memory_order_relaxed) == 0);
	lock_set_owner(l, (uintptr_t)pthread_self());
}

/* Whether this thread holds it; for assert(). */
static inline bool
lock_is_held(const struct lock *l)
{
	return atomic_load_explicit(&l->owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

static inline void
lock_give(struct lock *l)
{
	assert(lock_is_held(l));
	lock_set_owner(l, 0);
	pthread_mutex_unlock(&l->mutex);
}

/* Gives the lock, waits for the condition until this time on the condition's clock (NULL: without a limit), and takes the
 * lock again. 0, or ETIMEDOUT. */
static inline int
lock_wait(struct lock *l, pthread_cond_t *c, const struct timespec *until)
{
	int rc;

	assert(lock_is_held(l));
	lock_set_owner(l, 0);
	rc = until != NULL ? pthread_cond_timedwait(c, &l->mutex, until)
	                   : pthread_cond_wait(c, &l->mutex);
	lock_set_owner(l, (uintptr_t)pthread_self());
	return rc;
}

#endif
