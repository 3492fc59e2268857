/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/event.h"

static void
system_calls_have_names_and_numbers(void **state)
{
	(void)state;
	assert_string_equal(kernel_syscall_name(202), "futex");
	assert_int_equal(kernel_syscall_number("futex"), 202);
	assert_null(kernel_syscall_name(-1));
	assert_null(kernel_syscall_name(100000));
	assert_int_equal(kernel_syscall_number("no_such_call"), SYSCALL_UNKNOWN);
}

static void
every_kind_has_a_word_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < KERNEL_KINDS; i++) {
		assert_true(kernel_event_word(i)[0] != '\0');
		for (int k = 0; k < i; k++)
			assert_string_not_equal(kernel_event_word(i), kernel_event_word(k));
	}
	assert_string_equal(kernel_event_word(KERNEL_KINDS), "");
}

static void
a_futex_waits_for_a_lock_by_its_operation_and_value(void **state)
{
	(void)state;
	assert_true(kernel_futex_locks(0 | 128, 2));        /* FUTEX_WAIT_PRIVATE: a mutex */
	assert_true(kernel_futex_locks(6 | 128, 0));        /* FUTEX_LOCK_PI_PRIVATE */
	assert_false(kernel_futex_locks(0 | 128, 7));       /* another value */
	assert_false(kernel_futex_locks(9 | 128 | 256, 2)); /* FUTEX_WAIT_BITSET: a condition */
	assert_false(kernel_futex_locks(1 | 128, 2));       /* FUTEX_WAKE */
}

static void
an_end_of_a_connection_is_read_as_it_is_written(void **state)
{
	static const char *const good[] = { "10.1.2.3:80", "[fe80::1]:443", "[::]:0",
		"255.255.255.255:65535" };
	static const char *const bad[] = { "", ":80", "10.1.2:80", "10.1.2.3:", "10.1.2.3:65536",
		"10.1.2.3:80x", "[fe80::1", "[fe80::1]x", "[fe80::1]:", "host:80", "[]:1",
		"1111111111111111111111111111111111111111111111111:1" };
	struct kernel_end end;
	char text[KERNEL_END_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(kernel_end_read(&end, good[i]));
		kernel_end_text(&end, text);
		assert_string_equal(text, good[i]);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(kernel_end_read(&end, bad[i]));
	assert_true(kernel_end_read(&end, "10.1.2.3"));
	assert_int_equal(end.port, 0);
	assert_true(kernel_end_read(&end, "fe80::1"));
}

static void
both_sides_of_a_connection_find_each_other(void **state)
{
	struct kernel_names names;
	struct kernel_connection c = { .net = 7 }, back;
	uint32_t one, other;
	struct err e;

	(void)state;
	assert_int_equal(kernel_names_new(&names, &e), 0);
	assert_true(kernel_end_read(&c.here, "127.0.0.1:4000"));
	assert_true(kernel_end_read(&c.there, "127.0.0.2:80"));
	one = kernel_connection_intern(&names, &c);
	other = kernel_connection_reverse(&names, one);
	assert_int_not_equal(one, other);
	assert_int_equal(kernel_connection_reverse(&names, other), one);
	assert_int_equal(kernel_connection_intern(&names, &c), one);
	back = kernel_connection(&names, other);
	assert_int_equal(back.here.port, 80);
	assert_int_equal(back.there.port, 4000);
	assert_int_equal(back.net, 7);
	kernel_names_release(&names);
}

/* Whether a socket of (host, net) with these ends, and one of (host 0, net 1) with the reversed ends, are the two sides of one connection. */
static bool
meets(const char *here, const char *there, uint16_t host, uint32_t net)
{
	struct kernel_connection c = { .net = net }, d = { .net = 1 };
	struct kernel_names names;
	uint32_t one, other;
	struct err e;
	bool met;

	assert_int_equal(kernel_names_new(&names, &e), 0);
	assert_true(kernel_end_read(&c.here, here) && kernel_end_read(&c.there, there));
	d.here = c.there;
	d.there = c.here;
	one = kernel_connection_intern(&names, &c);
	other = kernel_connection_intern(&names, &d);
	met = kernel_connection_key(&names, host, one, true) ==
	      kernel_connection_key(&names, 0, other, false);
	assert_true(met == (kernel_connection_key(&names, host, one, false) ==
			       kernel_connection_key(&names, 0, other, true)));
	assert_true(kernel_connection_place(host, one) != kernel_connection_place(0, other));
	kernel_names_release(&names);
	return met;
}

static void
local_connections_of_other_namespaces_or_hosts_do_not_meet(void **state)
{
	static const char *const local[][2] = { { "127.0.0.1:4000", "127.1.2.3:80" },
		{ "[::1]:4000", "[::1]:80" }, { "10.0.0.1:4000", "10.0.0.1:80" },
		{ "127.0.0.1:4000", "10.0.0.1:80" } };

	(void)state;
	for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
		assert_true(meets(local[i][0], local[i][1], 0, 1));
		assert_false(meets(local[i][0], local[i][1], 0, 2));
		assert_false(meets(local[i][0], local[i][1], 1, 1));
	}
	for (uint16_t host = 0; host < 2; host++)
		for (uint32_t net = 0; net < 3; net++) {
			assert_true(meets("10.0.0.1:4000", "10.0.0.2:80", host, net));
			assert_true(meets("[fe80::1]:4000", "[fe80::2]:80", host, net));
		}
	assert_false(meets("128.0.0.1:4000", "127.0.0.1:80", 0, 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(system_calls_have_names_and_numbers),
		cmocka_unit_test(every_kind_has_a_word_of_its_own),
		cmocka_unit_test(a_futex_waits_for_a_lock_by_its_operation_and_value),
		cmocka_unit_test(an_end_of_a_connection_is_read_as_it_is_written),
		cmocka_unit_test(both_sides_of_a_connection_find_each_other),
		cmocka_unit_test(local_connections_of_other_namespaces_or_hosts_do_not_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
