/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One time for all nodes. A node stamps records by its CLOCK_MONOTONIC, which
 * began when its machine did: two of them differ by days, and drift apart by
 * some 100 us a second at worst. (While a clock is slewed to set it right it may be more. Then bounds contradict each
 * other, and the newest counts alone.) Two corrections, one after the other:
 *
 *	record, its clock --map--> our clock, within some 100 us --trace--> the root's node's, effects after causes
 *	                   ^                                        ^
 *	 round trips with the agent                  fork to unit_begin, unit_end to join
 *
 * Both rest on the same fact: what was sent was sent before it came. So each
 * message gives one bound of the offset between two clocks, one each way; the
 * largest lower and the smallest upper bound are those of the quickest messages,
 * and the middle between them is off by at most half of their distance, however slow
 * or uneven all other messages are. (The filter of NTP, RFC 5905 section 10, takes
 * the sample of least delay; Cristian 1989 and Marzullo 1984 keep intervals, as
 * we do; Paxson 1998 removes offsets from one-way delays by their minima.)
 * A bound loosens with its age by the most that clocks drift, so that old ones are
 * forgotten just as quickly as they become untrue.
 *
 * Pure: all times are arguments.
 */
#ifndef ANALYSIS_CLOCKS_H
#define ANALYSIS_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/trace.h"
#include "base/err.h"

enum {
	CLOCK_DRIFT_PPM =
	    250, /* of one clock against another: crystals are within 100 of the truth */
	CLOCK_SLEW_PPM = 400, /* so fast does what is in use follow what is known */
	CLOCK_SLEW_MAX_NS =
	    5000000 /* what is further from the bounds than this is not followed: it starts anew */
};

struct clocks;

int clocks_new(struct clocks **ret, struct err *e); /* ERR_MEMORY */
void clocks_free(struct clocks *c);                 /* NULL is fine */

/* ---- nodes, by round trips ---- */

/* We asked, it came there, it went from there, it was back: two clocks, each true of itself. */
struct clock_sample {
	int64_t asked_ns, back_ns; /* our clock; asked INT64_MIN: it came unasked, which gives the
	                              upper bound alone */
	int64_t came_ns, went_ns;  /* its clock */
};

struct clock_state {
	bool known, bounded; /* some sample; both bounds */
	bool here;         /* it may well be our own clock: 0 is within the bounds, and is taken */
	int64_t offset_ns; /* ours minus its, in use */
	int64_t uncertain_ns; /* by so much that may be wrong at most; INT64_MAX unless bounded */
	uint64_t steps;       /* how often its clock (or ours) was found to have jumped */
};

/* Nothing is known of the node's clock any more: another machine, or the same one started anew.
 * `node` is small. */
int clocks_reset(struct clocks *c, uint32_t node, struct err *e);

/* O(1). Samples that no two clocks can give (back before asked) are ignored. True: what is in use
 * is wrong by more than can be followed, and the next clocks_map() starts anew, perhaps with
 * earlier times than before: what was mapped and is not complete yet must be given up, and what is
 * known of the node as one of a pair is forgotten. */
bool clocks_sample(struct clocks *c, uint32_t node, const struct clock_sample *s);

/*
 * A time of the node's clock by ours. Call it in the order of the node's records:
 * then, until a sample says true, of two times the later stays the later, and a
 * watermark stays true of what was mapped before it. Depends on what was called for
 * this node alone, so it is the same however the batches of nodes are interleaved.
 * Without any sample the node's clock is taken for ours. O(1).
 */
int64_t clocks_map(struct clocks *c, uint32_t node, int64_t its_ns);

/* The same for times that are no record's and need not be in order (of losses): by the offset in
 * use now. */
int64_t clocks_near(const struct clocks *c, uint32_t node, int64_t its_ns);

void clocks_state(const struct clocks *c, uint32_t node, int64_t now_ns, struct clock_state *ret);

/* ---- pairs of nodes, by traces ---- */

struct clocks_counts {
	uint64_t corrected;     /* traces with units that were moved onto the root's node's clock */
	uint64_t contradictory; /* traces for which clocks_trace() said false */
	uint64_t
	    late_ends; /* unit_end after the join: stamped after the answer had gone, so no bound */
	uint32_t pairs; /* of nodes that hand work to each other */
};

/*
 * Learns the bounds that the trace's forks and joins give for pairs of nodes (each
 * node's largest error by round trips is one too), then moves the units of other
 * nodes than the root's, whole and in place, by the offsets along the chain of forks.
 * With bounds from both ways an offset is the middle between them when they were
 * closest, less what has loosened since, as long as it lies between them; with one,
 * no more than that bound asks for. Between nodes that are here, or that never were
 * asked (of trace files), there is none unless there must be.
 *
 * So the trace's own effects come after their causes, but for what was stamped too
 * late, after the join that it led to; critpath_extract() moves and counts that. The
 * root's unit, and the one in which the request ended, stay: so does the response time.
 *
 * Give traces in the order in which assemble_next() does: then the result does not
 * depend on how the nodes' batches were interleaved, provided that each node's samples come at the
 * same place among its own batches, and no clock jumps.
 *
 * False: a fork came after what it began by more than round trips allow. A clock
 * has jumped and none has told yet; where the trace's time went between nodes is
 * not known. Out of memory: the trace is left as it is, and true.
 * O(events) where nodes differ, else O(units).
 */
bool clocks_trace(struct clocks *c, struct trace *t, const struct labels *labels);

/* The offset between two nodes' mapped clocks now in use: how far b's is ahead of a's. False: they
 * hand each other nothing. */
bool clocks_pair(
    const struct clocks *c, uint32_t a, uint32_t b, int64_t *ahead_ns, int64_t *uncertain_ns);

void clocks_counts(const struct clocks *c, struct clocks_counts *ret);

#endif
