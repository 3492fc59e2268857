/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a space. For the files of this room: space*.c, learn.c, match*.c. */
#ifndef SEARCHSPACE_SPACE_INSIDE_H
#define SEARCHSPACE_SPACE_INSIDE_H

#include "searchspace/graph.h"
#include "searchspace/space_content.h"
#include "searchspace/span.h"

struct space {
	const struct labels *labels;
	struct graph **graphs; /* in the order in which they were learned */
	uint32_t ngraphs, graphs_cap;
	struct space_version version;
	struct spans spans;
	uint32_t *at, at_cap;       /* vertices of the events of the trace being learned */
	uint32_t *names, names_cap; /* labels of its units */
};

struct graph *space_find(const struct space *s, uint32_t type); /* or NULL; O(types) */
const struct labels *space_labels(const struct space *s);
/* In the order in which they were learned; NULL past the last. */
const struct graph *space_graph(const struct space *s, uint32_t i);
struct graph *space_graph_of(
    struct space *s, uint32_t type); /* found or added; NULL: out of memory */

#endif
