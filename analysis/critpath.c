/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk, from the end of the request backwards:
 *
 *	parent  --fork------------------join-----end        end, join, unit_end, x, unit_begin, fork
 *	            \                  /
 *	child        unit_begin-x-unit_end
 *
 * A unit is only walked below the events that were walked before (`low`). So no event is walked
 * twice, and the walk ends for any records, malformed ones included.
 *
 * Times: the joined unit ended before the join, so no time inside it is later than that of the
 * join (`high`); what it did after its answer counts as at the join. This limits times on the
 * way backwards. Afterwards, forwards, no step is earlier than the one before it. A child's
 * clock never changes the times of the unit that joined it: a child whose clock is ahead is
 * limited by its join, one whose clock is behind is raised to its fork, and both ends of the
 * request keep their times.
 */
#include <assert.h>
#include <string.h>

#include "analysis/critpath.h"
#include "analysis/done_units.h"
#include "base/hash_table.h"

enum { SKIPPED = 63 }; /* instead of a kind: the event is not part of the walk */

struct unit_visit {   /* state of the walk in one unit */
	uint32_t low; /* events of the unit before this one are still to be walked */
	/* Its unit_end, otherwise its last visible event; TRACE_NONE: no visible event. */
	uint32_t last;
	uint32_t begin; /* its first unit_begin or request_begin; TRACE_NONE */
	/* Label of `begin`; if that is silent, of its first event that is not. */
	uint32_t name;
	/* Next unit begun by the same link (a message that was handled twice). */
	uint32_t same_link;
	/* Of the unit that its link leads to, if it began several: they are done[first_done...]
	 * once ndone > 0. */
	uint32_t first_done, ndone;
	/* The unit that waited for this one, and where the walk continues in it if the fork is
	 * lost: events before `resume`. */
	uint32_t joiner, resume;
	int64_t high_ns;
	/* Of the path from its begin to its end: the unit's last step, the call that it is or that
	 * it continues (step.within), and the unit that was entered before it. */
	uint32_t last_step, call, below;
	bool is_call, entered;
	bool left; /* walked to its beginning and left */
};

_Static_assert(HASH_TABLE_NONE == (uint32_t)TRACE_NONE, "a link that began no unit");

struct path_walk {
	const struct trace *t;
	uint8_t *kinds;
	struct unit_visit *visits;
	struct hash_table
	    links;     /* link -> the last unit that it began; visits[].same_link leads on */
	uint64_t seed; /* of the hashes of links, which traced programs choose */
	struct done_unit *done; /* NULL: each link began one unit */
	uint32_t ndone;
	struct step *steps; /* in reverse order */
	uint32_t nsteps;
	uint32_t unit, at; /* the event of `unit` before number `at` is next */
};

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

