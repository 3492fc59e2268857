/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The problems of all groups by where their time was lost: by call, which is the unit in which the time
 * of an edge passed, or the two units between which it passed. The cost of a problem is divided
 * among its edges by their shares; edges with a negative share, which are short when the others are
 * long, lost nothing. So a service that is slow in forty groups is one row.
 */
#ifndef REPORT_ROLLUP_H
#define REPORT_ROLLUP_H

#include "report/report.h"

struct rollup_row {
	uint32_t owner;    /* label of the unit; LABEL_NONE: between the next two */
	uint32_t from, to; /* labels of units; LABEL_NONE if owner is known */
	double cost_ns;
	uint32_t groups;   /* problems with a part of their cost here */
	uint64_t requests; /* of these groups */
};

/* The rows by cost, largest first, of all problems by the last report_judge(); type: only of this one,
 * or LABEL_NONE. The caller frees *ret. Returns their number. ERR_MEMORY. O(problems x edges). */
int rollup_of(struct rollup_row **ret, const struct report *r, uint32_t type);

#endif
