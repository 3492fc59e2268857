/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes into a mapper and what comes out (mapper.h). */
#ifndef MAPPING_MAPPER_TYPES_H
#define MAPPING_MAPPER_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/record.h"

struct mapper_options {        /* a zero takes the default */
	uint32_t requests_max; /* open at a time; more are given up, the oldest first: 65536. At
	                          most 2^24 */
	uint64_t seed;         /* of the trace ids: another for each mapper whose traces may meet */
	/* Whether a request of this type is to be followed; NULL: all are. */
	bool (*sampled)(void *of, const char *type);
	void *of;
};

/* One tracepoint, as the tracer saw it. Texts and values are the caller's; only what is needed is
 * copied. */
struct mapper_event {
	int64_t time_ns; /* of the node; never before an earlier one of the same thread */
	uint32_t pid, tid;
	const char *name; /* "provider:event" */
	uint32_t name_id; /* a number of the caller's for name and its fields: one number, always
	                     the same text */
	uint32_t nfields;
	const char *const *fields;
	const struct value *values; /* nfields of them */
};

/* What it comes to. */
struct mapper_result {
	uint64_t trace_id, unit_id; /* 0: of no request that is followed */
	bool begins, ends; /* the request: a record of kind REQUEST_BEGIN goes before it, of
	                      REQUEST_END after it */
	const char *type;  /* of the request, with begins or ends; valid until the next call */
};

enum { MAPPER_INSIDE_MANY = 32 };
struct mapper_counts { /* begun = ended + given_up + clashes + those that are open */
	uint64_t begun, ended,
	    unsampled;     /* unsampled: begun, but not followed, nor counted below */
	uint64_t given_up; /* never ended, or too many were open, or began anew where it may not be
	                      nested */
	uint64_t orphans;  /* ends, and steps with ids, of no open request */
	uint64_t clashes;  /* a request got an id that an open one has: that one is given up */
	uint64_t endless;  /* requests in which MAPPER_INSIDE_MANY of their own kind have begun,
	                      where the file does not say  that they nest: the end may never come on
	                      this thread, and all behind it is taken for a part */
	uint64_t
	    idless; /* begins, ends and steps whose id is no number and no text, or not there */
};

#endif
