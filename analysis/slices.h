/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts of what happened in each slice of time. Slices have one length, which begins at a second and
 * doubles when there are more than SLICES_MAX with something in them, or more counts than allowed; so
 * memory is bounded for any length of traffic, and pauses cost nothing. What a slice counts is
 * identified by three numbers.
 */
#ifndef ANALYSIS_SLICES_H
#define ANALYSIS_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_table.h"

enum { SLICES_MAX = 128 };

#define SLICE_NS INT64_C(1000000000) /* the length at first */

enum slice_what {    /* see struct profile */
	SLICE_TOTAL, /* bucket: of the response time; of: 0 */
	SLICE_CALLS, /* of: the call; bucket 0: calls, 1: traces */
	SLICE_SELF,  /* of: the call; bucket: of its own time */
	SLICE_WAY,   /* of: the call; bucket: of the time between caller and call */
	SLICE_STEP   /* of: the step */
};

struct slice_count {
	uint64_t key; /* see slice_key() */
	uint32_t count;
};

struct slices {
	uint32_t counts_max;
	int64_t length_ns;
	uint32_t n;             /* slices with something in them */
	int64_t at[SLICES_MAX]; /* a slice's begin / length_ns, in the order of first use */
	uint32_t open;          /* the one that slices_count() counts in */
	uint32_t ncounts, counts_cap;
	struct slice_count *counts; /* in the order of first use; after slices_sort(): by key */
	struct hash_table index;    /* of counts, by key */
	uint64_t lost; /* not counted: one slice alone has more than counts_max counts */
};

/* An empty set of slices, of at most counts_max counts: 48 bytes each at most. */
void slices_init(struct slices *s, uint32_t counts_max);
void slices_release(struct slices *s);

/* Opens the slice of this time. Amortised O(SLICES_MAX). False: out of memory. */
bool slices_open(struct slices *s, int64_t at_ns);
/* Adds 1 in the open slice. Amortised O(1). bucket < 512. False: out of memory. */
bool slices_count(struct slices *s, enum slice_what what, uint32_t of, uint32_t bucket);

/* Sorts the counts by slice in the order of time, then by what, of and bucket; renumbers the slices.
 * Counting may go on. O(counts log counts). False: out of memory. */
bool slices_sort(struct slices *s);

/* The parts of a count's key. */
static inline uint32_t
slice_of(uint64_t key)
{
	return (uint32_t)(key >> 48);
}

static inline enum slice_what
slice_what(uint64_t key)
{
	return (enum slice_what)(key >> 41 & 7);
}

static inline uint32_t
slice_subject(uint64_t key)
{
	return (uint32_t)(key >> 9);
}

static inline uint32_t
slice_bucket(uint64_t key)
{
	return (uint32_t)(key & 511);
}

#endif
