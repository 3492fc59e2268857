/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
/* Migration of older schemas, and pruning. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/disk.h"
#include "tests/unit/forest/made.h"

/* The schema as released with version 1, with a run, a tree and a switch. */
static const char version_1[] =
    "PRAGMA journal_mode = WAL; BEGIN;"
    "CREATE TABLE run (id INTEGER PRIMARY KEY, type TEXT NOT NULL, strategy TEXT NOT NULL, seed INTEGER NOT NULL,"
    " state INTEGER NOT NULL, verdict INTEGER REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
    " words TEXT NOT NULL, cycles INTEGER NOT NULL, tracepoints INTEGER NOT NULL,"
    " tracepoints_all INTEGER NOT NULL, begun_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL) STRICT;"
    "CREATE TABLE hypothesis ("
    " id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,"
    " parent INTEGER REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
    " cycle INTEGER NOT NULL, state INTEGER NOT NULL, presence INTEGER NOT NULL,"
    " tracepoint TEXT NOT NULL, edge_from TEXT NOT NULL, edge_to TEXT NOT NULL, group_shape TEXT NOT NULL,"
    " group_key_a INTEGER NOT NULL, group_key_b INTEGER NOT NULL, traces INTEGER NOT NULL,"
    " mean_ns REAL, cv REAL, share REAL, share_low REAL, share_high REAL, latency_share REAL,"
    " settled_traces INTEGER NOT NULL, settled_share REAL, settled_low REAL, settled_high REAL,"
    " \"key\" TEXT NOT NULL, key_r REAL, key_p REAL, key_n INTEGER NOT NULL,"
    " exemplar_slow INTEGER NOT NULL, exemplar_fast INTEGER NOT NULL,"
    " made_ns INTEGER NOT NULL, settled_ns INTEGER NOT NULL) STRICT;"
    "CREATE INDEX hypothesis_run ON hypothesis (run);"
    "CREATE TABLE switched ("
    " run INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,"
    " hypothesis INTEGER REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
    " cycle INTEGER NOT NULL, \"on\" INTEGER NOT NULL, tracepoint TEXT NOT NULL, why TEXT NOT NULL,"
    " when_ns INTEGER NOT NULL) STRICT;"
    "CREATE INDEX switched_run ON switched (run);"
    "CREATE INDEX switched_tracepoint ON switched (tracepoint);"
    "INSERT INTO run VALUES (1, 'GET_HOME', 'flat', 7, 1, 2, 'it is there', 3, 9, 30, 1000, 2000);"
    "INSERT INTO hypothesis VALUES (1, 1, NULL, 0, 3, 32, '', 'a', 'b', 'a b', 5, 6, 70, 1.5, 0.5, 0.9, 0.8, 1, 0.7,"
    " 80, 0.6, 0.5, 0.7, '', NULL, NULL, 0, 11, 12, 1000, 1500);"
    "INSERT INTO hypothesis VALUES (2, 1, 1, 3, 6, 43, 'p:e', 'a', 'b', 'a b', 5, 6, 70, 1.5, 0.5, 0.9, 0.8, 1, 0.7,"
    " 80, 0.6, 0.5, 0.7, 'p:e.f', 0.9, 0.01, 44, 11, 12, 1000, 1500);"
    "INSERT INTO switched VALUES (1, 2, 3, 1, 'p:e', 'looking', 1200);"
    "PRAGMA application_id = 0x486f6e65; PRAGMA user_version = 1; COMMIT";

