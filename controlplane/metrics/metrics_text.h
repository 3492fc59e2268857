/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of Prometheus' text format 0.0.4 and of OpenMetrics 1.0.0. */
#ifndef CONTROLPLANE_METRICS_METRICS_TEXT_H
#define CONTROLPLANE_METRICS_METRICS_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "controlplane/metrics/metrics_request.h"

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM };

struct metric_lines {
	struct buf *out;
	enum metrics_form form;
	const char *name; /* of the family, without _total */
	enum metric_kind kind;
};

/* Begins a family: its lines # HELP and # TYPE. A counter's lines end in _total. help: whole sentences. */
void metric_begin(
    struct metric_lines *m, const char *name, enum metric_kind kind, const char *help);

struct metric_label {
	const char *name, *value; /* value: any bytes, escaped when written */
	size_t len;
};

/* A line: the family's name, suffix ("" or "_bucket"), labels, value. Of a counter "_total" is added. NAN is left out. O(length). */
void metric_put(struct metric_lines *m, const char *suffix, const struct metric_label *labels,
    uint32_t nlabels, double value);

/* After metric_put() of a bucket, in OpenMetrics only: the trace that took so long. */
void metric_exemplar(struct metric_lines *m, uint64_t id_high, uint64_t id_low, double seconds);

void metric_end(struct metric_lines *m); /* of all families */

#endif
