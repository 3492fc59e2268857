/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A hypothesis: "telling these traces apart by this tracepoint localises the
 * problem". One node of the forest; a tree for each diagnosis of a request type.
 *
 * What it can become: ways.tbl.h. docs/forest.md draws it, from that table.
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

const char *hypothesis_word(enum hypothesis_state s); /* "probing"; "?" for none of them */
bool hypothesis_settled(enum hypothesis_state s);
bool hypothesis_may(enum hypothesis_state from, enum hypothesis_state to); /* there is such a way */

/* Texts are terminated; "" where there is none. What is measured is of the moment the state was
 * entered. */
struct hypothesis {
	uint64_t id;     /* within the database, from 1 */
	uint64_t run;    /* the diagnosis */
	uint64_t parent; /* 0: the root of the run's tree */
	uint32_t cycle;  /* in which it was made */
	enum hypothesis_state state;
	char presence; /* '+': traces that have the tracepoint; '~': that do not; ' ': the root, or
	                  both */
	char *tracepoint;          /* label; "" at the root */
	char *edge_from, *edge_to; /* labels: the edge that it is about, in the group below */
	char *group_shape;         /* the path of the group that it is about, printed */
	uint64_t group_key[2];
	/* what motivated it */
	uint64_t traces;
	double mean_ns, cv, share, share_low, share_high, latency_share;
	double cost_ns; /* of waiting that the group's problem caused while it was watched; see
	                   variance.h */
	/* what settled it */
	uint64_t settled_traces;
	double settled_share, settled_low,
	    settled_high;  /* of the sub-edge, or between the groups */
	double separation; /* share of the variance that lies between traces with the tracepoint and
	                      without it */
	enum reason reason;  /* WITHDRAWN: why; NO_HELP: EXPLORED, where it measured nothing */
	char *key;           /* "label.field" that explains; "" */
	double key_r, key_p; /* correlation, or root of the share for categories; corrected p */
	uint32_t key_n;
	uint64_t exemplar_slow, exemplar_fast; /* trace ids, low halves */
	struct wall made, settled;
};

/* Copies texts; false: out of memory (*to is then empty). Release frees texts. */
bool hypothesis_copy(struct hypothesis *to, const struct hypothesis *from);
void hypothesis_release(struct hypothesis *h);
/* The only way to another state: asserts that ways.tbl.h has it. Sets settled when it is. */
void hypothesis_enter(struct hypothesis *h, enum hypothesis_state s, struct wall when);
/* Replaces one text of it (NULL is ""); false: out of memory, unchanged. */
bool hypothesis_text(char **field, const char *text);

#endif
