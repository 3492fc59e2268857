/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calls.h"

#include "analysis/group.h"

/*
 * A path with one step for each letter; step i takes i ns, so that every sum identifies its steps.
 */
static void
path_of(struct critpath *p, struct labels *l, const char *letters, struct arena *a)
{
	int64_t t = 0;

	p->nsteps = (uint32_t)strlen(letters);
	p->steps = arena_calloc(a, p->nsteps, sizeof *p->steps);
	for (uint32_t i = 0; i < p->nsteps; i++) {
		char text[] = { 's', '/', 'p', ':', letters[i], '\0' };

		t += i;
		p->steps[i].time_ns = t;
		p->steps[i].label = p->steps[i].unit_label = labels_intern(
		    l, RECORD_POINT, text, 5, NULL, 0);
	}
}

/* "A(BC)+D" */
static void
print_tokens(const struct shape *s, const struct labels *l, char *out)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		for (uint32_t n = shape_opens(s, i); n > 0; n--)
			*out++ = '(';
		*out++ = labels_get(l, s->tokens[i])->text[4];
		for (uint32_t n = shape_closes(s, i); n > 0; n--)
			out += sprintf(out, ")+");
	}
	*out = '\0';
}

/* Iterations are listed in the order of the loops: inner loops first, otherwise from left to
 * right. */
static const struct {
	const char *path, *folded, *iterations;
} FOLDS[] = {
	{ "AB", "AB", "" }, { "ABCBCBCD", "A(BC)+D", "3" }, { "AAAA", "(A)+", "4" },
	{ "ABAB", "(AB)+", "2" }, { "ABABA", "(AB)+A", "2" }, { "ABBBABBBB", "(A(B)+)+", "7 2" },
	{ "ABBCABBBC", "(A(B)+C)+", "5 2" }, { "ABBCABC", "(A(B)+C)+", "3 2" },
	{ "ABCABBC", "(A(B)+C)+", "3 2" }, { "ABCABC", "(ABC)+", "2" }, { "ABCABD", "ABCABD", "" },
	{ "AABB", "(A)+(B)+", "2 2" }, { "AABAAB", "((A)+B)+", "4 2" },
	{ "AABAB", "((A)+B)+", "3 2" }, { "ABAAB", "((A)+B)+", "3 2" },
	{ "XABABCABABCY", "X((AB)+C)+Y", "4 2" }, { "XABABABCABABCY", "X((AB)+C)+Y", "5 2" },
	{ "XABCABABCY", "X((AB)+C)+Y", "3 2" },
	{ "ABCDEABCDEFABCDEABCDEFG", "((ABCDE)+F)+G", "4 2" },
	{ "AABAABCAABAABC", "(((A)+B)+C)+", "8 4 2" }, { "ABCXABC", "ABCXABC", "" },
	{ "ABBABBC", "(A(B)+)+C", "4 2" },
	{ "ABCBABCBC", "(A(B)+C)+", "2 4" }, /* crossing loops, (AB) and (BC), print as if nested */
	{ "XAYXAY", "(XAY)+", "2" },
	{ "XAYXYXAY", "XA(YX)+AY", "2" }, /* that loop would cross two iterations of XAY */
};

static void
adjacent_repeats_fold(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof FOLDS / sizeof FOLDS[0]; i++) {
		struct labels *l = labels_new();
		struct arena a = { 0 };
		struct critpath p;
		struct shape s;
		char got[256], counts[64] = "";

		path_of(&p, l, FOLDS[i].path, &a);
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		print_tokens(&s, l, got);
		assert_string_equal(got, FOLDS[i].folded);
		for (uint32_t j = 0; j < s.nloops; j++)
			sprintf(
			    counts + strlen(counts), "%s%d", j ? " " : "", (int)s.iterations[j]);
		assert_string_equal(counts, FOLDS[i].iterations);
		arena_release(&a);
		labels_free(l);
	}
}

