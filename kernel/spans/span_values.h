/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes into an annotation of spans, and what comes out for each of them: plain values (kernel/spans/annotate.h). */
#ifndef KERNEL_SPANS_SPAN_VALUES_H
#define KERNEL_SPANS_SPAN_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/below.h"

enum {
	SPAN_NONE = UINT32_MAX,
	SPAN_PREEMPTED =
	    BELOW_STATES, /* ready, since another thread took its CPU; READY: since it was woken */
	SPAN_STATES,
	SPAN_DEPTH_MAX = 1024, /* ancestors further away are not seen */
	SPAN_ACTIVE_MAX =
	    64, /* active spans of a thread at a time; with more of them nobody owns the time */
	SPAN_CALLS_MAX = 1000, /* listed calls of a span, by default */
	SPAN_MEMORY_BYTES = 256 << 20
};

struct span_node {       /* a span, as far as it matters here; its number is its index */
	uint32_t parent; /* SPAN_NONE: none, or not known */
	bool chosen;     /* is annotated */
};

struct span_place {
	int64_t from_ns, to_ns; /* [from, to), on the clock of the events */
	uint32_t span, host, tid;
};

struct span_result {
	int64_t active_ns; /* in its places */
	/* Of that, by state: in all of the time that it or a descendant owns while it is active on that thread, too; and in the time that it owns
	 * itself. The first and shared_ns add up to active_ns. */
	int64_t state_ns[SPAN_STATES], self_ns[SPAN_STATES];
	int64_t shared_ns; /* it is not known whose time it is */
	int64_t
	    unseen_ns; /* of self_ns[UNKNOWN]: the recording does not know the thread at that time */
	uint32_t
	    begun[SPAN_STATES]; /* states that began in the time that it owns: preemptions, waits */
	uint32_t migrations;    /* times that its thread went on on another CPU */
	uint32_t calls_left_out;     /* calls over the threshold beyond calls_max */
	uint32_t first_call, ncalls; /* of annotate_calls(), by begin */
	uint32_t first_sum,
	    nsums; /* of annotate_sums(), by kind and decreasing total_ns and count */
};

#endif
