/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a diagnosis and its searches remember. The files of this room, each of which uses only those
 * above it:
 *
 *	port.h, preload_labels.c    what the engine provides; labels of the preload layer
 *	tail_target.c               whether the tail is searched, and when there is enough of it
 *	gap.c, measure.c            the gap on a path; how a problem is distributed over its parts
 *	population.c                all requests of a search as one group
 *	baseline.c                  what edges carry, now and before
 *	rest.c                      what an edge has of a problem without a known cause
 *	wait_list.c                 what requests waited for
 *	decide.c, next_step.c,      pure decisions: facts in, a decision with its reason out
 *	search_phase.c
 *	presence.c                  when the problem was there
 *	search_state.c              what is remembered
 *	search_hypothesis.c         hypotheses and evidence of a search, for the forest
 *	narrow.c, enabled.c         the gap becomes smaller; tracepoints are enabled and disabled
 *	propose.c, explore.c        the next tracepoints: learned ones; not learned ones
 *	preload_layer.c             those of the preload layer
 *	settle.c                    what became of this cycle's tracepoints
 *	search_below.c              what threads did in the final edge, below its tracepoints
 *	functions.c, search_functions.c   which functions inside it take the time
 *	search_list.c               the searches of a diagnosis
 *	search_end.c, search_verdict.c   the end of a search, without a verdict and with one
 *	search_rest.c               what a verdict leaves of the problem
 *	search_still.c              processes that stand still
 *	search_pools.c              threads that requests wait for in many places
 *	search.c                    a search's cycle
 *	captured.c, search_captures.c   outliers that are too rare to cut
 *	watch.c, diagnose.c         which groups have a problem; a diagnosis
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_STATE_H
#define CONTROLPLANE_SEARCH_SEARCH_STATE_H

#include "analysis/below_list.h"
#include "analysis/group.h"
#include "analysis/process_still.h"
#include "base/rng.h"
#include "controlplane/search/baseline.h"
#include "controlplane/search/decide.h"
#include "controlplane/search/next_step.h"
#include "controlplane/search/presence.h"
#include "controlplane/search/port.h"
#include "controlplane/search/search_phase.h"
#include "controlplane/search/type_variance.h"
#include "controlplane/search/wait_list.h"
#include "searchspace/strategy.h"
#include "wire/below.h"

/* After agents have confirmed: until then, requests that were on their way have passed their first
 * records. */
enum { SETTLE_NS = 50000000 };

struct pick { /* an enabled tracepoint */
	uint32_t label;
	bool fresh;                    /* enabled for this cycle: not settled yet */
	struct hypothesis *hypothesis; /* that it is enabled for */
	double
	    passes; /* of a candidate: how often a request passes it in the gap, as learned; 0: not known */
};

/* Time by object: the first field of a pair's begin, for example a lock's address. */
enum { OBJECTS_MAX = 32, OBJECT_TEXT_MAX = 96 };
struct object_times {
	uint32_t n;
	double ns; /* of all objects */
	struct {
		char text[OBJECT_TEXT_MAX];
		double ns;
	} each[OBJECTS_MAX];
};

/* Where the search began. */
struct search_origin {
	struct hash128 group_id; /* of the group under search, by always-on labels alone */
	enum problem problem;    /* of that group */
	double of_group;         /* share of the first gap in the group's problem */
	struct hypothesis *hypothesis;
	struct gap gap;
	double share;    /* of the first gap when found; 0: not known yet */
	bool again;      /* an earlier one from the same gap did not find what the gap has */
	uint32_t beside; /* number of the search whose gap it is a part of; UINT32_MAX: none */
};

