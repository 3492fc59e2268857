/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of the live page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "controlplane/web/web_files.h"

static int
set_up(void **state)
{
	(void)state;
	return web_files_init();
}

static int
tear_down(void **state)
{
	(void)state;
	web_files_release();
	return 0;
}

static void
a_packed_file_is_the_file(void **state)
{
	static const char *const paths[] = { "/", "/live.css", "/live.js" };
	(void)state;

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		const struct web_file *f = web_file(paths[i]);
		z_stream z = { 0 };
		char *text;

		assert_non_null(f);
		assert_true(f->len > 500 && f->packed_len < f->len);
		text = malloc(f->len + 1);
		assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
		z.next_in = (unsigned char *)f->packed;
		z.avail_in = (unsigned int)f->packed_len;
		z.next_out = (unsigned char *)text;
		z.avail_out = (unsigned int)f->len + 1;
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.total_out, f->len);
		assert_memory_equal(text, f->text, f->len);
		inflateEnd(&z);
		free(text);
	}
}

static void
other_paths_have_no_file(void **state)
{
	(void)state;
	assert_null(web_file(""));
	assert_null(web_file("live.js"));
	assert_null(web_file("/live.js/"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_packed_file_is_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_paths_have_no_file, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