static void
version_1_is_migrated_and_keeps_all_rows(void **state)
{
	struct place *p = *state;
	const struct hypothesis *h;
	const struct switched *w;
	const struct run *r;
	struct forest *f;
	struct store *s;
	uint64_t at = 0;

	sql(p->path, version_1);
	s = open_store(p->path);
	f = loaded(s, 0);
	r = forest_run(f, 1);
	assert_true(r->seed == 7 && r->state == RUN_FOUND && r->verdict == 2 && r->cycles == 3 &&
		    r->ended.ns == 2000);
	assert_true(r->requests == 0 && r->effort == 0 && r->version[0] == '\0');
	assert_string_equal(r->text, "it is there");
	h = forest_get(f, 2);
	assert_true(h->parent == 1 && h->state == HYPOTHESIS_BOTTOM && h->presence == '+' &&
		    h->key_n == 44);
	assert_true(isnan(h->cost_ns) && isnan(h->separation) && h->reason == REASON_NONE);
	assert_string_equal(h->key, "p:e.f");
	assert_non_null(w = forest_switched_next(f, "p:e", &at));
	assert_true(w->hypothesis == 2 && w->when.ns == 1200);
	play(f, 1);
	commit(s, f);
	store_close(s);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 8);
	assert_int_equal(
	    sql_integer(p->path, "PRAGMA auto_vacuum"), 2); /* the file can shrink from now on */
	forest_free(f);
}

/* The texts must equal those that SQLite alone reads from the database. */
static uint64_t
same_texts(sqlite3 *old, const char *query, const struct forest *f,
    const char *(*text_of)(const struct forest *f, sqlite3_stmt *q))
{
	sqlite3_stmt *q;
	uint64_t rows = 0;

	assert_int_equal(sqlite3_prepare_v2(old, query, -1, &q, NULL), SQLITE_OK);
	for (; sqlite3_step(q) == SQLITE_ROW; rows++)
		assert_string_equal(text_of(f, q), (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return rows;
}

static const char *
verdict_of(const struct forest *f, sqlite3_stmt *q)
{
	return forest_verdict(
	    f, (uint64_t)sqlite3_column_int64(q, 1), (uint32_t)sqlite3_column_int64(q, 2))
	    ->text;
}

static const char *
run_of(const struct forest *f, sqlite3_stmt *q)
{
	return forest_run(f, (uint64_t)sqlite3_column_int64(q, 1))->text;
}

static const char *
reason_of(const struct forest *f, sqlite3_stmt *q)
{
	return reason_word(forest_get(f, (uint64_t)sqlite3_column_int64(q, 1))->reason);
}

/* Written by the last Hone of schema 3, see the file; its content stays, also when it is
 * salvaged. */
static void
version_3_keeps_every_sentence_and_reason(void **state)
{
	struct place *p = *state;
	struct salvaged n;
	size_t len;
	char *text = (char *)file_read("tests/data/forest-3.sql", &len), saved[sizeof p->path + 8];
	const struct switched *w;
	struct forest *f[2];
	struct store *s[2];
	sqlite3 *old;
	struct err e;

	text[len] = '\0';
	snprintf(saved, sizeof saved, "%s.saved", p->path);
	sql(p->path, text);
	assert_int_equal(store_salvage(p->path, saved, &n, &e), 0);
	assert_int_equal(n.orphans + n.unreadable, 0);
	assert_int_equal(sqlite3_open(":memory:", &old), SQLITE_OK);
	assert_int_equal(sqlite3_exec(old, text, NULL, NULL, NULL), SQLITE_OK);
	for (int i = 0; i < 2; i++) {
		uint64_t at = 0;

		s[i] = open_store(i == 0 ? p->path : saved);
		f[i] = loaded(s[i], 0);
		assert_int_equal(
		    same_texts(old, "SELECT words, run, rank FROM verdict", f[i], verdict_of), 8);
		assert_int_equal(same_texts(old, "SELECT words, id FROM run", f[i], run_of), 8);
		assert_true(same_texts(old,
				"SELECT replace(why, 'budget', 'over-budget'), id FROM hypothesis",
				f[i], reason_of) > 50);
		while ((w = forest_switched_next(f[i], NULL, &at)) != NULL)
			assert_true(w->reason == REASON_NONE && w->text[0] != '\0');
		assert_false(forest_verdict(f[i], 1, 1)->by_latency);
		assert_true(isnan(forest_verdict(f[i], 1, 1)->effective_traces));
	}
	same_forest(f[0], f[1]);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 8);
	for (int i = 0; i < 2; i++) {
		forest_free(f[i]);
		store_close(s[i]);
	}
	sqlite3_close(old);
	free(text);
	remove(saved);
}

static void
of_version_4_it_is_not_known_how_many_pass_the_edge(void **state)
{
	struct place *p = *state;
	struct salvaged n;
	size_t len;
	char *text = (char *)file_read("tests/data/forest-4.sql", &len), saved[sizeof p->path + 8];
	struct forest *f[2];
	struct store *s[2];
	struct err e;

	text[len] = '\0';
	snprintf(saved, sizeof saved, "%s.saved", p->path);
	sql(p->path, text);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 4);
	assert_int_equal(store_salvage(p->path, saved, &n, &e), 0);
	assert_int_equal(n.orphans + n.unreadable, 0);
	for (int i = 0; i < 2; i++) {
		const struct verdict *v;

		s[i] = open_store(i == 0 ? p->path : saved);
		f[i] = loaded(s[i], 0);
		assert_non_null(v = forest_verdict(f[i], 1, 1));
		assert_true(v->traces > 0 && v->effective_traces > 0);
		assert_int_equal(v->passing, 0);
		assert_true(isnan(v->passes));
		assert_int_equal(v->wait_cause, WAIT_UNKNOWN);
		assert_false(v->handed_over);
		assert_string_equal(v->mistake, "");
		assert_int_equal(v->pool, POOL_NONE);
		assert_true(isnan(v->pool_utilisation));
		assert_int_equal(v->text[0], '\0');
	}
	same_forest(f[0], f[1]);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 8);
	for (int i = 0; i < 2; i++) {
		forest_free(f[i]);
		store_close(s[i]);
	}
	free(text);
	remove(saved);
}

