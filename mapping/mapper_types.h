/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes into a mapper and what comes out (mapper.h). */
#ifndef MAPPING_MAPPER_TYPES_H
#define MAPPING_MAPPER_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/record.h"

struct mapper_options { /* 0 takes the default */
	/* Requests that are open at a time: 65536; at most 2^24. Beyond, the oldest are abandoned. */
	uint32_t requests_max;
	/* Random seed of trace ids; mappers whose traces are mixed need different ones. */
	uint64_t seed;
	/* True: a request of this type is followed. NULL: all are. */
	bool (*sampled)(void *of, const char *type);
	/* True: the trace of this id is followed, whose request may have begun in another program. NULL: all are. */
	bool (*follows)(void *of, uint64_t trace_id);
	void *of;
};

/* One tracepoint, as the tracer recorded it. Texts and values are the caller's, and are copied
 * where they are kept. */
struct mapper_event {
	int64_t time_ns; /* of the node; never before an earlier one of the same thread */
	uint32_t pid, tid;
	const char *name; /* "provider:event" */
	/* The caller's number for the name and its fields: equal numbers mean equal texts. */
	uint32_t name_id;
	uint32_t nfields;
	const char *const *fields;
	const struct value *values; /* nfields of them */
};

/* The request that a tracepoint belongs to. */
struct mapper_result {
	/* 0: it belongs to no request, or to one that is not followed. */
	uint64_t trace_id, unit_id;
	/* A record of kind REQUEST_BEGIN goes before it, of kind REQUEST_END after it. */
	bool begins, ends;
	const char *
	    type; /* of the request, with begins or ends, or of the unit; valid until the next call */
	/* It starts or ends a span, by ids that all programs share. If that is no request: records of kind FORK, of the unit parent_id,
	 * and UNIT_BEGIN, or of UNIT_END, and JOIN of parent_id, all with the link unit_id. */
	bool span, unit_begins, unit_ends;
	uint64_t parent_id;
};

enum { MAPPER_INSIDE_MANY = 32 };

/* begun = ended + given_up + clashes + the requests that are open */
struct mapper_counts {
	uint64_t begun, ended;
	uint64_t unsampled; /* begun, but not followed, and not counted elsewhere */
	/* Abandoned: not ended in time, too many were open, a part of the records was lost, or the
	 * next began and they do not nest. */
	uint64_t given_up;
	uint64_t orphans; /* ends, and steps with ids, of no open request */
	uint64_t clashes; /* a request got an id that an open one has: that one is abandoned */
	/* Requests during which MAPPER_INSIDE_MANY of the same rule began, if the file does not say
	 * that they nest: the end may never come on this thread, so all that follows would count as
	 * a part. */
	uint64_t endless;
	uint64_t idless; /* begins, ends and steps whose id is missing, or no number and no text */
};

#endif
