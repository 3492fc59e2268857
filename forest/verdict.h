/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A verdict: the edge that a search ended with, how certain that is, and what it means. A run has one
 * for each search that ended with one. And evidence: the traces that a hypothesis was judged with.
 */
#ifndef FOREST_VERDICT_H
#define FOREST_VERDICT_H

#include "analysis/thread_history.h"
#include "analysis/variance.h"
#include "base/clock.h"

enum verdict_kind {
#define VERDICT(name, number, word, help) VERDICT_##name = number,
#include "forest/verdicts.tbl.h"
#undef VERDICT
};

const char *verdict_word(enum verdict_kind k); /* "place"; "?" for other numbers */

const char *verdict_problem_word(
    enum problem p); /* "unpredictable", "slow", "tail" of verdicts; "?" for others */

const char *wait_word(enum wait_cause c); /* "occupied", "still"; "": UNKNOWN; "?" for others */

/* What the requests wait for in an edge between two units. */
enum pool_state {
#define POOL(name, number, word, text) POOL_##name = number,
#include "forest/pools.tbl.h"
#undef POOL
};

const char *pool_word(enum pool_state s); /* "saturated"; "": NONE; "?" for other numbers */

/* What the verdict rests on, where kernel events say what the threads of each request did. */
enum verdict_ground {
#define GROUND(name, number, word, text) GROUND_##name = number,
#include "forest/grounds.tbl.h"
#undef GROUND
};

const char *ground_word(enum verdict_ground g); /* "state"; "": OPEN; "?" for other numbers */

/* What takes the time of an edge in which the search went on to the preload layer. */
enum preload_kind {
#define PRELOAD(name, number, word, text) PRELOAD_##name = number,
#include "forest/preload.tbl.h"
#undef PRELOAD
};

const char *preload_word(enum preload_kind k); /* "mutex"; "": NONE; "?" for other numbers */

/* Fields marked [4] came with schema 4 of the database, [5], [6] and [7] with schemas 5, 6 and 7; an older row has their
 * zero, or NAN, and before schema 4 `text`. */
struct verdict {
	uint64_t run;
	uint64_t hypothesis; /* that ended the search; no other verdict has it */
	uint32_t rank; /* in its run, from 1; see forest_verdict_new(). Final when the run ends */
	enum verdict_kind kind;
	enum problem problem; /* of the group: UNPREDICTABLE, SLOW or TAIL */
	char *from, *to;      /* labels: the edge */
	char *path; /* of the group: labels, and the brackets of loops, one on each line */
	char *
	    tracepoint; /* the label whose presence divides slow from fast requests; "": none does */
	char *text;     /* the sentence that a Hone before schema 4 kept; else "" */
	uint64_t traces;  /* in the sample: all requests of the group */
	uint64_t passing; /* [5] of these, those that pass the edge; 0: not known */
	double passes;    /* [5] how often these pass it, mean; NAN: not known */
	/* [5] Which part of the variance of all requests of the type the edge carries, 0 to 1: its share, times
	 * the variance of its group in relation to that of the type (at most 1). Of a slow group: its share of
	 * the response time. Of an edge between two units, from schema 6 on: what all waits for the service of
	 * `to` carry. NAN: not known. */
	double effect;
	double effective_traces; /* [4] effective sample size, at most `traces`; NAN: not known */
	double confidence;       /* of all intervals here, 0 to 1 */
	double mean_ns, cv;      /* of the response time */
	bool by_latency;         /* [4] share is of the mean response time, else of its variance */
	double share, share_low, share_high;
	double latency_share; /* of the mean response time */
	double probability;   /* that the group is beyond its threshold; see variance.h */
	double cost_ns;       /* waiting that the problem has caused, in the edge */

	double
	    separation; /* [4] SEPARATED: share of the variance between requests with `tracepoint`
	                      and without it */
	bool slow_with; /* [4] SEPARATED: those with it are the slow ones */

