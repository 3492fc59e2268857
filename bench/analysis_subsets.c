/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often 95 % intervals of shares and of the CV hold on real traces: of each large group, random subsets
 * are judged, and the truth is the share and the CV of the whole group. docs/calibration.md has the
 * results.
 *
 *	analysis_subsets [-v] [-r ROUNDS] FOLDER...	each as one set of trace files; -v: also by group
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/always_on_path.h"
#include "analysis/variance.h"
#include "base/rng.h"
#include "formats/reading.h"

enum { GROUP_MIN = 300, SAMPLES_MAX = 20000, GROUPS_MAX = 4096, SUBSETS = 40, SIZES = 4 };

/* Edges with less of the variance are not judged; and a subset has at most so much of its group. */
static const double SHARE_MIN = 0.05, PART_MAX = 0.25;
static const uint32_t sizes[SIZES] = { 30, 64, 128, 512 };

struct covered {
	uint32_t runs, held, below, wide; /* below: the truth is; wide: from 0 to 1 */
	double width;
};
struct result {
	struct covered share[SIZES], cv[SIZES];
};
struct set {
	struct labels *labels;
	struct groups *groups;
	struct reading *reading;
	struct arena arena;
};

static void
die(const char *what, const struct err *e)
{
	fprintf(stderr, "analysis_subsets: %s%s%s\n", what, e != NULL ? ": " : "",
	    e != NULL ? e->text : "");
	exit(1);
}

static int
take(void *ctx, struct trace *t, struct err *e)
{
	struct set *s = ctx;
	struct always_on_path p;

	arena_reset(&s->arena);
	if (trace_is_evidence(t) &&
	    always_on_path_extract(&p, t, s->labels, NULL, &s->arena, e) == 0)
		groups_add(s->groups, t, &p.path, &p.shape, reading_nodes(s->reading));
	trace_free(t);
	return 0;
}

/* ---- subsets ---- */

/* A group of these samples alone, in the arena; they stay the other group's. */
static struct group *
group_of(const struct group *from, const struct sample **of, uint32_t n, struct arena *a)
{
	struct group *g = arena_calloc(a, 1, sizeof *g);

	if (g == NULL)
		die("out of memory", NULL);
	g->shape = from->shape;
	g->type = from->type;
	g->edges = arena_calloc(a, g->shape.nedges, sizeof *g->edges);
	g->edge_ignored = arena_calloc(a, g->shape.nedges, sizeof *g->edge_ignored);
	g->sketch = arena_calloc(a, 1, sizeof *g->sketch);
	g->samples = arena_calloc(a, n, sizeof *g->samples);
	if (g->edges == NULL || g->edge_ignored == NULL || g->sketch == NULL || g->samples == NULL)
		die("out of memory", NULL);
	g->nsamples = g->samples_max = n;
	for (uint32_t i = 0; i < n; i++) {
		double y = (double)of[i]->total_ns;

		g->samples[i] = *of[i];
		comoments_add_high(
		    g->edges, of[i]->edges_ns, g->shape.nedges, y, &g->total, &g->total_high);
		moments_high_add(&g->total_high, &g->total, y);
		moments_add(&g->total, y);
		sketch_add(g->sketch, of[i]->total_ns);
	}
	return g;
}

/* `n` of the samples to the front, at random. */
static void
shuffle(const struct sample **of, uint32_t all, uint32_t n, struct rng *rng)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = i + (uint32_t)rng_below(rng, all - i);
		const struct sample *s = of[i];

		of[i] = of[k];
		of[k] = s;
	}
}

static void
count(struct covered *c, struct interval v, double truth, bool wide)
{
	c->runs++;
	c->held += v.low <= truth && truth <= v.high;
	c->below += truth < v.low;
	c->wide += wide;
	c->width += v.high - v.low;
}

static void
judge(struct result *r, uint32_t size, const struct finding *truth, const struct group *sub,
    uint32_t rounds, uint64_t seed, struct arena *a)
{
	static const struct conditions c = { 0.1, 0.95, 30, 0.95 };
	struct finding f;
	struct err e;

	if (finding_of(&f, sub, &c, 0, rounds, seed, a, &e) != 0)
		die("a subset", &e);
	count(&r->cv[size], f.cv_interval, truth->cv, false);
	for (uint32_t k = 0; k < f.nedges; k++)
		if (truth->edges[k].share >= SHARE_MIN) {
			struct interval v = f.edges[k].interval;

			count(&r->share[size], v, truth->edges[k].share, v.low <= 0 && v.high >= 1);
		}
}

