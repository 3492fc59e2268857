/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search port filled in by a test, with the forest, the plan and the learned space in memory, and
 * one diagnosis. The program is written as in paths.h: one letter for each label, '(' and ')' are
 * always on, all are of one unit.
 */
#ifndef TESTS_SEARCH_FAKE_PORT_H
#define TESTS_SEARCH_FAKE_PORT_H

#include "paths.h"

#include "controlplane/search/diagnose.h"
#include "controlplane/search/enabled.h"
#include "controlplane/search/narrow.h"
#include "controlplane/search/search.h"
#include "controlplane/search/search_end.h"
#include "controlplane/search/search_hypothesis.h"
#include "controlplane/search/search_list.h"

#define MS_NS INT64_C(1000000)

struct fake {
	struct search_port port;
	struct paths paths; /* its labels, letters and arena are those of the port */
	struct preload_labels preload;
	struct path_counts counts;
	struct diagnosis *d;
	struct rng rng;
	/* what the port answers to the search */
	bool confirmed, over_budget, any_fresh, before, can_look_below, below_too_dear;
	const char *below_missing; /* what a node cannot say; NULL: nothing */
	int below;                 /* how often it is asked for */
	enum company_state company;
	struct mono company_since;
	struct label_set refused; /* labels that are over the overhead budget */
	const struct programs *programs;
	const struct mistake *mistake;        /* that concerns every path; NULL: none */
	struct captured_request captured[64]; /* the owner's answer */
	uint32_t ncaptured;
	bool cannot_capture;
	int64_t
	    captures; /* the limit that was asked for; 0: none is, or it is not needed any more */
	/* what the owner was asked */
	uint32_t enabled, audits, ended;
	struct audit audited; /* the last row; its texts are no longer valid */
};

static inline bool
fake_confirmed(void *owner)
{
	return ((struct fake *)owner)->confirmed;
}

static inline bool
fake_began_after(void *owner, const struct trace *t, int64_t time_ns)
{
	(void)owner;
	return t->begin_ns > time_ns;
}

static inline bool
fake_affordable(void *owner, uint32_t type, uint32_t label)
{
	struct fake *f = owner;

	assert_int_equal(type, f->d->type);
	return !label_set_has(&f->refused, label);
}

static inline bool
fake_affordable_unknown(void *owner, uint32_t type, const char *name)
{
	(void)owner;
	(void)type;
	(void)name;
	return true;
}

static inline bool
fake_affordable_below(void *owner, uint32_t type, const char *service)
{
	struct fake *f = owner;

	assert_int_equal(type, f->d->type);
	assert_string_equal(service, "s");
	return !f->below_too_dear;
}

static inline int
fake_enabled(void *owner, const char *name, struct err *e)
{
	struct fake *f = owner;

	(void)e;
	assert_true(plan_wants(f->port.plan, name));
	f->enabled++;
	return 0;
}

static inline bool
fake_over_budget(void *owner, uint32_t type)
{
	(void)type;
	return ((struct fake *)owner)->over_budget;
}

static inline bool
fake_costs_measured(void *owner)
{
	(void)owner;
	return true;
}

static inline bool
fake_any_fresh(void *owner)
{
	return ((struct fake *)owner)->any_fresh;
}

static inline const struct programs *
fake_programs(void *owner, uint32_t node)
{
	return node == 0 ? ((struct fake *)owner)->programs : NULL;
}

static inline bool
fake_retired(void *owner, const char *name)
{
	(void)owner;
	(void)name;
	return false;
}

static inline void
fake_audit(void *owner, const struct audit *own)
{
	((struct fake *)owner)->audits++;
	((struct fake *)owner)->audited = *own;
}

static inline bool
fake_mistaken(void *owner, uint32_t type, const uint32_t *path, uint32_t n, uint32_t from,
    struct mono since, struct mono now, struct mistake *ret)
{
	const struct fake *f = owner;

	assert_int_equal(type, f->d->type);
	assert_true(from + 1 < n && path[0] != LABEL_NONE);
	assert_true(since.ns == f->d->begun.ns && now.ns >= since.ns);
	if (f->mistake != NULL)
		*ret = *f->mistake;
	return f->mistake != NULL;
}

static inline bool
fake_below(void *owner, const char *service, char missing[BELOW_WHY_MAX + 1])
{
	struct fake *f = owner;

	assert_string_equal(service, "s");
	snprintf(
	    missing, BELOW_WHY_MAX + 1, "%s", f->below_missing != NULL ? f->below_missing : "");
	return f->can_look_below;
}

static inline enum company_state
fake_company(void *owner, struct mono *since)
{
	*since = ((struct fake *)owner)->company_since;
	return ((struct fake *)owner)->company;
}

static inline void
fake_look_below(void *owner, const char *service, bool before, bool on)
{
	assert_string_equal(service, "s");
	((struct fake *)owner)->below += on ? 1 : -1;
	((struct fake *)owner)->before = before;
}

