/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the traces of a cycle say to do. decide() is a pure function of measured numbers; its steps
 * are those of docs/search.md. decide_measured() measures what decide() asks for.
 */
#ifndef CONTROLPLANE_SEARCH_DECIDE_H
#define CONTROLPLANE_SEARCH_DECIDE_H

#include "controlplane/search/measure.h"

/* Constant thresholds; docs/search.md says why. */
enum {
	DECIDE_LATE_DIVISOR = 6,  /* after the deadline, traces_min / 6 traces suffice */
	DECIDE_CLEAR_DIVISOR = 2, /* and traces_min / 2, where one part clearly has nearly all */
	DECIDE_PLENTY = 150,      /* traces after which the likelier part is taken for certain */
	DECIDE_MANY = 1000,       /* traces after which what was found before no longer counts */
	DECIDE_SLOW_MIN = 10,     /* of a tail: slow requests ... */
	DECIDE_SLOW_LATE = 5, /* ... after the deadline; and those that stand for DECIDE_PLENTY, */
	DECIDE_SLOW_PLENTY = 40,   /* and DECIDE_MANY traces */
	DECIDE_SIDE_MIN = 10,      /* traces of each side of a separation ... */
	DECIDE_SIDE_LATE = 5,      /* ... after the deadline, or of DECIDE_MANY traces */
	DECIDE_EFFECTIVE_MIN = 8,  /* effective number of requests a covariance rests on ... */
	DECIDE_CLEAR_EFFECTIVE = 4 /* ... where one part clearly has nearly all */
};
#define DECIDE_SEPARATES_MIN 0.5 /* share of the gap between the sides of a separation */
#define DECIDE_MUCH_SLOWER 4.0   /* mean time of the slow side by that of the fast side */
#define DECIDE_SURE_SE 3.0       /* standard errors by which the top part leads */
#define DECIDE_CLEAR_SE 6.0      /* and if so few traces shall suffice, */
#define DECIDE_CLEAR_MIN 0.8     /* with this share of the gap ... */
#define DECIDE_CLEAR_OF_ALL 0.6  /* ... and this of what it carries in all requests */
#define DECIDE_OF_ROOT_MIN \
	0.25 /* share of what the search began with that is followed, and that a verdict has */
#define DECIDE_COVERS_MIN \
	0.9 /* share of the gap that the paths with its parts carry, if they stand for all */
#define DECIDE_HIDDEN_MAX \
	0.3 /* part of its share, and of what it carried, that a gap has whose place is lost */
#define DECIDE_BESIDE_SE 2.0 /* standard errors of a share that is a problem of its own */
#define DECIDE_CALM_MAX \
	0.5 /* variance of requests that have less of a problem, by that of all requests */
#define DECIDE_AGAIN_TIMES 1.7 /* by so much stricter is that for a search that is made again */

struct decide_thresholds {
	uint32_t traces_min;
	double isolate_min; /* share of the gap */
};

struct decide_facts {
	bool deadline_passed;
	bool tail;                         /* a tail is searched: by slow requests ... */
	double slow;                       /* ... of which there are so many */
	double traces;                     /* that pass the gap, and are followed */
	double carries, share;             /* by the gap now: see struct measured ... */
	double carried_found, share_found; /* ... and when the gap was found; 0: not known yet */
	bool cuts;                         /* this cycle enabled learned tracepoints to cut it */
	double requests,
	    all;      /* whether or not they pass it, and the variance (ns^2) or mean (ns) of
	                         their response times */
	double usual; /* that variance over all requests since the diagnosis began; 0: not known */

	struct separation separation; /* the best candidate; label LABEL_NONE: none */

	bool parts_known; /* what follows was measured */
	uint32_t nparts;
	double pooled, effective, ahead; /* see struct measured */
	bool slow_side;                  /* only the slow side of a separation is followed: */
	bool excess_bounded;             /* its excess is certainly largest in the top part */
	bool forced; /* decide although the excess is not bounded: nothing is left to cut with */
	double top_of_gap, top_of_root; /* shares of the top part ... */
	double top_of_all; /* ... and of what the gap carries in the population: decide_of_gap() */
	double cover;      /* see struct measured */
	bool row_chosen;   /* between which labels the parts are: decide_row() was asked */
};

