/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads did in an edge, below its tracepoints, as JSON: member `below` of an EDGE in docs/report.md, which the page
 * draws. */
#ifndef REPORT_BELOW_JSON_H
#define REPORT_BELOW_JSON_H

#include <jansson.h>

#include "analysis/differential.h"

enum {
	BELOW_ITEMS_MAX = 100,   /* functions; states are all there */
	BELOW_STACKS_MAX = 2000, /* entries of the tree */
};

/* A new reference; NULL: out of memory. Functions with a p above p_max are left out, as are entries of the tree with less than
 * a thousandth of its root; at most the limits above. States have the words of wire/below.h. O(items + count). */
json_t *below_json(const struct differential *d, const struct difference_node *tree, uint32_t count,
    double confidence, double p_max);

#endif
