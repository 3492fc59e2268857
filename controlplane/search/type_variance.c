/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/type_variance.h"

static bool
is_slow(const struct type_variance *t, const struct group *g)
{
	return t->slow_ns > 0 && g->total.n >= t->traces_min && g->total.mean > t->slow_ns;
}

double
type_variance_group(const struct type_variance *t, const struct group *g)
{
	double apart = is_slow(t, g) ? g->total.mean - t->usual.mean : 0;

	return g->total.m2 + (double)g->total.n * apart * apart;
}

struct type_variance
type_variance_of(const struct groups *groups, double slow_ns, uint64_t traces_min)
{
	struct type_variance t = { .groups = groups, .slow_ns = slow_ns, .traces_min = traces_min };

	struct moments all = { 0 };

	for (uint32_t i = 0; i < groups_count(groups); i++) {
		const struct moments *its = &groups_at(groups, i)->total;

		moments_merge(&all, its);
		if (!is_slow(&t, groups_at(groups, i)))
			moments_merge(&t.usual, its);
	}
	/* An outlier of its own takes the mean of the main path beyond the quantile: what few requests take is no measure then. */
	if (2 * t.usual.n < all.n) {
		t.slow_ns = 0;
		t.usual = all;
	}
	t.n = (double)all.n;
	for (uint32_t i = 0; i < groups_count(groups); i++)
		t.m2 += type_variance_group(&t, groups_at(groups, i));
	return t;
}

/* Sums over the edges: covariance with the response time, over all requests, and mean. */
static struct comoments
edges_of(const struct group *g, bool (*is)(const struct shape *s, uint32_t edge, const void *of),
    const void *of)
{
	struct comoments sum = { 0 };

	for (uint32_t i = 0; i < g->shape.nedges; i++)
		if (is(&g->shape, i, of)) {
			sum.c_xy += g->edges[i].c_xy;
			sum.mean_x += g->edges[i].mean_x;
		}
	return sum;
}

double
type_variance_edges(const struct type_variance *t,
    bool (*is)(const struct shape *s, uint32_t edge, const void *of), const void *of)
{
	double sum = 0, usual_ns = 0;

	for (uint32_t i = 0; i < groups_count(t->groups); i++) {
		const struct group *g = groups_at(t->groups, i);

		if (!is_slow(t, g) && t->usual.n > 0)
			usual_ns += edges_of(g, is, of).mean_x * (double)g->total.n /
			            (double)t->usual.n;
	}
	for (uint32_t i = 0; i < groups_count(t->groups); i++) {
		const struct group *g = groups_at(t->groups, i);
		struct comoments x = edges_of(g, is, of);

		sum += x.c_xy;
		if (is_slow(t, g))
			sum += (double)g->total.n * (x.mean_x - usual_ns) *
			       (g->total.mean - t->usual.mean);
	}
	return sum;
}

static bool
has_ends(const struct shape *s, uint32_t edge, const void *of)
{
	const struct gap x = gap_of(s, edge);

	return gap_same_ends(&x, of);
}

double
type_variance_gap(const struct type_variance *t, const struct gap *gap)
{
	return type_variance_edges(t, has_ends, gap);
}
