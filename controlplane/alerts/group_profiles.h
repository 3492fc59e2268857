/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profiles of the largest groups of a request type, the groups of requests whose critical paths have the same shape. A fault that
 * only one of them has is diluted in all response times of the type. Memory is bounded: groups are counted by Space-Saving (Metwally,
 * Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams", ICDT 2005), which finds each group with
 * more than 1 of GROUPS_COUNTED requests. Pure.
 */
#ifndef CONTROLPLANE_ALERTS_GROUP_PROFILES_H
#define CONTROLPLANE_ALERTS_GROUP_PROFILES_H

#include "base/hash.h"
#include "controlplane/alerts/latency_profile.h"

enum {
	GROUPS_WATCHED_MAX = 8, /* of a type */
	GROUPS_COUNTED = 16,
	GROUP_IDLE_MAX =
	    1440, /* windows in succession in which a group has too few requests; then it gives its place */
};

struct group_profiles { /* all zeroes: no group */
	uint32_t n;     /* of items; the others are NULL */
	struct group_profile {
		struct hash128 key; /* of the shape */
		uint32_t idle;
		struct latency_profile profile;
	} * items[GROUPS_WATCHED_MAX];
	/* Of the window that lasts, requests by group. */
	uint32_t ncounted;
	struct group_count {
		struct hash128 key;
		uint64_t n, more; /* at most n, of which at most `more` are another's */
	} counted[GROUPS_COUNTED];
};

/* A request of the group with this key. O(1). ERR_MEMORY. */
int group_profiles_request(
    struct group_profiles *g, struct hash128 key, int64_t begin_ns, int64_t took_ns, struct err *e);

/*
 * Once a window has ended and was judged: groups with RANGE_REQUESTS_MIN requests in it get a place, largest first, if there is one, *room
 * allows it, and they are not nine tenths of the type's `requests`, which is then the same profile; those that were idle too long lose
 * theirs. *room: how many more may be watched in all, which it counts on. ERR_MEMORY: some of them got none.
 */
int group_profiles_choose(
    struct group_profiles *g, uint64_t requests, uint32_t *room, struct err *e);

void group_profiles_release(struct group_profiles *g);

#endif
