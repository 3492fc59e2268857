/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a problem is spread over a gap's parts. With X the time inside the gap and T
 * the response time, over all groups g of the search:
 *
 *	cov(X, T) = E[ cov(X, T | g) ] + cov( E[X | g], E[T | g] )
 *
 * (law of total covariance). A part's share of the gap is its covariance with T by
 * the gap's; groups whose path has the same labels in the same order, and more
 * between them, are measured together. What a share's error is, the influence of
 * each request on it tells (Hampel 1974), and the same of the difference of two: that
 * the first is ahead of the second can be sure long before each is known well.
 */
#include <math.h>
#include <string.h>

#include "controlplane/search/search.h"
#include "base/map.h"

enum {
	SAMPLES_MAX = 2048,
	SAMPLES_MIN = 8
}; /* that errors are read from: of all groups together, of each more */

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory for a decision");
}

/* ---- groups ---- */

/* Each label of both sets counts once a path. */
static bool
has_what_it_must(const struct search *s, const struct shape *shape, uint32_t must)
{
	for (uint32_t i = 0; i < shape->ntokens; i++) {
		if (label_set_has(&s->mustnot, shape->tokens[i]))
			return false;
		for (uint32_t j = 0; must > 0 && j <= i; j++)
			if (j == i)
				must -= label_set_has(&s->must, shape->tokens[i]);
			else if (shape->tokens[j] == shape->tokens[i])
				break;
	}
	return must == 0;
}

static uint32_t
set_count(const struct label_set *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nwords; i++)
		n += (uint32_t)__builtin_popcountll(s->words[i]);
	return n;
}

static void
member_of(struct member *m, struct group *group)
{
	m->group = group;
	m->n = (double)group->total.n;
	m->t = group->total.mean;
	m->tt = group->total.m2;
	m->x = m->xt = 0;
	for (uint32_t i = 0; i < group->shape.nedges; i++)
		if (m->inside[i]) {
			m->x += group->edges[i].mean_x;
			m->xt += group->edges[i].c_xy;
		}
}

struct sums { /* of several groups: as of one */
	double n, x, t, xt, tt;
};

static void
sums_add(struct sums *s, double n, double x, double t, double xt, double tt)
{
	double dx = x - s->x, dt = t - s->t, all = s->n + n;

	if (n == 0)
		return;
	s->xt += xt + dx * dt * s->n * n / all;
	s->tt += tt + dt * dt * s->n * n / all;
	s->x += dx * n / all;
	s->t += dt * n / all;
	s->n = all;
}

static double
ratio(double a, double b)
{
	return b != 0 ? a / b : 0;
}

int
measure_gap(struct measured *m, struct search_port *g, const struct search *s, struct arena *a,
    struct err *e)
{
	uint32_t must = set_count(&s->must);
	struct sums all = { 0 };

	(void)g;
	*m = (struct measured){ 0 };
	m->members = arena_calloc(a, groups_count(s->groups) + 1, sizeof *m->members);
	if (m->members == NULL)
		return no_memory(e);
	for (uint32_t i = 0; i < groups_count(s->groups); i++) {
		struct group *group = groups_at(s->groups, i);
		struct member *member = &m->members[m->nmembers];

		member->inside = arena_calloc(a, group->shape.nedges, sizeof *member->inside);
		if (member->inside == NULL)
			return no_memory(e);
		if (!has_what_it_must(s, &group->shape, must) ||
		    !gap_edges(&group->shape, &s->gap, member->inside, a))
			continue;
		member_of(member, group);
		sums_add(&all, member->n, member->x, member->t, member->xt, member->tt);
		m->nmembers++;
	}
	m->n = all.n;
	m->carries = s->by_latency ? all.x : ratio(all.xt, all.n);
	m->share = s->by_latency ? ratio(all.x, all.t) : ratio(all.xt, all.tt);
	return 0;
}

/* ---- what presence tells ---- */

struct with {
	uint32_t seen;  /* member + 1 */
	double n, x, t; /* sums */
};

/* Sums over the groups that have each label that is on and tells any apart. */
static int
with_each(struct with **ret, uint32_t **at, const struct measured *m, const struct search_port *g,
    const struct search *s, struct arena *a, struct err *e)
{
	struct with *with = arena_calloc(a, s->non + 1, sizeof *with);
	uint32_t *of = arena_calloc(a, labels_count(g->labels), sizeof *of);

	if (with == NULL || of == NULL)
		return no_memory(e);
	for (uint32_t i = 0; i < s->non; i++)
		if (!label_set_has(&s->must, s->on[i].label))
			of[s->on[i].label] = i + 1;
	for (uint32_t k = 0; k < m->nmembers; k++) {
		const struct member *x = &m->members[k];

		for (uint32_t i = 0; i < x->group->shape.ntokens; i++) {
			uint32_t pick = of[x->group->shape.tokens[i]];
			struct with *w = &with[pick];

			if (pick == 0 || w->seen == k + 1)
				continue;
			w->seen = k + 1;
			w->n += x->n;
			w->x += x->n * x->x;
			w->t += x->n * x->t;
		}
	}
	*ret = with;
	*at = of;
	return 0;
}

