/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <malloc.h>

#include "made.h"
#include "base/hash.h"
#include "base/texts.h"

static void
a_group_counts_all_requests_and_samples_few(void **state)
{
	struct made m;
	struct group *g = NULL;
	double sum = 0;
	(void)state;

	made_begin(&m, 3, 50, 1);
	for (int64_t i = 0; i < 1000; i++) {
		g = made_add(&m, (const int64_t[]){ 100 + i, 200, 300 }, NULL, 0);
		sum += (double)(600 + i);
	}
	assert_int_equal(groups_count(m.groups), 1);
	assert_ptr_equal(groups_at(m.groups, 0), g);
	assert_ptr_equal(groups_find(m.groups, g->shape.key), g);
	assert_int_equal(g->total.n, 1000);
	assert_near(g->total.mean, sum / 1000, 1e-6);
	assert_int_equal(g->nsamples, 50);
	assert_int_equal(g->slowest.total_ns, 1599);
	assert_int_equal(g->slowest.id.low, 1000);
	assert_int_equal(g->fastest.total_ns, 600);
	assert_int_equal(g->fastest.id.low, 1);
	for (uint32_t i = 0; i < g->nsamples; i++) {
		double edges = 0;

		for (uint32_t e = 0; e < g->shape.nedges; e++)
			edges += g->samples[i].edges_ns[e];
		assert_near(edges, (double)g->samples[i].total_ns, 0);
		assert_int_equal(g->samples[i].total_ns, 599 + g->samples[i].id.low);
	}
	assert_string_equal(labels_get(m.labels, g->type)->name, "R)");
	made_end(&m);
}

/*
 * 2000 reservoirs of 10 out of 100 traces: each tenth of the traces fills a tenth of the places,
 * within 5 standard deviations.
 */
static void
every_trace_is_kept_with_the_same_probability(void **state)
{
	enum { RUNS = 2000 };
	uint32_t kept[10] = { 0 };
	(void)state;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct made m;
		struct group *g = NULL;

		made_begin(&m, 2, 10, seed);
		for (int i = 0; i < 100; i++)
			g = made_add(&m, (const int64_t[]){ 1, 1 }, NULL, 0);
		for (uint32_t i = 0; i < g->nsamples; i++)
			kept[(g->samples[i].id.low - 1) / 10]++;
		made_end(&m);
	}
	for (int i = 0; i < 10; i++)
		assert_near(kept[i], RUNS, 5 * sqrt(RUNS * 10 * 0.1 * 0.9));
}

static void
the_same_seed_keeps_the_same_traces(void **state)
{
	struct made m[2];
	struct group *g[2] = { NULL };
	(void)state;

	for (int j = 0; j < 2; j++) {
		made_begin(&m[j], 2, 10, 42);
		for (int i = 0; i < 500; i++)
			g[j] = made_add(&m[j], (const int64_t[]){ i, 1 }, NULL, 0);
	}
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(g[0]->samples[i].id.low, g[1]->samples[i].id.low);
	made_end(&m[0]);
	made_end(&m[1]);
}

static void
keys_are_the_fields_of_the_path(void **state)
{
	struct value v[2] = { { .type = VALUE_UINT, .u = 7 },
		{ .type = VALUE_TEXT, .len = 3, .text = "hit" } };
	struct buf out = { 0 };
	struct made m;
	struct group *g;
	(void)state;

	made_begin(&m, 2, 10, 1);
	m.pid = 10;
	m.tid = 20;
	made_add(&m, (const int64_t[]){ 1, 1 }, v, 0);
	v[1].text = "mis";
	v[0].type = VALUE_NONE;
	g = made_add(&m, (const int64_t[]){ 1, 1 }, v, 2);
	assert_int_equal(g->nkeys, 5);
	assert_int_equal(g->keys[0].kind, KEY_NODE);
	assert_int_equal(g->keys[1].kind, KEY_PROCESS);
	assert_int_equal(g->keys[2].kind, KEY_THREAD);
	assert_int_equal(g->keys[3].kind, KEY_FIELD);
	assert_int_equal(g->keys[3].type, VALUE_UINT);
	assert_int_equal(g->keys[4].type, VALUE_TEXT);
	assert_near(g->samples[0].keys[3], 7, 0);
	assert_true(isnan(g->samples[1].keys[3]));
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[0].keys[1]), "alpha/10");
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[1].keys[2]), "gamma/20");
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[0].keys[0]), "alpha");
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[1].keys[0]), "gamma");
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[1].keys[4]), "mis");
	key_print(g, &g->keys[4], m.labels, &out);
	assert_int_equal(out.len, strlen("s/app:p1.kind"));
	assert_memory_equal(out.data, "s/app:p1.kind", out.len);
	buf_release(&out);
	made_end(&m);
}

