/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that one request did, as a graph: units of sequential work, joined by links. Lives in one
 * arena. */
#ifndef ANALYSIS_TRACE_H
#define ANALYSIS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label.h"
#include "base/arena.h"

enum { TRACE_NONE = UINT32_MAX };

struct event {
	int64_t time_ns;  /* of its node's clock; see clocks.h for how it comes to be the root's
	                     node's */
	uint64_t link_id; /* of structure events, else 0 */
	uint32_t label;
	uint32_t unit; /* index into units */
	uint32_t node; /* the engine's number for the node */
	uint32_t pid, tid;
	uint32_t nvalues;           /* 0, or as many as the label has fields */
	const struct value *values; /* in the trace's arena, texts too */
};

struct unit {
	uint64_t id;
	uint32_t first, count; /* its events, in program order */
	uint32_t fork; /* the event that handed the work on; TRACE_NONE: the root, or it was lost */
};

struct trace {
	uint64_t id, id_high;     /* id_high: of the full W3C trace id, 0 when not known */
	uint32_t type;            /* label of its request_begin */
	uint32_t root;            /* unit that the request began in */
	int64_t begin_ns, end_ns; /* of request_begin and request_end; by the root's node's clock */
	bool probed;              /* tracepoints that were added fired for it */
	bool lossy; /* a record that it may have had is known to be lost: no evidence of absence */
	uint32_t nevents, nunits;
	struct event *events; /* unit by unit; within one by time, ties in the order of arrival from
	                         its node */
	struct unit *units;
	struct arena arena; /* holds all of this, and the trace itself */
};

void trace_free(struct trace *t); /* NULL is fine */

#endif
