/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All events of one request as a graph: units of sequential work, joined by links. A trace
 * lives in one arena.
 */
#ifndef ANALYSIS_TRACE_H
#define ANALYSIS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label.h"
#include "base/arena.h"

enum { TRACE_NONE = UINT32_MAX };

/* What is missing in a trace, although no record was lost: incomplete.tbl.h. */
enum incomplete {
#define INCOMPLETE(name, word, text) INCOMPLETE_##name,
#include "analysis/incomplete.tbl.h"
#undef INCOMPLETE
	INCOMPLETES
};

const char *incomplete_word(enum incomplete i); /* "no-end" */

struct event {
	/* By the clock of its node; clocks.h says how times are brought onto the clock of the
	 * root's node. */
	int64_t time_ns;
	uint64_t link_id; /* of structure events; 0 for others */
	uint32_t label;
	uint32_t unit; /* index into units */
	uint32_t node; /* the engine's number of the node */
	uint32_t pid, tid;
	uint32_t nvalues;           /* 0, or the number of the label's fields */
	const struct value *values; /* in the trace's arena, including texts */
};

struct unit {
	uint64_t id;
	uint32_t first, count; /* its events, in program order */
	/* Event that handed the work on; TRACE_NONE: this is the root unit, or the fork was
	 * lost. */
	uint32_t fork;
	/* When a unit of another trace began on its thread, while this one had begun there and not
	 * ended, for the first time; on the clock of the unit's events. 0: none is known. */
	int64_t shared_ns;
};

struct trace {
	uint64_t id, id_high; /* id_high: upper half of the W3C trace id; 0: not known */
	uint32_t type;        /* label of its request_begin; LABEL_NONE: it has none */
	uint32_t root;        /* unit in which the request began; TRACE_NONE: no request_begin */
	/* Of request_begin and request_end; both units keep their times in clocks_trace(). Without
	 * them: of the first and the last event. */
	int64_t begin_ns, end_ns;
	bool probed; /* selected for added tracepoints: field `probed` of request_begin */
	bool
	    lossy; /* a record of the trace may be lost: absent events prove nothing; also field `lossy` of request_begin */
	/* enum incomplete. Of a lossy trace it says nothing of the instrumentation, and is never
	 * NO_UNIT. */
	uint8_t incomplete;
	uint32_t incomplete_label; /* NO_UNIT: of the fork; else LABEL_NONE */
	uint32_t nevents, nunits;
	/* Unit by unit; within a unit by time, events of equal time in order of arrival from
	 * the node. */
	struct event *events;
	struct unit *units;
	/* What threads did below their tracepoints: records of the kinds WAIT and SAMPLE of these units, by time. They are not
	 * in `events`. analysis/below_time.h reads them. */
	uint32_t nbelow;
	struct event *below;
	struct arena arena; /* holds all of this, including the trace itself */
};

void trace_free(struct trace *t); /* NULL is fine */

/* Whether the trace may decide something: no part of it is missing. */
static inline bool
trace_is_evidence(const struct trace *t)
{
	return !t->lossy && t->incomplete == INCOMPLETE_NONE;
}

/* Whether it has one begin and one end, so that its response time is known. */
static inline bool
trace_has_times(const struct trace *t)
{
	return t->incomplete == INCOMPLETE_NONE || t->incomplete == INCOMPLETE_NO_UNIT;
}

#endif
