/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions for all SQLite files of Hone: the identity and version of a file, its integrity, and error
 * texts. A file has its kind in application_id and its schema in user_version.
 */
#ifndef FOREST_DATABASE_H
#define FOREST_DATABASE_H

#include <stdint.h>

#include "base/err.h"

struct sqlite3;
struct sqlite3_stmt;

enum {
	DATABASE_FOREST = 0x486f6e65,
	DATABASE_SPACE = 0x486f6e73,
	DATABASE_HEALTHY = 0x486f6e68
}; /* "Hone", "Hons", "Honh" */

/* The last error of `db` as code and text: ERR_FULL, ERR_BUSY, ERR_MEMORY (also db NULL) or
 * ERR_STORE. Returns the code. */
int database_err(struct err *e, struct sqlite3 *db, const char *path);
/* Executes one or more statements without results. */
int database_exec(struct sqlite3 *db, const char *path, const char *sql, struct err *e);
/* The integer in the first row of a statement (NULL is 0). No row is an error. */
int database_integer(
    struct sqlite3 *db, const char *path, const char *sql, int64_t *ret, struct err *e);
/* Prepares a statement; the caller ends it by sqlite3_finalize(). */
int database_prepare(struct sqlite3 *db, const char *path, const char *sql,
    struct sqlite3_stmt **ret, struct err *e);

/* Checks the kind of a file; reads only. *version: its schema; 0: a new or empty file. ERR_STORE: not
 * a database, of another application, or a schema below 1; ERR_VERSION: newer than `newest`. `what`
 * names the kind in texts: "hypothesis forest". */
int database_identify(struct sqlite3 *db, const char *path, const char *what, int32_t application,
    int newest, int *version, struct err *e);
/* Checks the integrity of a file (PRAGMA quick_check). ERR_STORE: damaged. O(size). */
int database_check(struct sqlite3 *db, const char *path, struct err *e);

#endif
