/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/measure.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash_map.h"

/* Samples that standard errors are computed from: at most of all groups together, and in addition
 * of each group. */
static const double SE_LEAST = 1e-9;
enum { SAMPLES_MAX = 2048, SAMPLES_MIN = 8 };

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory for a decision");
}

/* ---- groups ---- */

/* must: how many labels in->must has. A label that stands at several positions counts once. */
static bool
has_what_it_must(const struct measure_input *in, const struct shape *shape, uint32_t must)
{
	for (uint32_t i = 0; i < shape->ntokens; i++) {
		if (label_set_has(in->must_not, shape->tokens[i]))
			return false;
		for (uint32_t j = 0; must > 0 && j <= i; j++)
			if (j == i)
				must -= label_set_has(in->must, shape->tokens[i]);
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

/* The sum of (X - x)(Y - y) of one edge. */
static double
edge_xy(const struct group *g, uint32_t edge, double tail_ns)
{
	return tail_ns > 0 ? g->tail_ns[edge] - (double)g->ntail * g->edges[edge].mean_x
	                   : g->edges[edge].c_xy;
}

static void
member_of(struct member *m, struct group *group, double tail_ns)
{
	double ntail = (double)group->ntail;

	m->group = group;
	m->n = (double)group->total.n;
	m->t = m->y = group->total.mean;
	m->ty = group->total.m2;
	m->x = m->xy = 0;
	if (tail_ns > 0) {
		m->y = m->n > 0 ? ntail / m->n : 0;
		m->ty = group->tail_total_ns - ntail * m->t;
	}
	for (uint32_t i = 0; i < group->shape.nedges; i++)
		if (m->inside[i]) {
			m->x += group->edges[i].mean_x;
			m->xy += edge_xy(group, i, tail_ns);
		}
}

struct member_sums { /* of several groups as if they were one; see struct member */
	double n, x, t, y, xy, ty;
};

static void
sums_add(struct member_sums *s, const struct member *m, double x, double xy)
{
	double dx = x - s->x, dt = m->t - s->t, dy = m->y - s->y, all = s->n + m->n;

	if (m->n == 0)
		return;
	s->xy += xy + dx * dy * s->n * m->n / all;
	s->ty += m->ty + dt * dy * s->n * m->n / all;
	s->x += dx * m->n / all;
	s->t += dt * m->n / all;
	s->y += dy * m->n / all;
	s->n = all;
}

static double
ratio(double a, double b)
{
	return b != 0 ? a / b : 0;
}

/* Whether the group passes the gap; *member is then measured, else it has no edge of it. 0, 1 or
 * ERR_MEMORY. */
static int
member_find(
    struct member *member, struct group *group, const struct measure_input *in, struct arena *a)
{
	int passes;

	member->inside = arena_calloc(a, group->shape.nedges, sizeof *member->inside);
	if (member->inside == NULL)
		return ERR_MEMORY;
	passes = gap_edges(&group->shape, &in->gap, member->inside, a);
	member_of(member, group, in->tail_ns);
	return passes;
}

/* Of the group's requests: a passage begins with an edge from the gap's begin. */
static double
member_passing(const struct member *m, const struct gap *gap)
{
	const struct group *g = m->group;
	uint64_t most = 0;

	for (uint32_t i = 0; i < g->shape.nedges; i++)
		if (m->inside[i] && g->shape.edges[i].from == gap->from && g->passed[i] > most)
			most = g->passed[i];
	return (double)most;
}

int
measure_gap(struct measured *m, const struct measure_input *in, struct arena *a, struct err *e)
{
	uint32_t must = set_count(in->must), n = groups_count(in->groups);
	struct member_sums all = { 0 };
	struct moments total = { 0 };

	*m = (struct measured){ .members = arena_calloc(a, n + 1, sizeof(struct member)),
		.absent = arena_calloc(a, n + 1, sizeof(struct member)) };
	if (m->members == NULL || m->absent == NULL)
		return no_memory(e);
	for (uint32_t i = 0; i < n; i++) {
		struct group *group = groups_at(in->groups, i);
		struct member member;
		int passes = member_find(&member, group, in, a);

		if (passes < 0)
			return no_memory(e);
		sums_add(&all, &member, member.x, member.xy);
		moments_merge(&total, &group->total);
		m->all.slow += (double)group->ntail;
		m->all.passing += passes ? member_passing(&member, &in->gap) : 0;
		if (!passes) {
			m->absent[m->nabsent++] = member;
		} else if (has_what_it_must(in, &group->shape, must)) {
			m->members[m->nmembers++] = member;
			m->n += member.n;
		}
	}
	m->all.n = all.n;
	m->all.x = all.x;
	m->all.t = all.t;
	m->all.y = all.y;
	m->all.variance = moments_variance(&total);
	m->all.whole = ratio(all.ty, all.n);
	m->carries = in->by_latency ? all.x : ratio(all.xy, all.n);
	m->share = in->by_latency ? ratio(all.x, all.t) : ratio(all.xy, all.ty);
	return 0;
}

/* ---- separation ---- */

struct side {           /* the members that pass a label */
	uint32_t seen;  /* number of the member that was counted last, from 1 */
	double n, x, y; /* sums over their traces */
};

/* sides[i + 1]: of enabled[i]; *of: index into the sides for each label, 0: it is not enabled, or
 * all members have it. */
static int
sum_sides(struct side **ret, uint32_t **of, const struct measured *m,
    const struct measure_input *in, struct arena *a, struct err *e)
{
	struct side *sides = arena_calloc(a, in->nenabled + 1, sizeof *sides);
	uint32_t *at = arena_calloc(a, in->nlabels, sizeof *at);

	if (sides == NULL || at == NULL)
		return no_memory(e);
	for (uint32_t i = 0; i < in->nenabled; i++) {
		assert(in->enabled[i] < in->nlabels);
		if (!label_set_has(in->must, in->enabled[i]))
			at[in->enabled[i]] = i + 1;
	}
	for (uint32_t k = 0; k < m->nmembers; k++) {
		const struct member *x = &m->members[k];

		for (uint32_t i = 0; i < x->group->shape.ntokens; i++) {
			uint32_t its = at[x->group->shape.tokens[i]];
			struct side *side = &sides[its];

			if (its == 0 || side->seen == k + 1)
				continue;
			side->seen = k + 1;
			side->n += x->n;
			side->x += x->n * x->x;
			side->y += x->n * x->y;
		}
	}
	*ret = sides;
	*of = at;
	return 0;
}

int
measure_separation(struct separation *ret, const struct measured *m, const struct measure_input *in,
    struct arena *a, struct err *e)
{
	struct member_sums all = { 0 };
	struct side *sides = NULL;
	uint32_t *of = NULL;
	int rc = sum_sides(&sides, &of, m, in, a, e);
	double carried = m->carries * m->all.n;

	*ret = (struct separation){ .label = LABEL_NONE };
	if (rc != 0)
		return rc;
	for (uint32_t k = 0; k < m->nmembers; k++) {
		const struct member *x = &m->members[k];

		sums_add(&all, x, x->x, x->xy);
	}
	for (uint32_t i = 0; i < in->nenabled; i++) {
		uint32_t label = in->enabled[i];
		const struct side *side = &sides[of[label]];
		double rest = all.n - side->n, x1, x0, y1, y0, between;

		if (of[label] == 0 || side->n == 0 || rest < 0.5 || carried <= 0)
			continue;
		x1 = side->x / side->n;
		y1 = side->y / side->n;
		x0 = (all.n * all.x - side->x) / rest;
		y0 = (all.n * all.y - side->y) / rest;
		between = side->n * rest / all.n * (x1 - x0) * (y1 - y0) / carried;
		if (between > ret->between)
			*ret = (struct separation){ label, between, x1 > x0, side->n, rest,
				fmax(x1, x0), fmin(x1, x0) };
	}
	return 0;
}

/* ---- parts ---- */

/* The tokens of the model that delimit parts, in their order. */
struct row {
	uint32_t n;
	uint32_t *tokens;
};

/* For each token of the path: how many delimiters stand at or before it (position), and whether it
 * is one itself (counts). False: the path does not have all delimiters in this order. */
static bool
find_row(const struct shape *s, const struct shape *model, const struct row *row,
    uint32_t *position, bool *counts)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < s->ntokens; i++) {
		counts[i] = next < row->n && s->tokens[i] == model->tokens[row->tokens[next]] &&
		            shape_unit(s, i) == shape_unit(model, row->tokens[next]);
		next += counts[i];
		position[i] = next;
	}
	return next == row->n;
}

