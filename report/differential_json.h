/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads did in an edge, below its tracepoints, as JSON: member `below` of an EDGE in docs/report.md, which the page
 * draws. */
#ifndef REPORT_DIFFERENTIAL_JSON_H
#define REPORT_DIFFERENTIAL_JSON_H

#include <jansson.h>

#include "analysis/differential.h"

/* A new reference; NULL: out of memory. All items, all entries of the tree; states have the words of wire/below.h.
 * O(d->count + count). */
json_t *differential_json(
    const struct differential *d, const struct difference_node *tree, uint32_t count);

#endif
