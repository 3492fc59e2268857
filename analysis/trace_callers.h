/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of a trace that a span called. A program with OpenTelemetry sends the id of its client span in traceparent, and nothing of its trace
 * is a fork of that call. So a program with libhone that it calls has written either of these:
 *
 *	request_begin with the span's id as its link		no hone= came: the trace began with OpenTelemetry
 *	unit_begin with the link of hone=, and `via`, 16 bits	the trace began with libhone, and hone= was handed on
 *	of the span's id (instrument/via.h)
 *
 * So has an agent of OpenTelemetry of a server's span whose caller sends its spans to another node: request_begin, with the span's attributes as fields.
 *
 * Where that span is a unit of the trace, the part becomes a unit that the span forked and joined, by silent labels and a link of its own: a
 * request that began in the span ends as a unit. Where it is not, the records stay as they are: a request begins, or the link of hone= counts (of a
 * proxy whose spans are not gathered). The unit's begin has the fields of the request's. Of several spans with the same 16 bits the first one counts. Pure.
 *
 *	the span	|-- fork --------------- join --|	fork: when the part begins, join: when it has ended; by other clocks (another
 *	the part	       |-- unit_begin .. end --|	node) right after the span's begin, and right before its end
 *
 * A part that began after the span had ended, that lasted longer by another node's clock, or that is of a consumer, was not waited for: it has no join.
 */
#ifndef ANALYSIS_TRACE_CALLERS_H
#define ANALYSIS_TRACE_CALLERS_H

#include "analysis/pending_trace.h"

/* Of a request_begin by spans: 1: all points that were on are among its records; 0: some may be missing, so a request that this is a part of counts as
 * not probed. */
#define PART_POINTS "hone.points"

/* A bit of that field's value, and one of `via`, above the 16: the part is a consumer's, for which its caller does not wait. It has no join. */
enum { PART_FOLLOWS = 2, VIA_FOLLOWS = 1 << 16 };

/* Whether a field of request_begin of this name says something of the request itself, and is none of its attributes. */
bool trace_callers_of_request(const char *field);

struct trace_callers; /* memory that is reused from trace to trace */

struct trace_callers *trace_callers_new(void);    /* NULL: out of memory */
void trace_callers_free(struct trace_callers *c); /* NULL is fine */

/* Whether such a part begins with this event, of that label, and not one that follows: its caller, if it is in the trace, may have waited for it. O(fields). */
bool trace_callers_awaited(const struct event *begin, const struct label *label);

/* Whether a trace of these records may have such a part. O(n). */
bool trace_callers_may(const struct record_ref *refs, uint32_t n, const struct labels *labels);

/* Finds them in records in the order of time; units: of each, from 0 to nunits - 1. Replaces their begins and ends, and returns in *added, of *nadded, the
 * records of forks and joins, to be merged in. *without_points: a part says so. All that was made is valid until the next call, values as long as the
 * arena. seed: odd, that nobody knows. False: out of memory. O(n) expected. */
bool trace_callers_find(struct trace_callers *c, struct record_ref *refs, const uint32_t *units,
    uint32_t n, uint32_t nunits, struct labels *labels, struct arena *values, uint64_t seed,
    const struct record_ref **added, uint32_t *nadded, bool *without_points);

#endif
