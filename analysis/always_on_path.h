/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The critical path of a trace by always-on labels alone: what added tracepoints recorded is left
 * out, so that a request has the same path whatever is enabled. Computed once for each trace, and
 * used by reports and diagnoses.
 */
#ifndef ANALYSIS_ALWAYS_ON_PATH_H
#define ANALYSIS_ALWAYS_ON_PATH_H

#include "analysis/bins.h"
#include "analysis/critpath.h"

struct always_on_path {
	struct critpath path; /* with the bins of its keys */
	struct shape shape;
};

/* Both live in the arena, until its reset. bins: NULL: none. ERR_INPUT: there is no path from the
 * request's end to its begin; ERR_MEMORY. O(events). */
int always_on_path_extract(struct always_on_path *ret, const struct trace *t,
    const struct labels *labels, struct bins *bins, struct arena *a, struct err *e);

#endif