int
measure_separation(struct separation *ret, const struct measured *m, struct search_port *g,
    const struct search *s, struct arena *a, struct err *e)
{
	struct sums all = { 0 };
	struct with *with = NULL;
	uint32_t *of = NULL;
	int rc = with_each(&with, &of, m, g, s, a, e);

	*ret = (struct separation){ .label = LABEL_NONE };
	if (rc != 0)
		return rc;
	for (uint32_t k = 0; k < m->nmembers; k++) {
		const struct member *x = &m->members[k];

		sums_add(&all, x->n, x->x, x->t, x->xt, x->tt);
	}
	for (uint32_t i = 0; i < s->non; i++) {
		const struct with *w = &with[of[s->on[i].label]];
		double rest = all.n - w->n, x1, x0, t1, t0, between;

		if (of[s->on[i].label] == 0 || w->n == 0 || rest < 0.5 || all.xt <= 0)
			continue;
		x1 = w->x / w->n;
		t1 = w->t / w->n;
		x0 = (all.n * all.x - w->x) / rest;
		t0 = (all.n * all.t - w->t) / rest;
		between = w->n * rest / all.n * (x1 - x0) * (t1 - t0) / all.xt;
		if (between > ret->between)
			*ret = (struct separation){ s->on[i].label, between, x1 > x0, w->n, rest,
				fmax(x1, x0), fmin(x1, x0) };
	}
	return 0;
}

/* ---- parts ---- */

/* The row of tokens that parts are between: of the model, those that count. */
struct row {
	uint32_t n;
	uint32_t *tokens; /* of the model */
	bool *counts;     /* [ntokens of the model] */
};

/* Which number in the row the last one has that stands at or before each token, counted from 1; in
 * the row itself: counts. false: the path does not have the row. */
static bool
find_row(const struct shape *s, const struct shape *model, const struct row *row, uint32_t *place,
    bool *counts)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < s->ntokens; i++) {
		counts[i] = next < row->n && s->tokens[i] == model->tokens[row->tokens[next]] &&
		            shape_unit(s, i) == shape_unit(model, row->tokens[next]);
		next += counts[i];
		place[i] = next;
	}
	return next == row->n;
}

/* A part's name: between which places of the row it leads, forward or back. */
static uint64_t
part_name(const struct shape_edge *x, const uint32_t *place, const bool *counts)
{
	uint32_t to = place[x->to_token] + !counts[x->to_token];

	if (x->to_token > x->from_token ||
	    (place[x->from_token] == place[x->to_token] && !counts[x->to_token]))
		return (uint64_t)place[x->from_token] << 32;
	return (uint64_t)place[x->from_token] << 32 | to;
}

/* The model's parts, and the part of each of its edges; names to numbers from 1. */
static int
model_parts(struct measured *m, const struct row *row, struct map *names, uint32_t *part_of,
    struct arena *a)
{
	const struct shape *s = &m->model->group->shape;
	uint32_t *place = arena_calloc(a, s->ntokens, sizeof *place);
	bool *counts = arena_calloc(a, s->ntokens, sizeof *counts);

	m->parts = arena_calloc(a, s->nedges, sizeof *m->parts);
	if (place == NULL || counts == NULL || m->parts == NULL)
		return ERR_MEMORY;
	find_row(s, s, row, place, counts);
	for (uint32_t i = 0; i < s->nedges; i++) {
		uint64_t name = part_name(&s->edges[i], place, counts);
		uintptr_t at;

		if (!m->model->inside[i])
			continue;
		if ((at = (uintptr_t)map_get(names, name + 1)) == 0) {
			at = ++m->nparts;
			if (!map_put(names, name + 1, (void *)at))
				return ERR_MEMORY;
			m->parts[at - 1] = (struct part){
				.gap = gap_of(s, i), .edge = i, .one = true
			};
		} else {
			m->parts[at - 1].one = false;
			m->parts[at - 1].gap.to = s->edges[i].to;
			m->parts[at - 1].gap.to_unit = s->edges[i].to_unit;
		}
		part_of[i] = (uint32_t)at - 1;
	}
	return 0;
}

