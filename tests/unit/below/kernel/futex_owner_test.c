/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/futex_owner.h"

#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MUTEX_EXPECTS = 2, WRITER_EXPECTED = 3, READERS_EXPECTED = 2 }; /* by waiters of glibc */

/* What lies there behind the word; -1: none. */
static int
owner(const void *word, int operation, unsigned expected)
{
	int at = futex_owner_at((uintptr_t)word, (unsigned)operation, expected);

	return at == FUTEX_NO_OWNER ? -1 : *(const int *)((const char *)word + at);
}

static void
the_owner_of_each_kind_of_lock_is_found(void **state)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	const int timed = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
	int word = 4711;
	(void)state;

	pthread_mutex_lock(&m);
	pthread_rwlock_wrlock(&rw);
	assert_int_equal(owner(&m.__data.__lock, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, MUTEX_EXPECTS),
	    m.__data.__owner);
	assert_int_equal(owner(&m.__data.__lock, timed, MUTEX_EXPECTS), m.__data.__owner);
	assert_int_not_equal(m.__data.__owner, 0);
	assert_int_equal(
	    owner(&rw.__data.__wrphase_futex, timed, WRITER_EXPECTED), m.__data.__owner);
	assert_int_equal(
	    owner(&rw.__data.__writers_futex, timed, WRITER_EXPECTED), m.__data.__owner);
	assert_int_equal(owner(&word, FUTEX_LOCK_PI, 0), word);
	assert_int_equal(owner(&word, 13 /* FUTEX_LOCK_PI2 */, 0), word);
	pthread_rwlock_unlock(&rw);
	pthread_mutex_unlock(&m);
}

/* The kind of a recursive mutex is 1, 16 bytes behind its word; in a container 1 is a thread. */
static void
other_members_of_a_lock_are_no_owner(void **state)
{
	pthread_mutexattr_t recursive;
	pthread_mutex_t m;
	pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	(void)state;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m, &recursive);
	assert_int_equal(owner(&m.__data.__lock, FUTEX_WAIT, MUTEX_EXPECTS), 0);
	assert_int_equal(owner(&m.__data.__lock, FUTEX_WAIT_BITSET, MUTEX_EXPECTS), 0);
	assert_int_equal(owner(&rw.__data.__wrphase_futex, FUTEX_WAIT_BITSET, READERS_EXPECTED), 0);
	assert_int_equal(owner(&m.__data.__lock, FUTEX_WAKE, 1), -1);
	pthread_mutex_destroy(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_owner_of_each_kind_of_lock_is_found),
		cmocka_unit_test(other_members_of_a_lock_are_no_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
