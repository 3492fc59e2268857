/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controlplane/search/company_wait.h"

static void
only_a_wait_for_threads_that_others_need_waits_for_these(void **state)
{
	struct company_facts f = { .awaited = true, .state = COMPANY_COMING };
	(void)state;

	assert_true(company_wait(&f));
	f.state = COMPANY_NONE;
	assert_false(company_wait(&f));
	f.state = COMPANY_COMING;
	f.awaited = false;
	assert_false(company_wait(&f));
}

static void
it_ends_once_it_is_known_what_the_threads_did(void **state)
{
	struct company_facts f = { .awaited = true,
		.state = COMPANY_KNOWN,
		.named = true,
		.known_ns = COMPANY_ENOUGH_NS };
	(void)state;

	assert_false(company_wait(&f));
	f.known_ns--;
	assert_true(company_wait(&f));
	f.known_ns++;
	f.named = false;
	assert_true(company_wait(&f));
}

static void
it_ends_at_its_deadline_whatever_is_known(void **state)
{
	struct company_facts f = { .awaited = true, .state = COMPANY_COMING };
	(void)state;

	f.waited_ns = COMPANY_WAIT_NS - 1;
	assert_true(company_wait(&f));
	f.waited_ns++;
	assert_false(company_wait(&f));
	f.state = COMPANY_KNOWN;
	assert_true(company_wait(&f)); /* what was known before has just been forgotten */
	f.known_ns = COMPANY_ENOUGH_NS;
	assert_false(company_wait(&f));
	f.known_ns = 0;
	f.waited_ns += COMPANY_ENOUGH_NS;
	assert_false(company_wait(&f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_wait_for_threads_that_others_need_waits_for_these),
		cmocka_unit_test(it_ends_once_it_is_known_what_the_threads_did),
		cmocka_unit_test(it_ends_at_its_deadline_whatever_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