/* Where it is. */
struct search_position {
	struct hypothesis *hypothesis; /* that led to the gap */
	struct gap gap;
	struct gap most; /* the smallest one so far that had half of what the first has */
	bool by_latency; /* shares are of the mean, not of the variance */
	double tail_ns; /* shares are of the excess of requests slower than this; 0: they are not */
	double share;   /* of the gap when found; 0: not known yet */
	double carried; /* covariance (ns^2) or mean (ns) of the gap when found; 0: the same */
	double of_root; /* product of the shares that were followed at each cut */
	uint32_t spreads;       /* cuts in a row without a part that took over */
	uint32_t *path, *units; /* [npath]: labels of the path with the gap as one edge, and labels
	                           that began their units */
	uint32_t npath, from,
	    to; /* the gap: from path[from] to path[to]; to <= from: round a loop */
};

/* What its requests are divided by. */
struct search_sides {
	struct label_set must, must_not; /* labels that a path must have, or must lack */
	struct separation separation;    /* its label stays enabled; LABEL_NONE: none */
	enum followed_side followed;
	struct gap since; /* SIDE_SLOW: the gap when the side was chosen */
	bool forced;      /* the next decision is made although the excess is not bounded */
};

struct search_enabled {
	struct pick *picks;
	uint32_t n, cap;
	struct label_set labels; /* of the picks */
	struct label_set tried;  /* labels that were enabled once */
	struct label_set absent; /* of these, those that are not inside the gap in its traces */
	struct label_set beside; /* that lie beside the gap, or did beside a larger one before */
};

/* Tracepoints that may lie in the gap and are over the budget. */
struct search_budget {
	uint32_t left_out;   /* all of them ... */
	uint32_t unexplored; /* ... and those among them that could not be explored */
	struct gap given_up; /* for this gap the forest was told so */
	double
	    passes_most; /* what a request passes oftener costs too much: avoid_as_often(); 0: nothing did */
};

struct exploration {
	struct hypothesis *hypothesis; /* owns what is enabled; NULL: nothing is explored now */
	uint32_t done, done_before;    /* of the service's tracepoints, in the order in which agents
	                                  list them: after and before this cycle */
	bool own; /* the program's own were explored, not only the preload layer */
	bool before_loops,
	    was_before_loops; /* ... although some were learned, in one cycle: explore_before_loops() */
	uint32_t
	    at_once; /* most in one cycle; 0: never explored. Less where they were over budget */
	uint32_t traces; /* that taught the space meanwhile */
};

struct layer_search { /* of the preload layer, inside one gap */
	enum layer_state state;
	struct gap above;            /* that gap, from LAYER_OPEN on */
	uint32_t provider;           /* index into the patterns: explored now, or next */
	struct label_set inside;     /* labels that lay in the gap while they were explored */
	uint32_t over_budget;        /* tracepoints */
	struct object_times objects; /* of this cycle */
};

struct search_cycle {
	struct groups *groups; /* of its traces; NULL before the first one */
	uint64_t traces;
	struct mono begun, checked; /* checked: the last decision */
	struct mono ready;          /* traces that began later count */
	bool deadline_passed;       /* at the last decision */
};

struct final_edge {
	enum verdict_kind kind; /* that it is to end with */
	uint64_t wanted;        /* traces, while its interval holds 0 */
	bool again;             /* it is narrowed once more, if it has the problem */
	bool open;              /* its interval held 0 when it was measured last */
	bool patient;           /* it would be worth mending if it were sure */
	bool put_off;           /* its deadline was, as it was not sure: verdict_step() */
	bool look;              /* FINAL_LOOK: it is concluded with that ... */
	uint64_t
	    look_at; /* ... again with so many traces, since it was not clear; 0: it was not looked at */
};

/* Its first way was contradicted or hidden, and it narrows once more. */
struct second_way {
	bool begun;
	enum verdict_kind
	    kind;       /* of the edge that it begins with, if nothing smaller is found ... */
	struct gap gap; /* ... which is this */
};

