/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of programs without libhone to records of requests, by a mapping: in
 * come tracepoints that say nothing of a request, out come the same ones with
 * trace and unit, and records that begin and end requests and units as libhone's
 * would have. A request is one unit: also where it changes threads (MAP_FIELD), since one
 * at a time works on it.
 *
 *	                 begin                             end
 *	thread   none ---------> in it, depth 1  ------------------------> none
 *	                           |  ^ begin, end: depth + 1, - 1 (nested)
 *
 *	         begin           step with a known id        record without an id     end
 *	field  --------> open ---------------------> open -----------------------> open ----> none
 *	                 held by this thread         held by this one             its holder's
 *
 * One tracepoint belongs to one request. What ends a request comes before what begins one, that before a step, that before
 * where the thread is; of several rules the first in the file, of several requests of a thread the innermost.
 *
 * Pure: time, ids and what is sampled are arguments. Memory is bounded by
 * options.requests_max; what cannot be told apart is counted, never guessed.
 */
#ifndef MAPPING_MAPPER_H
#define MAPPING_MAPPER_H

#include "mapping/map.h"
#include "wire/record.h"

struct mapper;

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
struct mapper_place {
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

/* m must outlive it. One for each program: pids are told apart by it, services are not. ERR_MEMORY.
 */
int mapper_new(
    struct mapper **ret, const struct mapping *m, const struct mapper_options *o, struct err *e);
void mapper_free(struct mapper *p); /* NULL is fine */

/* O(1) expected, and the depth of what is nested on the thread; no memory is taken once as many
 * requests were open as are now, and all names and types were seen. ERR_MEMORY. */
int mapper_event(
    struct mapper *p, const struct mapper_event *v, struct mapper_place *ret, struct err *e);

/* The process is gone, or a part of what it did was lost at this time: what is open there is given
 * up. O(open). */
void mapper_gone(struct mapper *p, uint32_t pid);
/* The same of all processes: what was lost is not known of which. */
void mapper_lost(struct mapper *p);
/* Gives up what is open for longer than its rule allows. O(those + rules). */
void mapper_expire(struct mapper *p, int64_t now_ns);
void mapper_look(const struct mapper *p, struct mapper_counts *ret);
uint32_t mapper_open(const struct mapper *p); /* requests that are open, followed or not */

#endif
