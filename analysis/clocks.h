/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings the times of all nodes onto one clock. A node stamps records by its CLOCK_MONOTONIC,
 * which starts when the machine boots: clocks of two nodes differ by days, and drift apart by
 * up to about 100 us per second. (A clock that is being slewed may drift faster. Then bounds
 * contradict each other, and only the newest one counts.) There are two corrections, one after
 * the other:
 *
 *	record, by the node's clock
 *	  | clocks_map(): by round trips with the agent, to within some 100 us
 *	  v
 *	by the controller's clock
 *	  | clocks_trace(): by fork to unit_begin and unit_end to join
 *	  v
 *	by the clock of the root's node: effects come after causes
 *
 * Both rest on the same fact: a message is sent before it arrives. So each message gives a
 * bound of the offset between two clocks, in one direction. The largest lower bound and the
 * smallest upper bound come from the fastest messages, and their middle is off by at most half
 * of their distance, however slow or irregular other messages are. (The filter of NTP, RFC 5905
 * section 10, selects the sample with the least delay; Cristian 1989 and Marzullo 1984 keep
 * intervals, as this does; Paxson 1998 removes offsets from one-way delays by their minima.) A
 * bound widens with its age by the maximum drift of clocks, so it is given up as fast as it may
 * become false.
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
	/* Of two clocks against each other: crystals are within 100 ppm of the true rate. */
	CLOCK_DRIFT_PPM = 250,
	/* Maximum rate at which the offset in use follows the estimate. */
	CLOCK_SLEW_PPM = 400,
	/* An offset further outside of its bounds is not followed but set anew. */
	CLOCK_SLEW_MAX_NS = 5000000
};

struct clocks;

int clocks_new(struct clocks **ret, struct err *e); /* ERR_MEMORY */
void clocks_free(struct clocks *c);                 /* NULL is fine */

/* ---- nodes, by round trips ---- */

/* A round trip to a node. The times of each side are by its own clock. */
struct clock_sample {
	/* controller's clock; asked INT64_MIN: unsolicited message, which gives the upper bound
	 * only */
	int64_t asked_ns, back_ns;
	int64_t came_ns, went_ns; /* node's clock: request received, answer sent */
};

struct clock_state {
	bool known, bounded; /* there was a sample; both bounds are known */
	/* Probably the controller's own clock: 0 is within the bounds, and is used. */
	bool here;
	int64_t offset_ns;    /* controller's clock minus node's clock, in use */
	int64_t uncertain_ns; /* maximum error of offset_ns; INT64_MAX unless bounded */
	/* How often the node's clock (or the controller's) was found to have jumped. */
	uint64_t steps;
};

/* Forgets what is known of the node's clock: another machine, or the same one rebooted. `steps`
 * is kept. `node` is a small number from 0. ERR_MEMORY. */
int clocks_reset(struct clocks *c, uint32_t node, struct err *e);

/*
 * Takes a round trip. Samples that no two clocks can give (back before asked) are ignored.
 * Returns true if the offset in use is wrong by more than can be followed: the next
 * clocks_map() starts anew, perhaps with earlier times than before, so traces that are
 * incomplete must be given up; what was known of pairs with this node is discarded. O(1).
 */
bool clocks_sample(struct clocks *c, uint32_t node, const struct clock_sample *s);

/*
 * Converts a time of the node's clock to the controller's clock. Call it in the order of the
 * node's records: then, until clocks_sample() returns true, the order of times is kept, and a
 * watermark stays valid for what was mapped before it. The result depends on the calls for this
 * node only, so it is the same for every interleaving of nodes. Without a sample, and for a
 * node without clocks_reset(), times are returned unchanged. O(1).
 */
int64_t clocks_map(struct clocks *c, uint32_t node, int64_t its_ns);

/* The same for times that are not of records and need not be in order (of losses), with the
 * offset in use now. */
int64_t clocks_near(const struct clocks *c, uint32_t node, int64_t its_ns);

void clocks_state(const struct clocks *c, uint32_t node, int64_t now_ns, struct clock_state *ret);

/* ---- pairs of nodes, by traces ---- */

struct clocks_counts {
	/* Traces with units that were moved onto the clock of the root's node. */
	uint64_t corrected;
	uint64_t contradictory; /* traces for which clocks_trace() returned false */
	/* unit_end after the join: recorded after the answer was sent, so it gives no bound */
	uint64_t late_ends;
	uint32_t pairs; /* of nodes that hand work to each other */
};

/*
 * Learns the bounds that forks and joins of the trace give for pairs of nodes (the maximum
 * errors by round trips are bounds, too), then moves the units on other nodes than the root's,
 * as a whole and in place, by the offsets along the chain of forks. With bounds from both
 * directions the offset is their middle at the time when they were closest, limited to the
 * present bounds; with one bound, no more than the bound requires. Between nodes that share the
 * controller's clock, or that never had a round trip (trace files), the offset is 0 unless a
 * bound excludes it.
 *
 * Afterwards effects in the trace come after their causes, except events that were recorded
 * late, after the join that they led to; critpath_extract() moves and counts those. The root
 * unit and the unit in which the request ended are not moved, and neither is the response time.
 *
 * A trace that ended before one of an earlier call gives bounds that are wider by the drift since then. Call it in the order of
 * assemble_next(): then the result does not depend on how the nodes'
 * batches were interleaved, provided that each node's samples come at the same position among
 * its own batches and no clock jumps.
 *
 * Returns false if a fork came after the beginning of its unit by more than round trips allow:
 * a clock has jumped and no sample has shown it yet, so it is unknown where the trace's time
 * between nodes went. Out of memory: returns true and leaves the trace as it is. O(events) if
 * it spans several nodes, otherwise O(units).
 */
bool clocks_trace(struct clocks *c, struct trace *t, const struct labels *labels);

/* The offset in use between the mapped clocks of two nodes: how far b's is ahead of a's. false:
 * no trace gave a bound for this pair. */
bool clocks_pair(
    const struct clocks *c, uint32_t a, uint32_t b, int64_t *ahead_ns, int64_t *uncertain_ns);

void clocks_counts(const struct clocks *c, struct clocks_counts *ret);

#endif
