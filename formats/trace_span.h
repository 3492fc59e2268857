/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A span, the unit of most trace formats: one operation, with the span that caused it (Dapper,
 * Google technical report, 2010). tree.h describes how the spans of a trace become its units.
 */
#ifndef FORMATS_TRACE_SPAN_H
#define FORMATS_TRACE_SPAN_H

#include "analysis/group.h"

struct attribute {
	const char *key; /* not terminated */
	uint32_t key_len;
	struct value value; /* texts longer than VALUE_TEXT_MAX are cut */
};

struct text_view {     /* bytes that somebody else owns */
	const char *s; /* not terminated; may be NULL if len is 0 */
	uint32_t len;
};

/* As OTLP numbers them; Zipkin's names are the same. */
enum span_kind {
	SPAN_KIND_NONE,
	SPAN_KIND_INTERNAL,
	SPAN_KIND_SERVER,
	SPAN_KIND_CLIENT,
	SPAN_KIND_PRODUCER,
	SPAN_KIND_CONSUMER,
	SPAN_KINDS
};

struct span_event { /* something that happened during a span */
	int64_t time_ns;
	struct text_view name;
	uint32_t nattributes;
	const struct attribute *attributes;
};

struct span_link { /* another span that this one names as a cause, of any trace */
	struct trace_id trace;
	uint64_t id;
};

struct span {
	struct trace_id trace; /* 0, 0: none; the span is counted as incomplete */
	uint64_t id;           /* 0: none; the span is counted as incomplete */
	uint64_t parent;
	bool has_parent;
	bool
	    bad_id; /* its parent's id is none; with reading_options.exact_ids, or one of its ids has a wrong length */
	/* Its parent caused it and does not wait for it (FOLLOWS_FROM, a consumer of a queue). */
	bool follows;
	bool failed;  /* its status is an error */
	uint8_t kind; /* enum span_kind */
	/* Not known: the span was not finished, or its record is damaged. It is kept as structure:
	 * tree.h bounds its times. The time itself is then ignored. */
	bool no_begin, no_end;
	int64_t begin_ns, end_ns;
	struct text_view service, name; /* "" becomes "unknown" */
	struct text_view node;          /* host, pod or instance; "": not known */
	struct text_view scope;         /* OTLP: the instrumentation it is of; "": not known */
	struct text_view state;         /* tracestate (W3C Trace Context); "": not known */
	uint32_t nattributes;
	const struct attribute *attributes;
	/* For writers, and of OTLP where spans are not gathered (reading_options.span); else readers leave events
	 * and links out. */
	uint32_t nevents, nlinks;
	const struct span_event *events;
	const struct span_link *links;
	uint64_t offset; /* of its begin in the file, in decompressed bytes */
};

/* The number of an id. At most 32 (trace) or 16 (span) hexadecimal digits are read exactly; any
 * other text, a longer one too, is hashed; "" is 0. O(len). */
struct trace_id trace_id_of(const char *s, size_t len);
uint64_t span_id_of(const char *s, size_t len);

#endif
