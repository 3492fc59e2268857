/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/states_of_trace.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/below_time.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "kernel/path.h"

struct thread_stay { /* of an operation on a thread */
	int64_t from_ns, to_ns;
	uint32_t node, tid;
};

enum { THREADS_OF_EACH = 4, CALLERS_MAX = 32, BEGINS_MAX = 16 }; /* that are looked at */

struct thread_list { /* of an operation */
	uint32_t node[THREADS_OF_EACH], tid[THREADS_OF_EACH], n;
};

struct called_unit {
	uint32_t operation;
	int64_t fork_ns, begin_ns, end_ns;
	int64_t join_ns;    /* when its caller had the answer; INT64_MIN: never */
	uint32_t node, tid; /* where it begins */
};

struct passed { /* an operation that ended while its caller did something else, and when */
	int64_t at_ns;
	uint32_t operation;
};

struct job { /* one trace */
	const struct trace *t;
	const struct labels *labels;
	const struct states_source *from;
	struct arena *a;
	struct err *e;
	struct below_records *records; /* without a graph */
	struct operations *o;
	uint32_t *unit_of; /* by operation */
	struct thread_list *threads;
	struct called_unit
	    *children;        /* by operation: children[first[i] .. first[i + 1]), by begin */
	uint32_t *first, low; /* low: of the operation that is looked at, those before have ended */
	struct map joins;     /* number of the call -> number of its last join + 1 */
	bool *has_piece;      /* by operation: of its caller's time */
	struct operation_piece *pieces;
	uint32_t npieces, cap;
};

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory");
}

/* ---- units as operations ---- */

/* "service name" of the first event whose label has a text. */
static int
name_of(struct operation *o, const struct job *j, const struct unit *u)
{
	const struct label *l = NULL;
	char *text;
	uint32_t len, word;
	const char *name;

	for (uint32_t i = u->first; i < u->first + u->count && l == NULL; i++)
		if (!labels_get(j->labels, j->t->events[i].label)->silent)
			l = labels_get(j->labels, j->t->events[i].label);
	if (l == NULL) {
		o->name = "";
		return 0;
	}
	name = l->name_len > 0 ? l->name : l->event;
	word = l->name_len > 0 ? l->name_len : l->event_len;
	len = l->service_len + 1 + word;
	if ((text = arena_alloc(j->a, (size_t)len + 1)) == NULL)
		return ERR_MEMORY;
	memcpy(text, l->text, l->service_len);
	text[l->service_len] = ' ';
	memcpy(text + l->service_len + 1, name, word);
	text[len] = '\0';
	o->name = text;
	o->name_len = len;
	return 0;
}

static void
list_threads(struct thread_list *l, const struct trace *t, const struct unit *u)
{
	for (uint32_t i = u->first; i < u->first + u->count && l->n < THREADS_OF_EACH; i++) {
		const struct event *ev = &t->events[i];

		if (l->n > 0 && l->tid[l->n - 1] == ev->tid && l->node[l->n - 1] == ev->node)
			continue;
		l->tid[l->n] = ev->tid;
		l->node[l->n++] = ev->node;
	}
}

/* Units that lead to the root by their forks, parents first. */
static int
list_operations(struct job *j)
{
	const struct trace *t = j->t;
	uint32_t *operation_of = arena_alloc(j->a, (size_t)t->nunits * sizeof *operation_of);
	uint32_t *next = arena_alloc(j->a, (size_t)t->nunits * sizeof *next);
	uint32_t *below = arena_alloc(j->a, (size_t)t->nunits * sizeof *below);
	struct operations *o = j->o;

	o->list = arena_calloc(j->a, t->nunits, sizeof *o->list);
	j->unit_of = arena_calloc(j->a, t->nunits, sizeof *j->unit_of);
	j->threads = arena_calloc(j->a, t->nunits, sizeof *j->threads);
	if (operation_of == NULL || next == NULL || below == NULL || o->list == NULL ||
	    j->unit_of == NULL || j->threads == NULL)
		return ERR_MEMORY;
	memset(below, 255, t->nunits * sizeof *below); /* TRACE_NONE: the end of a list */
	for (uint32_t u = t->nunits; u-- > 0;) {
		uint32_t parent;

		if (u == t->root || t->units[u].fork >= t->nevents || t->units[u].count == 0 ||
		    (parent = t->events[t->units[u].fork].unit) == u)
			continue;
		next[u] = below[parent];
		below[parent] = u;
	}
	j->unit_of[o->n++] = t->root;
	o->list[0].parent = OPERATION_NONE;
	for (uint32_t i = 0; i < o->n; i++)
		for (uint32_t u = below[j->unit_of[i]]; u != TRACE_NONE && o->n < t->nunits;
		     u = next[u]) {
			o->list[o->n].parent = i;
			j->unit_of[o->n++] = u;
		}
	for (uint32_t i = 0; i < o->n; i++) {
		const struct unit *u = &t->units[j->unit_of[i]];

		list_threads(&j->threads[i], t, u);
		o->list[i].begin_ns = t->events[u->first].time_ns;
		o->list[i].end_ns = t->events[u->first + u->count - 1].time_ns;
		if (name_of(&o->list[i], j, u) != 0)
			return ERR_MEMORY;
	}
	return 0;
}

