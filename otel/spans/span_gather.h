/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Holds spans by trace until the trace is expected to be whole. SDKs send spans in batches some seconds after they ended,
 * those of a parent after those of its children; nothing says which span is the last one of a trace. So a trace is due
 *
 *	hold_ns after its first span without a parent came, or whose caller is under Hone (an entry), or,
 *	without such a span, hold_ns after its last span came; in any case age_ns after its first span came.
 *
 * Bounded: bytes_max of spans in all, spans_max of one trace. Spans that come again (an exporter repeats a request whose
 * answer was lost) are recognised among the last GATHER_KNOWN_SPANS at least. Pure; one thread at a time.
 */
#ifndef OTEL_SPANS_SPAN_GATHER_H
#define OTEL_SPANS_SPAN_GATHER_H

#include "base/clock.h"
#include "base/err.h"
#include "formats/trace_span.h"
#include "otel/spans/trace_state.h"

enum { GATHER_KNOWN_SPANS = 196608, GATHER_KNOWN_TRACES = 65536 };

struct gather;

struct gather_options {
	size_t bytes_max;
	uint32_t spans_max;
	int64_t hold_ns, age_ns;
};

struct gathered_span {
	struct gathered_span *next; /* in the order of arrival */
	struct span span;           /* its texts belong to the trace, or to the gatherer */
	struct caller caller;
};

struct gathered_trace {
	struct trace_id id;
	uint32_t nspans;
	struct gathered_span *spans;
	bool cut; /* a span of it was refused */
};

enum gathered {
	GATHERED,
	GATHERED_AGAIN, /* it had come before: left out */
	GATHERED_LATE,  /* its trace was handed out before: left out */
	GATHERED_FULL,  /* the bound of memory, or of the trace's spans: left out */
	GATHERED_RESULTS
};

struct gather_stats {
	uint64_t results[GATHERED_RESULTS];
	uint64_t traces; /* handed out */
	uint32_t held;   /* traces that are held now */
	size_t bytes, bytes_max;
};

/* ERR_MEMORY. */
int gather_new(struct gather **ret, const struct gather_options *o, struct err *e);
void gather_free(struct gather *g); /* NULL is fine */

/* Keeps the span, whose times are on any clock, packed (span_pack.h). O(length). Out of memory counts as FULL. */
enum gathered gather_add(struct gather *g, const struct span *s, struct mono now);

/* A span of this trace was left out elsewhere: the trace is cut, also if its other spans come later. One of which none comes is handed out without
 * spans. O(1). */
void gather_cut(struct gather *g, struct trace_id id, struct mono now);

/* The next trace that is due, until gather_trace_free(), which comes before the next call; or NULL. all: due or not, at the end of the
 * program. Out of memory: it is cut. O(its length). */
struct gathered_trace *gather_next(struct gather *g, struct mono now, bool all);
void gather_trace_free(struct gather *g, struct gathered_trace *t);

/* Time until a trace is due, at most `most_ms`, in ms. */
int gather_due_ms(const struct gather *g, struct mono now, int most_ms);

/* Share of bytes_max that is used, 0 to 1. */
double gather_fill(const struct gather *g);
void gather_stats(const struct gather *g, struct gather_stats *ret);

#endif
