/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/place_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* What became of one fork of the trace at hand. */
struct fork_state {
	uint32_t event; /* of the fork */
	uint32_t unit;  /* that it began; TRACE_NONE */
	uint32_t join;  /* event; TRACE_NONE */
	uint32_t again;
};

struct trace_survey {
	struct place_table *table;
	const struct trace *t;
	const uint8_t *const *kinds;
	struct fork_state *forks;
	uint32_t nforks;
	uint32_t *fork_of; /* of each unit: its number in forks; TRACE_NONE */
	uint32_t *begin;   /* of each unit: its first unit_begin or request_begin; TRACE_NONE */
	uint32_t *end;     /* its unit_end or request_end; TRACE_NONE */
	uint64_t seed;     /* of the hashes of links, which traced programs choose */
};

void
place_table_release(struct place_table *p)
{
	free(p->items);
	hash_table_release(&p->by_place);
	hash_table_release(&p->links);
	*p = (struct place_table){ 0 };
}

void
place_table_clear(struct place_table *p)
{
	p->n = 0;
	p->traces = p->lossy = p->beyond = 0;
	hash_table_clear(&p->by_place);
}

/* The row of a place, added if it is new. NULL: out of memory, or there are PLACES_MAX. */
static struct place_facts *
place(struct place_table *p, uint32_t type, uint32_t label)
{
	uint64_t hash = hash_u64((uint64_t)type << 32 | label);
	uint32_t at = hash_table_find(&p->by_place, hash);

	if (at != HASH_TABLE_NONE)
		return &p->items[at];
	if (p->n == PLACES_MAX || !array_reserve(p->items, p->cap, p->n + 1) ||
	    !hash_table_put(&p->by_place, hash, p->n))
		return NULL;
	p->items[p->n] = (struct place_facts){
		.type = type, .label = label, .unit = LABEL_NONE, .forker = LABEL_NONE
	};
	return &p->items[p->n++];
}

/* A row that is discarded, for a place beyond PLACES_MAX. */
static struct place_facts *
place_or(struct place_table *p, uint32_t type, uint32_t label, struct place_facts *none)
{
	struct place_facts *f = place(p, type, label);

	if (f != NULL)
		return f;
	p->beyond++;
	*none = (struct place_facts){ 0 };
	return none;
}

/* ---- one trace ---- */

static uint8_t
kind_of(const struct trace_survey *s, uint32_t event)
{
	return kind_in(s->kinds, s->t->events[event].label) & (uint8_t)~KIND_SILENT;
}

/* No program recorded it: a format made it. */
static bool
is_silent(const struct trace_survey *s, uint32_t event)
{
	return (kind_in(s->kinds, s->t->events[event].label) & KIND_SILENT) != 0;
}

static uint64_t
link_hash(const struct trace_survey *s, uint64_t link)
{
	return hash_u64(link ^ s->seed);
}

/* Begin and end of each unit, and the forks by their links: of several with one link the first. */
static bool
survey_events(struct trace_survey *s)
{
	const struct trace *t = s->t;

	for (uint32_t u = 0; u < t->nunits; u++)
		s->fork_of[u] = s->begin[u] = s->end[u] = TRACE_NONE;
	for (uint32_t i = 0; i < t->nevents; i++) {
		uint32_t u = t->events[i].unit;

		switch (kind_of(s, i)) {
		case RECORD_REQUEST_BEGIN:
		case RECORD_UNIT_BEGIN:
			s->begin[u] = s->begin[u] == TRACE_NONE ? i : s->begin[u];
			break;
		case RECORD_REQUEST_END:
		case RECORD_UNIT_END:
			s->end[u] = i;
			break;
		case RECORD_FORK:
			if (is_silent(s, i))
				break;
			if (hash_table_claim(&s->table->links, link_hash(s, t->events[i].link_id),
				s->nforks) == HASH_TABLE_NONE)
				return false;
			s->forks[s->nforks++] = (struct fork_state){ i, TRACE_NONE, TRACE_NONE, 0 };
			break;
		default:
			break;
		}
	}
	return true;
}

