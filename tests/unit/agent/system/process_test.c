/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/system/process.h"

static void
a_process_is_known_by_its_program_and_name_while_it_lives(void **state)
{
	pid_t child = fork();
	siginfo_t ended;
	uint32_t user = 77;
	(void)state;

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	assert_true(process_program(getpid()) != 0);
	assert_true(process_program(child) == process_program(getpid()));
	assert_true(process_is(child, "process_test"));
	assert_false(process_is(child, "process"));
	assert_true(process_real_user(child, &user));
	assert_int_equal(user, getuid());
	kill(child, SIGKILL);
	/* a zombie: nobody has asked for its status, so its name can still be read */
	assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
	assert_false(process_is(child, "process_test"));
	assert_false(process_real_user(child, &user));
	waitpid(child, NULL, 0);
	assert_true(process_program(child) == 0);
	assert_false(process_is(child, "process_test"));
	assert_int_equal(process_cpu_us(child), 0);
}

static void
a_thread_without_rest_has_a_demand_of_1_whatever_else_runs(void **state)
{
	struct family_demand d = { 0 };
	struct family f = { .n = 1 };
	double spinning = 0, resting;
	struct timespec part = { 0, 200000000 };
	pid_t pids[3];
	(void)state;

	/* The third rests. */
	for (int i = 0; i < 3; i++)
		if ((pids[i] = fork()) == 0) {
			while (i == 2)
				pause();
			for (;;)
				;
		}
	f.pids[0] = pids[0];
	assert_true(family_demand(&d, &f, clock_mono()) == 0);
	for (int i = 0; i < 50 && spinning < 0.9; i++) { /* it may have begun late */
		nanosleep(&part, NULL);
		spinning = family_demand(&d, &f, clock_mono());
	}
	assert_true(spinning >= 0.9 && spinning <= 1);
	f.pids[0] = pids[2];
	d = (struct family_demand){ 0 };
	family_demand(&d, &f, clock_mono());
	nanosleep(&part, NULL);
	resting = family_demand(&d, &f, clock_mono());
	assert_true(resting < 0.5);
	for (int i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

static void
cpu_time_includes_that_of_children(void **state)
{
	struct family f = { 0 };
	int ends[2];
	char c;
	pid_t child;
	(void)state;

	assert_int_equal(pipe(ends), 0);
	if ((child = fork()) == 0) {
		while (process_cpu_us(getpid()) < 20000)
			;
		(void)!write(ends[1], "x", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &c, 1), 1);
	assert_true(process_cpu_us(getpid()) > 0);
	assert_true(family_cpu_us(&f, getpid(), (struct mono){ 1 }) >= process_cpu_us(child) + 1);
	assert_int_equal(f.n, 2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	family_cpu_us(&f, getpid(), (struct mono){ 2 });
	family_cpu_us(&f, getpid(), (struct mono){ 3 });
	assert_int_equal(f.n, 1);
	close(ends[0]);
	close(ends[1]);
}

static void
a_sockets_owner_is_the_process_that_listens(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)state;

	snprintf(at.sun_path, sizeof at.sun_path, "/tmp/process-test-%ld", (long)getpid());
	assert_int_equal(socket_owner(at.sun_path), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(socket_owner(at.sun_path), getpid());
	close(fd);
	unlink(at.sun_path);
}

static void
own_memory_is_more_than_a_page(void **state)
{
	(void)state;

	assert_true(process_memory_bytes() > 4096);
}

/* The child of a process that made a pid namespace is 1 in it. Without that right there is nothing to find. */
static void
a_process_in_a_pid_namespace_of_its_own_is_found_by_its_id_there(void **state)
{
	static const char NAME[] = "inside-a-test";
	int told[2];
	pid_t child, found[4] = { 0 };
	int id = 0;
	(void)state;

	assert_int_equal(pipe(told), 0);
	if ((child = fork()) == 0) {
		int ready = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID) == 0 && (ready = fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, NAME);
			ready = 1;
			if (write(told[1], &ready, sizeof ready) == sizeof ready)
				pause();
			_exit(0);
		}
		if (ready == 0 && write(told[1], &ready, sizeof ready) != sizeof ready)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(told[0], &id, sizeof id), sizeof id);
	if (id == 1) {
		assert_int_equal(process_inside(1, NAME, found, 4), 1);
		assert_true(found[0] > 1);
		assert_true(process_is(found[0], NAME));
		assert_int_equal(process_inside(2, NAME, found, 4), 0);
		assert_int_equal(process_inside(1, "another", found, 4), 0);
	}
	assert_int_equal(process_inside(getpid(), "process_test", found, 4), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(told[0]);
	close(told[1]);
	if (id != 1)
		skip();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_known_by_its_program_and_name_while_it_lives),
		cmocka_unit_test(a_thread_without_rest_has_a_demand_of_1_whatever_else_runs),
		cmocka_unit_test(cpu_time_includes_that_of_children),
		cmocka_unit_test(a_sockets_owner_is_the_process_that_listens),
		cmocka_unit_test(a_process_in_a_pid_namespace_of_its_own_is_found_by_its_id_there),
		cmocka_unit_test(own_memory_is_more_than_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
