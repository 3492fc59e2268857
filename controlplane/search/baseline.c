/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/variance.h"
#include "base/hash_map.h"
#include "controlplane/search/population.h"

enum { ROUNDS = 200, EDGES_MAX = 100000 };
/* Edges with less of the variance get no interval. */
static const double JUDGED_MIN = 0.01, KEPT_MIN = 1e-4; /* ... and with less are not kept */
/* What is not there at all counts as so much of what is there now. */
static const double NOTHING = 1e-6;

/* How far it may be off, as the logarithm of a factor. */
static double
log_error(const struct carried *x)
{
	return x->ns2 > 0 ? log(fmax(1, x->high_ns2 / x->ns2)) : 0;
}

struct more
carried_more(const struct carried *now, const struct carried *before)
{
	double times;

	/* 1 */
	if (!(now->ns2 > 0))
		return (struct more){ 0, 0 };
	/* 2 */
	times = log(now->ns2 / fmax(before->ns2, NOTHING * now->ns2));
	return (struct more){ fmax(0, 1 - exp(-times)),
		fmax(0, 1 - exp(hypot(log_error(now), log_error(before)) - times)) };
}

static void
add(struct carried *sum, const struct carried *x)
{
	sum->ns2 += x->ns2;
	sum->low_ns2 += x->low_ns2;
	sum->high_ns2 += x->high_ns2;
}

struct carried
baseline_edge(const struct baseline *b, const char *from, const char *to)
{
	struct carried sum = { 0, 0, 0 };

	for (uint32_t i = 0; i < b->nedges; i++)
		if (strcmp(b->edges[i].from, from) == 0 && strcmp(b->edges[i].to, to) == 0)
			add(&sum, &b->edges[i].carried);
	return sum;
}

static bool
same_service(const char *a, const char *b)
{
	size_t n = strcspn(a, "/");

	return n == strcspn(b, "/") && memcmp(a, b, n) == 0;
}

struct carried
baseline_pool(const struct baseline *b, const char *to)
{
	struct carried sum = { 0, 0, 0 };

	for (uint32_t i = 0; i < b->nedges; i++)
		if (b->edges[i].handed_over && same_service(b->edges[i].to, to))
			add(&sum, &b->edges[i].carried);
	return sum;
}

/* All waits for these threads, and the edge, if it is none between two units. */
static struct carried
waits_and_edge(const struct baseline *b, const char *from, const char *to)
{
	struct carried sum = baseline_pool(b, to);

	for (uint32_t i = 0; i < b->nedges; i++)
		if (!b->edges[i].handed_over && strcmp(b->edges[i].from, from) == 0 &&
		    strcmp(b->edges[i].to, to) == 0)
			add(&sum, &b->edges[i].carried);
	return sum;
}

struct more
baseline_more(const struct baseline *now, const struct baseline *before, const char *from,
    const char *to, bool waits)
{
	struct carried is = waits ? waits_and_edge(now, from, to) : baseline_edge(now, from, to),
		       was = waits ? waits_and_edge(before, from, to)
	                           : baseline_edge(before, from, to);

	return carried_more(&is, &was);
}

/* ---- of a diagnosis ---- */

struct same_ends { /* edges with the same ends */
	uint32_t from, to;
	bool handed_over;
	double sum, time;          /* of all requests: what it carries, and takes */
	const struct group *model; /* that carries most of it ... */
	uint32_t edge;             /* ... in this edge */
	double most;
};

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory for a baseline");
}

/* The ends are those of an edge that is in the map, or new there. NULL: no memory. */
static struct same_ends *
same_ends_of(struct map *m, const struct shape_edge *edge, struct arena *a)
{
	uint64_t key = (uint64_t)edge->from << 32 | edge->to;
	struct same_ends *f = map_get(m, key);

	if (f != NULL || (f = arena_calloc(a, 1, sizeof *f)) == NULL)
		return f;
	*f = (struct same_ends){ .from = edge->from, .to = edge->to, .most = -1 };
	return map_put(m, key, f) ? f : NULL;
}

