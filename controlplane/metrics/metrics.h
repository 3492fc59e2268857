/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of the controller as metrics, for Prometheus and what reads its formats. docs/metrics.md lists them. Pure: from the
 * engine to text.
 */
#ifndef CONTROLPLANE_METRICS_METRICS_H
#define CONTROLPLANE_METRICS_METRICS_H

#include "base/buf.h"
#include "base/clock.h"
#include "controlplane/engine/engine.h"
#include "controlplane/metrics/metrics_request.h"

/* Of how many groups there are metrics, those with most requests; and of each, edges with at least METRICS_SHARE_MIN of the
 * variance. They bound the number of time series: 25 for each request type, 20 for each node, 82 for groups. */
enum { METRICS_GROUPS_MAX = 20, METRICS_EDGES_MAX = 3 };
#define METRICS_SHARE_MIN 0.1

struct metrics_process { /* of honed; negative: not known */
	double cpu_s, start_s /* since 1970 */;
	int64_t resident_bytes, open_files, files_max;
	bool stored; /* the last commit to its database succeeded */
};

/* Adds the text to `out`, whose `failed` says if memory ran out. now: for times since. O(types x buckets of a sketch + nodes +
 * groups of the report x edges of those that are told). */
void metrics_write(struct buf *out, const struct engine *g, struct mono now,
    const struct metrics_process *p, enum metrics_form form);

#endif
