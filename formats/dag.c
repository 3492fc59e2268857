/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *	unit of p     p1 p2 fork fork                      p2 precedes a1 and b1;
 *	unit of a       (begin a1 a2)                      b2 follows b1 and a2; a2 was later,
 *	unit of b            (begin b1)                      so a2 forks b2, which joins b1's unit
 *	unit of b2      a2 fork .. (begin join b2)
 */
#include <assert.h>
#include <string.h>

#include "formats/dag.h"
#include "base/hash.h"
#include "base/hash_table.h"

static int
no_memory(const struct dag *d, struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory for a graph of %u events", d->nevents);
}

/* Enters all events by id into the table. Events with a repeated id are left out. */
static bool
index_all(struct hash_table *by_id, struct dag *d, struct arena *a)
{
	if (!hash_table_in_arena(by_id, a, d->nevents))
		return false;
	for (uint32_t i = 0; i < d->nevents; i++) {
		bool is_new = hash_table_claim(by_id, hash_u64(d->events[i].id), i) == i;

		d->place[i] = is_new ? 0 : TRACE_NONE;
		d->duplicates += !is_new;
	}
	return true;
}

/* Resolves the predecessors of all events, each once. */
static bool
resolve(struct dag *d, struct arena *a)
{
	struct hash_table by_id;
	/* of each predecessor: the last event that named it, + 1 */
	uint32_t *seen = arena_calloc(a, d->nevents, sizeof *seen);
	uint64_t total = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nevents; i++)
		total += d->events[i].nbefore;
	d->preds = arena_alloc(a, (total + 1) * sizeof *d->preds);
	if (seen == NULL || d->preds == NULL || !index_all(&by_id, d, a))
		return false;
	for (uint32_t i = 0; i < d->nevents; i++) {
		const struct dag_event *v = &d->events[i];

		d->begins[i] = n;
		for (uint32_t k = 0; k < v->nbefore && d->place[i] != TRACE_NONE; k++) {
			uint32_t p = hash_table_find(&by_id, hash_u64(d->before[v->before + k]));

			d->missing += p == HASH_TABLE_NONE;
			d->selves += p == i;
			if (p == HASH_TABLE_NONE || p == i || seen[p] == i + 1)
				continue;
			seen[p] = i + 1;
			d->preds[n++] = p;
		}
	}
	d->begins[d->nevents] = n;
	return true;
}

static uint32_t
latest(const struct dag *d)
{
	uint32_t best = TRACE_NONE;

	for (uint32_t i = 0; i < d->nevents; i++)
		if (d->place[i] != TRACE_NONE &&
		    (best == TRACE_NONE || d->events[i].time_ns >= d->events[best].time_ns))
			best = i;
	return best;
}

struct dag_walk {
	uint32_t *stack; /* the path of open events, each a successor of the next */
	uint32_t *next;  /* of each event: index in `preds` of the predecessor to visit next */
	uint8_t *state;  /* of each event */
};

enum { UNSEEN, OPEN, ORDERED };

/*
 * Visits all predecessors of an event depth first and appends them in order. An edge to an open event
 * closes a cycle and is left out: in a walk that starts at the latest event this is mostly the edge
 * that leads forward in time.
 */
static void
order_from(struct dag *d, struct dag_walk *s, uint32_t start)
{
	uint32_t depth = 0;

	s->state[start] = OPEN;
	s->stack[depth++] = start;
	while (depth > 0) {
		uint32_t i = s->stack[depth - 1];
		uint32_t k = s->next[i]++, p;

		if (k == d->begins[i + 1]) {
			s->state[i] = ORDERED;
			d->place[i] = d->norder;
			d->order[d->norder++] = i;
			depth--;
			continue;
		}
		p = d->preds[k];
		if (s->state[p] == OPEN) {
			d->preds[k] = TRACE_NONE;
			d->cycles++;
		} else if (s->state[p] == UNSEEN) {
			s->state[p] = OPEN;
			s->stack[depth++] = p;
		}
	}
}

/* Finds the first and the last event, and counts the successors of each. */
static void
find_ends(struct dag *d)
{
	d->first = d->last = TRACE_NONE;
	for (uint32_t o = 0; o < d->norder; o++) {
		uint32_t i = d->order[o];
		int64_t t = d->events[i].time_ns;
		bool root = true;

		for (uint32_t k = d->begins[i]; k < d->begins[i + 1]; k++)
			if (d->preds[k] != TRACE_NONE) {
				root = false;
				d->nafter[d->preds[k]]++;
			}
		if (root && (d->first == TRACE_NONE || t < d->events[d->first].time_ns))
			d->first = i;
		if (d->last == TRACE_NONE || t >= d->events[d->last].time_ns)
			d->last = i;
	}
}