static void
of_version_5_it_is_not_known_what_the_verdicts_leave(void **state)
{
	struct place *p = *state;
	struct salvaged n;
	size_t len;
	char *text = (char *)file_read("tests/data/forest-5.sql", &len), saved[sizeof p->path + 8];
	struct forest *f[2];
	struct store *s[2];
	struct err e;

	text[len] = '\0';
	snprintf(saved, sizeof saved, "%s.saved", p->path);
	sql(p->path, text);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 5);
	assert_int_equal(store_salvage(p->path, saved, &n, &e), 0);
	assert_int_equal(n.orphans + n.unreadable, 0);
	for (int i = 0; i < 2; i++) {
		const struct run *r;

		s[i] = open_store(i == 0 ? p->path : saved);
		f[i] = loaded(s[i], 0);
		assert_non_null(r = forest_run(f[i], 3));
		assert_true(r->effect_min > 0.19 && r->effect_min < 0.21);
		assert_string_equal(r->ended_programs, "4711 node1 cart");
		assert_int_equal(r->causes_max, 0);
		assert_true(isnan(r->left));
		assert_true(forest_verdict(f[i], 3, 1)->effect > 0.5);
		assert_int_equal(forest_verdict(f[i], 3, 1)->pool, POOL_NONE);
		assert_true(isnan(forest_verdict(f[i], 3, 1)->pool_wait_ns));
	}
	same_forest(f[0], f[1]);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 8);
	for (int i = 0; i < 2; i++) {
		forest_free(f[i]);
		store_close(s[i]);
	}
	free(text);
	remove(saved);
}

/* Written by the last Hone of schema 4, see there: what its sentences say of Hone's own actions is in
 * fields, and the sentences stay, also salvaged. */
