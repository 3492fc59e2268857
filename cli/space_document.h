/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a space's file holds, as a document: docs/questions.md says what is in it. */
#ifndef CLI_SPACE_DOCUMENT_H
#define CLI_SPACE_DOCUMENT_H

#include <jansson.h>

#include "searchspace/space.h"

/* With all places and steps of this type, or (LABEL_NONE) of all types their numbers alone. Labels:
 * those of the space. The caller's; NULL: out of memory. O(size). */
json_t *space_document(
    struct space *s, const struct labels *labels, uint32_t type, const char *path);
/* {"versions": [...]} of the file, newest first. ERR_STORE, ERR_FULL, ERR_VERSION, ERR_MISSING,
 * ERR_MEMORY. */
int space_versions_document(json_t **ret, const char *path, struct err *e);
/* The type of that name: "GET_HOME", "service/GET_HOME", or the whole label. ERR_MISSING: there is
 * none, words say which there are; ERR_INPUT: several. */
int space_find_type(uint32_t *ret, const struct space *s, const struct labels *labels,
    const char *name, struct err *e);

#endif
