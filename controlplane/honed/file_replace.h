/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of honed beside its database. */
#ifndef CONTROLPLANE_HONED_FILE_REPLACE_H
#define CONTROLPLANE_HONED_FILE_REPLACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* *ret: `path`, or if that is "", `name` in the folder of `beside`. The caller frees it. ERR_MEMORY. */
int file_beside(char **ret, const char *path, const char *beside, const char *name, struct err *e);

/* Removes what SQLite keeps beside a database: a write-ahead log of the file that was there must not be taken for that of a new one. */
void file_remove_logs(const char *path);

/* Writes the file anew: whole and durable, or not at all. check: NULL, or whether the file that is to take the place may do so. before_rename: NULL,
 * or called when that is certain. ERR_SYSTEM, ERR_MEMORY, errors of check(). */
int file_replace(const char *path, const void *data, size_t len,
    int (*check)(const char *fresh, struct err *e), void (*before_rename)(const char *path),
    struct err *e);

#endif
