/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Old diagnoses go, and the disk gets their space back. A controller calls this
 * between two cycles, so a call is one small transaction, whatever there is to
 * be done: a few runs, and so many pages. A checkpoint that does not wait for
 * anybody then shortens the file; SQLite shortens the log when it next begins
 * it anew (journal_size_limit).
 */
#include "forest/store_inside.h"

#include <stdio.h>

enum { RUNS_MAX = 4, SWITCHES_MAX = 4096, AUDITS_MAX = 4096, PAGES_MAX = 1024 }; /* of a call */
enum { AUDITS_KEPT = 1000 }; /* however large the file */

struct goes {
	uint64_t runs[RUNS_MAX];
	uint32_t n;
	struct wall before;       /* switches of no run, and audit, before this go as well */
	struct wall audit_before; /* and audit before this, the file being too large */
	int64_t rows;             /* that went */
};

/* What of the file is in use; the rest can be given back. */
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

/* The newest run of each type stays: what is asked for most, and what an engine may still hold. */
static int
choose(struct store *s, struct goes *g, int64_t before_ns, struct err *e)
{
	static const char sql[] =
	    "SELECT id, ended_ns FROM run WHERE ended_ns <> 0 AND ended_ns < ?"
	    " AND id NOT IN (SELECT max(id) FROM run GROUP BY type) ORDER BY ended_ns, id LIMIT ?";
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

/* No run can go: then the oldest of the audit, but for some. */
static int
choose_audit(struct store *s, struct goes *g, struct err *e)
{
	char sql[96];

	snprintf(sql, sizeof sql,
	    "SELECT (SELECT when_ns FROM audit ORDER BY when_ns DESC LIMIT 1 OFFSET %d)",
	    AUDITS_KEPT - 1);
	return database_integer(s->db, s->path, sql, &g->audit_before.ns, e);
}

static int
delete_with(struct store *s, struct goes *g, const char *sql, int64_t a, int64_t b, struct err *e)
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
delete_all(struct store *s, struct goes *g, struct err *e)
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
give_back(struct store *s, struct err *e)
{
	int64_t free_pages = 0;
	char sql[64];
	int rc = database_integer(s->db, s->path, "PRAGMA freelist_count", &free_pages, e);

	if (rc < 0 || free_pages == 0)
		return rc;
	snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%d)", PAGES_MAX);
	if ((rc = database_exec(s->db, s->path, sql, e)) == 0)
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
		    NULL); /* else the next one does */
	return rc;
}

static int
prune(struct store *s, struct forest *f, struct goes *g, struct wall before, int64_t max_bytes,
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
	if ((rc = store_begin(s, e)) < 0 || (rc = store_end(s, delete_all(s, g, e), e)) < 0)
		return rc;
	if (g->rows > 0)
		forest_forget(f, g->runs, g->n, g->before);
	return give_back(s, e);
}

/*
 * References are not checked meanwhile: all that refers to a row of a run is of
 * the same run, and without an index for each reference each row deleted would
 * be looked for in all the others.
 */
int
store_prune(struct store *s, struct forest *f, struct wall before, int64_t max_bytes, struct err *e)
{
	struct goes g = { .n = 0 };
	int rc;

	if (!s->loaded)
		return err_set(e, ERR_STORE, "%s: holds diagnoses that were not loaded", s->path);
	if ((rc = database_exec(s->db, s->path, "PRAGMA foreign_keys = OFF", e)) < 0)
		return rc;
	rc = store_failed(s, prune(s, f, &g, before, max_bytes, e), e);
	sqlite3_exec(s->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
	return rc < 0 ? rc : (int)g.n;
}
