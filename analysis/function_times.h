/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long a request was in functions whose begins and ends are recorded, within a part of one of its units. Pure.
 *
 *	unit    |---------A=====================B------|
 *	lookup        |--------|   |---|                  8 of A to B; one call begins there
 *
 * A function that calls itself is one call, from the outermost begin to its end.
 */
#ifndef ANALYSIS_FUNCTION_TIMES_H
#define ANALYSIS_FUNCTION_TIMES_H

#include "analysis/trace.h"

struct function_labels {
	uint32_t start, done; /* LABEL_NONE: not known yet */
};

struct function_time {
	int64_t ns;
	uint32_t calls; /* that begin in the part */
	bool
	    torn; /* a call did not end in the unit: where it was left is not known, and its time is left out */
};

/* ret[n], of functions[n], from from_ns to to_ns by the clock of the unit's node. O(events of the unit x n). */
void function_times_of(struct function_time *ret, const struct trace *t, uint32_t unit,
    const struct function_labels *functions, uint32_t n, int64_t from_ns, int64_t to_ns);

#endif