static int
list_joins(struct job *j)
{
	const struct trace *t = j->t;

	if ((j->has_piece = arena_calloc(j->a, j->o->n, sizeof *j->has_piece)) == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < t->nevents; i++)
		if (t->events[i].link_id != 0 &&
		    labels_get(j->labels, t->events[i].label)->kind == RECORD_JOIN &&
		    !map_put(&j->joins, t->events[i].link_id, (void *)(uintptr_t)(i + 1)))
			return ERR_MEMORY;
	return 0;
}

static int64_t
join_of(const struct job *j, const struct unit *u)
{
	uintptr_t join = (uintptr_t)map_get(&j->joins, j->t->events[u->fork].link_id);

	return join != 0 ? j->t->events[join - 1].time_ns : INT64_MIN;
}

static int
by_begin(const void *x, const void *y)
{
	const struct called_unit *a = x, *b = y;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->operation < b->operation ? -1 : a->operation > b->operation;
}

/* Children are next to each other, since operations are listed breadth first. */
static int
list_children(struct job *j)
{
	struct operations *o = j->o;
	uint32_t at = 1;

	j->children = arena_calloc(j->a, o->n, sizeof *j->children);
	j->first = arena_calloc(j->a, (size_t)o->n + 1, sizeof *j->first);
	if (j->children == NULL || j->first == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < o->n; i++) {
		j->first[i] = at - 1;
		for (; at < o->n && o->list[at].parent == i; at++) {
			const struct unit *u = &j->t->units[j->unit_of[at]];
			const struct event *ev = &j->t->events[u->first];

			j->children[at - 1] = (struct called_unit){ at,
				j->t->events[u->fork].time_ns, o->list[at].begin_ns,
				o->list[at].end_ns, join_of(j, u), ev->node, ev->tid };
		}
		qsort(
		    j->children + j->first[i], at - 1 - j->first[i], sizeof *j->children, by_begin);
	}
	j->first[o->n] = at - 1;
	return 0;
}

/* ---- the pieces of an operation ---- */

static uint32_t
host_of(const struct states_source *from, uint32_t node)
{
	if (from->hosts == NULL)
		return node;
	return node < from->nhosts ? from->hosts[node] : UINT32_MAX;
}

static bool
add(struct job *j, int64_t from_ns, int64_t to_ns, uint8_t state, uint32_t within)
{
	struct operation_piece *last = j->npieces > 0 ? &j->pieces[j->npieces - 1] : NULL;

	if (from_ns >= to_ns)
		return true;
	if (within != OPERATION_NONE)
		j->has_piece[within] = true;
	if (last != NULL && last->to_ns == from_ns && last->state == state &&
	    last->within == within) {
		last->to_ns = to_ns;
		return true;
	}
	if (!array_reserve(j->pieces, j->cap, j->npieces + 1))
		return false;
	j->pieces[j->npieces++] = (struct operation_piece){ from_ns, to_ns, within, state };
	return true;
}

static bool
for_others(uint8_t state)
{
	return state == BELOW_NETWORK || state == BELOW_THREAD || state == BELOW_UNKNOWN;
}

/* Whether this thread is one of an operation that called this one. */
static bool
of_caller(const struct job *j, uint32_t operation, const struct kernel_thread *t)
{
	uint32_t o = j->o->list[operation].parent;

	for (uint32_t n = 0; o != OPERATION_NONE && n < CALLERS_MAX; n++, o = j->o->list[o].parent)
		for (uint32_t k = 0; k < j->threads[o].n; k++)
			if (j->threads[o].tid[k] == t->tid &&
			    host_of(j->from, j->threads[o].node[k]) == t->host)
				return true;
	return false;
}

