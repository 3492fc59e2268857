/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A database that is a copy of another one, kept by a log of its rows; and what is read of the other one. The place in the log stands in a table
 * of its own, log_place, which only databases have that were used with a log.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forest/store_inside.h"

/* ---- a snapshot ---- */

struct store_snapshot {
	char *path;
	sqlite3 *db;
	sqlite3_stmt *rows; /* of the present table; NULL: not begun */
	enum store_table table;
};

void
store_snapshot_close(struct store_snapshot *s)
{
	if (s == NULL)
		return;
	sqlite3_finalize(s->rows);
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

int
store_snapshot_open(struct store_snapshot **ret, const char *path, struct err *e)
{
	struct store_snapshot *s = calloc(1, sizeof *s);
	int64_t n;
	int rc;

	if (s == NULL || (s->path = strdup(path)) == NULL)
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", path);
	else if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		rc = database_err(e, s->db, path);
	else if ((rc = database_exec(s->db, path, "BEGIN", e)) == 0) /* the first look fixes it */
		rc = database_integer(s->db, path, "SELECT count(*) FROM sqlite_schema", &n, e);
	if (rc < 0) {
		store_snapshot_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static int
begin_table(struct store_snapshot *s, struct err *e)
{
	struct buf b = { 0 };
	int rc;

	row_select(&b, s->table, STORE_SCHEMA, "");
	buf_printf(&b, " ORDER BY it.rowid");
	buf_u8(&b, 0);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", s->path)
	              : database_prepare(s->db, s->path, (const char *)b.data, &s->rows, e);
	buf_release(&b);
	return rc;
}

int
store_snapshot_next(struct store_snapshot *s, size_t max_bytes, struct buf *out, struct err *e)
{
	size_t begin = out->len;
	union store_row row;
	int rc = 0;

	while (s->table < TABLES && out->len - begin < max_bytes) {
		int step;

		if (s->rows == NULL && (rc = begin_table(s, e)) < 0)
			return rc;
		if ((step = sqlite3_step(s->rows)) == SQLITE_ROW) {
			memset(&row, 0, sizeof row);
			if (!row_read(s->rows, s->table, &row))
				return err_set(e, ERR_MEMORY, "%s: out of memory", s->path);
			row_encode(s->table, &row, out);
			row_release(s->table, &row);
			continue;
		}
		if (step != SQLITE_DONE)
			return database_err(e, s->db, s->path);
		sqlite3_finalize(s->rows);
		s->rows = NULL;
		s->table++;
	}
	if (out->failed)
		return err_set(e, ERR_MEMORY, "%s: out of memory", s->path);
	return s->table < TABLES;
}

/* ---- the place ---- */

int
store_write_place(struct store *s, const struct store_place *p, struct err *e)
{
	char sql[300];

	/* Made in the transaction of the first note, so it is never there without one. */
	snprintf(sql, sizeof sql,
	    "CREATE TABLE IF NOT EXISTS log_place (one INTEGER PRIMARY KEY CHECK (one = 1), term INTEGER NOT NULL,"
	    " run INTEGER NOT NULL, number INTEGER NOT NULL) STRICT;"
	    "INSERT OR REPLACE INTO log_place VALUES (1, %lld, %lld, %lld)",
	    (long long)p->term, (long long)p->run, (long long)p->number);
	return store_failed(s, database_exec(s->db, s->path, sql, e), e);
}

static int
read_place(struct store *s, const char *column, uint64_t *ret, struct err *e)
{
	char sql[80];
	int64_t n = 0;
	int rc;

	snprintf(sql, sizeof sql, "SELECT max(%s) FROM log_place", column);
	rc = store_failed(s, database_integer(s->db, s->path, sql, &n, e), e);
	*ret = (uint64_t)n;
	return rc;
}

int
store_place(struct store *s, struct store_place *ret, struct err *e)
{
	int64_t has = 0;
	int rc = store_failed(s,
	    database_integer(s->db, s->path,
		"SELECT count(*) FROM sqlite_schema WHERE name = 'log_place'", &has, e),
	    e);

	*ret = (struct store_place){ 0 };
	if (rc < 0 || has == 0)
		return rc;
	if ((rc = read_place(s, "term", &ret->term, e)) == 0 &&
	    (rc = read_place(s, "run", &ret->run, e)) == 0)
		rc = read_place(s, "number", &ret->number, e);
	return rc;
}

void
store_note_place(struct store *s, const struct store_place *p)
{
	s->notes = true;
	s->place = *p;
}

/* ---- the copy ---- */

int
store_relax(struct store *s, struct err *e)
{
	return store_failed(s, database_exec(s->db, s->path, "PRAGMA synchronous = NORMAL", e), e);
}

static int
put_all(struct store *s, const void *rows, size_t len, int schema, struct err *e)
{
	struct reader r = reader_of(rows, len);
	struct arena a = { 0 };
	int rc = 0;

	if (schema < 1 || schema > STORE_SCHEMA)
		return err_set(e, schema < 1 ? ERR_INPUT : ERR_VERSION,
		    "%s: rows of schema %d came; this honed knows up to %d", s->path, schema,
		    STORE_SCHEMA);
	while (rc == 0 && reader_left(&r) > 0) {
		enum store_table t;
		union store_row row;

		if ((rc = row_decode(&r, schema, &t, &row, &a, e)) == 0)
			rc = row_put(s, t, &row, e);
		arena_reset(&a);
	}
	arena_release(&a);
	return rc;
}

int
store_put_rows(struct store *s, const void *rows, size_t len, int schema,
    const struct store_place *at, struct err *e)
{
	int rc = store_begin(s, e);

	if (rc < 0)
		return rc;
	if ((rc = put_all(s, rows, len, schema, e)) == 0)
		rc = store_write_place(s, at, e);
	return store_end(s, rc, e);
}

static int
before_log(const struct store *s, char **path, char **fresh, struct err *e)
{
	*fresh = NULL;
	if (asprintf(path, "%s.before-log", s->path) < 0)
		*path = NULL;
	else if (asprintf(fresh, "%s.before-log.new", s->path) < 0)
		*fresh = NULL;
	return *fresh != NULL ? 0 : err_set(e, ERR_MEMORY, "%s: out of memory", s->path);
}

/* Rows that came from no log are lost when the log's take their place. They get their name when these are complete (name_own()): a state that
 * is undone must not stand in the way of the next one. */
static int
keep_own(struct store *s, struct err *e)
{
	struct store_place at;
	int64_t rows = 0;
	char *sql = NULL, *to, *fresh;
	int rc;

	s->kept = false;
	if ((rc = store_place(s, &at, e)) < 0 ||
	    (rc = database_integer(s->db, s->path,
		 "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM audit)", &rows, e)) <
		0 ||
	    at.term != 0 || rows == 0)
		return rc;
	if ((rc = before_log(s, &to, &fresh, e)) < 0)
		goto out;
	if (access(to, F_OK) == 0)
		rc = err_set(e, ERR_STORE,
		    "%s: has diagnoses of its own, which those of the log would replace, and %s exists already; move one of them away",
		    s->path, to);
	else if (unlink(fresh) != 0 && errno != ENOENT)
		rc = err_errno(e, "%s", fresh);
	else if ((sql = sqlite3_mprintf("VACUUM INTO %Q", fresh)) == NULL)
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", s->path);
	else
		rc = database_exec(s->db, s->path, sql, e);
	s->kept = rc == 0;
out:
	sqlite3_free(sql);
	free(fresh);
	free(to);
	return rc;
}

static int
name_own(struct store *s, struct err *e)
{
	char *to, *fresh;
	int rc = before_log(s, &to, &fresh, e);

	if (rc == 0 && rename(fresh, to) != 0)
		rc = err_errno(e, "%s", fresh);
	s->kept = false;
	free(fresh);
	free(to);
	return rc;
}

int
store_replace_begin(struct store *s, struct err *e)
{
	struct buf b = { 0 };
	int rc = keep_own(s, e);

	if (rc < 0 || (rc = store_begin(s, e)) < 0)
		return rc;
	s->replaces = true;
	for (int t = TABLES - 1; t >= 0; t--)
		buf_printf(&b, "DELETE FROM %s;", store_tables[t].name);
	buf_u8(&b, 0);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", s->path)
	              : database_exec(s->db, s->path, (const char *)b.data, e);
	buf_release(&b);
	return store_failed(s, rc, e);
}

int
store_replace_rows(struct store *s, const void *rows, size_t len, int schema, struct err *e)
{
	return put_all(s, rows, len, schema, e);
}

int
store_replace_end(struct store *s, const struct store_place *at, struct err *e)
{
	int rc;

	s->replaces = false;
	if ((rc = store_end(s, store_write_place(s, at, e), e)) == 0 && s->kept)
		rc = name_own(s, e);
	return rc;
}

void
store_replace_undo(struct store *s)
{
	if (s->replaces)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->replaces = false;
}

/* ---- any file ---- */

int
database_image(struct buf *ret, const char *path, size_t max_bytes, struct err *e)
{
	sqlite3 *db = NULL;
	sqlite3_int64 size = 0;
	unsigned char *image = NULL;
	int64_t pages = 0, page_bytes = 0;
	int rc;

	if (access(path, F_OK) != 0)
		return err_set(e, ERR_MISSING, "%s: %s", path, strerror(errno));
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		rc = database_err(e, db, path);
	else if ((rc = database_exec(db, path, "BEGIN", e)) == 0 &&
		 (rc = database_integer(db, path, "PRAGMA page_count", &pages, e)) == 0 &&
		 (rc = database_integer(db, path, "PRAGMA page_size", &page_bytes, e)) == 0) {
		if (pages > (int64_t)max_bytes / (page_bytes > 0 ? page_bytes : 1))
			rc = err_set(e, ERR_FULL, "%s: has over %zu bytes", path, max_bytes);
		else if ((image = sqlite3_serialize(db, "main", &size, 0)) == NULL)
			rc = err_set(e, ERR_STORE, "%s: cannot be read as a whole", path);
		else
			buf_bytes(ret, image, (size_t)size);
	}
	sqlite3_free(image);
	sqlite3_close(db);
	return rc == 0 && ret->failed ? err_set(e, ERR_MEMORY, "%s: out of memory", path) : rc;
}
