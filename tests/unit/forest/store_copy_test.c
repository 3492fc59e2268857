/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forest/store_copy.h"
#include "tests/unit/forest/made.h"

enum { CYCLES = 24 };

/* The leader's commit, and what it says of it. */
static void
commit_and_tell(struct store *s, struct forest *f, struct buf *rows)
{
	struct err e;

	buf_reset(rows);
	assert_int_equal(changes_encode(forest_changes(f), rows, &e), 0);
	commit(s, f);
}

static struct store *
open_copy(const struct place *p, char path[96])
{
	snprintf(path, 96, "%s/copy.db", p->folder);
	return open_store(path);
}

static void
same_rows(struct store *a, struct store *b)
{
	struct forest *x = loaded(a, 0), *y = loaded(b, 0);

	same_forest(x, y);
	forest_free(x);
	forest_free(y);
}

static void
replace(struct store *copy, struct store_snapshot *from, size_t piece, const struct buf *more,
    const struct store_place *at)
{
	struct buf rows = { 0 };
	struct err e = { 0 };
	int rc;

	assert_int_equal(store_replace_begin(copy, &e), 0);
	do {
		buf_reset(&rows);
		assert_true((rc = store_snapshot_next(from, piece, &rows, &e)) >= 0);
		assert_int_equal(
		    store_replace_rows(copy, rows.data, rows.len, store_schema(), &e), 0);
	} while (rc > 0);
	if (more != NULL)
		assert_int_equal(
		    store_replace_rows(copy, more->data, more->len, store_schema(), &e), 0);
	if (store_replace_end(copy, at, &e) != 0)
		fail_msg("store_replace_end: %s", e.text);
	buf_release(&rows);
}

/* ---- promises ---- */

static void
a_copy_by_the_rows_of_each_commit_is_the_same_forest_after_each(void **state)
{
	struct place *p = *state;
	char path[96];
	struct store *s = open_store(p->path), *copy = open_copy(p, path);
	struct forest *f = forest_new();
	struct store_place at = { 3, UINT64_C(0x8000000000000007), 0 }, is;
	struct buf rows = { 0 };
	struct err e = { 0 };

	assert_int_equal(store_place(copy, &is, &e), 0);
	assert_int_equal(is.term, 0);
	assert_int_equal(store_relax(copy, &e), 0);
	for (uint32_t i = 1; i <= CYCLES; i++) {
		play(f, i);
		commit_and_tell(s, f, &rows);
		at.number = i;
		if (store_put_rows(copy, rows.data, rows.len, store_schema(), &at, &e) != 0)
			fail_msg("cycle %u: %s", i, e.text);
		if (i % 8 == 0)
			same_rows(s, copy);
	}
	store_close(copy);
	copy = open_store(path); /* the place is where the rows are */
	assert_int_equal(store_place(copy, &is, &e), 0);
	assert_memory_equal(&is, &at, sizeof is);
	same_rows(s, copy);
	buf_release(&rows);
	forest_free(f);
	store_close(copy);
	store_close(s);
}

static void
a_full_state_is_that_of_its_begin_whatever_is_committed_meanwhile(void **state)
{
	struct place *p = *state;
	char path[96];
	struct store *s = open_store(p->path), *copy = open_copy(p, path);
	struct store_place at = { 1, 2, 3 }, is;
	struct store_snapshot *now;
	struct forest *f = forest_new();
	struct buf rows = { 0 };
	struct err e = { 0 };

	for (uint32_t i = 1; i <= CYCLES; i++) {
		play(f, i);
		commit(s, f);
	}
	store_note_place(s, &at);
	for (size_t piece = 1; piece < 1 << 20; piece *= 64) { /* also one row at a time */
		assert_int_equal(store_snapshot_open(&now, p->path, &e), 0);
		play(f, CYCLES + 1 + (uint32_t)piece);
		commit_and_tell(s, f, &rows);
		replace(copy, now, piece, &rows, &at); /* what came meanwhile is on top of it */
		store_snapshot_close(now);
		same_rows(s, copy);
	}
	assert_int_equal(store_place(s, &is, &e), 0); /* the leader's own commits note it, too */
	assert_memory_equal(&is, &at, sizeof is);
	buf_release(&rows);
	forest_free(f);
	store_close(copy);
	store_close(s);
}

static void
a_full_state_that_does_not_end_changes_nothing(void **state)
{
	struct place *p = *state;
	char path[96];
	struct store *s = open_store(p->path), *copy = open_copy(p, path);
	struct store_place at = { 1, 2, 3 };
	struct forest *f = forest_new();
	struct store_snapshot *now;
	struct buf rows = { 0 };
	struct err e = { 0 };

	for (uint32_t i = 1; i <= CYCLES; i++) {
		play(f, i);
		commit_and_tell(s, f, &rows);
		assert_int_equal(
		    store_put_rows(copy, rows.data, rows.len, store_schema(), &at, &e), 0);
	}
	assert_int_equal(store_replace_begin(copy, &e), 0);
	assert_int_equal(store_snapshot_open(&now, p->path, &e), 0);
	buf_reset(&rows);
	assert_int_equal(store_snapshot_next(now, 4096, &rows, &e), 1);
	assert_int_equal(store_replace_rows(copy, rows.data, rows.len, store_schema(), &e), 0);
	store_replace_undo(copy);
	store_snapshot_close(now);
	same_rows(s, copy);
	buf_release(&rows);
	forest_free(f);
	store_close(copy);
	store_close(s);
}

