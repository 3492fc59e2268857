/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/off_cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"

enum { READ = 0, POLL = 7, NANOSLEEP = 35, RECVFROM = 45, FSYNC = 74, WAIT4 = 61, FUTEX = 202 };
enum { FUTEX_WAKE_OPERATION = 1, FUTEX_LOCK_PI_PRIVATE = 6 | 128 };

static struct off_cpu
asleep_in(int syscall, enum wake_context by)
{
	return (struct off_cpu){
		.out_ns = 100, .woken_ns = 160, .in_ns = 200, .syscall = syscall, .woken_by = by
	};
}

static void
the_parts_of_any_wait_add_up_without_a_gap(void **state)
{
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 100000; i++) {
		struct wait_part parts[WAIT_PARTS_MAX];
		struct off_cpu w = { .out_ns = 1000 + rng_below(&r, 100),
			.woken_ns = rng_below(&r, 3) > 0 ? 900 + rng_below(&r, 500) : 0,
			.preempted = rng_below(&r, 2) > 0,
			.in_iowait = rng_below(&r, 2) > 0,
			.uninterruptible = rng_below(&r, 2) > 0,
			.syscall = (int)rng_below(&r, 500) - 2,
			.arguments = { rng_next(&r), rng_next(&r), rng_next(&r) },
			.woken_by = (enum wake_context)rng_below(&r, WAKE_INTERRUPT + 1),
			.owner = (uint32_t)rng_below(&r, 2) };
		uint64_t at = w.out_ns;
		int n;

		w.in_ns = w.out_ns + rng_below(&r, 300);
		n = off_cpu_parts(&w, parts);
		assert_in_range(n, w.in_ns > w.out_ns, WAIT_PARTS_MAX);
		for (int k = 0; k < n; k++) {
			assert_int_equal(parts[k].from_ns, at);
			assert_true(parts[k].to_ns > at);
			assert_true(
			    parts[k].state < BELOW_STATES && parts[k].state != BELOW_RUNNING);
			at = parts[k].to_ns;
		}
		assert_int_equal(at, w.in_ns);
	}
}

static void
a_thread_that_was_woken_is_ready_until_it_runs(void **state)
{
	struct off_cpu w = asleep_in(NANOSLEEP, WAKE_TIMER);
	struct wait_part parts[WAIT_PARTS_MAX];
	(void)state;

	assert_int_equal(off_cpu_parts(&w, parts), 2);
	assert_int_equal(parts[0].state, BELOW_TIMER);
	assert_int_equal(parts[0].to_ns, 160);
	assert_int_equal(parts[1].state, BELOW_READY);
	w.preempted = true;
	assert_int_equal(off_cpu_parts(&w, parts), 1);
	assert_int_equal(parts[0].state, BELOW_READY);
	w = asleep_in(NANOSLEEP, WAKE_TIMER);
	w.woken_ns = 0; /* not seen */
	assert_int_equal(off_cpu_parts(&w, parts), 1);
	assert_int_equal(parts[0].state, BELOW_TIMER);
}

static void
the_cause_is_what_the_kernel_shows(void **state)
{
	static const struct {
		int syscall;
		enum wake_context by;
		bool iowait, uninterruptible;
		uint32_t owner;
		uint64_t operation;
		enum below_state cause;
	} CASES[] = {
		{ READ, WAKE_BLOCK, true, true, 0, 0, BELOW_DISK },
		{ SYSCALL_NONE, WAKE_BLOCK, true, true, 0, 0, BELOW_FAULT },
		{ FSYNC, WAKE_KERNEL_TASK, false, true, 0, 0,
		    BELOW_DISK }, /* the journal's thread */
		{ READ, WAKE_KERNEL_TASK, false, true, 0, 0, BELOW_DISK },
		{ NANOSLEEP, WAKE_INTERRUPT, false, false, 0, 0, BELOW_TIMER },
		{ WAIT4, WAKE_TASK, false, false, 0, 0, BELOW_THREAD },
		{ RECVFROM, WAKE_NETWORK, false, false, 0, 0, BELOW_NETWORK },
		{ RECVFROM, WAKE_TIMER, false, false, 0, 0, BELOW_TIMER },
		{ RECVFROM, WAKE_TASK, false, false, 0, 0, BELOW_THREAD }, /* a Unix socket */
		{ POLL, WAKE_TIMER, false, false, 0, 0, BELOW_TIMER },
		{ FUTEX, WAKE_TASK, false, false, 0, 0, BELOW_THREAD }, /* a condition */
		{ FUTEX, WAKE_TASK, false, false, 42, 0, BELOW_LOCK },
		{ FUTEX, WAKE_TIMER, false, false, 42, 0, BELOW_LOCK }, /* it gave up */
		{ FUTEX, WAKE_TASK, false, false, 42, FUTEX_LOCK_PI_PRIVATE, BELOW_LOCK },
		{ FUTEX, WAKE_TASK, false, false, 42, FUTEX_WAKE_OPERATION, BELOW_THREAD },
		{ RECVFROM, WAKE_INTERRUPT, false, false, 0, 0, BELOW_NETWORK },
		{ RECVFROM, WAKE_UNKNOWN, false, false, 0, 0, BELOW_UNKNOWN },
		{ RECVFROM, WAKE_KERNEL_TASK, false, false, 0, 0, BELOW_UNKNOWN },
		{ READ, WAKE_INTERRUPT, false, false, 0, 0, BELOW_UNKNOWN },
		{ SYSCALL_UNKNOWN, WAKE_UNKNOWN, false, true, 0, 0, BELOW_UNKNOWN },
	};
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		struct off_cpu w = asleep_in(CASES[i].syscall, CASES[i].by);

		w.in_iowait = CASES[i].iowait;
		w.uninterruptible = CASES[i].uninterruptible;
		w.owner = CASES[i].owner;
		w.arguments[1] = CASES[i].operation;
		if (off_cpu_cause(&w) != CASES[i].cause)
			fail_msg("case %zu is %s", i, below_state_word(off_cpu_cause(&w)));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parts_of_any_wait_add_up_without_a_gap),
		cmocka_unit_test(a_thread_that_was_woken_is_ready_until_it_runs),
		cmocka_unit_test(the_cause_is_what_the_kernel_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