static void
version_4_is_migrated_with_actions_of_hone_in_fields(void **state)
{
	static const struct {
		int64_t number; /* when_ns - 2000000000000 */
		enum audit_actor actor;
		enum audit_action action;
		const char *node;
		uint32_t count;
	} ROWS[] = {
		{ 3, ACTOR_BUDGET, ACTION_DISABLE_ONE, "", 0 },
		{ 4, ACTOR_QUEUES, ACTION_DISABLE_NEWEST, "", 0 },
		{ 5, ACTOR_QUEUES, ACTION_DISABLE_ALL, "", 0 },
		{ 6, ACTOR_LEARNING, ACTION_DISABLE_ALL, "", 0 },
		{ 7, ACTOR_LEARNING, ACTION_DISABLE_ALL, "", 0 },
		{ 8, ACTOR_LEASE, ACTION_DISABLE_COUNT, "node 3", 12 },
		{ 9, ACTOR_LEASE, ACTION_DISABLE_RUN, "", 0 },
		{ 10, ACTOR_CONTROLLER, ACTION_STOP, "", 0 },
		{ 11, ACTOR_AGENT, ACTION_DISABLE_NODE, "node2", 0 },
		{ 12, ACTOR_SEVERAL_USERS, ACTION_NONE, "", 0 },
		{ 13, ACTOR_NONE, ACTION_CONNECT_AGENT, "", 0 },
		{ 14, ACTOR_NONE, ACTION_CONNECT, "", 0 },
		{ 15, ACTOR_NONE, ACTION_NONE, "", 0 },
		/* an operator of another machine, whose certificate says "the budget" */
		{ 16, ACTOR_NONE, ACTION_NONE, "", 0 },
	};
	enum { N = sizeof ROWS / sizeof ROWS[0] };
	struct place *p = *state;
	size_t len;
	char *text = (char *)file_read("tests/data/forest-4.sql", &len), saved[sizeof p->path + 8];
	struct salvaged n;
	struct err e;

	text[len] = '\0';
	snprintf(saved, sizeof saved, "%s.saved", p->path);
	sql(p->path, text);
	assert_int_equal(store_salvage(p->path, saved, &n, &e), 0);
	assert_int_equal(n.orphans + n.unreadable, 0);
	for (int i = 0; i < 2; i++) {
		struct store *s = open_store(i == 0 ? p->path : saved);
		struct forest *f = loaded(s, 0);
		const struct audit *a;
		uint64_t at = 0;

		for (int k = N; k-- > 0;) {
			assert_non_null(a = forest_audit_next(f, &at));
			assert_int_equal(a->when.ns - 2000000000000, ROWS[k].number);
			assert_int_equal(a->actor, ROWS[k].actor);
			assert_int_equal(a->action, ROWS[k].action);
			assert_string_equal(a->node, ROWS[k].node);
			assert_int_equal(a->count, ROWS[k].count);
			assert_int_equal(a->cause, REASON_NONE);
			assert_true(a->user[0] != '\0' || a->asked[0] != '\0');
			if (ROWS[k].number == 4)
				assert_string_equal(
				    a->text, "agent node2: ring 62 % full, and 1 more");
			if (ROWS[k].number == 15)
				assert_string_equal(a->text, "stopped GET_HOME, PUT_CART");
		}
		assert_int_equal(forest_run(f, 9)->reason, REASON_END_OVER_BUDGET);
		assert_string_equal(forest_run(f, 9)->subject, "cart:lock_begin");
		assert_int_equal(sql_integer(i == 0 ? p->path : saved, "PRAGMA user_version"), 8);
		forest_free(f);
		store_close(s);
	}
	free(text);
	remove(saved);
}

static void
drop_columns(const char *path, const char *const *columns, size_t n, const char *version)
{
	for (size_t i = 0; i < n; i++) {
		char drop[80];

		snprintf(drop, sizeof drop, "ALTER TABLE %s", columns[i]);
		sql(path, drop);
	}
	sql(path, version);
}

/* Schema 7 is what the first seven steps make: the eighth is taken back. */
static void
take_back_8(const char *path)
{
	static const char *const COLUMNS[] = { "verdict DROP COLUMN pool_low" };

	drop_columns(path, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0], "PRAGMA user_version = 7");
}