/* The same of another group; false: it has other parts. */
static bool
member_parts(const struct measured *m, const struct member *x, const struct row *row,
    const struct map *names, uint32_t *part_of, uint32_t *place, bool *counts)
{
	const struct shape *s = &x->group->shape;

	if (!find_row(s, &m->model->group->shape, row, place, counts))
		return false;
	for (uint32_t i = 0; i < s->nedges; i++) {
		uintptr_t at;

		if (!x->inside[i])
			continue;
		if ((at = (uintptr_t)map_get(names, part_name(&s->edges[i], place, counts) + 1)) ==
		    0)
			return false;
		part_of[i] = (uint32_t)at - 1;
	}
	return true;
}

static int
row_of(struct row *row, const struct measured *m, bool common, struct arena *a)
{
	const struct shape *s = &m->model->group->shape;
	uint32_t most = 0;
	struct map with = { 0 };
	int rc = ERR_MEMORY;

	row->n = 0;
	row->tokens = arena_calloc(a, s->ntokens, sizeof *row->tokens);
	if (row->tokens == NULL)
		return ERR_MEMORY;
	for (uint32_t k = 0; k < m->nmembers && common; k++) {
		const struct shape *x = &m->members[k].group->shape;

		for (uint32_t i = 0; i < x->ntokens; i++) {
			uintptr_t seen = (uintptr_t)map_get(&with, (uint64_t)x->tokens[i] + 1);

			if (seen == k &&
			    !map_put(&with, (uint64_t)x->tokens[i] + 1, (void *)(seen + 1)))
				goto end;
		}
		most = k + 1;
	}
	for (uint32_t i = 0; i < s->ntokens; i++)
		if ((uintptr_t)map_get(&with, (uint64_t)s->tokens[i] + 1) == most)
			row->tokens[row->n++] = i;
	rc = 0;
end:
	map_release(&with);
	return rc;
}

/* ---- their shares ---- */

struct pool { /* of the groups that have the model's parts */
	uint32_t n;
	struct member **members;
	uint32_t **part_of; /* [n][edges] */
};

static struct sums
part_sums(const struct pool *p, uint32_t part)
{
	struct sums all = { 0 };

	for (uint32_t k = 0; k < p->n; k++) {
		const struct member *x = p->members[k];
		double mean = 0, xt = 0;

		for (uint32_t i = 0; i < x->group->shape.nedges; i++)
			if (x->inside[i] && p->part_of[k][i] == part) {
				mean += x->group->edges[i].mean_x;
				xt += x->group->edges[i].c_xy;
			}
		sums_add(&all, x->n, mean, x->t, xt, x->tt);
	}
	return all;
}

/* The times of the parts in one request of the reservoir, and of all; t: its response time. */
static double
sample_parts(const struct pool *p, uint32_t k, uint32_t sample, uint32_t nparts, double *parts)
{
	const struct member *x = p->members[k];
	const struct sample *s = &x->group->samples[sample];
	double all = 0;

	memset(parts, 0, nparts * sizeof *parts);
	for (uint32_t i = 0; i < x->group->shape.nedges; i++)
		if (x->inside[i]) {
			parts[p->part_of[k][i]] += s->edges_ns[i];
			all += s->edges_ns[i];
		}
	return all;
}

/*
 * Standard errors of the parts' shares, and of how far the top part is ahead of
 * each other one; of these differences the least sure counts.
 */
static int
errors(struct measured *m, const struct pool *p, const struct sums *gap, const double *means,
    bool by_latency, struct arena *a)
{
	double *parts = arena_calloc(a, m->nparts, sizeof *parts);
	double *apart = arena_calloc(a, m->nparts, sizeof *apart),
	       *own = arena_calloc(a, m->nparts, sizeof *own);
	double weights = 0, pulls = 0, squares = 0,
	       carries = by_latency ? gap->x : gap->xt / gap->n;

	if (parts == NULL || apart == NULL || own == NULL)
		return ERR_MEMORY;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct group *group = p->members[k]->group;
		uint32_t n = group->nsamples < SAMPLES_MAX / p->n + SAMPLES_MIN
		                 ? group->nsamples
		                 : SAMPLES_MAX / p->n + SAMPLES_MIN;
		double weight = n > 0 ? (double)group->total.n / n : 0;

		for (uint32_t i = 0; i < n; i++) {
			double all = sample_parts(p, k, i, m->nparts, parts);
			double dt = (double)group->samples[i].total_ns - gap->t;
			double pull = by_latency ? all : (all - gap->x) * dt, top = 0;

			weights += weight;
			pulls += weight * fabs(pull);
			squares += weight * pull * pull;
			for (uint32_t j = 0; j < m->nparts; j++)
				parts[j] = (by_latency ? parts[j] : (parts[j] - means[j]) * dt) -
				           m->parts[j].of_gap * pull;
			top = parts[m->top];
			for (uint32_t j = 0; j < m->nparts; j++) {
				own[j] += weight * parts[j] * parts[j];
				apart[j] += weight * (top - parts[j]) * (top - parts[j]);
			}
		}
	}
	m->ahead = INFINITY;
	m->weighty = ratio(pulls * pulls, squares);
	for (uint32_t j = 0; j < m->nparts && weights > 0 && carries > 0; j++) {
		double se = sqrt(apart[j]) / weights / carries;

		m->parts[j].of_gap_se = sqrt(own[j]) / weights / carries;
		if (j != m->top)
			m->ahead = fmin(m->ahead,
			    (m->parts[m->top].of_gap - m->parts[j].of_gap) / fmax(se, 1e-9));
	}
	return 0;
}

