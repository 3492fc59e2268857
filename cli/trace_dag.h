/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph of a single request, as JSON (docs/report.md): its units, and who began and waited for which. */
#ifndef CLI_TRACE_DAG_H
#define CLI_TRACE_DAG_H

#include <jansson.h>

#include "analysis/trace.h"

enum { TRACE_DAGS_MAX = 100 }; /* of a document */

/* nodes: names by the events' node numbers. NULL: out of memory. O(events). */
json_t *trace_dag(const struct trace *t, const struct labels *labels, const char *const *nodes);

#endif
