/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where one slow request spent what others of its type do not: its critical path beside those of some usual ones, all with the same
 * tracepoints. An edge is a pair of labels that follow each other on the path; its time is the sum of all its passages. What differs from
 * all usual requests is the answer, so a mean of few of them suffices.
 */
#ifndef ANALYSIS_OUTLIER_H
#define ANALYSIS_OUTLIER_H

#include "analysis/critpath.h"

struct outlier_edge {
	uint32_t from, to; /* labels */
	double slow_ns;    /* of the slow request */
	double usual_ns;   /* mean of the usual ones; one that does not pass the edge counts as 0 */
};

/*
 * The edges of the slow path, by slow_ns - usual_ns, the largest first. Those add up to more than the difference of the response times by what
 * usual requests spend on edges that the slow one does not pass. In the arena. ERR_MEMORY. O(n log n) in all steps.
 */
int outlier_edges(struct outlier_edge **ret, uint32_t *n, const struct critpath *slow,
    const struct critpath *usual, uint32_t nusual, struct arena *a, struct err *e);

#endif