static int
shares(struct measured *m, const struct pool *p, bool by_latency, struct arena *a)
{
	double *means = arena_calloc(a, m->nparts, sizeof *means), carries = 0;
	struct sums gap = { 0 };

	if (means == NULL)
		return ERR_MEMORY;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct member *x = p->members[k];

		sums_add(&gap, x->n, x->x, x->t, x->xt, x->tt);
	}
	for (uint32_t j = 0; j < m->nparts; j++) {
		struct sums s = part_sums(p, j);

		means[j] = m->parts[j].mean_ns = s.x;
		m->parts[j].carries = by_latency ? s.x : ratio(s.xt, s.n);
		carries += m->parts[j].carries;
	}
	for (uint32_t j = 0; j < m->nparts; j++) {
		m->parts[j].of_gap = ratio(m->parts[j].carries, carries);
		if (m->parts[j].carries > m->parts[m->top].carries)
			m->top = j;
	}
	m->pooled = gap.n;
	m->mean_ns = gap.t;
	m->variance = ratio(gap.tt, gap.n);
	return errors(m, p, &gap, means, by_latency, a);
}

static bool
path_has(const struct shape *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->ntokens; i++)
		if (s->tokens[i] == label)
			return true;
	return false;
}

/* The group whose own requests carry most: most is to be learned from its path. */
static struct member *
heaviest(const struct measured *m, bool by_latency, const struct separation *slow)
{
	struct member *best = NULL;
	double most = 0;

	for (uint32_t k = 0; k < m->nmembers; k++) {
		struct member *x = &m->members[k];
		double its = by_latency || slow != NULL ? x->n * x->x : x->xt;

		if (slow != NULL && path_has(&x->group->shape, slow->label) != slow->with)
			continue;
		if (best == NULL || its > most) {
			most = its;
			best = x;
		}
	}
	return best;
}

static int
pool_of(
    struct pool *p, struct measured *m, const struct row *row, struct map *names, struct arena *a)
{
	p->members = arena_calloc(a, m->nmembers, sizeof *p->members);
	p->part_of = arena_calloc(a, m->nmembers, sizeof *p->part_of);
	if (p->members == NULL || p->part_of == NULL ||
	    (p->part_of[0] = arena_calloc(a, m->model->group->shape.nedges, sizeof **p->part_of)) ==
		NULL ||
	    model_parts(m, row, names, p->part_of[0], a) != 0)
		return ERR_MEMORY;
	p->members[0] = m->model;
	p->n = 1;
	for (uint32_t k = 0; k < m->nmembers; k++) {
		struct member *x = &m->members[k];
		const struct shape *s = &x->group->shape;
		uint32_t *part_of = arena_calloc(a, s->nedges, sizeof *part_of);
		uint32_t *place = arena_calloc(a, s->ntokens, sizeof *place);
		bool *counts = arena_calloc(a, s->ntokens, sizeof *counts);

		if (part_of == NULL || place == NULL || counts == NULL)
			return ERR_MEMORY;
		if (x == m->model || !member_parts(m, x, row, names, part_of, place, counts))
			continue;
		p->members[p->n] = x;
		p->part_of[p->n++] = part_of;
	}
	return 0;
}

int
measure_parts(struct measured *m, struct search_port *g, const struct search *s,
    const struct separation *common, struct arena *a, struct err *e)
{
	struct map names = { 0 };
	struct pool pool = { 0 };
	struct row row;
	int rc;

	(void)g;
	m->model = heaviest(m, s->by_latency, common);
	m->nparts = m->top = 0;
	if ((rc = row_of(&row, m, common != NULL, a)) == 0 &&
	    (rc = pool_of(&pool, m, &row, &names, a)) == 0)
		rc = shares(m, &pool, s->by_latency, a);
	map_release(&names);
	return rc == 0 ? 0 : no_memory(e);
}
