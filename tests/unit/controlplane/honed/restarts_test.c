/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/honed/restarts.h"

static void
add(struct labels *l, enum record_kind kind, const char *text)
{
	assert_true(labels_intern(l, kind, text, strlen(text), NULL, 0) != LABEL_NONE);
}

/* The new diagnosis could be of the other service, whose requests come first. */
static void
a_type_that_several_services_have_is_known_as_such(void **state)
{
	struct labels *l = labels_new();
	(void)state;

	add(l, RECORD_REQUEST_BEGIN, "shop/hone:request_begin(BUY)");
	add(l, RECORD_REQUEST_END, "shop/hone:request_end(BUY)");
	add(l, RECORD_REQUEST_BEGIN, "shop/hone:request_begin(SELL)");
	add(l, RECORD_REQUEST_BEGIN, "shop2/hone:request_begin(BUY2)");
	assert_false(restarts_type_is_shared(l, "BUY"));
	add(l, RECORD_REQUEST_BEGIN, "shop2/hone:request_begin(BUY)");
	assert_true(restarts_type_is_shared(l, "BUY"));
	assert_false(restarts_type_is_shared(l, "SELL"));
	assert_false(restarts_type_is_shared(l, "NONE"));
	labels_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_type_that_several_services_have_is_known_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
