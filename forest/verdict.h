/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a search ended with: a place, and how sure that is. A run may have several
 * (several groups had problems of their own); none: not found. And the traces
 * that were its evidence.
 */
#ifndef FOREST_VERDICT_H
#define FOREST_VERDICT_H

#include "analysis/variance.h"
#include "base/clock.h"

enum verdict_kind {
#define VERDICT(name, number, word, help) VERDICT_##name = number,
#include "forest/verdicts.tbl.h"
#undef VERDICT
};

const char *verdict_word(enum verdict_kind k); /* "place"; "?" for none of them */

/* What takes the time of an edge that a tracepoint of the preload layer lies in. */
enum preload_kind {
#define PRELOAD(name, number, word, text) PRELOAD_##name = number,
#include "forest/preload.tbl.h"
#undef PRELOAD
};

const char *preload_word(
    enum preload_kind k); /* "mutex"; "" for PRELOAD_NONE; "?" for none of them */

struct verdict {
	uint64_t run, hypothesis; /* the hypothesis that ended the search: unique */
	uint32_t rank; /* in its run, from 1: the sure ones first, then by what the problem costs;
	                  final when the run has ended */
	enum verdict_kind kind;
	enum problem problem; /* UNPREDICTABLE or SLOW */
	char *from, *to;      /* labels: the edge */
	char *path;           /* of the group: labels and brackets of loops, one on each line */
	char *tracepoint;     /* SEPARATED: the label that tells slow from fast; else "" */
	char *text; /* the sentence that a Hone before schema 4 kept in place of the fields marked
	               [4]; else "" */
	uint64_t traces;   /* that it was measured with */
	double confidence; /* of all intervals here */
	double mean_ns, cv, share, share_low, share_high, latency_share;
	bool by_latency; /* [4] shares are of the mean response time; else of its variance */
	double effective_traces; /* [4] effective sample size: of the traces, so many as if they
	                            were independent; not a number: not known */
	/* [4] SEPARATED: share of the variance that lies between requests with the tracepoint and
	   without it, and whether those with it are the slow ones */
	double separation;
	bool slow_with;
	/* [4] The path passes this pair of labels `positions` times, the edge is the `position`-th
	   (from 1); loop_back: it is the way back of a loop. 0: not known. */
	uint32_t position, positions;
	bool loop_back;
	/* [4] Tracepoints of that service that were not seen while learning; 0 and "": none, or the
	   search has not come to its end. */
	uint32_t unlearned;
	char *unlearned_service;
	/* [4] Tracepoints that may lie inside the edge and are over the overhead budget: the
	   program's own, and those of the preload layer. */
	uint32_t over_budget, preload_over_budget;
	/* [4] Of the preload layer: what takes the time between two of the program's own labels,
	   the call, and of it the object (a lock's address) with its share of the call's time. */
	enum preload_kind preload;
	char *above_from, *above_to, *call, *object;
	double object_share;
	double probability; /* that the group is beyond its threshold; see variance.h */
	double cost_ns;
	/* what would be, were the edge always at its median; not a number: not known */
	double cv_now, cv_then, cv_then_low, cv_then_high;
	double p50_then_ns, p95_now_ns, p95_then_ns, p99_now_ns, p99_then_ns;
	char *key; /* "label.field" that explains; "" */
	double key_r, key_p;
	uint32_t key_n;
	struct trace_id slowest, fastest; /* exemplars; 0: none */
	int64_t slowest_ns, fastest_ns;
	struct wall when;
};

bool verdict_sure(const struct verdict
	*v); /* its edge has some of the problem: the share's interval lies above 0 */

/* Copies texts; false: out of memory (*to is then empty). Release frees texts. */
bool verdict_copy(struct verdict *to, const struct verdict *from);
void verdict_release(struct verdict *v);

/* A trace that a hypothesis was judged with. */
struct evidence {
	struct trace_id trace;
	uint64_t run, hypothesis;
	int64_t total_ns, edge_ns; /* response time; of that inside the hypothesis' edge */
};

#endif