	/* [4] The path passes this pair of labels `positions` times; the edge is number `position`, from
	 * 1. 0: not known. */
	uint32_t position, positions;
	bool loop_back;   /* [4] the edge is the way back of a loop */
	bool handed_over; /* [5] the edge lies between two units: no tracepoint can be inside it */

	/* [4] Tracepoints of a service that were not seen while learning and may lie inside the edge.
	 * SPREAD and CUT: 0, they are not counted. */
	uint32_t unlearned;
	char *unlearned_service;
	char *unlearned_names; /* [5] of the first of them ("provider:event"), one on each line */
	/* [4] Tracepoints that may lie inside the edge and are over the overhead budget: the program's
	 * own, and those of the preload layer. */
	uint32_t over_budget, preload_over_budget;

	/* [4] The preload layer: what takes the time between two labels of the program; the call
	 * ("lttng_ust_pthread:pthread_mutex_lock"); the object with most of the time of that call (a
	 * lock's address), and its share. */
	enum preload_kind preload;
	/* Of another verdict (preload NONE), above_from and above_to are the begin and the end of the innermost span that has the edge in it;
	 * "": there is none. */
	char *above_from, *above_to, *call, *object;
	double object_share;

	/* [5] What the requests waited for in the edge (analysis/thread_history.h): the cause, with its
	 * share of the time of the `waits` that were examined; OCCUPIED: the request type, and the label
	 * that began the unit, that the thread worked for; STILL: the process of `to` recorded nothing,
	 * and that of `from` neither (wait_from_too). UNKNOWN: 0 and "". */
	enum wait_cause wait_cause;
	uint32_t waits;
	double wait_share, wait_share_low, wait_share_high;
	char *wait_type, *wait_unit;
	bool wait_from_too;

	/* [6] The threads of the service of `to`, where the edge lies between two units: what the waits for
	 * them come from; how many there are; the share of the time that they are held; for how long at a time,
	 * with its CV; and the mean wait, with the one that is expected of that (analysis/thread_load.h). NONE: 0
	 * and NAN. */
	enum pool_state pool;
	uint32_t pool_threads;
	double pool_utilisation, pool_service_ns, pool_service_cv, pool_wait_ns, pool_expected_ns;
	/* [8] The part of what the type varies by that waits for these threads at least have, wherever they are: the lower end of its interval. NAN: not
	 * known. */
	double pool_low;

	/* [5] A mistake of the instrumentation that puts time into the wrong place on this path: its word
	 * (analysis/mistakes.tbl.h), its place, its other end or "", and how often it was seen of how
	 * many times. "": none is known. */
	char *mistake, *mistake_at, *mistake_to;
	uint64_t mistake_count, mistake_of;

	/* [6] Of a tail (problem TAIL): the quantile beyond which requests are slow, of all requests of the type,
	 * and the response time there; how many of `traces` are slower; and which share of the variance
	 * the slowest requests carry, twice as many as those beyond the quantile. Else 0, and NAN. Shares
	 * are of what slow requests take longer than usual ones. */
	double tail_quantile, tail_ns, tail_carries;
	uint64_t tail_requests;
	/* CAPTURED: `traces` are the requests that were captured with all tracepoints, tail_requests of them slow ones, beyond tail_ns; `share` is
	 * the share of the slow ones that have more than half of their excess in the edge, with its exact interval; and tail_p the probability
	 * that this is by chance (controlplane/search/captured.h). */
	/* Neither of these: tail_requests of `traces` take longer than tail_ns in the edge, and most of what that varies by lies between them and the
	 * others, as far as tail_key says what they have; else 0. */
	/* [6] What slow requests have that the others have not: a key with this value (tail_has: or at least, or
	 * at most; enum tail_has), the shares of both that have it, and the probability that this is by
	 * chance. tail_key "": nothing is known. */
	char *tail_key, *tail_value;
	uint32_t tail_has;
	double tail_with, tail_without, tail_p;

