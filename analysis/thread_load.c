/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/thread_load.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/moments.h"
#include "analysis/thread_history_inside.h"

/* From this share of a thread's resumed units on, units take turns on it. */
static const double TURNS_MIN = 0.05;

double
thread_load_expected_ns(double threads, double utilisation, double service_ns, double service_cv)
{
	double exponent = sqrt(2 * (threads + 1)) - 1;

	assert(threads > 0);
	if (utilisation >= 1)
		return INFINITY;
	return pow(utilisation, exponent) / (threads * (1 - utilisation)) * service_ns *
	       (1 + service_cv * service_cv) / 2;
}

static bool
same_unit(const struct past_event *a, const struct past_event *b)
{
	return a->trace_id == b->trace_id && a->unit == b->unit;
}

/* x: the n events of one thread, in their order. */
static bool
units_take_turns(const struct past_event *x, uint32_t n)
{
	uint32_t begun = 0, resumed = 0;

	for (uint32_t i = 1; i < n; i++) {
		bool begins = x[i].kind == RECORD_UNIT_BEGIN || x[i].kind == RECORD_REQUEST_BEGIN;

		begun += begins;
		resumed += !begins && !same_unit(&x[i - 1], &x[i]);
	}
	return resumed >= TURNS_MIN * begun && resumed > 0;
}

struct thread_job {
	uint32_t label; /* that it begins with */
	double ns;
};
struct thread_jobs {
	struct thread_job *items; /* as many as there are events */
	uint32_t n;
	double joining_ns; /* of all of them, until joins */
};

static void
add_thread(struct thread_jobs *jobs, const struct past_event *x, uint32_t n)
{
	bool turns = units_take_turns(x, n);
	uint32_t label = n > 0 ? x[0].label : LABEL_NONE;
	double job_ns = 0;

	for (uint32_t i = 1; i <= n; i++) {
		/* 1 and 2 */
		if (i < n && same_unit(&x[i - 1], &x[i]) && !(turns && x[i].kind == RECORD_JOIN)) {
			double ns = (double)(x[i].time_ns - x[i - 1].time_ns);

			job_ns += ns;
			jobs->joining_ns += fmin(ns, (double)x[i].waits_ns); /* of joins */
			continue;
		}
		/* 3 */
		if (job_ns > 0)
			jobs->items[jobs->n++] = (struct thread_job){ label, job_ns };
		job_ns = 0;
		label = i < n ? x[i].label : LABEL_NONE;
	}
}

static int
by_label_and_time(const void *x, const void *y)
{
	const struct thread_job *a = x, *b = y;
	int order = past_compare(a->label, b->label);

	return order != 0 ? order : (a->ns > b->ns) - (a->ns < b->ns);
}

/* Whether few of these jobs, sorted by their time, are a little longer than their median, and more are much longer: some units are of another kind. Where
 * each takes another time, as in healthy applications, it is the other way round. */
static bool
are_apart(const struct thread_job *x, uint32_t n, double median)
{
	uint32_t between = 0, beyond = 0;

	for (uint32_t i = n; i-- > 0 && x[i].ns >= THREAD_JOB_BETWEEN * median;) {
		bool is_long = x[i].ns >= THREAD_JOB_LONG * median;

		beyond += is_long;
		between += !is_long;
	}
	return beyond > between;
}

/* Long jobs of those that begin with the same label get their median. */
static void
make_usual(struct thread_jobs *jobs)
{
	qsort(jobs->items, jobs->n, sizeof *jobs->items, by_label_and_time);
	for (uint32_t i = 0, end; i < jobs->n; i = end) {
		double median;

		for (end = i; end < jobs->n && jobs->items[end].label == jobs->items[i].label;
		     end++)
			;
		median = jobs->items[i + (end - i) / 2].ns;
		if (!are_apart(&jobs->items[i], end - i, median))
			continue;
		for (uint32_t k = i; k < end; k++)
			if (jobs->items[k].ns >= THREAD_JOB_LONG * median)
				jobs->items[k].ns = median;
	}
}

/* Returns the sum, ns. */
static double
measure_jobs(struct moments *ret, const struct thread_jobs *jobs)
{
	*ret = (struct moments){ 0 };
	for (uint32_t i = 0; i < jobs->n; i++)
		moments_add(ret, jobs->items[i].ns);
	return ret->mean * (double)ret->n;
}

