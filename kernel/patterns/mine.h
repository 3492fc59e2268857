/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Closed sequential patterns with gap constraints. A pattern a1 a2 ... ak occurs in a sequence if its items are there in this order, and
 * between two that follow each other are gap_min to gap_max others. Its support is the weight of the sequences in which it occurs. It is
 * closed if no pattern of which it is a proper subsequence has the same support.
 *
 * After Li and Wang, Efficiently mining closed subsequences with gap constraints, SDM 2008 (Gap-BIDE): patterns grow at their end; one is
 * not closed if an item before or behind it keeps its support, and neither it nor what grows from it is closed if one item can come
 * before all its occurrences. Two steps are added, since these checks alone also give patterns with a hole that another pattern of the same
 * support fills, and of long equal sequences exponentially many: a pattern is not continued if a longer one that contains it ends at
 * the same places (Yan, Han and Afshar, CloSpan, SDM 2003, section 3.2, for gaps), and at the end patterns are left out that a longer one
 * of the same support contains.
 *
 * Pure. Sets of places are bit sets, so an extension costs O(gap_max x places / 64).
 */
#ifndef KERNEL_PATTERNS_MINE_H
#define KERNEL_PATTERNS_MINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum { MINE_ITEMS = 32, MINE_GAP_MAX = 31, MINE_LENGTH_MAX = 512 };

struct mine_sequence {
	const uint8_t *items; /* each < MINE_ITEMS */
	uint32_t len;         /* <= MINE_LENGTH_MAX */
	uint64_t weight;      /* how many sequences are equal to it; > 0 */
};

struct mine_options {
	uint32_t gap_min, gap_max; /* gap_min <= gap_max <= MINE_GAP_MAX */
	double support;            /* of the weight of all; 0 < support <= 1 */
	/* Bounds; 0: MINE_WORK_MAX, MINE_NODES_MAX. Work is counted in words of bit sets that are touched, some 1 ns each. Each node is a
	 * pattern that was looked at; it takes 32 bytes and its length. */
	uint64_t work_max;
	uint32_t nodes_max;
};

#define MINE_WORK_MAX (UINT64_C(1) << 30)
enum { MINE_NODES_MAX = 1 << 17 };

struct mined {
	const uint8_t *items;
	uint32_t len;
	uint64_t support; /* weight */
};

struct mine_result {
	struct mined *
	    patterns; /* in the arena; the greatest support first, then the longest, then by items */
	uint32_t n;
	uint64_t weight, work; /* of all sequences; done */
	uint32_t nodes;
};

/* Finds all closed patterns with at least this support. Exact, up to 2^-64 for each pair of nodes that equal hashes of 128 bits are of
 * different sets. In the arena, also what is needed meanwhile. ERR_INPUT: a sequence or an option is out of range; ERR_FULL: a bound was
 * reached, and ret->n is 0; ERR_MEMORY. */
int mine_closed(struct mine_result *ret, const struct mine_sequence *sequences, uint32_t n,
    const struct mine_options *o, struct arena *a, struct err *e);

/* Writes the first places (by the first item, then the second, ...) at which the pattern occurs in the sequence. False: it does not occur; then
 * at[] is not set. O(len x pattern_len x gap). */
bool mine_match(uint32_t *at, const uint8_t *pattern, uint32_t pattern_len, const uint8_t *items,
    uint32_t len, uint32_t gap_min, uint32_t gap_max);

/* Whether a is a subsequence of b, with any gaps. O(b_len). */
bool mine_within(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len);

#endif
