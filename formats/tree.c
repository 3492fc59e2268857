/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans are numbered in the order of arrival, units in breadth-first order from the root, so that the
 * times of a parent are final before those of its children are computed, without recursion.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "formats/node_clocks.h"
#include "formats/tree.h"

enum { NONE = UINT32_MAX, INSERTION_MAX = 24 };

#define TIME_MAX_NS (INT64_MAX / 2) /* so that differences fit */

enum fate { UNKNOWN, USED, VISITED, DROPPED, ORPHAN, FURTHER, SELF, CIRCLE };

struct tree_span {                /* derived data of a span */
	int64_t begin_ns, end_ns; /* corrected to the root's clock; not cut */
	int64_t shift_ns;
	uint32_t parent, first_child, last_child, next;
	uint32_t unit, fork; /* fork: the event */
	uint8_t fate;        /* enum fate */
	bool joined;
	bool untimed; /* its own times and its children do not say how long it took */
	bool nowhere; /* nor when that was */
};

struct tree_mark { /* a fork or a join in the parent's unit */
	int64_t time_ns;
	uint64_t order; /* of equal times */
	uint32_t span;
	bool join;
};

struct tree {
	struct span_names *names;
	uint32_t fork_label, join_label;
	struct tree_span *members;
	uint32_t *queue; /* spans in the order of their units */
	struct tree_mark *marks, *spare;
	uint32_t cap;
	struct hash_table by_id; /* spans of this trace */
	struct node_clocks *clocks;
};

struct tree_builder {
	struct tree *t;
	struct reading *r;
	struct trace *trace;
	struct kept_span *spans;
	uint32_t n, nused;
	int64_t resolution_ns;
};

struct tree *
tree_new(struct span_names *n, struct labels *l)
{
	struct tree *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->names = n;
	t->fork_label = labels_silent(l, RECORD_FORK);
	t->join_label = labels_silent(l, RECORD_JOIN);
	t->clocks = node_clocks_new();
	if (t->fork_label != LABEL_NONE && t->join_label != LABEL_NONE && t->clocks != NULL)
		return t;
	tree_free(t);
	return NULL;
}

void
tree_free(struct tree *t)
{
	if (t == NULL)
		return;
	free(t->members);
	free(t->queue);
	free(t->marks);
	free(t->spare);
	hash_table_release(&t->by_id);
	node_clocks_free(t->clocks);
	free(t);
}

static bool
make_room(struct tree *t, uint32_t n)
{
	uint32_t cap = t->cap != 0 ? t->cap : 256;

	if (n <= t->cap)
		return true;
	while (cap < n)
		cap *= 2;
	free(t->members);
	free(t->queue);
	free(t->marks);
	free(t->spare);
	t->members = malloc(cap * sizeof *t->members);
	t->queue = malloc(cap * sizeof *t->queue);
	t->marks = malloc(2 * (size_t)cap * sizeof *t->marks);
	t->spare = malloc(2 * (size_t)cap * sizeof *t->spare);
	t->cap = t->members != NULL && t->queue != NULL && t->marks != NULL && t->spare != NULL &&
	                 hash_table_reserve(&t->by_id, cap)
	             ? cap
	             : 0;
	return t->cap != 0;
}

/* ---- who is whose child ---- */

static struct span_origin
origin_of(const struct kept_span *s)
{
	return (struct span_origin){ s->file, s->offset };
}

static void
count_span(struct tree_builder *b, uint32_t span, enum skip why, const char *words)
{
	reading_skip_at(b->r, why, origin_of(&b->spans[span]),
	    "span %016llx of trace %016llx%016llx%s", (unsigned long long)b->spans[span].id,
	    (unsigned long long)b->trace->id_high, (unsigned long long)b->trace->id, words);
}

static bool
is_timed(const struct kept_span *s)
{
	return !s->no_begin && !s->no_end;
}

