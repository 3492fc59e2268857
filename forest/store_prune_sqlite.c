/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deletes old diagnoses and returns their space to the file system. The controller calls this between
 * two cycles, so each call is one small transaction: a few runs, and a limited number of pages. A
 * passive checkpoint, which waits for no reader, then shortens the file; SQLite shortens the log when
 * it next starts it again (journal_size_limit).
 */
#include "forest/store_inside.h"

#include <stdio.h>

enum { RUNS_MAX = 4, SWITCHES_MAX = 4096, AUDITS_MAX = 4096, PAGES_MAX = 1024 }; /* of a call */
enum { AUDITS_KEPT = 1000 }; /* newest audit rows, kept whatever the size of the file */

struct prunable {
	uint64_t runs[RUNS_MAX];
	uint32_t n;
	struct wall before;       /* also switches of no run, and audit rows, before this */
	struct wall audit_before; /* and audit rows before this, if the file is too large */
	int64_t rows;             /* deleted */
};

int
store_newest(struct store *s, struct wall *ret, struct err *e)
{
	return database_integer(s->db, s->path, "SELECT max(when_ns) FROM audit", &ret->ns, e);
}

/* The used part of the file. */
static int
used_bytes(struct store *s, int64_t *ret, struct err *e)
{
	int64_t pages = 0, free_pages = 0, page_bytes = 0;
	int rc;

	if ((rc = database_integer(s->db, s->path, "PRAGMA page_count", &pages, e)) < 0 ||
	    (rc = database_integer(s->db, s->path, "PRAGMA freelist_count", &free_pages, e)) < 0 ||
	    (rc = database_integer(s->db, s->path, "PRAGMA page_size", &page_bytes, e)) < 0)
		return rc;
	*ret = (pages - free_pages) * page_bytes;
	return 0;
}

/* The oldest runs that have ended. The newest run of each type stays: the engine may hold it. So does what later runs of the
 * type are compared with: forest_run_baseline(). */
static int
choose(struct store *s, struct prunable *g, int64_t before_ns, struct err *e)
{
	static const char sql[] =
	    "SELECT id, ended_ns FROM run WHERE ended_ns <> 0 AND ended_ns < ?"
	    " AND id NOT IN (SELECT max(id) FROM run GROUP BY type)"
	    " AND id NOT IN (SELECT max(id) FROM run WHERE baseline <> '' GROUP BY type)"
	    " ORDER BY ended_ns, id LIMIT ?";
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(s->db, s->path, sql, &q, e), step = SQLITE_ERROR;

	if (rc == 0) {
		sqlite3_bind_int64(q, 1, before_ns);
		sqlite3_bind_int(q, 2, RUNS_MAX);
		while ((step = sqlite3_step(q)) == SQLITE_ROW) {
			g->runs[g->n++] = (uint64_t)sqlite3_column_int64(q, 0);
			g->before.ns = sqlite3_column_int64(q, 1);
		}
		if (step != SQLITE_DONE)
			rc = database_err(e, s->db, s->path);
	}
	sqlite3_finalize(q);
	return rc;
}

/* If no run can be deleted: the oldest audit rows, except the newest AUDITS_KEPT. */
static int
choose_audit(struct store *s, struct prunable *g, struct err *e)
{
	char sql[96];

	snprintf(sql, sizeof sql,
	    "SELECT (SELECT when_ns FROM audit ORDER BY when_ns DESC LIMIT 1 OFFSET %d)",
	    AUDITS_KEPT - 1);
	return database_integer(s->db, s->path, sql, &g->audit_before.ns, e);
}

static int
delete_with(
    struct store *s, struct prunable *g, const char *sql, int64_t a, int64_t b, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(s->db, s->path, sql, &q, e);

	if (rc == 0) {
		sqlite3_bind_int64(q, 1, a);
		sqlite3_bind_int64(q, 2, b);
		if (sqlite3_step(q) != SQLITE_DONE)
			rc = database_err(e, s->db, s->path);
		else
			g->rows += sqlite3_changes(s->db);
	}
	sqlite3_finalize(q);
	return rc;
}

