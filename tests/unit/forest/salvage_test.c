/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/disk.h"
#include "tests/unit/forest/made.h"

enum { RUNS = 60, PAGE = 4096 };

struct broken {
	struct place *place;
	char saved[96];
	uint8_t *data;
	size_t len;
	struct forest *whole;
};

static void
make_whole(struct broken *b, void **state)
{
	struct store *s;

	b->place = *state;
	snprintf(b->saved, sizeof b->saved, "%s/saved.db", b->place->folder);
	s = open_store(b->place->path);
	b->whole = forest_new();
	for (uint32_t cycle = 1; cycle <= 3 * RUNS; cycle++)
		play(b->whole, cycle);
	commit(s, b->whole);
	store_close(s);
	b->data = file_read(b->place->path, &b->len);
}

static void
release(struct broken *b)
{
	forest_free(b->whole);
	free(b->data);
}

static struct forest *
saved(const struct broken *b, struct salvaged *n)
{
	struct err e = { 0 };
	struct store *s;
	struct forest *f;

	if (store_salvage(b->place->path, b->saved, n, &e) != 0)
		fail_msg("store_salvage: %s", e.text);
	s = open_store(b->saved);
	f = loaded(s, 0);
	store_close(s);
	assert_int_equal(sql_integer(b->saved, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	return f;
}

static void
an_intact_database_is_salvaged_completely(void **state)
{
	struct broken b;
	struct salvaged n;
	struct forest *f;
	uint8_t *after;
	size_t len;

	make_whole(&b, state);
	f = saved(&b, &n);
	same_forest(b.whole, f);
	assert_true(n.runs == RUNS && n.hypotheses == 6 * RUNS && n.verdicts == 2 * RUNS &&
		    n.switches == 6 * RUNS && n.audits > RUNS && n.orphans == 0 &&
		    n.unreadable == 0 && n.evidence > 100 * RUNS);
	after = file_read(b.place->path, &len); /* the damaged file was only read */
	assert_int_equal(len, b.len);
	assert_memory_equal(after, b.data, len);
	free(after);
	forest_free(f);
	release(&b);
}

/* Zeroes every fifth page, one at a time: all rows that are salvaged are unchanged, and few others
 * are lost. */
static void
one_lost_page_costs_few_rows(void **state)
{
	uint8_t zeroes[PAGE] = { 0 };
	struct broken b;
	uint32_t refused = 0, tried = 0, poor = 0, cut = 0, named = 0, schema = 0;
	uint64_t evidence;

	make_whole(&b, state);
	evidence = (uint64_t)sql_integer(b.place->path, "SELECT count(*) FROM evidence");
	for (size_t page = 1; page * PAGE < b.len;
	     page += 5) { /* not the first page: it says which tables there are */
		uint8_t *data = malloc(b.len);
		struct store *s = NULL;
		struct err e = { 0 };
		struct salvaged n;
		struct forest *f;
		struct run *r;
		uint64_t at = 0;

		memcpy(data, b.data, b.len);
		memcpy(data + page * PAGE, zeroes, PAGE);
		file_write(b.place->path, data, b.len);
		free(data);
		if (store_open(&s, b.place->path, &e) != 0) {
			refused++;
			assert_int_equal(e.code, ERR_STORE);
			assert_non_null(strstr(e.text, "is damaged"));
			assert_non_null(strstr(e.text, "hone forest --salvage"));
			named += strstr(e.text, "at page ") != NULL;
		}
		store_close(s);
		unlink(b.saved);
		if (store_salvage(b.place->path, b.saved, &n, &e) !=
		    0) { /* the root page of the table of runs, or one of the tables' descriptions */
			if (strstr(e.text, "no row of it can be read") != NULL)
				poor++;
			else
				schema++;
			assert_non_null(strstr(e.text, "is damaged") != NULL
					    ? e.text
					    : strstr(e.text, "no row of it can be read"));
			continue;
		}
		unlink(b.saved);
		f = saved(&b, &n);
		for (; (r = forest_run_next(f, &at)) != NULL; tried++) {
			const struct run *was = forest_run(b.whole, r->id);

			assert_string_equal(r->type, was->type);
			assert_true(r->ended.ns == was->ended.ns && r->cycles == was->cycles);
		}
		poor += n.runs < RUNS / 2 || n.hypotheses < 3 * RUNS;
		cut += n.evidence < evidence * 9 / 10; /* what is behind a lost page */
		forest_free(f);
	}
	assert_true(refused > b.len / PAGE / 8);
	assert_true(named > refused / 2); /* damage at a place where SQLite reports it */
	assert_true(tried > 0);
	assert_true(schema <= 1); /* which take a few pages, spread over the file */
	assert_true(
	    cut <= 3); /* the roots, and a page of hypotheses, whose evidence goes with them */
	assert_true(poor <= 3); /* the roots of runs and of hypotheses, and their first pages */
	release(&b);
}

static void
rows_in_the_write_ahead_log_are_salvaged_too(void **state)
{
	struct place *p = *state;
	struct broken b = { .place = p };
	struct store *s = open_store(p->path);
	struct forest *f = forest_new(), *g;
	struct salvaged n;
	struct err e = { 0 };
	char from[96], log[96], copy[112];
	uint8_t *data;
	size_t len;

	snprintf(b.saved, sizeof b.saved, "%s/saved.db", p->folder);
	for (uint32_t cycle = 1; cycle <= 6; cycle++) {
		play(f, cycle);
		commit(s, f);
	}
	assert_int_equal(
	    store_salvage(p->path, b.saved, &n, &e), ERR_BUSY); /* the database is in use */
	snprintf(from, sizeof from, "%s/copy.db", p->folder);
	snprintf(log, sizeof log, "%s-wal", p->path);
	snprintf(copy, sizeof copy, "%s-wal", from);
	data = file_read(p->path, &len); /* as a crash would leave it */
	file_write(from, data, len);
	free(data);
	data = file_read(log, &len);
	assert_true(len > 20000);
	file_write(copy, data, len);
	free(data);
	store_close(s);
	assert_int_equal(store_salvage(from, b.saved, &n, &e), 0);
	s = open_store(b.saved);
	g = loaded(s, 0);
	same_forest(f, g);
	forest_free(f);
	forest_free(g);
	store_close(s);
}

static void
rows_with_dangling_references_are_left_out(void **state)
{
	struct broken b;
	struct salvaged n;
	struct forest *f;

	make_whole(&b, state);
	sql(b.place->path,
	    "PRAGMA foreign_keys = OFF; DELETE FROM run WHERE id = 7; DELETE FROM hypothesis WHERE id = 1;"
	    "UPDATE hypothesis SET state = 99 WHERE id = 20; DELETE FROM verdict WHERE run = 5 AND rank = 1");
	f = saved(&b, &n);
	assert_null(forest_run(f, 7));
	assert_null(forest_get(f, 20));
	assert_int_equal(n.runs, RUNS - 1);
	assert_true(n.orphans > 6);
	assert_int_equal(
	    forest_verdict(f, 5, 1)->hypothesis, forest_verdict(b.whole, 5, 2)->hypothesis);
	assert_null(forest_verdict(f, 5, 2));
	forest_free(f);
	release(&b);
}

static void
nothing_is_ever_overwritten(void **state)
{
	struct broken b;
	struct salvaged n;
	struct err e = { 0 };
	char other[80];

	make_whole(&b, state);
	file_write(b.saved, "precious", 8);
	assert_int_equal(store_salvage(b.place->path, b.saved, &n, &e), ERR_STORE);
	assert_non_null(strstr(e.text, "exists already"));
	snprintf(other, sizeof other, "%s/other.db", b.place->folder);
	snprintf(b.saved, sizeof b.saved, "%s.copy", other);
	file_write(b.saved, "precious", 8);
	assert_int_equal(store_salvage(b.place->path, other, &n, &e), ERR_STORE);
	assert_int_equal(access(b.saved, F_OK), 0);
	assert_int_not_equal(access(other, F_OK), 0);
	unlink(b.saved);
	sql(b.place->path, "PRAGMA user_version = 99");
	assert_int_equal(store_salvage(b.place->path, other, &n, &e), ERR_VERSION);
	assert_non_null(strstr(e.text, "schema 99; this one knows up to 8"));
	file_write(b.place->path, "[honed]\n", 8);
	assert_int_equal(store_salvage(b.place->path, other, &n, &e), ERR_STORE);
	assert_int_not_equal(access(other, F_OK), 0);
	assert_int_not_equal(access(b.saved, F_OK), 0);
	release(&b);
}

#define test(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(an_intact_database_is_salvaged_completely),
		test(one_lost_page_costs_few_rows),
		test(rows_in_the_write_ahead_log_are_salvaged_too),
		test(rows_with_dangling_references_are_left_out),
		test(nothing_is_ever_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