/* A database that was used without a log is not thrown away when it becomes a copy. */
static void
what_was_there_before_the_log_is_kept_aside(void **state)
{
	struct place *p = *state;
	char path[96], aside[112];
	struct store *s = open_store(p->path), *copy = open_copy(p, path), *kept;
	struct store_place at = { 1, 2, 3 };
	struct forest *f = played(0), *own = played(0), *was;
	struct store_snapshot *now;
	struct err e = { 0 };
	FILE *there;

	snprintf(aside, sizeof aside, "%s.before-log", path);
	play(own, 1);
	play(own, 2);
	commit(copy, own);
	was = loaded(copy, 0);
	play(f, 4);
	commit(s, f);
	assert_non_null(there = fopen(aside, "w"));
	fclose(there);
	assert_int_equal(store_replace_begin(copy, &e), ERR_STORE); /* nothing is overwritten */
	store_replace_undo(copy);
	unlink(aside);
	assert_int_equal(store_replace_begin(copy, &e), 0);
	store_replace_undo(copy); /* the next one may begin all the same */
	assert_int_equal(access(aside, F_OK), -1);
	assert_int_equal(store_snapshot_open(&now, p->path, &e), 0);
	replace(copy, now, 4096, NULL, &at);
	store_snapshot_close(now);
	same_rows(s, copy);
	kept = open_store(aside);
	forest_free(own);
	own = loaded(kept, 0);
	same_forest(was, own);
	unlink(aside);
	assert_int_equal(store_snapshot_open(&now, p->path, &e), 0);
	replace(copy, now, 4096, NULL, &at); /* it is of the log now */
	store_snapshot_close(now);
	assert_int_equal(access(aside, F_OK), -1);
	forest_free(was);
	forest_free(own);
	forest_free(f);
	store_close(kept);
	store_close(copy);
	store_close(s);
}

static void
rows_that_are_cut_off_or_strange_are_refused_and_nothing_is_written(void **state)
{
	struct place *p = *state;
	char path[96];
	struct store *copy = open_copy(p, path);
	struct store_place at = { 1, 2, 3 };
	struct forest *f = forest_new();
	struct buf rows = { 0 };
	struct err e;
	uint64_t n;

	play(f, 1);
	play(f, 2);
	assert_int_equal(changes_encode(forest_changes(f), &rows, &e), 0);
	assert_int_equal(
	    store_put_rows(copy, rows.data, rows.len, store_schema() + 1, &at, &e), ERR_VERSION);
	assert_int_equal(store_put_rows(copy, rows.data, rows.len, 0, &at, &e), ERR_INPUT);
	for (size_t len = 1; len < rows.len; len += 1 + len / 50) {
		bool whole = rows_fitting(rows.data, len, SIZE_MAX, &n) == len;
		int rc = store_put_rows(copy, rows.data, len, store_schema(), &at, &e);

		/* Whole rows may refer to others that were cut off. */
		assert_true(whole ? rc == 0 || rc == ERR_STORE : rc == ERR_INPUT);
		if (rc == 0)
			break;
	}
	rows.data[0] = 99; /* no such table */
	assert_int_equal(
	    store_put_rows(copy, rows.data, rows.len, store_schema(), &at, &e), ERR_INPUT);
	buf_release(&rows);
	forest_free(f);
	store_close(copy);
}

static void
rows_are_cut_between_rows_and_a_long_one_alone(void **state)
{
	struct forest *f = forest_new();
	struct buf rows = { 0 };
	struct err e;
	uint64_t all, n, sum = 0;
	(void)state;

	for (uint32_t i = 1; i <= 4; i++)
		play(f, i);
	assert_int_equal(changes_encode(forest_changes(f), &rows, &e), 0);
	assert_int_equal(rows_fitting(rows.data, rows.len, SIZE_MAX, &all), rows.len);
	for (size_t at = 0, len; at < rows.len; at += len) {
		len = rows_fitting(rows.data + at, rows.len - at, 300, &n);
		assert_true(len > 0 && n > 0 && (len <= 300 || n == 1));
		sum += n;
	}
	assert_int_equal(sum, all);
	assert_int_equal(rows_fitting(rows.data, 1, 300, &n), 0);
	buf_release(&rows);
	forest_free(f);
}

static void
the_image_of_a_database_has_what_is_in_its_log(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path), *copy;
	struct forest *f = forest_new();
	struct buf image = { 0 };
	char path[96];
	struct err e;
	FILE *to;

	play(f, 1);
	commit(s, f); /* it is in the write-ahead log only */
	assert_int_equal(database_image(&image, p->path, 1 << 24, &e), 0);
	snprintf(path, sizeof path, "%s/image.db", p->folder);
	assert_non_null(to = fopen(path, "w"));
	assert_int_equal(fwrite(image.data, 1, image.len, to), image.len);
	fclose(to);
	copy = open_store(path);
	same_rows(s, copy);
	store_close(copy);
	buf_reset(&image);
	assert_int_equal(database_image(&image, p->path, 4096, &e), ERR_FULL);
	assert_int_equal(database_image(&image, "/nonexistent", 4096, &e), ERR_MISSING);
	buf_release(&image);
	forest_free(f);
	store_close(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_copy_by_the_rows_of_each_commit_is_the_same_forest_after_each),
		TEST(a_full_state_is_that_of_its_begin_whatever_is_committed_meanwhile),
		TEST(a_full_state_that_does_not_end_changes_nothing),
		TEST(what_was_there_before_the_log_is_kept_aside),
		TEST(rows_that_are_cut_off_or_strange_are_refused_and_nothing_is_written),
		cmocka_unit_test(rows_are_cut_between_rows_and_a_long_one_alone),
		TEST(the_image_of_a_database_has_what_is_in_its_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
