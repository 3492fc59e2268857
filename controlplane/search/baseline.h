/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the edges between always-on labels carry of the variance of a request type, now and when an operator
 * said that the type is healthy. One diagnosis alone cannot tell a queue that is always like this from
 * one that a fault has made: both are queues. What was there before is no cause of what is there now.
 *
 * An edge carries the covariance of its time with the response time, over all requests, what lies between groups included; what
 * all edges carry adds up to the variance. Edges with the same ends are one.
 */
#ifndef CONTROLPLANE_SEARCH_BASELINE_H
#define CONTROLPLANE_SEARCH_BASELINE_H

#include "analysis/group.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct carried {
	double ns2, low_ns2, high_ns2;
};

struct carrying_edge {
	const char *from, *to; /* texts of its labels */
	bool handed_over;      /* between two units: a wait for threads of the service of `to` */
	struct carried carried;
	double mean_ns;
};

struct baseline {
	uint64_t requests;
	double seconds; /* in which they came */
	double mean_ns;
	struct carried variance;
	struct carrying_edge *edges;
	uint32_t nedges;
};

/* ---- pure ---- */

/* Of what is carried now, the part that was not there before, 0 to 1, and how much of it is certain. */
struct more {
	double part, low;
};

/*
 * 1. Nothing is carried now: 0, 0.
 * 2. The difference in relation to what is carried now. Its lower limit is that of the ratio of both, whose logarithm has the errors
 *    of both: variances are skewed, and those of rare events are known by their order of magnitude only (Zou & Donner 2008,
 *    "Construction of confidence limits about effect measures", Statistics in Medicine 27, equation 3, of logarithms).
 */
struct more carried_more(const struct carried *now, const struct carried *before);

/* Of edges that are not in it: 0. O(edges). */
struct carried baseline_edge(const struct baseline *b, const char *from, const char *to);
/* Of all waits for threads of the service of this label's text. O(edges). */
struct carried baseline_pool(const struct baseline *b, const char *to);

/* Of what such an edge carries now (waits: what all waits for the threads of the service of `to` do, and the edge itself if it is inside a unit), what is
 * more than before. */
struct more baseline_more(const struct baseline *now, const struct baseline *before,
    const char *from, const char *to, bool waits);

/* ---- of a diagnosis ---- */

/* Of the groups, which are of always-on labels. Texts are those of the labels, the rest is in the arena. Intervals have this
 * confidence (0: there are none); edges with less than a hundredth of the variance have none. O(groups x edges), and a bootstrap
 * for each edge with more. ERR_MEMORY. */
int baseline_of(struct baseline *ret, const struct groups *groups, const struct labels *labels,
    double seconds, double confidence, uint64_t seed, struct arena *a, struct err *e);

/* ---- as text, which a run keeps ---- */

/* One line for the whole, and one for each edge that carries 1/10,000 of the variance or more. Not terminated. */
void baseline_print(const struct baseline *b, struct buf *out);
/* Into the arena. False: the text is "" or no baseline, or there is no memory. */
bool baseline_read(struct baseline *ret, const char *text, struct arena *a);

#endif