/* Reads the events of a unit once: which ones are visible, where it begins and ends. */
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
		.last_step = TRACE_NONE,
		.joiner = TRACE_NONE,
		.high_ns = INT64_MAX };
	for (uint32_t i = 0; i < u->count; i++) {
		uint32_t label = w->t->events[u->first + i].label;
		uint8_t kind = kind_in(kinds, label);

		w->kinds[u->first + i] = kind;
		if (kind == RECORD_WAIT || kind == RECORD_SAMPLE) {
			w->kinds[u->first + i] = SKIPPED;
			continue;
		}
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

static inline uint64_t
link_hash(const struct path_walk *w, uint64_t link)
{
	return hash_u64(link ^ w->seed);
}

static int
survey(struct path_walk *w, const struct labels *labels, const struct label_set *keep,
    struct arena *a, struct err *e)
{
	const struct trace *t = w->t;
	bool several = false;

	w->seed = hash_seed();
	if (!hash_table_in_arena(&w->links, a, t->nunits))
		return err_set(
		    e, ERR_MEMORY, "no memory for a critical path of %u units", t->nunits);
	w->visits = arena_alloc(a, t->nunits * sizeof *w->visits);
	w->kinds = arena_alloc(a, t->nevents);
	w->steps = arena_alloc(a, t->nevents * sizeof *w->steps);
	if (w->visits == NULL || w->kinds == NULL || w->steps == NULL)
		return err_set(
		    e, ERR_MEMORY, "no memory for a critical path of %u events", t->nevents);
	for (uint32_t u = 0; u < t->nunits; u++) {
		struct hash_slot *slot;
		uint64_t hash;

		survey_unit(w, u, labels_kinds(labels), keep);
		if (w->visits[u].begin == TRACE_NONE ||
		    kind_at(w, u, w->visits[u].begin) != RECORD_UNIT_BEGIN)
			continue;
		hash = link_hash(w, event_at(w, u, w->visits[u].begin)->link_id);
		if ((slot = hash_table_first(&w->links, hash)) != NULL) {
			w->visits[u].same_link = slot->entry;
			slot->entry = u;
			several = true;
		} else {
			hash_table_put(&w->links, hash, u);
		}
	}
	w->visits[t->root].high_ns = t->end_ns;
	if (several && (w->done = arena_alloc(a, t->nunits * sizeof *w->done)) == NULL)
		return err_set(
		    e, ERR_MEMORY, "no memory for a critical path of %u units", t->nunits);
	return 0;
}

/* The visible event before `at`, or TRACE_NONE; `joins`: include joins. */
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

/* The time at which `unit` was done, for the unit that received its result at join_ns. */
static int64_t
done_ns(const struct path_walk *w, uint32_t unit, int64_t join_ns)
{
	int64_t t = event_at(w, unit, w->visits[unit].last)->time_ns;

	return t < join_ns ? t : join_ns;
}

/* Whether the walk has been at the end of the unit: it ends there no second time. */
static inline bool
is_walked(const struct path_walk *w, uint32_t unit)
{
	return w->visits[unit].low <= w->visits[unit].last;
}

/* Sorts the units of a link that began several, at its first join. A unit has one link, so all
 * links together need no more room than there are units. */
static struct done_unit *
done_of_link(struct path_walk *w, uint32_t unit)
{
	struct unit_visit *v = &w->visits[unit];

	if (v->ndone > 0)
		return &w->done[v->first_done];
	v->first_done = w->ndone;
	for (uint32_t u = unit; u != TRACE_NONE; u = w->visits[u].same_link)
		w->done[w->ndone++] = (struct done_unit){
			.time_ns = event_at(w, u, w->visits[u].last)->time_ns, .unit = u
		};
	v->ndone = w->ndone - v->first_done;
	assert(w->ndone <= w->t->nunits);
	done_units_sort(&w->done[v->first_done], v->ndone);
	return &w->done[v->first_done];
}

/* The unit whose result was joined: of those begun by the link and not walked yet the last one
 * done by join_ns; if there is none, the first one done after it. TRACE_NONE: none. O(log units),
 * and O(units log units) at the first join of a link that began several. */
static uint32_t
joined_unit(struct path_walk *w, uint64_t link, int64_t join_ns)
{
	uint32_t unit = hash_table_find(&w->links, link_hash(w, link)), at;
	struct done_unit *done;

	if (unit == TRACE_NONE || w->visits[unit].same_link == TRACE_NONE)
		return unit != TRACE_NONE && !is_walked(w, unit) ? unit : TRACE_NONE;
	done = done_of_link(w, unit);
	while ((at = done_units_find(done, w->visits[unit].ndone, join_ns)) != DONE_UNITS_NONE) {
		if (!is_walked(w, done[at].unit))
			return done[at].unit;
		done_units_remove(done, at);
	}
	return TRACE_NONE;
}

static void
push(struct path_walk *w, uint32_t unit, uint32_t at)
{
	const struct unit_visit *v = &w->visits[unit];
	const struct event *e = event_at(w, unit, at);

	assert(w->nsteps < w->t->nevents);
	w->steps[w->nsteps++] = (struct step){
		.time_ns = e->time_ns < v->high_ns ? e->time_ns : v->high_ns,
		.event = (uint32_t)(e - w->t->events),
		.label = e->label,
		.unit_label = v->name != LABEL_NONE ? v->name : e->label,
	};
}

/* Continues in a unit, before `at`. The limit of its times is set by the first entry only: on
 * the way back from a unit that it waited for, that unit's clock must not limit it. */
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
 * Passes the join at `at`. Joins without visible events between them waited together (for
 * several calls): the path continues in the unit that was done last, if that was after the
 * parent's previous event. If the parent's previous event is the fork of that unit, the parent
 * only waited, also if the child's clock shows another time.
 */
static void
pass_joins(struct path_walk *w, uint32_t at)
{
	uint32_t unit = w->unit, prev = seen_before(w, unit, at, false), child = TRACE_NONE,
		 join = at;
	int64_t latest = INT64_MIN,
		prev_ns = prev != TRACE_NONE ? event_at(w, unit, prev)->time_ns : INT64_MIN;
	uint32_t prev_event = prev != TRACE_NONE ? w->t->units[unit].first + prev : TRACE_NONE;

	assert(kind_at(w, unit, at) == RECORD_JOIN);
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

/* Leaves a unit at its beginning: to its fork, or if that was not recorded, to the unit that
 * waited for it. false: there is no way on. Malformed traces could leave a unit twice, and so
 * for ever; the second time ends the walk. */
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

/* Walks from the end of the request to its begin. false: no path leads there. */
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

/* Reverses the steps, and moves those that came before their cause. Returns their number. */
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

/* Finds the units that are calls: they end on the path, or the path returns to them. */
static void
find_calls(struct path_walk *w)
{
	const struct event *events = w->t->events;
	uint32_t before = TRACE_NONE;

	for (uint32_t i = 0; i < w->nsteps; i++) {
		uint32_t event = w->steps[i].event, unit = events[event].unit;
		struct unit_visit *v = &w->visits[unit];
		uint8_t kind = w->kinds[event] & ~KIND_SILENT;

		v->is_call |= kind == RECORD_UNIT_END ||
		              (before != unit && v->last_step != TRACE_NONE);
		v->last_step = i;
		before = unit;
	}
}

/* Sets `within` of each step, with a stack of the units that have further steps. O(steps). */
static void
set_calls(struct path_walk *w)
{
	uint32_t top = TRACE_NONE;

	find_calls(w);
	for (uint32_t i = 0; i < w->nsteps; i++) {
		struct step *s = &w->steps[i];
		uint32_t unit = w->t->events[s->event].unit;
		struct unit_visit *v = &w->visits[unit];

		while (top != TRACE_NONE &&
		       (w->visits[top].last_step < i || (v->entered && top != unit))) {
			w->visits[top].entered = false;
			top = w->visits[top].below;
		}
		s->within = top != TRACE_NONE ? w->visits[top].call : TRACE_NONE;
		if (v->entered)
			continue;
		v->call = v->is_call ? unit : s->within;
		v->below = top;
		v->entered = true;
		top = unit;
	}
}

/* Removes silent steps, and sets where the time before each remaining step was spent: in a unit
 * if the walk stayed in it. With silent steps in between, the longest part decides; at equal
 * length one within a unit. */
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
	set_calls(&w);
	ret->nsteps = keep_steps(&w);
	ret->steps = w.steps;
	return 0;
}