static int
delete_rows(struct store *s, struct prunable *g, struct err *e)
{
	static const char *const sql[] = {
		"DELETE FROM evidence WHERE hypothesis IN (SELECT id FROM hypothesis WHERE run = ?1) AND ?2 = 0",
		"DELETE FROM switched WHERE run = ?1 AND ?2 = 0",
		"DELETE FROM verdict WHERE run = ?1 AND ?2 = 0",
		"DELETE FROM hypothesis WHERE run = ?1 AND ?2 = 0",
		"DELETE FROM run WHERE id = ?1 AND ?2 = 0",
	};
	int rc = 0;

	for (uint32_t i = 0; i < g->n; i++)
		for (unsigned t = 0; t < sizeof sql / sizeof sql[0] && rc == 0; t++)
			rc = delete_with(s, g, sql[t], (int64_t)g->runs[i], 0, e);
	if (rc == 0)
		rc = delete_with(s, g,
		    "DELETE FROM switched WHERE rowid IN"
		    " (SELECT rowid FROM switched WHERE run IS NULL AND when_ns < ?1 LIMIT ?2)",
		    g->before.ns, SWITCHES_MAX, e);
	if (rc == 0)
		rc = delete_with(s, g,
		    "DELETE FROM audit WHERE rowid IN"
		    " (SELECT rowid FROM audit WHERE when_ns < ?1 ORDER BY when_ns LIMIT ?2)",
		    g->before.ns > g->audit_before.ns ? g->before.ns : g->audit_before.ns,
		    AUDITS_MAX, e);
	return rc;
}

static int
vacuum_some(struct store *s, struct err *e)
{
	int64_t free_pages = 0;
	char sql[64];
	int rc = database_integer(s->db, s->path, "PRAGMA freelist_count", &free_pages, e);

	if (rc < 0 || free_pages == 0)
		return rc;
	snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%d)", PAGES_MAX);
	if ((rc = database_exec(s->db, s->path, sql, e)) == 0)
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
		    NULL); /* on failure the next call does it */
	return rc;
}

static int
prune(struct store *s, struct forest *f, struct prunable *g, struct wall before, int64_t max_bytes,
    struct err *e)
{
	int64_t bytes = 0;
	int rc;

	g->before = before;
	if (before.ns != 0 && (rc = choose(s, g, before.ns, e)) < 0)
		return rc;
	if (g->n == 0 && max_bytes > 0 &&
	    ((rc = used_bytes(s, &bytes, e)) < 0 ||
		(bytes > max_bytes && (rc = choose(s, g, INT64_MAX, e)) < 0)))
		return rc;
	if (g->n == 0 && max_bytes > 0 && bytes > max_bytes && (rc = choose_audit(s, g, e)) < 0)
		return rc;
	if (g->before.ns < before.ns)
		g->before = before;
	if ((rc = store_begin(s, e)) < 0 || (rc = store_end(s, delete_rows(s, g, e), e)) < 0)
		return rc;
	if (g->rows > 0)
		forest_forget(f, g->runs, g->n, g->before);
	return vacuum_some(s, e);
}

/*
 * References are not checked meanwhile: rows that refer to a row of a run are of the same run, and
 * without an index for each reference SQLite would scan the other tables for each deleted row.
 */
int
store_prune(struct store *s, struct forest *f, struct wall before, int64_t max_bytes, struct err *e)
{
	struct prunable g = { .n = 0 };
	int rc;

	if (!s->loaded)
		return err_set(e, ERR_STORE, "%s: has diagnoses that were not loaded", s->path);
	if ((rc = database_exec(s->db, s->path, "PRAGMA foreign_keys = OFF", e)) < 0)
		return rc;
	rc = store_failed(s, prune(s, f, &g, before, max_bytes, e), e);
	sqlite3_exec(s->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
	return rc < 0 ? rc : (int)g.n;
}
