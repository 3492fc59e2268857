/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One search: where, inside an edge that carries a group's problem, it sits. A
 * cycle turns a few tracepoints on inside the gap, gathers traces that have them,
 * decides which part of the gap has the problem, and goes on inside that part, until
 * nothing is left to turn on. docs/search.md says what is decided when, and why.
 *
 *	diagnose.c  what of a type is searched, and when all is done
 *	watch.c     which groups have a problem, and what it costs
 *	search.c    a search's cycle: wait, switch, gather, decide
 *	gap.c       which edges of a path a gap has become
 *	measure.c   how the problem is spread over a gap's parts
 *	decide.c    what that says to do
 *	narrow.c    the next tracepoints, on and off
 *	explore.c   what may be inside a gap of which nothing was learned
 *	deep.c      what lies below the program's own tracepoints
 *	settle.c    what the forest is told
 *	conclude.c  the verdict
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_H
#define CONTROLPLANE_SEARCH_SEARCH_H

#include "base/rng.h"
#include "base/hash.h"
#include "controlplane/search/diagnose.h"
#include "controlplane/search/decide.h"

enum {
	CHECK_NS = 100000000, /* between two looks at what has come */
	SETTLE_NS = 50000000, /* after a toggle holds: requests that were on their way are over
	                         their first records */
	PLENTY = 150 /* traces after which what is still not sure is decided by what is likelier */
};
#define OF_ROOT_MIN 0.25 /* less of what the search began with is not followed, and no verdict */

struct pick { /* a tracepoint that is on, and for which hypothesis */
	uint32_t label;
	bool fresh; /* of this cycle */
	struct hypothesis *hypothesis;
};

enum { WHICHES_MAX = 32, WHICH_MAX = 96 };
struct which { /* whose time it is: by the first field of a pair's begin, the lock's address */
	uint32_t n;
	double ns; /* of all */
	struct {
		char text[WHICH_MAX];
		double ns;
	} each[WHICHES_MAX];
};

struct deeper {                  /* see deep.h */
	bool begun;              /* tracepoints of the program's own are used up ... */
	struct gap above;        /* ... in this gap */
	uint32_t provider;       /* of rules.deep: explored now, or next */
	struct label_set inside; /* labels that lay in the gap while they were explored */
	bool probing;            /* some of them are on in this cycle */
	bool found;              /* one took over: the search's gap is that part of `above` */
	uint32_t dear;           /* tracepoints that the budget has no room for */
	struct which which;      /* of this cycle */
};

struct search {
	uint32_t number;         /* within the diagnosis, from 0 */
	enum phase phase;        /* WAIT: for room */
	struct hash128 root_key; /* of the group under search, by always-on labels alone */
	enum problem problem;    /* that group's */
	double of_group; /* how much of the group's problem it is about: share of the first gap */
	struct hypothesis *root, *current; /* current: the one that found the gap */

	struct gap root_gap, gap; /* where the problem was found, and where it is now */
	struct gap most; /* the smallest one that had half of what the first has: the verdict, if it
	                    is spread */
	bool by_latency; /* parts are told by their share of the mean, not of the variance */
	double root_share, share; /* of the first gap, of this one, when found; 0: since it follows,
	                             not yet known */
	double of_root;           /* parts of parts: what was followed at each cut, multiplied */
	double carried;           /* covariance (ns^2) or mean (ns) of the gap when found */
	uint32_t *path, *units;   /* labels: the path with the gap, and what began their units */
	uint32_t npath, at,
	    to;           /* the gap: from path[at] to path[to]; to <= at: back round a loop */
	uint32_t spreads; /* cycles in a row in which no part of it took over */

	struct label_set keep;          /* added labels that its paths are told apart by */
	struct label_set must, mustnot; /* of these: what a trace must have on its path, or lack */
	struct label_set tried;         /* labels that were on once */
	struct label_set absent; /* of those, the ones that are not inside the gap in its traces */
	struct separation sep;   /* of the label that tells slow from fast, and stays on */
	bool follows;            /* only its slow side is looked at ... */
	struct gap since;    /* ... since this was the gap: what the fast side takes there, the slow
	                        one may as well */
	bool unsure, forced; /* which part has the excess is not sure; it is decided all the same */

	struct pick *on; /* all that it has on */
	uint32_t non, on_cap;

	uint32_t dear; /* tracepoints that may be inside the gap and that the budget has no room for
	                  ... */
	uint32_t unexplored; /* ... of these, those that were too dear to explore */
	struct gap given_up; /* the forest was told that this one could not be searched for them */

