/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the profile of a request type (analysis/profile.h) as the member "operations" of its part
 * of the document. */
#ifndef REPORT_OPERATIONS_H
#define REPORT_OPERATIONS_H

#include <jansson.h>

#include "analysis/profile.h"

/* Sets "operations", "operations_traces", "operations_lossy", "operations_lost", "slice_ms" and "slices"
 * of the object. Sorts the profile's slices. O(calls + steps + counts log counts of slices).
 * ERR_MEMORY. */
int operations_put(json_t *type, struct profile *p, const struct labels *labels, struct err *e);

#endif