static inline bool
fake_capture(void *owner, uint32_t type, int64_t over_ns)
{
	struct fake *f = owner;

	assert_int_equal(type, f->d->type);
	assert_true(over_ns > 0);
	f->captures = f->cannot_capture ? 0 : over_ns;
	return !f->cannot_capture;
}

static inline bool
fake_capturing(void *owner, uint32_t type, bool *on)
{
	(void)type;
	*on = ((struct fake *)owner)->captures > 0;
	return ((struct fake *)owner)->captures > 0;
}

static inline void
fake_captured_enough(void *owner, uint32_t type)
{
	(void)type;
	((struct fake *)owner)->captures = 0;
}

static inline uint32_t
fake_captured(void *owner, uint32_t type, struct captured_request *list, uint32_t max)
{
	const struct fake *f = owner;

	assert_int_equal(type, f->d->type);
	for (uint32_t i = 0; i < f->ncaptured && i < max; i++)
		list[i] = f->captured[i];
	return f->ncaptured;
}

static inline void
fake_ended(void *owner, struct wall when)
{
	(void)when;
	((struct fake *)owner)->ended++;
}

/* A label with a text of its own for a letter; call it after fake_begin(). */
static inline void
fake_label(struct fake *f, char letter, const char *text)
{
	f->paths.of[(int)letter] = labels_intern(
	    f->paths.labels, RECORD_POINT, text, strlen(text), NULL, 0);
}

static inline void
fake_begin(struct fake *f, const char *letters)
{
	static const struct search_calls CALLS = { fake_confirmed, fake_began_after,
		fake_affordable, fake_affordable_unknown, fake_affordable_below, fake_enabled,
		fake_over_budget, fake_costs_measured, fake_any_fresh, fake_programs, fake_retired,
		fake_audit, fake_mistaken, fake_below, fake_company, fake_look_below, fake_capture,
		fake_capturing, fake_captured_enough, fake_captured, fake_ended };
	static const char *const NODES[] = { "alpha" };
	struct diagnosis *d;

	*f = (struct fake){ .confirmed = true };
	paths_begin(&f->paths, letters);
	rng_seed(&f->rng, 1);
	preload_init(&f->preload, NULL, f->paths.labels);
	f->port = (struct search_port){
		.calls = &CALLS,
		.owner = f,
		.labels = f->paths.labels,
		.forest = forest_new(),
		.plan = plan_new(),
		.space = space_new(f->paths.labels),
		.preload = &f->preload,
		.node_names = NODES,
		.scratch = &f->paths.arena,
		.counts = &f->counts,
		.settings = { .conditions = { 0.10, 0.95, 30, 0.95 },
		    .groups_max = 64,
		    .samples_max = 512,
		    .memory_max_bytes = 256 << 20,
		    .searches_max = 4,
		    .isolate_min = 0.3,
		    .explain_min = 0.5,
		    .withdraw_ns = 5000 * MS_NS,
		    .cycle_max_ns = 20000 * MS_NS },
		.now = { 1000000 * MS_NS },
		.pause = { .reason = REASON_QUEUE_FULL, .queue = QUEUE_FILES, .fill = 0.6 },
		.shed_by = "",
		.shed = { .reason = REASON_LOAD_SHED, .queue = QUEUE_RING, .fill = 0.9 },
	};
	d = f->d = calloc(1, sizeof *f->d);
	d->run = forest_run_new(f->port.forest, "R");
	d->run->effort = 64;
	d->type = f->paths.of['('];
	d->strategy = strategy_find("bisect");
	d->k = 1;
	d->seed = 1;
	d->begun = d->checked = d->ready = f->port.now;
}

static inline void
fake_end(struct fake *f)
{
	diagnosis_free(f->d);
	label_set_release(&f->refused);
	preload_release(&f->preload);
	space_free(f->port.space);
	plan_free(f->port.plan);
	forest_free(f->port.forest);
	paths_end(&f->paths);
}

static inline const char *
fake_name(const struct fake *f, char letter, char out[LABEL_TEXT_MAX + 1])
{
	return tracepoint_name(f->port.labels, f->paths.of[(int)letter], out);
}

static inline bool
fake_wants(const struct fake *f, char letter)
{
	char name[LABEL_TEXT_MAX + 1];

	return plan_wants(f->port.plan, fake_name(f, letter, name));
}

/* A trace that lives as long as the given memory. */
struct fake_trace {
	struct trace t;
	struct unit unit;
	struct event events[PATH_MAX_STEPS];
};

/* time_ns[i] is the time between letters i and i + 1. all: record every label, enabled or not;
 * otherwise always-on labels and those in the plan. */
static inline struct trace *
fake_trace(
    struct fake *f, struct fake_trace *ret, const char *letters, const int64_t *time_ns, bool all)
{
	int64_t at = f->port.now.ns;

