/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *	parent  --fork------------------join-----end        the walk, from the end:
 *	            \                  /                     end, join, unit_end, x, unit_begin, fork
 *	child        unit_begin-x-unit_end
 *
 * A unit is walked backwards only below where it was walked before (`low`), so
 * whatever the records say, no event is walked twice and the walk ends.
 *
 * Times. The unit that was joined ended before the join, so inside of it no time
 * is later than the join's (`high`): what it did after it had answered counts as
 * at the join. That is the way backwards; then, forwards, no step is earlier
 * than the one before. The joiner's own times are never touched by a child's
 * clock: a child that is ahead is held down by its join, one that is behind is
 * pulled up to its fork, and both ends of the request stay where they are.
 */
#include <string.h>

#include "analysis/critpath.h"

enum { SKIPPED = 63 }; /* instead of a kind: an event that is not to be seen */

struct link_slot {
	uint64_t link;
	uint32_t unit; /* TRACE_NONE: free */
};

struct unit_visit {   /* one for each unit */
	uint32_t low; /* only events before this one, counted from the unit's first, are still to be
	                 walked */
	uint32_t
	    last; /* its unit_end, else its last event to be seen; TRACE_NONE: nothing to see */
	uint32_t begin; /* its first unit_begin or request_begin; TRACE_NONE */
	uint32_t name;  /* the label that it goes by: of `begin`, or of its first event if that is
	                   silent */
	uint32_t same_link; /* the next unit that the same link began (a message that was handled
	                       twice) */
	uint32_t joiner, resume; /* the unit that waited, and where it goes on if the way back to
	                            the fork is lost: events before `resume` */
	int64_t high_ns;
	bool left; /* walked to its beginning, and out of it */
};

struct path_walk {
	const struct trace *t;
	uint8_t *kinds;
	struct unit_visit *visits;
	struct link_slot *links;
	uint32_t mask;
	struct step *steps; /* backwards */
	uint32_t nsteps;
	uint32_t unit, at; /* the event before this one, counted from the unit's first, is next */
};

static struct link_slot *
find_link(const struct path_walk *w, uint64_t link)
{
	uint32_t at = (uint32_t)hash_u64(link) & w->mask;

	while (w->links[at].unit != TRACE_NONE && w->links[at].link != link)
		at = (at + 1) & w->mask;
	return &w->links[at];
}

static inline const struct event *
event_at(const struct path_walk *w, uint32_t unit, uint32_t at)
{
	return &w->t->events[w->t->units[unit].first + at];
}

static inline uint8_t
kind_at(const struct path_walk *w, uint32_t unit, uint32_t at)
{
	return w->kinds[w->t->units[unit].first + at] & ~KIND_SILENT;
}

/* Looks at a unit's events once: which are to be seen, where it begins and ends. */
static void
survey_unit(
    struct path_walk *w, uint32_t unit, const uint8_t *const *kinds, const struct label_set *keep)
{
	const struct unit *u = &w->t->units[unit];
	struct unit_visit *v = &w->visits[unit];
	bool ended = false;

	*v = (struct unit_visit){ .low = u->count,
		.last = TRACE_NONE,
		.begin = TRACE_NONE,
		.name = LABEL_NONE,
		.same_link = TRACE_NONE,
		.joiner = TRACE_NONE,
		.high_ns = INT64_MAX };
	for (uint32_t i = 0; i < u->count; i++) {
		uint32_t label = w->t->events[u->first + i].label;
		uint8_t kind = kind_in(kinds, label);

		w->kinds[u->first + i] = kind;
		if (v->name == LABEL_NONE && !(kind & KIND_SILENT))
			v->name = label;
		kind &= ~KIND_SILENT;
		if (kind == RECORD_POINT && keep != NULL && !label_set_has(keep, label))
			w->kinds[u->first + i] = kind = SKIPPED;
		if ((kind == RECORD_UNIT_BEGIN || kind == RECORD_REQUEST_BEGIN) &&
		    v->begin == TRACE_NONE) {
			v->begin = i;
			if (!(w->kinds[u->first + i] & KIND_SILENT))
				v->name = label;
		}
		if (kind != SKIPPED && (!ended || kind == RECORD_UNIT_END))
			v->last = i;
		ended |= kind == RECORD_UNIT_END;
	}
}

static int
survey(struct path_walk *w, const struct labels *labels, const struct label_set *keep,
    struct arena *a, struct err *e)
{
	const struct trace *t = w->t;
	uint32_t cap = 4;

