/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A gap (searchspace/space.h) on the path of a group: which edges it consists of there. */
#ifndef CONTROLPLANE_SEARCH_GAP_H
#define CONTROLPLANE_SEARCH_GAP_H

#include "analysis/critpath.h"
#include "base/arena.h"
#include "searchspace/space.h"

/* The gap that one edge of a shape is. O(tokens). */
struct gap gap_of(const struct shape *s, uint32_t edge);
/* Whether the path has each end at one position; see struct gap. O(tokens). */
bool gap_is_only(const struct shape *s, const struct gap *gap);
bool gap_same(const struct gap *a, const struct gap *b);
bool gap_same_ends(const struct gap *a, const struct gap *b); /* at any position of the path */

/*
 * Marks the edges of the shape that the gap consists of, in inside[nedges]: from its one end to its
 * other, at its position. The edge that closes a loop belongs to the gap when the whole loop does,
 * or when the gap itself leads round the loop. All positions of these ends are marked if they were the
 * only one where the gap was found (gap.only), and on a path that has the gap's ends but not its
 * position. False: the path does not have the gap, or there
 * is no memory. O(tokens x loops).
 */
bool gap_edges(const struct shape *s, const struct gap *gap, bool *inside, struct arena *a);

/* The one edge that the gap is, or UINT32_MAX: it is several edges, or the path has its ends at
 * several other positions. O(edges x tokens). */
uint32_t gap_edge(const struct shape *s, const struct gap *gap);

/* How many edges have the same ends as this one (at least 1); *before: how many of them the path
 * passes earlier. O(edges x tokens). */
uint32_t gap_positions(const struct shape *s, uint32_t edge, uint32_t *before);

/* Label of the event that began the unit of this token. */
uint32_t shape_unit(const struct shape *s, uint32_t token);

#endif