/* Schema 6 is what the first six steps make. */
static void
take_back_7(const char *path)
{
	static const char *const COLUMNS[] = { "run DROP COLUMN healthy",
		"run DROP COLUMN baseline", "run DROP COLUMN compared",
		"verdict DROP COLUMN new_part", "verdict DROP COLUMN new_low",
		"verdict DROP COLUMN below_functions", "verdict DROP COLUMN below_held",
		"verdict DROP COLUMN ground" };

	take_back_8(path);
	drop_columns(path, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0], "PRAGMA user_version = 6");
}

static void
take_back_6(const char *path)
{
	static const char *const COLUMNS[] = { "verdict DROP COLUMN pool",
		"verdict DROP COLUMN pool_threads", "verdict DROP COLUMN pool_utilisation",
		"verdict DROP COLUMN pool_service_ns", "verdict DROP COLUMN pool_service_cv",
		"verdict DROP COLUMN pool_wait_ns", "verdict DROP COLUMN pool_expected_ns",
		"run DROP COLUMN causes_max", "run DROP COLUMN \"left\"",
		"run DROP COLUMN tail_quantile", "run DROP COLUMN problem_from_ns",
		"run DROP COLUMN problem_to_ns", "verdict DROP COLUMN tail_quantile",
		"verdict DROP COLUMN tail_ns", "verdict DROP COLUMN tail_carries",
		"verdict DROP COLUMN tail_requests", "verdict DROP COLUMN tail_key",
		"verdict DROP COLUMN tail_value", "verdict DROP COLUMN tail_has",
		"verdict DROP COLUMN tail_with", "verdict DROP COLUMN tail_without",
		"verdict DROP COLUMN tail_p", "verdict DROP COLUMN below_requests",
		"verdict DROP COLUMN below_top", "verdict DROP COLUMN below_states",
		"verdict DROP COLUMN below_places", "verdict DROP COLUMN below_holders",
		"verdict DROP COLUMN below_wakers", "verdict DROP COLUMN below_missing",
		"verdict DROP COLUMN below_differential" };

	take_back_7(path);
	drop_columns(path, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0], "PRAGMA user_version = 5");
}

/* Of diagnoses of schema 5 it is not known
 * whether a tail was searched. */
static void
version_5_is_migrated_and_knows_of_no_tails_and_baselines(void **state)
{
	struct place *p = *state;
	size_t len;
	char *text = (char *)file_read("tests/data/forest-4.sql", &len);
	struct store *s;
	struct forest *f;
	const struct verdict *v;

	text[len] = '\0';
	sql(p->path, text);
	store_close(open_store(p->path));
	take_back_6(p->path);
	s = open_store(p->path);
	f = loaded(s, 0);
	assert_true(isnan(forest_run(f, 1)->tail_quantile));
	assert_true(!forest_run(f, 1)->healthy && forest_run(f, 1)->compared == 0);
	assert_string_equal(forest_run(f, 1)->baseline, "");
	assert_non_null(v = forest_verdict(f, 1, 1));
	assert_true(v->traces > 0 && isnan(v->tail_quantile) && v->tail_requests == 0);
	assert_true(isnan(v->new_part) && isnan(v->new_low));
	assert_string_equal(v->tail_key, "");
	assert_int_equal(v->below_requests, 0);
	assert_string_equal(v->below_states, "");
	play(f, 1);
	commit(s, f);
	store_close(s);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 8);
	forest_free(f);
	free(text);
}

/* Schema 2 is what the first two steps make: of a database of schema 3 the third is taken back. */
static void
version_2_is_migrated_and_has_an_audit(void **state)
{
	struct place *p = *state;
	size_t len;
	char *text = (char *)file_read("tests/data/forest-3.sql", &len);
	struct store *s;
	struct forest *f;
	uint64_t at = 0;

	text[len] = '\0';
	sql(p->path, text);
	sql(p->path,
	    "DROP TABLE audit; ALTER TABLE run DROP COLUMN \"by\"; PRAGMA user_version = 2");
	s = open_store(p->path);
	f = loaded(s, 0);
	assert_null(forest_audit_next(f, &at));
	assert_string_equal(forest_run(f, 2)->by, "");
	assert_string_equal(forest_run(f, 2)->type, "GET_HOME");
	play(f, 1);
	commit(s, f);
	store_close(s);
	assert_int_equal(sql_integer(p->path, "PRAGMA user_version"), 8);
	assert_int_equal(sql_integer(p->path, "SELECT count(*) FROM audit"), 1);
	forest_free(f);
	free(text);
}

