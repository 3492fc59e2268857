/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Assigns the tracepoints of a program without libhone to requests, as a mapping says: each gets the
 * trace id and unit id of its request, and the first and last say that the request begins and ends.
 * A request is one unit, also where it changes threads (MAP_FIELD), since one thread at a time works
 * on it.
 *
 *	                 begin                             end
 *	thread   none ---------> in it, depth 1  ------------------------> none
 *	                           |  ^ begin, end: depth + 1, - 1 (nested)
 *
 *	         begin           step with a known id        record without an id     end
 *	field  --------> open ---------------------> open -----------------------> open ----> none
 *	                 carried by this thread      carried by this one           its carrier's
 *
 *	span    a request, or a unit of one, from its start to its end, by ids that all programs share (open_spans.h)
 *
 * A tracepoint belongs to one request: the one that it ends, else that it begins, else whose step it
 * is, else the one that its thread is in. Of several rules the first in the file counts, of several
 * requests of a thread the innermost.
 *
 * It reads no clock; ids come from a seed, and sampling is a callback. Memory is bounded by
 * options.requests_max. What cannot be assigned is counted, not guessed.
 */
#ifndef MAPPING_MAPPER_H
#define MAPPING_MAPPER_H

#include "mapping/mapper_types.h"
#include "mapping/mapping.h"

struct mapper;

/* One for each program: it distinguishes pids, but not services. m must outlive it. On success
 * *ret is the caller's. ERR_MEMORY. */
int mapper_new(
    struct mapper **ret, const struct mapping *m, const struct mapper_options *o, struct err *e);
void mapper_free(struct mapper *p); /* NULL is fine */

/* Assigns one tracepoint. O(1 + depth of requests on the thread) expected; allocates only for more open
 * requests than ever before, and for new names and types. ERR_MEMORY. */
int mapper_event(
    struct mapper *p, const struct mapper_event *v, struct mapper_result *ret, struct err *e);

/* The request that the thread of v works on, by a rule that correlates by thread: what the thread did belongs to it. Of other rules, where a
 * thread has several open requests, it is not known. ret->trace_id 0: none. Of v only pid and tid count. O(1) expected. */
void mapper_thread(struct mapper *p, const struct mapper_event *v, struct mapper_result *ret);

/* The process has ended, or a part of its records was lost: abandons its open requests. O(open). */
void mapper_gone(struct mapper *p, uint32_t pid);
/* The same for all processes. O(open). */
void mapper_lost(struct mapper *p);
/* Abandons requests that are open for longer than their rule allows. O(those + rules). */
void mapper_expire(struct mapper *p, int64_t now_ns);
void mapper_get_counts(const struct mapper *p, struct mapper_counts *ret);
uint32_t mapper_open(const struct mapper *p); /* requests that are open, followed or not */

#endif