/* Identifies a part by the delimiters that it leads from and to, forward or back. */
static uint64_t
part_id(const struct shape_edge *x, const uint32_t *position, const bool *counts)
{
	uint32_t to = position[x->to_token] + !counts[x->to_token];

	if (x->to_token > x->from_token ||
	    (position[x->from_token] == position[x->to_token] && !counts[x->to_token]))
		return (uint64_t)position[x->from_token] << 32;
	return (uint64_t)position[x->from_token] << 32 | to;
}

/* The model's parts, and the part of each of its edges. names: of a part's id + 1, its number from
 * 1. */
static int
model_parts(struct measured *m, const struct row *row, struct map *names, uint32_t *part_of,
    struct arena *a)
{
	const struct shape *s = &m->model->group->shape;
	uint32_t *position = arena_calloc(a, s->ntokens, sizeof *position);
	bool *counts = arena_calloc(a, s->ntokens, sizeof *counts);

	m->parts = arena_calloc(a, s->nedges, sizeof *m->parts);
	if (position == NULL || counts == NULL || m->parts == NULL)
		return ERR_MEMORY;
	find_row(s, s, row, position, counts);
	for (uint32_t i = 0; i < s->nedges; i++) {
		uint64_t id = part_id(&s->edges[i], position, counts);
		uintptr_t at;

		if (!m->model->inside[i])
			continue;
		if ((at = (uintptr_t)map_get(names, id + 1)) == 0) {
			at = ++m->nparts;
			if (!map_put(names, id + 1, (void *)at))
				return ERR_MEMORY;
			m->parts[at - 1] = (struct part){
				.gap = gap_of(s, i), .edge = i, .one = true
			};
		} else {
			m->parts[at - 1].one = false;
			m->parts[at - 1].gap.to = s->edges[i].to;
			m->parts[at - 1].gap.to_unit = s->edges[i].to_unit;
			m->parts[at - 1].gap.only = gap_is_only(s, &m->parts[at - 1].gap);
		}
		part_of[i] = (uint32_t)at - 1;
	}
	return 0;
}

