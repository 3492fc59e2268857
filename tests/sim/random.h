/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random applications that are generated from a seed, with planted causes and their ground truth.
 *
 * An application is a tree of units. Each unit is called once by its parent, either one after the
 * other or several in parallel. A unit is a block: stretches of tracepoints (nested begin/end pairs
 * and single points; some labels stand in two positions), and between the stretches calls,
 * branches, loops and waits. Time passes in stretches: each has fixed mean times between its
 * points and one draw of noise per request, which is log-normal or heavy-tailed (Pareto, infinite
 * third moment). Waits (queues, locks) are the workload of an M/G/1 queue that other traffic fills:
 * the duration of a wait depends on the current holder.
 *
 * The conditions below make an application fair. They are checked on a sample of 1,500 requests
 * before an application is used; if one is not met, another application is drawn.
 *  - Healthy: each group of requests with the same structural critical path that holds 5 % of all
 *    requests or more has a coefficient of variation (CV) of 2.5 to 7.5 % (threshold: 10 %), and no
 *    group of 0.5 % or more has its mean beyond the 95th percentile.
 *  - A single cause makes 60 % or more of the variance of each such group. Of several causes, each
 *    makes as much variance as all healthy noise or more, and none makes more than four times that
 *    of another. The CV is 14 % or more.
 *  - A `slow` cause takes 55 % or more of the mean latency of its group, whose mean is beyond the
 *    95th percentile.
 *  - Of parallel calls, one takes twice as long as the others. Causes other than `slow` are planted
 *    where all requests pass: otherwise the cause itself would change the critical path.
 *
 * Harder applications (enum hard) may differ: with `weak`, a healthy group has a CV of 8 to 9.5 %,
 * the cause makes 30 to 60 % of its variance, and the CV is 11.5 % or more.
 *
 * All claims of a run are judged, see random_claims.c.
 *
 * Position of a cause. For a queue before a unit's threads, it is the edge from the unit's fork to
 * its begin. Otherwise its gap lies between the two nearest tracepoints of the application around
 * it, A and B (at the begin or end of a unit, an always-on label such as hone:unit_begin). A
 * `sometimes` cause with tracepoints of its own has C1..Ck on the slow path between A and B.
 *  - both ends: the edge of the first verdict leads from A (or a C) to B (or a C), or the verdict
 *    says that a C separates.
 *  - either end: at least one of the two ends is correct.
 * The first verdict has rank 1, the highest cost. With several causes, any of them counts.
 *
 * That is the kind `tree`. The other kinds (random_kinds.tbl.h) are applications of services with
 * threads, whose requests wait for each other: random_service.c builds them, random_traffic.c plays
 * them as a discrete-event simulation, and a file for each family plants their causes. Their
 * conditions, checked on 2,500 requests that are played without records:
 *  - A cause multiplies the variance of all requests by 3 or more (of tails by 2), makes 60 % or more of it
 *    (of tails 45 %) where it stands or, if it is a wait, in the waits for these threads, and the CV is 15 % or
 *    more. No other place has more than half as much, unless a whole process stands still: else it would be one
 *    of two causes. Without it, the CV is at most 35 %.
 *  - Healthy: the CV is 10 to 150 %, no place (a stretch, a sleep, all waits for the threads of a service
 *    together) has more than 35 % of the variance, and units hold the threads of each service for 80 % of the
 *    time at most, with what they sleep and wait for answers.
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
/* Difficulties; half of the applications have one:
 *  - loop: causes are inside loops with a fixed, random or key-dependent number of iterations
 *  - places: a unit with a cause is called from two positions
 *  - alone: work without a join, which begins after a delay that varies by as much as the duration
 *    of the request
 *  - weak: the cause makes 30 to 60 % of the variance, the rest varies almost enough to be a problem
 *  - few: the space was learned from ten traces only
 *  - version: after learning, an eighth of the tracepoints is removed and another is added */
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
}; /* of a tracepoint: OLD exists while learning only, NEW after learning only */
enum reuse {
	REUSE_NONE,
	REUSE_NEAR,
	REUSE_FAR
}; /* labels in several positions: near each other, anywhere in a unit */
/* SEG_SLEEP: time without work, such as that of a dependency that is not instrumented */
enum seg_kind {
	SEG_STRETCH,
	SEG_CALL,
	SEG_ALONE,
	SEG_BRANCH,
	SEG_LOOP,
	SEG_WAIT,
	SEG_SLEEP,
	SEG_CAUSE
};
enum kind_number { /* of applications */
#define KIND(name, ...) KIND_##name,
#include "tests/sim/random_kinds.tbl.h"
#undef KIND
	KINDS
};
enum {
	REPLICAS_MAX = 4,
	UNITS_MAX = 24,
	SERVICES_MAX = 8,
	CAUSES_MAX = 3,
	CALLS_MAX = 3,
	KEYS_MAX = 4,
	OWN_MAX = 6,
	INSERTS_MAX = 40, /* things that stand between the points of a unit */
	SLEEPS_MAX = 16,
	ENDS_MAX = 48
};

