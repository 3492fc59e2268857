/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the threads of many requests did in an edge: which state, which place, which holder of a lock, and which requests that
 * ended the waits have how much of the edge's part in the problem. As for edges, the share of a state is cov(its time, T) / var(T), or its mean by that of T; so the
 * shares of the states add up to that of the edge, in the same requests.
 */
#ifndef ANALYSIS_BELOW_LIST_H
#define ANALYSIS_BELOW_LIST_H

#include "analysis/below_parts.h"
#include "analysis/variance.h"

enum {
	BELOW_REQUESTS_MAX = 1024, /* further requests are not taken */
	BELOW_ITEMS_MAX =
	    2048, /* places, and holders and wakers at places; the time of further ones has no place */
	BELOW_FOUND_MAX = 8
};

struct below_list; /* owns copies of all texts */

struct below_list *below_list_new(void); /* NULL: out of memory */
void below_list_free(struct below_list *l);

/* A request, by its times in the edge: one for each passage, none if it does not pass it. total_ns: its response time.
 * False: out of memory. O(parts). */
bool below_list_add(
    struct below_list *l, int64_t total_ns, const struct below_time *times, uint32_t ntimes);

uint32_t below_list_requests(const struct below_list *l);
const struct below_parts *below_list_parts(const struct below_list *l); /* of the same requests */

struct below_found {            /* a place in a state, or a holder of a lock at a place */
	enum below_state state; /* of the thread; of a holder: what it did meanwhile */
	const char *place;      /* "append() at dd.c:27;fsync", in the list; "": not known */
	const char *
	    caller; /* of a place, that with the largest share of it, at least half: "serve() at dd.c:88"; of a holder so the name of its thread; "": there is none */
	double share, mean_ns; /* as of a state */
	double of_edge;        /* share by that of the edge */
};

struct below_waker { /* the threads that ended waits at a place, or held its lock when they began */
	uint32_t type; /* hone_request_type() of the request that they served; 0: of none */
	uint32_t waits;
	double share, of_edge; /* of the time of these waits, as of a place */
	const char
	    *thread; /* of wakers: the name of the thread that at least half of it is from; "" */
};

struct below_finding {
	uint32_t requests;
	double share, mean_ns; /* of the edge: the sums over the states */
	struct edge_share states[BELOW_STATES];
	/* The same, but waits for a processor that come of other states are in these (below_cause.h). */
	struct edge_share caused[BELOW_STATES];
	enum below_state top; /* the largest share of these */
	/* Samples stand for less than half of the time that would be running: threads were not on a CPU all of it, but detached. What
	 * no sample saw is UNKNOWN then. */
	bool unseen;
	uint32_t nplaces, nholders, nwakers, nheld;
	/* The largest shares; holders, wakers and held: of the waits at the first place. */
	struct below_found places[BELOW_FOUND_MAX], holders[BELOW_FOUND_MAX];
	struct below_waker wakers[BELOW_FOUND_MAX], held[BELOW_FOUND_MAX];
	uint32_t waits; /* at the first place, that threads ended: the sum over all wakers */
	uint32_t
	    held_waits; /* of which it is known which request the holder served: the sum over `held` and what it has no room for */
};

/*
 * by_latency: shares of the mean response time, else of its variance. Intervals by share_interval.c, of successive requests that
 * may depend on each other. All zeroes without requests. Uses the arena. O(requests x states x rounds + items log items).
 * ERR_MEMORY.
 */
int below_list_find(struct below_finding *ret, const struct below_list *l, bool by_latency,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

#endif
