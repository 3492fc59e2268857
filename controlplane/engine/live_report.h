/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of all requests, by always-on tracepoints, since the operator last reset it. */
#ifndef CONTROLPLANE_ENGINE_LIVE_REPORT_H
#define CONTROLPLANE_ENGINE_LIVE_REPORT_H

#include "base/clock.h"
#include "report/report.h"

struct live_report {
	struct report *report;       /* NULL: none is kept */
	struct wall since;           /* 0: before the first step */
	uint64_t used_before;        /* records of traces that were complete before `since` */
	struct report_counts before; /* of earlier windows: moved, pathless, inexact */
};

/* Begins a new window; o->memory_max_bytes 0: no report is kept. used: records of complete traces
 * so far. ERR_MEMORY: the present window goes on. */
int live_report_reset(struct live_report *l, const struct report_options *o,
    const struct labels *labels, uint64_t used, struct wall when, struct err *e);
void live_report_release(struct live_report *l);

#endif