struct block {
	struct seg *segs;
	int nsegs;
};
struct seg {
	enum seg_kind kind;
	int what;            /* index of the stretch, wait, sleep or cause; CALL: number of units */
	int unit[CALLS_MAX]; /* CALL: called in parallel */
	double share;        /* BRANCH: of the requests that take it */
	bool planted;        /* BRANCH: only while there are faults */
	bool shards;         /* CALL: number i goes to replica i of its service */
	int low, high;       /* LOOP: iterations */
	int by_key;          /* LOOP: key with the iteration count, from 1; 0: none */
	struct block body;   /* BRANCH, LOOP */
};
struct insert {      /* something that stands between two points of a block */
	uint32_t at; /* so many points stand before it */
	struct seg seg;
};
struct sleep {
	double ns, cv; /* mean; log-normal */
};
struct point {
	uint32_t label, tracepoint, stretch;
	uint32_t next;    /* point of the same tracepoint; UINT32_MAX: none */
	int key;          /* whose value it carries; -1: none */
	double offset_ns; /* mean, from the begin of the stretch */
};
struct stretch {
	uint32_t first, n; /* points */
	double mean_ns, sigma;
	bool varies; /* requests pass it unequally often */
	struct on {
		uint32_t n, room, *points;
		bool mixed;
	} on[REPLICAS_MAX]; /* enabled points, sorted; one per node of its service */
};
struct replica { /* of a node */
	int number;
	bool all;                /* all tracepoints are enabled */
	uint32_t *on, non, room; /* tracepoints */
};
/* The workload of a queue over time, up to the latest time that was requested. */
struct wait {
	/* mean time between arrivals; mean service time (exponential); share and factor of long ones */
	double gap_ns, serve_ns, long_share, long_times;
	double scale;
	struct rng rng;
	int64_t *at_ns;
	double *after_ns;
	size_t n, room;
};
struct unit_made {
	int service, parent, depth;
	int queue;     /* index of the cause that is its queue; -1: none */
	bool critical; /* all requests pass it, and wait for it */
	uint32_t npoints;
	char name[24];
	uint32_t begin, end;                             /* labels */
	uint32_t fork[SERVICES_MAX], join[SERVICES_MAX]; /* labels in the calling service */
	int other; /* second parent if it is called from two positions; -1: none */
	struct block block;
};
struct cause {
	enum cause_class class;
	int unit, key, bad, wait; /* bad: replica */
	bool looped;              /* inside a loop */
	bool rounds;              /* the iteration count of the loop is its key */
	bool queue;               /* CONTENTION: before the unit begins; false: inside */
	double share, ns, sd_ns;  /* frequency, duration and its standard deviation */
	double want_sd_ns;
	uint32_t from[ENDS_MAX], to[ENDS_MAX], own[OWN_MAX]; /* labels: the truth */
	int nfrom, nto, nown, own_at; /* own_at: index in own after which the time passes */
	uint32_t key_label;           /* KEY: the label that carries it */
	struct stretch slow;          /* tracepoints of its own, if any */
	/* of kinds other than tree */
	bool works;      /* the time is work of the thread; otherwise the unit sleeps */
	int waits_of;    /* service: any wait for its threads is right; -1: none */
	int within;      /* service: any time that passes in it is right; -1: none */
	double stall_s;  /* mean time between stalls of this replica of `within` */
	double overload; /* factor of all work in waits_of */
	bool iterates;   /* inside a loop whose iterations are a right key */
	int callee;      /* unit that the loop calls; -1: none */
};

struct made {
	uint64_t seed;
	enum kind_number kind;
	struct stage stage;
	struct arena arena;
	struct rng rng; /* for generation; playing uses that of the stage */
	enum cause_class class;
	enum trouble trouble;
	enum hard hard;
	uint8_t *life; /* [tracepoints]: enum life */
	uint32_t size; /* tracepoints */
	double rate, mean_ns, healthy_cv, cause_cv, cause_share;
	bool heavy, learn_faulty;
	enum reuse reuse;
	double reused; /* share of the points whose label has other positions */
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
	/* sigma of the noise; scale of the times that differ between requests */
	double sigma, calm;
	/* state while it is played */
	bool faulty, learning;
	/* [tracepoints]: number of nodes where it is enabled; whether it ever was in the run */
	uint8_t *on_now, *on_ever;
	uint32_t non, on_most, used;
	struct map path_of; /* trace of the diagnosis to its struct went */
	/* of kinds other than tree */
	struct service {
		bool loop;    /* one thread, which runs other units while one waits */
		int threads;  /* of each replica */
		double load;  /* of a thread, without causes */
		double scale; /* of all work, so that the load is that */
	} services[SERVICES_MAX];
	int nsleeps;
	struct sleep sleeps[SLEEPS_MAX];
	int ntypes, types[4]; /* units that begin requests; 0: that of the diagnosis */
	double type_rate[4];
	struct traffic *traffic;
};

