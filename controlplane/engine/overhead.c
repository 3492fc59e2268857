/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/overhead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/engine/engine_inside.h"
#include "searchspace/budget.h"
#include "base/texts.h"

#define WINDOW_NS INT64_C(1000000000)
#define STEP 1.05 /* between one share and the next: small changes are not worth an epoch */

struct passed {                /* what a request of a type passes, as learned */
	uint32_t point, label; /* point: in afford.points */
	double per_trace;
};

struct known {                 /* of a type */
	struct passed *passed; /* by point, then label */
	uint32_t npassed;
	uint64_t made_of;        /* traces of the space */
	uint64_t traces, probed; /* of this window */
	double wanted;           /* share of its requests to probe */
};

struct count { /* on a node, for a type; for a point, or of traces that came by (POINT_NONE) */
	uint64_t n, stamp;
};
enum { POINT_NONE = (1 << 30) - 1 };

struct passes { /* of a point on a node, by what was measured since the space is this one */
	uint64_t records, traces; /* traces: of the type, probed while it was on */
};
enum { PASSES_SURE = 10 };

struct told { /* the budget knows of it */
	uint32_t type, point, node;
};

struct afford {
	struct budget *budget, *learning;
	struct texts *points; /* "provider:event" */
	struct known types[TYPES_MAX];
	struct map came;   /* traces that came by a node, ever: struct count */
	struct map counts; /* records, this window: struct count */
	struct map passes; /* struct passes */
	struct arena came_arena, counts_arena, passes_arena;
	struct label_set unknown; /* points that were asked for and are not in the space */
	struct told *told;
	uint32_t ntold, told_cap;
	uint64_t traces;             /* stamps */
	uint64_t window_of, told_of; /* wants and plan as they were */
	uint64_t measured_of;        /* the plan's version in the last window that was measured */
	bool steady;
	struct mono since;
};

struct afford *
afford_new(const struct engine_options *o)
{
	struct budget_options bo = { .share = o->budget_share,
		.record_ns = AFFORD_RECORD_NS,
		.rejected_ns = AFFORD_REJECTED_NS,
		.probed_min = AFFORD_PROBED_MIN,
		.slack = AFFORD_SLACK };
	struct afford *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	a->budget = budget_new(&bo);
	bo.share = o->learn_share;
	a->learning = budget_new(&bo);
	a->points = texts_new();
	for (uint32_t i = 0; i < TYPES_MAX; i++)
		a->types[i].wanted = 1;
	if (a->budget != NULL && a->learning != NULL && a->points != NULL)
		return a;
	afford_free(a);
	return NULL;
}

void
afford_free(struct afford *a)
{
	if (a == NULL)
		return;
	for (uint32_t i = 0; i < TYPES_MAX; i++)
		free(a->types[i].passed);
	budget_free(a->budget);
	budget_free(a->learning);
	texts_free(a->points);
	map_release(&a->came);
	map_release(&a->counts);
	arena_release(&a->came_arena);
	arena_release(&a->counts_arena);
	map_release(&a->passes);
	arena_release(&a->passes_arena);
	label_set_release(&a->unknown);
	free(a->told);
	free(a);
}

static uint32_t
index_of(const struct engine *g, const struct type *type)
{
	return (uint32_t)(type - g->types);
}

static struct known *
known_of(const struct engine *g, const struct type *type)
{
	return &g->afford->types[index_of(g, type)];
}

/* ---- counting ---- */

static uint64_t
count_key(uint32_t type, uint32_t point, uint32_t node)
{
	return ((uint64_t)type << 54 | (uint64_t)node << 30 | point) + 1;
}

static struct count *
count_of(struct map *m, struct arena *a, uint64_t key)
{
	struct count *c = map_get(m, key);

	if (c == NULL && (c = arena_calloc(a, 1, sizeof *c)) != NULL && !map_put(m, key, c))
		return NULL;
	return c;
}

static uint32_t
point_of(struct afford *a, const struct label *l)
{
	return texts_intern(a->points, l->event, l->event_len);
}