/* The state of a wait of which the critical path has this segment. */
static uint8_t
followed(const struct job *j, uint32_t operation, uint8_t wait, const struct kernel_segment *s)
{
	if (s->depth == 0 || s->transfer || s->state == BELOW_RUNNING || for_others(s->state) ||
	    of_caller(j, operation, kernel_graph_thread(j->from->graph, s->thread)))
		return wait;
	return s->state;
}

/* A wait of which a part is the operation's own. */
struct own_wait {
	uint32_t thread;        /* KERNEL_THREAD_NONE: it cannot be followed */
	int64_t from_ns, to_ns; /* of the whole wait, as the graph has it */
	uint8_t state;
	bool
	    walked; /* the path is that of the whole wait: what ended it is known at its end only */
	struct kernel_path path;
};

static int
add_wait(struct job *j, uint32_t operation, struct own_wait *w, int64_t from_ns, int64_t to_ns)
{
	int64_t off = j->from->offset_ns, at = from_ns;
	bool ok = true;
	int rc = 0;

	if (!w->walked && w->thread != KERNEL_THREAD_NONE && w->state != BELOW_UNKNOWN)
		rc = kernel_path(&w->path, j->from->graph, w->thread, w->from_ns, w->to_ns, j->e);
	w->walked = true;
	if (rc == ERR_MEMORY)
		return rc;
	for (uint32_t i = 0; i < w->path.nsegments && ok && rc == 0; i++) {
		const struct kernel_segment *s = &w->path.segments[i];
		int64_t upto = s->to_ns - off < to_ns ? s->to_ns - off : to_ns;

		if (upto <= at)
			continue;
		ok = add(j, at, upto, followed(j, operation, w->state, s), OPERATION_NONE);
		at = upto;
	}
	return ok && add(j, at, to_ns, w->state, OPERATION_NONE) ? 0 : ERR_MEMORY;
}

/* Of the operations below, the one of which this time is: OPERATION_NONE, the unit's own. *until_ns: how long this is so. */
static uint32_t
child_at(struct job *j, uint32_t operation, const struct thread_stay *stay, uint8_t state,
    int64_t at_ns, int64_t *until_ns)
{
	uint32_t best = OPERATION_NONE;
	bool best_here = false;
	int64_t best_end_ns = 0;

	while (j->low < j->first[operation + 1] && j->children[j->low].end_ns <= at_ns)
		j->low++;
	for (uint32_t k = j->low; k < j->first[operation + 1]; k++) {
		const struct called_unit *c = &j->children[k];
		bool here = c->node == stay->node && c->tid == stay->tid;

		if (c->begin_ns > at_ns) {
			*until_ns = c->begin_ns < *until_ns ? c->begin_ns : *until_ns;
			break;
		}
		if (c->end_ns <= at_ns || (!here && !for_others(state)))
			continue;
		if (c->end_ns < *until_ns)
			*until_ns = c->end_ns;
		if (best == OPERATION_NONE || (here && !best_here) ||
		    (here == best_here && c->end_ns > best_end_ns)) {
			best = c->operation;
			best_here = here;
			best_end_ns = c->end_ns;
		}
	}
	return best;
}

/* The operation below that was called before this time and begins after it; NULL: none of the next ones. */
static const struct called_unit *
begins_next(const struct job *j, uint32_t operation, int64_t at_ns)
{
	for (uint32_t k = j->low, n = 0; k < j->first[operation + 1] && n < BEGINS_MAX; k++, n++)
		if (j->children[k].begin_ns > at_ns && j->children[k].fork_ns <= at_ns)
			return &j->children[k];
	return NULL;
}

/*
 * A wait from the call of an operation below until that begins: for the thread of that operation. If that one was ready, it was a wait for a
 * processor. Who wakes the waiting thread meanwhile says nothing of that: in an event loop it is another request.
 */
static int
add_wait_for_begin(
    struct job *j, const struct called_unit *c, uint8_t state, int64_t from_ns, int64_t until_ns)
{
	int64_t off = j->from->offset_ns, at = from_ns;
	const struct kernel_thread *t;
	uint32_t host, thread = KERNEL_THREAD_NONE;
	bool ok = true;

