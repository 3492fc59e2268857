/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/report.h"

#include <assert.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bootstrap.h"
#include "analysis/quantile.h"

enum { EXPLAINED_MAX = 3, CALLS_MOST = 2048, CALLS_LEAST = 64 };
#define EXPLAINED_SHARE 0.1

struct report {
	struct report_options o;
	const struct labels *labels;
	struct groups *groups; /* of all request types: a path begins with its type's label */
	struct report_type *types;
	uint32_t ntypes;
	struct map type_of;  /* label + 1 -> struct report_type */
	struct map times_of; /* address of a group -> its struct timeline */
	struct map
	    judged_of; /* address of a group -> its struct judged, of the last report_judge() */
	struct arena times;  /* of all groups and types */
	uint32_t calls_left; /* of calls_max, for the profiles of further request types */
	struct report_counts counts;
	struct label_set wanted,
	    unwanted; /* labels of request types that match the pattern, or do not */
	struct label_set waits, works; /* labels that are excluded waits, or are not */
	struct label_set none;
	struct arena scratch; /* for one trace */
	/* of the last report_judge(): */
	struct judged *judged;
	struct judged **by_type;
	struct report_problem *problems;
	uint32_t nproblems;
	bool alone;           /* no other threads */
	struct arena *arenas; /* [threads], of what was found */
};

struct report_options
report_defaults(void)
{
	return (struct report_options){
		.conditions = { .cv_max = 0.10,
		    .slow_quantile = 0.95,
		    .traces_min = 30,
		    .confidence = 0.95 },
		.rounds = 200,
		.types_max = 1024,
		.groups_max = 2000,
		.samples_max = 256,
		.slow_max = 128,
		.memory_max_bytes = 64 << 20,
		.calls_max = 8192,
		.seed = 1,
		.key_q = 0.01,
		.explain_min = 0.25,
		.tail_part = 0.01,
		.threads = 2,
	};
}

struct report *
report_new(const struct report_options *o, const struct labels *labels)
{
	struct report *r = calloc(1, sizeof *r);
	struct groups_options go = { .groups_max = o->groups_max,
		.samples_max = o->samples_max,
		.slow_max = o->slow_max,
		.memory_max_bytes = o->memory_max_bytes,
		.seed = o->seed,
		.ignore = o->ignore };

	if (r == NULL)
		return NULL;
	r->o = *o;
	r->o.threads = o->threads > 0 ? o->threads : 1;
	r->labels = labels;
	r->calls_left = o->calls_max;
	r->groups = groups_new(&go, labels);
	r->types = calloc(o->types_max, sizeof *r->types);
	r->arenas = calloc(r->o.threads, sizeof *r->arenas);
	if (r->groups != NULL && r->types != NULL && r->arenas != NULL)
		return r;
	report_free(r);
	return NULL;
}

static void
forget_judgement(struct report *r)
{
	free(r->judged);
	free(r->by_type);
	free(r->problems);
	map_release(&r->judged_of);
	r->judged = NULL;
	r->by_type = NULL;
	r->problems = NULL;
	r->nproblems = 0;
	for (uint32_t i = 0; i < r->ntypes; i++) {
		r->types[i].groups = NULL;
		r->types[i].ngroups = 0;
	}
	for (uint32_t i = 0; i < r->o.threads; i++)
		arena_reset(&r->arenas[i]);
}

void
report_free(struct report *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->ntypes; i++) {
		free(r->types[i].sketch);
		profile_free(r->types[i].profile);
	}
	if (r->arenas != NULL)
		forget_judgement(r);
	for (uint32_t i = 0; r->arenas != NULL && i < r->o.threads; i++)
		arena_release(&r->arenas[i]);
	free(r->arenas);
	free(r->types);
	groups_free(r->groups);
	map_release(&r->type_of);
	map_release(&r->times_of);
	arena_release(&r->times);
	label_set_release(&r->wanted);
	label_set_release(&r->unwanted);
	label_set_release(&r->waits);
	label_set_release(&r->works);
	arena_release(&r->scratch);
	free(r);
}

