/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/trace_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"

struct added_event {
	struct event event; /* values in the new trace's arena */
	uint32_t order;
};

struct trace_merging {
	const struct trace *from;
	const int64_t *shift_ns;
	struct labels *labels;
	struct map units;  /* id -> number + 1 */
	struct map points; /* unit << 32 | label of the trace's own events */
	struct added_event *added;
	uint32_t nadded, cap;
	struct trace *to;
	struct trace_merge_counts *counts;
};

static uint64_t
point_of(uint32_t unit, uint32_t label)
{
	return (uint64_t)unit << 32 | label;
}

static bool
index_trace(struct trace_merging *m)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < m->from->nunits; i++)
		ok = map_put(&m->units, m->from->units[i].id, (void *)(uintptr_t)(i + 1));
	for (uint32_t i = 0; ok && i < m->from->nevents; i++)
		ok = map_put(
		    &m->points, point_of(m->from->events[i].unit, m->from->events[i].label), m);
	return ok;
}

/* Copies values, and their texts, into the new trace. False: out of memory. */
static bool
copy_values(struct arena *a, struct event *e, const struct value *from, uint32_t n)
{
	struct value *v = arena_alloc(a, n * sizeof *v);

	for (uint32_t i = 0; v != NULL && i < n; i++) {
		v[i] = from[i];
		if (v[i].type == VALUE_TEXT &&
		    (v[i].text = arena_text(a, from[i].text, from[i].len)) == NULL)
			return false;
	}
	e->values = v;
	e->nvalues = n;
	return v != NULL;
}

/* The values of a record in the order of the label's fields, which may be another one in another program. */
static bool
pick_values(struct arena *a, struct event *e, const struct label *l,
    const struct batch_label *there, const struct record *r)
{
	struct value picked[RECORD_VALUES_MAX];
	uint32_t n = l->nfields < RECORD_VALUES_MAX ? l->nfields : RECORD_VALUES_MAX;

	for (uint32_t i = 0; i < n; i++) {
		picked[i] = (struct value){ .type = VALUE_NONE };
		for (uint32_t k = 0; k < there->nfields && k < r->nvalues; k++)
			if (strcmp(l->fields[i], there->fields[k]) == 0) {
				picked[i] = r->values[k];
				break;
			}
	}
	return copy_values(a, e, picked, n);
}

/* The record's time, within the first and the last event of its unit. */
static int64_t
time_in_unit(struct trace_merging *m, uint32_t unit, int64_t time_ns)
{
	const struct unit *u = &m->from->units[unit];
	int64_t first = m->from->events[u->first].time_ns,
		last = m->from->events[u->first + u->count - 1].time_ns,
		at = time_ns + (m->shift_ns != NULL ? m->shift_ns[unit] : 0);

	m->counts->moved += at < first || at > last;
	return at < first ? first : at > last ? last : at;
}

static bool
add_record(struct trace_merging *m, const struct trace_addition *add, const struct record *r)
{
	const struct batch_label *there = &add->batch->labels[r->label];
	uint32_t unit = (uint32_t)(uintptr_t)map_get(&m->units, r->unit_id), label;
	struct event *e;

	if (r->trace_id != m->from->id || unit-- == 0 || m->from->units[unit].count == 0) {
		m->counts->strays++;
		return true;
	}
	if (there->kind != RECORD_POINT) {
		m->counts->structure++;
		return true;
	}
	label = labels_intern(
	    m->labels, there->kind, there->text, there->len, there->fields, there->nfields);
	/* What an agent sends may be no label, or one of structure; to try again would not help. */
	if (label == LABEL_NONE || labels_get(m->labels, label)->kind != RECORD_POINT) {
		m->counts->strays++;
		return true;
	}
	if (!array_reserve(m->added, m->cap, m->nadded + 1))
		return false;
	if (map_get(&m->points, point_of(unit, label)) != NULL) {
		m->counts->duplicate++;
		return true;
	}
	e = &m->added[m->nadded].event;
	*e = (struct event){ .time_ns = time_in_unit(m, unit, r->time_ns),
		.label = label,
		.unit = unit,
		.node = add->node,
		.pid = r->pid,
		.tid = r->tid };
	m->added[m->nadded].order = m->nadded;
	m->nadded++;
	m->counts->added++;
	return pick_values(&m->to->arena, e, labels_get(m->labels, label), there, r);
}