	host = host_of(j->from, c->node);
	if (host != UINT32_MAX && c->tid != 0)
		thread = kernel_graph_find(j->from->graph, host, c->tid, c->begin_ns + off);
	t = thread != KERNEL_THREAD_NONE ? kernel_graph_thread(j->from->graph, thread) : NULL;
	for (uint32_t i = t != NULL ? kernel_thread_at(t, at + off + 1) : 0;
	     t != NULL && i < t->nintervals && ok && at < until_ns; i++) {
		int64_t from = t->intervals[i].from_ns - off, to = t->intervals[i].to_ns - off;

		if (from >= until_ns)
			break;
		if (to <= at || t->intervals[i].state != BELOW_READY)
			continue;
		from = from > at ? from : at;
		to = to < until_ns ? to : until_ns;
		ok = add(j, at, from, state, OPERATION_NONE) &&
		     add(j, from, to, BELOW_READY, OPERATION_NONE);
		at = to;
	}
	return ok && add(j, at, until_ns, state, OPERATION_NONE) ? 0 : ERR_MEMORY;
}

/* Time in which the unit's thread was in one state. interval: of this thread; NULL: none is known. */
static int
add_state(struct job *j, uint32_t operation, const struct thread_stay *stay, uint32_t thread,
    const struct kernel_interval *interval, uint8_t state, int64_t from_ns, int64_t to_ns)
{
	struct own_wait w = { .thread = thread, .state = state };
	int rc = 0;

	if (interval != NULL) {
		w.from_ns = interval->from_ns;
		w.to_ns = interval->to_ns;
	}
	while (from_ns < to_ns && rc == 0) {
		int64_t until_ns = to_ns;
		uint32_t child = child_at(j, operation, stay, state, from_ns, &until_ns);
		const struct called_unit *next = begins_next(j, operation, from_ns);

		if (child != OPERATION_NONE)
			rc = add(j, from_ns, until_ns, BELOW_RUNNING, child) ? 0 : ERR_MEMORY;
		else if (for_others(state) && next != NULL && j->from->graph != NULL)
			rc = add_wait_for_begin(j, next, state, from_ns, until_ns);
		else if (for_others(state))
			rc = add_wait(j, operation, &w, from_ns, until_ns);
		else
			rc = add(j, from_ns, until_ns, state, OPERATION_NONE) ? 0 : ERR_MEMORY;
		from_ns = until_ns;
	}
	kernel_path_release(&w.path);
	return rc;
}

static int
add_stay_of_graph(struct job *j, uint32_t operation, const struct thread_stay *s)
{
	int64_t off = j->from->offset_ns, at = s->from_ns;
	uint32_t host = host_of(j->from, s->node), thread = KERNEL_THREAD_NONE;
	const struct kernel_thread *t = NULL;
	int rc = 0;

	if (host != UINT32_MAX && s->tid != 0)
		thread = kernel_graph_find(j->from->graph, host, s->tid, s->to_ns + off);
	if (thread != KERNEL_THREAD_NONE)
		t = kernel_graph_thread(j->from->graph, thread);
	for (uint32_t i = t != NULL ? kernel_thread_at(t, at + off + 1) : 0;
	     t != NULL && i < t->nintervals && rc == 0; i++) {
		int64_t from = t->intervals[i].from_ns - off, to = t->intervals[i].to_ns - off;

		if (from >= s->to_ns)
			break;
		if (from > at)
			rc = add_state(
			    j, operation, s, KERNEL_THREAD_NONE, NULL, BELOW_UNKNOWN, at, from);
		from = from > at ? from : at;
		to = to < s->to_ns ? to : s->to_ns;
		if (rc == 0)
			rc = add_state(j, operation, s, thread, &t->intervals[i],
			    t->intervals[i].state, from, to);
		at = to;
	}
	if (rc == 0 && at < s->to_ns)
		rc = add_state(
		    j, operation, s, KERNEL_THREAD_NONE, NULL, BELOW_UNKNOWN, at, s->to_ns);
	return rc;
}

static int
add_stay_of_records(struct job *j, uint32_t operation, const struct thread_stay *s)
{
	struct below_time time;
	int64_t at = s->from_ns;
	int rc = below_steps_of(
	    &time, j->records, j->unit_of[operation], s->from_ns, s->to_ns, j->a, j->e);

	for (uint32_t i = 0; rc == 0 && i < time.nparts; i++) {
		rc = add_state(j, operation, s, KERNEL_THREAD_NONE, NULL,
		    (uint8_t)time.parts[i].state, at, at + time.parts[i].ns);
		at += time.parts[i].ns;
	}
	return rc;
}

static int
by_time(const void *x, const void *y)
{
	const struct passed *a = x, *b = y;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->operation < b->operation ? -1 : a->operation > b->operation;
}

