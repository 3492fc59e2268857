/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The span of tracepoints that an edge lies in, for its name: "lock__wait__start" says more than the two tracepoints next to each other
 * inside it. Pure. */
#ifndef CONTROLPLANE_SEARCH_WITHIN_H
#define CONTROLPLANE_SEARCH_WITHIN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/critpath.h"
#include "analysis/label.h"

/*
 * The innermost span (searchspace/span.h) on the path that has the edge inside it, is not the edge itself, and is of the same unit: labels of its
 * two ends. False: there is none, or the edge leads from one unit to another. O(n^2) with n the tokens of the path.
 */
bool within_span(const struct shape *shape, uint32_t edge, const struct labels *labels,
    uint32_t *begin, uint32_t *end);

#endif
