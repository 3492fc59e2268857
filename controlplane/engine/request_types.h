/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The request types that were seen, in the order of their first trace, and the load of each. */
#ifndef CONTROLPLANE_ENGINE_REQUEST_TYPES_H
#define CONTROLPLANE_ENGINE_REQUEST_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/moments.h"
#include "analysis/trace.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash_table.h"

enum { TYPES_MAX = 512 };
/* When all places are taken, a type without a trace for so long gives its place to a new one. */
#define TYPE_IDLE_NS INT64_C(60000000000)

struct diagnosis; /* controlplane/search/diagnose.h */

struct request_type {
	uint32_t index; /* in request_types.items */
	uint32_t label; /* of its request_begin */
	char *name;
	uint64_t traces;
	struct moments total; /* response time, ns */
	struct sketch *sketch;

	struct mono last;       /* when its last trace came */
	double per_second;      /* traces, in the last window of a second */
	double offered;         /* requests a second, sampled or not: an estimate */
	uint64_t window_traces; /* of the window that lasts */
	double window_sampled;  /* the share that was sampled when it began */
	struct mono window;     /* its begin */

	double enough; /* share of requests that gives engine_options.enough traces a second, over 1
	                  where there are fewer requests; 0: not known yet */
	double most;   /* the same of engine_options.diagnosed_most, while it is under diagnosis */

	bool captured;               /* a capture of it is active (captures.h) */
	struct diagnosis *diagnosis; /* the newest, running or ended; NULL */

	/* learning.c: hashes of (label of a unit's begin, label) that the learned space has of this
	 * type, of the space with number learned_of - 1 */
	struct hash_table learned;
	uint64_t learned_of;
};

struct request_types { /* all zeroes is empty */
	struct request_type items[TYPES_MAX];
	uint32_t n;
	struct hash_table by_label;
	uint64_t untyped;  /* traces of types beyond TYPES_MAX */
	uint64_t replaced; /* types that gave their place to another one */
};

void request_types_release(struct request_types *types); /* with their diagnoses */
/*
 * Which type gives its place to a new one with this label; UINT32_MAX: none does. Programs name request types as they like, so
 * one that invents them must not keep out those of others until honed is started again.
 *
 * 1. A type that has or had a diagnosis keeps its place.
 * 2. The type that has been idle for longest, if that is TYPE_IDLE_NS or more.
 * 3. A service has more than half of the places, and the new type is of another one: of that service, the one that has been idle
 *    for longest.
 *
 * O(types).
 */
uint32_t request_types_oldest(const struct request_types *types, const struct labels *labels,
    uint32_t label, struct mono now);

/* The type with this label of a request_begin; a new one is made. *replaced: it has the place of another type, of which everything
 * that is kept by its index is to be forgotten; that happens only if may_replace. NULL: TYPES_MAX are known and none gives its
 * place, or out of memory. O(1), but O(types) for a new type when all places are taken. */
struct request_type *request_types_of(struct request_types *types, const struct labels *labels,
    uint32_t label, struct mono now, bool may_replace, bool *replaced);
/* The type with this label, or NULL. O(1). */
struct request_type *request_types_known(struct request_types *types, uint32_t label);
/* The type of that name, or of "service/name". ERR_MISSING: there is none; ERR_INPUT: several
 * services have it. O(types). */
int request_types_find(struct request_types *types, const struct labels *labels, const char *name,
    struct request_type **ret, struct err *e);

/* Counts a trace that came at `now`; `sampled`: the share of this type's requests that is sampled
 * now. Each second it estimates how many requests came. O(1). */
void request_type_trace(
    struct request_type *type, const struct trace *t, double sampled, struct mono now);
/* Whether a diagnosis of it runs. */
bool request_type_diagnosed(const struct request_type *type);
bool request_types_diagnosed(const struct request_types *types); /* any of them; O(types) */

#endif