static void
texts_of_keys_are_bounded(void **state)
{
	struct value v[2] = { { .type = VALUE_UINT, .u = 7 }, { .type = VALUE_TEXT } };
	struct made m;
	struct group *g = NULL;
	uint32_t known = 0;
	char text[16];
	(void)state;

	made_begin(&m, 2, 400, 1);
	m.pid = m.tid = 1;
	for (int i = 0; i < 400; i++) {
		v[1].len = (uint32_t)snprintf(text, sizeof text, "text%d", i);
		v[1].text = text;
		g = made_add(&m, (const int64_t[]){ 1, 1 }, v, 0);
	}
	for (uint32_t i = 0; i < g->nsamples; i++)
		known += !isnan(g->samples[i].keys[4]);
	assert_int_equal(texts_count(g->texts), 256);
	assert_int_equal(known, 254); /* one key is the node, one is both process and thread */
	made_end(&m);
}

static void
shapes_over_the_limit_are_counted(void **state)
{
	struct labels *l = labels_new();
	struct groups_options o = { .groups_max = 3, .samples_max = 10, .seed = 1 };
	struct groups *gs = groups_new(&o, l);
	static const char *const nodes[] = { "n" };
	(void)state;

	for (uint32_t i = 0; i < 10; i++) {
		struct event events[2] = { 0 };
		struct step steps[2] = { { 0, 0, 0, 0 }, { 5, 1, 0, 0 } };
		struct trace t = { .id = i + 1, .end_ns = 5, .nevents = 2, .events = events };
		struct critpath p = { 2, steps, 0 };
		struct arena a = { 0 };
		struct shape s;
		char text[32];

		for (int j = 0; j < 2; j++) {
			snprintf(text, sizeof text, "s/p:e%u_%d", i % 5, j);
			steps[j].label = labels_intern(
			    l, RECORD_POINT, text, strlen(text), NULL, 0);
		}
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		assert_int_equal(groups_add(gs, &t, &p, &s, nodes) != NULL, i % 5 < 3);
		arena_release(&a);
	}
	assert_int_equal(groups_count(gs), 3);
	assert_int_equal(groups_other(gs)->traces, 4);
	assert_int_equal(groups_other(gs)->collisions, 0);
	assert_near(groups_other(gs)->total.mean, 5, 0);
	assert_null(groups_find(gs, (struct hash128){ 1, 2 }));
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(groups_at(gs, i)->total.n, 2);
	groups_free(gs);
	labels_free(l);
}

