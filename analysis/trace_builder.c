/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the graph of a trace from its records. Records are sorted by (time, node); the sort is
 * stable, and the records of one node arrive in order, so the result is the same for every
 * interleaving of batches. Units are numbered in the order in which they first appear.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace_callers.h"
#include "base/hash.h"
#include "base/hash_table.h"

/* So many records of equal time are compared when looking for copies. */
enum { TIES_MAX = 16 };

enum link_mark { BEGUN = 1, JOINED = 2 }; /* bits: a unit began by the link; it was joined */

struct trace_builder {
	struct record_ref *refs, *spare;
	uint32_t *units; /* of each record in refs */
	uint8_t *kinds;  /* of each event */
	uint8_t *marks;  /* of each event that is a fork: enum link_mark */
	uint32_t cap;
	struct hash_table by_unit; /* unit id -> unit */
	struct hash_table by_link; /* link id -> event, the first fork of it */
	struct trace_callers *callers;
	uint64_t odd; /* random: traced programs choose units and links */
};

struct trace_builder *
trace_builder_new(void)
{
	struct trace_builder *b = calloc(1, sizeof *b);

	if (b == NULL)
		return NULL;
	b->odd = hash_seed() | 1;
	if ((b->callers = trace_callers_new()) == NULL) {
		free(b);
		return NULL;
	}
	return b;
}

/* As hash_multiply(), but by a number that nobody knows, so that nobody can choose ids that collide
 * (Dietzfelbinger et al., A Reliable Randomized Algorithm for the Closest-Pair Problem, 1997). */
static inline uint64_t
id_hash(const struct trace_builder *b, uint64_t id)
{
	return __builtin_bswap64(id * b->odd);
}

void
trace_builder_free(struct trace_builder *b)
{
	if (b == NULL)
		return;
	free(b->refs);
	free(b->spare);
	free(b->units);
	free(b->kinds);
	free(b->marks);
	hash_table_release(&b->by_unit);
	hash_table_release(&b->by_link);
	trace_callers_free(b->callers);
	free(b);
}

const char *
incomplete_word(enum incomplete i)
{
	static const char *const words[INCOMPLETES] = {
#define INCOMPLETE(name, word, text) word,
#include "analysis/incomplete.tbl.h"
#undef INCOMPLETE
	};

	return words[i];
}

void
trace_free(struct trace *t)
{
	struct arena arena;

	if (t == NULL)
		return;
	arena = t->arena; /* the arena contains t */
	arena_release(&arena);
}

static bool
make_room(struct trace_builder *b, uint32_t n)
{
	uint32_t cap = b->cap != 0 ? b->cap : 256;

	if (n <= b->cap)
		return true;
	while (cap < n)
		cap *= 2;
	free(b->refs);
	free(b->spare);
	free(b->units);
	free(b->kinds);
	free(b->marks);
	b->refs = malloc(cap * sizeof *b->refs);
	b->spare = malloc(cap * sizeof *b->spare);
	b->units = malloc(cap * sizeof *b->units);
	b->kinds = malloc(cap);
	b->marks = malloc(cap);
	b->cap = b->refs != NULL && b->spare != NULL && b->units != NULL && b->kinds != NULL &&
	                 b->marks != NULL
	             ? cap
	             : 0;
	return b->cap != 0;
}

static inline bool
before(const struct record_ref *a, const struct record_ref *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns
	                                : a->record->event.node < b->record->event.node;
}

static uint32_t
run_end(const struct record_ref *s, uint32_t from, uint32_t n)
{
	uint32_t to = from + 1;

	while (to < n && !before(&s[to], &s[to - 1]))
		to++;
	return to;
}

static void
merge(
    struct record_ref *out, const struct record_ref *s, uint32_t a, uint32_t a_end, uint32_t b_end)
{
	uint32_t b = a_end, at = a;

	while (a < a_end && b < b_end)
		out[at++] = before(&s[b], &s[a]) ? s[b++] : s[a++];
	memcpy(&out[at], &s[a], (a_end - a) * sizeof *out);
	memcpy(&out[at + a_end - a], &s[b], (b_end - b) * sizeof *out);
}

/* Natural merge sort (Knuth, TAOCP 3, 5.2.4, algorithm N): merges runs that are in order
 * already. Stable. O(n log runs); a single run costs one pass. */
