/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Baselines: analysis documents (docs/report.md) that were kept under a name, one file each, in
 * ${XDG_DATA_HOME:-~/.local/share}/hone/baselines/NAME.json. A name is 1 to 64 letters,
 * digits, "-", "_" and ".", and does not begin with ".".
 */
#ifndef REPORT_BASELINE_FILES_H
#define REPORT_BASELINE_FILES_H

#include <jansson.h>

#include "base/err.h"

enum { BASELINE_NAME_MAX = 64 };

int baseline_name_check(const char *name, struct err *e); /* ERR_INPUT */

/* Replaces the one of that name at once or not at all: a new file, synced, and renamed. Folders
 * that are missing are made. ERR_INPUT (name), ERR_SYSTEM, ERR_MEMORY. */
int baseline_save(const char *name, const json_t *document, struct err *e);

/* By its name, or, where the words hold a "/" or there is no baseline of that name, a file. *ret is
 * the caller's to json_decref(). ERR_MISSING; ERR_INPUT, ERR_VERSION: not such a document;
 * ERR_SYSTEM. */
int baseline_load(const char *name, json_t **ret, struct err *e);

int baseline_delete(const char *name, struct err *e); /* ERR_MISSING, ERR_INPUT, ERR_SYSTEM */

/* *ret: an array of {"name", "saved" (time), "bytes"}, by name; the caller's. No folder: empty.
 * ERR_SYSTEM. */
int baseline_list(json_t **ret, struct err *e);

#endif
