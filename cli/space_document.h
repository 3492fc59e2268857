/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contents of a file of the learned space as a JSON document, described in docs/questions.md.
 */
#ifndef CLI_SPACE_DOCUMENT_H
#define CLI_SPACE_DOCUMENT_H

#include <jansson.h>

#include "searchspace/space.h"

/* The document of one request type with its graph of places and steps, or (type LABEL_NONE) of all
 * types without graphs. labels: those that the space was loaded with. The result is the caller's;
 * NULL: out of memory. O(places log places + steps) of the type. */
json_t *space_document(
    struct space *s, const struct labels *labels, uint32_t type, const char *path);
/* The document {"versions": [...]} of a file, newest first; *ret is the caller's. ERR_STORE,
 * ERR_FULL, ERR_VERSION, ERR_MISSING, ERR_MEMORY. */
int space_versions_document(json_t **ret, const char *path, struct err *e);
/* Finds a request type by "GET_HOME", "service/GET_HOME" or its whole label. ERR_MISSING: no such
 * type, the text lists the known ones; ERR_INPUT: several services have it. O(types). */
int space_find_type(uint32_t *ret, const struct space *s, const struct labels *labels,
    const char *name, struct err *e);

#endif