static void
sort(struct trace_builder *b, uint32_t n)
{
	uint32_t runs, at, middle, end;
	struct record_ref *swap;

	do {
		runs = 0;
		for (at = 0; at < n; at = end, runs++) {
			middle = run_end(b->refs, at, n);
			if (at == 0 && middle == n)
				return;
			end = middle < n ? run_end(b->refs, middle, n) : n;
			merge(b->spare, b->refs, at, middle, end);
		}
		swap = b->refs;
		b->refs = b->spare;
		b->spare = swap;
	} while (runs > 1);
}

static uint32_t
count_records(const struct pending_trace *p)
{
	uint32_t n = 0;

	for (const struct record_chunk *c = p->first; c != NULL; c = c->next)
		n += c->count;
	return n;
}

/* Collects the records up to `until_ns`, in order of arrival. Returns their number. */
static uint32_t
collect(struct trace_builder *b, const struct pending_trace *p, int64_t until_ns)
{
	uint32_t n = 0;

	for (const struct record_chunk *c = p->first; c != NULL; c = c->next)
		for (uint32_t i = 0; i < c->count; i++)
			if (c->records[i].event.time_ns <= until_ns)
				b->refs[n++] = (struct record_ref){ c->records[i].event.time_ns,
					&c->records[i] };
	assert(n <= b->cap);
	return n;
}

static bool
same_value(const struct value *a, const struct value *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case VALUE_NONE:
		return true;
	case VALUE_TEXT:
		return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
	default:
		return a->u == b->u;
	}
}

static bool
same_record(const struct pending_record *a, const struct pending_record *b)
{
	const struct event *x = &a->event, *y = &b->event;

	if (x->time_ns != y->time_ns || x->node != y->node || x->label != y->label ||
	    x->link_id != y->link_id || a->unit_id != b->unit_id || x->pid != y->pid ||
	    x->tid != y->tid || x->nvalues != y->nvalues)
		return false;
	for (uint32_t i = 0; i < x->nvalues; i++)
		if (!same_value(&x->values[i], &y->values[i]))
			return false;
	return true;
}

/*
 * Removes exact copies. A thread never makes two equal records in one nanosecond, so a record that
 * equals another in all fields was delivered twice; a second request_begin would make the trace
 * malformed, any other copy would add a loop. After sorting, copies are at most TIES_MAX
 * records apart. Returns how many records are left.
 */
static uint32_t
leave_out_duplicates(struct record_ref *s, uint32_t n)
{
	uint32_t kept = 0;
	bool twice;

	for (uint32_t i = 0; i < n; i++) {
		twice = false;
		for (uint32_t j = kept;
		     j-- > 0 && kept - j <= TIES_MAX && s[j].time_ns == s[i].time_ns && !twice;)
			twice = same_record(s[j].record, s[i].record);
		if (!twice)
			s[kept++] = s[i];
	}
	return kept;
}

/* Moves waits and samples behind the other records, both in their order. Returns the number of the others. */
static uint32_t
set_below_apart(struct trace_builder *b, uint32_t n, const uint8_t *const *kinds)
{
	uint32_t kept = 0, apart = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t kind = kind_in(kinds, b->refs[i].record->event.label);

		if (kind == RECORD_WAIT || kind == RECORD_SAMPLE)
			b->spare[apart++] = b->refs[i];
		else
			b->refs[kept++] = b->refs[i];
	}
	memcpy(&b->refs[kept], b->spare, apart * sizeof *b->refs);
	return kept;
}

/* Numbers the units of all records. Returns the number of units. */
static uint32_t
number_units(struct trace_builder *b, uint32_t n)
{
	uint32_t nunits = 0;
	uint64_t last_id = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = b->refs[i].record->unit_id;

		if (i > 0 && id == last_id) {
			b->units[i] = b->units[i - 1];
			continue;
		}
		b->units[i] = hash_table_claim(&b->by_unit, id_hash(b, id), nunits);
		nunits += b->units[i] == nunits;
		last_id = id;
	}
	return nunits;
}

static void
lay_out_events(
    struct trace *t, const struct trace_builder *b, uint32_t n, const uint8_t *const *kinds)
{
	uint32_t first = 0;

