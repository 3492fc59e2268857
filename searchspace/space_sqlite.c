/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file of a space is an SQLite database, so that it can be inspected with common tools.
 * This file has what reading and writing share.
 */
#include "searchspace/space_file.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CELL_MAX_BYTES = 1 << 16 };

/* Views that show each schema as the next one. The existing file is never changed; saving
 * writes a new one in the newest schema. */
static const char *const step_from[SPACE_SCHEMA] = {
	[1] =
	    "CREATE TEMP VIEW version AS SELECT 0 AS id, '' AS name, 0 AS fingerprint, 0 AS learned_ns;"
	    "CREATE TEMP VIEW label AS SELECT 0 AS version, id, text, kind FROM main.label;"
	    "CREATE TEMP VIEW field AS SELECT 0 AS version, label, number, name FROM main.field;"
	    "CREATE TEMP VIEW type AS SELECT 0 AS version, id, label, traces FROM main.type;"
	    "CREATE TEMP VIEW place AS SELECT 0 AS version, id, type, unit, span, label, traces, count, offset_ns, first,"
	    " last FROM main.place;"
	    "CREATE TEMP VIEW step AS SELECT 0 AS version, id, from_place, to_place, count, mean_ns FROM main.step;"
	    "CREATE TEMP VIEW concurrency AS SELECT 0 AS version, 0 AS id, 0 AS place, 0 AS unit, 0 AS count WHERE 0;"
	    "CREATE TEMP VIEW place_key AS SELECT 0 AS version, 0 AS id, 0 AS place, 0 AS field, 0 AS type, 0 AS count,"
	    " 0.0 AS low, 0.0 AS high, x'' AS texts WHERE 0;",
};

int
space_damaged(struct err *e, const char *path, const char *what, long long id)
{
	return err_set(e, ERR_STORE,
	    "%s: is damaged (%s %lld); put a copy in its place, or move it away and learn again",
	    path, what, id);
}

int
space_open(sqlite3 **db, const char *path, int *schema, struct err *e)
{
	struct stat st;
	int rc;

	*db = NULL;
	/* Opening a pipe would block until another process writes to it. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return err_set(e, ERR_STORE, "%s: is not a regular file", path);
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return database_err(e, *db, path);
	sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, CELL_MAX_BYTES);
	sqlite3_busy_timeout(*db, 2000);
	rc = database_identify(*db, path, "search space", DATABASE_SPACE, SPACE_SCHEMA, schema, e);
	for (int i = *schema; rc == 0 && i > 0 && i < SPACE_SCHEMA; i++)
		rc = database_exec(*db, path, step_from[i], e);
	return rc;
}

static bool
read_version(struct space_version *ret, sqlite3_stmt *q)
{
	const char *name = (const char *)sqlite3_column_text(q, 1);

	*ret = (struct space_version){
		.fingerprint = (uint64_t)sqlite3_column_int64(q, 2),
		.learned_ns = sqlite3_column_int64(q, 3),
		.traces = (uint64_t)sqlite3_column_int64(q, 4),
	};
	if (name == NULL || (size_t)sqlite3_column_bytes(q, 1) >= sizeof ret->name ||
	    strlen(name) != (size_t)sqlite3_column_bytes(q, 1))
		return false;
	strcpy(ret->name, name);
	return true;
}

int
space_list(struct space_version **ret, int64_t **ids, uint32_t *n, sqlite3 *db, const char *path,
    struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(db, path,
	    "SELECT id, name, fingerprint, learned_ns, (SELECT CAST(total(traces) AS"
	    " INTEGER) FROM type WHERE type.version = version.id) FROM version ORDER BY learned_ns DESC, id DESC",
	    &q, e);
	int step = SQLITE_DONE;

	*n = 0;
	*ret = calloc(SPACE_VERSIONS_MAX, sizeof **ret);
	*ids = calloc(SPACE_VERSIONS_MAX, sizeof **ids);
	if (rc == 0 && (*ret == NULL || *ids == NULL))
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", path);
	while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
		(*ids)[*n] = sqlite3_column_int64(q, 0);
		if (*n + 1 == SPACE_VERSIONS_MAX || !read_version(&(*ret)[*n], q))
			rc = space_damaged(e, path, "version", (*ids)[*n]);
		++*n;
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = database_err(e, db, path);
	sqlite3_finalize(q);
	return rc;
}

int
space_versions(struct space_version **ret, uint32_t *n, const char *path, struct err *e)
{
	sqlite3 *db = NULL;
	int64_t *ids = NULL;
	int schema, rc;

	*ret = NULL;
	*n = 0;
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return err_set(e, ERR_MISSING, "%s: no such file", path);
	rc = space_open(&db, path, &schema, e);
	if (rc == 0 && schema == 0)
		rc = err_set(e, ERR_STORE, "%s: is empty; move it away and learn again", path);
	if (rc == 0 && (rc = database_check(db, path, e)) == 0)
		rc = space_list(ret, &ids, n, db, path, e);
	sqlite3_close(db);
	free(ids);
	if (rc < 0) {
		free(*ret);
		*ret = NULL;
		*n = 0;
	}
	return rc;
}