static bool
add_group(struct map *m, const struct group *g, double mean_ns, struct arena *a)
{
	for (uint32_t i = 0; i < g->shape.nedges; i++) {
		const struct comoments *x = &g->edges[i];
		struct same_ends *f = same_ends_of(m, &g->shape.edges[i], a);
		/* what lies between the groups: all deviations from the mean add up to 0 */
		double carries = x->c_xy +
		                 (double)g->total.n * x->mean_x * (g->total.mean - mean_ns);

		if (f == NULL)
			return false;
		f->handed_over = g->shape.edges[i].owner == LABEL_NONE;
		f->sum += carries;
		f->time += (double)g->total.n * x->mean_x;
		if (carries > f->most) {
			f->most = carries;
			f->model = g;
			f->edge = i;
		}
	}
	return true;
}

/* How far the edge's covariance may be off, in relation to it: by its share of the variance, and by the variance. */
static int
relative_error(double *ret, const struct groups *groups, const struct same_ends *x,
    double confidence, uint64_t seed, struct arena *a, struct err *e)
{
	static const struct conditions any = { 0.1, 0.95, 2, 0.95 };
	struct conditions c = any;
	struct population p;
	struct finding f;
	int rc = population_of(&p, groups, x->model, x->edge, seed, a, e);

	*ret = 1;
	if (rc != 0)
		return rc;
	c.confidence = confidence;
	if ((rc = finding_judge(&f, &p.group, &c, 0, ROUNDS, seed, a, e)) == 0) {
		const struct edge_share *s = &f.edges[0];
		double variance = moments_variance(&p.group.total);

		f.problem = PROBLEM_UNPREDICTABLE;
		f.edges[0].share = variance > 0 ? comoments_covariance(&p.group.edges[0]) / variance
		                                : 0;
		rc = finding_intervals(&f, &p.group, confidence, ROUNDS, seed, a, e);
		if (rc == 0 && s->share > 0 && f.cv > 0) {
			double of_share = fmax(
				   s->interval.high - s->share, s->share - s->interval.low),
			       of_cv = fmax(f.cv_interval.high - f.cv, f.cv - f.cv_interval.low);

			*ret = hypot(
			    of_share / s->share, 2 * of_cv / f.cv * sqrt(fmax(1, s->inflation)));
		}
	}
	population_release(&p);
	return rc;
}

static int
fill_edges(struct baseline *b, const struct map *m, const struct groups *groups,
    const struct labels *labels, double confidence, uint64_t seed, struct arena *a, struct err *e)
{
	const struct same_ends *f;
	size_t at = 0;

	if ((b->edges = arena_calloc(a, m->count + 1, sizeof *b->edges)) == NULL)
		return no_memory(e);
	while ((f = map_next(m, &at, NULL)) != NULL) {
		double ns2 = f->sum / (double)b->requests, off = 0;
		int rc;

		if (confidence > 0 && ns2 >= JUDGED_MIN * b->variance.ns2 &&
		    (rc = relative_error(&off, groups, f, confidence, seed, a, e)) != 0)
			return rc;
		b->edges[b->nedges++] = (struct carrying_edge){
			.from = labels_get(labels, f->from)->text,
			.to = labels_get(labels, f->to)->text,
			.handed_over = f->handed_over,
			.carried = { ns2, fmax(0, ns2 * (1 - off)), ns2 * (1 + off) },
			.mean_ns = f->time / (double)b->requests
		};
	}
	return 0;
}

