/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Assembles records to traces. Batches of several nodes arrive in any interleaving; the batches
 * of one node arrive in order, each with a watermark. A trace is complete when its end was seen
 * and the watermark of every node has passed that end by the skew bound. The result does not
 * depend on the interleaving: complete traces are returned in order of (end, id), and each is
 * the same to the last bit.
 *
 * Among thousands of nodes one always lags, so traces need not wait for nodes that they do not use (options.order_ns). Each unit
 * runs on one node, and begins with a record that names the fork from which it comes. So a trace is closed, and no node has a part in it
 * but those that it has records of, when
 *
 *	1. its begin and its end were seen, and
 *	2. each fork in it has its unit_begin, and each unit_begin its fork (the closure of happened-before: Lamport 1978).
 *
 * A trace in which a unit was joined and has not ended by the request's end + skew_ns waits late_ends_ns longer for that (late_ends.h): by all rules
 * here it is as if its request ended that much later.
 *
 * A closed trace is returned when the watermarks of its nodes have passed its end by skew_ns + order_ns, or when those of all nodes
 * have passed it by skew_ns, whichever comes first. So traces come in order of (end, id) as long as no node lags by more than order_ns,
 * and a node that does delays its own traces only; what a node lost makes no closed trace lossy but its own. A trace that is not closed waits for all nodes, but open_ns at most; then it is
 * lossy. fork_labels.h says which forks are known to have one unit_begin or none: until a label is known, its traces wait for all
 * nodes.
 */
#ifndef ANALYSIS_ASSEMBLE_H
#define ANALYSIS_ASSEMBLE_H

#include "analysis/trace.h"
#include "base/err.h"
#include "wire/record.h"

struct assemble;

/* New labels of one node, as long as the process runs: labels are never forgotten. Beyond it, records with a new label
 * are not taken. */
enum { ASSEMBLE_NODE_LABELS_MAX = 65536 };

struct assemble_options {
	/* Bound on incomplete traces; above it the trace that began first is given up. */
	size_t memory_max_bytes;
	int64_t skew_ns; /* maximum difference between the clocks of two nodes */
	/* A trace without an end this long after its first record is given up; measured by
	 * watermarks, not by a clock */
	int64_t patience_ns;
	/* Records of one trace that are examined; a trace with more of them is incomplete
	 * (INCOMPLETE_TOO_LONG). 0: there is no bound. So what a traced program can make this process
	 * do at once is bounded. */
	uint32_t records_max;
	int64_t order_ns;     /* see above; 0: each trace waits for all nodes */
	int64_t open_ns;      /* with order_ns; at least as long */
	int64_t late_ends_ns; /* see above; 0: no trace waits for ends of units */
};

struct assemble_counts {
	/* Received; = used + late + duplicate + given_up + held, unless a call failed with
	 * ERR_MEMORY */
	uint64_t records;
	uint64_t used;     /* in traces that were returned */
	uint64_t given_up; /* in traces that were given up, with those over records_max */
	uint64_t held;     /* in traces that are neither returned nor given up yet */
	uint64_t outside;  /* without a trace id; not included in `records` */
	uint64_t complete; /* traces returned */
	/* Records of traces that were already returned or given up, records later than the
	 * end of their trace by more than the skew (and late_ends_ns, if it waited), and waits and samples before any other record. */
	uint64_t late;
	uint64_t duplicate; /* exact copies of another record; removed from their traces */
	/* Traces given up: over the memory bound; no end in time; not exactly one begin and one
	 * end in this order, or over records_max. */
	uint64_t given_up_memory, given_up_patience, given_up_malformed;
	/* Traces that are lossy: an agent reported lost records in their time, or left. */
	uint64_t lossy;
	uint64_t early;  /* returned before all nodes had passed their end, */
	uint64_t opened; /* and of these not closed after open_ns, so lossy */
	/* The others that are incomplete, by reason: given up for another reason than memory, or
	 * returned (NO_UNIT). [INCOMPLETE_NONE] is 0. */
	uint64_t incomplete[INCOMPLETES];
	/* Records that agents reported as lost; LOSS_DECODE also counts records without a
	 * usable label or time. */
	uint64_t lost[LOSS_REASONS];
	uint64_t unlabelled; /* those of them whose node has ASSEMBLE_NODE_LABELS_MAX labels */
	uint64_t pending;    /* traces whose end or watermarks are still missing */
	size_t memory_bytes; /* used by the records of all traces not returned yet */
};

int assemble_new(
    struct assemble **ret, const struct assemble_options *o, struct labels *labels, struct err *e);
void assemble_free(struct assemble *a);

/* Adds a node: from here on every trace waits for the watermark of this node, at least until
 * its first batch. No trace completes while no node is joined. `node` is a small number from 0.
 * A node that returns keeps its number. ERR_MEMORY. */
int assemble_join(struct assemble *a, uint32_t node, struct err *e);
/* Removes a node: no trace waits for it any more; pending traces with a record of this node
 * are marked lossy. O(records of pending traces). */
void assemble_leave(struct assemble *a, uint32_t node);

/* How many labels this node was the first to send. */
uint32_t assemble_node_labels(const struct assemble *a, uint32_t node);

/* Takes a batch and copies what it keeps. O(records + log nodes), plus O(log pending) and O(kept
 * losses, at most 512) for each trace that the batch completes, and with order_ns O(log pending) for each of its nodes that it has to wait
 * for. Memory exceeds its bound by one
 * batch at most. ERR_MEMORY only. */
int assemble_batch(struct assemble *a, uint32_t node, const struct batch *b, struct err *e);

/* Builds and returns the next complete trace, or NULL; the caller frees it with trace_free().
 * O(n log n) in its records, O(n) if they arrived in order. Traces that turn out malformed are
 * skipped and counted. */
struct trace *assemble_next(struct assemble *a);

/* The least watermark at which the last trace that assemble_next() returned was due: its end + skew_ns, and later where spans of it might
 * still come. Without order_ns traces are returned in order of (this, id), and all that are due at a watermark are returned before
 * one that is due later. */
int64_t assemble_due_ns(const struct assemble *a);

/* Returns the next trace that was given up for want of a begin or an end, or for its length, or NULL; the caller frees
 * it. It has no response time (trace_has_times()). The last INCOMPLETE_KEPT_MAX are kept, and no more
 * than a sixteenth of the memory bound; others are only counted. */
enum { INCOMPLETE_KEPT_MAX = 256 };
struct trace *assemble_next_incomplete(struct assemble *a);

/* Calls fn with each pending trace that has no end and began before `before_ns`, the oldest first, at
 * most `max` of them; the trace is valid during the call. O(records of these traces). */
typedef void assemble_look(void *ctx, const struct trace *t);
void assemble_look_pending(
    struct assemble *a, int64_t before_ns, uint32_t max, assemble_look *fn, void *ctx);

void assemble_counts(const struct assemble *a, struct assemble_counts *ret);

#endif