/* Of two spans with one id: the one whose times are known, or what both know of them. */
static void
merge_times(struct kept_span *kept, struct kept_span *other)
{
	struct kept_span first = *kept;

	if (is_timed(kept))
		return;
	if (is_timed(other)) {
		*kept = *other;
		*other = first;
	} else if (kept->no_begin && !other->no_begin && other->begin_ns <= kept->end_ns) {
		kept->begin_ns = other->begin_ns;
		kept->no_begin = false;
	} else if (kept->no_end && !other->no_end && kept->begin_ns <= other->end_ns) {
		kept->end_ns = other->end_ns;
		kept->no_end = false;
	}
}

static void
index_ids(struct tree_builder *b)
{
	struct tree *t = b->t;
	uint32_t first;

	hash_table_clear(&t->by_id);
	for (uint32_t i = 0; i < b->n; i++) {
		t->members[i] = (struct tree_span){
			.parent = NONE, .first_child = NONE, .next = NONE
		};
		first = hash_table_claim(&t->by_id, hash_u64(b->spans[i].id), i);
		if (first != i) {
			merge_times(&b->spans[first], &b->spans[i]);
			t->members[i].fate = DROPPED;
			count_span(b, i, SKIP_DUPLICATE, " occurred before");
		}
	}
}

/* The earliest, of those the longest; one without a begin or an end only if there is no other. */
static uint32_t
better_root(const struct tree_builder *b, uint32_t a, uint32_t c)
{
	const struct kept_span *x, *y;

	if (a == NONE)
		return c;
	x = &b->spans[a];
	y = &b->spans[c];
	if (!is_timed(x) || !is_timed(y))
		return !is_timed(x) && is_timed(y) ? c : a;
	return y->begin_ns < x->begin_ns || (y->begin_ns == x->begin_ns && y->end_ns > x->end_ns)
	           ? c
	           : a;
}

/* Finds parents and the root. NONE: no root. */
static uint32_t
find_parents(struct tree_builder *b)
{
	struct tree *t = b->t;
	uint32_t root = NONE, self = NONE, orphan = NONE, norphans = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		struct tree_span *m = &t->members[i];
		const struct kept_span *s = &b->spans[i];
		uint32_t parent;

		if (m->fate == DROPPED)
			continue;
		if (!s->has_parent) {
			m->fate = FURTHER;
			root = better_root(b, root, i);
		} else if (s->parent == s->id) {
			m->fate = SELF;
			self = better_root(b, self, i);
		} else if ((parent = hash_table_find(&t->by_id, hash_u64(s->parent))) ==
			   HASH_TABLE_NONE) {
			m->fate = ORPHAN;
			orphan = i;
			norphans++;
		} else {
			m->parent = parent;
		}
	}
	return root != NONE ? root : self != NONE ? self : norphans == 1 ? orphan : NONE;
}

static void
link_children(struct tree_builder *b)
{
	struct tree_span *m = b->t->members;

	for (uint32_t i = 0; i < b->n; i++) {
		struct tree_span *p;

		if (m[i].parent == NONE)
			continue;
		p = &m[m[i].parent];
		*(p->first_child == NONE ? &p->first_child : &m[p->last_child].next) = i;
		p->last_child = i;
	}
}

/* Marks and numbers all spans that can be reached from the root, breadth first. */
static void
reach(struct tree_builder *b, uint32_t root)
{
	struct tree *t = b->t;
	uint32_t n = 0;

	t->queue[n++] = root;
	for (uint32_t at = 0; at < n; at++) {
		struct tree_span *m = &t->members[t->queue[at]];

		m->fate = USED;
		m->unit = at;
		for (uint32_t c = m->first_child; c != NONE; c = t->members[c].next)
			t->queue[n++] = c;
	}
	b->nused = n;
}

/* ---- spans that cannot be reached ---- */