	while (cap < 2 * t->nunits)
		cap *= 2;
	w->mask = cap - 1;
	w->links = arena_alloc(a, cap * sizeof *w->links);
	w->visits = arena_alloc(a, t->nunits * sizeof *w->visits);
	w->kinds = arena_alloc(a, t->nevents);
	w->steps = arena_alloc(a, t->nevents * sizeof *w->steps);
	if (w->links == NULL || w->visits == NULL || w->kinds == NULL || w->steps == NULL)
		return err_set(
		    e, ERR_MEMORY, "no memory for a critical path of %u events", t->nevents);
	for (uint32_t i = 0; i < cap; i++)
		w->links[i].unit = TRACE_NONE;
	for (uint32_t u = 0; u < t->nunits; u++) {
		struct link_slot *slot;

		survey_unit(w, u, labels_kinds(labels), keep);
		if (w->visits[u].begin == TRACE_NONE ||
		    kind_at(w, u, w->visits[u].begin) != RECORD_UNIT_BEGIN)
			continue;
		slot = find_link(w, event_at(w, u, w->visits[u].begin)->link_id);
		w->visits[u].same_link = slot->unit;
		*slot = (struct link_slot){ event_at(w, u, w->visits[u].begin)->link_id, u };
	}
	w->visits[t->root].high_ns = t->end_ns;
	return 0;
}

/* The event to be seen before `at`, or TRACE_NONE; joins: whether joins are such. */
static uint32_t
seen_before(const struct path_walk *w, uint32_t unit, uint32_t at, bool joins)
{
	while (at-- > 0) {
		uint8_t kind = kind_at(w, unit, at);

		if (kind != SKIPPED && (joins || kind != RECORD_JOIN))
			return at;
	}
	return TRACE_NONE;
}

/* When the unit was done, as far as somebody can tell who had its result at join_ns. */
static int64_t
done_ns(const struct path_walk *w, uint32_t unit, int64_t join_ns)
{
	int64_t t = event_at(w, unit, w->visits[unit].last)->time_ns;

	return t < join_ns ? t : join_ns;
}

/* Which unit gave the result that was joined: of those that the link began and that were not walked
 * yet, the last that was done by then; when none was, the one that was done first. TRACE_NONE:
 * none. */
static uint32_t
joined_unit(const struct path_walk *w, uint64_t link, int64_t join_ns)
{
	uint32_t best = TRACE_NONE;
	int64_t best_ns = 0;

	for (uint32_t u = find_link(w, link)->unit; u != TRACE_NONE; u = w->visits[u].same_link) {
		int64_t t;
		bool in_time, better;

		if (w->visits[u].low <= w->visits[u].last)
			continue;
		t = event_at(w, u, w->visits[u].last)->time_ns;
		in_time = t <= join_ns;
		better = best == TRACE_NONE ||
		         (in_time ? best_ns > join_ns || t > best_ns : t < best_ns);
		if (better) {
			best = u;
			best_ns = t;
		}
	}
	return best;
}

static void
push(struct path_walk *w, uint32_t unit, uint32_t at)
{
	const struct unit_visit *v = &w->visits[unit];
	const struct event *e = event_at(w, unit, at);

	w->steps[w->nsteps++] = (struct step){
		.time_ns = e->time_ns < v->high_ns ? e->time_ns : v->high_ns,
		.event = (uint32_t)(e - w->t->events),
		.label = e->label,
		.unit_label = v->name != LABEL_NONE ? v->name : e->label,
	};
}

/* Goes on in a unit, before `at`. What bounds its times is who first came from where: coming back
 * to it out of a unit that it waited for must not bring that one's clock along. */
static void
enter(struct path_walk *w, uint32_t unit, uint32_t at, uint32_t joiner, uint32_t resume,
    int64_t high_ns)
{
	struct unit_visit *v = &w->visits[unit];

	if (v->joiner == TRACE_NONE && unit != w->t->root) {
		v->joiner = joiner;
		v->resume = resume;
	}
	if (v->high_ns == INT64_MAX)
		v->high_ns = high_ns;
	w->unit = unit;
	w->at = at < v->low ? at : v->low;
}

/*
 * At a join; `at` is its place. Joins that follow each other with nothing seen
 * between them waited together (for all of several calls): whoever of their
 * units was done last is who was waited for, if that was after what the parent did
 * before them. What the parent did last may be the very fork: then it did
 * nothing but wait, whatever the child's clock says.
 */
static void
pass_joins(struct path_walk *w, uint32_t at)
{
	uint32_t unit = w->unit, prev = seen_before(w, unit, at, false), child = TRACE_NONE,
		 join = at;
	int64_t latest = INT64_MIN,
		prev_ns = prev != TRACE_NONE ? event_at(w, unit, prev)->time_ns : INT64_MIN;
	uint32_t prev_event = prev != TRACE_NONE ? w->t->units[unit].first + prev : TRACE_NONE;

	for (uint32_t j = at; j != TRACE_NONE && j != prev; j = seen_before(w, unit, j, true)) {
		const struct event *e = event_at(w, unit, j);
		uint32_t u = joined_unit(w, e->link_id, e->time_ns);
		int64_t t = u != TRACE_NONE ? done_ns(w, u, e->time_ns) : INT64_MIN;

		if (u == TRACE_NONE || u == unit)
			continue;
		if (t < prev_ns && w->t->units[u].fork == prev_event && prev_event != TRACE_NONE)
			t = prev_ns;
		if (t <= latest || t < prev_ns ||
		    (t == prev_ns && w->t->units[u].fork != prev_event))
			continue;
		latest = t;
		child = u;
		join = j;
	}
	for (uint32_t j = at; j != TRACE_NONE && j != prev; j = seen_before(w, unit, j, true)) {
		push(w, unit, j);
		if (j == join && child != TRACE_NONE)
			break;
	}
	w->at = w->visits[unit].low = prev != TRACE_NONE ? prev + 1 : 0;
	if (child != TRACE_NONE)
		enter(w, child, w->visits[child].last + 1, unit, w->at,
		    w->steps[w->nsteps - 1].time_ns);
}

