/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/healthy_store.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forest/database.h"

enum { SCHEMA = 2, BUSY_MS = 2000 };

static const char SCHEMA_SQL[] =
    "DROP TABLE IF EXISTS healthy;" /* of version 1: without excesses */
    "CREATE TABLE healthy ("
    " id INTEGER PRIMARY KEY, service TEXT NOT NULL, type TEXT NOT NULL, shape TEXT NOT NULL, window_ns INTEGER NOT NULL,"
    " begin_ns INTEGER NOT NULL, requests INTEGER NOT NULL, per_second REAL NOT NULL,"
    " mean_ns REAL NOT NULL, log_ns BLOB NOT NULL) STRICT;"
    "CREATE INDEX healthy_type ON healthy (service, type, shape, id);";

enum query { QUERY_LOAD, QUERY_ADD, QUERY_TRIM, QUERY_FORGET, QUERIES };
static const char *const sql_of[QUERIES] = {
	"SELECT begin_ns, requests, per_second, mean_ns, log_ns FROM healthy"
	" WHERE service = ?1 AND type = ?2 AND shape = ?3 AND window_ns = ?4 ORDER BY id",
	"INSERT INTO healthy (service, type, shape, window_ns, begin_ns, requests, per_second, mean_ns, log_ns)"
	" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	"DELETE FROM healthy WHERE id <= (SELECT id FROM healthy WHERE service = ?1 AND type = ?2 AND shape = ?3"
	" ORDER BY id DESC LIMIT 1 OFFSET ?4) AND service = ?1 AND type = ?2 AND shape = ?3",
	"DELETE FROM healthy WHERE service = ?1 AND type = ?2",
};

struct healthy_store {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *queries[QUERIES];
};

void
healthy_store_close(struct healthy_store *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < QUERIES; i++)
		sqlite3_finalize(s->queries[i]);
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

static int
make_schema(struct healthy_store *s, struct err *e)
{
	char stamp[100];
	int rc;

	sqlite3_snprintf(sizeof stamp, stamp,
	    "PRAGMA application_id = %d; PRAGMA user_version = %d", DATABASE_HEALTHY, SCHEMA);
	if ((rc = database_exec(s->db, s->path, "BEGIN IMMEDIATE", e)) < 0)
		return rc;
	if ((rc = database_exec(s->db, s->path, SCHEMA_SQL, e)) == 0 &&
	    (rc = database_exec(s->db, s->path, stamp, e)) == 0)
		return database_exec(s->db, s->path, "COMMIT", e);
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int
open_file(struct healthy_store *s, struct err *e)
{
	int version, rc;

	if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK)
		return database_err(e, s->db, s->path);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	if ((rc = database_identify(s->db, s->path, "file of healthy response times",
		 DATABASE_HEALTHY, SCHEMA, &version, e)) < 0)
		return rc;
	rc = version < SCHEMA ? make_schema(s, e) : database_check(s->db, s->path, e);
	if (rc == 0)
		rc = database_exec(s->db, s->path,
		    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
		    "DELETE FROM healthy WHERE (service, type, shape) NOT IN (SELECT service, type, shape FROM healthy"
		    " WHERE begin_ns > (strftime('%s', 'now') - 30 * 86400) * 1000000000)",
		    e);
	for (unsigned i = 0; rc == 0 && i < QUERIES; i++)
		rc = database_prepare(s->db, s->path, sql_of[i], &s->queries[i], e);
	return rc;
}

int
healthy_store_open(struct healthy_store **ret, const char *path, struct err *e)
{
	struct healthy_store *s = calloc(1, sizeof *s);
	int rc;

	if (s == NULL || (s->path = strdup(path)) == NULL) {
		free(s);
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	}
	if ((rc = open_file(s, e)) < 0) {
		healthy_store_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* ---- rows ---- */

/* The query with service, type and, but for FORGET, the shape bound. */
static sqlite3_stmt *
query(struct healthy_store *s, enum query which, const struct healthy_key *of)
{
	sqlite3_stmt *q = s->queries[which];
	char shape[33] = "";

	if (of->group != NULL)
		snprintf(shape, sizeof shape, "%016llx%016llx", (unsigned long long)of->group->a,
		    (unsigned long long)of->group->b);
	sqlite3_reset(q);
	sqlite3_bind_text(q, 1, of->service, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(q, 2, of->type, -1, SQLITE_TRANSIENT);
	if (which != QUERY_FORGET)
		sqlite3_bind_text(q, 3, shape, -1, SQLITE_TRANSIENT);
	return q;
}

static int
run(struct healthy_store *s, sqlite3_stmt *q, struct err *e)
{
	int rc = sqlite3_step(q) == SQLITE_DONE ? 0 : database_err(e, s->db, s->path);

	sqlite3_reset(q);
	return rc;
}

/* False: the row holds values that no window has. */
static bool
window_of(sqlite3_stmt *q, struct latency_window *w)
{
	*w = (struct latency_window){ .begin = { sqlite3_column_int64(q, 0) },
		.requests = (uint64_t)sqlite3_column_int64(q, 1),
		.per_second = sqlite3_column_double(q, 2),
		.mean_ns = sqlite3_column_double(q, 3) };
	if (sqlite3_column_bytes(q, 4) != sizeof w->log_ns || w->requests == 0 ||
	    !(w->per_second >= 0 && isfinite(w->per_second)) ||
	    !(w->mean_ns >= 0 && isfinite(w->mean_ns)))
		return false;
	memcpy(w->log_ns, sqlite3_column_blob(q, 4), sizeof w->log_ns);
	for (unsigned i = 0; i < RANGE_VALUES; i++)
		if (!isfinite(w->log_ns[i]))
			return false;
	return true;
}

int
healthy_store_load(struct healthy_store *s, const struct healthy_key *of, int64_t window_ns,
    struct healthy_range *h, struct err *e)
{
	sqlite3_stmt *q = query(s, QUERY_LOAD, of);
	struct latency_window w;
	int rc = 0, step = SQLITE_DONE;

	sqlite3_bind_int64(q, 4, window_ns);
	while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW)
		if (window_of(q, &w))
			rc = healthy_range_add(h, &w, e);
	if (rc == 0 && step != SQLITE_DONE)
		rc = database_err(e, s->db, s->path);
	sqlite3_reset(q);
	return rc;
}

int
healthy_store_begin(struct healthy_store *s, struct err *e)
{
	return database_exec(s->db, s->path, "BEGIN IMMEDIATE", e);
}

int
healthy_store_add(struct healthy_store *s, const struct healthy_key *of, int64_t window_ns,
    const struct latency_window *w, struct err *e)
{
	sqlite3_stmt *q = query(s, QUERY_ADD, of);
	int rc;

	sqlite3_bind_int64(q, 4, window_ns);
	sqlite3_bind_int64(q, 5, w->begin.ns);
	sqlite3_bind_int64(q, 6, (int64_t)w->requests);
	sqlite3_bind_double(q, 7, w->per_second);
	sqlite3_bind_double(q, 8, w->mean_ns);
	sqlite3_bind_blob(q, 9, w->log_ns, sizeof w->log_ns, SQLITE_TRANSIENT);
	if ((rc = run(s, q, e)) < 0)
		return rc;
	q = query(s, QUERY_TRIM, of);
	sqlite3_bind_int(q, 4, RANGE_WINDOWS_MAX);
	return run(s, q, e);
}

int
healthy_store_forget(struct healthy_store *s, const char *service, const char *type, struct err *e)
{
	return run(s, query(s, QUERY_FORGET, &(struct healthy_key){ service, type, NULL }), e);
}

int
healthy_store_end(struct healthy_store *s, struct err *e)
{
	int rc = database_exec(s->db, s->path, "COMMIT", e);

	if (rc < 0)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}
