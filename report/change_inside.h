/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by change*.c: the profiles of one request type from two documents, merged call by call. */
#ifndef REPORT_CHANGE_INSIDE_H
#define REPORT_CHANGE_INSIDE_H

#include <stdbool.h>

#include "analysis/profile.h"
#include "report/change.h"
#include "report/change_blocks.h"
#include "report/change_suspects.h"

enum side { NOW, THEN, SIDES };

struct call_times {
	uint64_t n;
	double mean_ms;
	uint32_t buckets[PROFILE_BUCKETS];
};

struct call { /* like struct profile_call, with texts as numbers of pair.texts */
	uint32_t parent, label, far;
	uint32_t service, far_service; /* far_service: that of `far`, or its own */
	uint64_t calls[SIDES], traces[SIDES];
	struct call_times *self[SIDES], *way[SIDES]; /* NULL: none */
};

struct onward { /* like struct profile_step */
	uint32_t call, after, then;
	uint64_t count[SIDES];
};

struct counted { /* what a slice of time counts */
	enum slice_what what;
	uint32_t of;     /* call; SLICE_STEP: the step's number when it was read */
	uint32_t bucket; /* SLICE_CALLS: 0 calls, 1 traces */
	uint32_t count;
	uint32_t moved; /* to the side NOW, see change_blocks() */
};

struct slice { /* of the side THEN */
	double begin_ms, requests;
	size_t first, ncounted; /* in pair.counted */
};

struct pair {
	uint32_t ncalls, calls_cap, nsteps, steps_cap, nslices, slices_cap;
	struct slice *slices;
	struct counted *counted;
	size_t ncounted, counted_cap;
	uint32_t *step_at; /* [nsteps], set by pair_sort(): where a step is now */
	double begin_ms[SIDES], end_ms[SIDES];  /* of the traffic, if there are slices */
	bool timed[SIDES];                      /* there are */
	uint32_t total[SIDES][PROFILE_BUCKETS]; /* response times */
	struct call *calls;
	struct onward *steps; /* after pair_sort(): sorted by call, then by after */
	double traces[SIDES];
	struct texts *texts; /* not owned */
	struct hash_table call_index, step_index;
	struct arena *arena; /* not owned */
};

/* Adds one side from a request type's part of a document; without "operations" the pair stays as it
 * is. ERR_INPUT, ERR_MEMORY. */
int pair_read(struct pair *p, enum side side, const json_t *type, struct err *e);
bool pair_sort(struct pair *p); /* pair_read() must not be called after it. False: out of memory. */
void pair_release(struct pair *p);

enum what {
	SELF, /* time of a call itself */
	WAY,  /* time on the way to it and back */
	STEP  /* what the call does after one of its steps */
};

struct item {
	enum what what;
	uint32_t type; /* index into pairs */
	uint32_t id;   /* the same in all comparisons */
	uint32_t call, after,
	    lost;           /* STEP: `lost` is the step that was most frequent on the side THEN */
	uint64_t of[SIDES]; /* calls that could have changed */
	/* Share of the calls' time lost, or of calls that continue differently, by the item's own
	 * tests. */
	double part;
	bool sure;        /* significant among all tests, and more than is usual */
	uint32_t ends[2]; /* services that may contain the cause; PROFILE_NONE: no second one */
};

struct test {
	uint32_t item;
	uint32_t then; /* STEP: the step that became more frequent */
	uint64_t count[SIDES];
	double
	    share; /* lower bound on the share of calls that are slower, or that take this step more often */
	double weight; /* calls lost for each call; STEP: the share */
	double p;      /* corrected for the number of tests */
};

struct trial { /* the tests of one comparison */
	double alpha;
	size_t nitems, items_cap, ntests, tests_cap;
	struct item *items;
	struct test *tests;
};

struct change { /* state of one comparison of documents */
	struct change_options o;
	uint32_t npairs;
	struct pair *pairs;
	json_t **types; /* [npairs], not owned: members of the result */
	struct trial trial;
	struct texts *texts;
	/* The healthy blocks, and what is usual among them: [items of all pairs]. */
	uint32_t nblocks;
	double block_ms;
	double *usual_parts; /* [id of an item]: the largest part in a block */
	struct usual usual;  /* of the services */
	uint32_t nsuspects;
	struct suspect *suspects;
	struct arena arena;
};

/* How many numbers the items of a pair have. */
uint32_t pair_items(const struct pair *p);
/* Tests every call and step of the sorted pair for a change; its items get numbers from `id` on.
 * False: out of memory. */
bool trial_pair(struct trial *t, const struct pair *p, uint32_t type, uint32_t id);
/* Corrects the p values of all tests and marks the items that are sure; usual_parts: see
 * struct change; NULL: nothing is usual. False: out of memory. */
bool trial_judge(struct trial *t, const double *usual_parts);
/* Marks the services that have an item that is sure. */
void trial_services(const struct trial *t, bool *services);
void trial_release(struct trial *t);
/* The items as evidence, in the arena: n = nitems. NULL: out of memory. */
struct clue *trial_evidence(const struct trial *t, struct arena *a);

/* Ranks the services by the items of a comparison; returns their number, SUSPECTS_FAILED: out of
 * memory. */
uint32_t change_rank(
    const struct change *c, const struct trial *t, struct suspect **ret, struct arena *a);
/* Compares blocks of the baseline with the rest of it: sets nblocks to usual. False: out of
 * memory. */
bool change_blocks(struct change *c);

/* Sets the shares of the change in mean response time: the members "mean_ms" to "edges" of CHANGE.
 * ERR_MEMORY. */
int shares_put(json_t *into, const json_t *now, const json_t *then, const struct change_options *o,
    struct err *e);

double number_in(const json_t *object, const char *name); /* 0 if the member is missing */

#endif