/* At the beginning of a unit: on to the fork, or if that is not on record, to what the one who
 * waited did before. false: there is no way on. Only nonsense leads out of a unit twice, and it
 * could do so for ever. */
static bool
leave(struct path_walk *w)
{
	struct unit_visit *v = &w->visits[w->unit];
	uint32_t fork = w->t->units[w->unit].fork, unit;

	if (v->left)
		return false;
	v->left = true;
	v->low = 0;
	if (fork != TRACE_NONE) {
		unit = w->t->events[fork].unit;
		enter(
		    w, unit, fork - w->t->units[unit].first + 1, v->joiner, v->resume, v->high_ns);
		if (w->at > 0)
			return true;
		v = &w->visits[w->unit];
	}
	if (v->joiner == TRACE_NONE)
		return false;
	unit = v->joiner;
	enter(w, unit, v->resume, TRACE_NONE, 0, INT64_MAX);
	return true;
}

/* From the request's end backwards. false: the way does not lead to its begin. */
static bool
walk(struct path_walk *w)
{
	for (;;) {
		uint32_t at = seen_before(w, w->unit, w->at, true);
		uint8_t kind = at != TRACE_NONE ? kind_at(w, w->unit, at)
		                                : (uint8_t)RECORD_UNIT_BEGIN;

		if (kind == RECORD_JOIN) {
			pass_joins(w, at);
			continue;
		}
		if (at != TRACE_NONE) {
			push(w, w->unit, at);
			w->at = w->visits[w->unit].low = at;
		}
		if (kind == RECORD_REQUEST_BEGIN)
			return true;
		if (kind == RECORD_UNIT_BEGIN && !leave(w))
			return false;
	}
}

/* Turns the steps round, counts those whose own time is before their cause's, and moves them. */
static uint32_t
make_causal(struct path_walk *w)
{
	const struct event *events = w->t->events;
	struct step swap;
	uint32_t moved = 0;

	for (uint32_t i = 0, j = w->nsteps - 1; i < j; i++, j--) {
		swap = w->steps[i];
		w->steps[i] = w->steps[j];
		w->steps[j] = swap;
	}
	for (uint32_t i = 1; i < w->nsteps; i++) {
		struct step *s = &w->steps[i];

		moved += events[s->event].time_ns < events[s[-1].event].time_ns;
		if (s->time_ns < s[-1].time_ns)
			s->time_ns = s[-1].time_ns;
	}
	return moved;
}

/*
 * Takes the silent steps out, and says where the time before each that is left
 * was spent: in a unit if the walk stayed in it. Where silent ones lie in
 * between, the longest stretch tells, and one within a unit before one on the way.
 */
static uint32_t
keep_steps(struct path_walk *w)
{
	const struct event *events = w->t->events;
	struct step *steps = w->steps;
	uint32_t n = 1, owner = LABEL_NONE, last_unit = events[steps[0].event].unit;
	int64_t longest_ns = -1, last_ns = steps[0].time_ns;

	steps[0].owner = LABEL_NONE;
	for (uint32_t i = 1; i < w->nsteps; i++) {
		struct step s = steps[i];
		uint32_t unit = events[s.event].unit,
			 here = unit == last_unit ? s.unit_label : LABEL_NONE;
		int64_t took_ns = s.time_ns - last_ns;

		if (took_ns > longest_ns || (took_ns == longest_ns && owner == LABEL_NONE)) {
			longest_ns = took_ns;
			owner = here;
		}
		last_unit = unit;
		last_ns = s.time_ns;
		if (w->kinds[s.event] & KIND_SILENT)
			continue;
		s.owner = owner;
		steps[n++] = s;
		longest_ns = -1;
		owner = LABEL_NONE;
	}
	return n;
}

static bool
find_end(struct path_walk *w)
{
	const struct trace *t = w->t;

	for (uint32_t i = t->nevents; i-- > 0;)
		if (w->kinds[i] == RECORD_REQUEST_END) {
			enter(w, t->events[i].unit, i + 1 - t->units[t->events[i].unit].first,
			    TRACE_NONE, 0, t->end_ns);
			return true;
		}
	return false;
}

int
critpath_extract(struct critpath *ret, const struct trace *t, const struct labels *labels,
    const struct label_set *keep, struct arena *a, struct err *e)
{
	struct path_walk w = { .t = t };
	int rc = survey(&w, labels, keep, a, e);

	if (rc != 0)
		return rc;
	if (!find_end(&w) || !walk(&w) || w.nsteps < 2)
		return err_set(e, ERR_INPUT, "trace %016llx has no path from its end to its begin",
		    (unsigned long long)t->id);
	ret->moved = make_causal(&w);
	ret->nsteps = keep_steps(&w);
	ret->steps = w.steps;
	return 0;
}
