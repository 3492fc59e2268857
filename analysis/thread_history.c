/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/thread_history.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/thread_history_inside.h"
#include "base/array.h"

struct thread_history *
thread_history_new(uint32_t events_max)
{
	struct thread_history *h = calloc(1, sizeof *h);

	assert(events_max > 0);
	if (h != NULL)
		h->events_max = events_max;
	return h;
}

void
thread_history_free(struct thread_history *h)
{
	if (h != NULL)
		free(h->events);
	free(h);
}

struct forked_units { /* of a trace, that have one link */
	uint64_t link_id;
	int64_t end_ns; /* the last event of all of them */
};

static int
by_link(const void *x, const void *y)
{
	const struct forked_units *a = x, *b = y;

	return past_compare(a->link_id, b->link_id);
}

/* The units that were forked, by their links, one element for each link, in malloc()ed memory; *n: how many. NULL: no
 * memory. */
static struct forked_units *
forked_units(const struct trace *t, uint32_t *n)
{
	struct forked_units *ret = reallocarray(NULL, t->nunits + 1, sizeof *ret);
	uint32_t all = 0;

	for (uint32_t i = 0; i < t->nunits && ret != NULL; i++) {
		const struct unit *u = &t->units[i];

		if (u->fork < t->nevents && u->count > 0)
			ret[all++] = (struct forked_units){ t->events[u->fork].link_id,
				t->events[u->first + u->count - 1].time_ns };
	}
	*n = 0;
	if (ret == NULL)
		return NULL;
	qsort(ret, all, sizeof *ret, by_link);
	for (uint32_t i = 0; i < all; i++)
		if (*n == 0 || ret[*n - 1].link_id != ret[i].link_id)
			ret[(*n)++] = ret[i];
		else if (ret[*n - 1].end_ns < ret[i].end_ns)
			ret[*n - 1].end_ns = ret[i].end_ns;
	return ret;
}

/* How long the unit waits at this join after its event at since_ns, for the unit that ends last of those with its link. */
static int64_t
joined_wait_ns(
    const struct event *join, int64_t since_ns, const struct forked_units *units, uint32_t n)
{
	const struct forked_units key = { .link_id = join->link_id },
				  *found = bsearch(&key, units, n, sizeof *units, by_link);
	int64_t end_ns = join->time_ns;

	if (found == NULL)
		return join->time_ns - since_ns;
	if (found->end_ns < end_ns)
		end_ns = found->end_ns;
	return end_ns > since_ns ? end_ns - since_ns : 0;
}

int
thread_history_add(
    struct thread_history *h, const struct trace *t, const struct labels *labels, struct err *e)
{
	const uint8_t *const *kinds = labels_kinds(labels);
	uint32_t nforked;
	struct forked_units *forked = forked_units(t, &nforked);
	const struct event *last = NULL; /* that was kept */
	bool kept = forked != NULL;

	for (uint32_t i = 0; i < t->nevents && kept; i++) {
		const struct event *x = &t->events[i];
		struct past_event *to;

		if (kind_in(kinds, x->label) & KIND_SILENT)
			continue;
		to = array_newest(h->events, h->events_cap, h->nevents, h->next, h->events_max);
		if (to == NULL) {
			kept = false;
			continue;
		}
		*to = (struct past_event){ .time_ns = x->time_ns,
			.trace_id = t->id,
			.arrival = h->arrivals++,
			.process = { x->node, x->pid },
			.tid = x->tid,
			.label = x->label,
			.unit = x->unit,
			.type = t->type,
			.unit_begin = t->events[t->units[x->unit].first].label,
			.kind = kind_in(kinds, x->label) };
		if (to->kind == RECORD_JOIN && last != NULL && last->unit == x->unit)
			to->waits_ns = joined_wait_ns(x, last->time_ns, forked, nforked);
		last = x;
	}
	free(forked);
	return kept ? 0 : err_set(e, ERR_MEMORY, "out of memory for the history of threads");
}

void
thread_history_partial(struct thread_history *h)
{
	h->partial = h->arrivals;
}

bool
thread_history_is_partial(const struct thread_history *h)
{
	return thread_history_reaches(h, h->partial);
}

uint64_t
thread_history_arrivals(const struct thread_history *h)
{
	return h->arrivals;
}

bool
thread_history_reaches(const struct thread_history *h, uint64_t arrivals)
{
	return arrivals > h->arrivals - h->nevents;
}

void
thread_history_clear(struct thread_history *h)
{
	h->nevents = h->next = 0;
}

