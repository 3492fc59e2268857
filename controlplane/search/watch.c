/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/watch.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bootstrap.h"

/* Bootstrap rounds; and a group is judged again when it has 1/NEWS more traces. */
enum { ROUNDS = 100, NEWS = 16 };
/* Slow requests of a group, of a tail: fewer are not compared; and from this part of its requests on
 * it is not a tail. */
enum { TAIL_GROUP_MIN = 8 };
static const double TAIL_PART_MAX = 0.4;
/* Of a group's variance, compared with a baseline: less that is new in its main edge is no problem. */
static const double NEW_MIN = 0.1;

/* A cheap estimate of what a group's problem costs, ns. */
static double
rank(const struct group *g, double slow_ns)
{
	double n = (double)g->total.n;

	return n * sqrt(moments_variance(&g->total)) +
	       (g->total.mean > slow_ns ? n * (g->total.mean - slow_ns) : 0);
}

static uint32_t
rank_groups(const struct diagnosis *d, double slow_ns, uint64_t traces_min,
    struct group *best[ELIGIBLE_MAX])
{
	double ranks[ELIGIBLE_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		struct group *group = groups_at(d->groups, i);
		double its = rank(group, slow_ns);
		uint32_t at;

		if (group->total.n < traces_min)
			continue;
		for (at = n; at > 0 && ranks[at - 1] < its; at--)
			;
		if (at == ELIGIBLE_MAX)
			continue;
		n += n < ELIGIBLE_MAX;
		memmove(&best[at + 1], &best[at], (n - 1 - at) * sizeof best[0]);
		memmove(&ranks[at + 1], &ranks[at], (n - 1 - at) * sizeof ranks[0]);
		best[at] = group;
		ranks[at] = its;
	}
	return n;
}

/* The interval of the edge's share lies above those of all other edges: then few traces are enough. */
static bool
stands_out(const struct finding *f, uint32_t edge)
{
	for (uint32_t i = 0; i < f->nedges; i++)
		if (i != edge && f->edges[i].interval.high >= f->edges[edge].interval.low)
			return false;
	return true;
}

/* It has nearly all of the variance, by SHARE_FEW_MIN requests at least. Where few requests have most of what varies, the intervals of all edges are wide until many
 * have come. */
static int
has_nearly_all(bool *ret, const struct eligible *r, double confidence, struct arena *a)
{
	const struct finding *f = &r->judged->finding;
	struct few_low few = { 0 };
	int rc = 0;

	if (f->problem == PROBLEM_UNPREDICTABLE && f->edges[f->top].share >= SHARE_NEARLY_ALL)
		rc = share_few_low(&few, r->group, f->top, confidence, a);
	*ret = few.events >= SHARE_FEW_MIN;
	return rc;
}

static void
insert(struct eligible out[ELIGIBLE_MAX], uint32_t n, const struct eligible *r)
{
	uint32_t at;

	for (at = n; at > 0 && out[at - 1].judged->finding.cost_ns < r->judged->finding.cost_ns;
	     at--)
		out[at] = out[at - 1];
	out[at] = *r;
}

/* ---- what was judged before ---- */

static bool
is_problem(const struct finding *f)
{
	return f->problem == PROBLEM_UNPREDICTABLE || f->problem == PROBLEM_SLOW ||
	       f->problem == PROBLEM_TAIL;
}

/* The group's requests that are slower than that. */
static double
slower_than(const struct group *g, double tail_ns)
{
	double slow = 0, rest = 0, n = 0;

	for (uint32_t i = 0; i < g->nslow; i++)
		slow += (double)g->slow[i].total_ns > tail_ns;
	for (uint32_t i = 0; i < g->nsamples; i++)
		if (!sample_is_slow(g, &g->samples[i])) {
			n++;
			rest += (double)g->samples[i].total_ns > tail_ns;
		}
	return slow + (n > 0 ? rest / n * ((double)g->total.n - g->nslow) : 0);
}