int
dag_order(struct dag *d, struct arena *a, struct err *e)
{
	size_t n = d->nevents;
	struct dag_walk s = { arena_alloc(a, n * sizeof *s.stack),
		arena_alloc(a, n * sizeof *s.next), arena_calloc(a, n, sizeof *s.state) };

	assert(n > 0 && d->events != NULL);
	d->begins = arena_alloc(a, (n + 1) * sizeof *d->begins);
	d->nafter = arena_calloc(a, n, sizeof *d->nafter);
	d->order = arena_alloc(a, n * sizeof *d->order);
	d->place = arena_alloc(a, n * sizeof *d->place);
	d->duplicates = d->missing = d->cycles = d->selves = 0;
	d->norder = 0;
	if (s.stack == NULL || s.next == NULL || s.state == NULL || d->begins == NULL ||
	    d->nafter == NULL || d->order == NULL || d->place == NULL || !resolve(d, a))
		return no_memory(d, e);
	memcpy(s.next, d->begins, n * sizeof *s.next);
	order_from(d, &s, latest(d));
	for (uint32_t i = d->nevents; i-- > 0;)
		if (d->place[i] != TRACE_NONE && s.state[i] == UNSEEN)
			order_from(d, &s, i);
	find_ends(d);
	return 0;
}

/* ---- the trace ---- */

struct dag_builder {
	const struct dag *d;
	struct trace *t;
	uint32_t *unit; /* of each event of the graph */
	/* of each unit: the event that forks it; TRACE_NONE: the begin of the request */
	uint32_t *fork_from;
	uint32_t *next; /* of each event: the one after it in its unit; TRACE_NONE */
	uint32_t *head; /* of each unit */
	/* of each event of the graph: the first unit that it forks, or TRACE_NONE */
	uint32_t *forks;
	uint32_t *more;   /* of each unit: the next unit that the same event forks */
	uint32_t further; /* the first unit without predecessors, except the root */
	uint32_t silent_begin, silent_fork, silent_join, begin, end;
};

/* The latest predecessor of an event; of equal times the later one in the order of the graph. */
static uint32_t
last_before(const struct dag *d, uint32_t i)
{
	uint32_t best = TRACE_NONE;

	for (uint32_t k = d->begins[i]; k < d->begins[i + 1]; k++) {
		uint32_t p = d->preds[k];

		if (p == TRACE_NONE)
			continue;
		if (best == TRACE_NONE || d->events[p].time_ns > d->events[best].time_ns ||
		    (d->events[p].time_ns == d->events[best].time_ns &&
			d->place[p] > d->place[best]))
			best = p;
	}
	return best;
}

static uint32_t
count_before(const struct dag *d, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = d->begins[i]; k < d->begins[i + 1]; k++)
		n += d->preds[k] != TRACE_NONE;
	return n;
}

static bool
allocate(struct dag_builder *m, struct arena *a)
{
	size_t n = m->d->nevents;

	m->unit = arena_alloc(a, n * sizeof *m->unit);
	m->fork_from = arena_alloc(a, n * sizeof *m->fork_from);
	m->next = arena_alloc(a, n * sizeof *m->next);
	m->head = arena_alloc(a, n * sizeof *m->head);
	m->forks = arena_alloc(a, n * sizeof *m->forks);
	m->more = arena_alloc(a, n * sizeof *m->more);
	return m->unit != NULL && m->fork_from != NULL && m->next != NULL && m->head != NULL &&
	       m->forks != NULL && m->more != NULL;
}

/* Opens a unit that begins with event i, forked by `from`. */
static void
open_unit(struct dag_builder *m, uint32_t i, uint32_t from)
{
	uint32_t u = m->t->nunits++;
	uint32_t *list = from != TRACE_NONE ? &m->forks[from] : &m->further;

	m->head[u] = i;
	m->unit[i] = u;
	m->fork_from[u] = from;
	if (i == m->d->first) {
		m->t->root = u;
		return;
	}
	m->more[u] = *list;
	*list = u;
}

/* Divides the events into units. Times within a unit do not decrease: an event that is earlier than
 * its predecessor (by another clock) begins a unit. */
static void
divide(struct dag_builder *m)
{
	const struct dag *d = m->d;

	m->further = TRACE_NONE;
	memset(m->next, 0xff, d->nevents * sizeof *m->next);
	memset(m->forks, 0xff, d->nevents * sizeof *m->forks);
	for (uint32_t o = 0; o < d->norder; o++) {
		uint32_t i = d->order[o], p = last_before(d, i);

		if (p != TRACE_NONE && d->nafter[p] == 1 && p != d->last &&
		    count_before(d, i) == 1 && d->events[i].time_ns >= d->events[p].time_ns) {
			m->next[p] = i;
			m->unit[i] = m->unit[p];
		} else {
			open_unit(m, i, p);
		}
	}
}

static uint64_t
link_of(uint32_t unit)
{
	return (uint64_t)unit + 1;
}

/* Appends a record with the node and thread of the graph's event `by`. */
static struct event *
put(struct dag_builder *m, uint32_t unit, uint32_t label, uint64_t link, int64_t time_ns,
    uint32_t by)
{
	const struct dag_event *v = &m->d->events[by];
	struct event *to = &m->t->events[m->t->nevents++];

	*to = (struct event){ .time_ns = time_ns,
		.link_id = link,
		.label = label,
		.unit = unit,
		.node = v->node,
		.pid = v->pid,
		.tid = v->tid };
	return to;
}

