/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/baseline_files.h"

static char home[] = "/tmp/baseline-test-XXXXXX";

static int
make_home(void **state)
{
	(void)state;
	setenv("XDG_DATA_HOME", mkdtemp(home), 1);
	return 0;
}

static int
remove_home(void **state)
{
	char command[100];
	(void)state;

	snprintf(command, sizeof command, "rm -r %s", home);
	return system(command);
}

static json_t *
document(int made)
{
	return json_pack("{s:s, s:i, s:[], s:i}", "document", "hone.analysis", "version", 1,
	    "types", "made", made);
}

static void
save(const char *name, int made)
{
	json_t *d = document(made);
	struct err e = { 0 };

	if (baseline_save(name, d, &e) != 0)
		fail_msg("%s", e.text);
	json_decref(d);
}

static int
load(const char *name, int *made)
{
	json_t *d = NULL;
	struct err e;
	int rc = baseline_load(name, &d, &e);

	*made = (int)json_integer_value(json_object_get(d, "made"));
	json_decref(d);
	return rc;
}

static size_t
count(void)
{
	json_t *all = NULL;
	struct err e;
	size_t n;

	assert_int_equal(baseline_list(&all, &e), 0);
	n = json_array_size(all);
	json_decref(all);
	return n;
}

static void
what_was_saved_comes_back_until_it_is_deleted(void **state)
{
	struct err e;
	int made;
	(void)state;

	assert_int_equal(count(), 0);
	assert_int_equal(load("healthy", &made), ERR_MISSING);
	save("healthy", 1);
	save("healthy", 2);
	save("an.other_1", 3);
	assert_int_equal(count(), 2);
	assert_int_equal(load("healthy", &made), 0);
	assert_int_equal(made, 2);
	assert_int_equal(baseline_delete("healthy", &e), 0);
	assert_int_equal(baseline_delete("healthy", &e), ERR_MISSING);
	assert_int_equal(load("healthy", &made), ERR_MISSING);
	assert_int_equal(count(), 1);
}

static void
files_are_baselines_too(void **state)
{
	char path[128];
	FILE *f;
	int made;
	(void)state;

	snprintf(path, sizeof path, "%s/some.json", home);
	f = fopen(path, "w");
	fputs("{\"document\":\"hone.analysis\",\"version\":1,\"types\":[],\"made\":9}", f);
	fclose(f);
	assert_int_equal(load(path, &made), 0);
	assert_int_equal(made, 9);
	f = fopen(path, "w");
	fputs("{\"document\":", f);
	fclose(f);
	assert_int_equal(load(path, &made), ERR_INPUT);
}

static void
no_name_refers_outside_of_the_folder(void **state)
{
	static const char *const bad[] = { "", ".", "..", "../x", "a/b", ".x", "a b", "a\n",
		"\xc3\xa4", "12345678901234567890123456789012345678901234567890123456789012345" };
	json_t *d = document(1);
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(baseline_name_check(bad[i], &e), ERR_INPUT);
		assert_int_equal(baseline_save(bad[i], d, &e), ERR_INPUT);
		assert_int_equal(baseline_delete(bad[i], &e), ERR_INPUT);
	}
	json_decref(d);
}

static void
what_cannot_be_written_leaves_the_old_one(void **state)
{
	json_t *d = document(2);
	char path[128];
	struct err e;
	int made;
	(void)state;

	save("kept", 1);
	/* who is root may write everywhere, but not a file over a folder */
	snprintf(path, sizeof path, "%s/hone/baselines/taken.json", home);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(baseline_save("taken", d, &e), ERR_SYSTEM);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(load("kept", &made), 0);
	assert_int_equal(made, 1);
	snprintf(path, sizeof path, "test $(ls -A %s/hone/baselines | grep -c new) = 0", home);
	assert_int_equal(system(path), 0);
	json_decref(d);
}

static int
is_other(const json_t *d, const char *name, struct err *e)
{
	const char *what = json_string_value(json_object_get(d, "document"));

	return what != NULL && strcmp(what, "hone.other") == 0
	           ? 0
	           : err_set(e, ERR_INPUT, "%s: is no other document", name);
}

static void
a_document_of_another_kind_is_kept_beside_but_not_taken_for_an_analysis(void **state)
{
	json_t *other = json_pack("{s:s}", "document", "hone.other"), *analysis = document(1),
	       *d = NULL;
	struct err e = { 0 };
	(void)state;

	assert_int_equal(baseline_save_as("other", other, is_other, &e), 0);
	assert_int_equal(baseline_load_as("other", is_other, &d, &e), 0);
	assert_true(json_equal(d, other));
	json_decref(d);
	assert_int_equal(baseline_load("other", &d, &e), ERR_INPUT);
	assert_int_equal(baseline_save("other", other, &e), ERR_INPUT);
	assert_int_equal(baseline_save_as("analysis", analysis, is_other, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "analysis: is no other document"));
	assert_int_equal(baseline_delete("other", &e), 0);
	json_decref(other);
	json_decref(analysis);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_saved_comes_back_until_it_is_deleted),
		cmocka_unit_test(files_are_baselines_too),
		cmocka_unit_test(no_name_refers_outside_of_the_folder),
		cmocka_unit_test(what_cannot_be_written_leaves_the_old_one),
		cmocka_unit_test(
		    a_document_of_another_kind_is_kept_beside_but_not_taken_for_an_analysis),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