static void
judge_slow(struct finding *f, double slow)
{
	f->problem = PROBLEM_SLOW;
	f->cost_ns = slow * f->mean_ns;
	f->top = 0;
	for (uint32_t i = 0; i < f->nedges; i++) {
		f->edges[i].share = f->edges[i].latency_share;
		f->edges[i].interval = (struct interval){ f->edges[i].share, f->edges[i].share };
		if (f->edges[i].share > f->edges[f->top].share)
			f->top = i;
	}
}

/*
 * What the group has of the tail of its type.
 *
 * 1. Most of its requests are slow: their latency.
 * 2. Too few of them are: no problem.
 * 3. What these spend more time on than usual ones.
 */
static int
judge_tail(struct finding *f, const struct group *g, const struct search_port *port,
    const struct diagnosis *d, struct err *e)
{
	double slow = slower_than(g, d->tail.ns), part = slow / fmax(1, (double)g->total.n);
	struct tail t;
	int rc;

	f->problem = PROBLEM_NONE;
	/* 1 */
	if (part > TAIL_PART_MAX) {
		judge_slow(f, slow);
		return 0;
	}
	/* 2 */
	if (slow < TAIL_GROUP_MIN)
		return 0;
	/* 3 */
	if ((rc = tail_of(&t, g, part, port->settings.conditions.confidence, ROUNDS, d->seed,
		 port->scratch, e)) != 0)
		return rc;
	if (t.nedges == 0 || t.slow_ns <= t.usual_ns)
		return 0;
	f->problem = PROBLEM_TAIL;
	f->cost_ns = slow * (t.slow_ns - t.usual_ns);
	f->top = 0;
	for (uint32_t i = 0; i < f->nedges; i++) {
		f->edges[i].share = t.edges[i].excess_share;
		f->edges[i].interval = t.edges[i].interval;
		if (f->edges[i].share > f->edges[f->top].share)
			f->top = i;
	}
	return 0;
}

/* What of each edge is new; its main edge is the one with most that is, and what all have is no problem if next to nothing is
 * new. */