/* ---- order ---- */

static bool
is_of_same_unit(const struct past_event *a, const struct past_event *b)
{
	return a->trace_id == b->trace_id && a->unit == b->unit;
}

static bool
begins_unit(const struct past_event *x)
{
	return x->kind == RECORD_UNIT_BEGIN || x->kind == RECORD_REQUEST_BEGIN;
}

/* Where the unit that ends at event i has to end: before the next one on the thread that seems to have begun by then. i: nowhere else. */
static uint32_t
hand_over(const struct past_event *events, uint32_t i)
{
	const struct past_event *end = &events[i];
	uint32_t at = i;

	while (at > 0 && i - at < PAST_HAND_OVER_EVENTS &&
	       past_by_process(events[at - 1].process, end->process) == 0 &&
	       events[at - 1].tid == end->tid && !is_of_same_unit(&events[at - 1], end) &&
	       is_of_same_unit(&events[at - 1], &events[i - 1]) &&
	       end->time_ns - events[at - 1].time_ns <= PAST_HAND_OVER_NS)
		at--;
	return at < i && begins_unit(&events[at]) ? at : i;
}

void
past_sort_by_thread(struct past_event *events, uint32_t n)
{
	qsort(events, n, sizeof *events, past_in_threads);
	for (uint32_t i = 1; i < n; i++) {
		struct past_event x = events[i];
		uint32_t at = i;

		if (x.kind == RECORD_UNIT_END || x.kind == RECORD_REQUEST_END)
			at = hand_over(events, i);
		if (at == i)
			continue;
		x.time_ns = events[at].time_ns;
		memmove(&events[at + 1], &events[at], (i - at) * sizeof *events);
		events[at] = x;
	}
}

uint32_t
past_first_from(const struct past_event *events, uint32_t n, const struct past_event *key,
    int (*order)(const void *, const void *))
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (order(&events[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- sums over waits ---- */

struct ratio { /* of a cause's time to the waiting time */
	uint32_t n;
	double own, all, own_own, own_all, all_all; /* sums, and sums of products */
};

static void
ratio_add(struct ratio *r, double own, double all)
{
	r->n++;
	r->own += own;
	r->all += all;
	r->own_own += own * own;
	r->own_all += own * all;
	r->all_all += all * all;
}

static void
ratio_set(struct wait_finding *f, const struct ratio *r, double confidence)
{
	double n = r->n, share = r->own / r->all,
	       deviation = r->own_own - 2 * share * r->own_all + share * share * r->all_all,
	       error = sqrt(fmax(0, deviation) * n / (n - 1)) / r->all,
	       z = gsl_cdf_ugaussian_Pinv((1 + confidence) / 2);

	f->share = share;
	f->share_low = fmax(0, share - z * error);
	f->share_high = fmin(1, share + z * error);
}

static double
overlap_ns(const struct thread_wait *w, int64_t begin_ns, int64_t end_ns)
{
	int64_t from = begin_ns > w->begin_ns ? begin_ns : w->begin_ns,
		to = end_ns < w->end_ns ? end_ns : w->end_ns;

	return to > from ? (double)(to - from) : 0;
}

/* ---- the thread's work ---- */

struct thread_work {
	uint32_t type, unit_begin;
	uint32_t from, to; /* labels of two successive events; LABEL_NONE: of the whole unit */
	double now_ns;     /* of the present wait */
	struct ratio ratio;
};

/* Kinds of work that are told apart; the time of further ones is not summed. */
enum { WORKS_MAX = 64 };

struct thread_works {
	uint32_t n;
	struct thread_work of[WORKS_MAX];
};

static void
works_add(struct thread_works *w, const struct thread_work *add)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct thread_work *x = &w->of[i];

		if (x->type == add->type && x->unit_begin == add->unit_begin &&
		    x->from == add->from && x->to == add->to) {
			x->now_ns += add->now_ns;
			return;
		}
	}
	if (w->n < WORKS_MAX)
		w->of[w->n++] = *add;
}

/* The end of a wait of all_ns. `waiting`: the waits before this one; they count for a kind of work
 * that is new with 0. */
static void
works_end_wait(struct thread_works *w, const struct ratio *waiting, double all_ns)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct thread_work *x = &w->of[i];

		if (x->ratio.n == 0)
			x->ratio = *waiting;
		ratio_add(&x->ratio, x->now_ns, all_ns);
		x->now_ns = 0;
	}
}

