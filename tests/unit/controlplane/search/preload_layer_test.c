/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/preload_layer.h"

static const char *const PATTERNS[] = { "lttng_ust_pthread", "lttng_ust_libc", "mine", NULL };
/* L, U: begin and end of the wait for a mutex; M: malloc; X: of a provider that the operator
 * named. */
static const struct {
	char letter;
	const char *text;
} LABELS[] = { { 'L', "s/lttng_ust_pthread:pthread_mutex_lock_req" },
	{ 'U', "s/lttng_ust_pthread:pthread_mutex_lock_acq" }, { 'M', "s/lttng_ust_libc:malloc" },
	{ 'X', "s/mine:x" } };

/* A search whose own tracepoints are used up: the layer is open below the edge from 'a' to 'b'. */
static struct search *
begin(struct fake *f, enum layer_state layer)
{
	struct search *s;

	fake_begin(f, "(abc)");
	for (size_t i = 0; i < sizeof LABELS / sizeof LABELS[0]; i++)
		fake_label(f, LABELS[i].letter, LABELS[i].text);
	preload_init(&f->preload, PATTERNS, f->port.labels);
	s = fake_search(f, 'a', 'b');
	s->layer.state = layer;
	s->layer.above = s->at.gap;
	return s;
}

static void
cut(struct fake *f, struct search *s, const char *letters, const char *left)
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct fake_trace t;
	struct critpath path;

	fake_times(f, letters, -1, time_ns);
	fake_trace(f, &t, letters, time_ns, true);
	assert_int_equal(
	    critpath_extract(&path, &t.t, f->port.labels, NULL, f->port.scratch, NULL), 0);
	assert_int_equal(preload_cut_path(&f->port, s, &t.t, &path, NULL), 0);
	assert_int_equal(path.nsteps, strlen(left));
	for (uint32_t i = 0; i < path.nsteps; i++)
		assert_int_equal(path.steps[i].label, f->paths.of[(int)left[i]]);
}

static void
labels_of_the_layer_outside_the_edge_leave_the_path(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f, LAYER_OPEN);
	cut(&f, s, "(LUaLUMbLUcM)", "(aLUMbc)");
	cut(&f, s, "(aLUc)", "(ac)");      /* the path does not reach the end of the edge */
	cut(&f, s, "(aLbMbc)", "(aLbbc)"); /* the path does not begin at the edge's begin */
	s->layer.state = LAYER_CLOSED;
	cut(&f, s, "(LUaLUbc)", "(LUaLUbc)");
	fake_end(&f);
}

static void
exploring_remembers_what_lies_inside_the_edge(void **state)
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct fake_trace t;
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f, LAYER_OPEN);
	label_set_add(&s->enabled.labels, f.paths.of['a']);
	label_set_add(&s->enabled.labels, f.paths.of['b']);
	fake_times(&f, "(MaLUbXc)", -1, time_ns);
	fake_trace(&f, &t, "(MaLUbXc)", time_ns, true);
	assert_int_equal(preload_note(&f.port, s, &t.t, NULL), 0);
	assert_false(label_set_has(&s->layer.inside, f.paths.of['L'])); /* not exploring */
	search_set_task(s, TASK_EXPLORE);
	assert_int_equal(preload_note(&f.port, s, &t.t, NULL), 0);
	assert_true(label_set_has(&s->layer.inside, f.paths.of['L']));
	assert_true(label_set_has(&s->layer.inside, f.paths.of['U']));
	assert_false(label_set_has(&s->layer.inside, f.paths.of['M']));
	assert_false(label_set_has(&s->layer.inside, f.paths.of['X']));
	assert_false(label_set_has(&s->layer.inside, f.paths.of['b']));
	fake_end(&f);
}

static void
of_the_helpers_only_what_says_where_time_goes_is_explored(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f, LAYER_OPEN);
	assert_true(preload_explores(&f.port, s, "lttng_ust_pthread:pthread_mutex_lock_req"));
	assert_false(preload_explores(&f.port, s, "lttng_ust_pthread:pthread_mutex_unlock"));
	assert_false(
	    preload_explores(&f.port, s, "lttng_ust_libc:malloc")); /* of the next provider */
	s->layer.provider = 1;
	assert_true(preload_explores(&f.port, s, "lttng_ust_libc:malloc"));
	assert_false(preload_explores(&f.port, s, "lttng_ust_libc:free"));
	s->layer.provider = 2;
	assert_true(preload_explores(&f.port, s, "mine:whichever"));
	assert_false(preload_explores(&f.port, s, "app:a"));
	fake_end(&f);
}

