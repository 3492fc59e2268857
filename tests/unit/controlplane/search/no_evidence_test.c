/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controlplane/search/no_evidence.h"

#define SOON INT64_C(1000000000)
#define LATER INT64_C(4000000000)

static void
the_reason_is_what_keeps_evidence_away(void **state)
{
	static const struct {
		struct evidence_facts f;
		enum reason reason;
	} CASES[] = {
		/* 1 */
		{ { SOON, 0, true, true, 1, 0, 0, 0, 0, 0 }, REASON_NO_AGENT },
		/* 2 */
		{ { SOON, 1, true, true, 1, 0, 0, 50, 0, 0 }, REASON_NONE },
		{ { SOON, 1, true, true, 1, 0, 0, 0, 0, 0 }, REASON_NONE },
		/* 3 */
		{ { LATER, 1, true, true, 1, 5, 0, 0, 0, 0 }, REASON_NONE },
		{ { LATER, 1, true, true, 1, 5, 20, 10, 10, 5 }, REASON_NONE },
		{ { LATER, 1, false, true, 1, 5, 0, 0, 0, 0 }, REASON_NONE },
		/* 4 */
		{ { LATER, 1, false, true, 1, 0, 0, 0, 0, 0 }, REASON_UNCONFIRMED },
		{ { LATER, 1, true, false, 1, 0, 0, 0, 0, 0 }, REASON_NOT_TRACEABLE },
		{ { LATER, 1, true, true, 0, 0, 0, 0, 0, 0 }, REASON_NOT_SAMPLED },
		{ { LATER, 1, true, true, 0.1, 0, 0, 0, 0, 0 }, REASON_NO_REQUESTS },
		/* 5 */
		{ { LATER, 1, true, true, 1, 0, 60, 20, 20, 20 }, REASON_LOST_RECORDS },
		{ { LATER, 1, true, true, 1, 0, 50, 60, 10, 10 }, REASON_UNIT_MISSING },
		{ { LATER, 1, true, true, 1, 1, 0, 60, 10, 10 }, REASON_UNIT_MISSING },
		{ { LATER, 1, false, true, 1, 0, 0, 10, 60, 10 }, REASON_END_MISSING },
		{ { LATER, 1, true, true, 1, 0, 0, 10, 10, 60 }, REASON_INCOMPLETE },
	};
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
		assert_int_equal(no_evidence(&CASES[i].f), CASES[i].reason);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reason_is_what_keeps_evidence_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
