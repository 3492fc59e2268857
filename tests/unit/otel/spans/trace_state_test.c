/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/spans/trace_state.h"

static struct caller
read_state(const char *s)
{
	return trace_state_caller((struct text_view){ s, (uint32_t)strlen(s) });
}

static void
the_member_of_libhone_is_read(void **state)
{
	struct caller c = read_state("hone=00000000000000ab-000000013");
	(void)state;

	assert_int_equal(c.link_id, 0xab);
	assert_true(c.sampled && c.probed);
	c = read_state("vendor=x:1, \thone=ABCDEF0123456789-7fffffff1,other=hone=2");
	assert_true(c.link_id == UINT64_C(0xabcdef0123456789));
	assert_true(c.sampled && !c.probed);
	c = read_state("hone=00000000000000ab-000000010-later");
	assert_int_equal(c.link_id, 0xab);
	assert_false(c.sampled || c.probed);
}

/* Cut at each length, and with each byte changed: never read beyond the end (AddressSanitizer), never half a member. */
static void
what_is_malformed_is_no_caller(void **state)
{
	static const char good[] = "a=b,hone=00000000000000ab-000000013";
	static const char *const bad[] = { "", ",", "hone=", "phone=00000000000000ab-000000013",
		"hone=0000000000000000-000000013", "hone=00000000000000ab-000000003",
		"hone=00000000000000ab-0000000133", "hone=00000000000000ag-000000013",
		"hone=00000000000000ab_000000013" };
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(read_state(bad[i]).link_id, 0);
	for (uint32_t len = 0; len < sizeof good - 1; len++) {
		char *cut = malloc(len + 1);

		memcpy(cut, good, len);
		assert_int_equal(trace_state_caller((struct text_view){ cut, len }).link_id, 0);
		free(cut);
	}
	assert_int_equal(read_state(good).link_id, 0xab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_member_of_libhone_is_read),
		cmocka_unit_test(what_is_malformed_is_no_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
