/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/as_recorded.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/hash_table.h"

struct recorded {
	struct span_names *names;
	struct trace *t;
	struct kept_span *spans;
	uint32_t n, join_label;
	uint32_t *parent;       /* of each span; TRACE_NONE: it has none, or that is missing */
	uint32_t *first, *next; /* children of a span */
	bool *same;             /* the span is the same as an earlier one, or completes it */
	struct hash_table by_id;
};

static bool
is_root(const struct kept_span *s)
{
	return !s->has_parent || s->parent == s->id;
}

static int64_t
begin_of(const struct kept_span *s)
{
	return s->no_begin ? s->end_ns : s->begin_ns;
}

/* Sorts by begin; of equal ones the longer first, so that parents come before their children. */
static int
by_begin(const void *a, const void *b)
{
	const struct kept_span *x = a, *y = b;
	int64_t bx = begin_of(x), by = begin_of(y);

	if (bx != by)
		return bx < by ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Whether `s` is the record of the span `first` once more; then that one knows what both know. */
static bool
is_again(struct kept_span *first, const struct kept_span *s)
{
	if (first->name != s->name || first->parent != s->parent ||
	    (!first->no_begin && !s->no_begin && first->begin_ns != s->begin_ns) ||
	    (!first->no_end && !s->no_end && first->end_ns != s->end_ns))
		return false;
	if (first->no_end && !s->no_end) {
		first->end_ns = s->end_ns;
		first->no_end = false;
	}
	return true;
}

static bool
find_parents(struct recorded *r)
{
	if (!hash_table_reserve(&r->by_id, r->n))
		return false;
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t first = hash_table_claim(&r->by_id, hash_u64(r->spans[i].id), i);

		r->parent[i] = r->first[i] = r->next[i] = TRACE_NONE;
		r->same[i] = first != i && is_again(&r->spans[first], &r->spans[i]);
	}
	for (uint32_t i = r->n; i-- > 0;) { /* so that children are in the order of time */
		uint32_t at = is_root(&r->spans[i]) || r->same[i]
		                  ? HASH_TABLE_NONE
		                  : hash_table_find(&r->by_id, hash_u64(r->spans[i].parent));

		if (at == HASH_TABLE_NONE)
			continue;
		r->parent[i] = at;
		r->next[i] = r->first[at];
		r->first[at] = i;
	}
	return true;
}

static struct event *
put(struct recorded *r, uint32_t unit, uint32_t label, uint64_t link, int64_t time_ns)
{
	struct event *e = &r->t->events[r->t->nevents++];

	*e = (struct event){ .time_ns = time_ns,
		.link_id = link,
		.label = label,
		.unit = unit,
		.node = r->spans[unit].node };
	return e;
}

static int
by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static bool
is_joined(const struct recorded *r, uint32_t span)
{
	const struct kept_span *s = &r->spans[span], *p = &r->spans[r->parent[span]];
	bool first = hash_table_find(&r->by_id, hash_u64(s->id)) == span;

	return first && (!s->follows || (!s->no_end && !p->no_end && s->end_ns <= p->end_ns));
}

/* Its begin, its forks and joins by time, its end. */
static bool
put_unit(struct recorded *r, uint32_t span)
{
	const struct kept_span *s = &r->spans[span];
	bool request = is_root(s);
	uint32_t first = r->t->nevents,
		 begin = span_names_label(
		     r->names, s->name, request ? NAME_REQUEST_BEGIN : NAME_UNIT_BEGIN),
		 end = span_names_label(
		     r->names, s->name, request ? NAME_REQUEST_END : NAME_UNIT_END);

	if (begin == LABEL_NONE || end == LABEL_NONE)
		return false;
	put(r, span, begin, request ? 0 : s->id, begin_of(s));
	for (uint32_t c = r->first[span]; c != TRACE_NONE; c = r->next[c]) {
		const struct kept_span *child = &r->spans[c];
		uint32_t fork = span_names_fork_label(r->names, s->name, child->name);

		if (fork == LABEL_NONE)
			return false;
		if (hash_table_find(&r->by_id, hash_u64(child->id)) == c)
			put(r, span, fork, child->id, begin_of(child));
		if (is_joined(r, c))
			put(r, span, r->join_label, child->id,
			    child->no_end ? s->end_ns : child->end_ns);
	}
	qsort(&r->t->events[first + 1], r->t->nevents - first - 1, sizeof *r->t->events, by_time);
	if (!s->no_end)
		put(r, span, end, request ? 0 : s->id, s->end_ns);
	r->t->units[span] = (struct unit){ s->id, first, r->t->nevents - first, TRACE_NONE, 0 };
	return true;
}

/* The request, and whether it is complete. */
static void
find_request(struct recorded *r)
{
	struct trace *t = r->t;
	uint32_t roots = 0;

	t->root = TRACE_NONE;
	t->type = t->incomplete_label = LABEL_NONE;
	t->incomplete = INCOMPLETE_NO_BEGIN;
	t->begin_ns = t->end_ns = begin_of(&r->spans[0]);
	for (uint32_t i = 0; i < r->n; i++) {
		if (!is_root(&r->spans[i]) || r->same[i] || roots++ > 0)
			continue;
		t->root = i;
		t->type = t->events[t->units[i].first].label;
		t->begin_ns = begin_of(&r->spans[i]);
		t->end_ns = r->spans[i].no_end ? t->begin_ns : r->spans[i].end_ns;
	}
	if (roots > 0)
		t->incomplete = roots > 1                  ? INCOMPLETE_SEVERAL_BEGINS
		                : r->spans[t->root].no_end ? INCOMPLETE_NO_END
		                                           : INCOMPLETE_NONE;
}

static bool
allocate(struct recorded *r, struct arena *a)
{
	size_t n = r->n;

	r->t = arena_calloc(a, 1, sizeof *r->t);
	if (r->t == NULL)
		return false;
	r->t->units = arena_calloc(a, n, sizeof *r->t->units);
	r->t->events = arena_alloc(a, 4 * n * sizeof *r->t->events);
	r->parent = malloc(3 * n * sizeof *r->parent);
	r->same = malloc(n);
	if (r->t->units == NULL || r->t->events == NULL || r->parent == NULL || r->same == NULL)
		return false;
	r->first = r->parent + n;
	r->next = r->first + n;
	return true;
}

int
as_recorded(struct trace **ret, struct span_names *names, struct labels *labels, struct trace_id id,
    struct kept_span *spans, uint32_t n, bool lossy, struct arena *a, struct err *e)
{
	struct recorded r = { .names = names, .spans = spans, .n = n };
	bool ok;

	*ret = NULL;
	if (n == 0)
		return 0;
	qsort(spans, n, sizeof *spans, by_begin);
	r.join_label = labels_silent(labels, RECORD_JOIN);
	ok = r.join_label != LABEL_NONE && allocate(&r, a) && find_parents(&r);
	if (ok)
		r.t->nunits = n;
	for (uint32_t i = 0; ok && i < n; i++)
		if (!r.same[i])
			ok = put_unit(&r, i);
	free(r.parent);
	if (ok) {
		r.t->id = id.low;
		r.t->id_high = id.high;
		r.t->lossy = lossy;
		find_request(&r);
		r.t->arena = *a;
		*a = (struct arena){ 0 };
		*ret = r.t;
	}
	free(r.same);
	hash_table_release(&r.by_id);
	return ok ? 0 : err_set(e, ERR_MEMORY, "no memory for a trace of %u spans", n);
}
