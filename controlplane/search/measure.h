/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a problem is distributed over the parts of a gap. The population is all requests of the
 * search, whatever their paths: X is the time that a request spends in the gap, over all of its
 * passages, and 0 if it does not pass the gap; T is its response time. With g the group of a request
 * (its path):
 *
 *	cov(X, T) = E[ cov(X, T | g) ] + cov( E[X | g], E[T | g] )
 *
 * (law of total covariance; Weiss, A Course in Probability, 2005, p. 385). So that some requests pass
 * the gap and others do not, or how often, counts as much as the time of a passage. The share of
 * the gap is cov(X, T) / var(T), of consistently slow requests E[X] / E[T].
 *
 * Of a tail the same with Y in the place of T, where Y is 1 for requests that are slower than tail_ns and
 * 0 for the others: cov(X, Y) is in proportion to what the slow requests spend more time on than the
 * others, so the share of the gap, cov(X, Y) / cov(T, Y), is its share of the excess of the slow ones.
 *
 * Parts are measured on the paths that have them, together with the requests that do not pass the
 * gap, whose parts take 0. of_gap compares parts there. `share` is that of the population: on a path
 * that has other parts the part takes 0, so it is what the part carries certainly, and a part of few
 * requests, or of fast ones, has little or less than 0 of it.
 *
 * The standard error of of_gap comes from the influence of each request on it (Hampel, JASA 69,
 * 1974), and so does that of the difference of two parts: that the largest part is larger than the
 * second is often certain long before each share is known well.
 */
#ifndef CONTROLPLANE_SEARCH_MEASURE_H
#define CONTROLPLANE_SEARCH_MEASURE_H

#include "analysis/group.h"
#include "controlplane/search/gap.h"

struct measure_input {
	const struct groups *groups;
	struct gap gap;
	/* Labels that a path must have, or must lack, to be followed. */
	const struct label_set *must, *must_not;
	bool
	    by_latency; /* what the gap carries: the mean (ns); else covariance with T (ns^2) ... */
	double tail_ns; /* ... or, above 0, with Y (ns): as in groups_options of the groups */
	bool by_mean;   /* parts are compared by their mean time on the followed paths */
	const uint32_t *enabled; /* labels that may separate */
	uint32_t nenabled, nlabels;
};

struct separation {     /* of the requests that pass the gap, by whether a path passes a label */
	uint32_t label; /* LABEL_NONE: none */
	double between; /* share of what the gap carries that lies between the two sides */
	bool with;      /* the side that passes it is the slow one */
	double nwith, nwithout;  /* traces */
	double slow_ns, fast_ns; /* mean time in the gap */
};

struct member { /* a group */
	struct group *group;
	bool *inside; /* [nedges]: belongs to the gap; none does if the path does not pass it */
	double n;     /* traces */
	double x, t;  /* mean time in the gap, and of the whole request, ns */
	double y; /* mean of what X is compared with: t, or of a tail the share of slow requests */
	double xy, ty; /* sums of (X - x)(Y - y) and of (T - t)(Y - y) */
};

struct part { /* of the gap, on the model's path */
	struct gap gap;
	uint32_t edge;  /* of the model's shape: the first of the part */
	bool one;       /* the part is that edge alone */
	double carries; /* covariance with the response time, ns^2; or mean, ns */
	double mean_ns;
	double of_gap;    /* share of what the gap carries on these paths; they add up to 1 */
	double of_gap_se; /* its standard error */
	double share;     /* of the population's variance (or of its mean response time) */
};

struct population_sums {
	double n;        /* requests */
	double slow;     /* of these, those beyond tail_ns */
	double t;        /* mean of their response times, ns */
	double y;        /* see struct member */
	double whole;    /* cov(T, Y): the variance of T, ns^2; of a tail in ns */
	double variance; /* of T, ns^2 */
	double x;        /* mean time in the gap, ns */
	double passing;  /* requests that pass the gap */
};

struct measured {
	struct population_sums all;
	struct member *members; /* groups that pass the gap, and are followed */
	struct member *absent;  /* groups that do not pass it */
	uint32_t nmembers, nabsent;
	double n;       /* traces of all members */
	double carries; /* by the gap as a whole, in the population */
	double share;   /* of the population's variance (or of its mean response time) */

	/* Set by measure_parts(): */
	struct member *model; /* the parts are those of its path; NULL: not measured */
	double pooled;        /* traces of all members that have these parts */
	double cover;         /* share of what all members carry that these members do */
	struct part *parts;
	uint32_t nparts, top; /* top: index of the part that carries most */
	double effective;     /* Kish's effective number of requests that the covariance rests on */
	double ahead; /* difference of the top part and the next, in standard errors; INFINITY:
	                 there is no other part */
};

/* All results lie in the arena and point to the groups. ERR_MEMORY. */

/* The population, its members, and what the gap carries. O(groups x edges). */
int measure_gap(struct measured *m, const struct measure_input *in, struct arena *a, struct err *e);
/* The enabled label whose presence alone accounts for most of what the gap carries; label
 * LABEL_NONE: none accounts for any. O(groups x tokens + enabled). */
int measure_separation(struct separation *ret, const struct measured *m,
    const struct measure_input *in, struct arena *a, struct err *e);

/* Which labels delimit parts. */
enum measure_row {
	ROW_MODEL, /* all of the model's: the member that carries most */
	ROW_COMMON /* those that all members have */
};
/* The parts. slow: the sides of this separation are compared, so the model is of its slow side; or
 * NULL. There must be a member, and with `slow` one of the slow side. May be called again. O(groups x
 * edges + samples x parts). */
int measure_parts(struct measured *m, const struct measure_input *in, enum measure_row row,
    const struct separation *slow, struct arena *a, struct err *e);

#endif