/* The part of each edge of another member; false: it has other parts. */
static bool
member_parts(const struct measured *m, const struct member *x, const struct row *row,
    const struct map *names, uint32_t *part_of, uint32_t *position, bool *counts)
{
	const struct shape *s = &x->group->shape;

	if (!find_row(s, &m->model->group->shape, row, position, counts))
		return false;
	for (uint32_t i = 0; i < s->nedges; i++) {
		uintptr_t at;

		if (!x->inside[i])
			continue;
		if ((at = (uintptr_t)map_get(names, part_id(&s->edges[i], position, counts) + 1)) ==
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

/* The members that have the model's parts, and behind them the groups that do not pass the gap, where
 * parts are compared by covariance. */
struct pool {
	uint32_t n, npassing;
	double tail_ns; /* see struct measure_input */
	struct member **members;
	uint32_t **part_of; /* [npassing][edges] */
};

/* Of one member in this part: the mean time, and the sum of (X - x)(Y - y). */
static void
sum_part(const struct pool *p, uint32_t member, uint32_t part, double *mean, double *xy)
{
	const struct member *x = p->members[member];

	*mean = *xy = 0;
	for (uint32_t i = 0; i < x->group->shape.nedges; i++)
		if (x->inside[i] && p->part_of[member][i] == part) {
			*mean += x->group->edges[i].mean_x;
			*xy += edge_xy(x->group, i, p->tail_ns);
		}
}

static struct member_sums
part_sums(const struct pool *p, uint32_t part)
{
	struct member_sums all = { 0 };

	for (uint32_t k = 0; k < p->n; k++) {
		const struct member *x = p->members[k];
		double mean, xy;

		sum_part(p, k, part, &mean, &xy);
		sums_add(&all, x, mean, xy);
	}
	return all;
}

/* The times of the parts in one request of a member; returns their sum. ns. */
static double
sample_parts(
    const struct pool *p, uint32_t k, const struct sample *s, uint32_t nparts, double *parts)
{
	const struct member *x = p->members[k];
	double all = 0;

	memset(parts, 0, nparts * sizeof *parts);
	for (uint32_t i = 0; i < x->group->shape.nedges; i++)
		if (x->inside[i]) {
			parts[p->part_of[k][i]] += s->edges_ns[i];
			all += s->edges_ns[i];
		}
	return all;
}

/* Some of a member's requests: at most `most` of its reservoir, each of which stands for *weight, and
 * the slowest ones that are kept apart, which stand for themselves. How many in all, and of the
 * reservoir in *nrest. */
static uint32_t
some_samples(
    const struct group *g, uint32_t most, const struct sample **of, uint32_t *nrest, double *weight)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nsamples && i < most; i++)
		if (!sample_is_slow(g, &g->samples[i]))
			of[n++] = &g->samples[i];
	*nrest = n;
	*weight = n > 0 ? ((double)g->total.n - g->nslow) / n : 0;
	for (uint32_t i = 0; i < g->nslow; i++)
		of[n++] = &g->slow[i];
	return n;
}

/*
 * Standard errors by influence. A part's share is the ratio w = sum(y) / sum(z), with y and z
 * a request's contribution to what the part and the gap carry; the influence of a request on it
 * is (y - w z) / mean(z), and the variance of w the sum of squared influences by n^2. For the
 * lead of the top part the same of the difference of two shares; the least certain lead counts.
 */
static int
standard_errors(struct measured *m, const struct pool *p, const struct member_sums *gap,
    const double *means, bool by_mean, struct arena *a)
{
	double *parts = arena_calloc(a, m->nparts, sizeof *parts);
	double *lead = arena_calloc(a, m->nparts, sizeof *lead),
	       *own = arena_calloc(a, m->nparts, sizeof *own);
	double total_weight = 0, sum = 0, squares = 0,
	       carries = by_mean ? gap->x : gap->xy / gap->n;

	if (parts == NULL || lead == NULL || own == NULL)
		return ERR_MEMORY;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct group *group = p->members[k]->group;
		uint32_t nrest, most = SAMPLES_MAX / p->n + SAMPLES_MIN;
		const struct sample **samples = arena_alloc(
		    a, (group->nsamples + group->nslow + 1) * sizeof *samples);
		double rest;
		uint32_t n = samples != NULL ? some_samples(group, most, samples, &nrest, &rest)
		                             : 0;

		if (samples == NULL)
			return ERR_MEMORY;
		for (uint32_t i = 0; i < n; i++) {
			double weight = i < nrest ? rest : 1,
			       all = sample_parts(p, k, samples[i], m->nparts, parts),
			       total_ns = (double)samples[i]->total_ns,
			       dy = (p->tail_ns > 0 ? total_ns > p->tail_ns : total_ns) - gap->y;
			double pull = by_mean ? all : (all - gap->x) * dy, top = 0;

			total_weight += weight;
			sum += weight * fabs(pull);
			squares += weight * pull * pull;
			for (uint32_t j = 0; j < m->nparts; j++)
				parts[j] = (by_mean ? parts[j] : (parts[j] - means[j]) * dy) -
				           m->parts[j].of_gap * pull;
			top = parts[m->top];
			for (uint32_t j = 0; j < m->nparts; j++) {
				own[j] += weight * parts[j] * parts[j];
				lead[j] += weight * (top - parts[j]) * (top - parts[j]);
			}
		}
	}
	m->ahead = INFINITY;
	m->effective = ratio(sum * sum, squares);
	for (uint32_t j = 0; j < m->nparts && total_weight > 0 && carries > 0; j++) {
		double se = sqrt(lead[j]) / total_weight / carries;

		m->parts[j].of_gap_se = sqrt(own[j]) / total_weight / carries;
		if (j != m->top)
			m->ahead = fmin(m->ahead,
			    (m->parts[m->top].of_gap - m->parts[j].of_gap) / fmax(se, SE_LEAST));
	}
	return 0;
}

