/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/thread_delay.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/thread_history_inside.h"

struct trace_event {
	uint64_t trace_id;
	uint32_t at; /* its number in the events by thread */
};

struct thread_delay_events {
	const struct thread_history *history;
	const struct past_event *events; /* all, by thread */
	uint32_t nevents;
	const int64_t *
	    held_ns; /* [nevents + 1] how long units have the threads before so many of the events, pair by pair */
	const int64_t *
	    since_ns; /* [nevents] since when units have the thread without a break at this event */
	const struct trace_event *of_traces; /* [nevents] the same events, by trace */
};

struct delay_threads { /* that delay requests */
	const struct thread_delay_events *in;
	const struct thread_wait *threads; /* sorted, each once */
	uint32_t nthreads;
};

static int
by_thread(const void *x, const void *y)
{
	const struct thread_wait *a = x, *b = y;
	int order = past_by_process(a->to, b->to);

	return order != 0 ? order : past_compare(a->tid, b->tid);
}

static bool
same_thread(const struct past_event *x, struct process_id process, uint32_t tid)
{
	return past_by_process(x->process, process) == 0 && x->tid == tid;
}

enum holder {
	HOLDER_UNIT,    /* any but the unit that waits */
	HOLDER_REQUEST, /* another request */
	HOLDER_OWN      /* another unit of the same request */
};
struct time_part { /* of a thread, in which a unit waits for it */
	struct process_id process;
	uint32_t tid;
	int64_t begin_ns, end_ns;
	uint64_t trace_id;
	uint32_t unit;
	enum holder by;
};

/* Between the event before this one and this one a unit has the thread. */
static bool
is_held(const struct past_event *events, uint32_t i)
{
	const struct past_event *a = &events[i > 0 ? i - 1 : 0], *b = &events[i];

	return i > 0 && same_thread(a, b->process, b->tid) && a->trace_id == b->trace_id &&
	       a->unit == b->unit && b->kind != RECORD_JOIN;
}

/* How long of the part a unit has the thread between the event before this one and this one. */
static int64_t
held_before_ns(const struct thread_delay_events *in, uint32_t i, const struct time_part *p)
{
	int64_t from, to;

	if (i >= in->nevents || !same_thread(&in->events[i], p->process, p->tid) ||
	    !is_held(in->events, i))
		return 0;
	from = in->events[i - 1].time_ns > p->begin_ns ? in->events[i - 1].time_ns : p->begin_ns;
	to = in->events[i].time_ns < p->end_ns ? in->events[i].time_ns : p->end_ns;
	return to > from ? to - from : 0;
}

static int
by_trace(const void *x, const void *y)
{
	const struct trace_event *a = x, *b = y;
	int order = past_compare(a->trace_id, b->trace_id);

	return order != 0 ? order : past_compare(a->at, b->at);
}

