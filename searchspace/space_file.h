/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reading and writing a space's file share: opening it, and which versions it has. */
#ifndef SEARCHSPACE_SPACE_FILE_H
#define SEARCHSPACE_SPACE_FILE_H

#include "forest/database.h"
#include "searchspace/graph.h"

enum { SPACE_SCHEMA = 2, SPACE_VERSIONS_MAX = 4096 };

/* As the newest schema shows it, whichever it has: what it must take to look so is done in memory.
 * *schema 0: it is empty. *db is the caller's to close, also on failure. Not yet checked for damage
 * (database_check()). */
int space_open(struct sqlite3 **db, const char *path, int *schema, struct err *e);

/* Newest first; both arrays are the caller's, free(). ids: their numbers in the file. */
int space_list(struct space_version **ret, int64_t **ids, uint32_t *n, struct sqlite3 *db,
    const char *path, struct err *e);

int space_damaged(struct err *e, const char *path, const char *what, long long id);

#endif