static void
times_of_repeats_add_up_on_their_edge(void **state)
{
	static const struct {
		char from, to;
		int64_t ns;
		uint32_t passes;
	} expected[] = { { 'A', 'B', 1, 1 }, { 'B', 'C', 2 + 4 + 6, 3 }, { 'C', 'D', 7, 1 },
		{ 'C', 'B', 3 + 5, 2 } };
	struct labels *l = labels_new();
	struct arena a = { 0 };
	struct critpath p;
	struct shape s;
	(void)state;

	path_of(&p, l, "ABCBCBCD", &a);
	assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
	assert_int_equal(s.nedges, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(labels_get(l, s.edges[i].from)->text[4], expected[i].from);
		assert_int_equal(labels_get(l, s.edges[i].to)->text[4], expected[i].to);
		assert_int_equal(s.tokens[s.edges[i].from_token], s.edges[i].from);
		assert_int_equal(s.tokens[s.edges[i].to_token], s.edges[i].to);
		assert_int_equal(s.times_ns[i], expected[i].ns);
	}
	assert_int_equal(s.first_step[0], 0);
	assert_int_equal(s.first_step[1], 1);
	assert_int_equal(s.first_step[2], 2);
	assert_int_equal(s.first_step[3], 7);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(s.passes[i], expected[i].passes);
	arena_release(&a);
	labels_free(l);
}

/*
 * Random paths of nested loops: the number of iterations does not change the shape, and no time is
 * lost.
 */
static void
draw_loops(struct rng *what, struct rng *when, uint32_t depth, char *out, size_t *n, char *next)
{
	uint32_t parts = 1 + (uint32_t)rng_below(what, 3);

	for (uint32_t i = 0; i < parts; i++) {
		if (depth < 3 && i > 0 && rng_below(what, 2) == 0) {
			uint32_t times = 1 + (uint32_t)rng_below(when, 3);
			struct rng same = *what;
			char first = *next;

			for (uint32_t k = 0; k < times; k++) {
				*what = same;
				*next = first;
				draw_loops(what, when, depth + 1, out, n, next);
			}
		}
		out[(*n)++] = (*next)++;
	}
}

static void
loops_of_any_length_have_one_shape(void **state)
{
	static char letters[1 << 16];
	struct rng what, when;
	(void)state;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct hash128 key = { 0 };

		for (uint64_t run = 0; run < 5; run++) {
			struct labels *l = labels_new();
			struct arena a = { 0 };
			struct critpath p;
			struct shape s;
			char next = '0';
			int64_t sum = 0;
			size_t n = 0;

			rng_seed(&what, seed);
			rng_seed(&when, seed * 100 + run);
			draw_loops(&what, &when, 0, letters, &n, &next);
			letters[n++] = '#';
			letters[n] = '\0';
			path_of(&p, l, letters, &a);
			assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
			for (uint32_t i = 0; i < s.nedges; i++)
				sum += s.times_ns[i];
			assert_int_equal(sum, p.steps[n - 1].time_ns - p.steps[0].time_ns);
			if (run > 0) {
				assert_int_equal(s.key.a, key.a);
				assert_int_equal(s.key.b, key.b);
			}
			key = s.key;
			arena_release(&a);
			labels_free(l);
		}
	}
}

/* Each edge has the times and passes of the steps that lead over it. */
static void
steps_and_edges_agree(const struct critpath *p, const struct shape *s, struct arena *a)
{
	uint32_t *edges, *passes = arena_calloc(a, s->nedges + 1, sizeof *passes);
	int64_t *times_ns = arena_calloc(a, s->nedges + 1, sizeof *times_ns);

	assert_int_equal(shape_edges_of_steps(&edges, p, s, a, NULL), 0);
	assert_int_equal(edges[0], UINT32_MAX);
	for (uint32_t i = 1; i < p->nsteps; i++) {
		assert_true(edges[i] < s->nedges);
		assert_int_equal(s->edges[edges[i]].from, p->steps[i - 1].label);
		assert_int_equal(s->edges[edges[i]].to, p->steps[i].label);
		times_ns[edges[i]] += p->steps[i].time_ns - p->steps[i - 1].time_ns;
		passes[edges[i]]++;
	}
	for (uint32_t i = 0; i < s->nedges; i++) {
		assert_int_equal(times_ns[i], s->times_ns[i]);
		assert_int_equal(passes[i], s->passes[i]);
	}
}

/*
 * Any sequence of few letters: no step is lost, folding again changes no token, and the cost is
 * low.
 */