	/* [6] What threads did in the edge below its tracepoints, in so many requests; 0: not looked at, and below_missing
	 * is why, or ""; else below_missing is what a node could not say, or "". One line for each state that takes time: its word (wire/below_states.tbl.h), its share as `share`
	 * has it, the interval, and its mean time in ns. One for each of the largest places, and of those that held the lock
	 * at the first one: the word of its state (of a holder: what it did meanwhile), share, part of the edge's share,
	 * mean ns, and the place to the end of the line; after a tab there may be who called it, or the
	 * name of the holder's thread. One for each request type that ended the waits there: number of waits,
	 * share and part of the edge's share of their time, and the type to a tab or the end of the line, empty for threads outside of
	 * requests; after the tab the name of the thread. */
	uint32_t below_requests;
	char *below_top; /* word of the state that stands out; empty: none does */
	char *below_states, *below_places, *below_holders, *below_wakers, *below_missing;
	/* What slow requests have more of than the others: analysis/differential_text.h. "": they were not compared. */
	char *below_differential;
	enum verdict_ground ground; /* [7] GROUND_OPEN: nothing is asked of it */
	/* [7] Functions in the edge that were timed by their begins and ends, from the outside in; "": none were. One line for each: 1, or 0 if it was
	 * not timed, as its calls would take too much of the edge; its calls in a request; its share as `share` has it with the interval, the part of the edge's share and
	 * the mean ns, all in requests that paid for the probes; and its name to the end of the line. */
	char *below_functions;
	/* [7] One line, as of below_wakers, for each request type that held the lock at the first place when waits began. */
	char *below_held;

	/* [7] Of what the edge of its search carries of the variance of all requests, the part that the baseline of run.compared
	 * has not, 0 to 1, and how much of it is certain. Of a wait for threads: what all waits for them carry. NAN: there was
	 * no baseline. */
	double new_part, new_low;

	/* The prediction for the case that the edge always takes its median. NAN: not known. */
	double cv_now, cv_then, cv_then_low, cv_then_high;
	double p50_then_ns, p95_now_ns, p95_then_ns, p99_now_ns, p99_then_ns;

	char *key; /* "label.field" that explains the edge; "" */
	double key_r, key_p;
	uint32_t key_n;
	struct trace_id slowest, fastest; /* examples; 0: none */
	int64_t slowest_ns, fastest_ns;
	struct wall when;
};

/* SPREAD over all of the request, from its begin to its end, and no key explains it: it names nothing that was not known before. */
bool verdict_is_whole(const struct verdict *v);

/* CAPTURED: it is by chance with at most VERDICT_CAPTURED_P. Else: the interval of its share lies above 0, or it is a wait for threads between two units of which enough is certainly new,
 * or all waits for these threads certainly have VERDICT_POOL_SURE, however few of them this edge shows, or VERDICT_MANY requests pass the edge, the waits are VERDICT_POOL_TIMES what the load leads to and as long
 * as the threads are held at a time, and have that much of the variance: the edge has some of the problem; it is not whole; and no mistake of the
 * instrumentation is known that puts time into the wrong place there. */
bool verdict_sure(const struct verdict *v);
#define VERDICT_POOL_SURE 0.25 /* of what the type varies by */
#define VERDICT_POOL_TIMES 30.0
/* Less than the confidence of intervals asks for: what few requests say is the only evidence, and nothing contradicts it later. */
#define VERDICT_CAPTURED_P 0.01