static double
cv_of(const struct moments *m)
{
	return sqrt(moments_variance(m)) / m->mean;
}

static int
by_thread(const void *x, const void *y)
{
	const struct thread_wait *a = x, *b = y;
	int order = past_by_process(a->to, b->to);

	return order != 0 ? order : past_compare(a->tid, b->tid);
}

static int
wait_and_event(const void *wait, const void *event)
{
	const struct thread_wait *w = wait;
	const struct past_event *x = event;
	int order = past_by_process(w->to, x->process);

	return order != 0 ? order : past_compare(w->tid, x->tid);
}

static void
count_threads(struct thread_load *l, const struct thread_wait *sorted, uint32_t n)
{
	double least_ns = INFINITY, sum_ns = 0;

	for (uint32_t i = 0; i < n; i++) {
		double ns = (double)(sorted[i].end_ns - sorted[i].begin_ns);

		l->threads += i == 0 || by_thread(&sorted[i - 1], &sorted[i]) != 0;
		l->processes += i == 0 || past_by_process(sorted[i - 1].to, sorted[i].to) != 0;
		sum_ns += ns;
		least_ns = fmin(least_ns, ns);
	}
	l->wait_ns = sum_ns / n - least_ns;
}

/* Of the threads in `waits`, sorted; the events are sorted by thread. */
static void
add_threads(struct thread_load *l, struct thread_jobs *jobs, const struct past_event *events,
    uint32_t nevents, const struct thread_wait *waits, uint32_t nwaits)
{
	struct moments m;
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	double threads = (double)l->threads / l->processes, all_ns, held_ns;

	for (uint32_t i = 0, end; i < nevents; i = end) {
		for (end = i; end < nevents && events[end].tid == events[i].tid &&
			      past_by_process(events[end].process, events[i].process) == 0;
		     end++) {
			first_ns = events[end].time_ns < first_ns ? events[end].time_ns : first_ns;
			last_ns = events[end].time_ns > last_ns ? events[end].time_ns : last_ns;
		}
		for (uint32_t low = 0, high = nwaits; low < high;) {
			uint32_t middle = low + (high - low) / 2;
			int order = wait_and_event(&waits[middle], &events[i]);

			if (order == 0) {
				add_thread(jobs, &events[i], end - i);
				break;
			}
			low = order < 0 ? middle + 1 : low;
			high = order > 0 ? middle : high;
		}
	}
	if (jobs->n == 0)
		return;
	all_ns = (double)(last_ns - first_ns) * l->threads;
	l->jobs = jobs->n;
	held_ns = measure_jobs(&m, jobs);
	l->utilisation = fmin(1, held_ns / all_ns);
	l->joining = held_ns > 0 ? jobs->joining_ns / held_ns : 0;
	l->service_ns = m.mean;
	l->service_cv = cv_of(&m);
	l->expected_ns = thread_load_expected_ns(
	    threads, l->utilisation, l->service_ns, l->service_cv);
	make_usual(jobs);
	l->usual_utilisation = fmin(1, measure_jobs(&m, jobs) / all_ns);
	l->usual_expected_ns = thread_load_expected_ns(
	    threads, l->usual_utilisation, m.mean, cv_of(&m));
}

int
thread_load_of(struct thread_load *ret, const struct thread_history *h,
    const struct thread_wait *waits, uint32_t nwaits, struct arena *a, struct err *e)
{
	struct thread_load l = { 0 };
	struct past_event *events = arena_alloc(a, (h->nevents + 1) * sizeof *events);
	struct thread_wait *sorted = arena_alloc(a, (nwaits + 1) * sizeof *sorted);
	struct thread_jobs jobs = { arena_alloc(a, (h->nevents + 1) * sizeof *jobs.items), 0, 0 };

	*ret = l;
	if (events == NULL || sorted == NULL || jobs.items == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the load of threads");
	if (nwaits == 0)
		return 0;
	for (uint32_t i = 0; i < h->nevents; i++)
		events[i] = h->events[i];
	for (uint32_t i = 0; i < nwaits; i++)
		sorted[i] = waits[i];
	past_sort_by_thread(events, h->nevents);
	qsort(sorted, nwaits, sizeof *sorted, by_thread);
	count_threads(&l, sorted, nwaits);
	add_threads(&l, &jobs, events, h->nevents, sorted, nwaits);
	if (l.jobs > 0)
		*ret = l;
	return 0;
}
