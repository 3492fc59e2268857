/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/disk.h"
#include "tests/unit/forest/made.h"

static void
refuses_to_open(const char *path, int code, const char *words)
{
	struct store *s = NULL;
	struct err e = { 0 };

	assert_int_equal(store_open(&s, path, &e), code);
	assert_int_equal(e.code, code);
	assert_null(s);
	if (strstr(e.text, words) == NULL || strstr(e.text, path) == NULL)
		fail_msg("\"%s\" ought to say \"%s\" of %s", e.text, words, path);
}

/* ---- promises ---- */

static void
committed_rows_are_loaded_unchanged_to_the_last_bit(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = forest_new(), *g;
	struct switched w = { .tracepoint = "p:e", .text = "because", .on = true, .when = { 5 } };
	struct rng r;

	rng_seed(&r, 11);
	for (int cycle = 0; cycle < 60; cycle++) {
		struct run *run = cycle % 10 == 0 ? forest_run_new(f, any_text(&r))
		                                  : forest_run_latest(f, NULL);

		fill_run(&r, run);
		forest_touch_run(f, run);
		for (uint64_t n = rng_below(&r, 12); n > 0; n--) {
			uint64_t at = 0, parent = 0, skip = rng_below(&r, 5);
			struct hypothesis *h;

			while ((h = forest_next(f, run->id, &at)) != NULL && skip-- > 0)
				parent = h->id;
			h = forest_hypothesis_new(f, run->id, parent);
			fill(&r, h);
			if (n % 4 == 0)
				fill_verdict(&r, f, h);
			for (int i = 0; i < 9; i++)
				fill_evidence(&r, f, h);
			w.run = h->run;
			w.hypothesis = h->id;
			assert_int_equal(forest_switched(f, &w, NULL), 0);
		}
		if (forest_get(f, 1) != NULL) { /* an old row changes again */
			struct hypothesis *old = forest_get(f, 1);

			fill(&r, old);
			forest_touch(f, old);
		}
		commit(s, f);
		if (cycle % 15 == 7) {
			store_close(s);
			s = open_store(p->path);
			g = loaded(s, 0);
			same_forest(f, g);
			forest_free(f);
			f = g;
		}
	}
	store_close(s);
	s = open_store(p->path);
	g = loaded(s, 0);
	same_forest(f, g);
	forest_free(f);
	forest_free(g);
	store_close(s);
}

static void
the_log_has_what_was_switched_when_and_why(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = forest_new();
	struct switched w = {
		.tracepoint = "shop:query", .text = "learning", .on = true, .when = { 123456789 }
	};

	assert_int_equal(forest_switched(f, &w, NULL), 0); /* of no run */
	w.run = forest_run_new(f, "A")->id;
	w.hypothesis = forest_hypothesis_new(f, w.run, 0)->id;
	w.cycle = 3;
	w.on = false;
	w.text = "no help";
	assert_int_equal(forest_switched(f, &w, NULL), 0);
	commit(s, f);
	commit(s, f); /* not twice */
	assert_int_equal(sql_integer(p->path, "SELECT count(*) FROM switched"), 2);
	assert_int_equal(
	    sql_integer(p->path,
		"SELECT count(*) FROM switched WHERE run IS NULL AND hypothesis IS NULL AND"
		" \"on\" = 1 AND why = 'learning' AND tracepoint = 'shop:query' AND when_ns = 123456789"),
	    1);
	assert_int_equal(
	    sql_integer(p->path,
		"SELECT count(*) FROM switched JOIN hypothesis h ON h.id = hypothesis"
		" WHERE switched.run = 1 AND switched.cycle = 3 AND \"on\" = 0 AND switched.why = 'no help'"),
	    1);
	forest_free(f);
	store_close(s);
}

static void
the_file_says_that_it_is_ours(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);

	assert_int_equal(sql_integer(p->path, "PRAGMA application_id"), 0x486f6e65);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 8);
	assert_int_equal(sql_integer(p->path,
			     "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"),
	    1);
	store_close(s);
}

