/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by change*.c: the profiles of one request type from two documents, merged call by call. */
#ifndef REPORT_CHANGE_INSIDE_H
#define REPORT_CHANGE_INSIDE_H

#include <stdbool.h>

#include "analysis/profile.h"
#include "report/change.h"

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

struct pair {
	uint32_t ncalls, calls_cap, nsteps, steps_cap;
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
void pair_sort(struct pair *p); /* pair_read() must not be called after it */
void pair_release(struct pair *p);

enum what {
	SELF, /* time of a call itself */
	WAY,  /* time on the way to it and back */
	STEP  /* what the call does after one of its steps */
};

struct item {
	enum what what;
	uint32_t type; /* index into pairs */
	uint32_t call, after,
	    lost;           /* STEP: `lost` is the step that was most frequent on the side THEN */
	uint64_t of[SIDES]; /* calls that could have changed */
	/* calls' time lost, or calls that continue differently, by the item's own tests; in calls */
	double changed;
	bool sure;        /* significant among all tests */
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

struct change { /* state of one comparison */
	struct change_options o;
	uint32_t npairs;
	struct pair *pairs;
	json_t **types; /* [npairs], not owned: members of the result */
	size_t nitems, items_cap, ntests, tests_cap;
	struct item *items;
	struct test *tests;
	struct texts *texts;
	struct arena arena;
};

/* Tests every call and step of the pair for a change. False: out of memory. */
bool change_try(struct change *c, uint32_t type);
/* Corrects the p values of all tests and marks the items that are sure. False: out of memory. */
bool change_judge(struct change *c);

/* Sets the shares of the change in mean response time: the members "mean_ms" to "edges" of CHANGE.
 * ERR_MEMORY. */
int shares_put(json_t *into, const json_t *now, const json_t *then, const struct change_options *o,
    struct err *e);

double number_in(const json_t *object, const char *name); /* 0 if the member is missing */

#endif