int
baseline_of(struct baseline *ret, const struct groups *groups, const struct labels *labels,
    double seconds, double confidence, uint64_t seed, struct arena *a, struct err *e)
{
	struct moments all = { 0 };
	struct map m = { 0 };
	bool fits = true;
	int rc = 0;

	for (uint32_t i = 0; i < groups_count(groups); i++)
		moments_merge(&all, &groups_at(groups, i)->total);
	*ret = (struct baseline){ .requests = all.n, .seconds = seconds, .mean_ns = all.mean };
	ret->variance.ns2 = moments_variance(&all);
	for (uint32_t i = 0; i < groups_count(groups) && fits; i++)
		fits = add_group(&m, groups_at(groups, i), all.mean, a);
	rc = !fits       ? no_memory(e)
	     : all.n > 0 ? fill_edges(ret, &m, groups, labels, confidence, seed, a, e)
	                 : 0;
	map_release(&m);
	return rc;
}

/* ---- as text ---- */

void
baseline_print(const struct baseline *b, struct buf *out)
{
	buf_printf(out, "%llu\t%.6g\t%.9g\t%.9g\n", (unsigned long long)b->requests, b->seconds,
	    b->mean_ns, b->variance.ns2);
	for (uint32_t i = 0; i < b->nedges; i++) {
		const struct carrying_edge *x = &b->edges[i];

		if (x->carried.ns2 < KEPT_MIN * b->variance.ns2)
			continue;
		buf_printf(out, "%.9g\t%.9g\t%.9g\t%.9g\t%d\t%s\t%s\n", x->carried.ns2,
		    x->carried.low_ns2, x->carried.high_ns2, x->mean_ns, x->handed_over, x->from,
		    x->to);
	}
}

/* The finite number from *at to the next `until`, which *at is behind then. */
static bool
take_number(const char **at, char until, double *ret)
{
	char *end;

	if (**at == '\0' || strchr(" \t\n\v\f\r", **at) != NULL)
		return false;
	*ret = strtod(*at, &end);
	if (end == *at || *end != until || !isfinite(*ret))
		return false;
	*at = end + 1;
	return true;
}

/* A copy of the text from `at` to the next `until`, which is on the same line; *at is behind it then. NULL: there is none, or no
 * memory. */
static char *
take_text(const char **at, char until, struct arena *a)
{
	size_t n = strcspn(*at, "\t\n");
	char *text = (*at)[n] == until ? arena_alloc(a, n + 1) : NULL;

	if (text == NULL)
		return NULL;
	memcpy(text, *at, n);
	text[n] = '\0';
	*at += n + 1;
	return text;
}

static bool
read_edge(struct carrying_edge *x, const char **at, struct arena *a)
{
	double handed_over;

	if (!take_number(at, '\t', &x->carried.ns2) ||
	    !take_number(at, '\t', &x->carried.low_ns2) ||
	    !take_number(at, '\t', &x->carried.high_ns2) || !take_number(at, '\t', &x->mean_ns) ||
	    !take_number(at, '\t', &handed_over))
		return false;
	x->handed_over = handed_over > 0;
	return (x->from = take_text(at, '\t', a)) != NULL &&
	       (x->to = take_text(at, '\n', a)) != NULL;
}

bool
baseline_read(struct baseline *ret, const char *text, struct arena *a)
{
	uint32_t lines = 0;
	double requests;

	*ret = (struct baseline){ 0 };
	if (!take_number(&text, '\t', &requests) || !take_number(&text, '\t', &ret->seconds) ||
	    !take_number(&text, '\t', &ret->mean_ns) ||
	    !take_number(&text, '\n', &ret->variance.ns2) || ret->variance.ns2 < 0 ||
	    !(requests >= 0 && requests < 0x1p63))
		return false;
	ret->requests = (uint64_t)requests;
	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	if (lines > EDGES_MAX ||
	    (ret->edges = arena_calloc(a, lines + 1, sizeof *ret->edges)) == NULL)
		return false;
	while (*text != '\0')
		if (ret->nedges == lines || !read_edge(&ret->edges[ret->nedges++], &text, a))
			return false;
	return true;
}
