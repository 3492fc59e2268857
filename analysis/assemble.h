/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records to traces. Batches come from many nodes in any interleaving; each
 * node's own are in order, with a watermark. A trace is complete when its end
 * was seen and every node's watermark has passed it by the skew bound.
 * What comes out does not depend on the interleaving: complete traces come out by
 * (end, id), and each is the same to the last bit.
 */
#ifndef ANALYSIS_ASSEMBLE_H
#define ANALYSIS_ASSEMBLE_H

#include "analysis/trace.h"
#include "base/err.h"
#include "wire/record.h"

struct assemble;

struct assemble_options {
	size_t memory_max_bytes; /* of incomplete traces; past it the one that began first is given
	                            up */
	int64_t skew_ns;         /* how far nodes' clocks may be apart */
	int64_t patience_ns; /* a trace whose end has not come this long after its first record is
	                        given up, by the watermarks, not by any clock */
};

struct assemble_counts {
	uint64_t records;  /* that came: used + late + duplicate + given_up + held, always */
	uint64_t used;     /* of traces given out */
	uint64_t given_up; /* of traces that were */
	uint64_t held;     /* of traces that are not given out yet */
	uint64_t outside;  /* records of no trace, not among `records` */
	uint64_t complete; /* traces given out */
	uint64_t late; /* records of traces that were given out or up already, or would have been:
	                  later than the end by more than the skew */
	uint64_t duplicate; /* records that were there already, in all they say; left out of their
	                       traces */
	uint64_t given_up_memory, given_up_patience, given_up_malformed; /* traces: no room; no end;
	                            no begin, two ends, or a begin after the end */
	uint64_t lossy;                                                  /* given out, but marked */
	uint64_t lost[LOSS_REASONS]; /* records that agents told us they lost */
	uint64_t incomplete;         /* traces being held now */
	size_t memory_bytes;         /* held now */
};

int assemble_new(
    struct assemble **ret, const struct assemble_options *o, struct labels *labels, struct err *e);
void assemble_free(struct assemble *a);

/* From here on all traces wait for this node too, for its first batch in any case; nothing
 * completes while nobody is joined. `node` is small: 0 up. A node that comes back keeps its number.
 */
int assemble_join(struct assemble *a, uint32_t node, struct err *e);
/* Nobody waits for it any more; incomplete traces that it took part in are marked lossy. */
void assemble_leave(struct assemble *a, uint32_t node);

/* Takes a batch: copies once what it keeps. O(records), plus O(log incomplete) and O(losses of
 * late: at most 512) for each trace that is complete by it. ERR_MEMORY only. Memory is over its
 * bound by one batch at most. */
int assemble_batch(struct assemble *a, uint32_t node, const struct batch *b, struct err *e);

/* The next complete trace, or NULL; the caller's, until trace_free(). Builds it: O(n log n) in its
 * records for the sort, O(n) where they came in order. */
struct trace *assemble_next(struct assemble *a);

void assemble_counts(const struct assemble *a, struct assemble_counts *ret);

#endif
