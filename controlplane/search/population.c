/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/population.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/texts.h"
#include "controlplane/search/gap.h"

/* Where a request of another path has the value of a key of the model. */
enum { KEY_MISSING = -1, KEY_ZERO = -2, KEY_ONE = -3 };

struct part_of_population { /* one group */
	const struct group *group;
	bool *inside;     /* [nedges]: belongs to the gap */
	uint32_t ninside; /* how many do; 0: the path does not pass the gap */
	uint32_t edge;    /* the last one of them */
	int32_t *keys;    /* [nkeys of the model]: index of its key, or KEY_... */
};

/* ---- moments ---- */

static double
time_inside(const struct part_of_population *p, const struct sample *s)
{
	double ns = 0;

	for (uint32_t i = 0; i < p->group->shape.nedges && p->ninside > 0; i++)
		ns += p->inside[i] ? s->edges_ns[i] : 0;
	return ns;
}

/* Of several edges together, from the reservoir; mean and covariance of all requests. */
static struct comoments
several_edges(const struct part_of_population *p)
{
	const struct group *g = p->group;
	struct comoments c = { 0 };
	struct moments total = { 0 };
	struct moments_high high = { 0 };
	double scale;

	for (uint32_t i = 0; i < g->nsamples; i++) {
		double x = time_inside(p, &g->samples[i]), y = (double)g->samples[i].total_ns;

		comoments_add_high(&c, &x, 1, y, &total, &high);
		moments_high_add(&high, &total, y);
		moments_add(&total, y);
	}
	scale = g->nsamples > 0 ? (double)g->total.n / g->nsamples : 0;
	c.m2_x *= scale;
	c.c_xxy *= scale;
	c.c_xyy *= scale;
	c.c_xxyy *= scale;
	c.c_xyyy *= scale;
	c.n = g->total.n;
	c.mean_y = g->total.mean;
	c.mean_x = c.c_xy = 0;
	for (uint32_t i = 0; i < g->shape.nedges; i++)
		if (p->inside[i]) {
			c.mean_x += g->edges[i].mean_x;
			c.c_xy += g->edges[i].c_xy;
		}
	return c;
}

static void
add_moments(struct population *ret, const struct part_of_population *p)
{
	const struct group *from = p->group;
	struct group *g = &ret->group;
	struct comoments c = { .n = from->total.n, .mean_y = from->total.mean };

	if (p->ninside == 1)
		c = from->edges[p->edge];
	else if (p->ninside > 1)
		c = several_edges(p);
	comoments_merge_high(
	    g->edges, &g->total, &g->total_high, &c, &from->total, &from->total_high);
	moments_high_merge(&g->total_high, &g->total, &from->total_high, &from->total);
	moments_merge(&g->total, &from->total);
	moments_merge(&g->ignored, &from->ignored);
	sketch_merge(g->sketch, from->sketch);
	if (g->slowest.total_ns < from->slowest.total_ns)
		g->slowest = from->slowest;
	if (from->fastest.total_ns >= 0 &&
	    (g->fastest.total_ns < 0 || g->fastest.total_ns > from->fastest.total_ns))
		g->fastest = from->fastest;
	g->ntail += from->ntail;
	g->tail_total_ns += from->tail_total_ns;
	for (uint32_t i = 0; i < from->shape.nedges && p->ninside > 0; i++)
		g->tail_ns[0] += p->inside[i] ? from->tail_ns[i] : 0;
	g->lossy += from->lossy;
	g->moved += from->moved;
}

/* A passage of the gap begins with an edge from the gap's begin. */
static void
add_passes(struct population *ret, const struct part_of_population *p, const struct gap *gap)
{
	const struct group *g = p->group;
	uint64_t passing = 0;

	for (uint32_t i = 0; i < g->shape.nedges && p->ninside > 0; i++) {
		if (!p->inside[i] || g->shape.edges[i].from != gap->from)
			continue;
		passing = g->passed[i] > passing ? g->passed[i] : passing;
		ret->passes += (double)g->passes[i];
	}
	ret->passing += (double)passing;
}

