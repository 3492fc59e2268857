/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether what a diagnosis found is worth mending. Response times of a healthy application vary, too: each
 * queue carries a part of the variance, so some edge always carries the largest. Pure functions.
 */
#ifndef CONTROLPLANE_SEARCH_WORTH_H
#define CONTROLPLANE_SEARCH_WORTH_H

#include "controlplane/search/presence.h"
#include "forest/forest.h"

/* The default of the least effect; docs/evaluation.md has what is found and missed with others. */
#define WORTH_EFFECT_MIN 0.25

struct effect_facts {
	bool by_latency; /* the problem is that the group is slow */
	double share;    /* of the edge, of the variance (or of the latency) of its group */
	/* Of the edge that the search began with: its share in its group, and the part that it carries in all
	 * groups of what the type varies by (type_variance.h). 0: not known. */
	double began_share, began_effect;
	double group_variance;  /* of response times, ns^2 ... */
	double within_variance; /* ... and of the type: type_variance.h; of a
	                         * tail: of all requests */
	bool tail;              /* the problem is a tail ... */
	double tail_variance;   /* ... which carries this share of the variance of the type */
};

/*
 * The part of what the response times of the type vary by (type_variance.h) that would go if the edge took a
 * constant time, 0 to 1.
 *
 * 1. Of a slow group: the share of the latency.
 * 2. No variance: 0.
 * 3. Of a tail that carries less than TAIL_CARRIES_MIN of the variance: 0. It is that of the queue, or of the
 *    noise, that the other requests have, too.
 * 4. Not of a tail: what the edge carries that the search began with, in all groups, times the part of its
 *    share that the edge of the verdict has.
 * 5. That edge is not known, or of a tail: the share, times the variance of the group in relation to that
 *    within all groups (of a tail: that of the type), at most 1.
 */
double effect_of(const struct effect_facts *f);

/*
 * Whether it depends on where in its interval the share is if the verdict is worth mending.
 *
 * 1. A wait between two units: no. Its effect is that of all waits for these threads. One that certainly has a part, and has SHARE_NEARLY_ALL (analysis/bootstrap.h) of the variance: no.
 *    What its lower end leaves open is what others do at other times.
 * 2. The least effect is in the interval of its effect: yes.
 * 3. VERDICT_ALONE times that is, by fewer than WORTH_ALONE_TRACES: yes. It stands out alone, or with others. One that is rare stands out whatever it has.
 * 4. No.
 */
bool worth_is_open(const struct verdict *v, double effect_min);
enum { WORTH_ALONE_TRACES = 300 };

struct worth_facts {
	uint32_t sure;       /* verdicts whose interval does not hold 0 */
	uint32_t worth;      /* of these, those whose effect is worth mending: verdict_worth() */
	uint32_t open;       /* others that may be worth mending: verdict_open() */
	uint32_t open_worth; /* of these, those whose effect is */
	bool
	    apart; /* one of `worth` is of a slow group, of a tail, of a pool that is not as usual, or verdict_is_rare() */
	double effect_min;
	double most, second,
	    saves, /* of these: the two largest effects of different edges (of one that several searches came to from different edges: the sum), the largest verdict_saves_all() ... */
	    saves_own; /* ... and verdict_saves() */
	double
	    together; /* sum of the effects of all sure verdicts that are no wait for a pool, and neither spread nor hidden nor cut, over places that others may name,
	                  * and have VERDICT_COUNTS of the least effect; each edge counts once */
};

/*
 * How a run with verdicts ends.
 *
 * 1. No verdict is sure, and one may be worth mending: RUN_UNSURE. The same if none of the sure ones is worth mending, and the effect
 *    of one that is not sure is: a small cause that is certain does not say that there is no large one.
 * 2. None of the sure ones is worth mending: RUN_NOTHING. So a small effect that is not sure is not told more loudly than one that is.
 * 3. One that is worth mending is apart: RUN_FOUND.
 * 4. The largest effect is less than VERDICT_ALONE times the least one, the second one less than VERDICT_TWO times that, none would take VERDICT_SAVES times that away of what the type varies by, nor
 *    VERDICT_SAVES_OWN of what its own requests vary by,
 *    and together they have less than VERDICT_TOGETHER times that (verdict_together()): RUN_NOTHING. In healthy applications
 *    one edge has a third of the variance, or more while it is measured, and would take away less than that if it always took its median: the rest
 *    is everywhere.
 * 5. RUN_FOUND.
 */
