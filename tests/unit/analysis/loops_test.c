/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random programs of nested loops with one or more iterations each. Any number of iterations: one
 * group, times that add up, and the true iteration counts. The letters of a program are its tokens:
 * letter i is token i.
 */
#include "kit.h"

#include "analysis/group.h"
#include "base/rng.h"

enum { PARTS_MAX = 64, LOOPS_MAX = 32, PATH_MAX_STEPS = 20000, RUNS = 40 };

struct program {
	struct part {
		bool loop;
		uint32_t end;         /* for a loop: the part after its body */
		uint32_t first, last; /* for a loop: its letters; otherwise first: the letter */
	} parts[PARTS_MAX];
	uint32_t nparts, nletters, nloops;
};

static uint32_t
draw_body(struct program *p, struct rng *rng, uint32_t depth)
{
	uint32_t parts = 1 + (uint32_t)rng_below(rng, 3), letters = 0;

	for (uint32_t i = 0; i < parts || letters == 0; i++) {
		if (depth < 4 && p->nparts < PARTS_MAX - 24 && p->nloops < LOOPS_MAX &&
		    rng_below(rng, 2) == 0) {
			struct part *loop = &p->parts[p->nparts++];

			p->nloops++;
			loop->loop = true;
			loop->first = p->nletters;
			draw_body(p, rng, depth + 1);
			loop->last = p->nletters - 1;
			loop->end = p->nparts;
		} else {
			p->parts[p->nparts++] = (struct part){ .first = p->nletters++ };
			letters++;
		}
	}
	return letters;
}

struct run {
	uint32_t path[PATH_MAX_STEPS], n;
	uint64_t runs[PARTS_MAX]; /* runs[i]: iterations of the loop parts[i] */
};

static void
walk(const struct program *p, uint32_t from, uint32_t to, struct rng *rng, uint32_t rounds_max,
    struct run *r)
{
	for (uint32_t i = from; i < to; i++) {
		const struct part *it = &p->parts[i];

		if (!it->loop) {
			r->path[r->n++] = it->first;
			continue;
		}
		for (uint64_t rounds = 1 + rng_below(rng, rounds_max); rounds > 0; rounds--) {
			r->runs[i]++;
			walk(p, i + 1, it->end, rng, r->n > PATH_MAX_STEPS / 8 ? 1 : rounds_max, r);
		}
		i = it->end - 1;
	}
}

struct made {
	struct labels *labels;
	struct program program;
	uint32_t letter[PARTS_MAX + 1]; /* labels; the last one ends every path */
	struct run runs[RUNS];
	int64_t total_ns[RUNS];
};

static void
made_begin(struct made *m, uint64_t seed)
{
	struct rng rng;
	char text[32];

	memset(m, 0, sizeof *m);
	m->labels = labels_new();
	rng_seed(&rng, seed);
	draw_body(&m->program, &rng, 0);
	for (uint32_t i = 0; i <= m->program.nletters; i++) {
		snprintf(text, sizeof text, "s/p:%u", i);
		m->letter[i] = labels_intern(m->labels, RECORD_POINT, text, strlen(text), NULL, 0);
	}
	for (uint32_t i = 0; i < RUNS; i++) {
		walk(&m->program, 0, m->program.nparts, &rng, i % 4 == 0 ? 1 : 3, &m->runs[i]);
		m->runs[i].path[m->runs[i].n++] = m->program.nletters;
	}
}

/* Adds the times of a run, which do not depend on where it is added. */
static struct group *
add_run(struct made *m, uint32_t run, struct groups *gs)
{
	static const char *const nodes[] = { "n" };
	static struct step steps[PATH_MAX_STEPS];
	struct event event = { 0 };
	struct run *r = &m->runs[run];
	struct trace t = { .id = run + 1, .nevents = 1, .events = &event };
	struct critpath p = { r->n, steps, 0 };
	struct arena a = { 0 };
	struct group *g;
	struct shape s;
	struct rng rng;

	rng_seed(&rng, 77 + run);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t label = m->letter[r->path[i]];

		steps[i] = (struct step){
			i > 0 ? steps[i - 1].time_ns + (int64_t)rng_below(&rng, 1000) : 5, 0, label,
			label, label, BIN_NONE
		};
	}
	t.begin_ns = steps[0].time_ns;
	t.end_ns = steps[r->n - 1].time_ns;
	m->total_ns[run] = t.end_ns - t.begin_ns;
	assert_int_equal(shape_of(&s, &p, m->labels, &a, NULL), 0);
	assert_true(shape_exact(&s, &t));
	assert_int_equal(s.ntokens, m->program.nletters + 1);
	for (uint32_t i = 0; i < s.nloops; i++) {
		assert_int_equal(
		    s.iterations[i], shape_runs(&s, s.loops[i].first, s.loops[i].last));
		assert_int_equal(s.edges[s.loops[i].edge].to_token, s.loops[i].first);
		assert_int_equal(s.edges[s.loops[i].edge].from_token, s.loops[i].last);
	}
	g = groups_add(gs, &t, &p, &s, nodes);
	arena_release(&a);
	return g;
}