/* ---- traces ---- */

const char *
report_type_name(const struct report *r, uint32_t label, size_t *len)
{
	const struct label *l = labels_get(r->labels, label);

	*len = l->name_len > 0 ? l->name_len : strlen(l->text);
	return l->name_len > 0 ? l->name : l->text;
}

static bool
name_fits(const struct report *r, uint32_t label)
{
	char name[LABEL_TEXT_MAX + 1];
	size_t len;
	const char *s = report_type_name(r, label, &len);

	snprintf(name, sizeof name, "%.*s", (int)len, s);
	return fnmatch(r->o.type, name, 0) == 0;
}

/* Matches each label against the patterns once and remembers the result. */
static bool
is_wanted(struct report *r, uint32_t label)
{
	if (r->o.type == NULL || label_set_has(&r->wanted, label))
		return true;
	if (label_set_has(&r->unwanted, label))
		return false;
	label_set_add(name_fits(r, label) ? &r->wanted : &r->unwanted, label);
	return label_set_has(&r->wanted, label);
}

static bool
is_wait(struct report *r, uint32_t label)
{
	bool fits = false;

	if (label_set_has(&r->waits, label) || label_set_has(&r->works, label))
		return label_set_has(&r->waits, label);
	for (const char *const *p = r->o.ignore; *p != NULL && !fits; p++)
		fits = fnmatch(*p, labels_get(r->labels, label)->text, 0) == 0;
	label_set_add(fits ? &r->waits : &r->works, label);
	return fits;
}

/* The response time as groups count it: without excluded waits. */
static int64_t
time_of(struct report *r, const struct trace *t, const struct shape *s)
{
	int64_t took_ns = t->end_ns - t->begin_ns;

	for (uint32_t i = 0; r->o.ignore != NULL && i < s->nedges; i++)
		if (is_wait(r, s->edges[i].from) || is_wait(r, s->edges[i].to))
			took_ns -= s->times_ns[i];
	return took_ns;
}

/* A type's profile gets half of the calls that are left, within bounds, so earlier types get more.
 * NULL without an error: no calls are left. */
