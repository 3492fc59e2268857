/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of the spans of a trace, as programs with libhone would have written them:
 *
 *	a span without a parent		request_begin, request_end; its name is the request type
 *	a span with a caller under Hone	(an entry) unit_begin with the caller's link, unit_end: it belongs to a
 *					request that began elsewhere
 *	a span of a server without its	(or of a consumer) request_begin with the parent's id as its link, request_end: where that parent is in
 *	parent here			the trace, on another node, it is a unit that was called there (analysis/trace_callers.h); for a
 *					consumer nobody waits
 *	a span that Hone turned on	points in the unit above it, of probed requests (span_points.h)
 *	any other span			unit_begin, unit_end; its parent's unit forks it, and joins it as
 *					formats/tree.h says
 *	an event of a span		a point in its unit, "event:NAME" (event_names.h); its attributes are fields
 *	a link to a span of the trace	of those that ended before the span began the last one forks it, in place of its parent, so
 *					the critical path leads through what it waited for
 *
 * The unit is the span's id, the request the low half of the trace's id. Attributes are the fields of the record that
 * begins. Each entry, and what is below it, is a tree of its own; all else is one tree. If that has no span without a
 * parent, its earliest one begins the request: its caller is not under Hone. Where that is a part of a request of another node, all points that were on
 * are among its records, since the type of that request is not known here; the field PART_POINTS says so.
 *
 * What is not whole is left out: a tree in which a span's parent is missing, or a time, one that was cut, and one with a span that a clock
 * which is known to be ahead puts after the tree's end. Sampling
 * follows the rates for the request type; an entry follows its caller. Pure; one thread at a time.
 */
#ifndef OTEL_SPANS_SPAN_RECORDS_H
#define OTEL_SPANS_SPAN_RECORDS_H

#include "analysis/trace_callers.h"
#include "otel/spans/span_gather.h"
#include "wire/source_output.h"

/* Labels beyond it are "other/hone:EVENT(other)": the controller takes 65,536 of a node. */
enum { SPAN_LABELS_MAX = 49152 };

struct span_records;

struct span_choice {
	bool sampled, probed;
	bool
	    points; /* spans that are points become records: all that are on were on in it; of a probed one always */
};

struct span_records_options {
	size_t
	    names_max_bytes; /* of names of spans and their fields; beyond it spans are "(other)" */
	/* Whether a request of this type, which began in this service, of this trace id and time is sampled; called: a span whose parent is not here called
	 * it, so it may be a part of one of another type. Texts are valid during the call. */
	struct span_choice (*choose)(void *ctx, struct text_view service, struct text_view type,
	    bool called, uint64_t trace_id, int64_t begin_ns, int64_t end_ns);
	/* Of one whose caller has chosen it: whether all points that are on were on for it. */
	bool (*whole)(void *ctx, int64_t begin_ns, int64_t end_ns);
	/* By how much the clock of this span's host is ahead. The whole tree is put so much earlier as that of the host on which it began. Its other hosts'
	 * clocks are brought onto that one by formats/tree.h. */
	int64_t (*ahead_ns)(void *ctx, const struct span *span);
	void *ctx;
};

struct span_records_stats {
	uint64_t requests, entries; /* trees of which records were made */
	uint64_t unsampled;         /* trees that were not sampled */
	uint64_t unsampled_spans;
	uint64_t incomplete; /* trees that were left out since a part is missing, with their */
	uint64_t incomplete_spans;
	uint64_t records, point_records; /* point_records: of these, of points */
	uint64_t points,
	    points_left; /* spans that are points; those with no room in their unit, or no label */
	uint64_t events,
	    events_left; /* events of spans that became points; those that could not, as above */
	uint64_t links;  /* spans that were forked by one that they link to */
};

/* ERR_MEMORY. */
int span_records_new(
    struct span_records **ret, const struct span_records_options *o, struct err *e);
void span_records_free(struct span_records *s); /* NULL is fine */

/* Adds the records of a trace. O(n log n) for n spans. ERR_MEMORY: those of the trace may be missing. */
int span_records_add(struct span_records *s, const struct gathered_trace *t, struct err *e);

/* The records since the last reset, in the order of time; valid until the next call of another function. ERR_MEMORY. */
int span_records_list(
    struct span_records *s, const struct record **ret, uint32_t *count, struct err *e);
void span_records_reset(struct span_records *s);

/* All labels so far; a label keeps its number. The array may move with the next call of span_records_add(). */
const struct batch_label *span_records_labels(const struct span_records *s, uint32_t *count);
void span_records_stats(const struct span_records *s, struct span_records_stats *ret);

#endif
