/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a search does after its traces were decided on. Pure functions: facts in, a step with its
 * reason out; search.c and search_verdict.c carry the step out. The steps are numbered here, in the
 * code, and in docs/search.md.
 */
#ifndef CONTROLPLANE_SEARCH_NEXT_STEP_H
#define CONTROLPLANE_SEARCH_NEXT_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "controlplane/search/decide.h"
#include "controlplane/search/search_phase.h"
#include "forest/forest.h"

enum {
	NEXT_PLENTY = DECIDE_PLENTY, /* traces that a verdict rests on ... */
	NEXT_PASSING = 30,           /* ... and of these, those that pass the edge */
	NEXT_FEW = 5,                /* the same after the deadline */
	NEXT_CLEAR = 60,             /* traces of which a clear verdict needs no more */
	NEXT_SPREADS_MAX = 2,        /* cuts in a row without a part that takes over */
	NEXT_EXPLORED_MIN = 50       /* traces that teach the space what was explored */
};

/* ---- after a decision ---- */

enum trial { TRIAL_OPEN, TRIAL_NONE, TRIAL_SOME };

struct next_facts {
	bool duplicate;   /* another search of the same requests is at the same edge */
	bool spread;      /* no part of the gap took over */
	uint32_t spreads; /* in a row, this one included */
	bool unsure;      /* bounds do not say which part has the excess of the slow side */
	bool separates;   /* a label separates slow from fast */
	enum followed_side side;
	enum search_task task; /* of the cycle that was decided on */
	enum layer_state layer;
	bool effort_used;       /* the run has had all its cycles */
	enum trial left;        /* learned tracepoints that may lie in the gap were counted */
	enum trial candidates;  /* ... and enabled */
	enum trial exploration; /* tracepoints were explored */
	enum trial layer_trial; /* tracepoints of the preload layer were explored, or enabled */
	bool over_budget;       /* tracepoints that may lie in the gap cost too much */
};

enum next_what {
	NEXT_END,        /* without a verdict */
	NEXT_COUNT,      /* learned tracepoints that may lie in the gap: sets `left` */
	NEXT_CANDIDATES, /* enable some of them: sets `candidates` */
	NEXT_EXPLORE,    /* sets `exploration` */
	NEXT_LAYER,      /* of the preload layer: sets `layer_trial` */
	NEXT_CYCLE,      /* something was enabled: a new cycle begins */
	NEXT_SLOW_SIDE,  /* follow it, and decide again */
	NEXT_FORCE,      /* decide again, although the excess is not bounded */
	NEXT_FINISH      /* measure the final edge, and end with a verdict of this kind */
};
enum next_reason {
	NEXT_DUPLICATE,        /* 1 */
	NEXT_SPREAD_TWICE,     /* 2 */
	NEXT_ENABLED,          /* 3 */
	NEXT_EFFORT_USED,      /* 4, 5 */
	NEXT_LEARNED,          /* 6 */
	NEXT_NOT_LEARNED,      /* 7 */
	NEXT_SEPARATED,        /* 8 */
	NEXT_EXCESS_UNBOUNDED, /* 9 */
	NEXT_OWN_USED_UP,      /* 10 */
	NEXT_OVER_BUDGET,      /* 11 */
	NEXT_NO_PART,          /* 12 */
	NEXT_NOTHING_LEFT      /* 13 */
};
struct next_step {
	enum next_what what;
	enum next_reason reason;
	enum verdict_kind kind; /* of NEXT_FINISH */
};

/*
 * A step that counts, enables or explores sets one trial, then the function is asked again.
 *
 *  1. Another search of the same requests is at the same edge: end.
 *  2. The second cut in a row without a part that takes over: finish, spread. (Not of the preload
 *     layer: whatever it shows, the edge above it stays the result.)
 *  3. Something was enabled: a new cycle.
 *     Steps 4 to 7 only before the preload layer is open.
 *  4. The effort is used, and it is not known what is left: count what could be enabled.
 *  5. The effort is used, and something is left: finish, cut short.
 *  6. Learned candidates were not tried: enable some.
 *  7. Exploring was not tried, and the effort is not used: explore.
 *  8. A label separates, and its slow side is not followed yet: follow it.
 *  9. It is unsure which part has the excess of the slow side: decide all the same.
 * 10. Not spread, nothing over budget, and the preload layer not tried: try it.
 * 11. Something was over budget: finish, cut short.
 * 12. Spread: finish, spread.
 * 13. Nothing is left: finish, the place is found.
 */
struct next_step next_step(const struct next_facts *f);

/* ---- the final edge ---- */