/* What a member carries of the gap in the population: its own covariance, and that of its means. */
static double
member_carries(const struct measured *m, const struct member *x, bool by_latency)
{
	return by_latency ? x->n * x->x : x->xy + x->n * (x->x - m->all.x) * (x->y - m->all.y);
}

/* The part's share in the population, in which paths of other parts have 0 of it. */
static double
part_share(const struct measured *m, const struct pool *p, uint32_t part, bool by_latency)
{
	double sum = 0;

	for (uint32_t k = 0; k < p->npassing; k++) {
		const struct member *x = p->members[k];
		double mean, xy;

		sum_part(p, k, part, &mean, &xy);
		/* E[X (Y - y)] is the covariance, without the mean of X over the population */
		sum += by_latency ? x->n * mean : xy + x->n * mean * (x->y - m->all.y);
	}
	return ratio(sum, m->all.n * (by_latency ? m->all.t : m->all.whole));
}

static double
cover_of(const struct measured *m, const struct pool *p, bool by_latency)
{
	double in_pool = 0, in_all = 0;

	for (uint32_t k = 0; k < p->npassing; k++)
		in_pool += member_carries(m, p->members[k], by_latency);
	for (uint32_t k = 0; k < m->nmembers; k++)
		in_all += member_carries(m, &m->members[k], by_latency);
	return ratio(in_pool, in_all);
}

