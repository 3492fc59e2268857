/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What most formats speak in: spans, each with the span that caused it. A span
 * becomes a unit; its parent's unit forks it where it begins, and joins it where it ends
 * (DESIGN: Dapper's words map one to one). tree.h says how.
 */
#ifndef FORMATS_TRACE_SPAN_H
#define FORMATS_TRACE_SPAN_H

#include "analysis/group.h"

struct attribute {
	const char *key;
	uint32_t key_len;
	struct value value; /* texts over VALUE_TEXT_MAX are cut */
};

struct text_view {
	const char *s; /* not terminated; may be NULL when len is 0 */
	uint32_t len;
};

struct span {
	struct trace_id trace;
	uint64_t
	    id; /* 0: none, and then the span is counted as incomplete; so with a trace of 0, 0 */
	uint64_t parent;
	bool has_parent;
	bool follows; /* it was caused by its parent, which does not wait for it (FOLLOWS_FROM, a
	                 consumer) */
	bool failed;  /* by its status */
	int64_t begin_ns, end_ns;
	struct text_view service, name; /* "" are taken for "unknown" */
	struct text_view node;          /* host, pod or instance; "" is not known */
	uint32_t nattributes;
	const struct attribute *attributes;
	uint64_t offset; /* where it begins in its file, in (inflated) bytes */
};

/* Ids are hexadecimal as a rule, and then read exactly (the low 64 or 128 bits); any other text is
 * hashed; "" is 0. */
struct trace_id trace_id_of(const char *s, size_t len);
uint64_t span_id_of(const char *s, size_t len);

#endif