static int
begin_profile(struct report *r, struct report_type *type, struct err *e)
{
	uint32_t calls = r->calls_left / 2 < CALLS_MOST ? r->calls_left / 2 : CALLS_MOST;

	if (calls < CALLS_LEAST)
		return 0;
	if ((type->profile = profile_new(calls)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a request type");
	r->calls_left -= calls;
	return 0;
}

/* NULL: too many request types (no error), or out of memory (*e). */
static struct report_type *
type_for(struct report *r, uint32_t label, struct err *e)
{
	struct report_type *type = map_get(&r->type_of, (uint64_t)label + 1);

	if (type != NULL)
		return type;
	if (r->ntypes == r->o.types_max) {
		r->counts.untyped++;
		return NULL;
	}
	type = &r->types[r->ntypes];
	*type = (struct report_type){ .label = label,
		.sketch = calloc(1, sizeof *type->sketch),
		.times = arena_calloc(&r->times, 1, sizeof *type->times) };
	if (type->sketch == NULL || type->times == NULL ||
	    !map_put(&r->type_of, (uint64_t)label + 1, type)) {
		free(type->sketch);
		err_set(e, ERR_MEMORY, "out of memory for a request type");
		return NULL;
	}
	if (begin_profile(r, type, e) != 0) {
		map_take(&r->type_of, (uint64_t)label + 1);
		free(type->sketch);
		return NULL;
	}
	r->ntypes++;
	return type;
}

/* Without memory the group has no times. */
static void
note_time(struct report *r, const struct group *g, int64_t begin_ns, double took_ns)
{
	struct timeline *t = map_get(&r->times_of, (uintptr_t)g);

	if (t == NULL && ((t = arena_calloc(&r->times, 1, sizeof *t)) == NULL ||
			     !map_put(&r->times_of, (uintptr_t)g, t)))
		return;
	timeline_add(t, begin_ns, took_ns);
}

static int
add_path(struct report *r, const struct trace *t, const char *const *nodes,
    const struct critpath *p, const struct shape *s, struct err *e)
{
	struct err why = { 0 };
	struct report_type *type;
	struct group *g;
	double took_ns;

	if ((type = type_for(r, t->type, &why)) == NULL) {
		if (why.code != 0 && e != NULL)
			*e = why;
		return why.code;
	}
	took_ns = (double)time_of(r, t, s);
	r->counts.traces++;
	r->counts.moved += p->moved;
	moments_add(&type->total, took_ns);
	sketch_add(type->sketch, (int64_t)took_ns);
	timeline_add(type->times, t->begin_ns, took_ns);
	if ((g = groups_add(r->groups, t, p, s, nodes)) != NULL)
		note_time(r, g, t->begin_ns, took_ns);
	else
		moments_add(&type->other, took_ns);
	return type->profile != NULL ? profile_add(type->profile, t, p, r->labels, e) : 0;
}

void
report_add_pathless(struct report *r, const struct trace *t, const struct err *why)
{
	if (!is_wanted(r, t->type))
		r->counts.passed_over++;
	else if (r->counts.pathless++ == 0)
		snprintf(r->counts.pathless_why, sizeof r->counts.pathless_why,
		    "trace %016llx: %.120s", (unsigned long long)t->id, why->text);
}

int
report_add_path(struct report *r, const struct trace *t, const struct always_on_path *p,
    const char *const *nodes, struct err *e)
{
	int rc;

	assert(r->o.structure_only);
	if (!is_wanted(r, t->type)) {
		r->counts.passed_over++;
		return 0;
	}
	rc = add_path(r, t, nodes, &p->path, &p->shape, e);
	arena_reset(&r->scratch);
	return rc;
}

int
report_add(struct report *r, const struct trace *t, const char *const *nodes, struct err *e)
{
	struct critpath p;
	struct shape shape;
	struct err why;
	int rc;

	if (!is_wanted(r, t->type)) {
		r->counts.passed_over++;
		return 0;
	}
	rc = critpath_extract(
	    &p, t, r->labels, r->o.structure_only ? &r->none : NULL, &r->scratch, &why);
	if (rc == 0) {
		bins_apply(r->o.bins, t, r->labels, &p);
		if ((rc = shape_of(&shape, &p, r->labels, &r->scratch, e)) == 0)
			rc = add_path(r, t, nodes, &p, &shape, e);
	} else if (rc == ERR_INPUT) {
		report_add_pathless(r, t, &why);
		rc = 0;
	} else if (e != NULL) {
		*e = why;
	}
	arena_reset(&r->scratch);
	return rc;
}

/* ---- judging ---- */

struct worker;

typedef int work_on(struct report *r, uint32_t i, struct worker *w, struct err *e);

/* The threads share only the index of the next group to judge. */
struct judge_work {
	struct report *r;
	work_on *fn;
	uint32_t count;
	atomic_uint next;
	atomic_int failed;
};

struct worker {
	struct judge_work *work;
	struct arena *found;
	struct arena
	    scratch; /* for one group: bootstrap rounds need far more memory than their result */
	struct err e;
};

static bool
move(void *pieces, struct arena *found, uint32_t count, size_t size_bytes)
{
	void *from, *to;

	memcpy(&from, pieces, sizeof from);
	to = count > 0 ? arena_copy(found, from, count * size_bytes) : NULL;
	memcpy(pieces, &to, sizeof to);
	return to != NULL || count == 0;
}

/* Copies the results out of the scratch arena. */
static int
keep(struct judged *j, struct arena *found, struct err *e)
{
	struct tail *t = &j->tail;

	if (!move(&j->keys, found, j->nkeys, sizeof *j->keys) ||
	    !move(&t->edges, found, t->nedges, sizeof *t->edges))
		return err_set(e, ERR_MEMORY, "no memory for the findings of a group");
	return 0;
}

static int
measure_edges(struct judged *j, struct worker *w, struct err *e)
{
	const struct group *g = j->group;
	uint32_t n = g->nsamples;
	double *times = arena_alloc(&w->scratch, (n + 1) * sizeof *times);

	j->edges = arena_calloc(w->found, g->shape.nedges, sizeof *j->edges);
	if (times == NULL || j->edges == NULL)
		return err_set(e, ERR_MEMORY, "no memory for the findings of a group");
	for (uint32_t i = 0; i < g->shape.nedges && n > 0; i++) {
		for (uint32_t k = 0; k < n; k++)
			times[k] = g->samples[k].edges_ns[i];
		j->edges[i].p50_ns = select_rank(times, n, (uint32_t)quantile_rank(n, 0.50));
		j->edges[i].p95_ns = select_rank(times, n, (uint32_t)quantile_rank(n, 0.95));
	}
	return 0;
}

/* The edges with the largest shares, largest first; edges other than the first only with a positive share. */
static uint32_t
edges_to_explain(const struct finding *f, uint32_t edges[EXPLAINED_MAX])
{
	uint32_t n = 0;

	edges[n++] = f->top;
	while (n < EXPLAINED_MAX) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < f->nedges; i++) {
			bool taken = false;

			for (uint32_t k = 0; k < n; k++)
				taken |= edges[k] == i;
			if (!taken && f->edges[i].share >= EXPLAINED_SHARE &&
			    (best == UINT32_MAX || f->edges[i].share > f->edges[best].share))
				best = i;
		}
		if (best == UINT32_MAX)
			break;
		edges[n++] = best;
	}
	return n;
}

