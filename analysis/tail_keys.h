/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the slowest requests of a group have that its others have not: slow as a whole, or in one edge. Pure functions. */
#ifndef ANALYSIS_TAIL_KEYS_H
#define ANALYSIS_TAIL_KEYS_H

#include <stdbool.h>

#include "analysis/group.h"
#include "base/arena.h"
#include "base/err.h"

/* Fewer slow requests are not compared. */
#define TAIL_KEYS_SLOW_MIN 8
/* What they have sets them apart if this much more of them have it than of the others. */
#define TAIL_KEYS_APART_MIN 0.3

/* How the value of a key is compared. */
enum tail_has { TAIL_HAS_EQUAL, TAIL_HAS_AT_LEAST, TAIL_HAS_AT_MOST };

struct tail_key {
	uint32_t key; /* index into the keys of the group; UINT32_MAX: none sets them apart */
	enum tail_has has;
	double value;           /* number, or that of a text of the group's */
	double slow, usual;     /* share of the slow requests that have it, and of the others */
	double p;               /* see tail_key_of() */
	uint32_t nslow, nusual; /* requests that were compared */
};

/* Few requests take most of what an edge varies by: they are TAIL_KEYS_FEW_MAX of all at most, and TAIL_KEYS_DIVIDES_MIN of its variance lies between
 * them and the others. (Of times with an exponential distribution the best division has 0.65.) */
#define TAIL_KEYS_FEW_MAX 0.25
#define TAIL_KEYS_DIVIDES_MIN 0.7

enum { TAIL_KEYS_WHOLE = UINT32_MAX }; /* in place of an edge: the response time */

/*
 * The time in the edge that divides its requests into few slow ones and the others, so that as much as possible of its variance lies between the two (the
 * division of Otsu, IEEE Trans. Systems, Man, and Cybernetics 9, 1979); NAN: they are not few, or it does not lie between them. In ns; slower ones take
 * longer than that, *nslow samples. Requests that do not pass the edge, with 0 ns there, are left out. Uses the arena for temporary memory. O(samples log samples). ERR_MEMORY.
 */
int tail_division(double *ret, uint32_t *nslow, const struct group *g, uint32_t edge, uint64_t seed,
    struct arena *a, struct err *e);

/*
 * Requests that take longer than above_ns in the edge, or as a whole, are compared with the others that pass it: for each key, and each of its
 * values, the share of the slow requests that have it less that of the others (of numbers also those with at
 * least, or at most, this value). A missing value is none.
 *
 * p: the probability that so large a difference is by chance, over all keys and values together: the
 * share of `rounds` random divisions of the requests into as many slow ones and others whose largest
 * difference is as large (Westfall & Young, Resampling-Based Multiple Testing, 1993: maxT).
 *
 * 1. Fewer than TAIL_KEYS_SLOW_MIN slow requests, or than as many others: none.
 * 2. The largest difference is below TAIL_KEYS_APART_MIN: none.
 * 3. p is above `p_max`: none.
 * 4. Of all that are nearly as different: a field before a node, a node before its programs, these
 *    before their threads; then the one nearest to `token` of the path.
 *
 * Uses the arena for temporary memory. O(keys x samples x (rounds + log samples)): 10 ms for 20 keys,
 * 640 samples, 199 rounds. ERR_MEMORY.
 */
int tail_key_of(struct tail_key *ret, const struct group *g, uint32_t edge, double above_ns,
    uint32_t token, double p_max, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

#endif
