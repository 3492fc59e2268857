/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans inside a unit: pairs of tracepoints whose names differ in their ending
 * only (x_begin/x_end, _start/_end, _entry/_exit, _enter/_leave, _enter/_exit, and
 * _req/_acq: asked for, got), matched on the unit's stack.
 */
#ifndef SEARCHSPACE_SPAN_H
#define SEARCHSPACE_SPAN_H

#include <stdint.h>

#include "analysis/trace.h"
#include "base/texts.h"

struct span_role;

struct spans {                   /* all zeroes is empty */
	struct span_role *roles; /* of each label, found out once */
	uint32_t nroles;
	struct texts *bases;   /* names without their endings */
	uint32_t *open, nopen; /* of each base and kind of end: how many wait for it */
	uint32_t *scratch, cap;
};

/* For each of a unit's n events the label that opened the innermost span it lies in, or LABEL_NONE.
 * Both ends of a span lie in the one around it; a beginning without its end, or an end without its
 * beginning, is no span. Valid until the next call. NULL: out of memory. O(n). */
const uint32_t *spans_of(
    struct spans *s, const struct labels *labels, const struct event *events, uint32_t n);
void spans_release(struct spans *s);

/* Whether their names make these two the ends of a span. */
bool spans_pair(const struct label *begin, const struct label *end);

#endif