static int
shares(struct measured *m, const struct pool *p, const struct measure_input *in, struct arena *a)
{
	bool by_mean = in->by_latency || in->by_mean;
	double *means = arena_calloc(a, m->nparts, sizeof *means), carries = 0;
	struct member_sums gap = { 0 };

	if (means == NULL)
		return ERR_MEMORY;
	m->pooled = 0;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct member *x = p->members[k];

		sums_add(&gap, x, x->x, x->xy);
		m->pooled += k < p->npassing ? x->n : 0;
	}
	for (uint32_t j = 0; j < m->nparts; j++) {
		struct member_sums s = part_sums(p, j);

		means[j] = s.x;
		m->parts[j].mean_ns = ratio(s.x * s.n, m->pooled);
		m->parts[j].carries = by_mean ? s.x : ratio(s.xy, s.n);
		m->parts[j].share = part_share(m, p, j, in->by_latency);
		carries += m->parts[j].carries;
	}
	for (uint32_t j = 0; j < m->nparts; j++) {
		m->parts[j].of_gap = ratio(m->parts[j].carries, carries);
		if (m->parts[j].carries > m->parts[m->top].carries)
			m->top = j;
	}
	m->cover = cover_of(m, p, in->by_latency);
	return standard_errors(m, p, &gap, means, by_mean, a);
}

static bool
path_has(const struct shape *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->ntokens; i++)
		if (s->tokens[i] == label)
			return true;
	return false;
}

/* The member that carries most; of the slow side, if one is given. Requests that pass the gap faster
 * than the mean, and are fast, carry only what they carry among themselves: the problem is not
 * theirs. */
static struct member *
heaviest(const struct measured *m, const struct measure_input *in, const struct separation *slow)
{
	struct member *best = NULL;
	double most = 0;

	for (uint32_t k = 0; k < m->nmembers; k++) {
		struct member *x = &m->members[k];
		bool fast = x->x < m->all.x || x->y < m->all.y;
		double its = in->by_latency || in->by_mean || slow != NULL ? x->n * x->x
		             : fast                                        ? x->xy
		                    : member_carries(m, x, false);

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
	p->members = arena_calloc(a, m->nmembers + m->nabsent, sizeof *p->members);
	p->part_of = arena_calloc(a, m->nmembers + m->nabsent, sizeof *p->part_of);
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
		uint32_t *position = arena_calloc(a, s->ntokens, sizeof *position);
		bool *counts = arena_calloc(a, s->ntokens, sizeof *counts);

		if (part_of == NULL || position == NULL || counts == NULL)
			return ERR_MEMORY;
		if (x == m->model || !member_parts(m, x, row, names, part_of, position, counts))
			continue;
		p->members[p->n] = x;
		p->part_of[p->n++] = part_of;
	}
	p->npassing = p->n;
	return 0;
}

int
measure_parts(struct measured *m, const struct measure_input *in, enum measure_row which,
    const struct separation *slow, struct arena *a, struct err *e)
{
	struct map names = { 0 };
	struct pool pool = { .tail_ns = in->tail_ns };
	struct row row;
	int rc;

	assert(m->nmembers > 0);
	m->model = heaviest(m, in, slow);
	assert(m->model != NULL);
	m->nparts = m->top = 0;
	if ((rc = row_of(&row, m, which == ROW_COMMON, a)) == 0 &&
	    (rc = pool_of(&pool, m, &row, &names, a)) == 0) {
		/* compared by their means, parts are those of the requests that pass the gap */
		for (uint32_t k = 0; k < m->nabsent && !in->by_latency && !in->by_mean; k++)
			pool.members[pool.n++] = &m->absent[k];
		rc = shares(m, &pool, in, a);
	}
	map_release(&names);
	return rc == 0 ? 0 : no_memory(e);
}
