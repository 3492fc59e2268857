/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a problem is distributed over the parts of a gap. With X the time inside the gap and T the
 * response time, over all groups g of the search:
 *
 *	cov(X, T) = E[ cov(X, T | g) ] + cov( E[X | g], E[T | g] )
 *
 * (law of total covariance). A part's share of the gap is its covariance with T divided by the
 * gap's. Groups whose paths have the same labels in the same order, and others between them, are
 * measured together. The standard error of a share comes from the influence of each request on it
 * (Hampel, JASA 69, 1974), and so does that of the difference of two shares: that the largest part
 * is larger than the second is often certain long before each share is known well.
 */
#ifndef CONTROLPLANE_SEARCH_MEASURE_H
#define CONTROLPLANE_SEARCH_MEASURE_H

#include "analysis/group.h"
#include "controlplane/search/gap.h"

struct measure_input {
	const struct groups *groups;
	struct gap gap;
	const struct label_set *must, *must_not; /* labels that a path must have, or must lack */
	bool by_latency;         /* what is carried: the mean (ns); else covariance with T (ns^2) */
	const uint32_t *enabled; /* labels that may separate */
	uint32_t nenabled, nlabels;
};

struct separation {     /* by whether a path passes a label */
	uint32_t label; /* LABEL_NONE: none */
	double between; /* share of what the gap carries that lies between the two sides, 0..1 */
	bool with;      /* the side that passes it is the slow one */
	double nwith, nwithout;  /* traces */
	double slow_ns, fast_ns; /* mean time in the gap */
};

struct member { /* a group that has the gap, and passes what it must */
	struct group *group;
	bool *inside;  /* [nedges]: belongs to the gap */
	double n;      /* traces */
	double x, t;   /* mean time in the gap, and of the whole request, ns */
	double xt, tt; /* sums of (X - x)(T - t) and of (T - t)^2 */
};

struct part { /* of the gap, on the model's path */
	struct gap gap;
	uint32_t edge;  /* of the model's shape: the first of the part */
	bool one;       /* the part is that edge alone */
	double carries; /* covariance with the response time, ns^2; or mean, ns */
	double mean_ns;
	double of_gap;    /* share of what the gap carries; those of all parts add up to 1 */
	double of_gap_se; /* its standard error */
};

struct measured {
	struct member *members;
	uint32_t nmembers;
	double n;       /* traces of all members */
	double carries; /* by the gap as a whole */
	double share;   /* of the variance (or of the mean) of the response times */

	/* Set by measure_parts(): */
	struct member *model;     /* the parts are those of its path; NULL: not measured */
	double pooled;            /* traces of all members that have these parts */
	double mean_ns, variance; /* of their response times */
	struct part *parts;
	uint32_t nparts, top; /* top: index of the part that carries most */
	double effective;     /* Kish's effective number of requests that the covariance rests on */
	double ahead; /* difference of the top part and the next, in standard errors; INFINITY:
	                 there is no other part */
};

/* All results lie in the arena and point to the groups. ERR_MEMORY. */

/* The members, and what the gap carries in them. O(groups x edges). */
int measure_gap(struct measured *m, const struct measure_input *in, struct arena *a, struct err *e);
/* The enabled label whose presence alone accounts for most of what the gap carries; label
 * LABEL_NONE: none accounts for any. O(groups x tokens + enabled). */
int measure_separation(struct separation *ret, const struct measured *m,
    const struct measure_input *in, struct arena *a, struct err *e);
/* The parts. By default those of the member that carries most. common: the sides of this
 * separation are compared, so the parts are between the labels that all members have, on the slow
 * side's path. There must be a member, and with `common` one of the slow side. O(groups x edges +
 * samples x parts). */
int measure_parts(struct measured *m, const struct measure_input *in,
    const struct separation *common, struct arena *a, struct err *e);

#endif