/* The fate of its topmost ancestor, or CIRCLE; shared by all spans on the way. */
static enum fate
fate_of(struct tree_builder *b, uint32_t span)
{
	struct tree_span *m = b->t->members;
	uint32_t at = span, next;
	enum fate fate;

	for (; m[at].fate == UNKNOWN; at = m[at].parent)
		m[at].fate = VISITED;
	fate = m[at].fate == VISITED ? CIRCLE : m[at].fate;
	for (at = span; m[at].fate == VISITED; at = next) {
		next = m[at].parent;
		m[at].fate = (uint8_t)fate;
	}
	return m[span].fate;
}

static void
count_unreached(struct tree_builder *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		switch (b->t->members[i].fate == USED ? USED : fate_of(b, i)) {
		case ORPHAN:
			count_span(b, i, SKIP_ORPHAN, ": its parent, or an ancestor, is not there");
			b->trace->lossy = true;
			break;
		case FURTHER:
			count_span(b, i, SKIP_ROOTS, " is of a further root");
			break;
		case SELF:
			count_span(b, i, SKIP_SELF_PARENT, " is, or is below, its own parent");
			break;
		case CIRCLE:
			count_span(b, i, SKIP_CYCLE, ": its ancestors form a cycle");
			b->trace->lossy = true;
			break;
		default:
			break;
		}
}

/* ---- times ---- */

struct proved_times { /* what children prove of the times of their parent */
	int64_t begin_ns, end_ns;
	bool any;
};

static struct proved_times
bounds_of(const struct tree_builder *b, uint32_t span)
{
	const struct tree_span *m = b->t->members;
	struct proved_times by = { INT64_MAX, INT64_MIN, false };

	for (uint32_t c = m[span].first_child; c != NONE; c = m[c].next) {
		const struct kept_span *s = &b->spans[c];
		int64_t end_ns = s->follows ? s->begin_ns : s->end_ns;

		if (m[c].nowhere)
			continue;
		by.any = true;
		by.begin_ns = s->begin_ns < by.begin_ns ? s->begin_ns : by.begin_ns;
		by.end_ns = end_ns > by.end_ns ? end_ns : by.end_ns;
	}
	return by;
}

/* Bounds the unknown times of all spans in use by their children, from the leaves to the root. */
static void
bound_times(struct tree_builder *b)
{
	for (uint32_t at = b->nused; at-- > 0;) {
		uint32_t span = b->t->queue[at];
		struct kept_span *s = &b->spans[span];
		struct tree_span *m = &b->t->members[span];
		struct proved_times by;

		if (is_timed(s))
			continue;
		b->trace->lossy = true;
		by = bounds_of(b, span);
		m->untimed = !by.any;
		m->nowhere = !by.any && s->no_begin && s->no_end;
		if (s->no_begin)
			s->begin_ns = s->no_end                           ? by.begin_ns
			              : by.any && by.begin_ns < s->end_ns ? by.begin_ns
			                                                  : s->end_ns;
		if (s->no_end)
			s->end_ns = by.any && by.end_ns > s->begin_ns ? by.end_ns : s->begin_ns;
	}
}

static inline int64_t
add_ns(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		sum = a < 0 ? INT64_MIN : INT64_MAX;
	return sum > TIME_MAX_NS ? TIME_MAX_NS : sum < -TIME_MAX_NS ? -TIME_MAX_NS : sum;
}

/* The least shift that moves a child on another clock into its parent; 0: none needed or possible.
 * ahead_ns: the most that a server's clock can be ahead of its client's; 0: they are none. */
static int64_t
skew_ns(const struct tree_span *p, const struct tree_span *c, bool follows, int64_t ahead_ns)
{
	bool fits = c->end_ns - c->begin_ns <= p->end_ns - p->begin_ns;
	int64_t over_ns = c->end_ns - p->end_ns;

	if (c->begin_ns < p->begin_ns && (fits || follows))
		return p->begin_ns - c->begin_ns;
	if (c->begin_ns >= p->end_ns && c->end_ns > p->end_ns && fits && !follows)
		return -over_ns;
	if (c->begin_ns >= p->begin_ns && over_ns > 0 && over_ns <= ahead_ns && fits)
		return -over_ns;
	return 0;
}