static struct groups *
groups_for(struct made *m, uint32_t samples_max)
{
	struct groups_options o = {
		.groups_max = 4, .samples_max = samples_max, .slow_max = samples_max / 2, .seed = 3
	};

	return groups_new(&o, m->labels);
}

/* Iterations of the loop over these letters in the run. */
static uint64_t
true_runs(const struct made *m, uint32_t run, const struct shape_loop *l)
{
	for (uint32_t i = 0; i < m->program.nparts; i++) {
		const struct part *it = &m->program.parts[i];

		if (it->loop && it->first == l->first && it->last == l->last)
			return m->runs[run].runs[i];
	}
	fail_msg("the program has no loop from %u to %u", l->first, l->last);
	return 0;
}

static void
assert_samples_are_true(const struct made *m, const struct group *g)
{
	uint32_t fields = g->nkeys - g->shape.nloops;

	for (uint32_t i = 0; i < g->nsamples + g->nslow; i++) {
		const struct sample *s = i < g->nsamples ? &g->samples[i]
		                                         : &g->slow[i - g->nsamples];
		uint32_t run = (uint32_t)s->id.low - 1;
		double sum = 0;

		for (uint32_t e = 0; e < g->shape.nedges; e++)
			sum += s->edges_ns[e];
		assert_near(sum, (double)m->total_ns[run], 0);
		assert_int_equal(s->total_ns, m->total_ns[run]);
		for (uint32_t l = 0; l < g->shape.nloops; l++) {
			assert_int_equal(g->keys[fields + l].kind, KEY_ITERATIONS);
			assert_int_equal(g->keys[fields + l].field, l);
			assert_near(
			    s->keys[fields + l], (double)true_runs(m, run, &g->shape.loops[l]), 0);
		}
	}
}

static const struct shape_edge *
find_edge(const struct group *g, const struct shape_edge *like, uint32_t *at)
{
	for (*at = 0; *at < g->shape.nedges; ++*at)
		if (g->shape.edges[*at].from_token == like->from_token &&
		    g->shape.edges[*at].to_token == like->to_token)
			return &g->shape.edges[*at];
	fail_msg("no edge from %u to %u", like->from_token, like->to_token);
	return NULL;
}

static void
assert_same_moments(const struct group *a, const struct group *b)
{
	assert_int_equal(a->shape.nedges, b->shape.nedges);
	assert_int_equal(a->total.n, b->total.n);
	assert_near(a->total.mean, b->total.mean, 1e-9 * a->total.mean);
	assert_near(a->total.m2, b->total.m2, 1e-9 * a->total.m2 + 1e-6);
	assert_near(a->total_high.m3, b->total_high.m3, 1e-9 * pow(a->total.m2, 1.5) + 1e-6);
	assert_near(a->total_high.m4, b->total_high.m4, 1e-9 * a->total.m2 * a->total.m2 + 1e-6);
	for (uint32_t i = 0; i < a->shape.nedges; i++) {
		const struct comoments *x = &a->edges[i], *y;
		uint32_t at;

		find_edge(b, &a->shape.edges[i], &at);
		y = &b->edges[at];
		assert_int_equal(x->n, y->n);
		assert_near(x->mean_x, y->mean_x, 1e-9 * fabs(x->mean_x));
		assert_near(x->mean_y, y->mean_y, 1e-9 * x->mean_y);
		assert_near(x->m2_x, y->m2_x, 1e-9 * x->m2_x + 1e-6);
		assert_near(
		    x->c_xy, y->c_xy, 1e-9 * (fabs(x->c_xy) + x->m2_x + a->total.m2) + 1e-6);
		assert_near(x->c_xxy, y->c_xxy, 1e-9 * x->m2_x * sqrt(a->total.m2) + 1e-6);
		assert_near(x->c_xyy, y->c_xyy, 1e-9 * a->total.m2 * sqrt(x->m2_x) + 1e-6);
		assert_near(x->c_xxyy, y->c_xxyy, 1e-9 * x->m2_x * a->total.m2 + 1e-6);
		assert_near(
		    x->c_xyyy, y->c_xyyy, 1e-9 * pow(a->total.m2, 1.5) * sqrt(x->m2_x) + 1e-6);
	}
}

