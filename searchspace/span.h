/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans inside a unit: pairs of tracepoints whose names differ in their ending
 * only (x_begin/x_end, _start/_end, _entry/_exit, _enter/_leave, _enter/_exit),
 * matched on the unit's stack.
 */
#ifndef SEARCHSPACE_SPAN_H
#define SEARCHSPACE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label.h"

enum { SPAN_DEPTH_MAX = 64 };

struct span_role;

struct spans {			/* what each label is, found out once; all zeroes is empty */
	struct span_role *roles;
	uint32_t n;
};

struct span_stack {		/* all zeroes is empty */
	uint32_t depth;
	uint32_t labels[SPAN_DEPTH_MAX];
};

/* Takes the unit's next event. *span: the label that opened the span it lies in, or LABEL_NONE; the two ends of a
 * span both lie in the one around it. An end that nothing opened changes nothing; spans deeper than
 * SPAN_DEPTH_MAX are not told apart. false: out of memory. O(1), O(depth) where ends are missing. */
bool span_enter(struct spans *s, struct span_stack *open, const struct labels *labels, uint32_t label,
    uint32_t *span);
void spans_release(struct spans *s);

#endif