static int
count_event(struct engine *g, uint32_t type, const struct event *v)
{
	struct afford *a = g->afford;
	const struct label *l = labels_get(g->labels, v->label);
	struct count *c;
	uint32_t point;

	if (l->kind != RECORD_POINT || l->silent)
		return 0;
	if ((point = point_of(a, l)) >= POINT_NONE ||
	    (c = count_of(&a->counts, &a->counts_arena, count_key(type, point, v->node))) == NULL)
		return ERR_MEMORY;
	c->n++;
	return 0;
}

static int
count_nodes(struct engine *g, uint32_t type, const struct trace *t)
{
	struct afford *a = g->afford;

	a->traces++;
	for (uint32_t i = 0; i < t->nunits; i++) {
		uint32_t node = t->events[t->units[i].first].node;
		struct count *c;

		if (t->units[i].count == 0)
			continue;
		if ((c = count_of(&a->came, &a->came_arena, count_key(type, POINT_NONE, node))) ==
		    NULL)
			return ERR_MEMORY;
		c->n += c->stamp != a->traces;
		c->stamp = a->traces;
	}
	return 0;
}

int
afford_trace(struct engine *g, const struct type *type, const struct trace *t, struct err *e)
{
	struct known *k = known_of(g, type);
	uint32_t at = index_of(g, type);
	int rc = count_nodes(g, at, t);

	if (rc == 0 && g->afford->steady && began_after(g, t, g->afford->since.ns)) {
		k->traces++;
		k->probed += t->probed;
		for (uint32_t i = 0; t->probed && rc == 0 && i < t->nevents; i++)
			rc = count_event(g, at, &t->events[i]);
	}
	return rc == 0 ? 0 : err_set(e, rc, "budget: out of memory");
}

/* ---- predicting ---- */

static int
by_point(const void *a, const void *b)
{
	const struct passed *x = a, *y = b;

	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return x->label == y->label ? 0 : x->label < y->label ? -1 : 1;
}

/* Again when the space has grown by a tenth. */
static int
know(struct engine *g, const struct type *type, struct err *e)
{
	struct known *k = known_of(g, type);
	uint64_t traces = space_traces(g->space, type->label);
	struct space_export look;

	if (traces == 0 ||
	    (k->made_of <= traces && traces - k->made_of <= k->made_of / 10 && k->made_of != 0))
		return 0;
	if (!space_export(g->space, type->label, &look))
		return 0;
	free(k->passed);
	k->npassed = 0;
	if ((k->passed = calloc(look.nplaces + 1, sizeof *k->passed)) == NULL)
		return err_set(e, ERR_MEMORY, "budget: out of memory");
	for (uint32_t i = 0; i < look.nplaces; i++) {
		const struct label *l = labels_get(g->labels, look.places[i].label);
		uint32_t point;

		if (l->kind != RECORD_POINT || l->silent)
			continue;
		if ((point = point_of(g->afford, l)) == UINT32_MAX)
			return err_set(e, ERR_MEMORY, "budget: out of memory");
		k->passed[k->npassed++] = (struct passed){ point, look.places[i].label,
			(double)look.places[i].count / (double)traces };
	}
	qsort(k->passed, k->npassed, sizeof *k->passed, by_point);
	k->made_of = traces;
	return 0;
}

static bool
node_has(const struct node *n, const struct label *l, const char *name)
{
	if (!n->connected || n->names == NULL ||
	    texts_find(n->names, name, strlen(name)) == UINT32_MAX)
		return false;
	for (uint32_t i = 0; i < n->programs.nprograms; i++)
		if (label_of_service(l, n->programs.programs[i].service))
			return true;
	return false;
}

/* Requests come to all nodes of a service by turns, as they did so far. */
static double
share_of(const struct engine *g, const struct type *type, uint32_t node, const struct label *l,
    const char *name)
{
	struct count *c;
	uint32_t others = 0;

	for (uint32_t i = 0; i < g->nnodes && others == 0; i++)
		others += i != node && node_has(&g->nodes[i], l, name);
	if (others == 0 || type->traces == 0)
		return 1;
	c = map_get(&g->afford->came, count_key(index_of(g, type), POINT_NONE, node));
	return c != NULL ? fmin(1, (double)c->n / (double)type->traces) : 0;
}

/* Records a second of a tracepoint there if all requests of the type were probed: as it was when it
 * was on, or else as learned. O(log places), and services. */