static struct fork_state *
fork_of_link(const struct trace_survey *s, uint64_t link)
{
	uint32_t at = hash_table_find(&s->table->links, link_hash(s, link));

	return at != HASH_TABLE_NONE ? &s->forks[at] : NULL;
}

static void
pair_links(struct trace_survey *s)
{
	const struct trace *t = s->t;

	for (uint32_t i = 0; i < t->nevents; i++) {
		uint8_t kind = kind_of(s, i);
		struct fork_state *f;

		if ((kind != RECORD_UNIT_BEGIN && kind != RECORD_JOIN) ||
		    (f = fork_of_link(s, t->events[i].link_id)) == NULL)
			continue;
		if (kind == RECORD_JOIN) {
			f->join = i;
			continue;
		}
		f->again += f->unit != TRACE_NONE;
		f->unit = f->unit == TRACE_NONE ? t->events[i].unit : f->unit;
		s->fork_of[t->events[i].unit] = (uint32_t)(f - s->forks);
	}
}

static uint32_t
begin_label(const struct trace_survey *s, uint32_t unit)
{
	return s->begin[unit] != TRACE_NONE ? s->t->events[s->begin[unit]].label : LABEL_NONE;
}

/* Whether a unit of another trace began on the thread of the fork's unit from the fork on until
 * `until_ns`. */
static bool
is_shared(const struct trace_survey *s, const struct fork_state *f, int64_t until_ns)
{
	const struct event *e = &s->t->events[f->event];
	int64_t shared_ns = s->t->units[e->unit].shared_ns;

	return shared_ns != 0 && shared_ns >= e->time_ns && shared_ns <= until_ns;
}

/* The time until which forked work lasts: its join, the end of its unit, or for ever. */
static int64_t
over_ns(const struct trace_survey *s, const struct fork_state *f)
{
	if (f->join != TRACE_NONE)
		return s->t->events[f->join].time_ns;
	if (f->unit != TRACE_NONE && s->end[f->unit] != TRACE_NONE)
		return s->t->events[s->end[f->unit]].time_ns;
	return INT64_MAX;
}

static void
count_fork(struct trace_survey *s, const struct fork_state *f)
{
	const struct event *e = &s->t->events[f->event];
	struct place_facts none, *p = place_or(s->table, s->t->type, e->label, &none);
	bool joined = f->join != TRACE_NONE, begun = f->unit != TRACE_NONE,
	     shared = is_shared(s, f, over_ns(s, f));

	p->forked++;
	p->begun += begun;
	p->ended += begun && s->end[f->unit] != TRACE_NONE;
	p->joined += joined;
	p->joined_unbegun += joined && !begun;
	p->begun_again += f->again;
	*(joined ? (shared ? &p->shared_joined : &p->alone_joined)
		 : (shared ? &p->shared_unjoined : &p->alone_unjoined)) += 1;
	p->unit = begun ? begin_label(s, f->unit) : p->unit;
	p->forker = begin_label(s, e->unit);
}

/* For a fork without a join whose unit has ended: the gap in the forking unit in which that was,
 * from event *before to the next one. False: there is none. O(log events). */
static bool
find_gap(const struct trace_survey *s, const struct fork_state *f, uint32_t *before)
{
	const struct trace *t = s->t;
	const struct unit *u = &t->units[t->events[f->event].unit];
	uint32_t low, high;
	int64_t end_ns;

	if (f->join != TRACE_NONE || f->unit == TRACE_NONE || s->end[f->unit] == TRACE_NONE)
		return false;
	end_ns = t->events[s->end[f->unit]].time_ns;
	low = f->event + 1;
	high = u->first + u->count;
	for (uint32_t n = high;
	     low < n;) { /* the first event after the fork that is not before it */
		uint32_t middle = low + (n - low) / 2;

		if (t->events[middle].time_ns < end_ns)
			low = middle + 1;
		else
			n = middle;
	}
	*before = low - 1;
	return low < high && t->events[low - 1].time_ns <= end_ns;
}