/* What threads did in the edge, below its tracepoints: see search_below.h. */
enum below_progress { BELOW_NOT_BEGUN, BELOW_AHEAD, BELOW_GATHERING, BELOW_DONE };
struct below_search {
	enum below_progress state;
	struct gap gap;         /* the edge that it is about */
	enum verdict_kind kind; /* of the verdict that is to be made again ... */
	double share;           /* ... and its share; of a tail 0 */
	char service[LABEL_TEXT_MAX + 1];
	bool before;             /* the edge leads to the begin of a unit */
	bool looks;              /* it is asked for now */
	struct below_list *list; /* NULL: it was not asked for */
	struct mono asked;       /* when it was asked for */
	struct mono begun;       /* when it was asked for, or the first request counted */
	bool seen, timed; /* a record came; a request counted, and `begun` is when that was seen */
	int64_t
	    whole_ns; /* requests that began later are taken to have been looked at from their begin: the end of the first one with a record */
	uint32_t wanted;   /* requests after which it is looked at whether a state stands out */
	uint32_t clear_at; /* and whether one is clear */
	/* Why there is nothing, or what a node cannot say; "": there is all, or it was not to be. */
	char missing[BELOW_WHY_MAX + 1];
};

struct search_outcome {
	const struct verdict *verdict; /* the forest's; NULL: none yet, or none */
	enum reason reason;            /* why there is none */
	uint32_t label;                /* of the reason: a tracepoint; LABEL_NONE */
	/* The effect of the verdict in parts of what the edge that the search began with carries of type_variance.h, 0 to 1, as the
	 * verdict was made. 0: not known, or the effect does not rest on that. */
	double of_began;
};

struct function_search; /* see search_functions.h */

struct diagnosis;

struct search {
	uint32_t number; /* within the diagnosis, from 0 */
	struct diagnosis *diagnosis;
	enum search_phase phase;
	enum search_task task;
	struct search_origin origin;
	struct search_position at;
	struct search_sides sides;
	struct search_enabled enabled;
	struct search_budget budget;
	struct exploration exploration;
	struct layer_search layer;
	struct search_cycle cycle;
	struct final_edge final;
	/* Since when its verdict waits for other requests to be recorded, and when it is looked at again; 0: it does not wait. Known: they were when it
	 * was made. */
	struct mono company_asked, company_due;
	bool company_known;
	struct second_way second;
	struct below_search below;
	struct function_search
	    *functions; /* in functions_kept; NULL: functions were not looked at */
	struct arena functions_kept;
	const struct process_still *still; /* it is about a process that stands still; else NULL */
	struct search_outcome outcome;
	uint64_t skipped_lossy, skipped_incomplete; /* traces that are no evidence, of this cycle */
	struct rng rng;
};

/* ---- a diagnosis ---- */

/* WATCH: no search has begun. SWITCH, GATHER, PAUSED: the phase of the first search that goes on. */
enum phase { PHASE_WATCH, PHASE_SWITCH, PHASE_GATHER, PHASE_PAUSED, PHASE_ENDED };

struct watched;

/* Which requests are slow, where a tail is searched: see tail_target.h. */
struct tail_state {
	double quantile; /* 0: no tail is searched */
	double ns;       /* the response time at the quantile; 0: too few requests yet */
};

/* What it does about outliers that are too rare to cut: see captured.h. */
struct rare_state {
	bool asked;           /* for captures */
	int64_t over_ns;      /* from which response time on; 0: not known yet */
	struct hypothesis *h; /* that captured requests decided about; NULL: none */
	int64_t from_ns,
	    to_ns;       /* of these outliers, since the diagnosis began; below 0: before it */
	uint32_t n;      /* so many */
	uint32_t judged; /* outliers of which it was not sure, and waits for more; 0: none */
};

struct diagnosis {
	struct run *run;
	uint32_t type; /* label of its request_begin */
	const struct strategy *strategy;
	uint32_t k; /* cuts of a gap in one cycle */
	uint64_t seed;
	enum phase phase;
	struct mono begun, checked;
	struct mono stepped; /* the last step: traces come after it */
	struct mono ready;   /* traces count that began after this, by our clock */
	bool is_ready;
	bool
	    looks_on; /* all searches have ended, and it watches whether there is more: see worth.h */