static int
judge_new(struct judged_group *j, const struct search_port *port, const struct diagnosis *d,
    const struct baseline *now, struct err *e)
{
	struct finding *f = &j->finding;
	const struct shape *s = &j->group->shape;
	double *parts, most = 0;

	if (now == NULL || f->problem != PROBLEM_UNPREDICTABLE) {
		free(j->new_parts);
		j->new_parts = NULL;
		return 0;
	}
	if ((parts = reallocarray(j->new_parts, f->nedges + 1, sizeof *parts)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	j->new_parts = parts;
	for (uint32_t i = 0; i < f->nedges; i++) {
		const struct shape_edge *x = &s->edges[i];

		parts[i] = f->edges[i].share <= 0
		               ? 0
		               : baseline_more(now, d->before,
				     labels_get(port->labels, x->from)->text,
				     labels_get(port->labels, x->to)->text, x->owner == LABEL_NONE)
		                     .part;
		if (f->edges[i].share * parts[i] > most) {
			most = f->edges[i].share * parts[i];
			f->top = i;
		}
	}
	if (most < NEW_MIN)
		f->problem = PROBLEM_NONE;
	return 0;
}

static int
judge(struct judged_group *j, const struct search_port *port, const struct diagnosis *d,
    const struct baseline *now, double slow_ns, struct err *e)
{
	struct finding f;
	struct edge_share *edges;
	int rc = finding_judge(
	    &f, j->group, &port->settings.conditions, slow_ns, ROUNDS, d->seed, port->scratch, e);

	if (rc == 0 && d->tail.ns > 0)
		rc = judge_tail(&f, j->group, port, d, e);
	if (rc != 0)
		return rc;
	if ((edges = reallocarray(j->finding.edges, f.nedges + 1, sizeof *edges)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	memcpy(edges, f.edges, f.nedges * sizeof *edges);
	j->finding = f;
	j->finding.edges = edges;
	j->n = j->group->total.n;
	return judge_new(j, port, d, now, e);
}

/* What the edges carry now, without intervals. *ret NULL: it is compared with nothing. */
static int
carried_now(const struct baseline **ret, const struct search_port *port, const struct diagnosis *d,
    struct err *e)
{
	struct baseline *now;

	*ret = NULL;
	if (d->before == NULL)
		return 0;
	if ((now = arena_alloc(port->scratch, sizeof *now)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	*ret = now;
	return baseline_of(now, d->groups, port->labels, 0, 0, d->seed, port->scratch, e);
}

/* These groups are watched from now on: their findings are kept, those of others freed. */
static void
watch_only(struct watched *w, struct group *const *best, uint32_t n)
{
	struct watched next = { .n = n };

	for (uint32_t i = 0; i < n; i++) {
		next.judged[i].group = best[i];
		for (uint32_t k = 0; k < w->n; k++)
			if (w->judged[k].group == best[i]) {
				next.judged[i] = w->judged[k];
				w->judged[k].finding.edges = NULL;
				w->judged[k].new_parts = NULL;
			}
	}
	for (uint32_t k = 0; k < w->n; k++) {
		free(w->judged[k].finding.edges);
		free(w->judged[k].new_parts);
	}
	*w = next;
}

void
watched_free(struct watched *w)
{
	if (w != NULL)
		watch_only(w, NULL, 0);
	free(w);
}

int
eligible_groups(struct eligible out[ELIGIBLE_MAX], const struct search_port *port,
    struct diagnosis *d, bool late, struct err *e)
{
	double slow_ns = sketch_quantile_most(&d->sketch, port->settings.conditions.slow_quantile);
	struct group *best[ELIGIBLE_MAX];
	uint32_t n = rank_groups(d, slow_ns, port->settings.conditions.traces_min, best),
		 neligible = 0;
	const struct baseline *now;
	int rc = carried_now(&now, port, d, e);

	if (rc != 0)
		return rc;

	if (d->watched == NULL && (d->watched = calloc(1, sizeof *d->watched)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	watch_only(d->watched, best, n);
	for (uint32_t i = 0; i < n; i++) {
		struct judged_group *j = &d->watched->judged[i];
		uint64_t old = late ? 0 : j->n / NEWS;

		if ((j->n == 0 || best[i]->total.n > j->n + old) &&
		    (rc = judge(j, port, d, now, slow_ns, e)) != 0)
			return rc;
		if (is_problem(&j->finding))
			insert(out, neligible++, &(struct eligible){ best[i], j });
	}
	return (int)neligible;
}

int
eligible_surely(const struct eligible *r, const struct search_port *port, struct diagnosis *d,
    bool late, struct err *e)
{
	const struct conditions *c = &port->settings.conditions;
	struct judged_group *j = r->judged;
	double slow_ns = sketch_quantile_most(&d->sketch, c->slow_quantile);
	const struct baseline *now;
	bool nearly_all;
	int rc = carried_now(&now, port, d, e);

	if (rc != 0 ||
	    (j->n != r->group->total.n && (rc = judge(j, port, d, now, slow_ns, e)) != 0))
		return rc;
	if (!is_problem(&j->finding))
		return 0;
	if (j->finding.problem != PROBLEM_TAIL &&
	    (rc = finding_intervals(
		 &j->finding, r->group, c->confidence, ROUNDS, d->seed, port->scratch, e)) != 0)
		return rc;
	if (late || r->group->total.n >= NEXT_PLENTY || stands_out(&j->finding, j->finding.top))
		return 1;
	if ((rc = has_nearly_all(&nearly_all, r, c->confidence, port->scratch)) != 0)
		return err_set(e, rc, "%s: out of memory", d->run->type);
	return nearly_all;
}