	assert(n == t->nevents);
	memset(t->units, 0, t->nunits * sizeof *t->units);
	for (uint32_t i = 0; i < n; i++)
		t->units[b->units[i]].count++;
	for (uint32_t u = 0; u < t->nunits; u++) {
		t->units[u].first = first;
		t->units[u].fork = TRACE_NONE;
		t->units[u].shared_ns = 0;
		first += t->units[u].count;
		t->units[u].count = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct unit *u = &t->units[b->units[i]];
		struct event *e = &t->events[u->first + u->count++];

		*e = b->refs[i].record->event;
		e->unit = b->units[i];
		b->kinds[e - t->events] = kind_in(kinds, e->label) & ~KIND_SILENT;
		u->id = b->refs[i].record->unit_id;
	}
}

/* Those of units without another record are left out. */
static void
lay_out_below(struct trace *t, const struct trace_builder *b, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < n; i++) {
		const struct pending_record *r = b->refs[i].record;
		uint32_t unit = hash_table_find(&b->by_unit, id_hash(b, r->unit_id));

		if (unit == HASH_TABLE_NONE)
			continue;
		t->below[t->nbelow] = r->event;
		t->below[t->nbelow++].unit = unit;
	}
}

/* Reads the fields of request_begin: whether the request was selected for added tracepoints,
 * the upper half of its id, and whether who recorded it knows that something may be missing. */
static void
read_begin(struct trace *t, const struct event *e, const struct label *l)
{
	for (uint32_t i = 0; i < e->nvalues; i++) {
		const struct value *v = &e->values[i];

		if (v->type != VALUE_UINT && v->type != VALUE_INT)
			continue;
		if (strcmp(l->fields[i], "probed") == 0)
			t->probed = v->u != 0;
		else if (strcmp(l->fields[i], "lossy") == 0)
			t->lossy |= v->u != 0;
		else if (strcmp(l->fields[i], "trace_id_high") == 0)
			t->id_high = v->u;
	}
}

static enum incomplete
incomplete_of(uint32_t begins, uint32_t ends, bool in_order)
{
	if (begins != 1)
		return begins == 0 ? INCOMPLETE_NO_BEGIN : INCOMPLETE_SEVERAL_BEGINS;
	if (ends != 1)
		return ends == 0 ? INCOMPLETE_NO_END : INCOMPLETE_SEVERAL_ENDS;
	return in_order ? INCOMPLETE_NONE : INCOMPLETE_END_FIRST;
}

/* Finds begin and end of the request: the trace is incomplete if there is not exactly one of each,
 * in this order. Of several begins the type is that of the first one. */
static void
find_request(struct trace *t, const uint8_t *kinds, const struct labels *labels)
{
	uint32_t begins = 0, ends = 0;
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, begin_ns = INT64_MAX, end_ns = INT64_MIN;

	t->type = LABEL_NONE;
	t->root = TRACE_NONE;

	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct event *e = &t->events[i];

		first_ns = e->time_ns < first_ns ? e->time_ns : first_ns;
		last_ns = e->time_ns > last_ns ? e->time_ns : last_ns;
		if (kinds[i] == RECORD_REQUEST_BEGIN) {
			begins++;
			if (e->time_ns >= begin_ns)
				continue;
			t->type = e->label;
			t->root = e->unit;
			begin_ns = e->time_ns;
			read_begin(t, e, labels_get(labels, e->label));
		} else if (kinds[i] == RECORD_REQUEST_END) {
			ends++;
			end_ns = e->time_ns;
		}
	}
	t->begin_ns = begins > 0 ? begin_ns : first_ns;
	t->end_ns = ends > 0 ? end_ns : last_ns;
	t->incomplete = (uint8_t)incomplete_of(begins, ends, t->begin_ns <= t->end_ns);
}

/* For the units that shared their thread: since when. */
static void
note_shared(struct trace *t, const struct trace_builder *b, const struct pending_trace *p)
{
	for (uint32_t i = 0; i < p->nshared; i++) {
		uint32_t unit = hash_table_find(&b->by_unit, id_hash(b, p->shared[i].unit_id));
		struct unit *u;

		if (unit == HASH_TABLE_NONE)
			continue;
		u = &t->units[unit];
		if (u->shared_ns == 0 || p->shared[i].time_ns < u->shared_ns)
			u->shared_ns = p->shared[i].time_ns;
	}
}

/* Links units to the forks that began them. A link that was forked and joined but began no unit
 * shows that a part is missing: unless a record was lost, the trace is incomplete. */
