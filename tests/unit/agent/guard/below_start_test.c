/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * This program is also the one that is started: by the name hone-below it reports what it was given and then lives until
 * its socket is closed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
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
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/guard/below_start.h"

enum { WAIT_MS = 10000 };

struct report {
	pid_t pid, parent;
	uint64_t effective, ambient;
	int no_new_privileges, descriptors;
};

static uint64_t
status_number(const char *key, int base)
{
	char line[256];
	uint64_t value = UINT64_MAX;
	FILE *f = fopen("/proc/self/status", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtoull(line + strlen(key) + 1, NULL, base);
	if (f != NULL)
		fclose(f);
	return value;
}

/* Those above standard error, without the one of the folder itself. */
static int
descriptors_above(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *entry;
	int n = 0;

	while (d != NULL && (entry = readdir(d)) != NULL)
		n += atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(d);
	if (d != NULL)
		closedir(d);
	return n;
}

static int
be_below(void)
{
	struct report r = { getpid(), getppid(), status_number("CapEff:", 16),
		status_number("CapAmb:", 16), (int)status_number("NoNewPrivs:", 10),
		descriptors_above() };
	struct pollfd end = { .fd = 3, .events = POLLIN };
	char byte;

	if (send(3, &r, sizeof r, 0) != sizeof r)
		return 1;
	do
		poll(&end, 1, -1);
	while (recv(3, &byte, 1, 0) > 0);
	return 0;
}

static bool
take_report(int from, struct report *ret)
{
	struct pollfd p = { .fd = from, .events = POLLIN };

	return poll(&p, 1, WAIT_MS) == 1 && recv(from, ret, sizeof *ret, 0) == sizeof *ret;
}

static bool
is_gone(pid_t pid)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (kill(pid, 0) != 0 && errno == ESRCH)
			return true;
		waitpid(pid, NULL, WNOHANG);
		poll(NULL, 0, 1);
	}
	return false;
}

static void
make(struct below_start *s)
{
	const struct privilege who = { 0 };
	struct err e;

	/* children of a starter that was killed come here, so that they do not stay as zombies */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (below_start_make(s, "/proc/self/exe", &who, &e) != 0)
		fail_msg("%s", e.text);
}

static void
it_has_the_socket_and_at_most_two_capabilities(void **state)
{
	const uint64_t KEPT = UINT64_C(1) << 38 | UINT64_C(1) << 39;
	struct below_start s;
	struct report r;
	struct err e;
	int socket;
	(void)state;

	make(&s);
	assert_int_equal(below_start(&s, &socket, &e), 0);
	assert_true(take_report(socket, &r));
	assert_int_equal(r.parent, s.pid);
	assert_int_equal(r.descriptors, 1);
	assert_int_equal(r.effective & ~KEPT, 0);
	assert_int_equal(r.effective, r.ambient);
	assert_int_equal(r.no_new_privileges, r.effective == KEPT);
	if (geteuid() == 0 && (status_number("CapPrm:", 16) & KEPT) == KEPT)
		assert_int_equal(r.effective, KEPT);
	close(socket);
	below_start_end(&s);
	assert_true(is_gone(r.pid));
}

static void
the_next_one_replaces_the_one_before(void **state)
{
	struct report first, second;
	struct below_start s;
	int one, two;
	char byte;
	struct err e;
	(void)state;

	make(&s);
	assert_int_equal(below_start(&s, &one, &e), 0);
	assert_true(take_report(one, &first));
	assert_int_equal(below_start(&s, &two, &e), 0);
	assert_true(take_report(two, &second));
	assert_true(is_gone(first.pid));
	assert_int_equal(recv(one, &byte, 1, MSG_DONTWAIT), 0);
	close(one);
	below_start_end(&s);
	assert_true(is_gone(second.pid));
	close(two);
}

static void
it_ends_with_the_starter_and_with_the_agent(void **state)
{
	struct below_start s;
	struct report r;
	struct err e;
	int socket;
	(void)state;

	make(&s);
	assert_int_equal(below_start(&s, &socket, &e), 0);
	assert_true(take_report(socket, &r));
	kill(s.pid, SIGKILL);
	assert_true(is_gone(r.pid));
	close(socket);
	assert_int_equal(below_start(&s, &socket, &e), ERR_MISSING);
	below_start_end(&s);

	make(&s); /* the agent's end is closed, as by its death */
	assert_int_equal(below_start(&s, &socket, &e), 0);
	assert_true(take_report(socket, &r));
	close(s.to);
	assert_true(is_gone(r.pid));
	assert_true(is_gone(s.pid));
	close(socket);
}

static void
a_stopped_one_is_killed(void **state)
{
	struct below_start s;
	struct report r;
	struct err e;
	int socket;
	(void)state;

	make(&s);
	assert_int_equal(below_start(&s, &socket, &e), 0);
	assert_true(take_report(socket, &r));
	kill(r.pid, SIGSTOP);
	below_start_end(&s);
	assert_true(is_gone(r.pid));
	close(socket);
}

static void
a_program_that_is_not_installed_has_no_starter(void **state)
{
	const struct privilege who = { 0 };
	struct below_start s;
	struct err e;
	int socket;
	(void)state;

	assert_int_equal(below_start_make(&s, "/nowhere/hone-below", &who, &e), ERR_MISSING);
	assert_int_equal(below_start(&s, &socket, &e), ERR_MISSING);
	below_start_end(&s);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_the_socket_and_at_most_two_capabilities),
		cmocka_unit_test(the_next_one_replaces_the_one_before),
		cmocka_unit_test(it_ends_with_the_starter_and_with_the_agent),
		cmocka_unit_test(a_stopped_one_is_killed),
		cmocka_unit_test(a_program_that_is_not_installed_has_no_starter),
	};

	if (argc == 1 && strcmp(argv[0], "hone-below") == 0)
		return be_below();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
