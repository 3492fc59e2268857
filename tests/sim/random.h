/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random applications from a seed, with planted causes, and what is true of them.
 *
 * An application is a tree of units, each called once by its parent: one after the other, or
 * several at the same time. A unit is a block: stretches of tracepoints (begin/end pairs that nest,
 * and single points; now and then a label stands in two places), and between stretches calls,
 * branches, loops and waits. Time passes in stretches: each has learned mean times between its
 * points and one draw of noise a request, log-normal or heavy-tailed (Pareto, third moment
 * infinite). Waits (queues, locks) are the workload of an M/G/1 queue that other traffic fills: how
 * long one waits depends on who holds it.
 *
 * What is fair, and checked by sampling 1,500 requests before an application is used (else another
 * is drawn):
 *  - Healthy: each group of requests with the same critical path by structure that is 5 % of all or
 * more has a coefficient of variation of 2.5 to 7.5 % (threshold: 10 %), and no group of 0.5 % or
 * more has its mean beyond the 95th percentile.
 *  - With one cause, it makes 60 % or more of the variance of each such group; with several, each
 * makes as much as all healthy noise or more, and none more than four times another's. CV is 14 %
 * or more.
 *  - A `slow` cause takes 55 % or more of the mean latency of its group, whose mean is beyond the
 * 95th percentile.
 *  - Of calls at the same time one takes twice as long as the others, and causes are planted where
 * all requests pass (`slow` but for): else the cause itself would change the critical path.
 *
 * Harder ones (enum hard) may: with `weak` a healthy group's CV is 8 to 9.5 %, the cause makes 30
 * to 60 % of its variance, and CV is 11.5 % or more.
 *
 * All that a run claims is judged, see random_claims.c.
 *
 * Where a cause is. A queue for a unit's threads: from its fork to its begin. Else its gap is the
 * two tracepoints nearest around it that this application has, A and B (at the begin or end of a
 * unit that is a label always on, hone:unit_begin and the like). A `sometimes` with tracepoints of
 * its own has C1..Ck on the slow path between A and B.
 *  - both ends: the first verdict's edge leads from A (or a C) to B (or a C); or it says that a C
 * separates.
 *  - either end: the one or the other is so.
 * The first verdict is rank 1, the one that costs most; with several causes any of them will do.
 */
#ifndef TESTS_SIM_RANDOM_H
#define TESTS_SIM_RANDOM_H

#include <math.h>

#include "base/arena.h"
#include "base/hash_map.h"
#include "tests/sim/stage.h"

enum cause_class {
	CAUSE_SOMETIMES,
	CAUSE_CONTENTION,
	CAUSE_KEY,
	CAUSE_SLOW,
	CAUSE_NODE,
	CAUSE_THIRDPARTY,
	CAUSE_CLASSES
};
enum trouble {
	TROUBLE_NONE,
	TROUBLE_LOST,
	TROUBLE_LATE,
	TROUBLE_CONGESTION,
	TROUBLE_CLOCKS,
	TROUBLE_KILLED,
	TROUBLES
};
/* What makes an application harder, one of it in half of them:
 *  - loop: causes are inside loops, of fixed, random, or (by key) keyed rounds
 *  - places: a unit with a cause is called from two places
 *  - alone: work that nobody joins, begun after a delay that varies by as much as the request takes
 *  - weak: the cause makes 30 to 60 % of the variance, the rest varies nearly as much as what is a
 * problem
 *  - few: ten traces are all that was learned
 *  - version: it was learned before an eighth of its tracepoints went and another one came */
enum hard {
	HARD_NONE,
	HARD_LOOP,
	HARD_PLACES,
	HARD_ALONE,
	HARD_WEAK,
	HARD_FEW,
	HARD_VERSION,
	HARDS
};
enum life {
	LIFE_ALL,
	LIFE_OLD,
	LIFE_NEW
}; /* of a tracepoint: OLD ended with what was learned, NEW began after it */
enum reuse {
	REUSE_NONE,
	REUSE_NEAR,
	REUSE_FAR
}; /* labels in several places: near each other, all over a unit */
enum seg_kind { SEG_STRETCH, SEG_CALL, SEG_ALONE, SEG_BRANCH, SEG_LOOP, SEG_WAIT, SEG_CAUSE };
enum {
	REPLICAS_MAX = 4,
	UNITS_MAX = 24,
	SERVICES_MAX = 8,
	CAUSES_MAX = 3,
	CALLS_MAX = 3,
	KEYS_MAX = 4,
	OWN_MAX = 6,
	ENDS_MAX = 16
};