/* Appends the forks of a list of units. */
static void
put_forks(struct dag_builder *m, uint32_t unit, uint32_t list, uint32_t by)
{
	for (uint32_t u = list; u != TRACE_NONE; u = m->more[u]) {
		m->t->units[u].fork = m->t->nevents;
		put(m, unit, m->silent_fork, link_of(u), m->d->events[by].time_ns, by);
	}
}

/* Appends the begin of a unit and its joins. By other clocks its first event can be earlier than the
 * event that forks it; the begin is at the earlier of the two. */
static void
put_beginning(struct dag_builder *m, uint32_t u)
{
	const struct dag *d = m->d;
	uint32_t i = m->head[u], from = m->fork_from[u] != TRACE_NONE ? m->fork_from[u] : d->first;
	int64_t t = d->events[i].time_ns, from_ns = d->events[from].time_ns;

	if (u == m->t->root) {
		put(m, u, m->begin, 0, t, i);
		put_forks(m, u, m->further, i);
		return;
	}
	put(m, u, m->silent_begin, link_of(u), from_ns < t ? from_ns : t, i);
	for (uint32_t k = d->begins[i]; k < d->begins[i + 1]; k++) {
		uint32_t p = d->preds[k];

		if (p != TRACE_NONE && p != from &&
		    m->unit[p] != m->t->root) /* the root unit has no link id to join */
			put(m, u, m->silent_join, link_of(m->unit[p]), t, i);
	}
}

/* Copies values and their texts. */
static bool
copy_values(struct event *to, const struct dag_event *v, struct arena *a)
{
	struct value *copy;

	if (v->nvalues == 0)
		return true;
	if ((copy = arena_copy(a, v->values, v->nvalues * sizeof *copy)) == NULL)
		return false;
	for (uint32_t i = 0; i < v->nvalues; i++)
		if (copy[i].type == VALUE_TEXT &&
		    (copy[i].text = arena_text(a, copy[i].text, copy[i].len)) == NULL)
			return false;
	to->nvalues = v->nvalues;
	to->values = copy;
	return true;
}

static bool
put_unit(struct dag_builder *m, uint32_t u, struct arena *a)
{
	struct unit *unit = &m->t->units[u];

	unit->id = m->d->events[m->head[u]].id;
	unit->first = m->t->nevents;
	put_beginning(m, u);
	for (uint32_t i = m->head[u]; i != TRACE_NONE; i = m->next[i]) {
		const struct dag_event *v = &m->d->events[i];

		if (!copy_values(put(m, u, v->label, 0, v->time_ns, i), v, a))
			return false;
		put_forks(m, u, m->forks[i], i);
		if (i == m->d->last)
			put(m, u, m->end, 0, v->time_ns, i);
	}
	unit->count = m->t->nevents - unit->first;
	return true;
}

/* A bound: one record for each event, a begin and a fork for each unit, a join for each further
 * predecessor, and the begin and end of the request. */
static size_t
records_max(const struct dag *d)
{
	return 2 + 3 * (size_t)d->norder + d->begins[d->nevents];
}

int
dag_trace(struct trace **ret, const struct dag *d, struct trace_id id, uint32_t begin, uint32_t end,
    struct labels *labels, struct arena *a, struct err *e)
{
	struct dag_builder m = { .d = d,
		.begin = begin,
		.end = end,
		.silent_begin = labels_silent(labels, RECORD_UNIT_BEGIN),
		.silent_fork = labels_silent(labels, RECORD_FORK),
		.silent_join = labels_silent(labels, RECORD_JOIN) };
	struct arena own = { 0 };
	struct trace *t = m.t = arena_calloc(&own, 1, sizeof *t);
	bool ok = t != NULL && allocate(&m, a) && m.silent_begin != LABEL_NONE &&
	          m.silent_fork != LABEL_NONE && m.silent_join != LABEL_NONE;

	assert(d->norder > 0 && d->order != NULL);
	if (ok) {
		divide(&m);
		t->events = arena_alloc(&own, records_max(d) * sizeof *t->events);
		t->units = arena_alloc(&own, t->nunits * sizeof *t->units);
		ok = t->events != NULL && t->units != NULL;
	}
	if (ok)
		t->units[t->root].fork = TRACE_NONE;
	for (uint32_t u = 0; ok && u < t->nunits; u++)
		t->units[u].shared_ns = 0;
	for (uint32_t u = 0; ok && u < t->nunits; u++)
		ok = put_unit(&m, u, &own);
	if (!ok) {
		arena_release(&own);
		return no_memory(d, e);
	}
	t->id = id.low;
	t->id_high = id.high;
	t->type = begin;
	t->begin_ns = d->events[d->first].time_ns;
	t->end_ns = d->events[d->last].time_ns;
	t->lossy = d->missing > 0;
	t->arena = own;
	*ret = t;
	return 0;
}