static void
old_runs_are_left_out_active_ones_are_not_and_ids_go_on(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = forest_new();
	const int64_t day_ns = 86400000000000, now_ns = clock_wall().ns;
	const int64_t ages[] = { 40, 31, 29, 1 };

	for (int i = 0; i < 4; i++) {
		struct run *r = forest_run_new(f, "A");

		r->begun.ns = now_ns - ages[i] * day_ns;
		r->ended.ns = i == 0 ? 0 : r->begun.ns + 1;
		forest_hypothesis_new(f, r->id, 0);
	}
	commit(s, f);
	forest_free(f);
	f = loaded(s, 30);
	assert_non_null(forest_run(f, 1)); /* never ended */
	assert_null(forest_run(f, 2));
	assert_null(forest_get(f, 2));
	assert_non_null(forest_run(f, 3));
	assert_non_null(forest_get(f, 4));
	forest_free(f);
	sql(p->path, "UPDATE run SET begun_ns = 5, ended_ns = 6");
	f = loaded(s, 1);
	assert_null(forest_run_latest(f, NULL));
	assert_int_equal(forest_run_new(f, "B")->id, 5);
	assert_int_equal(forest_hypothesis_new(f, 5, 0)->id, 5);
	commit(s, f);
	forest_free(f);
	f = loaded(s, UINT32_MAX);
	assert_int_equal(forest_run_latest(f, NULL)->id, 5);
	assert_string_equal(forest_run(f, 2)->type, "A");
	forest_free(f);
	store_close(s);
}

static void
rows_that_were_not_loaded_are_not_overwritten(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = forest_new();
	struct err e;

	forest_run_new(f, "A");
	commit(s, f);
	store_close(s);
	forest_free(f);
	f = forest_new();
	s = open_store(p->path);
	forest_run_new(f, "B");
	assert_int_equal(store_commit(s, f, &e), ERR_STORE);
	assert_non_null(strstr(e.text, "not loaded"));
	forest_free(f);
	f = loaded(s, 0);
	assert_string_equal(forest_run(f, 1)->type, "A");
	forest_free(f);
	store_close(s);
}

/* ---- killed processes ---- */

enum { EACH = 5 }; /* hypotheses and switches of a cycle */

/* Commits cycle after cycle, and reports each cycle that is safe, until it is killed. */
static void
commit_until_killed(const char *path, int tell)
{
	struct store *s;
	struct forest *f = forest_new();
	struct err e;

	if (store_open(&s, path, &e) != 0 || store_load(s, f, 0, &e) != 0)
		_exit(1);
	for (;;) {
		struct run *r = forest_run_latest(f, NULL);

		if (r == NULL)
			r = forest_run_new(f, "A");
		r->cycles++;
		forest_touch_run(f, r);
		for (int i = 0; i < EACH; i++) {
			struct hypothesis *h = forest_hypothesis_new(f, r->id, 0);
			struct switched w = { r->id, h->id, r->cycles, true, "p:e", REASON_NO_HELP,
				"", "", { 1 } };

			h->cycle = r->cycles;
			hypothesis_text(
			    &h->group_shape, "a -> b -> c -> d -> e -> f -> g -> h -> i -> j -> k");
			forest_switched(f, &w, NULL);
		}
		if (store_commit(s, f, &e) != 0 ||
		    write(tell, &r->cycles, sizeof r->cycles) != sizeof r->cycles)
			_exit(1);
	}
}