static void
move(struct tree_builder *b, const struct tree_span *p, uint32_t parent, uint32_t child)
{
	struct tree_span *c = &b->t->members[child];
	const struct kept_span *ps = &b->spans[parent], *cs = &b->spans[child];
	int64_t skew, ahead = 0;

	c->shift_ns = p->shift_ns;
	c->begin_ns = c->nowhere ? p->begin_ns : add_ns(cs->begin_ns, c->shift_ns);
	c->end_ns = c->nowhere ? p->begin_ns : add_ns(cs->end_ns, c->shift_ns);
	if (!is_timed(ps) || !is_timed(cs) || !ps->node_known || !cs->node_known ||
	    ps->node == cs->node)
		return;
	if (ps->client && cs->server)
		ahead = node_clocks_note(
		    b->t->clocks, ps->node, cs->node, c->begin_ns - p->begin_ns);
	if ((skew = skew_ns(p, c, cs->follows, ahead)) == 0)
		return;
	count_span(b, child, SKIP_SKEW,
	    " lay outside of its parent by another node's clock, and was moved");
	c->shift_ns = add_ns(c->shift_ns, skew);
	c->begin_ns = add_ns(c->begin_ns, skew);
	c->end_ns = add_ns(c->end_ns, skew);
}

/* Cuts a child at the parent's begin and end, and decides whether it is joined. The times of the
 * kept span become those of its events. */
static void
cut(struct tree_builder *b, uint32_t parent, uint32_t child)
{
	struct tree_span *c = &b->t->members[child];
	struct kept_span *ps = &b->spans[parent], *cs = &b->spans[child];
	bool before = c->begin_ns<ps->begin_ns, after = c->end_ns> ps->end_ns;
	bool outside = (before && c->end_ns <= ps->begin_ns) ||
	               (after && c->begin_ns >= ps->end_ns);

	c->joined = !outside && !(after && cs->follows) && !c->untimed;
	cs->begin_ns = before && c->joined ? ps->begin_ns : c->begin_ns;
	cs->end_ns = after && c->joined ? ps->end_ns : c->end_ns;
}

/* ---- forks and joins ---- */

static inline bool
comes_before(const struct tree_mark *a, const struct tree_mark *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static void
insertion_sort(struct tree_mark *m, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct tree_mark x = m[i];
		uint32_t j = i;

		for (; j > 0 && comes_before(&x, &m[j - 1]); j--)
			m[j] = m[j - 1];
		m[j] = x;
	}
}

/* Natural merge sort: O(n) for children in order, O(n log n) at worst. */
static void
sort_marks(struct tree *t, uint32_t n)
{
	uint32_t runs = 2;

	if (n <= INSERTION_MAX) {
		insertion_sort(t->marks, n);
		return;
	}
	while (runs > 1) {
		struct tree_mark *m = t->marks, *out = t->spare;
		uint32_t at = 0;

		for (runs = 0; at < n; runs++) {
			uint32_t a = at, a_end, c, c_end, to = at;

			for (a_end = a + 1; a_end < n && !comes_before(&m[a_end], &m[a_end - 1]);)
				a_end++;
			for (c = c_end = a_end;
			     c_end < n && (c_end == c || !comes_before(&m[c_end], &m[c_end - 1]));)
				c_end++;
			while (a < a_end && c < c_end)
				out[to++] = comes_before(&m[c], &m[a]) ? m[c++] : m[a++];
			memcpy(&out[to], &m[a], (a_end - a) * sizeof *out);
			memcpy(&out[to + a_end - a], &m[c], (c_end - c) * sizeof *out);
			at = c_end;
		}
		t->marks = out;
		t->spare = m;
	}
}