/* random_kinds.c */
struct kind {
	const char *name;
	struct made *(*make)(uint64_t seed, uint32_t size_max);
	double
	    goal; /* share of first verdicts that are right, or of healthy ones that are not found */
	double target;   /* `random` fails if it is missed; 0: none yet */
	double compared; /* the target of diagnoses that are compared with a baseline */
	const char *what;
};
extern const struct kind kind_of[KINDS];
int kind_find(const char *name); /* -1: none */
bool kind_healthy(enum kind_number k);
/* Generates an application of that kind from the seed; of kind tree 100 to size_max tracepoints. Aborts the
 * program where that is impossible. */
struct made *made_new(enum kind_number kind, uint64_t seed, uint32_t size_max);
void made_free(struct made *m);

/* random_tree.c, random_loop.c, random_path.c, random_fanout.c, random_queue.c: one for each kind */
#define KIND(name, ...) struct made *make_##name(uint64_t seed, uint32_t size_max);
#include "tests/sim/random_kinds.tbl.h"
#undef KIND
const char *class_word(enum cause_class c);
const char *trouble_word(enum trouble t);
const char *hard_word(enum hard h);

/* random_block.c. What is drawn is drawn with the application's random numbers. */
void *room(struct made *m, size_t n, size_t size); /* zeroes, as long as the application */
double between(struct made *m, double low, double high);
double log_between(struct made *m, double low, double high);
int whole(struct made *m, int low, int high);
bool chance(struct made *m, double p);
struct made *made_alloc(uint64_t seed);
void made_room(struct made *m, uint32_t most); /* for that many points */
void add_point(struct made *m, struct unit_made *u, uint32_t i, const char *event, int key);
struct stretch *add_stretch(struct made *m, uint32_t first, uint32_t n, bool varies);
/* Names for points [first, first + n): spans that nest, and single points. */
void name_points(struct made *m, struct unit_made *u, uint32_t first, uint32_t n);
/* A block of n points with these things between them; at least one point is between any two. */
void make_block(struct made *m, struct unit_made *u, struct block *b, uint32_t n, bool varies,
    struct insert *places, int nplaces);
int add_wait(struct made *m);
struct unit_made *add_unit(struct made *m, int parent, bool critical);
void label_unit(struct made *m, struct unit_made *u);
struct seg around(
    struct made *m, enum seg_kind kind, const struct seg *call); /* a branch or loop */
void make_own(struct made *m, struct cause *c, int number);
/* The block that has the cause, and *at in it; NULL: none. */
const struct block *block_of(const struct block *b, int cause, int *at);
/* The labels beside a cause that may be an end of its edge. Returns their number. */
int ends_at(const struct made *m, const struct unit_made *u, const struct block *b, int seg,
    bool last, uint32_t *ret);
const char *service_word(int service);
void make_nodes(struct made *m);
void add_spare(struct made *m);

/* random_service.c: applications of services with threads. A family's file plants into a plan. */
struct plan {
	struct insert places[UNITS_MAX][INSERTS_MAX];
	int n[UNITS_MAX];
	uint32_t points[UNITS_MAX];   /* beside those of loops and branches */
	double load_low, load_high;   /* of services with a queue */
	double sigma_low, sigma_high; /* of the noise of work */
	int fanout; /* 0: calls at the same time are drawn; else this many shards */
	uint32_t size_low, size_high;
	double rate_low, rate_high;
	double gain,
	    share; /* least factor of the variance by the cause; least share of it at the cause */
	bool loops, quiet_loops; /* all services are event loops; these have little load */
	int extras; /* healthy branches, loops and bimodal caches of each unit, at most */
};
typedef void plant_fn(struct made *m, struct plan *p);
typedef void shape_fn(struct made *m, struct plan *p);
/* shape (may be NULL) changes what is drawn, plant (NULL: healthy) adds the cause. */
struct made *service_new(uint64_t seed, shape_fn *shape, plant_fn *plant);
struct cause *plan_cause(struct made *m, int unit); /* the only cause, with nothing right yet */
int plan_unit(struct made *m, bool root);           /* a unit of the type of the diagnosis */
void plan_add(struct plan *p, int unit, struct seg s);
/* A body of `before` and `after` points around the inserts, whose points become the cause's own. */
struct block plan_body(struct made *m, struct cause *c, int unit, struct seg middle);
struct block plan_points(struct made *m, int unit, struct seg middle, int before, int after);
/* Has the unit call a new unit in that service, whose number is returned. */
int plan_call(struct made *m, struct plan *p, int unit, int service);

