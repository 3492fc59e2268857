/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tracer/knocks.h"
#include "instrument/policy.h"

enum { STRANGER = 64323, OTHER = 64324 };

static char folder[] = "/tmp/hone-knocks-test.XXXXXX", path[64], at_path[80];

static int
each(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "%s/policy", folder);
	snprintf(at_path, sizeof at_path, "%s" HONE_POLICY_KNOCK, path);
	unlink(at_path);
	return 0;
}

/* As libhone does it. 0, or errno. */
static int
knock(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0), failed;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", at_path);
	failed = connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 ? errno : 0;
	close(fd);
	return failed;
}

/* By a process of that user, which has ended. Its number. */
static pid_t
knock_as(uid_t user)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(setresuid(user, user, user) != 0 || knock() != 0);
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	return pid;
}

static struct mono
plus(struct mono t, int64_t ns)
{
	return (struct mono){ t.ns + ns };
}

static bool
lost_of(struct knocks *k, uid_t user, struct mono now)
{
	struct knocks_turn t;

	knock_as(user);
	knocks_hear(k, now, &t);
	return t.lost;
}

static void
a_knock_is_heard_and_covers_the_time_until_the_next(void **state)
{
	struct mono start = clock_mono(), before, now;
	struct knocks_turn t;
	struct knocks *k;
	struct err e;
	(void)state;

	assert_int_equal(knocks_open(&k, path, &e), 0);
	before = clock_mono();
	knocks_hear(k, before, &t);
	assert_false(t.lost);
	assert_true(t.from.ns >= start.ns && t.from.ns <= before.ns);
	assert_int_equal(knock(), 0);
	assert_int_equal(knock(), 0);
	now = clock_mono();
	knocks_hear(k, now, &t);
	assert_true(t.lost && t.from.ns == before.ns && t.not_counted == 0 && !t.full);
	before = now;
	now = clock_mono();
	knocks_hear(k, now, &t);
	assert_true(t.lost && t.from.ns == before.ns); /* the program's next may come later */
	now = plus(now, 2 * HONE_POLICY_KNOCK_NS);
	knocks_hear(k, now, &t);
	knocks_hear(k, now, &t);
	assert_false(t.lost);
	knocks_close(k, true);
	assert_int_equal(knock(), ENOENT);
}

static void
strangers_together_have_a_second_a_minute(void **state)
{
	struct mono begin = clock_mono(), now = plus(begin, KNOCKS_MINUTE_NS);
	struct knocks_turn t;
	struct knocks *k;
	struct err e;
	int lost = 0;
	pid_t pid;
	(void)state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(knocks_open(&k, path, &e), 0);
	chmod(folder, 0711);
	knocks_hear(k, now, &t);
	for (int i = 0; i < 100; i++) {
		now = plus(now, 100000000);
		lost += lost_of(k, i % 2 == 0 ? STRANGER : OTHER, now);
	}
	assert_in_range(lost, 8, 10); /* of 0.1 s each */
	pid = knock_as(STRANGER);
	now = plus(now, 100000000);
	knocks_hear(k, now, &t);
	assert_true(!t.lost && t.not_counted == 1 && t.pid == (uint32_t)pid && t.user == STRANGER);
	/* meanwhile others are heard */
	assert_true(lost_of(k, 0, plus(now, 1)));
	knocks_hear(k, plus(now, KNOCKS_MINUTE_NS - 1), &t);
	assert_true(lost_of(k, STRANGER, plus(now, KNOCKS_MINUTE_NS)));
	knocks_close(k, true);
}

static void
who_has_a_traced_program_is_heard(void **state)
{
	struct knocks_turn t;
	struct knocks *k;
	struct mono now;
	struct err e;
	(void)state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(knocks_open(&k, path, &e), 0);
	chmod(folder, 0711);
	now = plus(clock_mono(), KNOCKS_MINUTE_NS);
	knocks_hear(k, now, &t);
	knock_as(STRANGER);
	now = plus(now, 2 * KNOCKS_STRANGERS_NS); /* spends the second of strangers */
	knocks_hear(k, now, &t);
	now = plus(now, 1000000000);
	assert_false(lost_of(k, STRANGER, now));
	knocks_user(k, STRANGER);
	now = plus(now, 1000000000);
	assert_true(lost_of(k, STRANGER, now));
	now = plus(now, 1000000000);
	assert_false(lost_of(k, OTHER, now));
	knocks_unseen(k, true); /* OTHER may be the user of a traced program */
	now = plus(now, 1000000000);
	assert_true(lost_of(k, OTHER, now));
	knocks_unseen(k, false);
	now = plus(now, 1000000000);
	assert_false(lost_of(k, OTHER, now));
	knocks_close(k, true);
}

/* A stranger keeps the queue full: it is told, and others are heard as soon as it is read. */
static void
a_full_queue_counts_for_strangers_only(void **state)
{
	struct knocks_turn t;
	struct knocks *k;
	struct mono now;
	struct err e;
	int n = 0, failed = 0, status;
	pid_t pid;
	(void)state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(knocks_open(&k, path, &e), 0);
	chmod(folder, 0711);
	now = plus(clock_mono(), KNOCKS_MINUTE_NS);
	knocks_hear(k, now, &t);
	knock_as(STRANGER);
	now = plus(now, 2 * KNOCKS_STRANGERS_NS); /* spends the second of strangers */
	knocks_hear(k, now, &t);
	if ((pid = fork()) == 0) {
		if (setresuid(STRANGER, STRANGER, STRANGER) != 0)
			_exit(1);
		while ((failed = knock()) == 0 && n < 2 * KNOCKS_QUEUE)
			n++;
		_exit(failed == EAGAIN ? 0 : 2); /* it does not wait */
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	assert_int_equal(knock(), EAGAIN);
	now = plus(now, 1000000000);
	knocks_hear(k, now, &t);
	assert_true(!t.lost && t.not_counted > 0 && t.user == STRANGER);
	assert_int_equal(knock(), 0);
	now = plus(now, 1000000000);
	knocks_hear(k, now, &t);
	assert_true(
	    t.lost && t.not_counted <= 1); /* the kernel queues one more than was asked for */
	knocks_close(k, true);
}

static void
what_is_at_the_path_is_replaced(void **state)
{
	struct knocks *k;
	struct err e;
	(void)state;

	assert_int_equal(symlink("/dev/null", at_path), 0);
	assert_int_equal(knocks_open(&k, path, &e), 0);
	assert_int_equal(knock(), 0);
	knocks_close(k, false);
	assert_int_equal(knock(), ECONNREFUSED); /* left, as after kill -9 */
	assert_int_equal(knocks_open(&k, path, &e), 0);
	assert_int_equal(knock(), 0);
	knocks_close(k, true);
	assert_int_equal(mkdir(at_path, 0700), 0);
	assert_int_equal(knocks_open(&k, path, &e), 0);
	assert_int_equal(knock(), 0);
	knocks_close(k, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_knock_is_heard_and_covers_the_time_until_the_next, each),
		cmocka_unit_test_setup(strangers_together_have_a_second_a_minute, each),
		cmocka_unit_test_setup(who_has_a_traced_program_is_heard, each),
		cmocka_unit_test_setup(a_full_queue_counts_for_strangers_only, each),
		cmocka_unit_test_setup(what_is_at_the_path_is_replaced, each),
	};
	int failed;

	if (mkdtemp(folder) == NULL)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