static int
by_unit_and_time(const void *a, const void *b)
{
	const struct added_event *x = a, *y = b;

	if (x->event.unit != y->event.unit)
		return x->event.unit < y->event.unit ? -1 : 1;
	if (x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Merges unit by unit; an event of the trace comes before an added one of the same time, but for the last of its unit. moved: the
 * new number of each event of the trace. */
static bool
write_events(struct trace_merging *m, uint32_t *moved)
{
	struct trace *to = m->to;
	uint32_t at = 0, n = 0;

	for (uint32_t i = 0; i < to->nunits; i++) {
		const struct unit *u = &m->from->units[i];

		to->units[i].first = n;
		for (uint32_t k = u->first; k < u->first + u->count; k++) {
			const struct event *own = &m->from->events[k];
			bool last = k + 1 == u->first + u->count;

			for (; at < m->nadded && m->added[at].event.unit == i &&
			       (m->added[at].event.time_ns < own->time_ns || last);
			     at++)
				to->events[n++] = m->added[at].event;
			moved[k] = n;
			to->events[n] = *own;
			if (!copy_values(&to->arena, &to->events[n], own->values, own->nvalues))
				return false;
			n++;
		}
		to->units[i].count = n - to->units[i].first;
	}
	to->nevents = n;
	return true;
}

static int
merge(struct trace_merging *m, const struct trace_addition *add, uint32_t n)
{
	const struct trace *t = m->from;
	struct trace *to = m->to;
	uint32_t *moved;
	bool ok = index_trace(m);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; ok && k < add[i].batch->nrecords; k++)
			ok = add_record(m, &add[i], &add[i].batch->records[k]);
	if (!ok)
		return ERR_MEMORY;
	if (m->nadded > 1)
		qsort(m->added, m->nadded, sizeof *m->added, by_unit_and_time);
	to->events = arena_alloc(&to->arena, (t->nevents + m->nadded) * sizeof *to->events);
	to->units = arena_copy(&to->arena, t->units, t->nunits * sizeof *to->units);
	moved = arena_alloc(&to->arena, (t->nevents + 1) * sizeof *moved);
	if (to->events == NULL || to->units == NULL || moved == NULL || !write_events(m, moved))
		return ERR_MEMORY;
	for (uint32_t i = 0; i < to->nunits; i++)
		if (to->units[i].fork != TRACE_NONE)
			to->units[i].fork = moved[to->units[i].fork];
	return 0;
}

int
trace_merge(struct trace **ret, const struct trace *t, const int64_t *shift_ns,
    const struct trace_addition *add, uint32_t n, struct labels *labels,
    struct trace_merge_counts *counts, struct err *e)
{
	struct arena arena = { 0 };
	struct trace_merging m = {
		.from = t, .shift_ns = shift_ns, .labels = labels, .counts = counts
	};
	int rc = ERR_MEMORY;

	memset(counts, 0, sizeof *counts);
	if ((m.to = arena_alloc(&arena, sizeof *m.to)) != NULL) {
		*m.to = *t;
		m.to->arena = arena;
		m.to->nbelow = 0;
		m.to->below = NULL;
		rc = merge(&m, add, n);
	}
	map_release(&m.units);
	map_release(&m.points);
	free(m.added);
	if (rc != 0) {
		trace_free(m.to);
		return err_set(e, ERR_MEMORY, "out of memory for a trace");
	}
	*ret = m.to;
	return 0;
}
