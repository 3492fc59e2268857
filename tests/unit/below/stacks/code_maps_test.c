/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/stacks/code_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
only_code_is_kept_with_its_file_and_whether_that_is_gone(void **state)
{
	char text[] =
	    "55d0-55e0 r--p 00000000 fe:01 77  /usr/bin/shop cart\n"
	    "55e0-55f1 r-xp 00002000 fe:01 77                         /usr/bin/shop cart\n"
	    "6000-7000 r-xp 00000000 00:00 0 \n"
	    "8000-9000 r-xp 00001000 103:1a 18446744073709551615  /lib/x.so (deleted)\n"
	    "7fff0000-7fff2000 r-xp 00000000 00:00 0                  [vdso]\n";
	struct code_maps m;
	(void)state;

	assert_true(code_maps_parse(&m, text, strlen(text)));
	assert_int_equal(m.count, 4);
	assert_string_equal(m.maps[0].path, "/usr/bin/shop cart");
	assert_int_equal(m.maps[0].offset, 0x2000);
	assert_int_equal(m.maps[0].major, 0xfe);
	assert_int_equal(m.maps[0].inode, 77);
	assert_false(m.maps[0].deleted);
	assert_string_equal(m.maps[1].path, "");
	assert_string_equal(m.maps[2].path, "/lib/x.so");
	assert_true(m.maps[2].deleted);
	assert_true(m.maps[2].inode == UINT64_MAX);
	assert_int_equal(code_maps_find(&m, 0x55e0), 0);
	assert_int_equal(code_maps_find(&m, 0x55f0), 0);
	assert_int_equal(code_maps_find(&m, 0x55f1), -1);
	assert_int_equal(code_maps_find(&m, 0x55d5), -1);
	assert_int_equal(code_maps_find(&m, 0x8fff), 2);
	assert_int_equal(code_maps_find(&m, UINT64_MAX), -1);
	code_maps_release(&m);
	assert_int_equal(code_maps_find(&m, 0x6000), -1);
}

static void
malformed_lines_and_lines_out_of_order_are_ignored(void **state)
{
	char text[] = "zz-10 r-xp 0 0:0 1 /a\n"
		      "30-20 r-xp 0 0:0 1 /b\n"
		      "40-50 r-x\n"
		      "50-60 r-xp 0 0:0 1 /c\n"
		      "55-70 r-xp 0 0:0 1 /overlaps\n"
		      "10-20 r-xp 0 0:0 1 /before\n"
		      "\n"
		      "60-70 r-xp 0 0:0 x /d\n"
		      "70-80 r-xp 0 0:0 2 /cut";
	struct code_maps m;
	(void)state;

	assert_true(code_maps_parse(&m, text, strlen(text)));
	assert_int_equal(m.count, 1);
	assert_string_equal(m.maps[0].path, "/c");
	code_maps_release(&m);
}

static void
a_file_counts_as_mapped_by_the_first_fact_that_is_known(void **state)
{
	const struct build_id a = { "a", 1 }, b = { "b", 1 }, none = { 0 };
	const struct {
		struct file_facts facts;
		bool is;
	} cases[] = {
		{ { .by_mapping = true, .mapped = a, .file = b, .deleted = true }, true },
		{ { .mapped = a, .file = a, .deleted = true }, true }, /* installed again */
		{ { .mapped = a, .file = b, .same_inode = true },
		    false }, /* overwritten in place */
		{ { .mapped = none, .file = a, .same_inode = true }, true },
		{ { .mapped = a, .file = none, .same_inode = false }, false },
		{ { .mapped = none, .file = none, .deleted = true, .same_inode = true }, false },
		{ { .mapped = none, .file = none, .same_inode = true }, true },
		{ { .mapped = none, .file = a, .same_inode = false }, false },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(file_is_mapped(&cases[i].facts), cases[i].is);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_code_is_kept_with_its_file_and_whether_that_is_gone),
		cmocka_unit_test(malformed_lines_and_lines_out_of_order_are_ignored),
		cmocka_unit_test(a_file_counts_as_mapped_by_the_first_fact_that_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
