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

#include "mapping/mapper_types.h"
#include "mapping/mapping.h"

struct mapper;

/* m must outlive it. One for each program: pids are told apart by it, services are not. ERR_MEMORY.
 */
int mapper_new(
    struct mapper **ret, const struct mapping *m, const struct mapper_options *o, struct err *e);
void mapper_free(struct mapper *p); /* NULL is fine */

/* O(1) expected, and the depth of what is nested on the thread; no memory is taken once as many
 * requests were open as are now, and all names and types were seen. ERR_MEMORY. */
int mapper_event(
    struct mapper *p, const struct mapper_event *v, struct mapper_result *ret, struct err *e);

/* The process is gone, or a part of what it did was lost at this time: what is open there is given
 * up. O(open). */
void mapper_gone(struct mapper *p, uint32_t pid);
/* The same of all processes: what was lost is not known of which. */
void mapper_lost(struct mapper *p);
/* Gives up what is open for longer than its rule allows. O(those + rules). */
void mapper_expire(struct mapper *p, int64_t now_ns);
void mapper_get_counts(const struct mapper *p, struct mapper_counts *ret);
uint32_t mapper_open(const struct mapper *p); /* requests that are open, followed or not */

#endif