/* Schema 5 is what the first five steps make: of a database of schema 6 the sixth is taken back. */
static void
the_audit_is_pruned_by_age_and_by_size(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = forest_new();
	struct audit a = { .user = "root",
		.asked = "{\"ask\":\"report\",\"reset\":true}",
		.text = "",
		.times = 1 };
	struct err e;
	uint64_t at = 0;

	for (int i = 1; i <= 3000; i++) {
		a.when.ns = i;
		assert_int_equal(forest_audit_add(f, &a, NULL), 0);
	}
	commit(s, f);
	assert_int_equal(store_prune(s, f, (struct wall){ 501 }, 0, &e), 0);
	assert_int_equal(
	    sql_integer(p->path, "SELECT count(*) * 10000 + min(when_ns) FROM audit"), 25000501);
	/* no run can go, and it is still too large: the newest thousand stay, at any size */
	assert_int_equal(store_prune(s, f, (struct wall){ 0 }, 1, &e), 0);
	assert_int_equal(store_prune(s, f, (struct wall){ 0 }, 1, &e), 0);
	assert_int_equal(
	    sql_integer(p->path, "SELECT count(*) * 10000 + min(when_ns) FROM audit"), 10002001);
	while (forest_audit_next(f, &at) != NULL)
		;
	assert_int_equal(at,
	    2500); /* in memory, audit rows are pruned by age alone: their number has a bound of its own */
	forest_free(f);
	store_close(s);
}

/* ---- pruning ---- */

static int64_t
size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Runs of two types, in turns, of three cycles each; a switch of no run in each. */
static struct forest *
history(struct store *s, uint32_t runs)
{
	struct forest *f = forest_new();

	for (uint32_t cycle = 1; cycle <= 3 * runs; cycle++) {
		struct switched w = { .cycle = cycle,
			.tracepoint = "p:learn",
			.text = "learning",
			.when = { cycle * INT64_C(1000000000) } };

		assert_int_equal(forest_switched(f, &w, NULL), 0);
		play(f, cycle);
		commit(s, f);
	}
	return f;
}

static uint32_t
prune_all(struct store *s, struct forest *f, int64_t before_ns, int64_t max_bytes)
{
	struct err e = { 0 };
	uint32_t n = 0;
	int gone;

	while ((gone = store_prune(s, f, (struct wall){ before_ns }, max_bytes, &e)) > 0) {
		assert_true(gone <= 16); /* a call removes few runs */
		n += (uint32_t)gone;
	}
	if (gone < 0)
		fail_msg("store_prune: %s", e.text);
	return n;
}