struct block {
	struct seg *segs;
	int nsegs;
};
struct seg {
	enum seg_kind kind;
	int what;            /* stretch, wait, cause; CALL: how many */
	int unit[CALLS_MAX]; /* CALL: at the same time */
	double share;        /* BRANCH: of requests that take it */
	int low, high;       /* LOOP: rounds */
	int by_key;        /* LOOP: rounds are this key's value, counted from 1; 0: they are not */
	struct block body; /* BRANCH, LOOP */
};
struct point {
	uint32_t label, tracepoint, stretch;
	uint32_t next;    /* point of the same tracepoint; UINT32_MAX: none */
	int key;          /* whose value it carries; -1 */
	double offset_ns; /* mean, from the stretch's begin */
};
struct stretch {
	uint32_t first, n; /* points */
	double mean_ns, sigma;
	bool varies; /* lies where not every request passes equally often */
	struct on {
		uint32_t n, room, *points;
		bool mixed;
	} on[REPLICAS_MAX]; /* sorted; of each node of its service */
};
struct replica { /* of a node */
	int number;
	bool all;                /* everything is on */
	uint32_t *on, non, room; /* tracepoints */
};
/* A queue's workload over time, as far as it was asked. */
struct wait {
	double gap_ns, serve_ns, long_share,
	    long_times; /* between arrivals; of one: exponential; now and then long */
	double scale;
	struct rng rng;
	int64_t *at_ns;
	double *after_ns;
	size_t n, room;
};
struct unit_made {
	int service, parent, depth;
	int queue;     /* the cause that is its queue; -1: none */
	bool critical; /* all requests pass it, and wait for it */
	uint32_t npoints;
	char name[24];
	uint32_t begin, end;                             /* labels */
	uint32_t fork[SERVICES_MAX], join[SERVICES_MAX]; /* at who calls it */
	int other; /* parent, if it is called from two places; -1 */
	struct block block;
};
struct cause {
	enum cause_class class;
	int unit, key, bad, wait; /* bad: replica */
	bool looped;              /* inside a loop, ... */
	bool rounds;              /* ... whose rounds are its key */
	bool queue;               /* CONTENTION: before the unit begins, else inside */
	double share, ns, sd_ns;  /* how often, how long, by how much that varies */
	double want_sd_ns;
	uint32_t from[ENDS_MAX], to[ENDS_MAX], own[OWN_MAX]; /* labels: the truth */
	int nfrom, nto, nown, own_at; /* own_at: where on the slow path the time passes */
	uint32_t key_label;           /* KEY: carries it */
	struct stretch slow;          /* its points, if it has some of its own */
};

struct made {
	uint64_t seed;
	struct stage stage;
	struct arena arena;
	struct rng rng; /* of making; playing has the stage's */
	enum cause_class class;
	enum trouble trouble;
	enum hard hard;
	uint8_t *life; /* [tracepoints]: enum life */
	uint32_t size; /* tracepoints */
	double rate, mean_ns, healthy_cv, cause_cv, cause_share;
	bool heavy, learn_faulty;
	enum reuse reuse;
	double reused; /* share of points whose label stands elsewhere too */
	int nservices, replicas[SERVICES_MAX];
	struct stage_node *nodes[SERVICES_MAX][REPLICAS_MAX];
	int nunits, nwaits, ncauses, nkeys;
	struct unit_made units[UNITS_MAX];
	struct wait waits[16];
	struct cause causes[CAUSES_MAX];
	int key_high[KEYS_MAX];
	struct point *points;
	struct stretch *stretches;
	uint32_t npoints, nstretches, stretch_room, spare;
	struct texts *names; /* of tracepoints, "provider:event" */
	uint32_t *points_of; /* [tracepoints]: the first; UINT32_MAX: none */
	double sigma,
	    calm; /* noise; what is not the same for all requests takes so much of its time */
	/* while it is played */
	bool faulty, learning;
	uint8_t *on_now, *on_ever; /* [tracepoints]: on how many nodes; once, in the diagnosis */
	uint32_t non, on_most, used;
	struct map path_of; /* traces of the diagnosis: which way they went; struct went */
};

