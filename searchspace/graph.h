/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a space is made of; for space.c and for the door that keeps it in a file. */
#ifndef SEARCHSPACE_GRAPH_H
#define SEARCHSPACE_GRAPH_H

#include "base/hash.h"
#include "searchspace/space.h"

struct step_taken {
	uint32_t from, to;	/* places */
	uint64_t count;
	double   mean_ns;
};

struct graph {			/* of one request type */
	uint32_t type;		/* label */
	uint64_t traces;
	struct place *places;
	uint64_t *seen;		/* of each place: the number of the last trace that had it */
	uint64_t *first;	/* and of the first */
	uint32_t nplaces, places_cap;
	struct step_taken *steps;
	uint32_t nsteps, steps_cap;
	struct map context_of;	/* unit << 32 | span -> number of the pair + 1 */
	struct map place_of;	/* pair << 32 | label -> place + 1 */
	struct map step_of;	/* from << 32 | to -> step + 1 */
	uint32_t ncontexts;
};

struct graph *space_graph(const struct space *s, uint32_t type);	/* or NULL */
/* Found or made; NULL / UINT32_MAX: out of memory. */
struct graph *space_graph_for(struct space *s, uint32_t type);
uint32_t graph_place(struct graph *g, uint32_t unit, uint32_t span, uint32_t label);
uint32_t graph_step(struct graph *g, uint32_t from, uint32_t to);
const struct labels *space_labels(const struct space *s);

#endif