static void
folding_loses_no_step_of_any_path(void **state)
{
	struct rng rng;
	(void)state;

	rng_seed(&rng, 1);
	for (int round = 0; round < 2000; round++) {
		struct labels *l = labels_new();
		struct arena a = { 0 };
		struct critpath p;
		struct shape s;
		uint64_t letters = 1 + rng_below(&rng, 4);
		char path[301];
		size_t n = 1 + rng_below(&rng, 300);
		int64_t sum = 0;

		for (size_t i = 0; i < n; i++)
			path[i] = (char)('A' + rng_below(&rng, letters));
		path[n] = '\0';
		path_of(&p, l, path, &a);
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		for (uint32_t i = 0; i < s.nedges; i++)
			sum += s.times_ns[i];
		assert_int_equal(sum, p.steps[n - 1].time_ns);
		for (uint32_t i = 0; i < s.nloops; i++)
			assert_true(s.iterations[i] >= 2 && s.loops[i].first <= s.loops[i].last);
		steps_and_edges_agree(&p, &s, &a);
		arena_release(&a);
		labels_free(l);
	}
}

static void
the_group_id_depends_on_texts_not_on_numbers(void **state)
{
	struct labels *l[2] = { labels_new(), labels_new() };
	struct arena a = { 0 };
	struct hash128 keys[2], other;
	struct critpath p;
	struct shape s;
	(void)state;

	/* later labels have different numbers */
	labels_intern(l[1], RECORD_POINT, "s/p:Z", 5, NULL, 0);
	for (int i = 0; i < 2; i++) {
		path_of(&p, l[i], "ABCBCD", &a);
		assert_int_equal(shape_of(&s, &p, l[i], &a, NULL), 0);
		keys[i] = s.key;
	}
	path_of(&p, l[0], "ABCD", &a);
	assert_int_equal(shape_of(&s, &p, l[0], &a, NULL), 0);
	assert_int_equal(keys[0].a, s.key.a); /* as if the loop had one iteration */
	path_of(&p, l[0], "ACBD", &a);
	assert_int_equal(shape_of(&s, &p, l[0], &a, NULL), 0);
	other = s.key;
	assert_int_equal(keys[0].a, keys[1].a);
	assert_int_equal(keys[0].b, keys[1].b);
	assert_int_not_equal(keys[0].a, other.a);
	arena_release(&a);
	labels_free(l[0]);
	labels_free(l[1]);
}

static void
a_shape_prints_with_its_middle_left_out(void **state)
{
	static const struct {
		const char *path, *printed;
		uint32_t max;
	} cases[] = {
		{ "ABCBCD", "A -> ( B -> C )+ -> D", 9 },
		{ "ABCBCD", "A -> ( B -> C )+ -> D", 4 },
		{ "ABCBCD", "A -> ( B -> ... )+ -> D", 3 },
		{ "ABCDE", "A -> ... -> E", 2 },
		{ "ABBCDEEF", "A -> ( B )+ -> ... -> ( E )+ -> F", 4 },
		{ "AXYXYB", "A -> ... -> B", 2 },
	};
	(void)state;

	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct labels *l = labels_new();
		struct arena a = { 0 };
		struct buf out = { 0 };
		struct critpath p;
		struct shape s;
		char got[512], *to = got;

		path_of(&p, l, cases[i].path, &a);
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		shape_print(&s, l, cases[i].max, &out);
		for (size_t j = 0; j < out.len; j++) /* without the "s/p:" */
			if (j + 4 < out.len && memcmp(&out.data[j], "s/p:", 4) == 0)
				j += 3;
			else
				*to++ = (char)out.data[j];
		*to = '\0';
		assert_string_equal(got, cases[i].printed);
		buf_release(&out);
		arena_release(&a);
		labels_free(l);
	}
}

/* Makes the trace of "a(b()b())": a call has its name, then the calls below it. They run one
 * after the other. */
static struct trace *
trace_of_calls(struct labels *l, const char *text)
{
	struct made_call calls[32];
	static char names[32][2];
	int open[32], depth = 0;
	uint32_t n = 0;

	for (int64_t now = 0; *text != '\0'; text++, now++) {
		if (*text == ')') {
			calls[open[--depth]].end_ns = now;
		} else if (*text != '(') {
			names[n][0] = *text;
			calls[n] = (struct made_call){ depth > 0 ? open[depth - 1] : -1, "s",
				names[n], now, 0 };
			open[depth++] = (int)n++;
		}
	}
	return made_trace(l, calls, n);
}

