/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/spans/segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/event.h"

#define TIME_MAX_NS (INT64_MAX / 4) /* of a place: room for sums and differences */

/* ---- parents ---- */

int
span_nodes_mend(struct span_node *nodes, uint32_t nnodes, struct err *e)
{
	uint32_t *walk = calloc(
	    nnodes > 0 ? nnodes : 1, sizeof *walk); /* number of the walk that came by; 0: none */

	if (walk == NULL)
		return err_set(e, ERR_MEMORY, "no memory for %u spans", nnodes);
	for (uint32_t i = 0; i < nnodes; i++)
		if (nodes[i].parent >= nnodes)
			nodes[i].parent = SPAN_NONE;
	for (uint32_t i = 0; i < nnodes; i++)
		for (uint32_t at = i; walk[at] == 0;) {
			walk[at] = i + 1;
			if (nodes[at].parent == SPAN_NONE)
				break;
			if (walk[nodes[at].parent] == i + 1)
				nodes[at].parent = SPAN_NONE;
			else
				at = nodes[at].parent;
		}
	free(walk);
	return 0;
}

/* ---- places ---- */

static int
by_span_first(const void *x, const void *y)
{
	const struct span_place *a = x, *b = y;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int
by_time_first(const void *x, const void *y)
{
	const struct span_place *a = x, *b = y;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->span > b->span) - (a->span < b->span);
}

static int
by_end_first(const void *x, const void *y)
{
	const struct span_place *const *a = x, *const *b = y;

	if ((*a)->to_ns != (*b)->to_ns)
		return (*a)->to_ns < (*b)->to_ns ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

/* Leaves out what is no place, joins places of one span on one thread that overlap or touch, and sorts by thread and begin. Returns how many
 * there are. */
static size_t
tidy(struct span_segments *s, uint32_t nnodes, struct span_place *p, size_t n)
{
	size_t kept = 0, joined = 0;

	for (size_t i = 0; i < n; i++)
		if (p[i].from_ns < p[i].to_ns && p[i].from_ns >= -TIME_MAX_NS &&
		    p[i].to_ns <= TIME_MAX_NS && p[i].span < nnodes && p[i].host < KERNEL_HOSTS_MAX)
			p[kept++] = p[i];
	s->ignored += n - kept;
	if (kept == 0)
		return 0;
	qsort(p, kept, sizeof *p, by_span_first);
	for (size_t i = 1; i < kept; i++) {
		struct span_place *last = &p[joined];

		if (p[i].host == last->host && p[i].tid == last->tid && p[i].span == last->span &&
		    p[i].from_ns <= last->to_ns) {
			if (p[i].to_ns > last->to_ns)
				last->to_ns = p[i].to_ns;
		} else {
			p[++joined] = p[i];
		}
	}
	qsort(p, joined + 1, sizeof *p, by_time_first);
	return joined + 1;
}

/* ---- the sweep over one thread ---- */

struct sweep_mark {         /* of a span, during the sweep */
	uint32_t position;  /* in `active` + 1; 0: it is not active */
	uint32_t reached;   /* from how many innermost spans */
	bool outer;         /* an active span is its descendant */
	int64_t crowded_ns; /* crowded time of the thread before it became active */
};

struct sweep {
	struct span_segments *out;
	const struct span_node *nodes;
	struct span_result *results;
	struct sweep_mark *marks; /* of all spans */
	uint32_t *active;
	uint32_t nactive, active_cap;
	int64_t crowded_ns;
	uint32_t *chain; /* room for SPAN_DEPTH_MAX + 1 */
	size_t bytes_max;
	struct span_thread *thread;
};

static bool
enter(struct sweep *w, uint32_t span)
{
	if (!array_reserve(w->active, w->active_cap, w->nactive + 1))
		return false;
	w->active[w->nactive++] = span;
	w->marks[span].position = w->nactive;
	w->marks[span].crowded_ns = w->crowded_ns;
	return true;
}

static void
leave(struct sweep *w, uint32_t span)
{
	struct sweep_mark *m = &w->marks[span];
	uint32_t last = w->active[--w->nactive];

	w->active[m->position - 1] = last;
	w->marks[last].position = m->position;
	m->position = 0;
	w->results[span].shared_ns += w->crowded_ns - m->crowded_ns;
}

/* The innermost span of which all innermost active ones are descendants, or which is the only one; SPAN_NONE. */
static uint32_t
owner_of(struct sweep *w)
{
	uint32_t innermost = 0, some = SPAN_NONE, depth;

	if (w->nactive == 1)
		return w->active[0];
	for (uint32_t i = 0; i < w->nactive; i++) {
		w->marks[w->active[i]].outer = false;
		w->marks[w->active[i]].reached = 0;
	}
	for (uint32_t i = 0; i < w->nactive; i++) {
		depth = 0;
		for (uint32_t p = w->nodes[w->active[i]].parent;
		     p != SPAN_NONE && depth < SPAN_DEPTH_MAX; p = w->nodes[p].parent, depth++)
			w->marks[p].outer = true;
	}
	for (uint32_t i = 0; i < w->nactive; i++) {
		if (w->marks[w->active[i]].outer)
			continue;
		innermost++;
		depth = 0;
		for (uint32_t p = some = w->active[i]; p != SPAN_NONE && depth <= SPAN_DEPTH_MAX;
		     p = w->nodes[p].parent, depth++)
			w->marks[p].reached++;
	}
	depth = 0;
	while (some != SPAN_NONE && depth++ <= SPAN_DEPTH_MAX &&
	       (w->marks[some].position == 0 || w->marks[some].reached < innermost))
		some = w->nodes[some].parent;
	return some != SPAN_NONE && w->marks[some].position > 0 ? some : SPAN_NONE;
}

/* The chosen spans among the owner and its active ancestors, into w->chain. */
static uint32_t
chain_of(struct sweep *w, uint32_t owner)
{
	uint32_t n = 0, depth = 0;

	for (uint32_t p = owner; p != SPAN_NONE && depth <= SPAN_DEPTH_MAX;
	     p = w->nodes[p].parent, depth++)
		if (w->marks[p].position > 0 && w->nodes[p].chosen)
			w->chain[n++] = p;
	return n;
}

static bool
is_in(const uint32_t *chain, uint32_t n, uint32_t span)
{
	while (n > 0 && chain[n - 1] != span)
		n--;
	return n > 0;
}

static size_t
bytes_of(const struct span_segments *s)
{
	return s->list_cap * sizeof *s->list + s->threads_cap * sizeof *s->threads +
	       s->chains_cap * sizeof *s->chains;
}

static int
emit(struct sweep *w, int64_t from_ns, int64_t to_ns, struct err *e)
{
	struct span_segments *s = w->out;
	struct span_segment *last = w->thread->nsegments > 0 ? &s->list[s->nlist - 1] : NULL;
	bool crowded = w->nactive > SPAN_ACTIVE_MAX;
	uint32_t n = crowded ? 0 : chain_of(w, owner_of(w));

	s->crowded += crowded;
	if (crowded)
		w->crowded_ns += to_ns - from_ns;
	for (uint32_t i = 0; !crowded && i < w->nactive; i++)
		if (!is_in(w->chain, n, w->active[i]))
			w->results[w->active[i]].shared_ns += to_ns - from_ns;
	if (last != NULL && last->to_ns == from_ns && last->chain == n &&
	    (n == 0 || memcmp(&s->chains[last->first], w->chain, n * sizeof *w->chain) == 0)) {
		last->to_ns = to_ns;
		return 0;
	}
	if (!array_reserve(s->list, s->list_cap, s->nlist + 1) ||
	    !array_reserve(s->chains, s->chains_cap, s->nchains + n))
		return err_set(e, ERR_MEMORY, "no memory for the times of spans");
	if (bytes_of(s) > w->bytes_max)
		return err_set(e, ERR_FULL, "the times of spans need more than the memory limit");
	if (n > 0)
		memcpy(&s->chains[s->nchains], w->chain, n * sizeof *w->chain);
	s->list[s->nlist++] = (struct span_segment){ from_ns, to_ns, s->nchains, n };
	s->nchains += n;
	w->thread->nsegments++;
	return 0;
}

/* All places of one thread, sorted by begin. */
static int
sweep_thread(struct sweep *w, const struct span_place *p, const struct span_place **ends, size_t n,
    struct err *e)
{
	size_t begun = 0, ended = 0;
	int64_t now;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		ends[i] = &p[i];
		w->results[p[i].span].active_ns += p[i].to_ns - p[i].from_ns;
	}
	qsort(ends, n, sizeof *ends, by_end_first);
	w->crowded_ns = 0;
	while (ended < n && rc == 0) {
		now = begun < n && p[begun].from_ns < ends[ended]->to_ns ? p[begun].from_ns
		                                                         : ends[ended]->to_ns;
		while (ended < n && ends[ended]->to_ns == now)
			leave(w, ends[ended++]->span);
		while (begun < n && p[begun].from_ns == now)
			if (!enter(w, p[begun++].span))
				return err_set(
				    e, ERR_MEMORY, "no memory for the spans of a thread");
		if (w->nactive > 0)
			rc = emit(w, now,
			    begun < n && p[begun].from_ns < ends[ended]->to_ns ? p[begun].from_ns
									       : ends[ended]->to_ns,
			    e);
	}
	return rc;
}

