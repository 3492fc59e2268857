/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A hypothesis: "dividing these requests by this tracepoint localises the problem". The hypotheses
 * of a run form a tree. States are in states.tbl.h, transitions in transitions.tbl.h; docs/forest.md shows
 * both as a diagram.
 */
#ifndef FOREST_HYPOTHESIS_H
#define FOREST_HYPOTHESIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "forest/reason.h"

enum hypothesis_state {
#define STATE(name, number, word, settled, help) HYPOTHESIS_##name = number,
#include "forest/states.tbl.h"
#undef STATE
};

const char *hypothesis_word(enum hypothesis_state s); /* "probing"; "?" for other numbers */
bool hypothesis_settled(enum hypothesis_state s);     /* final; false for other numbers */
/* Whether transitions.tbl.h has this transition. */
bool hypothesis_may(enum hypothesis_state from, enum hypothesis_state to);

/* Texts are terminated and owned; "" where there is none. Measurements are of the time when the
 * state was entered. */
struct hypothesis {
	uint64_t id;     /* in the database, from 1 */
	uint64_t run;    /* the diagnosis */
	uint64_t parent; /* 0: a root; a run has one for each of its searches */
	uint32_t cycle;  /* in which it was made */
	enum hypothesis_state state;
	char
	    presence; /* traces '+' with the tracepoint, '~' without it, ' ' of both kinds or at a root */
	char *tracepoint;          /* label; "" at a root */
	char *edge_from, *edge_to; /* labels: the edge that it is about */
	char *group_shape;         /* critical path of its group, printed */
	uint64_t group_key[2];     /* id of that group */

	/* what motivated it */
	uint64_t traces;
	double mean_ns, cv, share, share_low, share_high, latency_share;
	double
	    cost_ns; /* waiting that the problem of its group has caused so far; see variance.h */

	/* what settled it */
	uint64_t settled_traces;
	double settled_share, settled_low,
	    settled_high; /* of the smaller edge, or between groups */
	double
	    separation; /* share of the variance between traces with the tracepoint and without it */
	enum reason reason;  /* WITHDRAWN: why; NO_HELP: EXPLORED, where it measured nothing */
	char *key;           /* "label.field" that explains the edge; "" */
	double key_r, key_p; /* correlation, or root of the share for categories; corrected p */
	uint32_t key_n;
	uint64_t exemplar_slow, exemplar_fast; /* trace ids, low halves */
	struct wall made, settled;
};

/* Copies with its texts. False: out of memory; *to is then empty. */
bool hypothesis_copy(struct hypothesis *to, const struct hypothesis *from);
void hypothesis_release(struct hypothesis *h); /* frees the texts; h is empty */
/* Changes the state, and sets `settled` if the new one is final. Precondition: hypothesis_may(). */
void hypothesis_enter(struct hypothesis *h, enum hypothesis_state s, struct wall when);
/* Replaces an owned text by a copy (NULL: by ""); `text` may be a part of it. False: out of memory,
 * unchanged. */
bool hypothesis_text(char **field, const char *text);

#endif