static void
old_runs_are_removed_and_the_file_shrinks(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = history(s, 60), *g;
	const struct switched *w;
	int64_t full_bytes;
	uint64_t at = 0;

	store_close(s); /* so that its log is in the file */
	full_bytes = size_of(p->path);
	s = open_store(p->path);
	forest_free(f);
	f = loaded(s, 0);
	assert_int_equal(prune_all(s, f, 0, 0), 0); /* without limits */
	assert_int_equal(prune_all(s, f, 31 * INT64_C(3000000000), 0), 30);
	assert_null(forest_run(f, 30));
	assert_non_null(forest_run(f, 31));
	assert_int_equal(forest_run_next(f, &at)->id, 31);
	at = 0;
	assert_non_null(w = forest_switched_next(f, "p:learn", &at));
	assert_int_equal(w->cycle, 93);
	assert_true(size_of(p->path) < full_bytes * 7 / 10); /* while it is open */
	g = loaded(s, 0);
	same_forest(f, g);
	forest_free(g);
	play(f, 181); /* the forest is still usable */
	commit(s, f);
	store_close(s);
	assert_int_equal(sql_integer(p->path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	assert_int_equal(
	    sql_integer(p->path, "SELECT (SELECT count(DISTINCT run) FROM evidence) * 1000"
				 " + (SELECT count(*) FROM verdict)"),
	    31060);
	s = open_store(p->path);
	g = loaded(s, 0);
	same_forest(f, g);
	forest_free(f);
	forest_free(g);
	store_close(s);
}

static void
runs_over_the_limit_are_removed_but_the_newest_of_each_type_stays(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = history(s, 60);
	int64_t half = sql_integer(p->path, "SELECT page_count * 4096 FROM pragma_page_count") / 2;
	uint32_t gone = prune_all(s, f, 0, half);

	assert_in_range(gone, 25, 40);
	assert_null(forest_run(f, gone)); /* the oldest ones */
	assert_non_null(forest_run(f, gone + 1));
	assert_true(
	    sql_integer(p->path, "SELECT page_count * 4096 FROM pragma_page_count") <= half);
	assert_int_equal(prune_all(s, f, 0, half), 0);
	assert_int_equal(prune_all(s, f, 0, 1) + gone, 58);
	assert_non_null(forest_run(f, 59));
	assert_non_null(forest_run(f, 60));
	assert_int_equal(prune_all(s, f, INT64_MAX, 0), 0);
	forest_free(f);
	store_close(s);
}

static void
what_later_runs_are_compared_with_stays(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = history(s, 20);

	for (uint64_t id = 3; id <= 9; id++) { /* the last ones are diagnoses */
		if (id <= 6)
			assert_true(hypothesis_text(&forest_run(f, id)->baseline, "1 2 3 4\n"));
		assert_true(hypothesis_text(&forest_run(f, id)->type, "A"));
		forest_run(f, id)->healthy = id <= 6;
		forest_touch_run(f, forest_run(f, id));
	}
	commit(s, f);
	prune_all(s, f, INT64_MAX, 0);
	assert_null(forest_run(f, 5));
	assert_null(forest_run(f, 8));
	assert_non_null(forest_run(f, 6)); /* the newest that has a baseline */
	assert_int_equal(forest_run_baseline(f, "A")->id, 6);
	forest_free(f);
	store_close(s);
}

static void
active_runs_stay_and_a_reader_does_not_block(void **state)
{
	struct place *p = *state;
	struct store *s = open_store(p->path);
	struct forest *f = history(s, 20);
	sqlite3 *db;

	forest_run(f, 3)->ended.ns = 0;
	forest_touch_run(f, forest_run(f, 3));
	commit(s, f);
	assert_int_equal(sqlite3_open(p->path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, "BEGIN; SELECT * FROM evidence", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(prune_all(s, f, INT64_MAX, 0), 17);
	assert_non_null(forest_run(f, 3));
	assert_int_equal(sql_integer(p->path, "SELECT count(*) FROM run"), 3);
	sqlite3_close(db);
	forest_free(f);
	store_close(s);
}

#define test(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(version_1_is_migrated_and_keeps_all_rows),
		test(version_3_keeps_every_sentence_and_reason),
		test(of_version_4_it_is_not_known_how_many_pass_the_edge),
		test(of_version_5_it_is_not_known_what_the_verdicts_leave),
		test(version_4_is_migrated_with_actions_of_hone_in_fields),
		test(version_5_is_migrated_and_knows_of_no_tails_and_baselines),
		test(version_2_is_migrated_and_has_an_audit),
		test(the_audit_is_pruned_by_age_and_by_size),
		test(old_runs_are_removed_and_the_file_shrinks),
		test(runs_over_the_limit_are_removed_but_the_newest_of_each_type_stays),
		test(what_later_runs_are_compared_with_stays),
		test(active_runs_stay_and_a_reader_does_not_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
