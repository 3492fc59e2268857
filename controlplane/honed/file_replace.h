/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of honed beside its database. */
#ifndef CONTROLPLANE_HONED_FILE_REPLACE_H
#define CONTROLPLANE_HONED_FILE_REPLACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* *ret: `path`, or if that is "", `name` in the folder of `beside`. The caller frees it. ERR_MEMORY. */
int file_beside(char **ret, const char *path, const char *beside, const char *name, struct err *e);

/* Writes the file anew: whole and durable, or not at all. check: NULL, or whether the file that is to take the place may do so. ERR_SYSTEM,
 * ERR_MEMORY, errors of check(). */
int file_replace(const char *path, const void *data, size_t len,
    int (*check)(const char *fresh, struct err *e), struct err *e);

#endif