/* The fork is the one whose unit was the last to end in the gap. */
static bool
is_last_in_gap(const struct trace_survey *s, uint32_t fork, uint32_t before)
{
	int64_t end_ns = s->t->events[s->end[s->forks[fork].unit]].time_ns;

	for (uint32_t i = 0; i < s->nforks; i++) {
		uint32_t its;
		int64_t its_ns;

		if (i == fork || !find_gap(s, &s->forks[i], &its) || its != before)
			continue;
		its_ns = s->t->events[s->end[s->forks[i].unit]].time_ns;
		if (its_ns > end_ns || (its_ns == end_ns && i > fork))
			return false;
	}
	return true;
}

/* Beyond so many forks of one trace gaps are not compared: that is quadratic. */
enum { GAP_FORKS_MAX = 64 };

static void
count_gap(struct trace_survey *s, uint32_t fork)
{
	const struct fork_state *f = &s->forks[fork];
	const struct event *events = s->t->events;
	struct place_facts none, *p;
	uint32_t before;

	if (s->nforks > GAP_FORKS_MAX || !find_gap(s, f, &before) ||
	    !is_last_in_gap(s, fork, before))
		return;
	p = place_or(s->table, s->t->type, events[f->event].label, &none);
	p->in_gap++;
	p->gap_ns += (double)(events[before + 1].time_ns - events[before].time_ns);
	p->slack_ns += (double)(events[before + 1].time_ns - events[s->end[f->unit]].time_ns);
}

static void
count_unit(struct trace_survey *s, uint32_t unit)
{
	struct place_facts none, *p;
	bool joined = s->fork_of[unit] != TRACE_NONE && s->forks[s->fork_of[unit]].unit == unit &&
	              s->forks[s->fork_of[unit]].join != TRACE_NONE;

	if (s->begin[unit] == TRACE_NONE || kind_of(s, s->begin[unit]) != RECORD_UNIT_BEGIN ||
	    is_silent(s, s->begin[unit]))
		return;
	p = place_or(s->table, s->t->type, begin_label(s, unit), &none);
	p->units++;
	p->joined_units += joined;
	p->open_units += joined && s->end[unit] == TRACE_NONE;
	p->orphans += s->fork_of[unit] == TRACE_NONE;
}

/* Whether a unit of another trace began on the thread while the request's first unit had work forked
 * that was not over. */
static bool
is_open_shared(const struct trace_survey *s)
{
	for (uint32_t i = 0; i < s->nforks; i++)
		if (s->t->events[s->forks[i].event].unit == s->t->root &&
		    is_shared(s, &s->forks[i], over_ns(s, &s->forks[i])))
			return true;
	return false;
}

static void
count_request(struct trace_survey *s)
{
	const struct trace *t = s->t;
	struct place_facts none, *p;

	if (t->type == LABEL_NONE) {
		for (uint32_t u = 0; u < t->nunits; u++)
			if (s->begin[u] != TRACE_NONE) {
				place_or(s->table, LABEL_NONE, begin_label(s, u), &none)
				    ->headless++;
				break;
			}
		return;
	}
	p = place_or(s->table, t->type, t->type, &none);
	p->requests++;
	p->open += t->incomplete == INCOMPLETE_NO_END;
	p->open_shared += t->incomplete == INCOMPLETE_NO_END && is_open_shared(s);
	p->ended_again += t->incomplete == INCOMPLETE_SEVERAL_ENDS;
	p->ended_first += t->incomplete == INCOMPLETE_END_FIRST;
	for (uint32_t i = 0; i < t->nevents && t->incomplete == INCOMPLETE_SEVERAL_BEGINS; i++)
		if (kind_of(s, i) == RECORD_REQUEST_BEGIN && t->events[i].unit != t->root)
			place_or(s->table, t->type, t->events[i].label, &none)->begun_inside++;
}