static int
explain(struct report *r, struct judged *j, uint64_t seed, struct arena *a, struct err *e)
{
	const struct conditions *c = &r->o.conditions;
	uint32_t edges[EXPLAINED_MAX], nedges = edges_to_explain(&j->finding, edges),
				       top = j->finding.top;
	int n = keys_explain_edges(
	    &j->keys, j->group, edges, nedges, r->o.key_q, r->o.explain_min, &j->keys_tried, a, e);
	int rc;

	if (n < 0)
		return n;
	j->nkeys = (uint32_t)n;
	if ((rc = what_if_of(&j->what_if, j->group, top, c->confidence, r->o.rounds, seed, a, e)) !=
	    0)
		return rc;
	j->has_what_if = true;
	return tail_of(&j->tail, j->group, r->o.tail_part, c->confidence, r->o.rounds, seed, a, e);
}

/* The random seed depends on the group, not on the thread, so results do not depend on scheduling. */
static uint64_t
seed_of(const struct report *r, const struct judged *j)
{
	return r->o.seed ^ j->group->shape.key.b;
}

static int
judge(struct report *r, uint32_t i, struct worker *w, struct err *e)
{
	struct judged *j = &r->judged[i];
	const struct report_type *type = map_get(&r->type_of, (uint64_t)j->group->type + 1);
	int rc;

	j->deep = j->group->total.n >= r->o.conditions.traces_min;
	rc = finding_judge(&j->finding, j->group, &r->o.conditions, type->slow_ns,
	    j->deep ? r->o.rounds : 0, seed_of(r, j), &w->scratch, e);
	if (rc == 0 &&
	    !move(&j->finding.edges, w->found, j->finding.nedges, sizeof *j->finding.edges))
		rc = err_set(e, ERR_MEMORY, "no memory for the findings of a group");
	return rc;
}

