/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The guardian is this test program, executed again. No session daemon is needed. */
#define _GNU_SOURCE
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/system/folder.h"
#include "agent/system/process.h"
#include "agent/guard/guard.h"
#include "agent/tracer/rates.h"
#include "agent/tracer/tracer.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

enum { PATIENCE_MS = 20000 };

static char top[64], policy[80];
static struct guard g; /* of the test that runs */
static pid_t agent;

static int
folders_make(void **state)
{
	(void)state;
	strcpy(top, "/tmp/guard-test-XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	snprintf(policy, sizeof policy, "%s/policy", top);
	return 0;
}

static void
kill_process(pid_t *pid)
{
	if (*pid > 0 && kill(*pid, SIGKILL) == 0)
		waitpid(*pid, NULL, 0);
	*pid = 0;
}

/* Also after a test that has failed: what it started has the output of this program open, and whoever reads
 * that waits for its end. */
static int
all_end(void **state)
{
	(void)state;
	kill_process(&g.pid);
	kill_process(&agent);
	return folder_remove(top) ? 0 : -1;
}

static void
probe(struct rates *r)
{
	struct rate rate = { "GET", 1, 1 };
	struct want w = { .sampled = 1, .nrates = 1, .rates = &rate };
	struct err e;

	assert_int_equal(rates_apply(r, &w, (struct mono){ INT64_MAX }, &e), 0);
}

/* Whether a program would probe requests now. */
static bool
probes(void)
{
	static const unsigned char forever[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f };
	unsigned char bytes[65536];
	FILE *f = fopen(policy, "r");
	size_t n;

	assert_non_null(f);
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	return memmem(bytes, n, forever, sizeof forever) != NULL;
}

static bool
silent(void *unused)
{
	(void)unused;
	return !probes();
}

static bool
gone(void *path)
{
	return access(path, F_OK) != 0;
}

static bool
died(void *guard)
{
	return guard_turn(guard, clock_mono()) == GUARD_DIED;
}

static bool
buried(void *guard)
{
	return guard_buried(guard);
}

static bool
wait_until(bool (*what)(void *), void *arg)
{
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (what(arg))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

/* Whether the guardian turns out to be dead, at a time that stands still. */
static bool
dies(struct mono at)
{
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (guard_turn(&g, at) == GUARD_DIED)
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static void
begin(struct rates **r, int64_t hang_ns)
{
	struct guard_options o = { "guard-test", top, -1, hang_ns };
	struct err e;

	assert_int_equal(rates_open(r, policy, &e), 0);
	o.table = rates_spare(*r);
	assert_int_equal(guard_start(&g, &o, &e), 0);
	probe(*r);
}

/* ---- tests ---- */

static void
time_counts_only_while_the_guardian_runs(void **state)
{
	struct pulse p = { 0 };
	int64_t now = 7 * SECOND;
	(void)state;

	assert_int_equal(pulse_still_ns(&p, 5, (struct mono){ now }, SECOND), 0);
	for (int i = 1; i <= 10; i++)
		assert_int_equal(
		    pulse_still_ns(&p, 5, (struct mono){ now += 100 * MS }, SECOND), i * 100 * MS);
	assert_int_equal(
	    /* the pulse changed */
	    pulse_still_ns(&p, 6, (struct mono){ now += 100 * MS }, SECOND), 0);
	assert_int_equal(pulse_still_ns(&p, 6, (struct mono){ now += 100 * MS }, SECOND), 100 * MS);
	assert_int_equal(pulse_still_ns(&p, 6, (struct mono){ now += 60 * SECOND }, SECOND),
	    0); /* this process was suspended, too */
	assert_int_equal(pulse_still_ns(&p, 6, (struct mono){ now += SECOND }, SECOND), SECOND);
}

static _Noreturn void
an_agent(void)
{
	struct rates *r;
	char folder[PATH_MAX];
	struct err e;

	begin(&r, 10 * SECOND);
	tracer_folder("guard-test", top, getpid(), folder, sizeof folder);
	if (folder_make(folder, &e) != 0)
		_exit(1);
	for (;;)
		pause();
}

static void
the_table_of_a_killed_agent_is_silenced_and_removed(void **state)
{
	char folder[PATH_MAX];
	(void)state;

	agent = fork();
	if (agent == 0)
		an_agent();
	tracer_folder("guard-test", top, agent, folder, sizeof folder);
	for (int ms = 0; access(folder, F_OK) != 0; ms++) {
		assert_in_range(ms, 0, PATIENCE_MS);
		poll(NULL, 0, 1);
	}
	assert_true(probes());
	kill_process(&agent);
	assert_true(wait_until(silent, NULL));
	assert_true(wait_until(gone, folder));
}

static void
a_dismissed_guardian_changes_nothing(void **state)
{
	struct rates *r;
	pid_t pid;
	(void)state;

	begin(&r, 10 * SECOND);
	pid = g.pid;
	guard_dismiss(&g);
	assert_int_equal(kill(pid, 0), -1); /* it ended, and its parent has waited for it */
	assert_true(probes());
	rates_close(r, true);
}

static void
a_killed_guardian_is_replaced(void **state)
{
	struct rates *r;
	struct mono later;
	pid_t first, second;
	(void)state;

	begin(&r, 10 * SECOND);
	first = g.pid;
	assert_true(guard_lives(&g));
	kill(first, SIGKILL);
	assert_true(wait_until(died, &g));
	assert_false(guard_lives(&g));
	later.ns = g.started.ns + SECOND;
	assert_int_equal(
	    guard_turn(&g, later), GUARD_AGAIN); /* it lived for a second: replaced at once */
	second = g.pid;
	assert_true(guard_lives(&g) && second != first);
	kill(second, SIGKILL);
	assert_true(dies(later));
	assert_int_equal(guard_turn(&g, (struct mono){ later.ns + SECOND - 1 }),
	    GUARD_SAME); /* its successor did not live for a second: replaced after one */
	assert_int_equal(guard_turn(&g, (struct mono){ later.ns + SECOND }), GUARD_AGAIN);
	assert_true(probes()); /* no guardian mistook its own end for that of the agent */
	guard_dismiss(&g);
	rates_close(r, true);
}

static void
a_guardian_that_hangs_is_replaced(void **state)
{
	struct rates *r;
	enum guard_news news = GUARD_SAME;
	int64_t now;
	pid_t first;
	(void)state;

	begin(&r, 10 * SECOND);
	first = g.pid;
	now = clock_mono().ns;
	kill(first, SIGSTOP);
	for (int i = 0; i < 2000 && news == GUARD_SAME; i++)
		news = guard_turn(&g, (struct mono){ now += 10 * MS });
	assert_int_equal(news, GUARD_HUNG);
	assert_true(dies((struct mono){ now }));
	assert_int_equal(guard_turn(&g, (struct mono){ now }), GUARD_AGAIN);
	assert_true(g.pid != first);
	guard_dismiss(&g);
	rates_close(r, true);
}

static void
an_agent_that_hangs_is_silenced_and_informed(void **state)
{
	struct rates *r;
	(void)state;

	begin(&r, 500 * MS);
	for (int i = 0; i < 150; i++) { /* calls in time, for three times the limit */
		guard_turn(&g, clock_mono());
		poll(NULL, 0, 10);
	}
	assert_false(guard_buried(&g));
	assert_true(wait_until(buried, &g)); /* no call since then */
	assert_false(probes());
	assert_false(guard_buried(&g)); /* reported once */
	assert_true(guard_lives(&g));
	probe(r);
	guard_turn(&g, clock_mono()); /* the agent continues, then hangs again */
	assert_true(wait_until(buried, &g));
	assert_false(probes());
	guard_dismiss(&g);
	rates_close(r, true);
}

int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_counts_only_while_the_guardian_runs),
		cmocka_unit_test_setup_teardown(
		    the_table_of_a_killed_agent_is_silenced_and_removed, folders_make, all_end),
		cmocka_unit_test_setup_teardown(
		    a_dismissed_guardian_changes_nothing, folders_make, all_end),
		cmocka_unit_test_setup_teardown(
		    a_killed_guardian_is_replaced, folders_make, all_end),
		cmocka_unit_test_setup_teardown(
		    a_guardian_that_hangs_is_replaced, folders_make, all_end),
		cmocka_unit_test_setup_teardown(
		    an_agent_that_hangs_is_silenced_and_informed, folders_make, all_end),
	};

	if (argc > 1 && strcmp(argv[1], "--guard") == 0)
		return guard_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