	*ret = (struct fake_trace){ .unit = { .id = 1, .fork = TRACE_NONE } };
	for (uint32_t i = 0; letters[i] != '\0'; i++) {
		at += i > 0 ? time_ns[i - 1] : 0;
		if (letters[i] == '(' || letters[i] == ')' || all || fake_wants(f, letters[i]))
			ret->events[ret->unit.count++] = (struct event){ .time_ns = at,
				.label = f->paths.of[(int)letters[i]] };
	}
	ret->t = (struct trace){ .id = ++f->paths.traces,
		.type = f->paths.of['('],
		.begin_ns = f->port.now.ns,
		.end_ns = at,
		.probed = true,
		.nevents = ret->unit.count,
		.nunits = 1,
		.events = ret->events,
		.units = &ret->unit };
	return &ret->t;
}

/* 1 ms and some noise on each edge; three requests in ten take at least 10 ms more on edge
 * `slow` (counted from 0; negative: on no edge). */
static inline void
fake_times(struct fake *f, const char *letters, int slow, int64_t *time_ns)
{
	for (int i = 0; letters[i + 1] != '\0'; i++)
		time_ns[i] = MS_NS + (int64_t)rng_below(&f->rng, MS_NS / 50);
	if (slow >= 0 && rng_below(&f->rng, 10) < 3)
		time_ns[slow] += 10 * MS_NS + (int64_t)rng_below(&f->rng, 2 * MS_NS);
}

static inline void
fake_learn(struct fake *f, const char *letters)
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct fake_trace t;

	for (int i = 0; i < 50; i++) {
		fake_times(f, letters, -1, time_ns);
		fake_trace(f, &t, letters, time_ns, true);
		assert_int_equal(space_learn(f->port.space, &t.t, NULL), 0);
	}
}

/* A trace as the diagnosis receives it. */
static inline void
fake_tell(struct fake *f, const struct trace *t)
{
	struct always_on_path path;

	assert_int_equal(
	    always_on_path_extract(&path, t, f->port.labels, NULL, f->port.scratch, NULL), 0);
	assert_int_equal(diagnose_trace(&f->port, f->d, t, &path, NULL), 0);
	arena_reset(f->port.scratch);
}

static inline void
fake_step(struct fake *f)
{
	assert_int_equal(
	    diagnose_step(&f->port, f->d, f->port.now, (struct wall){ f->port.now.ns }, NULL), 0);
	arena_reset(f->port.scratch);
}

/* One request every 20 ms, and a step of the diagnosis after each, until the diagnosis has ended
 * or *until holds (NULL: never). Returns whether one of the two happened. */
static inline bool
fake_play(struct fake *f, const char *letters, int slow, int requests,
    bool (*until)(const struct fake *f))
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct fake_trace t;

	for (int i = 0; i < requests; i++) {
		fake_times(f, letters, slow, time_ns);
		fake_trace(f, &t, letters, time_ns, false);
		f->port.now.ns += 20 * MS_NS;
		fake_tell(f, &t.t);
		fake_step(f);
		if (f->d->phase == PHASE_ENDED || (until != NULL && until(f)))
			return true;
	}
	return false;
}

/* A search that has not begun, of the group of `letters`, for the gap between two of its
 * letters, with its hypothesis. */
static inline struct search *
fake_search(struct fake *f, char from, char to)
{
	const struct gap gap = paths_gap(&f->paths, from, to, 0, false);
	struct search *s = search_list_add(f->d, &gap, (struct hash128){ 7, 7 });

	s->origin.hypothesis = s->at.hypothesis = hypothesis_new_from(&f->port, f->d, NULL);
	s->origin.problem = PROBLEM_UNPREDICTABLE;
	s->origin.share = s->at.share = 1;
	return s;
}

/* Its path consists of these letters. */
static inline void
fake_path(struct fake *f, struct search *s, const char *letters)
{
	struct step steps[PATH_MAX_STEPS];
	struct critpath path;
	struct shape shape;

	paths_shape(&f->paths, letters, NULL, &shape, &path, steps);
	assert_int_equal(remember_path(s, &shape, f->port.scratch, NULL), 0);
}

/* From the log: how often the label was enabled less how often it was disabled. letter 0: sum
 * over all labels. */
static inline int
fake_logged(const struct fake *f, char letter)
{
	char name[LABEL_TEXT_MAX + 1];
	const struct switched *s;
	uint64_t at = 0;
	int on = 0;

	while ((s = forest_switched_next(
		    f->port.forest, letter != 0 ? fake_name(f, letter, name) : NULL, &at)) != NULL)
		on += s->on ? 1 : -1;
	return on;
}

static inline const struct switched *
fake_last_switch(const struct fake *f)
{
	const struct switched *s, *last = NULL;
	uint64_t at = 0;

	while ((s = forest_switched_next(f->port.forest, NULL, &at)) != NULL)
		last = s;
	assert_non_null(last);
	return last;
}

#endif
