/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Baselines: analysis documents (docs/report.md) saved under a name, one file each, in
 * ${XDG_DATA_HOME:-~/.local/share}/hone/baselines/NAME.json. A name has 1 to 64 characters out of
 * letters, digits, "-", "_" and ".", and does not begin with ".".
 */
#ifndef REPORT_BASELINE_FILES_H
#define REPORT_BASELINE_FILES_H

#include <jansson.h>

#include "base/err.h"

enum { BASELINE_NAME_MAX = 64 };

int baseline_name_check(const char *name, struct err *e); /* ERR_INPUT */

/* Saves the document, atomically replacing a baseline of the same name: writes a new file, syncs it
 * and renames it. Creates missing folders. ERR_INPUT (name), ERR_SYSTEM, ERR_MEMORY. */
int baseline_save(const char *name, const json_t *document, struct err *e);

/* Loads a baseline by its name; a name that contains "/", or that no baseline has, is taken as the
 * path of a file. *ret is the caller's to json_decref(). ERR_MISSING; ERR_INPUT, ERR_VERSION: the
 * file is not an analysis document that this version reads; ERR_SYSTEM. */
int baseline_load(const char *name, json_t **ret, struct err *e);

/* The same for documents of another kind: check is in place of document_check(). */
typedef int baseline_check(const json_t *document, const char *name, struct err *e);
int baseline_save_as(
    const char *name, const json_t *document, baseline_check *check, struct err *e);
int baseline_load_as(const char *name, baseline_check *check, json_t **ret, struct err *e);

int baseline_delete(const char *name, struct err *e); /* ERR_MISSING, ERR_INPUT, ERR_SYSTEM */

/* *ret: an array of {"name", "saved" (time), "bytes"} sorted by name; the caller's. Without a folder
 * of baselines it is empty. ERR_SYSTEM. */
int baseline_list(json_t **ret, struct err *e);

#endif