static int
look_into(struct report *r, struct judged *j, struct worker *w, struct err *e)
{
	uint64_t seed = seed_of(r, j);
	int rc = finding_intervals(&j->finding, j->group, r->o.conditions.confidence,
	    j->deep ? r->o.rounds : 0, seed, &w->scratch, e);

	if (rc == 0 && j->deep && j->finding.problem != PROBLEM_NONE)
		rc = explain(r, j, seed, &w->scratch, e);
	if (rc == 0)
		rc = measure_edges(j, w, e);
	return rc != 0 ? rc : keep(j, w->found, e);
}

static int
look_into_group(struct report *r, uint32_t i, struct worker *w, struct err *e)
{
	return look_into(r, &r->judged[i], w, e);
}

static int
look_into_problem(struct report *r, uint32_t i, struct worker *w, struct err *e)
{
	return look_into(r, r->problems[i].judged, w, e);
}

static void *
work_some(void *arg)
{
	struct worker *w = arg;
	struct judge_work *all = w->work;
	uint32_t i;

	while (
	    atomic_load(&all->failed) == 0 && (i = atomic_fetch_add(&all->next, 1)) < all->count) {
		if (all->fn(all->r, i, w, &w->e) != 0)
			atomic_store(&all->failed, w->e.code);
		arena_reset(&w->scratch);
	}
	arena_release(&w->scratch);
	return NULL;
}

/* Judges on the calling thread and on as many others as can be created. */
static int
work_all(struct report *r, uint32_t count, work_on *fn, struct err *e)
{
	struct judge_work work = { .r = r, .fn = fn, .count = count };
	uint32_t n = !r->alone && r->o.threads < work.count ? r->o.threads : 1;
	struct worker workers[n];
	pthread_t threads[n];
	bool runs[n];

	for (uint32_t i = 0; i < n; i++)
		workers[i] = (struct worker){ .work = &work, .found = &r->arenas[i] };
	for (uint32_t i = 1; i < n; i++)
		runs[i] = pthread_create(&threads[i], NULL, work_some, &workers[i]) == 0;
	work_some(&workers[0]);
	for (uint32_t i = 1; i < n; i++)
		if (runs[i])
			pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < n; i++)
		if (workers[i].e.code != 0) {
			if (e != NULL)
				*e = workers[i].e;
			return workers[i].e.code;
		}
	return 0;
}

static bool
is_problem(const struct judged *j)
{
	return j->finding.problem == PROBLEM_UNPREDICTABLE || j->finding.problem == PROBLEM_SLOW;
}

/* By cost; ties by group id, so that the order of the traces does not matter. */
static int
by_cost(const struct judged *a, const struct judged *b)
{
	struct hash128 ka = a->group->shape.key, kb = b->group->shape.key;

	if (is_problem(a) != is_problem(b))
		return is_problem(a) ? -1 : 1;
	if (a->finding.cost_ns != b->finding.cost_ns)
		return a->finding.cost_ns > b->finding.cost_ns ? -1 : 1;
	return ka.a != kb.a ? (ka.a > kb.a) - (ka.a < kb.a) : (ka.b > kb.b) - (ka.b < kb.b);
}

static int
by_type_and_cost(const void *a, const void *b)
{
	const struct judged *x = *(struct judged *const *)a, *y = *(struct judged *const *)b;

	if (x->group->type != y->group->type)
		return x->group->type < y->group->type ? -1 : 1;
	return by_cost(x, y);
}

static int
problem_by_cost(const void *a, const void *b)
{
	return by_cost(
	    ((const struct report_problem *)a)->judged, ((const struct report_problem *)b)->judged);
}

static void
rank(struct report *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		r->by_type[i] = &r->judged[i];
	qsort(r->by_type, n, sizeof *r->by_type, by_type_and_cost);
	for (uint32_t i = 0; i < n; i++) {
		struct report_type *type = map_get(
		    &r->type_of, (uint64_t)r->by_type[i]->group->type + 1);

		if (type->ngroups++ == 0)
			type->groups = &r->by_type[i];
		if (is_problem(r->by_type[i]))
			r->problems[r->nproblems++] = (struct report_problem){ r->by_type[i],
				type };
	}
	qsort(r->problems, r->nproblems, sizeof *r->problems, problem_by_cost);
}

