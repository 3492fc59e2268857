/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forest/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

static bool
disk_full(sqlite3 *db)
{
	int no = sqlite3_system_errno(db);

	if ((sqlite3_errcode(db) & 0xff) == SQLITE_FULL)
		return true;
	return (sqlite3_errcode(db) & 0xff) == SQLITE_IOERR && (no == ENOSPC || no == EDQUOT);
}

int
database_err(struct err *e, sqlite3 *db, const char *path)
{
	if (db == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	if (disk_full(db))
		return err_set(e, ERR_FULL, "%s: no space left on its disk; free some", path);
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_NOMEM:
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	case SQLITE_BUSY:
		return err_set(e, ERR_BUSY,
		    "%s: locked by another program; end the program that has it open", path);
	case SQLITE_NOTADB:
		return err_set(e, ERR_STORE,
		    "%s: is not a database; name another file, or move this one away", path);
	case SQLITE_CORRUPT:
		return err_set(e, ERR_STORE,
		    "%s: is damaged (%s); put a copy in its place, or move it away to begin anew",
		    path, sqlite3_errmsg(db));
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return err_set(e, ERR_STORE,
		    "%s: %s; check that it and its folder are readable and writable", path,
		    sqlite3_errmsg(db));
	case SQLITE_IOERR:
		return err_set(e, ERR_STORE, "%s: %s (%s)", path, sqlite3_errmsg(db),
		    strerror(sqlite3_system_errno(db)));
	default:
		return err_set(e, ERR_STORE, "%s: %s", path, sqlite3_errmsg(db));
	}
}

int
database_exec(sqlite3 *db, const char *path, const char *sql, struct err *e)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : database_err(e, db, path);
}

int
database_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret, struct err *e)
{
	return sqlite3_prepare_v2(db, sql, -1, ret, NULL) == SQLITE_OK ? 0
	                                                               : database_err(e, db, path);
}

int
database_integer(sqlite3 *db, const char *path, const char *sql, int64_t *ret, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(db, path, sql, &q, e);

	if (rc == 0 && sqlite3_step(q) == SQLITE_ROW)
		*ret = sqlite3_column_int64(q, 0);
	else if (rc == 0)
		rc = database_err(e, db, path);
	sqlite3_finalize(q);
	return rc;
}

int
database_identify(sqlite3 *db, const char *path, const char *what, int32_t application, int newest,
    int *version, struct err *e)
{
	int64_t id = 0, has = 0, tables = 0;
	int rc;

	if ((rc = database_integer(db, path, "PRAGMA application_id", &id, e)) < 0 ||
	    (rc = database_integer(db, path, "PRAGMA user_version", &has, e)) < 0 ||
	    (rc = database_integer(db, path, "SELECT count(*) FROM sqlite_schema", &tables, e)) < 0)
		return rc;
	*version = 0;
	if (id == 0 && has == 0 && tables == 0)
		return 0;
	if (id != application)
		return err_set(e, ERR_STORE,
		    "%s: is a database, but not a %s of Hone; name another file", path, what);
	if (has > newest)
		return err_set(e, ERR_VERSION,
		    "%s: was written by a newer Hone (schema %lld; this one knows up to %d); "
		    "update this one, or name another file",
		    path, (long long)has, newest);
	if (has < 1)
		return err_set(e, ERR_STORE,
		    "%s: is damaged (schema %lld); put a copy in its place, or move it away to "
		    "begin anew",
		    path, (long long)has);
	*version = (int)has;
	return 0;
}

int
database_check(sqlite3 *db, const char *path, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(db, path, "PRAGMA quick_check(1)", &q, e);
	const char *words;

	if (rc == 0 && sqlite3_step(q) != SQLITE_ROW)
		rc = database_err(e, db, path);
	else if (rc == 0 && (words = (const char *)sqlite3_column_text(q, 0)) != NULL &&
		 strcmp(words, "ok") != 0)
		rc = err_set(e, ERR_STORE,
		    "%s: is damaged (%.200s); put a copy in its place, or move it away to begin anew",
		    path, words);
	sqlite3_finalize(q);
	return rc;
}