/* NULL: there is none. */
static const struct thread_work *
works_top(const struct thread_works *w)
{
	const struct thread_work *top = NULL;

	for (uint32_t i = 0; i < w->n; i++)
		if (top == NULL || w->of[i].ratio.own > top->ratio.own)
			top = &w->of[i];
	return top;
}

/* ---- what happened in a wait ---- */

struct sorted {
	const struct past_event *threads, *processes; /* all events, in either order */
	uint32_t n;
};

static bool
same_thread(const struct past_event *x, const struct thread_wait *w)
{
	return past_by_process(x->process, w->to) == 0 && x->tid == w->tid;
}

/* The time between these successive events of the thread belongs to a unit of another request, or to another one of the same. */
static bool
is_work(const struct past_event *a, const struct past_event *b, const struct thread_wait *w)
{
	return same_thread(a, w) && same_thread(b, w) && a->trace_id == b->trace_id &&
	       a->unit == b->unit && b->kind != RECORD_JOIN &&
	       (w->own ? a->trace_id == w->trace_id && a->unit != w->unit
		       : a->trace_id != w->trace_id);
}

/* Adds what the thread did from begin_ns to end_ns; pairs: by successive events. */
static void
add_work(struct thread_works *works, const struct sorted *s, const struct thread_wait *w,
    int64_t begin_ns, int64_t end_ns, bool pairs)
{
	const struct past_event key = { .time_ns = begin_ns, .process = w->to, .tid = w->tid };
	const struct thread_wait part = { .begin_ns = begin_ns, .end_ns = end_ns };

	for (uint32_t i = past_first_from(s->threads, s->n, &key, past_in_threads);
	     i < s->n && same_thread(&s->threads[i], w); i++) {
		const struct past_event *a = &s->threads[i > 0 ? i - 1 : 0], *b = &s->threads[i];

		if (is_work(a, b, w))
			works_add(works, &(struct thread_work){ .type = a->type,
					     .unit_begin = a->unit_begin,
					     .from = pairs ? a->label : LABEL_NONE,
					     .to = pairs ? b->label : LABEL_NONE,
					     .now_ns = overlap_ns(&part, a->time_ns, b->time_ns) });
		if (b->time_ns >= end_ns)
			break;
	}
}

/* How many units the process begins in a nanosecond, over all of its events from `first` on. */
static double
begin_rate(const struct sorted *s, uint32_t first)
{
	const struct past_event *p = s->processes;
	uint32_t begins = 0, last = first;

	for (uint32_t i = first; i < s->n && past_by_process(p[i].process, p[first].process) == 0;
	     i++) {
		begins += p[i].kind == RECORD_REQUEST_BEGIN || p[i].kind == RECORD_UNIT_BEGIN;
		last = i;
	}
	return p[last].time_ns > p[first].time_ns
	           ? begins / (double)(p[last].time_ns - p[first].time_ns)
	           : 0;
}

struct process {
	struct process_id id;
	uint32_t first; /* of its events; n: it has none */
	double rate;    /* begin_rate() */
};

/* Processes that waits are between; those of further ones are not looked at. */
enum { PROCESSES_MAX = 64 };

struct processes {
	uint32_t n;
	struct process of[PROCESSES_MAX];
};

/* NULL: it has no event, or there are too many processes. */
static const struct process *
process_of(struct processes *ps, const struct sorted *s, struct process_id id)
{
	const struct past_event key = { .time_ns = INT64_MIN, .process = id };
	struct process *p = ps->of;

	while (p < ps->of + ps->n && past_by_process(p->id, id) != 0)
		p++;
	if (p == ps->of + ps->n) {
		if (ps->n == PROCESSES_MAX)
			return NULL;
		*p = (struct process){ .id = id };
		p->first = past_first_from(s->processes, s->n, &key, past_in_processes);
		if (p->first < s->n && past_by_process(s->processes[p->first].process, id) == 0)
			p->rate = begin_rate(s, p->first);
		else
			p->first = s->n;
		ps->n++;
	}
	return p->first < s->n ? p : NULL;
}

/* The time of the wait in which the process was silent. works: gets what the thread did in this
 * time, or NULL. */
static double
silent_ns(struct processes *ps, const struct sorted *s, const struct thread_wait *w,
    struct process_id id, struct thread_works *works)
{
	const struct past_event key = { .time_ns = w->begin_ns, .process = id };
	const struct process *p = process_of(ps, s, id);
	double sum_ns = 0;