bool
place_table_add(struct place_table *p, const struct trace *t, const struct labels *labels)
{
	struct trace_survey s = {
		.table = p, .t = t, .kinds = labels_kinds(labels), .seed = hash_seed()
	};
	bool done = false;

	p->traces++;
	if (t->lossy || t->incomplete == INCOMPLETE_TOO_LONG) {
		p->lossy++;
		return true;
	}
	hash_table_clear(&p->links);
	s.forks = malloc((t->nevents + 1) * sizeof *s.forks);
	s.fork_of = malloc((t->nunits + 1) * 3 * sizeof *s.fork_of);
	if (s.forks != NULL && s.fork_of != NULL) {
		s.begin = s.fork_of + t->nunits;
		s.end = s.begin + t->nunits;
		done = survey_events(&s);
	}
	if (done) {
		pair_links(&s);
		count_request(&s);
		for (uint32_t i = 0; i < s.nforks; i++) {
			count_fork(&s, &s.forks[i]);
			count_gap(&s, i);
		}
		for (uint32_t u = 0; u < t->nunits; u++)
			count_unit(&s, u);
	}
	free(s.forks);
	free(s.fork_of);
	return done;
}

bool
place_table_mapped(struct place_table *p, uint32_t label, enum mapped_event what, uint32_t times)
{
	struct place_facts *f = place(p, LABEL_NONE, label);

	if (f == NULL && p->n < PLACES_MAX)
		return false;
	if (f == NULL) {
		p->beyond++;
		return true;
	}
	f->mapped += times;
	f->mapped_idless += what == MAPPED_IDLESS ? times : 0;
	f->mapped_alone += what == MAPPED_ALONE ? times : 0;
	f->mapped_inside += what == MAPPED_INSIDE ? times : 0;
	return true;
}

static bool
has_type(const struct place_table *p, uint32_t type)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->items[i].type == type)
			return true;
	return false;
}

bool
place_table_merge_open(struct place_table *into, const struct place_table *longer)
{
	for (uint32_t i = 0; i < longer->n; i++) {
		const struct place_facts *f = &longer->items[i];
		struct place_facts *p;

		if (f->open_units == 0 || !has_type(into, f->type))
			continue;
		if ((p = place(into, f->type, f->label)) == NULL && into->n < PLACES_MAX)
			return false;
		if (p == NULL)
			continue;
		if (p->units > 0)
			continue;
		p->units = f->units;
		p->joined_units = f->joined_units;
		p->open_units = f->open_units;
	}
	return true;
}

bool
place_table_merge(struct place_table *into, const struct place_table *from)
{
	for (uint32_t i = 0; i < from->n; i++) {
		const struct place_facts *f = &from->items[i];
		struct place_facts *p = place(into, f->type, f->label);

		if (p == NULL && into->n < PLACES_MAX)
			return false;
		if (p == NULL) {
			into->beyond++;
			continue;
		}
#define ADD(field) p->field += f->field
		ADD(forked), ADD(begun), ADD(ended), ADD(joined), ADD(joined_unbegun),
		    ADD(begun_again);
		ADD(shared_joined), ADD(shared_unjoined), ADD(alone_joined), ADD(alone_unjoined);
		ADD(in_gap), ADD(gap_ns), ADD(slack_ns);
		ADD(units), ADD(joined_units), ADD(open_units), ADD(orphans);
		ADD(requests), ADD(open), ADD(open_shared), ADD(ended_again), ADD(ended_first);
		ADD(begun_inside), ADD(headless);
		ADD(mapped), ADD(mapped_idless), ADD(mapped_alone), ADD(mapped_inside);
#undef ADD
		p->unit = f->unit != LABEL_NONE ? f->unit : p->unit;
		p->forker = f->forker != LABEL_NONE ? f->forker : p->forker;
	}
	into->traces += from->traces;
	into->lossy += from->lossy;
	into->beyond += from->beyond;
	return true;
}