static double
predicted(const struct engine *g, const struct type *type, uint32_t point, uint32_t node)
{
	const struct known *k = known_of(g, type);
	const char *name = texts_get(g->afford->points, point);
	const struct passes *was = map_get(
	    &g->afford->passes, count_key(index_of(g, type), point, node));
	uint32_t low = 0, high = k->npassed;
	double sum = 0;

	if (was != NULL && was->traces >= PASSES_SURE)
		return (double)was->records / (double)was->traces * type->offered;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (k->passed[mid].point < point)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < k->npassed && k->passed[low].point == point; low++) {
		const struct label *l = labels_get(g->labels, k->passed[low].label);

		if (node_has(&g->nodes[node], l, name))
			sum += k->passed[low].per_trace * type->offered *
			       share_of(g, type, node, l, name);
	}
	if (sum == 0 && label_set_has(&g->afford->unknown, point) && g->nodes[node].names != NULL &&
	    texts_find(g->nodes[node].names, name, strlen(name)) != UINT32_MAX)
		return (preload_is(&g->preload, name) ? AFFORD_DEEP_PASSES : AFFORD_PASSES) *
		       type->offered;
	return sum;
}

static bool
is_probed(const struct type *t)
{
	return t->diagnosis != NULL && t->diagnosis->phase != PHASE_ENDED;
}

static bool
affords(struct engine *g, uint32_t type, uint32_t point)
{
	struct afford *a = g->afford;

	if (point == UINT32_MAX || plan_wants(g->plan, texts_get(a->points, point)))
		return true;
	for (uint32_t n = 0; n < g->nnodes; n++) {
		double sum = 0;

		for (uint32_t i = 0; i < g->ntypes; i++)
			if ((is_probed(&g->types[i]) || g->types[i].label == type) &&
			    know(g, &g->types[i], NULL) == 0)
				sum += predicted(g, &g->types[i], point, n);
		if (sum > 0 && !budget_fits(a->budget, type, point, n, sum))
			return false;
	}
	return true;
}

bool
afford(struct engine *g, uint32_t type, uint32_t label)
{
	return affords(g, type, point_of(g->afford, labels_get(g->labels, label)));
}

bool
afford_unknown(struct engine *g, uint32_t type, const char *name)
{
	uint32_t point = texts_intern(g->afford->points, name, strlen(name));

	return point == UINT32_MAX || !label_set_add(&g->afford->unknown, point) ||
	       affords(g, type, point);
}

static uint64_t
made_of(const struct engine *g)
{
	return g->wants + plan_version(g->plan) + 1;
}

bool
afford_over(struct engine *g, uint32_t type)
{
	return g->afford->told_of == made_of(g) &&
	       budget_probed(g->afford->budget, type) < AFFORD_PROBED_MIN;
}

/* ---- what is on ---- */

static int
tell(struct engine *g, const struct type *type, uint32_t point, uint32_t node, struct err *e)
{
	struct afford *a = g->afford;

	if (a->ntold == a->told_cap) {
		uint32_t cap = a->told_cap != 0 ? 2 * a->told_cap : 64;
		struct told *more = realloc(a->told, cap * sizeof *more);

		if (more == NULL)
			return err_set(e, ERR_MEMORY, "budget: out of memory");
		a->told = more;
		a->told_cap = cap;
	}
	a->told[a->ntold++] = (struct told){ index_of(g, type), point, node };
	return budget_predict(
	    a->budget, type->label, point, node, predicted(g, type, point, node), e);
}

static int
tell_name(struct engine *g, const struct type *type, const char *name, struct err *e)
{
	uint32_t point = texts_intern(g->afford->points, name, strlen(name));
	int rc = point != UINT32_MAX ? 0 : err_set(e, ERR_MEMORY, "budget: out of memory");

	for (uint32_t n = 0; rc == 0 && n < g->nnodes; n++)
		if (g->nodes[n].names != NULL &&
		    texts_find(g->nodes[n].names, name, strlen(name)) != UINT32_MAX)
			rc = tell(g, type, point, n, e);
	return rc;
}

static int
tell_type(struct engine *g, const struct type *type, struct err *e)
{
	uint64_t owner;
	int rc = know(g, type, e);

	for (uint32_t i = 0; rc == 0 && i < plan_count(g->plan); i++) {
		const char *name = plan_at(g->plan, i, &owner);

		if (name[strlen(name) - 1] != '*') /* learning has a budget of its own */
			rc = tell_name(g, type, name, e);
	}
	return rc;
}

