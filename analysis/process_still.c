/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/process_still.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/thread_history_inside.h"

/* ---- stills ---- */

struct still {
	struct process_id process;
	int64_t begin_ns, end_ns;
};

struct still_input {
	const struct path_parts *parts;
	const struct past_event *threads, *processes; /* all events, in either order */
	uint32_t nevents;
	int64_t from_ns, to_ns; /* requests that begin and end in this time count */
};

static bool
is_examined(const struct still_input *in, const struct path_part *p)
{
	return p->between && p->begin_ns >= in->from_ns && p->end_ns <= in->to_ns;
}

/* The event's thread had nothing to do before: its last event ended a unit, and was not put there because this one seems to come before it. */
static bool
was_free(const struct still_input *in, const struct past_event *x)
{
	uint32_t i = past_first_from(in->threads, in->nevents, x, past_in_threads);
	const struct past_event *before = i > 0 ? &in->threads[i - 1] : NULL;

	return before != NULL && before->tid == x->tid && before->time_ns < x->time_ns &&
	       past_by_process(before->process, x->process) == 0 &&
	       (before->kind == RECORD_UNIT_END || before->kind == RECORD_REQUEST_END);
}

/* Events of the process in one wait that are looked at: in a longer one it works. */
/* JUDGED_MAX: processes; what one costs grows with the parts of all paths. */
enum { WAIT_EVENTS_MAX = 32, JUDGED_MAX = 64 };

/* The longest time of the wait in which its process recorded nothing, and a thread was free that took work then; and the process's gap between two
 * events around it. 0: there is none. */
static double
unexplained_ns(const struct still_input *in, const struct path_part *p, struct still *gap)
{
	const struct past_event key = { .time_ns = p->begin_ns, .process = p->process };
	uint32_t i = past_first_from(in->processes, in->nevents, &key, past_in_processes);
	double most_ns = 0;

	for (uint32_t k = 0; k < WAIT_EVENTS_MAX && i < in->nevents; k++, i++) {
		const struct past_event *x = &in->processes[i], *before = x - 1;
		double ns;

		if (x->time_ns > p->end_ns || past_by_process(x->process, p->process) != 0)
			break;
		if (i == 0 || past_by_process(before->process, p->process) != 0)
			continue;
		ns = (double)(x->time_ns -
			      (before->time_ns > p->begin_ns ? before->time_ns : p->begin_ns));
		if (ns > most_ns && was_free(in, x)) {
			most_ns = ns;
			*gap = (struct still){ p->process, before->time_ns, x->time_ns };
		}
	}
	return most_ns;
}