/*
 * 0. It has a ground, if one is asked for: a state of the threads stands out that is not the wait for a processor.
 * 1. Compared with a baseline: some of it is certainly new, of a wait for threads (between two units, or inside one) VERDICT_NEW_WAIT or
 *    VERDICT_NEW_ODD of all waits for them, and the effect of what is new is VERDICT_NEW times that, or more. (Or one of both is not known.)
 * 2. Else: it is spread over parts none of which has enough, or these are hidden: no. A healthy application varies like this. (Not of a slow group; nor if a key explains it or its
 *    pool is not as usual, with VERDICT_SPREAD_OVER times that, or with VERDICT_SPREAD_ALL.)
 * 3. Its effect is at least that, or one of both is not known; and it is no wait that the load leads to anyway
 *    (POOL_USUAL), or what its threads wait for themselves (POOL_WAITING).
 */
bool verdict_worth(const struct verdict *v, double effect_min);
/*
 * Of a verdict that is not sure: whether it may be worth mending for all that is known.
 *
 * 1. Its interval is not all that makes it unsure (captured, whole, a mistake of the instrumentation), or it is compared with a baseline: yes.
 * 2. It would be worth mending if it were sure: yes.
 * 3. It would not be, whatever its share is (its ground, the load leads to that wait, or it is spread): no.
 * 4. By VERDICT_MANY requests its effect is less: no. It would not be worth mending if it were sure, so more requests that exclude 0 would not make it so.
 * 5. By fewer: yes. What few requests say of the effect may be chance.
 */
bool verdict_open(const struct verdict *v, double effect_min);
enum { VERDICT_MANY = 1000 };
/* Of nearly all that varies it is said what the cause is, also if it is spread. */
#define VERDICT_SPREAD_OVER 3.0
#define VERDICT_SPREAD_ALL \
	0.75 /* of the variance; three times a least effect of over a third is more than there is */
/* What was not there before stands out with less. */
#define VERDICT_NEW 0.6
/* Waits are long for a while in queues that nothing has changed, and not longer in the next minute. */
#define VERDICT_NEW_WAIT 0.6
#define VERDICT_NEW_ODD 0.5 /* of a pool whose waits are not as usual, either */

/* By these factors of the least effect a problem is not spread over several edges, as that of a healthy application: what
 * one edge alone has, or each of two, what of the variance would go if it always took its median, or what all have together. Of a least effect that is
 * large: half way from it to all (verdict_apart()). */
#define VERDICT_ALONE 1.88
#define VERDICT_TWO 1.6 /* each of two edges */
#define VERDICT_SAVES 1.88
#define VERDICT_SAVES_OWN \
	0.7 /* of what the verdict's own requests vary by: whatever the least effect */
#define VERDICT_TOGETHER 3.6
#define VERDICT_COUNTS 0.8 /* less than that of the least effect is not counted there */

double verdict_apart(double factor, double effect_min); /* the smaller of both, 0..1 */
/* The same for what all have together: VERDICT_TOGETHER times the least effect, at most VERDICT_NEARLY_ALL, and no less than one alone. */
double verdict_together(double effect_min);
#define VERDICT_NEARLY_ALL 0.9
/*
 * Whether the edge varies as no work does that each request has: the CV of its time, in the requests that pass it, is VERDICT_RARE_CV or more, so that one passage
 * in twenty at most takes nearly all of it. The time itself is not kept: its CV is that of a time which varies independently of the rest of the
 * request. False of a slow group, and where one of the numbers is not known.
 */
bool verdict_is_rare(const struct verdict *v);
#define VERDICT_RARE_CV 4.5

/* The part of the squared CV of the verdict's requests that would go if the edge always took its median; and of what the type varies by, as far as these
 * requests vary like the type. 0: none, or not known. */
double verdict_saves(const struct verdict *v);
double verdict_saves_all(const struct verdict *v);

/* Copies with its texts. False: out of memory; *to is then empty. */
bool verdict_copy(struct verdict *to, const struct verdict *from);
void verdict_release(struct verdict *v); /* frees the texts; v is empty */

/* A trace that a hypothesis was judged with. */
struct evidence {
	struct trace_id trace;
	uint64_t run, hypothesis;
	int64_t total_ns; /* response time */
	int64_t edge_ns;  /* of that inside the edge of the hypothesis */
};

#endif