int
afford_on(struct engine *g, const char *name, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < g->ntypes; i++)
		if (is_probed(&g->types[i]) && (rc = know(g, &g->types[i], e)) == 0)
			rc = tell_name(g, &g->types[i], name, e);
	return rc;
}

/* What went off, or whose type is not probed any more, costs nothing; the others are kept as
 * measured. */
static int
tell_all(struct engine *g, struct err *e)
{
	struct afford *a = g->afford;
	int rc = 0;

	for (uint32_t i = 0; i < a->ntold; i++) {
		const struct type *type = &g->types[a->told[i].type];

		if (!is_probed(type) ||
		    !plan_wants(g->plan, texts_get(a->points, a->told[i].point)))
			budget_drop(a->budget, type->label, a->told[i].point);
	}
	a->ntold = 0;
	for (uint32_t i = 0; rc == 0 && i < g->ntypes; i++)
		if (is_probed(&g->types[i]))
			rc = tell_type(g, &g->types[i], e);
	return rc;
}

/* ---- measuring ---- */

/* Of what is on: what probed traces had of it, for all traces that came. */
static int
measure(struct engine *g, const struct told *t, struct err *e)
{
	const struct known *k = &g->afford->types[t->type];
	const uint64_t key = count_key(t->type, t->point, t->node);
	const struct count *c = map_get(&g->afford->counts, key);
	struct passes *p = map_get(&g->afford->passes, key);
	double share;

	if (k->probed == 0)
		return 0;
	if (p == NULL && ((p = arena_calloc(&g->afford->passes_arena, 1, sizeof *p)) == NULL ||
			     !map_put(&g->afford->passes, key, p)))
		return err_set(e, ERR_MEMORY, "budget: out of memory");
	p->records += c != NULL ? c->n : 0;
	p->traces += k->probed;
	share = (double)k->probed / (double)k->traces;
	return budget_measured(g->afford->budget, g->types[t->type].label, t->point, t->node,
	    (c != NULL ? (double)c->n : 0) / (double)k->traces * g->types[t->type].offered, share,
	    e);
}

/* Of learning: all that a type leaves on a node, as one. */
static int
measure_learning(struct engine *g, struct err *e)
{
	struct afford *a = g->afford;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < g->ntypes; i++) {
		const struct known *k = &a->types[i];

		for (uint32_t n = 0; rc == 0 && n < g->nnodes && k->probed > 0; n++) {
			struct count *all = map_get(&a->counts, count_key(i, POINT_NONE, n));

			rc = budget_measured(a->learning, g->types[i].label, 0, n,
			    (all != NULL ? (double)all->n : 0) / (double)k->traces *
				g->types[i].offered,
			    (double)k->probed / (double)k->traces, e);
		}
	}
	return rc;
}

static int
sum_by_node(struct afford *a, struct err *e)
{
	struct map sums = { 0 };
	struct count *c, *sum;
	uint64_t key;
	size_t at = 0;

	while ((c = map_next(&a->counts, &at, &key)) != NULL) {
		uint64_t all = ((key - 1) | POINT_NONE) + 1;

		if ((sum = count_of(&sums, &a->counts_arena, all)) == NULL) {
			map_release(&sums);
			return err_set(e, ERR_MEMORY, "budget: out of memory");
		}
		sum->n += c->n;
	}
	map_release(&a->counts);
	a->counts = sums;
	return 0;
}

static void
window_begin(struct engine *g, struct mono now, bool steady)
{
	struct afford *a = g->afford;

	for (uint32_t i = 0; i < g->ntypes; i++)
		a->types[i].traces = a->types[i].probed = 0;
	map_release(&a->counts);
	arena_reset(&a->counts_arena);
	a->since = now;
	a->steady = steady;
	a->window_of = g->wants + plan_version(g->plan);
}