	struct hypothesis *explorer; /* owns what is on to explore; NULL: nothing is */
	uint32_t explored,
	    explored_before; /* of the service's tracepoints, in the order their agents tell them */
	bool explored_own;   /* the program's own, not those of the deeper layer alone */
	uint32_t explore_most; /* so many at once: fewer when they were too dear */
	uint32_t
	    taught; /* traces of its own that taught the space meanwhile (learn_new() does it) */

	struct deeper deep;

	bool closing; /* the gap is measured as one edge, with traces enough, to end with it */
	enum verdict_kind ending; /* then as this */
	uint64_t enough; /* traces that it is judged by then: more, while its interval holds 0 */
	bool late;       /* the cycle has lasted as long as it may */
	const struct verdict *verdict; /* the forest's; NULL: none yet, or none */
	enum reason reason;            /* ended without a verdict: why */
	uint32_t reason_label;         /* of the reason: a tracepoint; LABEL_NONE */

	struct groups *groups;   /* of this cycle's traces */
	struct comoments serial; /* of these: a response time beside the one before it */
	int64_t before_ns;
	uint64_t traces, skipped_lossy;
	struct mono cycle_begun, checked, ready;
	bool rests; /* PAUSED, since an agent has let go of what was on there */
	bool is_ready;
	struct rng rng;
};

/* ---- watch.c ---- */
struct looked { /* a group and what was found of it when it had n traces */
	const struct group *group;
	uint64_t n;             /* 0: never yet */
	struct finding finding; /* its edges are allocated */
};
enum { RIPE_MAX = 16 };
struct watched { /* what is known of the groups that come in question, from one look to the next */
	uint32_t n;
	struct looked looked[RIPE_MAX];
};
struct ripe { /* a group with a problem */
	struct group *group;
	struct looked *looked; /* the diagnosis's, until its next look */
};
/* Those by which most waiting is caused, costliest first. A group is judged anew when it has grown
 * by a sixteenth, or late, at all. O(groups), and 0.2 ms for each that is judged. A number up to
 * RIPE_MAX, or ERR_MEMORY. */
int ripe_groups(struct ripe out[RIPE_MAX], struct search_port *g, struct diagnosis *d, bool late,
    struct err *e);
/* Judges it by all its traces, with the intervals of shares: 1: it is a problem, and an edge stands
 * out, or it is late, or there are traces plenty; 0: not; or ERR_MEMORY. Some tenths of a ms. */
int ripe_surely(
    const struct ripe *r, struct search_port *g, struct diagnosis *d, bool late, struct err *e);
void watched_free(struct watched *w);

/* ---- search.c ---- */
/* NULL: out of memory. It waits. */
struct search *search_new(
    const struct gap *gap, struct hash128 root_key, uint32_t number, uint64_t seed);
void search_free(struct search *s);
/* Its first cycle. model: a group with the gap as one edge, or NULL: its path is remembered. */
int search_begin(struct search_port *g, struct diagnosis *d, struct search *s, struct group *model,
    struct mono now, struct wall when, struct err *e);
/* A trace with its root key. */
int search_trace(struct search_port *g, struct search *s, const struct trace *t, struct err *e);
int search_step(struct search_port *g, struct diagnosis *d, struct search *s, struct mono now,
    struct wall when, struct err *e);
/* Disables all that it enabled; withdraws the hypotheses that it had not settled. reason: why there
 * is no verdict, REASON_NONE: there is one. */
void search_end(struct search_port *g, struct diagnosis *d, struct search *s, enum reason reason,
    struct wall when);
bool search_on(const struct search *s); /* has begun, has not ended */

/* ---- diagnose.c ---- */
/* A part of a gap that is not the one that is followed has a problem of its own: a search for it,
 * which waits. */
int diagnose_beside(struct search_port *g, struct diagnosis *d, struct search *by,
    const struct measured *m, const struct part *p, struct wall when, struct err *e);

/* ---- of a search, for measure.h and decide.h ---- */
/* In the arena. ERR_MEMORY. */
int search_measure_input(
    struct measure_input *ret, const struct search_port *g, const struct search *s, struct err *e);
struct decide_context search_decide_context(const struct search *s, bool deadline_passed);

/* ---- narrow.c ---- */
/* The problem is in this part of the gap. */
void narrow(struct search *s, const struct measured *m, const struct part *p);
int follow(struct search *s, const struct separation *sep, struct err *e);
/* How the path leads past the gap, what is inside left out. O(path). */
int remember_path(struct search *s, const struct shape *shape, struct arena *a, struct err *e);
/* Turns on what the strategy wants inside the gap. How many, or a negative code. */
int propose(
    struct search_port *g, struct diagnosis *d, struct search *s, struct wall when, struct err *e);
