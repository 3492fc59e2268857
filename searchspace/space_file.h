/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by reading and writing the file of a space: opening it, and listing its versions.
 */
#ifndef SEARCHSPACE_SPACE_FILE_H
#define SEARCHSPACE_SPACE_FILE_H

#include "forest/database.h"
#include "searchspace/space.h"
#include "searchspace/space_inside.h"

enum { SPACE_SCHEMA = 2, SPACE_VERSIONS_MAX = 4096 };

/* Opens the file so that it looks like the newest schema: older ones are shown through
 * temporary views. *schema 0: the file is empty. The caller closes *db, also on failure. The
 * database is not checked for damage yet (database_check()). */
int space_open(struct sqlite3 **db, const char *path, int *schema, struct err *e);

/* The versions, newest first, and their numbers in the file; the caller frees both arrays, also
 * on failure. */
int space_list(struct space_version **ret, int64_t **ids, uint32_t *n, struct sqlite3 *db,
    const char *path, struct err *e);

int space_damaged(struct err *e, const char *path, const char *what, long long id);

#endif