/* Of the events by trace, the first one of this trace that is not before this event by thread. O(log n). */
static uint32_t
first_of_trace(const struct thread_delay_events *in, uint64_t trace_id, uint32_t at)
{
	const struct trace_event key = { trace_id, at };
	uint32_t low = 0, high = in->nevents;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (by_trace(&in->of_traces[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How long of the part units of its request have the thread, with its own unit or without; first and last: the events of the thread that end
 * what lies in the part. */
static int64_t
held_by_request_ns(const struct thread_delay_events *in, const struct time_part *p, uint32_t first,
    uint32_t last, bool unit, bool others)
{
	uint32_t low = first_of_trace(in, p->trace_id, first);
	int64_t sum_ns = 0;

	for (; low < in->nevents && in->of_traces[low].trace_id == p->trace_id &&
	       in->of_traces[low].at <= last;
	     low++) {
		uint32_t at = in->of_traces[low].at;

		if (in->events[at].unit == p->unit ? unit : others)
			sum_ns += held_before_ns(in, at, p);
	}
	return sum_ns;
}

/* The time of the part in which others hold the thread. O(log n) and the events of the request in it. */
static double
held_ns(const struct thread_delay_events *in, const struct time_part *p)
{
	const struct past_event begin = { .time_ns = p->begin_ns,
		.process = p->process,
		.tid = p->tid },
				end = {
					.time_ns = p->end_ns, .process = p->process, .tid = p->tid
				};
	uint32_t first = past_first_from(in->events, in->nevents, &begin, past_in_threads),
		 last = past_first_from(in->events, in->nevents, &end, past_in_threads);
	int64_t all_ns = held_before_ns(in, first, p);

	if (p->end_ns <= p->begin_ns)
		return 0;
	if (p->by == HOLDER_OWN)
		return (double)held_by_request_ns(in, p, first, last, false, true);
	if (last > first)
		all_ns += in->held_ns[last] - in->held_ns[first + 1] + held_before_ns(in, last, p);
	return (
	    double)(all_ns - held_by_request_ns(in, p, first, last, true, p->by == HOLDER_REQUEST));
}

/* Less than that between two units is no break: what a loop needs to get from one to the next. It is not a part of the time for which they had
 * the thread before it: a run that has once become long would then never end. */
enum { BREAK_NS = 50000 };

static bool
is_break(const struct past_event *a, const struct past_event *b)
{
	return b->time_ns - a->time_ns > BREAK_NS;
}

static bool
is_of_unit(const struct past_event *x, const struct time_part *p)
{
	return x->trace_id == p->trace_id && x->unit == p->unit;
}

/* The first event of the thread that is behind the part: its unit's own at its end, which may come after others of the same time. O(log n) and
 * the events of the request at that time. */
static uint32_t
end_of_part(const struct thread_delay_events *in, const struct time_part *p)
{
	const struct past_event from = { .time_ns = p->end_ns,
		.process = p->process,
		.tid = p->tid },
				to = { .time_ns = p->end_ns + 1,
					.process = p->process,
					.tid = p->tid };
	uint32_t first = past_first_from(in->events, in->nevents, &from, past_in_threads),
		 end = past_first_from(in->events, in->nevents, &to, past_in_threads);

	for (uint32_t i = first_of_trace(in, p->trace_id, first);
	     i < in->nevents && in->of_traces[i].trace_id == p->trace_id &&
	     in->of_traces[i].at < end;
	     i++)
		if (in->events[in->of_traces[i].at].unit == p->unit)
			return in->of_traces[i].at;
	return end;
}

/* For how long others have the thread in the part, without a break, before the unit goes on. The unit may hold it between the last
 * event of others and the end of the part, and pass added tracepoints there. O(log n) and the events of the request in it. */
static double
last_held_ns(const struct thread_delay_events *in, struct time_part p)
{
	uint32_t end = p.end_ns > p.begin_ns ? end_of_part(in, &p) : 0;
	const struct past_event *last;

	while (end > 0 && is_of_unit(&in->events[end - 1], &p) &&
	       same_thread(&in->events[end - 1], p.process, p.tid) &&
	       in->events[end - 1].time_ns > p.begin_ns)
		end--; /* its own in the part, of added tracepoints */
	last = end > 0 ? &in->events[end - 1] : NULL;
	if (last == NULL || !same_thread(last, p.process, p.tid) || last->time_ns <= p.begin_ns ||
	    is_of_unit(last, &p))
		return 0;
	p.end_ns = last->time_ns;
	if (p.begin_ns < in->since_ns[end - 1])
		p.begin_ns = in->since_ns[end - 1];
	return held_ns(in, &p);
}

/* 1 */
static double
lost_ns(const struct path_part *p, const void *of)
{
	const struct delay_threads *t = of;
	const struct thread_wait key = { .to = p->process, .tid = p->tid };

	if (bsearch(&key, t->threads, t->nthreads, sizeof key, by_thread) == NULL)
		return 0;
	return p->between ? (double)(p->end_ns - p->begin_ns)
	                  : last_held_ns(t->in, (struct time_part){ p->process, p->tid, p->begin_ns,
						    p->end_ns, p->trace_id, p->unit, HOLDER_UNIT });
}

int
thread_delay_sort(struct thread_delay_events **ret, const struct thread_history *h, struct arena *a,
    struct err *e)
{
	struct thread_delay_events *in = arena_alloc(a, sizeof *in);
	struct past_event *events = arena_alloc(a, (h->nevents + 1) * sizeof *events);
	struct trace_event *of_traces = arena_alloc(a, (h->nevents + 1) * sizeof *of_traces);
	int64_t *held = arena_alloc(a, (h->nevents + 1) * sizeof *held),
		*since = arena_alloc(a, (h->nevents + 1) * sizeof *since);

	if (in == NULL || events == NULL || of_traces == NULL || held == NULL || since == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the waits for threads");
	for (uint32_t i = 0; i < h->nevents; i++)
		events[i] = h->events[i];
	past_sort_by_thread(events, h->nevents);
	held[0] = 0;
	for (uint32_t i = 0; i < h->nevents; i++) {
		of_traces[i] = (struct trace_event){ events[i].trace_id, i };
		held[i + 1] = held[i];
		since[i] = events[i].time_ns;
		if (is_held(events, i))
			held[i + 1] += events[i].time_ns - events[i - 1].time_ns;
		if (i > 0 && same_thread(&events[i - 1], events[i].process, events[i].tid) &&
		    (is_held(events, i) || !is_break(&events[i - 1], &events[i])))
			since[i] = since[i - 1];
	}
	qsort(of_traces, h->nevents, sizeof *of_traces, by_trace);
	*in = (struct thread_delay_events){ h, events, h->nevents, held, since, of_traces };
	*ret = in;
	return 0;
}

/* The threads of these waits, each once. Returns how many. */
static uint32_t
sort_threads(struct thread_wait *ret, const struct thread_wait *waits, uint32_t nwaits)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nwaits; i++)
		ret[i] = waits[i];
	qsort(ret, nwaits, sizeof *ret, by_thread);
	for (uint32_t i = 0; i < nwaits; i++)
		if (i == 0 || by_thread(&ret[n - 1], &ret[i]) != 0)
			ret[n++] = ret[i];
	return n;
}

int
thread_delay_of(struct thread_delay *ret, const struct path_parts *parts,
    const struct thread_delay_events *events, const struct thread_wait *waits, uint32_t nwaits,
    double confidence, struct arena *a, struct err *e)
{
	struct path_request *r = arena_alloc(a, (parts->nitems + 1) * sizeof *r);
	struct thread_wait *threads = arena_alloc(a, (nwaits + 1) * sizeof *threads);
	struct delay_threads of = { .in = events, .threads = threads };
	struct lost_share s;
	int64_t from_ns, to_ns;
	double times;

	*ret = (struct thread_delay){ 0 };
	if (r == NULL || threads == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the waits for threads");
	if (nwaits == 0)
		return 0;
	of.nthreads = sort_threads(threads, waits, nwaits);
	path_parts_time(&from_ns, &to_ns, parts, events->history);
	ret->requests = path_requests(r, parts, from_ns, to_ns, lost_ns, &of);
	/* 2 */
	s = path_requests_share(r, ret->requests, true, confidence);
	/* 3 */
	times = fmin(1, fmax(0, s.slope));
	ret->share = times * s.share;
	ret->share_low = times * s.interval.low;
	ret->share_high = times * s.interval.high;
	return 0;
}

/* How many slices of time the requests, sorted by their begins, begin in. */
static uint32_t
count_slices(const struct path_request *r, uint32_t n)
{
	uint32_t slices = n > 0;

	for (uint32_t i = 1; i < n; i++)
		slices += r[i].begin_ns / PATH_SLICE_NS != r[i - 1].begin_ns / PATH_SLICE_NS;
	return slices;
}

int
thread_delay_explains(double *ret, const struct thread_delay_events *events,
    const struct thread_wait *waits, uint32_t nwaits, bool own, struct arena *a, struct err *e)
{
	struct path_request *r = arena_alloc(a, (nwaits + 1) * sizeof *r);
	const struct thread_history *history = events->history;
	struct lost_share s;
	uint32_t n = 0;
	int64_t oldest_ns = INT64_MAX;

	*ret = 0;
	if (r == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the waits for threads");
	for (uint32_t i = 0; i < history->nevents; i++)
		oldest_ns = history->events[i].time_ns < oldest_ns ? history->events[i].time_ns
		                                                   : oldest_ns;
	for (uint32_t i = 0; i < nwaits; i++) {
		const struct thread_wait *w = &waits[i];
		const struct time_part p = { w->to, w->tid, w->begin_ns, w->end_ns, w->trace_id,
			w->unit, own ? HOLDER_OWN : HOLDER_REQUEST };

		if (w->begin_ns >= oldest_ns)
			r[n++] = (struct path_request){ .begin_ns = w->begin_ns,
				.t = (double)(w->end_ns - w->begin_ns),
				.x = own ? held_ns(events, &p) : last_held_ns(events, p) };
	}
	if (n < THREAD_HISTORY_WAITS_MIN)
		return 0;
	/* 1 and 2 */
	s = path_requests_share(r, n, false, 0.95);
	if (count_slices(r, n) < THREAD_DELAY_SLICES_MIN)
		return 0;
	*ret = fmin(1, fmin(1, fmax(0, s.slope)) * fmax(0, s.interval.low));
	return 0;
}