/* Of the operations below that were answered, those without a piece: their caller ran, or was ready, until they had ended. */
static uint32_t
list_passed(const struct job *j, uint32_t operation, struct passed *ret)
{
	const struct operation *o = &j->o->list[operation];
	uint32_t n = 0;

	for (uint32_t k = j->first[operation]; k < j->first[operation + 1]; k++) {
		const struct called_unit *c = &j->children[k];
		int64_t at_ns = c->end_ns < c->join_ns ? c->end_ns : c->join_ns;

		if (c->join_ns == INT64_MIN || j->has_piece[c->operation] || at_ns < o->begin_ns ||
		    at_ns > o->end_ns)
			continue;
		ret[n++] = (struct passed){ at_ns, c->operation };
	}
	qsort(ret, n, sizeof *ret, by_time);
	return n;
}

/* Gives these an empty piece each, so that what comes after them is told from what comes before. In the arena. */
static int
keep_pieces(struct job *j, uint32_t operation)
{
	struct operation *o = &j->o->list[operation];
	uint32_t below = j->first[operation + 1] - j->first[operation], npassed, at = 0, n = 0;
	struct passed *passed = arena_calloc(j->a, (size_t)below + 1, sizeof *passed);
	struct operation_piece *to;

	if (passed == NULL)
		return ERR_MEMORY;
	npassed = list_passed(j, operation, passed);
	if ((to = arena_calloc(j->a, (size_t)j->npieces + 2 * (size_t)npassed + 1, sizeof *to)) ==
	    NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < j->npieces; i++) {
		struct operation_piece p = j->pieces[i];

		for (; at < npassed && passed[at].at_ns < p.to_ns; at++) {
			int64_t here_ns = p.within == OPERATION_NONE && passed[at].at_ns > p.from_ns
			                      ? passed[at].at_ns
			                      : p.from_ns;

			if (here_ns > p.from_ns)
				to[n++] = (struct operation_piece){ p.from_ns, here_ns, p.within,
					p.state };
			p.from_ns = here_ns;
			to[n++] = (struct operation_piece){ here_ns, here_ns, passed[at].operation,
				BELOW_RUNNING };
		}
		to[n++] = p;
	}
	o->pieces = to;
	o->npieces = n;
	return 0;
}

/* The threads of a unit, one after the other: time between two events is of the thread of the later one. */
static int
add_operation(struct job *j, uint32_t operation)
{
	const struct unit *u = &j->t->units[j->unit_of[operation]];
	const struct event *ev = &j->t->events[u->first];
	int rc = 0;

	j->npieces = 0;
	j->low = j->first[operation];
	for (uint32_t i = 1, k; i < u->count && rc == 0; i = k) {
		struct thread_stay s = {
			.from_ns = ev[i - 1].time_ns, .node = ev[i].node, .tid = ev[i].tid
		};

		for (k = i + 1; k < u->count && ev[k].node == s.node && ev[k].tid == s.tid;)
			k++;
		s.to_ns = ev[k - 1].time_ns;
		if (s.from_ns < s.to_ns)
			rc = j->from->graph != NULL ? add_stay_of_graph(j, operation, &s)
			                            : add_stay_of_records(j, operation, &s);
	}
	return rc != 0 || j->npieces == 0 ? rc : keep_pieces(j, operation);
}

int
operations_of_trace(struct operations *ret, const struct trace *t, const struct labels *labels,
    const struct states_source *from, struct arena *a, struct err *e)
{
	struct job j = { .t = t, .labels = labels, .from = from, .a = a, .e = e, .o = ret };
	int rc = 0;

	*ret = (struct operations){ .id_high = t->id_high, .id = t->id };
	if (t->incomplete != INCOMPLETE_NONE || (t->lossy && from->graph == NULL) ||
	    t->root >= t->nunits || t->units[t->root].count == 0 || t->nunits > OPERATIONS_MAX)
		return 0;
	if (from->graph == NULL && (rc = below_records_of(&j.records, t, labels, a, e)) != 0)
		return rc;
	if (list_operations(&j) != 0 || list_joins(&j) != 0 || list_children(&j) != 0)
		rc = ERR_MEMORY;
	for (uint32_t i = 0; i < ret->n && rc == 0; i++)
		rc = add_operation(&j, i);
	free(j.pieces);
	map_release(&j.joins);
	if (rc != 0)
		ret->n = 0;
	return rc != 0 ? out_of_memory(e) : 0;
}