static uint32_t
kill_in_the_middle(struct rng *r, const char *path)
{
	uint32_t acknowledged = 0, more = (uint32_t)rng_below(r, 15);
	int pipes[2], status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	if ((child = fork()) == 0) {
		close(pipes[0]);
		commit_until_killed(path, pipes[1]);
	}
	assert_true(child > 0);
	close(pipes[1]);
	for (uint32_t i = 0; i <= more; i++)
		assert_int_equal(
		    read(pipes[0], &acknowledged, sizeof acknowledged), sizeof acknowledged);
	for (volatile uint64_t spin = rng_below(r, 300000); spin > 0; spin--)
		;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	while (read(pipes[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged)
		;
	close(pipes[0]);
	return acknowledged;
}

static void
no_acknowledged_commit_is_lost_by_kill_9(void **state)
{
	struct place *p = *state;
	struct rng r;

	rng_seed(&r, 9);
	for (int i = 0; i < 40; i++) {
		uint32_t acknowledged = kill_in_the_middle(&r, p->path);
		struct store *s = open_store(p->path);
		struct forest *f = loaded(s, 0);
		uint32_t cycles = forest_run(f, 1)->cycles;

		assert_in_range(cycles, acknowledged, acknowledged + 1);
		assert_int_equal(
		    sql_integer(p->path, "SELECT count(*) FROM hypothesis"), cycles * EACH);
		assert_int_equal(
		    sql_integer(p->path, "SELECT count(*) FROM switched"), cycles * EACH);
		assert_int_equal(sql_integer(p->path,
				     "SELECT count(*) FROM (SELECT 1 FROM hypothesis GROUP BY cycle"
				     " HAVING count(*) <> 5)"),
		    0);
		forest_free(f);
		store_close(s);
	}
	assert_int_equal(sql_integer(p->path, "SELECT count(*) FROM pragma_integrity_check"
					      " WHERE integrity_check = 'ok'"),
	    1);
}

/* ---- files of other programs, and damaged ones ---- */

static void
a_newer_schema_is_left_alone(void **state)
{
	struct place *p = *state;
	uint8_t *before, *after;
	size_t len, len_after;

	store_close(open_store(p->path));
	sql(p->path,
	    "PRAGMA journal_mode = DELETE; PRAGMA user_version = 99; CREATE TABLE future (x)");
	before = file_read(p->path, &len);
	refuses_to_open(p->path, ERR_VERSION, "schema 99; this one knows up to 8");
	after = file_read(p->path, &len_after);
	assert_int_equal(len, len_after);
	assert_memory_equal(before, after, len);
	free(before);
	free(after);
}

static void
another_applications_database_is_left_alone(void **state)
{
	struct place *p = *state;
	uint8_t *before, *after;
	size_t len, len_after;

	sql(p->path, "CREATE TABLE precious (x); INSERT INTO precious VALUES (1)");
	before = file_read(p->path, &len);
	refuses_to_open(p->path, ERR_STORE, "not a hypothesis forest");
	after = file_read(p->path, &len_after);
	assert_int_equal(len, len_after);
	assert_memory_equal(before, after, len);
	free(before);
	free(after);
	sql(p->path, "PRAGMA application_id = 1234");
	refuses_to_open(p->path, ERR_STORE, "not a hypothesis forest");
}

static void
a_file_that_is_no_database_is_reported(void **state)
{
	struct place *p = *state;
	uint8_t junk[5000];
	struct rng r;

	rng_seed(&r, 3);
	for (size_t i = 0; i < sizeof junk; i++)
		junk[i] = (uint8_t)rng_next(&r);
	file_write(p->path, junk, sizeof junk);
	refuses_to_open(p->path, ERR_STORE, "is not a database");
	file_write(p->path, "[honed]\n", 8);
	refuses_to_open(p->path, ERR_STORE, "is not a database");
}

static void
an_empty_file_becomes_a_database(void **state)
{
	struct place *p = *state;
	struct store *s;
	struct forest *f = forest_new();

	file_write(p->path, "", 0);
	s = open_store(p->path);
	forest_run_new(f, "A");
	commit(s, f);
	forest_free(f);
	store_close(s);
}

static void
a_folder_or_a_missing_path_is_reported(void **state)
{
	struct place *p = *state;
	char nowhere[128];

	snprintf(nowhere, sizeof nowhere, "%s/no/such/forest.db", p->folder);
	refuses_to_open(nowhere, ERR_STORE, "check that its folder exists");
	assert_int_equal(mkdir(p->path, 0755), 0);
	refuses_to_open(
	    p->path, ERR_STORE, "check that it and its folder are readable and writable");
}

/* A database with some pages of content. */
static void
grow_some(const char *path)
{
	struct store *s = open_store(path);
	struct forest *f = forest_new();
	struct rng r;

	rng_seed(&r, 21);
	forest_run_new(f, "A");
	for (int i = 0; i < 200; i++)
		fill(&r, forest_hypothesis_new(f, 1, 0));
	commit(s, f);
	forest_free(f);
	store_close(s);
	sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void
a_truncated_database_is_reported(void **state)
{
	struct place *p = *state;
	uint8_t *data;
	size_t len;

	grow_some(p->path);
	data = file_read(p->path, &len);
	assert_true(len > 40000);
	for (size_t keep = 4096; keep < len; keep += len / 7) {
		file_write(p->path, data, keep);
		refuses_to_open(p->path, ERR_STORE, "damaged");
	}
	file_write(p->path, data, 60);
	refuses_to_open(p->path, ERR_STORE, "damaged");
	file_write(p->path, data, len);
	store_close(open_store(p->path));
	free(data);
}

/* A flipped bit may go undetected, but must cause neither a crash nor an error without a reason. */
static void
flipped_bytes_are_an_error_or_harmless(void **state)
{
	struct place *p = *state;
	uint8_t *data;
	size_t len;
	struct rng r;
	int told = 0;

	rng_seed(&r, 77);
	grow_some(p->path);
	data = file_read(p->path, &len);
	for (int i = 0; i < 400; i++) {
		size_t at = i % 3 == 0 ? rng_below(&r, 4096) : rng_below(&r, len);
		uint8_t was = data[at];
		struct store *s = NULL;
		struct forest *f = forest_new();
		struct err e = { 0 };
		int rc;

		data[at] ^= (uint8_t)(1 + rng_below(&r, 255));
		file_write(p->path, data, len);
		if ((rc = store_open(&s, p->path, &e)) == 0)
			rc = store_load(s, f, 0, &e);
		assert_true(
		    rc == 0 || ((rc == ERR_STORE || rc == ERR_VERSION) && strlen(e.text) > 20));
		told += rc != 0;
		store_close(s);
		forest_free(f);
		data[at] = was;
	}
	assert_true(told > 10);
	free(data);
}

static void
impossible_rows_are_damage(void **state)
{
	static const char *const wrongs[] = {
		"UPDATE hypothesis SET state = 77 WHERE id = 5",
		"UPDATE hypothesis SET presence = 200 WHERE id = 5",
		"UPDATE hypothesis SET parent = 6 WHERE id = 5",
		"UPDATE hypothesis SET parent = 5 WHERE id = 5",
		"UPDATE run SET state = -1",
		"UPDATE hypothesis SET id = 9223372036854775807 WHERE id = 200",
		"UPDATE hypothesis SET id = -3 WHERE id = 200",
	};
	struct place *p = *state;
	uint8_t *data;
	size_t len;

	grow_some(p->path);
	data = file_read(p->path, &len);
	for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
		struct store *s;
		struct forest *f = forest_new();
		struct err e = { 0 };

		file_write(p->path, data, len);
		sql(p->path, wrongs[i]);
		s = open_store(p->path);
		assert_int_equal(store_load(s, f, 0, &e), ERR_STORE);
		assert_non_null(strstr(e.text, "damaged"));
		forest_free(f);
		store_close(s);
	}
	free(data);
}

/* ---- other processes that have it open ---- */

static void
a_second_opener_gets_the_pid_of_the_first(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	char pid[32], other[160];

	snprintf(pid, sizeof pid, "(pid %ld)", (long)getpid());
	snprintf(other, sizeof other, "%s/another-name.db", p->folder);
	refuses_to_open(p->path, ERR_BUSY, pid);
	assert_int_equal(symlink(p->path, other), 0);
	refuses_to_open(other, ERR_BUSY, pid);
	store_close(s);
	store_close(open_store(other));
}

static void
the_lock_of_a_killed_controller_is_gone(void **state)
{
	struct place *p = *state;
	int pipes[2], status;
	char pid[32], byte;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	if ((child = fork()) == 0) {
		struct store *s;

		if (store_open(&s, p->path, NULL) != 0 || write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	snprintf(pid, sizeof pid, "(pid %ld)", (long)child);
	refuses_to_open(p->path, ERR_BUSY, pid);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	store_close(open_store(p->path));
	close(pipes[0]);
	close(pipes[1]);
}

static void
a_reader_beside_it_does_not_stop_it(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = forest_new();
	sqlite3 *db;

	forest_run_new(f, "A");
	commit(s, f);
	assert_int_equal(sqlite3_open(p->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT * FROM run", NULL, NULL, NULL), SQLITE_OK);
	forest_run_new(f, "B");
	commit(s, f);
	sqlite3_close(db);
	forest_free(f);
	store_close(s);
}

/* ---- errors of the disk and the system ---- */

static void
try_read_only(void *arg)
{
	const struct place *p = arg;
	struct err e = { 0 };
	struct store *s;

	become_nobody();
	CHECK(store_open(&s, p->path, &e) == ERR_STORE);
	CHECK(strstr(e.text, "exists and is writable") != NULL && strstr(e.text, p->path) != NULL);
}

static void
a_read_only_folder_is_reported(void **state)
{
	struct place *p = *state;

	assert_int_equal(chmod(p->folder, 0555), 0);
	in_child(try_read_only, p, "cannot become another user");
}

static void
try_read_only_file(void *arg)
{
	const struct place *p = arg;
	struct err e = { 0 };
	struct store *s;

	become_nobody();
	CHECK(store_open(&s, p->path, &e) == ERR_STORE);
	CHECK(strstr(e.text, "is not writable") != NULL);
}

static void
a_read_only_database_is_reported(void **state)
{
	struct place *p = *state;
	char lock[128];

	grow_some(p->path);
	snprintf(lock, sizeof lock, "%s.lock", p->path);
	assert_int_equal(chmod(p->folder, 0777), 0);
	assert_int_equal(chmod(lock, 0666), 0);
	assert_int_equal(chmod(p->path, 0444), 0);
	in_child(try_read_only_file, p, "cannot become another user");
}

static void
try_full_disk(void *arg)
{
	const struct place *p = arg;
	char filler[160];
	struct err e = { 0 };
	struct store *s, *again;
	struct forest *f = forest_new(), *g = forest_new();
	uint64_t runs = 0, at = 0;
	int failures = 0;

	mount_small_disk(p->folder);
	snprintf(filler, sizeof filler, "%s/filler", p->folder);
	fill_disk(filler);
	CHECK(store_open(&s, p->path, &e) == ERR_FULL);
	CHECK(strstr(e.text, "no space left") != NULL && strstr(e.text, p->path) != NULL);
	unlink(filler);
	CHECK(store_open(&s, p->path, &e) == 0);
	for (int i = 0; i < 30; i++) {
		if (i % 10 == 5)
			fill_disk(filler);
		if (i % 10 == 9)
			unlink(filler);
		for (int k = 0; k < 20; k++)
			forest_hypothesis_new(f, forest_run_new(f, "A")->id, 0);
		if (store_commit(s, f, &e) != 0) {
			CHECK(e.code == ERR_FULL);
			CHECK(strstr(e.text, "no space left") != NULL);
			CHECK(forest_changes(f)->nruns >= 20);
			failures++;
		} else {
			CHECK(forest_changes(f)->nruns == 0);
		}
	}
	CHECK(failures > 3);
	CHECK(forest_changes(f)->nruns == 0); /* there was space for the last commit */
	store_close(s);
	CHECK(store_open(&again, p->path, &e) == 0);
	CHECK(store_load(again, g, 0, &e) == 0);
	while (forest_run_next(g, &at) != NULL)
		runs++;
	CHECK(runs == 600);
	store_close(again);
	forest_free(f);
	forest_free(g);
	umount(p->folder);
}

static void
after_a_full_disk_commits_continue_without_loss(void **state)
{
	in_child(try_full_disk, *state, "no mounts of our own here (needs root)");
}

#define test(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(committed_rows_are_loaded_unchanged_to_the_last_bit),
		test(the_log_has_what_was_switched_when_and_why),
		test(the_file_says_that_it_is_ours),
		test(old_runs_are_left_out_active_ones_are_not_and_ids_go_on),
		test(rows_that_were_not_loaded_are_not_overwritten),
		test(no_acknowledged_commit_is_lost_by_kill_9),
		test(a_newer_schema_is_left_alone),
		test(another_applications_database_is_left_alone),
		test(a_file_that_is_no_database_is_reported),
		test(an_empty_file_becomes_a_database),
		test(a_folder_or_a_missing_path_is_reported),
		test(a_truncated_database_is_reported),
		test(flipped_bytes_are_an_error_or_harmless),
		test(impossible_rows_are_damage),
		test(a_second_opener_gets_the_pid_of_the_first),
		test(the_lock_of_a_killed_controller_is_gone),
		test(a_reader_beside_it_does_not_stop_it),
		test(a_read_only_folder_is_reported),
		test(a_read_only_database_is_reported),
		test(after_a_full_disk_commits_continue_without_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
