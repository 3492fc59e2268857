/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What change*.c share: two profiles of one request type, read from documents and laid over each
 * other. */
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

struct call { /* as struct profile_call; texts by number */
	uint32_t parent, label, far;
	uint32_t service, far_service; /* far_service: of far, else of itself */
	uint64_t calls[SIDES], traces[SIDES];
	struct call_times *self[SIDES], *way[SIDES]; /* NULL: none */
};

struct onward { /* as struct profile_step */
	uint32_t call, after, then;
	uint64_t count[SIDES];
};

struct pair {
	uint32_t ncalls, calls_cap, nsteps, steps_cap;
	struct call *calls;
	struct onward *steps; /* after pair_sort(): by call, then by after */
	double traces[SIDES];
	struct texts *texts; /* not owned */
	struct hash_table call_index, step_index;
	struct arena *arena; /* not owned */
};

/* Adds a side from a type's part of a document; a type without operations adds nothing. ERR_INPUT,
 * ERR_MEMORY. */
int pair_read(struct pair *p, enum side side, const json_t *type, struct err *e);
void pair_sort(struct pair *p); /* no reading after that */
void pair_release(struct pair *p);

enum what {
	SELF,
	WAY,
	STEP
}; /* in a call; on the way to it and back; what is done after something in it */

struct item {
	enum what what;
	uint32_t type;              /* index into pairs */
	uint32_t call, after, lost; /* STEP: `lost` is what came most often instead, then */
	uint64_t of[SIDES];         /* calls that could have changed */
	double changed;   /* calls that are lost or go on otherwise, as far as each test by itself
	                     tells */
	bool sure;        /* some of it is significant among all that was tried */
	uint32_t ends[2]; /* services that it may lie with; PROFILE_NONE: no second one */
};

struct test {
	uint32_t item;
	uint32_t then; /* STEP: what is done more often */
	uint64_t count[SIDES];
	double share;  /* of the calls, at least: that are slower; that go on so more often */
	double weight; /* of that in calls, for each call there was; STEP: the share */
	double p;      /* corrected */
};

struct change { /* all that is known while two documents are compared */
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

/* What of a pair of profiles could have changed, and whether it did. False: out of memory. */
bool change_try(struct change *c, uint32_t type);
/* Corrects the p values of all tests, and settles what changed. False: out of memory. */
bool change_judge(struct change *c);

/* Shares of the change in mean response time: the members "mean_ms" ... "edges" of CHANGE.
 * ERR_MEMORY. */
int shares_put(json_t *into, const json_t *now, const json_t *then, const struct change_options *o,
    struct err *e);

double number_in(const json_t *object, const char *name); /* 0 when it is not there */

#endif
