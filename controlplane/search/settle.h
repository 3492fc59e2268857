/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What became of this cycle's tracepoints. */
#ifndef CONTROLPLANE_SEARCH_SETTLE_H
#define CONTROLPLANE_SEARCH_SETTLE_H

#include "controlplane/search/search_state.h"

/* ---- pure ---- */

struct settle_facts {   /* of one tracepoint of this cycle */
	bool separates; /* its presence divides slow from fast ... */
	bool slow_with; /* ... and the slow side passes it */
	bool is_end;    /* of the gap, as it is now */
	bool measured;  /* the parts were measured, on the model's path: */
	bool on_path;   /* that path passes it ... */
	bool inside;    /* ... strictly inside what was the gap */
	bool retired;   /* no program has it any more */
};
struct settle_result {
	enum hypothesis_state state;
	bool heir;         /* the search goes on from its hypothesis */
	bool absence;      /* the hypothesis is about its absence */
	bool never_inside; /* no walk of the gap through it is considered again */
};
/*
 * 1. It separates: SEPARATES. The hypothesis is about its absence if the slow side lacks it.
 * 2. Otherwise, it is an end of the gap: ISOLATES.
 * 3. Otherwise: NO_HELP.
 * 4. Not separating, and not inside the gap on the path that was measured: never inside, unless it
 *    is retired; another version was learned then, and its absence says nothing.
 */
struct settle_result settle_tracepoint(const struct settle_facts *f);

/* ---- of a search ---- */

/* Settles the hypotheses of this cycle's tracepoints by the decision, and disables those that are
 * not needed any more. DECIDE_FOLLOW: settles only the label that separates, and disables none. 0 or
 * a negative code. */
int settle_picks(
    struct search_port *port, struct search *s, const struct decision *x, struct err *e);

#endif