static int
by_number(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static int
by_process(const void *x, const void *y)
{
	const struct still *a = x, *b = y;
	int order = past_by_process(a->process, b->process);

	return order != 0 ? order : (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* Steps 1 and 2: all stills that are certain, by process and time, each once. */
static int
find_stills(struct still **ret, uint32_t *nret, const struct still_input *in, struct arena *a)
{
	uint32_t n = in->parts->nitems, nfree = 0, nstills = 0, kept = 0;
	double *all = arena_alloc(a, (n + 1) * sizeof *all),
	       *sorted = arena_alloc(a, (n + 1) * sizeof *sorted), least_ns;
	struct still *stills = arena_alloc(a, (n + 1) * sizeof *stills);

	if (all == NULL || sorted == NULL || stills == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		const struct path_part *p = path_parts_at(in->parts, i);

		all[i] = is_examined(in, p) ? unexplained_ns(in, p, &stills[i]) : 0;
		if (all[i] > 0)
			sorted[nfree++] = all[i];
	}
	*ret = stills;
	*nret = 0;
	if (nfree == 0)
		return 0;
	qsort(sorted, nfree, sizeof *sorted, by_number);
	least_ns = fmax(PROCESS_STILL_TIMES * sorted[nfree / 2], PROCESS_STILL_LEAST_NS);
	for (uint32_t i = 0; i < n; i++)
		if (all[i] >= least_ns)
			stills[nstills++] = stills[i];
	qsort(stills, nstills, sizeof *stills, by_process);
	for (uint32_t i = 0; i < nstills; i++)
		if (i == 0 || by_process(&stills[kept - 1], &stills[i]) != 0)
			stills[kept++] = stills[i];
	*nret = kept;
	return 0;
}

static int
by_length(const void *x, const void *y)
{
	const struct still *a = x, *b = y;
	int64_t its = a->end_ns - a->begin_ns, other = b->end_ns - b->begin_ns;

	return (its > other) - (its < other);
}

/* Their part of the time from the first to the last one. */
static double
still_part(const struct still *stills, uint32_t n)
{
	double sum_ns = 0;

	for (uint32_t i = 0; i < n; i++)
		sum_ns += (double)(stills[i].end_ns - stills[i].begin_ns);
	return n > 0 ? sum_ns / (double)(stills[n - 1].end_ns - stills[0].begin_ns) : 0;
}

static bool
is_one_work(const struct past_event *a, const struct past_event *b)
{
	return a->trace_id == b->trace_id && a->unit == b->unit && a->tid == b->tid;
}

/* Most of the time of these gaps lies between the same two events of a unit: it is that work. A process that is stopped is stopped anywhere. */
static bool
same_work(const struct past_event *events, uint32_t n, double least_ns)
{
	uint32_t most = 0;
	double lead_ns = 0, all_ns = 0, its_ns = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i < n; i++) {
			double ns = (double)(events[i].time_ns - events[i - 1].time_ns);
			bool work = is_one_work(&events[i - 1], &events[i]), same;

			if (ns < least_ns)
				continue;
			same = work && most > 0 && events[i].label == events[most].label &&
			       events[i - 1].label == events[most - 1].label;
			if (pass == 1) {
				all_ns += ns;
				its_ns += same ? ns : 0;
			} else if (same) {
				lead_ns += ns;
			} else if (lead_ns >= ns) {
				lead_ns -= ns;
			} else if (work) {
				lead_ns = ns - lead_ns;
				most = i;
			}
		}
	return its_ns > 0.5 * all_ns;
}

/* Step 4: all gaps of the process that are as long as half of the certain ones; *n becomes how many. NULL: no memory. */
static struct still *
all_gaps(const struct still_input *in, struct still *certain, uint32_t *n, struct arena *a)
{
	const struct past_event key = { .time_ns = INT64_MIN, .process = certain->process };
	uint32_t first = past_first_from(in->processes, in->nevents, &key, past_in_processes), end,
		 ngaps = 0;
	struct still *gaps;
	double least_ns;

	for (end = first; end < in->nevents &&
			  past_by_process(in->processes[end].process, certain->process) == 0;
	     end++)
		;
	if ((gaps = arena_alloc(a, (end - first + 1) * sizeof *gaps)) == NULL)
		return NULL;
	qsort(certain, *n, sizeof *certain, by_length);
	least_ns = (double)(certain[*n / 4].end_ns - certain[*n / 4].begin_ns);
	qsort(certain, *n, sizeof *certain, by_process);
	if (least_ns < PROCESS_STILL_USUAL *
			   (double)(in->processes[end - 1].time_ns - in->processes[first].time_ns) /
			   fmax(1, end - 1 - first))
		return certain;
	for (uint32_t i = first + 1; i < end; i++)
		if ((double)(in->processes[i].time_ns - in->processes[i - 1].time_ns) >= least_ns)
			gaps[ngaps++] = (struct still){ certain->process,
				in->processes[i - 1].time_ns, in->processes[i].time_ns };
	if (still_part(gaps, ngaps) > PROCESS_STILL_MOST ||
	    same_work(&in->processes[first], end - first, least_ns))
		return certain;
	*n = ngaps;
	return gaps;
}

/* Of the time of a part, that in which its process stood still. stills: of this process, by time. */
static double
still_time(const struct still *stills, uint32_t n, const struct path_part *p)
{
	uint32_t low = 0, high = n;
	double sum_ns = 0;

	if (past_by_process(stills->process, p->process) != 0)
		return 0;
	while (low < high) { /* the first that ends later than the part begins */
		uint32_t middle = low + (high - low) / 2;

		if (stills[middle].end_ns <= p->begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && stills[low].begin_ns < p->end_ns; low++) {
		int64_t from = stills[low].begin_ns > p->begin_ns ? stills[low].begin_ns
		                                                  : p->begin_ns,
			to = stills[low].end_ns < p->end_ns ? stills[low].end_ns : p->end_ns;

		sum_ns += to > from ? (double)(to - from) : 0;
	}
	return sum_ns;
}

/* ---- the share ---- */

struct stills { /* of one process, by time */
	const struct still *items;
	uint32_t n;
};

static double
lost_ns(const struct path_part *p, const void *of)
{
	const struct stills *s = of;

	return still_time(s->items, s->n, p);
}

/* Step 6. */
static void
share_of(struct process_still *ret, const struct still_input *in, const struct still *stills,
    uint32_t n, double confidence, struct path_request *r)
{
	const struct stills of = { stills, n };
	struct lost_share s;

	ret->requests = path_requests(r, in->parts, in->from_ns, in->to_ns, lost_ns, &of);
	s = path_requests_share(r, ret->requests, false, confidence);
	ret->share = s.share;
	ret->share_low = s.interval.low;
	ret->share_high = s.interval.high;
}

struct edge_time {
	uint32_t from, to, n;
	double still, all, still_still, still_all, all_all; /* sums over waits, and of products */
};

/* The edge in which requests waited for the process most while it stood still. */
static int
edge_of(struct process_still *ret, const struct still_input *in, const struct still *stills,
    uint32_t n, double confidence, struct arena *a)
{
	struct edge_time *edges = arena_calloc(a, in->parts->nitems + 1, sizeof *edges),
			 *most = edges;
	uint32_t nedges = 0;
	double deviation, error;

	if (edges == NULL)
		return ERR_MEMORY;
	ret->from = ret->to = LABEL_NONE;
	for (uint32_t i = 0; i < in->parts->nitems; i++) {
		const struct path_part *p = path_parts_at(in->parts, i);
		double all = (double)(p->end_ns - p->begin_ns), still;
		struct edge_time *x = edges;

		if (!is_examined(in, p) || past_by_process(p->process, stills->process) != 0)
			continue;
		while (x < edges + nedges && (x->from != p->from || x->to != p->to))
			x++;
		if (x == edges + nedges)
			edges[nedges++] = (struct edge_time){ .from = p->from, .to = p->to };
		still = still_time(stills, n, p);
		x->n++;
		x->still += still;
		x->all += all;
		x->still_still += still * still;
		x->still_all += still * all;
		x->all_all += all * all;
		most = x->still > most->still ? x : most;
	}
	if (nedges == 0 || most->all <= 0)
		return 0;
	ret->from = most->from;
	ret->to = most->to;
	ret->waits = most->n;
	ret->wait_share = most->still / most->all;
	deviation = most->still_still - 2 * ret->wait_share * most->still_all +
	            ret->wait_share * ret->wait_share * most->all_all;
	error = gsl_cdf_ugaussian_Pinv((1 + confidence) / 2) * sqrt(fmax(0, deviation)) / most->all;
	ret->wait_low = fmax(0, ret->wait_share - error);
	ret->wait_high = fmin(1, ret->wait_share + error);
	return 0;
}

static int
judge_process(struct process_still *ret, const struct still_input *in, struct still *certain,
    uint32_t n, double confidence, struct path_request *r, struct arena *a)
{
	struct process_still x = { .certain = n, .process = certain->process };
	struct still *stills = all_gaps(in, certain, &n, a);

	if (stills == NULL)
		return ERR_MEMORY;
	/* 5 */
	if (still_part(stills, n) > PROCESS_STILL_MOST)
		return 0;
	x.stills = n;
	x.period_ns = (double)(stills[n - 1].end_ns - stills[0].begin_ns) / n;
	x.still_ns = still_part(stills, n) * x.period_ns;
	share_of(&x, in, stills, n, confidence, r);
	if (ret->stills > 0 && x.share <= ret->share)
		return 0;
	*ret = x;
	return edge_of(ret, in, stills, n, confidence, a);
}

int
process_still_of(struct process_still *ret, const struct path_parts *parts,
    const struct thread_history *history, double confidence, struct arena *a, struct err *e)
{
	uint32_t n = history->nevents, nstills;
	struct past_event *threads = arena_alloc(a, (n + 1) * sizeof *threads),
			  *processes = arena_alloc(a, (n + 1) * sizeof *processes);
	struct path_request *r = arena_alloc(a, (parts->nitems + 1) * sizeof *r);
	struct still_input in = { parts, threads, processes, n, 0, 0 };
	struct still *stills;
	uint32_t judged = 0;
	int rc = 0;

	*ret = (struct process_still){ .from = LABEL_NONE, .to = LABEL_NONE };
	if (threads == NULL || processes == NULL || r == NULL)
		goto no_memory;
	/* 0 */
	if (n == 0 || parts->nitems == 0 || thread_history_is_partial(history))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		threads[i] = processes[i] = history->events[i];
	past_sort_by_thread(threads, n);
	qsort(processes, n, sizeof *processes, past_in_processes);
	path_parts_time(&in.from_ns, &in.to_ns, parts, history);
	if (find_stills(&stills, &nstills, &in, a) != 0)
		goto no_memory;
	for (uint32_t i = 0, end; i < nstills && rc == 0; i = end) {
		for (end = i + 1;
		     end < nstills && past_by_process(stills[end].process, stills[i].process) == 0;
		     end++)
			;
		/* 3 */
		if (end - i >= PROCESS_STILL_MIN && judged++ < JUDGED_MAX)
			rc = judge_process(ret, &in, &stills[i], end - i, confidence, r, a);
	}
	if (rc == 0)
		return 0;
no_memory:
	return err_set(e, ERR_MEMORY, "out of memory for processes that stand still");
}
