/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every SQLite file of ours needs: to be known as ours, of which version
 * and undamaged, and words for what goes wrong. A file says what it is by its
 * application_id, and which schema it has by its user_version.
 */
#ifndef FOREST_DATABASE_H
#define FOREST_DATABASE_H

#include <stdint.h>

#include "base/err.h"

struct sqlite3;
struct sqlite3_stmt;

enum { DATABASE_FOREST = 0x486f6e65, DATABASE_SPACE = 0x486f6e73 }; /* "Hone", "Hons" */

/* What `db` says went wrong last, as code and words with what to do: ERR_FULL, ERR_BUSY,
 * ERR_MEMORY, ERR_STORE. */
int database_err(struct err *e, struct sqlite3 *db, const char *path);
/* One or more statements without results. */
int database_exec(struct sqlite3 *db, const char *path, const char *sql, struct err *e);
/* The one integer that a statement yields (NULL is 0). */
int database_integer(
    struct sqlite3 *db, const char *path, const char *sql, int64_t *ret, struct err *e);
/* A statement, until sqlite3_finalize(). */
int database_prepare(struct sqlite3 *db, const char *path, const char *sql,
    struct sqlite3_stmt **ret, struct err *e);

/* Is it what it ought to be? *version: of its schema, 0: a new or empty file. Reads only.
 * ERR_STORE: no database, or another application's; ERR_VERSION: newer than `newest`. `what` names
 * what was expected: "hypothesis forest". */
int database_identify(struct sqlite3 *db, const char *path, const char *what, int32_t application,
    int newest, int *version, struct err *e);
/* Is it whole? ERR_STORE with what is not. O(size). */
int database_check(struct sqlite3 *db, const char *path, struct err *e);

#endif
