/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libhone's member of the header tracestate (W3C Trace Context), as docs/trace-contract.md describes it. A program with
 * OpenTelemetry hands it on unread, so its spans say which request of libhone they belong to.
 *
 *	hone=<16 hex: link>-<8 hex: request type><1 hex: 1 sampled, 2 probed>
 */
#ifndef OTEL_SPANS_TRACE_STATE_H
#define OTEL_SPANS_TRACE_STATE_H

#include "formats/trace_span.h"

struct caller { /* all zeroes: the caller is not known to be under Hone */
	uint64_t link_id;
	bool sampled, probed;
};

/* Reads the first member hone=. All zeroes: there is none, or it is malformed. O(length). */
struct caller trace_state_caller(struct text_view state);

#endif
