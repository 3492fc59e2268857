/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What groups consist of; shared by group.c, group_keys.c, group_loops.c and group_samples.c.
 */
#ifndef ANALYSIS_GROUP_INSIDE_H
#define ANALYSIS_GROUP_INSIDE_H

#include "analysis/group.h"
#include "base/hash_map.h"

enum {
	KEYS_MAX = 1024,
	SPARE_LOOPS = 4,
	LOOP_BYTES = 64
}; /* size of an entry in the hash table of loops */

/* A group and its memory: everything is in the arena except the numbers of samples, texts and
 * the hash table. */
struct group_state {
	struct group group;
	struct arena arena;
	struct group_state *same_hash;
	struct map loop_of; /* (first, last) to the loop's number + 1 */
	uint32_t edges_cap, loops_cap, keys_cap, samples_cap;
	uint32_t nidentities;
	double *numbers; /* [samples_cap][edges_cap + keys_cap] */
	uint32_t slow_cap;
	double *slow_numbers; /* [slow_cap][edges_cap + keys_cap] */
};

struct groups {
	struct groups_options o;
	const struct labels *labels;
	struct group_state **states;
	uint32_t count, cap;
	struct map by_key; /* first half of the shape's key to the newest group with it */
	struct groups_other other;
	uint8_t *ignored;  /* by label: IGNORED_... */
	uint32_t nignored; /* also the capacity */
	double *times;     /* of the current trace, by its group's edges */
	uint32_t ntimes;   /* the capacity */
	size_t bytes;
	uint64_t added; /* traces, also to none of the groups */
	/* A shape was rejected for lack of memory, and so are all further ones. */
	bool full;
};

/* group.c */
/* The group of a shape, new if there is room; NULL: no room. */
struct group_state *groups_state_for(struct groups *gs, uint32_t type, const struct shape *s);
size_t group_state_bytes(const struct group_state *p); /* without texts */
bool group_widen(struct group_state *p, uint32_t edges_cap, uint32_t loops_cap);
/* Like arena_copy(), with cleared room for more. NULL: out of memory. */
void *group_more(struct group_state *p, const void *from, size_t size_bytes, size_t room_bytes);
/* Moves an array of `struct group_state *p` to new memory with room for `cap` items, n of which
 * are kept. false: it is unchanged. */
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
/* The entry among the slowest for a request of that time and number, with both set; NULL: none. */
struct sample *slow_choose(struct group *g, int64_t total_ns, uint64_t number);
/* Any sample: those of the reservoir, then the slowest; i < nsamples + nslow. */
static inline struct sample *
sample_at(struct group *g, uint32_t i)
{
	return i < g->nsamples ? &g->samples[i] : &g->slow[i - g->nsamples];
}
bool samples_room(struct group_state *p, uint32_t samples, uint32_t edges_cap, uint32_t keys_cap);
int samples_merge(struct groups *gs, struct group_state *to, const struct group_state *from);

/* group_loops.c */
bool loops_take(struct groups *gs, struct group_state *p,
    const struct shape *from); /* adds the loops of `from` that are new; false: no room */
bool loops_know(struct group_state *p, uint32_t loop);
uint32_t loops_number(const struct group_state *p, const struct shape_loop *l,
    uint32_t guess); /* UINT32_MAX: no such loop */
uint32_t loops_with_keys(const struct group *g);

struct loop_order { /* by first token; of equal ones the longest loop first */
	uint32_t first, last;
	uint32_t loop;
};

void loops_order(struct loop_order *ret, const struct shape *s);
double loops_runs_before(const double *iterations, const struct loop_order *order, uint32_t nloops,
    const struct shape_loop *body, double *back_from);

#endif