static void
try_group(struct result *r, const struct group *g, uint32_t rounds, struct rng *rng)
{
	static const struct conditions c = { 0.1, 0.95, 30, 0.95 };
	struct arena a = { 0 }, b = { 0 };
	const struct sample **drawn = arena_calloc(&a, g->nsamples, sizeof *drawn);
	struct finding truth;
	struct err e;

	if (drawn == NULL || finding_judge(&truth, g, &c, 0, rounds, 1, &a, &e) != 0)
		die("out of memory", NULL);
	for (uint32_t i = 0; i < g->nsamples; i++)
		drawn[i] = &g->samples[i];
	for (uint32_t size = 0; size < SIZES; size++)
		for (uint32_t i = 0; i < SUBSETS && sizes[size] <= PART_MAX * (double)g->nsamples;
		     i++) {
			arena_reset(&b);
			shuffle(drawn, g->nsamples, sizes[size], rng);
			judge(r, size, &truth, group_of(g, drawn, sizes[size], &b), rounds, i, &b);
		}
	arena_release(&a);
	arena_release(&b);
}

/* ---- output ---- */

static void
print(const char *what, const struct covered *c)
{
	printf("  %-8s", what);
	for (uint32_t i = 0; i < SIZES; i++)
		if (c[i].runs > 0)
			printf("  %5.1f (%4.1f; %4.2f; %4.1f) of %-6u",
			    100.0 * c[i].held / c[i].runs, 100.0 * c[i].below / c[i].runs,
			    c[i].width / c[i].runs, 100.0 * c[i].wide / c[i].runs, c[i].runs);
	printf("\n");
}

static void
add(struct covered *to, const struct covered *from)
{
	for (uint32_t i = 0; i < SIZES; i++) {
		to[i].runs += from[i].runs;
		to[i].held += from[i].held;
		to[i].below += from[i].below;
		to[i].wide += from[i].wide;
		to[i].width += from[i].width;
	}
}

static void
print_all(const struct result *r)
{
	print("shares", r->share);
	print("CV", r->cv);
}

static void
try_set(const char *folder, uint32_t rounds, bool verbose)
{
	const struct groups_options o = {
		.groups_max = GROUPS_MAX, .samples_max = SAMPLES_MAX, .seed = 1
	};
	struct set s = { .labels = labels_new() };
	const struct reading_options ro = { .take = take, .ctx = &s };
	struct result all = { 0 };
	uint32_t ngroups = 0;
	struct rng rng;
	struct err e;

	rng_seed(&rng, 1);
	if (s.labels == NULL || (s.groups = groups_new(&o, s.labels)) == NULL)
		die("out of memory", NULL);
	if (reading_new(&s.reading, &ro, s.labels, &e) != 0 ||
	    reading_file(s.reading, folder, &e) != 0 || reading_end(s.reading, &e) != 0)
		die(folder, &e);
	for (uint32_t i = 0; i < groups_count(s.groups); i++) {
		const struct group *g = groups_at(s.groups, i);
		struct result r = { 0 };

		if (g->nsamples < GROUP_MIN || moments_cv(&g->total) <= 0)
			continue;
		ngroups++;
		try_group(&r, g, rounds, &rng);
		add(all.share, r.share);
		add(all.cv, r.cv);
		if (verbose) {
			printf("group of %u, %u edges, CV %.2f\n", g->nsamples, g->shape.nedges,
			    moments_cv(&g->total));
			print_all(&r);
		}
	}
	printf("%s: %u groups of %u requests or more; subsets of", folder, ngroups, GROUP_MIN);
	for (uint32_t i = 0; i < SIZES; i++)
		printf(" %u", sizes[i]);
	printf(": held %% (truth below %%; mean width; from 0 to 1 %%)\n");
	print_all(&all);
	reading_free(s.reading);
	groups_free(s.groups);
	labels_free(s.labels);
	arena_release(&s.arena);
}

int
main(int argc, char **argv)
{
	uint32_t rounds = 200;
	bool verbose = false;
	int c;

	while ((c = getopt(argc, argv, "vr:")) != -1)
		if (c == 'v') {
			verbose = true;
		} else if (c == 'r') {
			rounds = (uint32_t)strtoul(optarg, NULL, 10);
		} else {
			fputs("usage: analysis_subsets [-v] [-r ROUNDS] FOLDER...\n", stderr);
			return 2;
		}
	for (; optind < argc; optind++)
		try_set(argv[optind], rounds, verbose);
	return 0;
}
