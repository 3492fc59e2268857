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

#include "controlplane/engine/parts.h"
#include "controlplane/honed/levels_keeper.h"

struct house {
	struct engine_options options;
	struct forest *forest;
	struct engine *engine;
	char folder[40], file[64], beside[64];
};

static void
open_engine(struct house *h)
{
	struct err e;

	h->forest = forest_new();
	assert_int_equal(engine_new(&h->engine, &h->options, h->forest, &e), 0);
}

static void
close_engine(struct house *h)
{
	engine_free(h->engine);
	forest_free(h->forest);
}

static int
begin(void **state)
{
	struct house *h = calloc(1, sizeof *h);

	h->options = (struct engine_options){ .conditions = { 0.1, 0.95, 30, 0.95 },
		.memory_max_bytes = 1 << 24,
		.groups_max = 100,
		.samples_max = 64 };
	strcpy(h->folder, "/tmp/hone-levels-XXXXXX");
	assert_non_null(mkdtemp(h->folder));
	snprintf(h->file, sizeof h->file, "%s/levels", h->folder);
	snprintf(h->beside, sizeof h->beside, "%s/forest.db", h->folder);
	open_engine(h);
	*state = h;
	return 0;
}

static int
end(void **state)
{
	struct house *h = *state;

	close_engine(h);
	unlink(h->file);
	rmdir(h->folder); /* nothing else is in it */
	free(h);
	return 0;
}

static void
what_was_set_is_there_after_a_restart(void **state)
{
	struct house *h = *state;
	struct levels_keeper k;
	struct stat st;
	struct err e;

	assert_int_equal(levels_keeper_open(&k, h->engine, "", h->beside, &e), 0);
	levels_keeper_step(&k, (struct mono){ 1 });
	assert_int_not_equal(access(h->file, F_OK), 0); /* nothing was set */
	assert_int_equal(engine_set_level(h->engine, "shop-*", LOGLEVEL_INFO, &e), 0);
	assert_int_equal(engine_set_level(h->engine, "shop cart", LOGLEVEL_DEBUG, &e), 0);
	assert_int_equal(engine_set_level(h->engine, "shop-order", LOGLEVEL_NONE, &e), 0);
	levels_keeper_step(&k, (struct mono){ 2 });
	levels_keeper_close(&k);
	assert_int_equal(stat(h->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close_engine(h);
	open_engine(h);
	assert_int_equal(levels_keeper_open(&k, h->engine, "", h->beside, &e), 0);
	const struct levels *l = &engine_parts(h->engine)->levels;

	assert_int_equal(l->rules.n, 3);
	assert_int_equal(l->stored, l->version);
	assert_int_equal(level_rules_of(&l->rules, "shop-front"), LOGLEVEL_INFO);
	assert_int_equal(level_rules_of(&l->rules, "shop cart"), LOGLEVEL_DEBUG);
	assert_int_equal(level_rules_of(&l->rules, "shop-order"), LOGLEVEL_NONE);
	levels_keeper_close(&k);
}

static void
what_cannot_be_stored_is_tried_again(void **state)
{
	struct house *h = *state;
	const struct levels *l = &engine_parts(h->engine)->levels;
	struct levels_keeper k;
	char place[80];
	struct err e;

	snprintf(place, sizeof place, "%s/none/levels", h->folder);
	assert_int_equal(levels_keeper_open(&k, h->engine, place, h->beside, &e), 0);
	assert_int_equal(engine_set_level(h->engine, "*", LOGLEVEL_INFO, &e), 0);
	levels_keeper_step(&k, (struct mono){ 1 });
	assert_int_not_equal(l->stored, l->version);
	assert_non_null(strstr(k.trouble.text, "none/levels"));
	snprintf(place, sizeof place, "%s/none", h->folder);
	assert_int_equal(mkdir(place, 0700), 0);
	levels_keeper_step(&k, (struct mono){ 2 }); /* not within a second */
	assert_int_not_equal(l->stored, l->version);
	levels_keeper_step(&k, (struct mono){ 1000000002 });
	assert_int_equal(l->stored, l->version);
	assert_int_equal(k.trouble.code, 0);
	unlink(k.path);
	rmdir(place);
	levels_keeper_close(&k);
}

static void
a_malformed_file_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = { { "# none\ninfo\n", "x:2" }, { "loud shop\n", "loud" },
		{ "info a\ninfo \n", "x:2" }, { "info a\tb\n", "control" },
		{ "debug-unit-of-many-words-that-is-too-long a\n", "x:1" } };
	struct level_rules r = { .n = 7 };
	char *huge = malloc(1 << 16);
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(
		    levels_read(&r, "x", bad[i].text, strlen(bad[i].text), &e), ERR_INPUT);
		assert_non_null(strstr(e.text, bad[i].why));
		assert_non_null(strstr(e.text, "move the file away"));
	}
	assert_int_equal(levels_read(&r, "x", "info a\0b\n", 9, &e), ERR_INPUT);
	memset(huge, '\n', 1 << 16);
	assert_int_equal(levels_read(&r, "x", huge, 1 << 16, &e), ERR_INPUT);
	assert_int_equal(r.n, 7);
	assert_int_equal(
	    levels_read(&r, "x", "\ninfo a", 7, &e), 0); /* without a last end of line */
	assert_int_equal(r.n, 1);
	free(huge);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_set_is_there_after_a_restart, begin, end),
		cmocka_unit_test_setup_teardown(what_cannot_be_stored_is_tried_again, begin, end),
		cmocka_unit_test(a_malformed_file_is_refused_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
