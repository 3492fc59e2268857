/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files beside the forest that a decider's successor needs, by their numbers in hone.forest: the learned space, what is usual for request
 * types, and the log levels. */
#ifndef CONTROLPLANE_HONED_FOREST_FILES_H
#define CONTROLPLANE_HONED_FOREST_FILES_H

#include "base/buf.h"
#include "controlplane/honed/honed_config.h"

enum forest_file { FOREST_FILE_SPACE, FOREST_FILE_HEALTHY, FOREST_FILE_LEVELS };

/* *ret is the caller's to free. ERR_MEMORY. */
int forest_file_path(char **ret, const struct config *c, enum forest_file which, struct err *e);
/* Appends the file's bytes as of one moment. ERR_MISSING: there is none; ERR_FULL: over FOREST_FILE_MAX; others. */
int forest_file_read(struct buf *ret, const char *path, enum forest_file which, struct err *e);
/* Puts a file with these bytes in its place, if it is one that honed reads. Nobody may have it open. */
int forest_file_write(
    const char *path, enum forest_file which, const void *data, size_t len, struct err *e);

#endif