	struct groups *groups; /* of all traces since it began, by always-on labels alone */
	struct sketch sketch;  /* response times of the type since it began */
	uint64_t traces, skipped_lossy;
	uint64_t incomplete[INCOMPLETES]; /* requests, by what was missing in their trace */
	uint32_t no_unit_label;           /* of the last fork without a unit; LABEL_NONE */
	struct presence presence;         /* of its problem */
	uint64_t usable;                  /* traces that are evidence, since it began */
	enum reason no_evidence;          /* why it gets nothing that it can use; NONE: it does */
	struct wait_list waits;
	struct path_parts parts; /* of its critical paths */
	struct process_still
	    still;          /* a process that stands still, when that was certain; stills 0: none */
	struct mono judged; /* when waits for threads were judged again */
	struct mono still_looked; /* when that was looked at */
	struct mono
	    pools_looked; /* when threads that requests wait for in many places were looked for */
	struct baseline *before; /* what it is compared with; NULL: nothing */
	struct arena kept;       /* has that */
	struct watched *watched; /* see watch.h */
	struct tail_state tail;
	struct rare_state rare;
	bool below; /* its searches go on below the tracepoints */

	struct search **searches; /* in the order of their making */
	uint32_t nsearches, searches_cap;
	uint32_t npicks;              /* tracepoints that the newest cycle enabled */
	struct label_set over_budget; /* labels whose measured cost was over the budget */
	/* A tracepoint in a loop was over it, or made an agent shed load: it may have slowed the requests, so what all varied by is not known. */
	bool disturbed;
};

/* Response times of all its groups, without excluded waits, in the arena. NULL: out of memory. O(groups). */
const struct sketch *diagnosis_times(const struct diagnosis *d, struct arena *a);

/* The search whose gap this one's is a part of, over all steps: it began with an edge between always-on labels, or inside one. The search itself, if there is none. O(searches). */
const struct search *search_outermost(const struct search *s);

/* For how long the final edge is measured at most while its interval holds 0: until NEXT_PLENTY requests of the search's
 * group (of an edge that would be worth mending: DECIDE_MANY) have come, at the rate of the diagnosis so far, or if that is longer, at the rate of those that count in this cycle: of sampled
 * requests only some pass the added tracepoints. At most FINAL_PATIENCE times cycle_max; 0 without such a group. O(1). */
int64_t search_patience_ns(const struct search_port *port, const struct search *s);
enum { FINAL_PATIENCE = 6 };

/* What its response times vary by as far as it is a problem: all requests since it began. O(groups). */
struct type_variance diagnosis_variance(const struct search_port *port, const struct diagnosis *d);

/* NULL: out of memory. It waits. seed: of its random generator. */
struct search *search_new(struct diagnosis *d, const struct gap *gap, struct hash128 group_id);
void search_free(struct search *s);        /* NULL is fine */
bool search_is_on(const struct search *s); /* has begun, and has not ended */

/* The only way to change these. The transition must be allowed (search_phase.h). */
void search_enter(struct search *s, enum search_phase phase);
void search_set_task(struct search *s, enum search_task task);

/* ERR_MEMORY, in the words that all of this room uses. */
int search_no_memory(const struct search *s, struct err *e);

/* What to measure, in the port's scratch arena, and what decide.h has to know. ERR_MEMORY. */
int search_measure_input(struct measure_input *ret, const struct search_port *port,
    const struct search *s, struct err *e);
struct decide_context search_decide_context(const struct search *s);
/* The variance, ns^2, of the response times of all requests of its group since the diagnosis began. 0: not known, or the search is not
 * for a variance, or tracepoints have disturbed them. Of a search that is made again DECIDE_AGAIN_TIMES that: requests that lack a part of the problem misled the first. */
double search_usual_variance(const struct search *s);

#endif
