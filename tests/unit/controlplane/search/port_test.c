/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

static void
a_tracepoint_is_named_without_its_service(void **state)
{
	static const char BEGIN[] = "s/hone:request_begin(R)";
	char name[LABEL_TEXT_MAX + 1];
	uint32_t begin;
	struct fake f;
	(void)state;

	fake_begin(&f, "(a)");
	assert_ptr_equal(tracepoint_name(f.port.labels, f.paths.of['a'], name), name);
	assert_string_equal(name, "app:a");
	begin = labels_intern(f.paths.labels, RECORD_REQUEST_BEGIN, BEGIN, strlen(BEGIN), NULL, 0);
	/* names of structure labels, without the name in brackets */
	assert_string_equal(tracepoint_name(f.port.labels, begin, name), "hone:request_begin");
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tracepoint_is_named_without_its_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
