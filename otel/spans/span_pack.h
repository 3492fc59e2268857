/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A span as it is held: some 90 bytes for one with four attributes, of which the struct has 336. Texts that occur again and again
 * (services, names, nodes, keys) are kept once, up to PACK_TEXTS_BYTES, and are a number; others stand where they are used.
 *
 *	flags u8, kind u8 | id u64 | parent u64, if it has one | begin int: ns since the base | end int: ns since the begin
 *	| caller's link u64 and flags u8, if it has one | service text | name text | node text | attributes uint, each
 *	| key text | type u8 | value: uint, int, double, or a length and bytes
 *	of one with events or links: events uint, each | time int: ns since the begin | name text | attributes, as above
 *	| links uint, each | id u64
 *	text: uint: 0, a length and bytes; or the number + 1
 *
 * Pure; one thread at a time.
 */
#ifndef OTEL_SPANS_SPAN_PACK_H
#define OTEL_SPANS_SPAN_PACK_H

#include "base/arena.h"
#include "base/buf.h"
#include "formats/trace_span.h"
#include "otel/spans/trace_state.h"

enum { PACK_TEXTS_BYTES = 4 << 20, PACK_TEXT_MAX = 512 };

struct span_pack; /* the texts that are kept once */

struct span_pack *span_pack_new(void);    /* NULL: out of memory */
void span_pack_free(struct span_pack *p); /* NULL is fine */

/* Appends the span, with its first RECORD_VALUES_MAX attributes, and so of each event, and its links to spans of the same trace, without its
 * state, trace and offset. to->failed: out of memory.
 * O(length). */
void span_pack_put(struct span_pack *p, struct buf *to, const struct span *s,
    const struct caller *caller, int64_t base_ns);

/* The span that these bytes are; its texts are those of p and of the arena. False: out of memory. O(length). */
bool span_pack_get(const struct span_pack *p, const void *data, size_t len, int64_t base_ns,
    struct span *ret, struct caller *caller, struct arena *a);

#endif