/* random_make.c: all of it from the seed, of 100 to size_max tracepoints; aborts the program where
 * that cannot be. */
struct made *made_new(uint64_t seed, uint32_t size_max);
void made_free(struct made *m);
const char *class_word(enum cause_class c);
const char *trouble_word(enum trouble t);
const char *hard_word(enum hard h);

/* random_fair.c: scales noise and causes, and checks that it is fair by playing dry. */
bool fair(struct made *m);

/* random_play.c */
struct went { /* which way a request of the diagnosis took */
	uint64_t path;
	uint32_t took;
};
struct outing {                                /* of one request */
	double total_ns, cause_ns[CAUSES_MAX]; /* cause_ns: on its critical path */
	double
	    edge_ns[CAUSES_MAX]; /* of the planted edge: that, and what healthy time lies on it */
	double first_ns[CAUSES_MAX]; /* of that, where it stands first */
	uint64_t path;               /* of the structure on its critical path */
	bool slow;                   /* a `slow` cause was in it */
	uint32_t took;               /* causes whose slow path it took, as bits */
};
void play_dry(struct made *m, int64_t at_ns, struct outing *ret);
void play_request(void *made, int64_t at_ns);
/* The new version is installed: agents say anew what they have. */
void play_version(struct made *m);
void play_obeyed(void *made, struct stage_node *n, const struct want *w);
double wait_at(struct wait *w, int64_t at_ns); /* ns, at scale 1 */

/* random_claims.c */
struct claims { /* of all verdicts of a run, not only the first */
	uint32_t verdicts,
	    planted;     /* how many name a place; of these those whose edge is a cause's */
	uint32_t spread; /* verdicts that name none: spread over an edge */
	uint32_t found;  /* causes that a verdict names */
	uint32_t keys,
	    false_keys; /* verdicts with a key; with one that has nothing to do with the cause */
	uint32_t keys_due, keys_missed; /* verdicts of a cause that has a key; of these those that
	                                   do not name it */
	uint32_t intervals, held;       /* shares whose truth is known; whose interval holds it */
	uint32_t waits, waits_held; /* the same of queues and locks, where requests near each other
	                               wait alike */
	uint32_t kinds, fields;     /* verdicts of a kind, or with fields, that are not so */
	uint32_t unsettled;         /* hypotheses that the end left open */
	uint32_t log; /* tracepoints that were on without a line in the log, or without their off */
	uint32_t blank; /* settled hypotheses that say nothing of what was measured */
};
void claims_of(struct made *m, const struct run *r, bool verbose, struct claims *ret);

/* random_judge.c */
struct result {
	uint64_t seed;
	enum cause_class class;
	enum trouble trouble;
	enum reuse reuse;
	enum hard hard;
	int ncauses;
	bool crashed, ended, found, both, either, quiet, key;
	uint32_t size, cycles, used, on_most;
	uint64_t requests;
	double healthy_cv, cause_cv, cause_share, seconds, wall_s;
	struct claims claims;
	char outcome[400]; /* the kind of its first verdict, or the reason for none */
};
bool judge_edge(const struct made *m, const struct cause *c, const char *from, const char *to);
void judge(struct made *m, const struct run *r, bool quiet, struct result *ret);
void judge_truth(const struct made *m); /* prints */
void judge_verbose(const struct made *m, const struct run *r);
/* Prints the tables; how many targets were missed for certain. */
int tally(const struct result *results, uint32_t n, const char *strategy, int per_cycle);

#endif
