/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans that Hone turned on are points: tracepoints at their begin and their end, in the unit of the nearest span above that is
 * none. So a trace has the same units whether they are on or off, and a diagnosis adds them and takes them away as it does with
 * tracepoints of LTTng.
 *
 *	A ----------------------------		A, a unit:  begin  SCOPE:X_begin  fork(C)  join(C)  SCOPE:X_end  end
 *	   X, a point --------------
 *	        C ----------			C, a unit that A forks
 *
 * The package hone-otel-gate marks them with an attribute, hone.point = "SCOPE:NAME". Pure.
 */
#ifndef OTEL_SPANS_SPAN_POINTS_H
#define OTEL_SPANS_SPAN_POINTS_H

#include "formats/trace_span.h"
#include "wire/toggle.h"

#define POINT_ATTRIBUTE "hone.point"
#define POINT_BEGIN "_begin"
#define POINT_END "_end"

enum { POINT_NAME_MAX = 240 }; /* leaves room for the ending in TOGGLE_NAME_MAX */

/* Whether it can be the name of a point: "SCOPE:NAME", both not empty, at most POINT_NAME_MAX bytes, without '*' and control characters; the scope
 * is not hone, of which the structure of traces is. O(len). */
bool point_name_fits(const char *s, size_t len);

/* The name of the point that a span is, a view of its attribute. Length 0: it is none. O(attributes). */
struct text_view span_point(const struct span *s);

struct point_time { /* one end of a point */
	int64_t time_ns, other_ns;
	uint32_t span; /* the caller's number of it */
	bool end;
};

/* Both ends, within first_ns <= time < last_ns, which are those of its unit: so they are between its first and its last record. False:
 * there is no room for both. */
bool point_times(struct point_time ret[2], const struct span *s, uint32_t number, int64_t first_ns,
    int64_t last_ns);

/* For qsort: by time; at the same time ends come first, inner ones before outer ones, and of begins the outer ones first. */
int point_time_order(const void *a, const void *b);

#endif