enum run_state worth_state(const struct worth_facts *f);

struct look_facts {
	bool late;   /* the deadline has passed ... */
	bool latest; /* ... LATE_LOOKS times */
	uint32_t
	    worth; /* see struct worth_facts; 0 if the run would not be found by worth_state() */
	double effect; /* the largest one of these */
	/* What groups have that have too few requests to be judged, as an effect; and those of them that will have enough before the
	 * latest deadline. */
	double unjudged, due;
	double effect_min;
	bool quiet;      /* the problem is not there any more: presence_look() */
	int64_t seen_ns; /* for how long it was seen */
	bool
	    pool; /* the first verdict is a wait for threads, and what its pool is was inferred from its load ... */
	int64_t watched_ns; /* ... and this is for how long the diagnosis has watched it */
};

/* A load, and what waits carry of the variance, is not known after a few seconds. */
#define LOOK_POOL_NS INT64_C(8000000000)

/*
 * Whether a diagnosis whose searches have all ended goes on watching.
 *
 * 1. After the latest deadline: no. After the first one only if groups that will soon be judged have the least effect, and more than the
 *    verdict.
 * 2. No verdict is worth mending: yes. What stands still twice in a second shows in a second; what happens every few
 *    seconds does not, and one burst is soon forgotten.
 * 3. The problem is quiet, or was seen for less than PRESENCE_SEEN_NS: yes. A decision that was made on one burst is
 *    held until a second look agrees.
 * 4. What is found is a wait for threads, and the load of these was watched for less than LOOK_POOL_NS: yes. It is judged again then.
 * 5. Groups that have too few requests to be judged have more of the variance than the verdict: yes. Rare paths
 *    take longer to show than frequent ones.
 * 6. No.
 */
bool look_on(const struct look_facts *f);

struct again_facts {
	uint32_t searches;                /* that began with the edge ... */
	bool ended;                       /* ... and all have ended */
	uint64_t requests, requests_then; /* of its group: now, and when the last of them began */
	/* What the edge carries by now of the variance within the groups, and the largest effect of a verdict of one of
	 * these searches, sure or not; 0: none has one. */
	double effect, named, effect_min;
};

/*
 * Whether the main edge of a group is searched once more while a diagnosis looks on.
 *
 * 1. It was not searched, or twice: no.
 * 2. A search of it goes on: no.
 * 3. There are fewer than AGAIN_TIMES as many requests as when it began: no.
 * 4. What the edge carries is by the least effect more than what was named, and twice that: yes. The problem was not there then, or is rare: of 30
 *    requests mostly none has what one in a hundred has, and what these varied by was followed.
 * 5. No.
 */
bool search_again(const struct again_facts *f);
enum { AGAIN_TIMES = 2 };

struct rest_facts {
	bool worth;  /* the verdict is sure, and its effect is worth mending */
	double left; /* of the problem, without what verdicts name: an effect */
	double effect_min;
	uint32_t causes, causes_max; /* named or searched; asked for */
};

enum rest_step { REST_NONE, REST_UNDER, REST_ENOUGH, REST_SEARCH };

/*
 * Whether what is left of a problem is searched, too, after a verdict.
 *
 * 1. The verdict is not worth mending: what is beside it is no other cause (REST_NONE).
 * 2. Less than the least effect is left: all causes are named (REST_UNDER).
 * 3. As many causes as asked for are named or searched (REST_ENOUGH).
 * 4. REST_SEARCH.
 */
enum rest_step rest_step(const struct rest_facts *f);

#endif