/* Makes the sorted forks and joins of a unit. Of equal times: first joins, then children of zero
 * duration (each fork with its join), then forks. */
static uint32_t
make_marks(struct tree_builder *b, uint32_t parent)
{
	struct tree *t = b->t;
	const struct kept_span *p = &b->spans[parent];
	uint32_t n = 0, seq = 0;

	for (uint32_t c = t->members[parent].first_child; c != NONE;
	     c = t->members[c].next, seq++) {
		const struct kept_span *s = &b->spans[c];
		bool joined = t->members[c].joined, none = joined && s->begin_ns == s->end_ns;
		int64_t at = s->begin_ns < p->begin_ns ? p->begin_ns
		             : s->begin_ns > p->end_ns ? p->end_ns
		                                       : s->begin_ns;

		t->marks[n++] = (struct tree_mark){ at,
			(uint64_t)(none ? 1 : 2) << 40 | (uint64_t)seq << 1, c, false };
		if (joined)
			t->marks[n++] = (struct tree_mark){ s->end_ns,
				(uint64_t)none << 40 | (uint64_t)seq << 1 | 1, c, true };
	}
	sort_marks(t, n);
	return n;
}

/*
 *	 c ---------------------.
 *	                 s -----|----------------
 *	                 ^      ^
 *	            marks[i-1]  marks[i]: c's end, moved to s' begin if no other mark is in between
 */
static void
cut_overlaps(struct tree_builder *b, uint32_t parent, uint32_t n)
{
	struct tree_mark *m = b->t->marks;
	const struct kept_span *p = &b->spans[parent];
	int64_t most = (p->end_ns - p->begin_ns - 1) / 100;

	if (most < b->resolution_ns)
		most = b->resolution_ns;
	for (uint32_t i = 2; i < n; i++) {
		struct tree_mark end = m[i], begin = m[i - 1];

		if (!end.join || begin.join || end.span == begin.span ||
		    !b->t->members[begin.span].joined || end.time_ns - begin.time_ns > most ||
		    b->spans[end.span].begin_ns >= begin.time_ns ||
		    m[i - 2].time_ns >= begin.time_ns ||
		    (i + 1 < n && m[i + 1].time_ns <= end.time_ns))
			continue;
		b->spans[end.span].end_ns = end.time_ns = begin.time_ns;
		m[i - 1] = end;
		m[i] = begin;
	}
}

/* ---- events ---- */

/* Sets the values, padded to the number of the label's fields. */
static bool
set_values(struct tree_builder *b, struct event *e, const struct kept_span *s)
{
	struct value *v;

	if (s->nvalues == 0 || s->name->nfields == 0)
		return true;
	e->nvalues = s->name->nfields;
	e->values = s->values;
	if (s->nvalues >= e->nvalues)
		return true;
	if ((v = arena_calloc(&b->trace->arena, e->nvalues, sizeof *v)) == NULL)
		return false;
	memcpy(v, s->values, s->nvalues * sizeof *v);
	e->values = v;
	return true;
}

