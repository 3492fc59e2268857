/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What groups are made of; for the files group*.c alone. */
#ifndef ANALYSIS_GROUP_INSIDE_H
#define ANALYSIS_GROUP_INSIDE_H

#include "analysis/group.h"
#include "base/hash_map.h"

enum {
	KEYS_MAX = 1024,
	SPARE_LOOPS = 4,
	LOOP_BYTES = 64
}; /* a loop's place in the table of loops takes these */

/* A group and what belongs to it: all is in the arena but the samples' numbers and the moving parts
 * of tables. */
struct group_state {
	struct group group;
	struct arena arena;
	struct group_state *same_hash;
	struct map loop_of; /* (first, last) to the loop's number + 1 */
	uint32_t edges_cap, loops_cap, keys_cap, samples_cap;
	uint32_t nidentities;
	double *numbers; /* [samples_cap][edges_cap + keys_cap] */
};

struct groups {
	struct groups_options o;
	const struct labels *labels;
	struct group_state **states;
	uint32_t count, cap;
	struct map by_key; /* half of the key to the newest place with it */
	struct groups_other other;
	uint8_t *ignored; /* of each label that was asked for: IGNORED_... */
	uint32_t nignored;
	double *times; /* of the trace at hand, by its group's edges */
	uint32_t ntimes;
	size_t bytes;
	bool full; /* a shape was refused for want of memory, and so are all others */
};

/* group.c */
struct group_state *groups_state_for(
    struct groups *gs, uint32_t type, const struct shape *s); /* the shape's; NULL: no room */
size_t group_state_bytes(const struct group_state *p);        /* less texts */
bool group_widen(struct group_state *p, uint32_t edges_cap, uint32_t loops_cap);
/* Like arena_copy(), with room for more, cleared. NULL: out of memory. */
void *group_more(struct group_state *p, const void *from, size_t size_bytes, size_t room_bytes);
/* An array of `place *p` gets a new place with room for `cap`, n of which are kept. false: it stays
 * what it is. */
#define MORE(array, n, cap)                                                      \
	({                                                                       \
		void *more_ = group_more(                                        \
		    p, (array), (n) * sizeof *(array), (cap) * sizeof *(array)); \
		if (more_ != NULL)                                               \
			(array) = more_;                                         \
		more_ != NULL;                                                   \
	})
bool edge_is_ignored(struct groups *gs, const struct shape_edge *e);
bool same_path(const struct shape *a, const struct shape *b);
void note_exemplars(struct group *g, struct exemplar x);

/* group_keys.c */
bool keys_find(struct group_state *p, const struct labels *labels);
void keys_add(struct group *g, struct key k);
void keys_read(struct groups *gs, struct group_state *state, double *out, const struct trace *t,
    const struct critpath *p, const struct shape *s, const char *const *node_names);
double keys_text(
    struct groups *gs, struct group_state *p, const char *s, size_t len, bool identity);

/* group_samples.c */
struct sample *sample_choose(
    struct groups *gs, struct group_state *p); /* for the trace just counted, or NULL */
bool samples_room(struct group_state *p, uint32_t samples, uint32_t edges_cap, uint32_t keys_cap);
int samples_merge(struct groups *gs, struct group_state *to, const struct group_state *from);

/* group_loops.c */
bool loops_take(struct groups *gs, struct group_state *p,
    const struct shape *from); /* those that are new; false: no room */
bool loops_know(struct group_state *p, uint32_t loop);
uint32_t loops_number(const struct group_state *p, const struct shape_loop *l,
    uint32_t guess); /* UINT32_MAX: not there */
uint32_t loops_with_keys(const struct group *g);

struct loop_order { /* of loops: by their first token, of these the longest first */
	uint32_t first, last;
	uint32_t loop;
};

void loops_order(struct loop_order *ret, const struct shape *s);
double loops_runs_before(const double *iterations, const struct loop_order *order, uint32_t nloops,
    const struct shape_loop *body, double *back_from);

#endif