/* ---- keys ---- */

/* of[model's token]: the token of another path with the same label, of equal ones with the same
 * number; UINT32_MAX: none. */
static bool
same_tokens(uint32_t *of, const struct shape *model, const struct shape *other)
{
	struct map at = { 0 }, seen = { 0 };
	bool ok = true;

	for (int turn = 0; turn < 2 && ok; turn++) {
		const struct shape *s = turn == 0 ? other : model;

		for (uint32_t i = 0; i < s->ntokens && ok; i++) {
			uint64_t label = (uint64_t)s->tokens[i] + 1;
			uintptr_t nth = (uintptr_t)map_get(&seen, label) + 1;

			ok = map_put(&seen, label, (void *)nth);
			if (turn == 0)
				ok = ok &&
				     map_put(&at, label << 24 | nth, (void *)(uintptr_t)(i + 1));
			else
				of[i] = (uint32_t)(uintptr_t)map_get(&at, label << 24 | nth) - 1;
		}
		map_release(&seen);
		seen = (struct map){ 0 };
	}
	map_release(&at);
	return ok;
}

/* The same key of another path. Its keys are in the order of their tokens, iterations last. */
static int32_t
same_key(const struct group *model, const struct key *key, const struct group *other,
    const uint32_t *token_of, const uint32_t *first_key)
{
	const struct shape_loop *loop = key->kind == KEY_ITERATIONS
	                                    ? &model->shape.loops[key->field]
	                                    : NULL;
	uint32_t token = token_of[key->token],
		 last = loop != NULL ? token_of[loop->last] : UINT32_MAX;

	if (token == UINT32_MAX || (loop != NULL && last == UINT32_MAX))
		return loop != NULL ? KEY_ZERO : KEY_MISSING;
	for (uint32_t i = loop != NULL ? 0 : first_key[token]; i < other->nkeys; i++) {
		const struct key *k = &other->keys[i];

		if (k->kind == KEY_ITERATIONS && loop != NULL &&
		    other->shape.loops[k->field].first == token &&
		    other->shape.loops[k->field].last == last)
			return (int32_t)i;
		if (loop == NULL && (k->token != token || k->kind == KEY_ITERATIONS))
			break;
		if (k->kind == key->kind && k->kind != KEY_ITERATIONS && k->field == key->field)
			return (int32_t)i;
	}
	return loop != NULL ? KEY_ONE : KEY_MISSING;
}

static int
find_keys(struct part_of_population *p, const struct group *model, struct arena *a)
{
	const struct group *g = p->group;
	uint32_t *token_of = arena_calloc(a, model->shape.ntokens, sizeof *token_of),
		 *first_key = arena_calloc(a, g->shape.ntokens, sizeof *first_key);

	p->keys = arena_calloc(a, model->nkeys + 1, sizeof *p->keys);
	if (token_of == NULL || first_key == NULL || p->keys == NULL ||
	    !same_tokens(token_of, &model->shape, &g->shape))
		return ERR_MEMORY;
	for (uint32_t i = 0; i < g->shape.ntokens; i++)
		first_key[i] = g->nkeys;
	for (uint32_t i = g->nkeys; i-- > 0;)
		if (g->keys[i].kind != KEY_ITERATIONS)
			first_key[g->keys[i].token] = i;
	for (uint32_t k = 0; k < model->nkeys; k++)
		p->keys[k] = same_key(model, &model->keys[k], g, token_of, first_key);
	return 0;
}

static double
key_value(struct group *to, const struct part_of_population *p, const struct sample *s, uint32_t k)
{
	int32_t at = p->keys[k];
	double value;
	const char *text;

	if (at < 0)
		return at == KEY_ZERO ? 0 : at == KEY_ONE ? 1 : NAN;
	value = s->keys[at];
	if (p->group->keys[at].type != VALUE_TEXT || isnan(value))
		return value;
	/* texts are numbered by each group */
	text = texts_get(p->group->texts, (uint32_t)value);
	return texts_intern(to->texts, text, strlen(text));
}

