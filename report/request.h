/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One request as JSON (docs/questions.md, REQUEST): its units with their records, and what its group of a report says about them. Each
 * unit is told the time of the critical path that passed in it, its edges' time beside the usual one, and the share of the group's
 * variation that these edges carry.
 */
#ifndef REPORT_REQUEST_H
#define REPORT_REQUEST_H

#include <jansson.h>

#include "report/report.h"

struct request_facts {
	const struct trace *trace;
	/* Of the critical path, as the report's groups have it; NULL: there is none, and the request has no group. */
	const struct critpath *path;
	const struct shape *shape;
	const struct report *report; /* judged, or NULL: nothing is known of its group */
	const struct labels *labels;
	const char *const *nodes; /* names by the events' node numbers */
	int64_t wall_offset_ns;   /* makes times since 1970 of the trace's times */
};

/*
 * The caller's to json_decref(); NULL: out of memory. `a` holds temporary data. The path_ms of all units add up to total_ms: the time
 * between two steps belongs to the unit of both; before the begin of a unit, to the unit that forked it; else to the later step's.
 * An edge of the path has its unit in the same way; usual_ms of a unit is the sum of the medians of its edges. O(events + steps).
 */
json_t *request_json(const struct request_facts *f, struct arena *a);

#endif
