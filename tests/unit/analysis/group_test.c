/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"

static void
a_group_counts_all_and_keeps_few(void **state)
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
	assert_int_equal(g->slowest.trace_id, 1000);
	assert_int_equal(g->fastest.total_ns, 600);
	assert_int_equal(g->fastest.trace_id, 1);
	for (uint32_t i = 0; i < g->nsamples; i++) {
		double edges = 0;

		for (uint32_t e = 0; e < g->shape.nedges; e++)
			edges += g->samples[i].edges_ns[e];
		assert_near(edges, (double)g->samples[i].total_ns, 0);
		assert_int_equal(g->samples[i].total_ns, 599 + g->samples[i].trace_id);
	}
	assert_string_equal(labels_get(m.labels, g->type)->name, "R)");
	made_end(&m);
}

/* 2000 reservoirs of 10 out of 100: each tenth of the stream fills a tenth of them, within 5 standard deviations. */
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
			kept[(g->samples[i].trace_id - 1) / 10]++;
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
		assert_int_equal(g[0]->samples[i].trace_id, g[1]->samples[i].trace_id);
	made_end(&m[0]);
	made_end(&m[1]);
}

static void
keys_are_what_the_path_carries(void **state)
{
	struct value v[2] = { { .type = VALUE_UINT, .u = 7 }, { .type = VALUE_TEXT, .len = 3, .text = "hit" } };
	struct buf out = { 0 };
	struct made m;
	struct group *g;
	(void)state;

	made_begin(&m, 2, 10, 1);
	made_add(&m, (const int64_t[]){ 1, 1 }, v, 0);
	v[1].text = "mis";
	v[0].type = VALUE_NONE;
	g = made_add(&m, (const int64_t[]){ 1, 1 }, v, 2);
	assert_int_equal(g->nkeys, 3);
	assert_int_equal(g->keys[0].kind, KEY_NODE);
	assert_int_equal(g->keys[1].kind, KEY_FIELD);
	assert_int_equal(g->keys[1].type, VALUE_UINT);
	assert_int_equal(g->keys[2].type, VALUE_TEXT);
	assert_near(g->samples[0].keys[1], 7, 0);
	assert_true(isnan(g->samples[1].keys[1]));
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[0].keys[0]), "alpha");
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[1].keys[0]), "gamma");
	assert_string_equal(texts_get(g->texts, (uint32_t)g->samples[1].keys[2]), "mis");
	key_print(g, &g->keys[2], m.labels, &out);
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
	for (int i = 0; i < 400; i++) {
		v[1].len = (uint32_t)snprintf(text, sizeof text, "text%d", i);
		v[1].text = text;
		g = made_add(&m, (const int64_t[]){ 1, 1 }, v, 0);
	}
	for (uint32_t i = 0; i < g->nsamples; i++)
		known += !isnan(g->samples[i].keys[2]);
	assert_int_equal(texts_count(g->texts), 256);
	assert_int_equal(known, 255);	/* one is the node */
	made_end(&m);
}

static void
shapes_without_room_are_counted(void **state)
{
	struct labels *l = labels_new();
	struct groups_options o = { 3, 10, 1 };
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
			steps[j].label = labels_intern(l, RECORD_POINT, text, strlen(text), NULL, 0);
		}
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		assert_int_equal(groups_add(gs, &t, &p, &s, nodes) != NULL, i % 5 < 3);
		arena_release(&a);
	}
	assert_int_equal(groups_count(gs), 3);
	assert_int_equal(groups_other(gs), 4);
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
	struct groups_options o = { 3, 10, 1 };
	struct groups *gs = groups_new(&o, l);
	static const char *const nodes[] = { "n" };
	struct buf out = { 0 };
	struct group *g = NULL;
	(void)state;

	for (uint32_t times = 2; times < 6; times++) {
		struct event events[16] = { 0 };
		struct step steps[16];
		struct trace t = { .id = times, .nevents = 16, .events = events };
		struct critpath p = { times + 2, steps, 0 };
		struct arena a = { 0 };
		struct shape s;

		for (uint32_t i = 0; i < p.nsteps; i++) {
			const char *text = i == 0 ? "s/p:A" : i == p.nsteps - 1 ? "s/p:C" : "s/p:B";

			steps[i] = (struct step){ i, i, labels_intern(l, RECORD_POINT, text, 5, NULL, 0), 0 };
		}
		t.end_ns = times + 1;
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		g = groups_add(gs, &t, &p, &s, nodes);
		arena_release(&a);
	}
	assert_int_equal(groups_count(gs), 1);
	assert_int_equal(g->nkeys, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_near(g->samples[i].keys[0], 2 + i, 0);
	key_print(g, &g->keys[0], l, &out);
	assert_memory_equal(out.data, "iterations of ( s/p:B ... )+", out.len);
	buf_release(&out);
	groups_free(gs);
	labels_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_counts_all_and_keeps_few),
		cmocka_unit_test(every_trace_is_kept_with_the_same_probability),
		cmocka_unit_test(the_same_seed_keeps_the_same_traces),
		cmocka_unit_test(keys_are_what_the_path_carries),
		cmocka_unit_test(texts_of_keys_are_bounded),
		cmocka_unit_test(shapes_without_room_are_counted),
		cmocka_unit_test(iterations_of_loops_are_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