/* ---- samples ---- */

/* Share of each group's requests that the samples hold: as many as the most incomplete reservoir. */
static double
sampled_share(const struct part_of_population *parts, uint32_t n)
{
	double share = 1;

	for (uint32_t i = 0; i < n; i++)
		if (parts[i].group->total.n > 0)
			share = fmin(
			    share, parts[i].group->nsamples / (double)parts[i].group->total.n);
	return share;
}

static int
copy_sample(struct sample *x, struct group *to, const struct part_of_population *p,
    const struct sample *s, struct arena *a)
{
	*x = *s;
	x->edges_ns = arena_calloc(a, 1, sizeof *x->edges_ns);
	x->keys = arena_calloc(a, to->nkeys + 1, sizeof *x->keys);
	if (x->edges_ns == NULL || x->keys == NULL)
		return ERR_MEMORY;
	x->edges_ns[0] = time_inside(p, s);
	for (uint32_t k = 0; k < to->nkeys; k++)
		x->keys[k] = key_value(to, p, s, k);
	return 0;
}

/* `want` of the group's samples, each with the same probability. */
static int
add_samples(struct group *to, const struct part_of_population *p, uint32_t want, struct rng *rng,
    struct arena *a)
{
	const struct group *g = p->group;
	uint32_t *order = arena_calloc(a, g->nsamples + 1, sizeof *order);
	int rc = order != NULL ? 0 : ERR_MEMORY;

	for (uint32_t i = 0; i < g->nsamples && rc == 0; i++)
		order[i] = i;
	for (uint32_t i = 0; i < want && rc == 0; i++) {
		uint32_t k = want < g->nsamples ? i + (uint32_t)rng_below(rng, g->nsamples - i) : i,
			 x = order[k];

		order[k] = order[i];
		order[i] = x;
		rc = copy_sample(&to->samples[to->nsamples++], to, p, &g->samples[x], a);
	}
	return rc;
}

/* ---- the slowest ---- */

static bool
has_all(const struct group *g)
{
	return g->nsamples == g->total.n;
}

static int
add_slow(struct group *to, const struct part_of_population *p, const struct sample *all, uint32_t n,
    int64_t least_ns, struct arena *a)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++)
		if (all[i].total_ns >= least_ns)
			rc = copy_sample(&to->slow[to->nslow++], to, p, &all[i], a);
	return rc;
}

/* The fastest first, as in a heap of one. */
static void
fastest_first(struct group *g)
{
	for (uint32_t i = 1; i < g->nslow; i++)
		if (sample_is_slower(&g->slow[0], &g->slow[i])) {
			struct sample s = g->slow[0];

			g->slow[0] = g->slow[i];
			g->slow[i] = s;
		}
}

/* All requests that took as long as the fastest of the slowest in a group that has not all of its
 * requests: so far each group knows all of them. None if there is a group that does not keep them, or
 * if all groups have all requests. */
static int
slowest_of(struct group *to, const struct part_of_population *parts, uint32_t n, struct arena *a)
{
	int64_t least_ns = -1;
	uint32_t most = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct group *g = parts[i].group;

		if (!has_all(g) && g->nslow == 0)
			return 0;
		if (!has_all(g) && g->slow[0].total_ns > least_ns)
			least_ns = g->slow[0].total_ns;
		most += has_all(g) ? g->nsamples : g->nslow;
	}
	if (least_ns < 0)
		return 0;
	if ((to->slow = arena_calloc(a, most + 1, sizeof *to->slow)) == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		const struct group *g = parts[i].group;

		rc = has_all(g) ? add_slow(to, &parts[i], g->samples, g->nsamples, least_ns, a)
		                : add_slow(to, &parts[i], g->slow, g->nslow, least_ns, a);
	}
	to->slow_max = to->nslow;
	fastest_first(to);
	return rc;
}

