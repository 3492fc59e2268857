/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a few captured requests allow to say: the place that slow ones have most of their excess in, beside usual ones of the same type that
 * have all tracepoints, too. For problems too rare to cut, of which there are fewer requests than any decision of a search needs. Pure
 * functions.
 *
 * Where one request lost its time is measured, and certain. Whether that is the place of the problem is not: any request may be stopped
 * anywhere, for example by the machine. So two exact tests both have to reject chance (an intersection-union test: Berger, Technometrics
 * 24, 1982), and p is the larger one of both:
 *
 *	place	What delays requests falls on an edge in proportion to the time that usual requests spend there; then it is in this edge
 *		in so many requests, or somewhere in as many as are as improbable, with this probability. Of the edges it counts, for
 *		each, the least number of requests that would be as improbable (Tarone, Biometrics 46, 1990). The proportion comes of m
 *		usual requests, with the weight of one more request over all edges (Perks, Journal of the Institute of Actuaries 73, 1947),
 *		as an edge that they did not pass is not impossible; and as it is an estimate, edges with up to twice the
 *		odds count as improbable alike.
 *	usual	The slow requests' times in the edge are as those of the usual ones: exact_rank_sum(). With m usual requests it is at least
 *		1 / (m + 1) for one slow request, and 1 / 45 for two beside 8 usual ones. So of one or two requests alone nothing is sure.
 */
#ifndef CONTROLPLANE_SEARCH_CAPTURED_H
#define CONTROLPLANE_SEARCH_CAPTURED_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/bootstrap.h"
#include "analysis/moments.h"
#include "base/arena.h"
#include "base/err.h"
#include "forest/verdict.h"

enum {
	CAPTURED_SLOW_MAX = 32,
	CAPTURED_USUAL_MAX = 32,
	CAPTURED_USUAL_LEAST = 3, /* fewer are not compared with */
	CAPTURED_ENOUGH = 4       /* slow requests: more are not waited for */
};

/* Of requests that lack nothing. Their edges are pairs of labels; the time of one that a request does not pass is 0. */
struct captured_facts {
	uint32_t slow, usual, nedges;
	const double *slow_ns, *usual_ns; /* [slow][nedges], [usual][nedges] */
	double confidence;
};

struct captured_finding {
	uint32_t
	    edge; /* that has more than half of the excess of most slow requests; UINT32_MAX: none has of any */
	uint32_t with; /* of how many */
	struct interval
	    share;          /* of all such requests, those that have it there: exact_proportion() */
	double excess_ns;   /* what these take longer there than usual ones, mean */
	double usual_share; /* of the time of usual requests */
	double place_p, usual_p, p;
	bool sure; /* p is at most VERDICT_CAPTURED_P */
};

/* Preconditions: at most CAPTURED_SLOW_MAX and CAPTURED_USUAL_MAX requests. O(nedges x slow^2). ERR_MEMORY. */
int captured_judge(
    struct captured_finding *ret, const struct captured_facts *f, struct arena *a, struct err *e);

/* ---- when ---- */

/*
 * From this response time on a request is an outlier of its type: 10 times as far above the median as nine in ten requests are, and 4
 * times the median. Of an exponential distribution less than one in ten million is. 0: fewer than CAPTURED_KNOWN requests.
 */
enum { CAPTURED_KNOWN = 100 };
int64_t captured_limit_ns(const struct sketch *times);

#define RARE_ASK_NS INT64_C(5000000000)
#define RARE_WAIT_LEAST_NS INT64_C(30000000000)
#define RARE_WAIT_MOST_NS INT64_C(120000000000) /* capture.wait: its default */
#define RARE_WAIT_GAPS 6 /* it waits for so many mean distances of two outliers */

struct rare_facts {
	bool searched;    /* it has a search */
	bool ends;        /* it would end, and has found nothing */
	bool asked;       /* it has asked for captures */
	bool recording;   /* these go on, and flight recorders are on, or are about to be ... */
	bool recorded;    /* they are on */
	int64_t over_ns;  /* captured_limit_ns() */
	uint64_t over;    /* requests slower than that, since it began */
	uint64_t cut_min; /* so many can be cut: struct conditions, traces_min */
	double
	    carries; /* the share of the variance of the type that these carry: sketch_tail_carries() */
	uint32_t slow, usual,
	    pending; /* captured: outliers, usual ones, and those that nodes have not answered for */
	int64_t lasts_ns; /* since the diagnosis began */
	int64_t wait_ns;  /* it waits no longer than that for outliers; 0: RARE_WAIT_MOST_NS */
};

enum rare_step { RARE_NOT, RARE_ASK, RARE_WAIT, RARE_DECIDE };

/*
 * What a diagnosis does about outliers that are too rare to cut.
 *
 * 1. It would not end: once nothing has been searched for RARE_ASK_NS, it asks for captures (RARE_ASK), so that the outliers are captured
 *    meanwhile; else nothing (RARE_NOT).
 * 2. The limit is not known, or so many are slower that they can be cut: nothing.
 * 3. Nodes have not answered yet: wait.
 * 4. CAPTURED_ENOUGH outliers, and enough usual requests: decide.
 * 5. It has not asked for captures, as it searched, and there are outliers: ask.
 * 6. There are outliers, and recorders are on: wait for more, until RARE_WAIT_GAPS mean distances of two have passed since the
 *    diagnosis began, or RARE_WAIT_LEAST_NS if these are less, and at most until wait_ns have.
 * 7. At least one is captured, and enough usual requests: decide.
 * 8. Nothing.
 */
enum rare_step rare_next(const struct rare_facts *f);

/* Whether it may wait for more outliers: recorders are on, and neither can they be cut nor have wait_ns passed. And whether it does, before it ends with that
 * finding about so many slow ones: it is not sure, and most of them have it in the same edge. */
bool rare_may_wait(const struct rare_facts *f);
bool rare_wait_on(const struct rare_facts *f, const struct captured_finding *x, uint32_t slow);

/* Whether outliers that came n times within span_ns have stopped, if none has come for silent_ns since: so long a silence had a chance of
 * RARE_GONE_P at most if they still came at random at the same rate. That chance is (1 + silent / span)^-(n - 1): distances are exponential, and their
 * sum is known of n - 1. */
bool rare_is_gone(uint32_t n, double span_ns, double silent_ns);
#define RARE_GONE_P 0.05

#define RARE_CARRIES 0.9
/* While outliers that are too rare to cut carry this part of the variance or more, and are captured, no search begins: it would follow what the
 * others vary by anyway. */
bool rare_is_left(const struct rare_facts *f);

#endif