enum final_step {
	FINAL_WAIT,
	FINAL_LOOK, /* conclude if the verdict is clear */
	FINAL_CONCLUDE,
	FINAL_TAKE_BACK, /* the path with the gap as one edge did not come back, but requests did: measure a
	                    larger edge */
	FINAL_END /* the path with the gap as one edge did not come back */
};
struct final_facts {
	bool found;       /* a group has the gap as one edge */
	uint64_t traces;  /* of all groups */
	uint64_t passing; /* of these, those that pass the gap, as one edge or not */
	uint64_t wanted;  /* twice as many as when it was measured last; 0: it was not */
	bool open;        /* its interval held 0 then */
	/* It was looked at whether it is clear with three quarters of these or more, or is not to be: a tail, an edge that the search did not narrow to, or one of the preload
	 * layer, whose objects are told by their share. */
	bool looked;
	bool can_take_back; /* there is a larger edge to go back to */
	bool deadline_passed;
};
/*
 * 1. NEXT_PLENTY traces, as many as wanted, and NEXT_PASSING of them pass the edge: conclude. Of one whose interval held 0, as many as
 *    wanted are enough, also if these are fewer: after the deadline a rare path was measured with NEXT_FEW, and is looked at again
 *    as its requests come, and not only when it has NEXT_PLENTY.
 * 2. The deadline has passed, and NEXT_FEW pass the edge: conclude.
 * 3. The deadline has passed, NEXT_FEW traces came, and there is a larger edge: take back.
 * 4. The deadline has passed: end.
 * 5. NEXT_CLEAR traces, as many as wanted, and NEXT_PASSING of them pass the edge, and it was not looked at with nearly as many: look. Of an edge that has nearly
 *    all of the problem, more requests say the same again.
 * 6. Wait.
 */
enum final_step final_step(const struct final_facts *f);

/* ---- the verdict ---- */

enum verdict_step {
	VERDICT_STEP_KEEP,
	VERDICT_STEP_WAIT, /* it is not clear: look again with a third more, and judge with NEXT_PLENTY traces */
	VERDICT_STEP_MORE,      /* judge again with twice as many traces */
	VERDICT_STEP_TAKE_BACK, /* measure the edge that the search came from */
	VERDICT_STEP_END,       /* without a verdict: contradicted */
	VERDICT_STEP_GONE       /* without a verdict: the problem went away */
};
/* The lower end of a clear share. */
#define VERDICT_CLEAR_MIN 0.5
/* A problem that is less than this share of what it was, as a covariance or a mean, went away. */
#define VERDICT_GONE_MAX 0.1
/* More traces than these are not waited for to see whether a verdict is worth mending. */
enum { VERDICT_WORTH_TRACES = 1000 };
/* Traces that depend on each other are to be worth so many independent ones; and more than these are not waited
 * for. */
enum { VERDICT_EFFECTIVE_MIN = 50, VERDICT_DEPENDENT_TRACES = 1000 };
struct verdict_facts {
	double share, share_low, share_high; /* of the final edge, with its interval */
	double carries,
	    carried_found; /* by the final edge, now and when it was found; 0: not known */
	double root_share; /* of the first gap, when found */
	bool can_take_back;
	bool sure;        /* the interval does not hold 0 */
	bool worth_open;  /* worth_is_open() */
	bool calm;        /* its requests vary much less than all since the diagnosis began */
	uint64_t traces;  /* of the final edge */
	double effective; /* how many independent ones these are worth */
	bool deadline_passed;
	bool patience_passed; /* search_patience_ns() has passed, too */
	bool put_off;         /* the deadline was, for step 6 */
	bool look;            /* FINAL_LOOK */
	bool rest_open;       /* what the edge leaves may be another cause */
	bool few_open;        /* few requests have the problem: too few to say what they have */
};
/*
 * What led to the edge was measured at other times, with other tracepoints enabled; the last
 * measurement decides. It contradicts the search when its interval lies below DECIDE_OF_ROOT_MIN of
 * what the search began with, or its share does and the interval holds 0, or DECIDE_MANY traces say so.
 *
 * Shares alone do not show that a problem went away: what is left has shares, too. It is gone when
 * the edge carries less than VERDICT_GONE_MAX of what it carried.
 *
 * 1. A look, and not clear: wait. It is clear if its share is certainly VERDICT_CLEAR_MIN and leaves no other cause, if it does not rest on slow ones that
 *    are too few to say what they have, if as many independent traces as step 8 asks for say so, and if none of steps 2 to 8 asks for anything else.
 * 2. Its share is below that, or it is contradicted or gone, by fewer than DECIDE_MANY traces, before the deadline: more traces.
 *    Requests that wait in the same queue depend on each other for longer than the interval knows.
 * 3. Contradicted, and there is no larger edge to go back to: end.
 * 4. Contradicted: take back.
 * 5. Gone: end.
 * 6. Not sure, and before the deadline, or before there was time for enough traces: more traces. Of a path that two requests a second
 *    take, 40 come until the deadline, and one of them may have most of what they vary by. After it, too, once, if by their pace so far
 *    there will be DECIDE_MANY in half as long again: what fewer say of the effect is no answer.
 * 7. By fewer than VERDICT_WORTH_TRACES it is open whether it is worth mending, or they have less of the problem than
 *    all requests since the diagnosis began, before the deadline: more.
 * 8. By fewer than VERDICT_DEPENDENT_TRACES, they are worth fewer than VERDICT_EFFECTIVE_MIN independent ones,
 *    before the deadline: more. In so short a time one burst in one queue has most of what varies.
 * 9. Keep.
 */
enum verdict_step verdict_step(const struct verdict_facts *f);

/* ---- exploring ---- */

/* Enough was explored: NEXT_EXPLORED_MIN traces have taught the space and the cost was measured, or
 * the deadline has passed. */
bool next_explored_enough(uint64_t traces, bool costs_measured, bool deadline_passed);

#endif