static bool
emit_unit(struct tree_builder *b, uint32_t unit, uint32_t *nevents)
{
	struct tree *t = b->t;
	uint32_t span = t->queue[unit], nmarks;
	const struct kept_span *s = &b->spans[span];
	struct event *e = &b->trace->events[*nevents];
	uint32_t begin = span_names_label(
	    t->names, s->name, unit == 0 ? NAME_REQUEST_BEGIN : NAME_UNIT_BEGIN);
	uint32_t end = span_names_label(
	    t->names, s->name, unit == 0 ? NAME_REQUEST_END : NAME_UNIT_END);

	if (begin == LABEL_NONE || end == LABEL_NONE)
		return false;
	for (uint32_t c = t->members[span].first_child; c != NONE; c = t->members[c].next) {
		move(b, &t->members[span], span, c);
		cut(b, span, c);
	}
	nmarks = make_marks(b, span);
	cut_overlaps(b, span, nmarks);
	*e = (struct event){ .time_ns = s->begin_ns,
		.link_id = unit == 0 ? 0 : s->id,
		.label = begin,
		.unit = unit,
		.node = s->node };
	if (!set_values(b, e++, s))
		return false;
	for (uint32_t i = 0; i < nmarks; i++, e++) {
		const struct tree_mark *m = &t->marks[i];

		*e = (struct event){ .time_ns = m->time_ns,
			.link_id = b->spans[m->span].id,
			.label = m->join ? t->join_label : t->fork_label,
			.unit = unit,
			.node = s->node };
		if (!m->join)
			t->members[m->span].fork = (uint32_t)(e - b->trace->events);
	}
	*e++ = (struct event){ .time_ns = s->end_ns,
		.link_id = unit == 0 ? 0 : s->id,
		.label = end,
		.unit = unit,
		.node = s->node };
	b->trace->units[unit] = (struct unit){ s->id, *nevents, nmarks + 2,
		unit == 0 ? TRACE_NONE : t->members[span].fork };
	*nevents += nmarks + 2;
	return true;
}

static bool
emit(struct tree_builder *b, uint32_t root)
{
	struct trace *tr = b->trace;
	const struct kept_span *s = &b->spans[root];
	struct tree_span *m = &b->t->members[root];

	tr->units = arena_alloc(&tr->arena, b->nused * sizeof *tr->units);
	tr->events = arena_alloc(&tr->arena, 4 * (size_t)b->nused * sizeof *tr->events);
	if (tr->units == NULL || tr->events == NULL)
		return false;
	m->begin_ns = tr->begin_ns = s->begin_ns;
	m->end_ns = tr->end_ns = s->end_ns;
	tr->nunits = b->nused;
	for (uint32_t u = 0; u < b->nused; u++)
		if (!emit_unit(b, u, &tr->nevents))
			return false;
	tr->type = tr->events[0].label;
	return true;
}

int
tree_build(struct trace **ret, struct tree *t, struct reading *r, struct trace_id id,
    struct kept_span *spans, uint32_t n, int64_t resolution_ns, bool lossy, struct arena *a,
    struct err *e)
{
	struct trace trace = { .id = id.low, .id_high = id.high, .lossy = lossy }, *made;
	struct tree_builder b = { t, r, &trace, spans, n, 0, resolution_ns };
	uint32_t root;

	assert(ret != NULL && t != NULL && r != NULL && a != NULL && resolution_ns >= 0);
	*ret = NULL;
	if (n == 0)
		return 0;
	if (n > UINT32_MAX / 8 || !make_room(t, n))
		return err_set(e, ERR_MEMORY, "no memory for a trace of %u spans", n);
	index_ids(&b);
	if ((root = find_parents(&b)) == NONE) {
		reading_skip_at(r, SKIP_ROOTLESS, origin_of(&spans[0]),
		    "trace %016llx%016llx, of %u spans", (unsigned long long)id.high,
		    (unsigned long long)id.low, n);
		return 0;
	}
	link_children(&b);
	reach(&b, root);
	bound_times(&b);
	if (t->members[root].untimed) {
		reading_skip_at(r, SKIP_ROOTLESS, origin_of(&spans[root]),
		    "trace %016llx%016llx, of %u spans: the duration of its root is unknown",
		    (unsigned long long)id.high, (unsigned long long)id.low, n);
		return 0;
	}
	if (!is_timed(&spans[root]))
		count_span(&b, root, SKIP_OPEN, " is the root of the request");
	if (b.nused < n)
		count_unreached(&b);
	trace.arena = *a;
	if (!emit(&b, root) || (made = arena_alloc(&trace.arena, sizeof *made)) == NULL) {
		*a = trace.arena;
		return err_set(e, ERR_MEMORY, "no memory for a trace of %u spans", n);
	}
	*a = (struct arena){ 0 };
	*made = trace;
	*ret = made;
	return 0;
}
