/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts the traffic of a baseline into blocks of time that are as long as a window. */
#ifndef REPORT_CHANGE_BLOCKS_H
#define REPORT_CHANGE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many times fewer requests than the window a block may have. */
#define BLOCK_FEWER 4

struct slice_time {
	double begin_ms, requests;
};

struct block {
	double begin_ms, end_ms; /* slices that begin in [begin, end) */
	double requests;
};

/*
 * Blocks of slices that are sorted by their begin; returns their number, at most n.
 *
 * 1. A block begins with the first slice that is in no earlier one. All slices that begin less than
 *    window_ms later are in it.
 * 2. While it has fewer than window_requests / BLOCK_FEWER requests, it also gets the next slice:
 *    there were pauses.
 * 3. A last block with fewer is part of the one before; if it is the only one, there is no block.
 */
uint32_t blocks_cut(struct block *ret, const struct slice_time *slices, uint32_t n,
    double window_ms, double window_requests);

#endif