/* ---- all of it ---- */

static int
parts_of(struct part_of_population *parts, const struct groups *groups, const struct gap *gap,
    const struct group *model, struct arena *a)
{
	for (uint32_t i = 0; i < groups_count(groups); i++) {
		struct part_of_population *p = &parts[i];

		*p = (struct part_of_population){ .group = groups_at(groups, i) };
		p->inside = arena_calloc(a, p->group->shape.nedges, sizeof *p->inside);
		if (p->inside == NULL || find_keys(p, model, a) != 0)
			return ERR_MEMORY;
		if (!gap_edges(&p->group->shape, gap, p->inside, a))
			continue;
		for (uint32_t k = 0; k < p->group->shape.nedges; k++)
			if (p->inside[k]) {
				p->ninside++;
				p->edge = k;
			}
	}
	return 0;
}

static bool
begin(struct population *ret, const struct group *model, uint32_t edge, uint32_t samples,
    struct arena *a)
{
	struct group *g = &ret->group;

	*ret = (struct population){ .group = { .shape = model->shape,
					.stands_for_more = true,
					.type = model->type,
					.nkeys = model->nkeys,
					.keys = model->keys,
					.samples_max = samples } };
	g->shape.nedges = 1;
	g->shape.edges = arena_copy(a, &model->shape.edges[edge], sizeof *g->shape.edges);
	g->edges = arena_calloc(a, 1, sizeof *g->edges);
	g->edge_ignored = arena_calloc(a, 1, sizeof *g->edge_ignored);
	g->tail_ns = arena_calloc(a, 1, sizeof *g->tail_ns);
	g->sketch = arena_calloc(a, 1, sizeof *g->sketch);
	g->samples = arena_calloc(a, samples + 1, sizeof *g->samples);
	g->slowest.total_ns = g->fastest.total_ns = -1;
	return g->shape.edges != NULL && g->edges != NULL && g->edge_ignored != NULL &&
	       g->tail_ns != NULL && g->sketch != NULL && g->samples != NULL &&
	       (g->texts = texts_new()) != NULL;
}

int
population_of(struct population *ret, const struct groups *groups, const struct group *model,
    uint32_t edge, uint64_t seed, struct arena *a, struct err *e)
{
	const struct gap gap = gap_of(&model->shape, edge);
	uint32_t n = groups_count(groups), samples = 0;
	struct part_of_population *parts = arena_calloc(a, n + 1, sizeof *parts);
	struct rng rng;
	double share;
	int rc = parts != NULL ? parts_of(parts, groups, &gap, model, a) : ERR_MEMORY;

	*ret = (struct population){ 0 };
	for (uint32_t i = 0; i < n && rc == 0; i++)
		samples += parts[i].group->nsamples;
	if (rc == 0 && !begin(ret, model, edge, samples, a))
		rc = ERR_MEMORY;
	rng_seed(&rng, seed);
	share = rc == 0 ? sampled_share(parts, n) : 0;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		const struct part_of_population *p = &parts[i];
		double want = share * (double)p->group->total.n;

		add_moments(ret, p);
		add_passes(ret, p, &gap);
		rc = add_samples(&ret->group, p,
		    share < 1 ? (uint32_t)fmin(want + rng_unit(&rng), p->group->nsamples)
			      : p->group->nsamples,
		    &rng, a);
	}
	if (rc == 0)
		rc = slowest_of(&ret->group, parts, n, a);
	if (rc != 0) {
		population_release(ret);
		return err_set(e, ERR_MEMORY, "out of memory for a verdict");
	}
	ret->passes = ret->passing > 0 ? ret->passes / ret->passing : 0;
	if (ret->group.edges[0].c_xy > 0)
		ret->within_model = fmax(
		    0, fmin(1, model->edges[edge].c_xy / ret->group.edges[0].c_xy));
	return 0;
}

void
population_release(struct population *p)
{
	texts_free(p->group.texts);
	p->group.texts = NULL;
}
