/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the structure records of requests pair, counted from traces: for each request type and each label
 * of a fork, a unit or a request; but for those that no program recorded (labels_silent()). analysis/mistake.h says what that means. All counts are sums, so
 * tables of consecutive windows add up.
 */
#ifndef ANALYSIS_PLACE_FACTS_H
#define ANALYSIS_PLACE_FACTS_H

#include "analysis/trace.h"
#include "base/hash_table.h"

enum { PLACES_MAX = 512 }; /* rows of a table; records of further places are only counted */

struct place_facts {
	uint32_t type;  /* label of the request_begin; LABEL_NONE: of traces without one */
	uint32_t label; /* of the fork, of the unit's begin, or of the request_begin */

	/* A fork, in traces that are not lossy. */
	uint64_t forked, begun, ended, joined; /* ended: its unit did */
	uint64_t joined_unbegun;               /* joined, but no unit began by it */
	uint64_t begun_again;                  /* units that began by it beside the first one */
	/* Those with and without a join: `shared` if a unit of another trace began on the forking
	 * unit's thread before the work was over. */
	uint64_t shared_joined, shared_unjoined, alone_joined, alone_unjoined;
	/* Without a join, and the unit ended while the forking unit recorded nothing: the sums of that
	 * gap, and of its part after the unit's end. Of several units that ended in one gap, the last
	 * one counts. */
	uint64_t in_gap;
	double gap_ns, slack_ns;
	uint32_t unit;   /* label of the last unit that began by it; LABEL_NONE */
	uint32_t forker; /* label that began the last unit that forked it */

	/* A unit. */
	uint64_t units, joined_units;
	uint64_t open_units; /* of the joined ones: without an end */
	uint64_t orphans;    /* the trace has no fork with its link */

	/* A request, by its first request_begin. */
	uint64_t requests;
	uint64_t open; /* without an end */
	uint64_t
	    open_shared; /* of these: another trace's unit began on its thread while it had forked
	                         work that was neither joined nor over */
	uint64_t ended_again, ended_first;
	/* A further request_begin in the trace of this type. */
	uint64_t begun_inside;
	/* A unit that was the first one of a trace without a request_begin. */
	uint64_t headless;

	/* A tracepoint by which a mapping begins or ends requests, in rows without a type: how often it
	 * came, and how often as each enum mapped_event. */
	uint64_t mapped, mapped_idless, mapped_alone, mapped_inside;
};

enum mapped_event {
	MAPPED_PAIRED, /* it began a request, or ended an open one */
	MAPPED_IDLESS, /* the field of its id is missing */
	MAPPED_ALONE,  /* it ends a request, or is a step of one, that is not open */
	MAPPED_INSIDE  /* it begins one inside of the open one of its rule, again and again */
};

struct place_table { /* all zeroes is empty */
	struct place_facts *items;
	uint32_t n, cap;
	struct hash_table by_place;
	struct hash_table links; /* of the trace at hand */
	/* Taken; of these lossy ones and such that are too long, which count nothing else. */
	uint64_t traces, lossy;
	uint64_t beyond; /* facts of places beyond PLACES_MAX */
};

void place_table_release(struct place_table *p);
void place_table_clear(struct place_table *p); /* keeps its memory */

/* Counts a trace, complete or incomplete. False: out of memory; a part of it may be counted.
 * O(events). */
bool place_table_add(struct place_table *p, const struct trace *t, const struct labels *labels);
/* Counts a tracepoint of a mapping, `times` times. False: out of memory. O(1). */
bool place_table_mapped(
    struct place_table *p, uint32_t label, enum mapped_event what, uint32_t times);
/* Adds the counts of another table. False: out of memory. O(rows). */
bool place_table_merge(struct place_table *into, const struct place_table *from);
/* Adds units that are open in a table of a longer time, of the types of `into`, if no unit of that label
 * began in `into`: a thread with four open units begins no more. False: out of memory. O(rows^2). */
bool place_table_merge_open(struct place_table *into, const struct place_table *longer);

#endif