enum decide_what {
	DECIDE_WAIT,          /* for more traces */
	DECIDE_LOST,          /* the gap's place: disable what this cycle enabled */
	DECIDE_MEASURE_PARTS, /* and ask again, with parts_known */
	DECIDE_CHOOSE_ROW,    /* by decide_row(), and ask again, with row_chosen */
	DECIDE_FOLLOW,        /* the slow side of the separation */
	DECIDE_UNSURE,        /* which part has the excess: cut further */
	DECIDE_NARROW,        /* the gap becomes its top part */
	DECIDE_SPREAD         /* no part carries enough */
};
enum decide_reason {
	DECIDE_HIDDEN,          /* decide_is_lost() */
	DECIDE_FEW_TRACES,      /* 1 */
	DECIDE_NOTHING_CARRIED, /* 2 */
	DECIDE_NOT_BACK,        /* 3 */
	DECIDE_SMALL_SIDE,      /* 4 */
	DECIDE_SLOWER_SIDE,     /* 5 */
	DECIDE_PARTS_UNKNOWN,   /* 6 */
	DECIDE_OTHER_PARTS,     /* 7 */
	DECIDE_FEW_POOLED,      /* 8 */
	DECIDE_NOT_AHEAD,       /* 9 */
	DECIDE_FEW_EFFECTIVE,   /* 10 */
	DECIDE_UNBOUNDED,       /* 11 */
	DECIDE_ONLY_PART,       /* 12 */
	DECIDE_FORCED,          /* 13 */
	DECIDE_TOP_PART,        /* 14 */
	DECIDE_NO_PART          /* 15 */
};
struct decide_result {
	enum decide_what what;
	enum decide_reason reason;
	bool separates; /* the separation is one */
};

struct decide_result decide(const struct decide_facts *f, const struct decide_thresholds *t);

/*
 * Whether the paths do not show any more where the gap is. A label that a path passes many times says
 * where by how often it was passed before, and what else is enabled changes how loops are folded.
 * Asked before decide(). True if this cycle enabled tracepoints to cut the gap, enough requests came,
 * the gap carries less than DECIDE_HIDDEN_MAX of what it carried when it was found (else something else varies
 * more now), and of its share, and the response times vary by more than they would if its problem had gone, all else being as it was.
 */
bool decide_is_lost(const struct decide_facts *f, const struct decide_thresholds *t);

/*
 * Between which labels the parts are, where paths differ inside the gap. ncommon: parts between labels
 * that all paths have; top_of_gap: share of what the gap carries in the population that the largest
 * part of the model's path has.
 *
 * 1. Labels that all paths have cut the gap: those.
 * 2. The largest part of the model's path has enough of all: the model's labels.
 * 3. The model's path is that of a subgroup, too small to carry the problem, or fast: those that all
 *    paths have. There is one part.
 */
enum measure_row decide_row(uint32_t ncommon, double top_of_gap, const struct decide_thresholds *t);

/*
 * Which part has the excess of the slow side over the fast one. What the fast side takes between
 * the ends of the gap that was compared, the slow side may take as well, in a part at these ends
 * (outer): before it leaves the fast side's path, or after it has come back. So the excess of outer
 * parts is known within bounds. Sets *top to the part with the largest lower bound; true: no other
 * part's upper bound is larger. since: the gap that was compared; fast_ns: mean time of the fast
 * side in it. O(parts). n >= 1.
 */
bool decide_excess(
    const struct part *parts, uint32_t n, const struct gap *since, double fast_ns, uint32_t *top);

/* ---- with measuring ---- */

struct decide_context { /* what a search knows of its gap */
	bool deadline_passed;
	double carried_found, share_found;
	double root_share; /* of the first gap when found; 0: not known yet */
	double of_root;    /* product of the shares that were followed at each cut */
	double usual;      /* see struct decide_facts */
	bool cuts;         /* this cycle enabled learned tracepoints to cut it */
	bool slow_side, forced;
	bool tail;
	struct gap since; /* of the slow side, see decide_excess() */
	double fast_ns;
};
struct decision {
	enum decide_what what; /* never DECIDE_MEASURE_PARTS or DECIDE_CHOOSE_ROW */
	enum decide_reason reason;
	struct measured m;     /* parts only where the decision rests on them */
	struct separation sep; /* label LABEL_NONE: nothing separates */
};

/* Share of what the gap carries in the population that the part has: 0 to 1. */
double decide_of_gap(const struct measured *m, const struct part *p);
/* How much of what the search began with a part still has: as it is now, or as it was at each cut,
 * whichever is more, since several causes are not equally frequent at all times. A share, of the
 * population. */
double decide_of_root(
    const struct decide_context *c, const struct measured *m, const struct part *p);

/* Measures and decides. Results are in the arena, and point to the groups. O(groups x edges +
 * samples x parts). ERR_MEMORY. */
int decide_measured(struct decision *ret, const struct measure_input *in,
    const struct decide_context *c, const struct decide_thresholds *t, struct arena *a,
    struct err *e);

#endif