	if (p == NULL)
		return 0;
	for (uint32_t i = past_first_from(s->processes, s->n, &key, past_in_processes);
	     i < s->n && past_by_process(s->processes[i].process, id) == 0; i++) {
		int64_t begin_ns = i > p->first ? s->processes[i - 1].time_ns : w->begin_ns,
			end_ns = s->processes[i].time_ns;

		if ((double)(end_ns - begin_ns) * p->rate >= THREAD_HISTORY_SILENT_MIN) {
			sum_ns += overlap_ns(w, begin_ns, end_ns);
			if (works != NULL)
				add_work(works, s, w,
				    begin_ns > w->begin_ns ? begin_ns : w->begin_ns,
				    end_ns < w->end_ns ? end_ns : w->end_ns, true);
		}
		if (end_ns >= w->end_ns)
			break;
	}
	return sum_ns;
}

/* ---- the cause ---- */

struct wait_sums {
	struct thread_works units;  /* what the threads did in the waits, by units */
	struct thread_works silent; /* ... while the process was silent, by successive events */
	struct processes processes;
	struct ratio waiting, still, from_still; /* waiting: with an own time of 0 */
};

static void
add_wait(struct wait_sums *sums, const struct sorted *s, const struct thread_wait *w)
{
	double all_ns = (double)(w->end_ns - w->begin_ns);

	add_work(&sums->units, s, w, w->begin_ns, w->end_ns, false);
	ratio_add(&sums->still, silent_ns(&sums->processes, s, w, w->to, &sums->silent), all_ns);
	ratio_add(&sums->from_still, silent_ns(&sums->processes, s, w, w->from, NULL), all_ns);
	works_end_wait(&sums->units, &sums->waiting, all_ns);
	works_end_wait(&sums->silent, &sums->waiting, all_ns);
	ratio_add(&sums->waiting, 0, all_ns);
}

static bool
is_named(const struct wait_finding *f)
{
	return f->share_low >= THREAD_HISTORY_SHARE_MIN;
}

static bool
stands_still(const struct wait_sums *sums)
{
	const struct thread_work *unit = works_top(&sums->units), *same = works_top(&sums->silent);

	return (unit == NULL || sums->still.own > unit->ratio.own) &&
	       (same == NULL || same->ratio.own < THREAD_HISTORY_SAME_WORK_MIN * sums->still.own);
}

static void
decide_cause(struct wait_finding *ret, const struct wait_sums *sums, double confidence)
{
	const struct thread_work *unit = works_top(&sums->units);
	struct wait_finding from = { 0 };

	if (stands_still(sums)) {
		ret->cause = WAIT_STILL;
		ratio_set(ret, &sums->still, confidence);
		ratio_set(&from, &sums->from_still, confidence);
		ret->from_too = is_named(&from);
	} else if (unit != NULL) {
		ret->cause = WAIT_OCCUPIED;
		ratio_set(ret, &unit->ratio, confidence);
		ret->type = unit->type;
		ret->unit = unit->unit_begin;
	}
}

int
thread_history_cause(struct wait_finding *ret, const struct thread_history *h,
    const struct thread_wait *waits, uint32_t nwaits, double confidence, struct arena *a,
    struct err *e)
{
	const struct wait_finding none = { .type = LABEL_NONE, .unit = LABEL_NONE };
	struct past_event *threads = arena_alloc(a, (h->nevents + 1) * sizeof *threads),
			  *processes = arena_alloc(a, (h->nevents + 1) * sizeof *processes);
	struct wait_sums *sums = arena_calloc(a, 1, sizeof *sums);
	const struct sorted s = { threads, processes, h->nevents };
	int64_t oldest_ns = INT64_MAX;

	*ret = none;
	if (threads == NULL || processes == NULL || sums == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the history of threads");
	for (uint32_t i = 0; i < h->nevents; i++) {
		threads[i] = processes[i] = h->events[i];
		oldest_ns = h->events[i].time_ns < oldest_ns ? h->events[i].time_ns : oldest_ns;
	}
	past_sort_by_thread(threads, h->nevents);
	qsort(processes, h->nevents, sizeof *processes, past_in_processes);
	/* 1, 2, 3 */
	for (uint32_t i = 0; i < nwaits; i++)
		if (waits[i].end_ns > waits[i].begin_ns && waits[i].begin_ns >= oldest_ns)
			add_wait(sums, &s, &waits[i]);
	/* 4, 5 */
	if (sums->waiting.n >= THREAD_HISTORY_WAITS_MIN)
		decide_cause(ret, sums, confidence);
	if (!is_named(ret))
		*ret = none;
	ret->waits = sums->waiting.n;
	return 0;
}