int
span_segments_make(struct span_segments *ret, const struct span_node *nodes, uint32_t nnodes,
    struct span_place *places, size_t nplaces, struct span_result *results, size_t bytes_max,
    struct err *e)
{
	struct sweep w = { .out = ret, .nodes = nodes, .results = results, .bytes_max = bytes_max };
	const struct span_place **ends;
	size_t n, to;
	int rc = 0;

	*ret = (struct span_segments){ 0 };
	n = tidy(ret, nnodes, places, nplaces);
	ends = calloc(n + 1, sizeof *ends);
	w.marks = calloc((size_t)nnodes + 1, sizeof *w.marks);
	w.chain = calloc(SPAN_DEPTH_MAX + 1, sizeof *w.chain);
	if (ends == NULL || w.marks == NULL || w.chain == NULL)
		rc = err_set(e, ERR_MEMORY, "no memory for %zu places of spans", n);
	for (size_t from = 0; from < n && rc == 0; from = to) {
		for (to = from + 1; to < n && places[to].host == places[from].host &&
				    places[to].tid == places[from].tid;)
			to++;
		if (!array_reserve(ret->threads, ret->threads_cap, ret->nthreads + 1)) {
			rc = err_set(e, ERR_MEMORY, "no memory for threads");
			break;
		}
		w.thread = &ret->threads[ret->nthreads++];
		*w.thread = (struct span_thread){ places[from].host, places[from].tid, ret->nlist,
			0 };
		rc = sweep_thread(&w, &places[from], ends, to - from, e);
	}
	free(ends);
	free(w.marks);
	free(w.chain);
	free(w.active);
	return rc;
}

void
span_segments_release(struct span_segments *s)
{
	free(s->list);
	free(s->threads);
	free(s->chains);
	*s = (struct span_segments){ 0 };
}