/* Of two parts, the first is the top one. */
static int
keeps(struct fake *f, const struct search *s, char from, char to, double of_gap)
{
	struct part parts[2] = { { .gap = paths_gap(&f->paths, from, to, 0, false),
				     .of_gap = of_gap },
		{ .of_gap = 1 - of_gap } };
	const struct decision x = { .what = DECIDE_NARROW,
		.sep = { .label = LABEL_NONE },
		.m = { .parts = parts, .nparts = 2 } };

	return preload_keeps(&f->port, s, &x, NULL);
}

static void
a_part_is_kept_when_it_has_most_and_says_what_its_time_is_spent_on(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f, LAYER_OPEN);
	assert_int_equal(
	    keeps(&f, s, 'U', 'b', 0.9), 1); /* the cycle enabled no label of the layer */
	search_set_task(s, TASK_PROBE_LAYER);
	assert_int_equal(keeps(&f, s, 'L', 'U', 0.9), 1);  /* the wait for the lock */
	assert_int_equal(keeps(&f, s, 'L', 'U', 0.49), 0); /* too little */
	assert_int_equal(keeps(&f, s, 'U', 'b', 0.9), 0); /* the time after the lock was acquired */
	assert_int_equal(keeps(&f, s, 'a', 'L', 0.9), 0);
	assert_int_equal(keeps(&f, s, 'a', 'M', 0.9), 0); /* the time before one allocation */
	assert_int_equal(
	    keeps(&f, s, 'X', 'b', 0.9), 1); /* of the operator's provider: any part is reported */
	s->sides.separation.label = f.paths.of['L'];
	assert_int_equal(keeps(&f, s, 'U', 'b', 0.9), 1); /* it stays enabled nevertheless */
	fake_end(&f);
}

static void
a_verdict_in_the_layer_says_what_the_time_is_spent_on_and_above_which_edge(void **state)
{
	struct verdict v = { 0 };
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f, LAYER_OPEN);
	s->at.gap = paths_gap(&f.paths, 'L', 'U', 0, false);
	assert_int_equal(preload_verdict(&v, &f.port, s, NULL), 0);
	assert_int_equal(v.preload, PRELOAD_NONE); /* the search has found no part in the layer */
	assert_null(v.call);
	s->layer.state = LAYER_FOUND;
	s->layer.objects.n = 2;
	s->layer.objects.ns = 100;
	strcpy(s->layer.objects.each[0].text, "0x1");
	strcpy(s->layer.objects.each[1].text, "0x2");
	s->layer.objects.each[0].ns = 30;
	s->layer.objects.each[1].ns = 70;
	assert_int_equal(preload_verdict(&v, &f.port, s, NULL), 0);
	assert_int_equal(v.preload, PRELOAD_MUTEX);
	assert_string_equal(v.above_from, "s/app:a");
	assert_string_equal(v.above_to, "s/app:b");
	assert_string_equal(v.call, "lttng_ust_pthread:pthread_mutex_lock");
	assert_string_equal(v.object, "0x2");
	assert_near(v.object_share, 0.7, 1e-12);
	verdict_release(&v);
	fake_end(&f);
}

static void
time_inside_the_pair_is_added_by_object(void **state)
{
	static const int64_t TIME[] = { 100, 100, 700, 100, 100, 900, 100 };
	struct value lock[3];
	struct fake_trace t;
	struct critpath path;
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f, LAYER_FOUND);
	s->at.gap = paths_gap(&f.paths, 'L', 'U', 0, false);
	for (int i = 0; i < 3; i++) { /* two locks, 700 ns for each */
		lock[i] = (struct value){ .type = VALUE_UINT, .u = i == 1 ? 0xb : 0xa };
		fake_trace(&f, &t, "(aLUbLU)", TIME, true);
		t.events[2].values = t.events[5].values = &lock[i];
		t.events[2].nvalues = t.events[5].nvalues = 1;
		assert_int_equal(
		    critpath_extract(&path, &t.t, f.port.labels, NULL, f.port.scratch, NULL), 0);
		assert_int_equal(preload_cut_path(&f.port, s, &t.t, &path, NULL), 0);
	}
	assert_int_equal(s->layer.objects.n, 2);
	assert_string_equal(s->layer.objects.each[0].text, "0xa");
	assert_near(s->layer.objects.each[0].ns, 1400, 1e-9);
	assert_near(s->layer.objects.each[1].ns, 700, 1e-9);
	assert_near(
	    s->layer.objects.ns, 2100, 1e-9); /* without the lock that is outside of the edge */
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_of_the_layer_outside_the_edge_leave_the_path),
		cmocka_unit_test(exploring_remembers_what_lies_inside_the_edge),
		cmocka_unit_test(of_the_helpers_only_what_says_where_time_goes_is_explored),
		cmocka_unit_test(
		    a_part_is_kept_when_it_has_most_and_says_what_its_time_is_spent_on),
		cmocka_unit_test(
		    a_verdict_in_the_layer_says_what_the_time_is_spent_on_and_above_which_edge),
		cmocka_unit_test(time_inside_the_pair_is_added_by_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