/* A window counts when the same was on, everywhere, from before its begin to its end. */
static int
window_step(struct engine *g, struct mono now, struct err *e)
{
	struct afford *a = g->afford;
	bool steady = nodes_done(g) && (a->ntold > 0 || g->learning.active);
	int rc = 0;

	if (!steady || !a->steady || a->window_of != g->wants + plan_version(g->plan)) {
		window_begin(g, now, steady);
		return 0;
	}
	if (mono_since_ns(now, a->since) < WINDOW_NS)
		return 0;
	for (uint32_t i = 0; rc == 0 && i < a->ntold; i++)
		rc = measure(g, &a->told[i], e);
	if (rc == 0 && g->learning.active && (rc = sum_by_node(a, e)) == 0)
		rc = measure_learning(g, e);
	a->measured_of = plan_version(g->plan);
	window_begin(g, now, true);
	return rc;
}

bool
afford_measured(const struct engine *g)
{
	return g->afford->measured_of == plan_version(g->plan);
}

/* ---- what follows ---- */

/*
 * Of what is on while we learn nothing is known before: each tracepoint is taken to be
 * passed four times by each request, until the first window has told.
 */
int
afford_learning(struct engine *g, bool anew, struct err *e)
{
	struct afford *a = g->afford;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < g->ntypes; i++) {
		if (anew)
			budget_drop(a->learning, g->types[i].label, 0);
		for (uint32_t n = 0; rc == 0 && n < g->nnodes; n++)
			rc = budget_predict(a->learning, g->types[i].label, 0, n,
			    4.0 * g->nodes[n].programs.nnames / g->learning.ngroups *
				g->types[i].offered,
			    e);
	}
	return rc;
}

double
afford_learning_probed(struct engine *g, const struct type *type)
{
	return budget_probed(g->afford->learning, type->label);
}

void
afford_forget(struct engine *g)
{
	map_release(&g->afford->passes);
	arena_reset(&g->afford->passes_arena);
	for (uint32_t i = 0; i < g->ntypes; i++) {
		g->afford->types[i].npassed = 0;
		g->afford->types[i].made_of = 0;
	}
}

static double
in_steps(double share)
{
	return share >= 1 ? 1 : pow(STEP, floor(log(share) / log(STEP) + 1e-9));
}

/* Not under the least that makes sense: what was reckoned too high could never be put right.
 * afford_over() says so. */
static double
probe(struct engine *g, const struct type *type)
{
	double share = 1;

	if (g->learning.active)
		share = afford_learning_probed(g, type) * g->learning.shrink;
	else if (is_probed(type))
		share = budget_probed(g->afford->budget, type->label);
	return fmax(in_steps(fmax(share, AFFORD_PROBED_MIN / 2)), AFFORD_PROBED_MIN);
}

int
afford_step(struct engine *g, struct mono now, struct err *e)
{
	struct afford *a = g->afford;
	int rc = 0;

	if (a->told_of != made_of(g)) {
		rc = tell_all(g, e);
		if (rc == 0 && g->learning.active)
			rc = afford_learning(g, false, e);
		a->told_of = made_of(g);
	}
	if (rc == 0)
		rc = window_step(g, now, e);
	for (uint32_t i = 0; rc == 0 && i < g->ntypes; i++) {
		double share = probe(g, &g->types[i]);

		if (share == a->types[i].wanted)
			continue;
		a->types[i].wanted = share;
		nodes_changed(g);
	}
	return rc;
}

int
afford_node(struct engine *g, uint32_t node, double record_ns, double rejected_ns, struct err *e)
{
	int rc = budget_node(g->afford->budget, node, record_ns, rejected_ns, e);

	return rc != 0 ? rc : budget_node(g->afford->learning, node, record_ns, rejected_ns, e);
}

double
afford_probed(const struct engine *g, const struct type *type)
{
	return known_of(g, type)->wanted;
}

double
afford_spent(struct engine *g, uint32_t node)
{
	return budget_spent(g->learning.active ? g->afford->learning : g->afford->budget, node);
}

double
afford_rejected(struct engine *g, uint32_t node)
{
	return budget_rejected(g->learning.active ? g->afford->learning : g->afford->budget, node);
}

double
afford_share(const struct engine *g)
{
	return g->learning.active ? g->o.learn_share : g->o.budget_share;
}

double
afford_record_ns(const struct engine *g, uint32_t node, bool *assumed)
{
	double ns = g->nodes[node].status.record_ns;

	*assumed = ns <= 0;
	return ns > 0 ? ns : AFFORD_RECORD_NS;
}