static void
iterations_of_loops_are_keys(void **state)
{
	struct labels *l = labels_new();
	struct groups_options o = { .groups_max = 3, .samples_max = 10, .seed = 1 };
	struct groups *gs = groups_new(&o, l);
	static const char *const nodes[] = { "n" };
	struct buf out = { 0 };
	struct group *g = NULL;
	(void)state;

	for (uint32_t times = 1; times < 5; times++) {
		struct event events[16] = { 0 };
		struct step steps[16];
		struct trace t = { .id = times, .nevents = 16, .events = events };
		struct critpath p = { times + 2, steps, 0 };
		struct arena a = { 0 };
		struct shape s;

		for (uint32_t i = 0; i < p.nsteps; i++) {
			const char *text = i == 0 ? "s/p:A" : i == p.nsteps - 1 ? "s/p:C" : "s/p:B";

			steps[i] = (struct step){ i, i,
				labels_intern(l, RECORD_POINT, text, 5, NULL, 0), 0 };
		}
		t.end_ns = times + 1;
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		g = groups_add(gs, &t, &p, &s, nodes);
		arena_release(&a);
	}
	assert_int_equal(groups_count(gs), 1);
	assert_int_equal(g->nkeys, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_near(g->samples[i].keys[0], 1 + i, 0);
	key_print(g, &g->keys[0], l, &out);
	buf_u8(&out, 0);
	assert_string_equal((const char *)out.data, "iterations of ( s/p:B ... )+");
	buf_release(&out);
	groups_free(gs);
	labels_free(l);
}

/* The wait at p1 is excluded: it is not part of the measured times and is counted separately. */
static void
excluded_waits_are_not_part_of_the_times(void **state)
{
	static const char *const patterns[] = { "other/*", "s/app:p1", NULL };
	struct groups_options o = {
		.groups_max = 8, .samples_max = 50, .seed = 1, .ignore = patterns
	};
	struct group *g = NULL;
	struct made m;
	(void)state;

	made_begin(&m, 4, 50, 1);
	groups_free(m.groups);
	m.groups = groups_new(&o, m.labels);
	for (int64_t i = 0; i < 100; i++)
		g = made_add(&m, (const int64_t[]){ 1000 * i, 7 * i, 200, 300 + i }, NULL, 0);
	assert_int_equal(g->total.n, 100);
	assert_near(g->total.mean, 500 + 49.5, 1e-9);
	assert_int_equal(g->ignored.n, 100);
	assert_near(g->ignored.mean, 1007 * 49.5, 1e-6);
	assert_int_equal(g->slowest.total_ns, 599);
	assert_int_equal(g->fastest.total_ns, 500);
	for (uint32_t e = 0; e < 4; e++) {
		assert_int_equal(g->edge_ignored[e], e < 2);
		assert_int_equal(g->edges[e].n, 100);
		assert_near(g->edges[e].mean_x, e < 2 ? 0 : e == 2 ? 200 : 349.5, 1e-9);
	}
	assert_near(sketch_quantile(g->sketch, 1), 599, 6);
	for (uint32_t i = 0; i < g->nsamples; i++) {
		assert_near(g->samples[i].edges_ns[0], 0, 0);
		assert_near(g->samples[i].edges_ns[2] + g->samples[i].edges_ns[3],
		    (double)g->samples[i].total_ns, 0);
	}
	made_end(&m);
}

/*
 * A path of two letters out of 26 has a shape of its own. If `key` is not NULL, the path pretends
 * to have this group id, to test a collision.
 */
static struct group *
add_pair(
    struct groups *gs, struct labels *l, uint32_t i, const struct hash128 *key, struct hash128 *ret)
{
	static const char *const nodes[] = { "n" };
	struct event events[2] = { 0 };
	struct step steps[2] = { { 0, 0, 0, 0, 0, 0 }, { 5, 1, 0, 0, 0, 0 } };
	struct trace t = { .id = i + 1, .id_high = 7, .end_ns = 5, .nevents = 2, .events = events };
	struct critpath p = { 2, steps, 0 };
	struct arena a = { 0 };
	struct group *g;
	struct shape s;
	char text[32];

	for (uint32_t j = 0; j < 2; j++) {
		snprintf(text, sizeof text, "s/p:e%u", j == 0 ? i : 1000000);
		steps[j].label = labels_intern(l, RECORD_POINT, text, strlen(text), NULL, 0);
	}
	assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
	if (key != NULL)
		s.key = *key;
	if (ret != NULL)
		*ret = s.key;
	g = groups_add(gs, &t, &p, &s, nodes);
	arena_release(&a);
	return g;
}

static void
a_collision_of_group_ids_is_detected(void **state)
{
	struct groups_options o = { .groups_max = 8, .samples_max = 8, .seed = 1 };
	struct labels *l = labels_new();
	struct groups *gs = groups_new(&o, l), *other = groups_new(&o, l);
	struct hash128 key, half;
	(void)state;

	assert_non_null(add_pair(gs, l, 0, NULL, &key));
	assert_null(add_pair(gs, l, 1, &key, NULL));
	assert_int_equal(groups_other(gs)->collisions, 1);
	assert_int_equal(groups_other(gs)->traces, 1);
	/* only half of the id is equal: no collision */
	half = (struct hash128){ key.a, key.b + 1 };
	assert_non_null(add_pair(gs, l, 2, &half, NULL));
	assert_int_equal(groups_count(gs), 2);
	assert_int_equal(groups_other(gs)->collisions, 1);
	assert_ptr_equal(groups_find(gs, key), groups_at(gs, 0));
	assert_ptr_equal(groups_find(gs, half), groups_at(gs, 1));
	assert_int_equal(groups_at(gs, 0)->slowest.id.high, 7);

	add_pair(other, l, 3, &key, NULL);
	add_pair(other, l, 3, &key, NULL);
	/* the same when two sets of groups are merged */
	assert_int_equal(groups_merge(gs, other, NULL), 0);
	assert_int_equal(groups_other(gs)->collisions, 3);
	assert_int_equal(groups_other(gs)->traces, 3);
	groups_free(other);
	groups_free(gs);
	labels_free(l);
}

/* This is an internal error; debug builds abort instead. */
static void
a_path_that_does_not_add_up_is_no_evidence(void **state)
{
#ifdef HONE_DEBUG
	(void)state;
	/* not skip(): cmocka prints it as "not ok" in TAP */
#else
	static const char *const nodes[] = { "n" };
	struct groups_options o = { .groups_max = 8, .samples_max = 8, .seed = 1 };
	struct labels *l = labels_new();
	struct groups *gs = groups_new(&o, l);
	uint32_t label = labels_intern(l, RECORD_POINT, "s/p:e", 5, NULL, 0);
	struct event events[2] = { { .label = label }, { .label = label } };
	struct step steps[2] = { { 0, 0, label, label, label, BIN_NONE },
		{ 5, 1, label, label, label, BIN_NONE } };
	struct trace t = { .id = 1, .end_ns = 5, .nevents = 2, .events = events };
	struct critpath p = { 2, steps, 0 };
	struct arena a = { 0 };
	struct shape s;
	(void)state;

	assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
	s.times_ns[0]++;
	assert_null(groups_add(gs, &t, &p, &s, nodes));
	assert_int_equal(groups_other(gs)->inexact, 1);
	assert_int_equal(groups_other(gs)->traces, 1);
	assert_int_equal(groups_count(gs), 0);
	arena_release(&a);
	groups_free(gs);
	labels_free(l);
#endif
}

/*
 * The memory allocated with full reservoirs stays below the bound; shapes after that count as
 * "other".
 */
static void
memory_is_bounded_with_any_traces(void **state)
{
	enum { BOUND = 1 << 20, SHAPES = 500, EACH = 100 };
	struct groups_options o = {
		.groups_max = 1000, .samples_max = 64, .memory_max_bytes = BOUND, .seed = 1
	};
	struct labels *l = labels_new();
	struct mallinfo2 before, after;
	struct groups *gs;
	uint64_t in = 0;
	(void)state;

	for (uint32_t i = 0; i < SHAPES; i++) { /* the memory of labels does not count */
		char text[32];

		snprintf(text, sizeof text, "s/p:e%u", i);
		labels_intern(l, RECORD_POINT, text, strlen(text), NULL, 0);
	}
	add_pair(gs = groups_new(&o, l), l, 0, NULL, NULL);
	groups_free(gs);
	before = mallinfo2();
	gs = groups_new(&o, l);
	for (uint32_t i = 0; i < SHAPES * EACH; i++)
		in += add_pair(gs, l, i % SHAPES, NULL, NULL) != NULL;
	after = mallinfo2();
	assert_true(groups_count(gs) >= BOUND / 32768 && groups_count(gs) < SHAPES);
	assert_int_equal(in, groups_count(gs) * EACH);
	assert_int_equal(groups_other(gs)->traces, SHAPES * EACH - in);
	assert_true(
	    /* hash tables of groups are not part of the bound */
	    after.uordblks - before.uordblks <= BOUND + 65536);
	groups_free(gs);
	labels_free(l);
}

static void
the_median_exemplar_is_in_the_middle(void **state)
{
	struct exemplar x;
	struct made m;
	struct group *g = NULL;
	(void)state;

	made_begin(&m, 2, 1000, 1);
	for (int64_t i = 0; i < 999; i++)
		g = made_add(&m, (const int64_t[]){ 100000 + 1000 * (i * 7 % 999), 1 }, NULL, 0);
	x = group_median(g);
	assert_near((double)x.total_ns, 599000,
	    599000 * 0.011); /* the error that the sketch states, and half a step */
	assert_true(x.id.low >= 1 && x.id.low <= 999);
	assert_int_equal(x.total_ns, 100001 + 1000 * ((int64_t)(x.id.low - 1) * 7 % 999));
	assert_true(group_median(&(struct group){ .sketch = g->sketch }).total_ns < 0);
	made_end(&m);
}

/* Texts are numbered in the order in which they come, which differs between the sets. */
static void
texts_of_keys_survive_a_merge(void **state)
{
	struct value v[2] = { { .type = VALUE_UINT, .u = 7 }, { .type = VALUE_TEXT, .len = 1 } };
	struct groups_options o = { .groups_max = 8, .samples_max = 100, .seed = 1 };
	struct groups *parts[2];
	struct group *g;
	struct made m;
	(void)state;

	made_begin(&m, 2, 100, 1);
	groups_free(m.groups);
	for (int part = 0; part < 2; part++) {
		m.groups = parts[part] = groups_new(&o, m.labels);
		for (int i = 0; i < 20; i++) {
			v[1].text = &"abcdefgh"[(i + 3 * part) % 8];
			v[0].u = (uint64_t)*v[1].text;
			made_add(&m, (const int64_t[]){ 1, 1 }, v, (uint32_t)i % 3);
		}
	}
	assert_int_equal(groups_merge(parts[0], parts[1], NULL), 0);
	g = groups_at(parts[0], 0);
	assert_int_equal(g->nsamples, 40);
	for (uint32_t i = 0; i < 40; i++) {
		const struct sample *s = &g->samples[i];

		assert_int_equal(*texts_get(g->texts, (uint32_t)s->keys[4]), (int)s->keys[3]);
		assert_string_equal(texts_get(g->texts, (uint32_t)s->keys[0]),
		    ((const char *const[]){ "alpha", "beta", "gamma" })[(s->id.low - 1) % 20 % 3]);
	}
	groups_free(parts[1]);
	made_end(&(struct made){ .groups = parts[0], .labels = m.labels });
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_counts_all_requests_and_samples_few),
		cmocka_unit_test(every_trace_is_kept_with_the_same_probability),
		cmocka_unit_test(the_same_seed_keeps_the_same_traces),
		cmocka_unit_test(keys_are_the_fields_of_the_path),
		cmocka_unit_test(texts_of_keys_are_bounded),
		cmocka_unit_test(shapes_over_the_limit_are_counted),
		cmocka_unit_test(iterations_of_loops_are_keys),
		cmocka_unit_test(excluded_waits_are_not_part_of_the_times),
		cmocka_unit_test(a_collision_of_group_ids_is_detected),
		cmocka_unit_test(a_path_that_does_not_add_up_is_no_evidence),
		cmocka_unit_test(memory_is_bounded_with_any_traces),
		cmocka_unit_test(the_median_exemplar_is_in_the_middle),
		cmocka_unit_test(texts_of_keys_survive_a_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