static void
link_units(struct trace *t, struct trace_builder *b)
{
	const uint8_t *kinds = b->kinds;

	for (uint32_t i = 0; i < t->nevents; i++)
		if (kinds[i] == RECORD_FORK) {
			hash_table_claim(&b->by_link, id_hash(b, t->events[i].link_id), i);
			b->marks[i] = 0;
		}
	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct event *e = &t->events[i];
		uint32_t fork;

		if (kinds[i] != RECORD_UNIT_BEGIN && kinds[i] != RECORD_JOIN)
			continue;
		fork = hash_table_find(&b->by_link, id_hash(b, e->link_id));
		if (fork == HASH_TABLE_NONE)
			continue;
		b->marks[fork] |= kinds[i] == RECORD_JOIN ? JOINED : BEGUN;
		if (kinds[i] == RECORD_UNIT_BEGIN)
			t->units[e->unit].fork = fork;
	}
	for (uint32_t i = 0; i < t->nevents && trace_is_evidence(t); i++)
		if (kinds[i] == RECORD_FORK && b->marks[i] == JOINED) {
			t->incomplete = INCOMPLETE_NO_UNIT;
			t->incomplete_label = t->events[i].label;
		}
}

/* Makes the parts that spans called units of those (trace_callers.h). Returns the number of records then; UINT32_MAX: out of memory. */
static uint32_t
call_by_spans(struct trace_builder *b, uint32_t n, struct labels *labels, struct arena *values,
    bool *without_points)
{
	const struct record_ref *added;
	struct record_ref *kept;
	uint32_t nunits = number_units(b, n), nadded;
	bool ok;

	ok = trace_callers_find(b->callers, b->refs, b->units, n, nunits, labels, values, b->odd,
	    &added, &nadded, without_points);
	hash_table_clear(&b->by_unit);
	if (!ok || nadded == 0)
		return ok ? n : UINT32_MAX;
	if (n + nadded > b->cap) {
		if ((kept = malloc(n * sizeof *kept)) == NULL)
			return UINT32_MAX;
		memcpy(kept, b->refs, n * sizeof *kept);
		if ((ok = make_room(b, n + nadded)))
			memcpy(b->refs, kept, n * sizeof *kept);
		free(kept);
		if (!ok)
			return UINT32_MAX;
	}
	memcpy(&b->refs[n], added, nadded * sizeof *added);
	sort(b, n + nadded);
	return n + nadded;
}

bool
trace_build(struct trace_builder *b, struct trace **ret, const struct pending_trace *p,
    struct arena *into, int64_t until_ns, struct labels *labels, uint64_t *nlate,
    uint64_t *nduplicate)
{
	uint32_t all = count_records(p), came, n, with_below;
	bool without_points = false;
	struct trace *t;

	hash_table_clear(&b->by_unit);
	hash_table_clear(&b->by_link);
	if (!make_room(b, all) || !hash_table_reserve(&b->by_unit, all) ||
	    !hash_table_reserve(&b->by_link, all))
		return false;
	came = collect(b, p, until_ns);
	*nlate += all - came;
	sort(b, came);
	n = leave_out_duplicates(b->refs, came);
	*nduplicate += came - n;
	if (trace_callers_may(b->refs, n, labels) &&
	    (!hash_table_reserve(&b->by_link, 3 * n) ||
		(n = call_by_spans(b, n, labels, into, &without_points)) == UINT32_MAX))
		return false;
	with_below = n;
	if (p->nbelow > 0)
		n = set_below_apart(b, n, labels_kinds(labels));
	t = arena_calloc(into, 1, sizeof *t);
	if (t == NULL)
		return false;
	t->id = p->id;
	t->lossy = p->lossy;
	t->incomplete_label = LABEL_NONE;
	t->nevents = n;
	t->nunits = number_units(b, n);
	t->events = arena_alloc(into, n * sizeof *t->events);
	t->units = arena_alloc(into, t->nunits * sizeof *t->units);
	if (t->events == NULL || t->units == NULL)
		return false;
	lay_out_events(t, b, n, labels_kinds(labels));
	if (with_below > n) {
		if ((t->below = arena_alloc(into, (with_below - n) * sizeof *t->below)) == NULL)
			return false;
		lay_out_below(t, b, n, with_below);
	}
	find_request(t, b->kinds, labels);
	t->probed &= !without_points;
	if (p->too_long)
		t->incomplete = INCOMPLETE_TOO_LONG;
	note_shared(t, b, p);
	link_units(t, b);
	t->arena = *into;
	*into = (struct arena){ 0 };
	*ret = t;
	return true;
}