/* The upper end of the quantile's bucket: with the lower end, requests that all take the same time
 * would count as slower than their own quantile. */
static double
slow_of(const struct report *r, const struct report_type *t)
{
	return sketch_quantile_most(t->sketch, r->o.conditions.slow_quantile);
}

/* Lists the groups of this type, or of all. ERR_MEMORY. */
static int
list_groups(struct report *r, uint32_t label, uint32_t *ret, struct err *e)
{
	uint32_t most = groups_count(r->groups), n = 0;

	r->judged = calloc(most + 1, sizeof *r->judged);
	r->by_type = calloc(most + 1, sizeof *r->by_type);
	r->problems = calloc(most + 1, sizeof *r->problems);
	if (r->judged == NULL || r->by_type == NULL || r->problems == NULL)
		return err_set(e, ERR_MEMORY, "no memory to judge %u groups", most);
	for (uint32_t i = 0; i < most; i++) {
		struct group *g = groups_at(r->groups, i);

		if (label != LABEL_NONE && g->type != label)
			continue;
		r->judged[n].group = g;
		if (!map_put(&r->judged_of, (uintptr_t)g, &r->judged[n]))
			return err_set(e, ERR_MEMORY, "no memory to judge %u groups", most);
		n++;
	}
	*ret = n;
	return 0;
}

static int
judge_listed(struct report *r, uint32_t n, struct err *e)
{
	int rc;

	for (uint32_t i = 0; i < r->ntypes; i++)
		r->types[i].slow_ns = slow_of(r, &r->types[i]);
	if ((rc = work_all(r, n, judge, e)) != 0)
		return rc;
	rank(r, n);
	if (r->o.details == 0)
		return work_all(r, n, look_into_group, e);
	return work_all(
	    r, r->nproblems < r->o.details ? r->nproblems : r->o.details, look_into_problem, e);
}

int
report_judge_type(struct report *r, uint32_t label, bool alone, struct err *e)
{
	uint32_t n = 0;
	int rc;

	forget_judgement(r);
	r->alone = alone;
	if ((rc = list_groups(r, label, &n, e)) != 0 || (rc = judge_listed(r, n, e)) != 0)
		forget_judgement(r);
	return rc;
}

int
report_judge(struct report *r, struct err *e)
{
	return report_judge_type(r, LABEL_NONE, false, e);
}

/* ---- reading results ---- */

void
report_counts(const struct report *r, struct report_counts *ret)
{
	const struct groups_other *other = groups_other(r->groups);

	*ret = r->counts;
	ret->other = other->traces;
	ret->collisions = other->collisions;
	ret->inexact = other->inexact;
}

const struct report_options *
report_options(const struct report *r)
{
	return &r->o;
}

const struct labels *
report_labels(const struct report *r)
{
	return r->labels;
}

struct report_type *
report_type(const struct report *r, uint32_t i)
{
	return i < r->ntypes ? &r->types[i] : NULL;
}

const struct group *
report_group(const struct report *r, uint32_t i)
{
	return i < groups_count(r->groups) ? groups_at(r->groups, i) : NULL;
}

const struct judged *
report_judged(const struct report *r, struct hash128 key)
{
	const struct group *g = groups_find(r->groups, key);

	return g != NULL ? map_get(&r->judged_of, (uintptr_t)g) : NULL;
}

const struct timeline *
report_times(const struct report *r, const struct group *g)
{
	return map_get(&r->times_of, (uintptr_t)g);
}

const struct report_problem *
report_problem(const struct report *r, uint32_t i)
{
	return i < r->nproblems ? &r->problems[i] : NULL;
}
