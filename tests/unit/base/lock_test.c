/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"

struct shared {
	struct lock lock;
	pthread_cond_t changed;
	bool held_there, set;
};

static void *
other_thread(void *arg)
{
	struct shared *s = arg;

	s->held_there = lock_is_held(&s->lock);
	lock_take(&s->lock);
	s->set = true;
	pthread_cond_signal(&s->changed);
	lock_give(&s->lock);
	return NULL;
}

static void
only_the_holder_holds_it(void **state)
{
	struct shared s = { .changed = PTHREAD_COND_INITIALIZER, .held_there = true };
	pthread_t other;
	(void)state;

	lock_init(&s.lock);
	assert_false(lock_is_held(&s.lock));
	lock_take(&s.lock);
	assert_true(lock_is_held(&s.lock));
	assert_int_equal(pthread_create(&other, NULL, other_thread, &s), 0);
	while (
	    !s.set) /* the other thread sets it while this thread waits, hence has released the lock */
		assert_int_equal(lock_wait(&s.lock, &s.changed, NULL), 0);
	assert_true(lock_is_held(&s.lock));
	lock_give(&s.lock);
	assert_false(lock_is_held(&s.lock));
	pthread_join(other, NULL);
	assert_false(s.held_there);
	lock_destroy(&s.lock);
}

static void
a_wait_ends_at_its_time_limit_with_the_lock_taken(void **state)
{
	struct shared s = { .changed = PTHREAD_COND_INITIALIZER };
	struct timespec past = { 0 };
	(void)state;

	lock_init(&s.lock);
	lock_take(&s.lock);
	assert_int_equal(lock_wait(&s.lock, &s.changed, &past), ETIMEDOUT);
	assert_true(lock_is_held(&s.lock));
	lock_give(&s.lock);
	lock_destroy(&s.lock);
}

static void
giving_a_lock_that_is_not_held_aborts_the_program(void **state)
{
	pid_t child = fork();
	int status;
	(void)state;

	if (child == 0) {
		struct lock l;

		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		signal(SIGABRT, SIG_DFL); /* otherwise cmocka's handler would continue */
		close(STDERR_FILENO);     /* the text of the assertion */
		lock_init(&l);
		lock_give(&l);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_holder_holds_it),
		cmocka_unit_test(a_wait_ends_at_its_time_limit_with_the_lock_taken),
		cmocka_unit_test(giving_a_lock_that_is_not_held_aborts_the_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