/* How many there are that could be turned on inside the gap. */
int anything_left(struct search_port *g, struct diagnosis *d, struct search *s, struct err *e);
/* One of them, for a hypothesis of its own in the cycle that begins. 0 or a negative code. */
int turn_on(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t label,
    struct wall when, struct err *e);
/* Turns on the ends of its gap, and what traces are told apart by, where they are not always on. */
/* The budget has no room for one of them: *dear is its name. */
int hold_ends(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t *dear,
    struct wall when, struct err *e);
/* Measured, what is on costs more than there is: the newest of this cycle goes off. True: one did.
 */
bool let_go(struct search_port *g, struct diagnosis *d, struct search *s, struct wall when);
void turn_off(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t at,
    enum reason reason, struct wall when);
bool needed(const struct search *s,
    uint32_t label); /* an end of the gap, or what traces are told apart by */

/* ---- explore.c ---- */
/* Turns on some tracepoints of the gap's service that the space has never seen for this type; once
 * the deeper layer is come to, those of its provider at hand. How many, or a negative code; 0:
 * there are none, or all were explored. */
int explore(
    struct search_port *g, struct diagnosis *d, struct search *s, struct wall when, struct err *e);
/* How many tracepoints of the gap's service the space has never seen for this type, and nobody has
 * explored: they may lie in the gap for all we know. O(its tracepoints x nodes). */
uint32_t explore_unseen(struct search_port *g, const struct diagnosis *d, const struct search *s);
/* The space was taught, and it is known what they cost. */
bool explored_enough(const struct search_port *g, const struct search *s, bool late);
void explore_end(struct search_port *g, struct search *s, struct wall when);
/* Queues are full: the same ones once more, when they are not. reason is for the log. */
void explore_withdraw(
    struct search_port *g, struct search *s, enum reason reason, struct wall when);
/* Measured, they cost more than there is: once more, half as many at a time; a single one is left
 * out. */
void explore_less(struct search_port *g, struct search *s, struct wall when);

/* ---- deep.c ---- */
/* Nothing of the program's own is left inside the gap: explores the next provider of the deeper
 * layer, or turns on what was found of it there. How many, or a negative code; 0: nothing is left
 * there either. */
int deepen(
    struct search_port *g, struct diagnosis *d, struct search *s, struct wall when, struct err *e);
/* Whether "provider:event" is of that provider, and might tell anything. */
bool deep_of(const struct search_port *g, const struct search *s, const char *name);
/* What of it a trace has inside the gap, while it is explored. O(events). 0 or ERR_MEMORY. */
int deep_note(struct search_port *g, struct search *s, const struct trace *t, struct err *e);
/* Takes it out of a path wherever it is not inside the gap; counts whose time it is. O(steps). 0 or
 * ERR_MEMORY. */
int deep_path(struct search_port *g, struct search *s, const struct trace *t, struct critpath *p,
    struct err *e);
/* 0: what was decided follows a part that only happens to lie beside a helper's tracepoint; 1; or a
 * negative code. */
int deep_keeps(
    struct search_port *g, const struct search *s, const struct decision *x, struct err *e);
/* The verdict's fields of the preload layer, where the search found its part there. The texts are
 * the verdict's. ERR_MEMORY. */
int deep_verdict(struct verdict *v, struct search_port *g, const struct search *s, struct err *e);

/* ---- settle.c ---- */
struct hypothesis *hypothesis_from(struct search_port *g, struct diagnosis *d,
    const struct hypothesis *parent, struct wall when); /* NULL: out of memory */
/* What is known of the group and of that edge of it (UINT32_MAX: none). */
void hypothesis_motive(
    struct search_port *g, struct hypothesis *h, const struct group *group, uint32_t edge);
/* Of this cycle's tracepoints: which helped. The others go off. spread: no part took over. */
int settle_picks(struct search_port *g, struct diagnosis *d, struct search *s,
    const struct decision *x, struct wall when, struct err *e);
int settle_evidence(struct search_port *g, const struct hypothesis *h, const struct group *group,
    uint32_t edge, struct err *e);

/* ---- conclude.c ---- */
/* The verdict, unless what was measured last contradicts it: then the search ends without, or goes
 * on to measure the smallest edge that had most of it. Where it is not sure, and there is time,
 * twice as many traces are gathered first. */
int conclude(struct search_port *g, struct diagnosis *d, struct search *s, struct group *group,
    uint32_t edge, enum verdict_kind kind, struct wall when, struct err *e);

#endif
