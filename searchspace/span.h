/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans inside a unit: pairs of tracepoints whose names differ only in their ending
 * (x_begin/x_end, _start/_end, _start/_done, _entry/_exit, _enter/_leave, _enter/_exit, and _req/_acq:
 * requested, acquired), matched with a stack per unit.
 */
#ifndef SEARCHSPACE_SPAN_H
#define SEARCHSPACE_SPAN_H

#include <stdint.h>

#include "analysis/trace.h"
#include "base/texts.h"

struct span_role;

struct spans {                   /* all zeroes is empty */
	struct span_role *roles; /* by label, found once */
	uint32_t nroles, roles_cap;
	struct texts *bases; /* names without their endings */
	/* By base and kind of end: number of open spans that wait for it. */
	uint32_t *open, nopen, open_cap;
	uint32_t *scratch, scratch_cap; /* three numbers for each event of a unit */
};

/*
 * For each of the n events of a unit: the label that opened the innermost span around it, or
 * LABEL_NONE. Both ends of a span are in the span around it. A begin without an end, or an end
 * without a begin, is no span. Valid until the next call. NULL: out of memory. O(n), plus
 * O(length) for each new label.
 */
const uint32_t *spans_of(
    struct spans *s, const struct labels *labels, const struct event *events, uint32_t n);
void spans_release(struct spans *s);

/* Whether the names of two labels make them the ends of a span. */
bool spans_pair(const struct label *begin, const struct label *end);

#endif