/* "a(b())" with the loops of the path: "<...>3" ran three times. */
static void
print_calls(const struct shape *s, const struct labels *l, char *out)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		const struct label *label = labels_get(l, s->tokens[i]);
		bool begins = label->kind == RECORD_REQUEST_BEGIN ||
		              label->kind == RECORD_UNIT_BEGIN;

		for (uint32_t n = shape_opens(s, i); n > 0; n--)
			*out++ = '<';
		if (begins)
			*out++ = label->name[0];
		*out++ = begins ? '(' : ')';
		for (uint32_t k = 0; k < s->nloops; k++)
			if (s->loops[k].last == i)
				out += sprintf(out, ">%d", (int)s->iterations[k]);
	}
	*out = '\0';
}

/* Requests of a program whose calls follow each other: repeated calls of one caller are a loop.
 * The end of one call and the begin of the next are not a loop, although their labels repeat as
 * often. */
static void
repeated_calls_of_one_caller_fold(void **state)
{
	static const char *const cases[][2] = {
		{ "r(a()a()a())", "r(<a()>3)" },
		{ "r(a(b()b())a(b()b()b()))", "r(<a(<b()>5)>2)" },
		{ "r(p(a()c())p(c())p(c()b()))", "r(p(a()c())p(c())p(c()b()))" },
		{ "r(p(a()c())p(c())p(c())p(c()b()))", "r(p(a()c())<p(c())>2p(c()b()))" },
		{ "r(x(c())c(d())c(d()))", "r(x(c())<c(d())>2)" },
		{ "r(a()b()a()b()a())", "r(<a()b()>2a())" },
		{ "r(r(r(r())))", "r(r(r(r())))" }, /* a recursion is no loop */
		{ "r(f(f(a()a())a()))", "r(f(f(<a()>2)a()))" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct labels *l = labels_new();
		struct arena a = { 0 };
		struct critpath p;
		struct shape s;
		struct trace *t;
		char got[256];

		t = trace_of_calls(l, cases[i][0]);
		assert_int_equal(critpath_extract(&p, t, l, NULL, &a, NULL), 0);
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		assert_true(shape_exact(&s, t));
		print_calls(&s, l, got);
		assert_string_equal(got, cases[i][1]);
		arena_release(&a);
		trace_free(t);
		labels_free(l);
	}
}

/* Units that hand work on without waiting (a state machine, messages between actors) are at one
 * level: the same units in any number are one loop. */
static void
work_handed_on_and_on_is_a_loop(void **state)
{
	(void)state;

	for (uint32_t n = 2; n < 6; n++) {
		struct labels *l = labels_new();
		uint32_t fork = labels_intern(l, RECORD_FORK, "s/hone:fork(m)", 14, NULL, 0),
			 point = labels_intern(l, RECORD_POINT, "s/p:q", 5, NULL, 0);
		struct event events[20];
		struct unit units[6];
		struct trace t = { .events = events, .units = units, .nunits = n };
		struct arena a = { 0 };
		struct critpath p;
		struct shape s;

		for (uint32_t u = 0; u < n; u++) {
			units[u] = (struct unit){ u + 1, t.nevents, 0,
				u > 0 ? t.nevents - 1 : TRACE_NONE };
			made_event(&t, u,
			    made_label(l, u == 0 ? RECORD_REQUEST_BEGIN : RECORD_UNIT_BEGIN, "s",
				u == 0 ? "r" : "m"),
			    t.nevents);
			events[t.nevents - 1].link_id = u + 1;
			made_event(&t, u, point, t.nevents);
			made_event(&t, u,
			    u + 1 < n ? fork : made_label(l, RECORD_REQUEST_END, "s", "r"),
			    t.nevents);
			events[t.nevents - 1].link_id = u + 2;
		}
		t.type = events[0].label;
		t.end_ns = events[t.nevents - 1].time_ns;
		assert_int_equal(critpath_extract(&p, &t, l, NULL, &a, NULL), 0);
		assert_int_equal(p.nsteps, 3 * n);
		assert_int_equal(shape_of(&s, &p, l, &a, NULL), 0);
		assert_int_equal(s.ntokens, 6);
		assert_int_equal(s.nloops, n > 2);
		arena_release(&a);
		labels_free(l);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjacent_repeats_fold),
		cmocka_unit_test(times_of_repeats_add_up_on_their_edge),
		cmocka_unit_test(loops_of_any_length_have_one_shape),
		cmocka_unit_test(repeated_calls_of_one_caller_fold),
		cmocka_unit_test(work_handed_on_and_on_is_a_loop),
		cmocka_unit_test(folding_loses_no_step_of_any_path),
		cmocka_unit_test(the_group_id_depends_on_texts_not_on_numbers),
		cmocka_unit_test(a_shape_prints_with_its_middle_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