/* The group keeps the slowest of all runs, each once, separately from the reservoir. */
static void
assert_slowest_are_kept(const struct made *m, const struct group *g)
{
	for (uint32_t i = 0; i < g->nslow; i++) {
		uint32_t slower = 0;

		for (uint32_t run = 0; run < RUNS; run++)
			slower += m->total_ns[run] > g->slow[i].total_ns;
		assert_true(slower < g->nslow);
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(g->slow[i].id.low, g->slow[j].id.low);
	}
}

/*
 * Loops are discovered as traces come: moments and samples of the other edges are as if the loops
 * had been known from the start.
 */
static void
iterations_make_no_group_and_lose_no_time(void **state)
{
	static struct made m;
	uint32_t loops = 0;
	(void)state;

	for (uint64_t seed = 0; seed < 150; seed++) {
		struct groups *up, *down;
		struct group *g = NULL, *h = NULL;
		double mean = 0;

		made_begin(&m, seed);
		up = groups_for(&m, RUNS);
		down = groups_for(&m, RUNS);
		for (uint32_t i = 0; i < RUNS; i++) {
			g = add_run(&m, i, up);
			h = add_run(&m, RUNS - 1 - i, down);
			assert_true(g != NULL && h != NULL);
		}
		assert_int_equal(groups_count(up), 1);
		assert_int_equal(groups_count(down), 1);
		assert_samples_are_true(&m, g);
		assert_samples_are_true(&m, h);
		assert_same_moments(g, h);
		for (uint32_t e = 0; e < g->shape.nedges; e++)
			mean += g->edges[e].mean_x;
		assert_near(mean, g->total.mean, 1e-6);
		loops += g->shape.nloops;
		groups_free(up);
		groups_free(down);
		labels_free(m.labels);
	}
	assert_true(loops > 300);
}

static void
merged_parts_equal_the_whole(void **state)
{
	static struct made m;
	(void)state;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct groups *whole, *part[3], *all;
		struct group *g = NULL, *h;

		made_begin(&m, seed);
		whole = groups_for(&m, 16);
		all = groups_for(&m, 16);
		for (int i = 0; i < 3; i++)
			part[i] = groups_for(&m, 16);
		for (uint32_t i = 0; i < RUNS; i++) {
			g = add_run(&m, i, whole);
			assert_non_null(add_run(&m, i, part[i * i % 3]));
		}
		for (int i = 0; i < 3; i++)
			assert_int_equal(groups_merge(all, part[i], NULL), 0);
		assert_int_equal(groups_count(all), 1);
		h = groups_at(all, 0);
		assert_same_moments(g, h);
		assert_samples_are_true(&m, h);
		assert_int_equal(h->nsamples, 16);
		assert_int_equal(h->nslow, 8);
		assert_int_equal(g->nslow, 8);
		assert_slowest_are_kept(&m, g);
		assert_slowest_are_kept(&m, h);
		for (uint32_t i = 0; i < h->nsamples; i++)
			for (uint32_t j = 0; j < i; j++)
				assert_int_not_equal(h->samples[i].id.low, h->samples[j].id.low);
		assert_int_equal(h->slowest.total_ns, g->slowest.total_ns);
		assert_int_equal(h->fastest.total_ns, g->fastest.total_ns);
		assert_memory_equal(h->sketch, g->sketch, sizeof *g->sketch);
		for (int i = 0; i < 3; i++)
			groups_free(part[i]);
		groups_free(whole);
		groups_free(all);
		labels_free(m.labels);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_make_no_group_and_lose_no_time),
		cmocka_unit_test(merged_parts_equal_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