/* random_traffic.c: plays them; their requests wait for each other */
enum { TRAFFIC_REQUESTS = 2500 };
struct traffic_result { /* of requests of the diagnosed type, played without records */
	double n, mean_ns, cv, variance;
	double most_share;  /* largest share of the variance of a place that is not of the cause */
	double cause_share; /* of what causes take where they stand */
	double wait_share[SERVICES_MAX]; /* of the waits for threads */
	double load[SERVICES_MAX];       /* of threads, by work ... */
	double held[SERVICES_MAX];       /* ... and with units that sleep or wait for answers */
};
/* Plays without records, with these faults. Cannot be done while a diagnosis is played. */
void traffic_dry(struct made *m, bool faulty, struct traffic_result *ret);
void traffic_begin(struct made *m);   /* from START_NS, for a stage */
void traffic_free(struct traffic *t); /* NULL is fine */

/* random_fair.c: scales noise and causes, plays without records, and returns whether the
 * application is fair. */
bool fair(struct made *m);

/* random_play.c */
struct went { /* path of a request of the diagnosis */
	uint64_t path;
	uint32_t took;
};
struct outing {                                /* of one request */
	double total_ns, cause_ns[CAUSES_MAX]; /* cause_ns: on its critical path */
	double edge_ns[CAUSES_MAX];            /* of the planted edge: cause and healthy time */
	double first_ns[CAUSES_MAX];           /* the first occurrence of the planted edge only */
	uint64_t path;                         /* hash of the structure on its critical path */
	bool slow;                             /* contained a `slow` cause */
	uint32_t took;                         /* bit set of the causes whose slow path it took */
};
void play_dry(struct made *m, int64_t at_ns, struct outing *ret);
void play_request(void *made, int64_t at_ns);
/* Installs the new version: the agents announce their tracepoints again. */
void play_version(struct made *m);
void play_obeyed(void *made, struct stage_node *n, const struct want *w);
double wait_at(struct wait *w, int64_t at_ns); /* ns, at scale 1 */
/* Mean 1, of this sigma: log-normal, or Pareto with exponent 3. */
double noise(struct rng *r, double sigma, bool heavy);
double lognormal(struct rng *r, double mean, double cv);
double exponential(struct rng *r, double mean);

/* random_claims.c */
struct claims {                     /* counts over all verdicts of a run */
	uint32_t verdicts, planted; /* verdicts that name an edge; those of a planted edge */
	uint32_t spread;            /* verdicts without a position: spread over an edge */
	uint32_t found;             /* causes that a verdict names */
	uint32_t due, due_found;    /* of several causes: those with the least effect; named ones */
	uint32_t keys,
	    false_keys; /* verdicts with a key; those whose key is unrelated to the cause */
	uint32_t keys_due, keys_missed; /* verdicts of a cause with a key; those without the key */
	uint32_t intervals, held;       /* shares with known truth; intervals that hold it */
	uint32_t waits, waits_held; /* the same for queues and locks, whose waits are correlated */
	uint32_t kinds, fields;     /* verdicts with a false kind; with false fields */
	uint32_t unsettled;         /* hypotheses still open at the end of the run */
	uint32_t log;   /* tracepoints enabled without a log entry, or never logged as disabled */
	uint32_t blank; /* settled hypotheses without measurements */
};
void claims_of(struct made *m, const struct run *r, bool verbose, struct claims *ret);

/* random_judge.c */
struct result {
	uint64_t seed;
	enum kind_number kind;
	enum cause_class class;
	enum trouble trouble;
	enum reuse reuse;
	enum hard hard;
	int ncauses;
	bool skipped, crashed, ended, found, both, either, quiet, key;
	uint32_t size, cycles, used, on_most;
	uint64_t requests;
	double healthy_cv, cause_cv, cause_share, seconds, wall_s;
	struct claims claims;
	const char *state; /* of the run: its word */
	char outcome[400]; /* kind of the first verdict, or the reason why there is none */
};
bool judge_edge(const struct made *m, const struct cause *c, const char *from, const char *to);
void judge(struct made *m, const struct run *r, bool quiet, struct result *ret);
void judge_truth(const struct made *m); /* prints */
void judge_verbose(const struct made *m, const struct run *r);
/* Prints the tables. Returns the number of targets that were missed with certainty. */
int tally(struct result *results, uint32_t n, const char *strategy, int per_cycle, bool compared);

#endif
