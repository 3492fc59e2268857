/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kill matrix: a scripted diagnosis is killed at each write, sync, truncate and delete that
 * SQLite makes for it, one after the other; and at each of them the disk is full.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/forest/faults.h"
#include "tests/unit/forest/made.h"
#include "tests/unit/sanitized.h"

enum { CYCLES = 4 };

static void
forget_files(const struct place *p)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal", ".lock" };
	char name[96];

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		snprintf(name, sizeof name, "%s%s", p->path, endings[i]);
		unlink(name);
	}
}

static uint32_t
cycles_of(const struct forest *f)
{
	struct run *r;
	uint32_t n = 0;
	uint64_t at = 0;

	while ((r = forest_run_next(f, &at)) != NULL)
		n += r->cycles;
	return n;
}

/* Runs in the child and does what a controller does: plays the rest of the script and acknowledges
 * each cycle that is safe. */
static void
diagnose(const char *path, int tell)
{
	struct store *s = NULL;
	struct forest *f = forest_new();
	struct err e = { 0 };

	if (store_open(&s, path, &e) != 0 || store_load(s, f, 0, &e) != 0)
		_exit(2);
	for (uint32_t cycle = cycles_of(f) + 1; cycle <= CYCLES; cycle++) {
		play(f, cycle);
		if (store_commit(s, f, &e) != 0)
			_exit(3);
		if (tell >= 0 && write(tell, &cycle, sizeof cycle) != sizeof cycle)
			_exit(4);
	}
	store_close(s);
	forest_free(f);
}

/* The number of cycles acknowledged as safe; *done: the script came to its end. */
static uint32_t
killed_at(const char *path, uint64_t n, enum fault what, bool *done)
{
	uint32_t acknowledged = 0;
	int pipes[2], status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	if ((child = fork()) == 0) {
		close(pipes[0]);
		faults_at(n, what);
		diagnose(path, pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	while (read(pipes[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged)
		;
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	*done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	assert_true(*done || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	return acknowledged;
}

static void
kill_at_each(const struct place *p, enum fault what)
{
	struct forest *want[CYCLES + 1], *f;
	struct store *s;
	bool done = false;
	uint64_t n;

	for (uint32_t i = 0; i <= CYCLES; i++)
		want[i] = played(i);
	for (n = 1; !done; n += SANITIZED_STRIDE) {
		uint32_t acknowledged, there;

		forget_files(p);
		acknowledged = killed_at(p->path, n, what, &done);
		s = open_store(p->path); /* checks that the database is not damaged */
		f = loaded(s, 0);
		there = cycles_of(f);
		assert_in_range(there, acknowledged,
		    acknowledged + 1); /* the next one may be safe but not acknowledged */
		assert_true(there <= CYCLES);
		same_forest(want[there], f);
		forest_free(f);
		store_close(s);
		if (n % 7 == 0 || done) { /* continued, it ends in the same state */
			diagnose(p->path, -1);
			s = open_store(p->path);
			f = loaded(s, 0);
			same_forest(want[CYCLES], f);
			forest_free(f);
			store_close(s);
		}
	}
	assert_int_equal(sql_integer(p->path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	assert_true(n > 3 * CYCLES); /* the process did die, many times */
	print_message("# killed at each of %llu operations\n", (unsigned long long)n - 2);
	for (uint32_t i = 0; i <= CYCLES; i++)
		forest_free(want[i]);
}

static void
killed_before_each_write_no_acknowledged_cycle_is_lost(void **state)
{
	kill_at_each(*state, FAULT_KILL);
}

static void
killed_within_each_write_no_acknowledged_cycle_is_lost(void **state)
{
	kill_at_each(*state, FAULT_TORN);
}

/* ---- a full disk ---- */

/* A write is refused once, or until the error has been reported: the failed commit is reported,
 * and its rows are written later. */
static void
full_at_each(const struct place *p, enum fault what)
{
	struct forest *want = played(CYCLES), *f, *g;
	struct store *s;
	struct err e;
	uint64_t n, failures = 0;
	bool refused = true;

	for (n = 1; refused; n += SANITIZED_STRIDE) {
		forget_files(p);
		refused = false;
		f = forest_new();
		s = NULL;
		faults_at(n, what);
		memset(&e, 0, sizeof e);
		if (store_open(&s, p->path, &e) != 0) {
			assert_true(e.code == ERR_FULL || e.code == ERR_STORE);
			assert_non_null(strstr(e.text, p->path));
			assert_true(faults_happened() > 0);
			refused = true;
			faults_at(0, FAULT_NONE);
			s = open_store(p->path);
		}
		for (uint32_t cycle = 1; cycle <= CYCLES; cycle++) {
			play(f, cycle);
			if (store_commit(s, f, &e) == 0)
				continue;
			failures++;
			assert_true(faults_happened() > 0);
			assert_int_equal(e.code, ERR_FULL);
			assert_non_null(strstr(e.text, "no space left"));
			assert_true(forest_changes(f)->nruns > 0);
			refused = true;
			faults_at(0, FAULT_NONE);
			if (cycle % 2 == 0) /* with the same commit, or with the next cycle */
				commit(s, f);
		}
		refused = refused ||
		          faults_happened() >
		              0; /* or it was the write of a checkpoint, which can wait */
		if (forest_changes(f)->nruns > 0)
			commit(s, f);
		same_forest(want, f);
		store_close(s);
		refused = refused || faults_happened() > 0;
		faults_at(0, FAULT_NONE);
		s = open_store(p->path);
		g = loaded(s, 0);
		same_forest(want, g);
		store_close(s);
		forest_free(f);
		forest_free(g);
	}
	assert_true(failures > 2 * CYCLES);
	print_message("# full at each of %llu operations, said by %llu commits\n",
	    (unsigned long long)n - 2, (unsigned long long)failures);
	forest_free(want);
}

static void
full_once_at_each_write_nothing_is_lost(void **state)
{
	full_at_each(*state, FAULT_FULL);
}

static void
full_from_each_write_on_nothing_is_lost(void **state)
{
	full_at_each(*state, FAULT_FULL_FROM);
}

#define test(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(killed_before_each_write_no_acknowledged_cycle_is_lost),
		test(killed_within_each_write_no_acknowledged_cycle_is_lost),
		test(full_once_at_each_write_nothing_is_lost),
		test(full_from_each_write_on_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
