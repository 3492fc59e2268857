/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The watermarks of all nodes, and the least of them: a tournament tree (Knuth, TAOCP 3, 5.4.1), whose leaves are the nodes and
 * whose inner vertices are the lesser of two. Of thousands of nodes each sends a watermark many times a second, so none may look at
 * all of them.
 */
#ifndef ANALYSIS_WATERMARKS_H
#define ANALYSIS_WATERMARKS_H

#include <stdbool.h>
#include <stdint.h>

struct watermarks {      /* all zeroes is empty */
	int64_t *tree;   /* the root is tree[1]; the leaf of a node is tree[leaves + node] */
	uint32_t leaves; /* a power of two, or 0 */
};

void watermarks_release(struct watermarks *w); /* it is empty */

/* Makes room for nodes 0 to n - 1; new ones are not awaited. False: out of memory, and nothing has changed. O(n), amortised O(1). */
bool watermarks_room(struct watermarks *w, uint32_t n);
/* The watermark of a node that there is room for; INT64_MAX: it is not awaited. O(log nodes). */
void watermarks_set(struct watermarks *w, uint32_t node, int64_t ns);
/* The least of all; INT64_MAX: none is awaited. O(1). */
int64_t watermarks_least(const struct watermarks *w);

#endif
