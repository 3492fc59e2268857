/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/mistake.h"

enum { TRACES = 40, FOUND_MAX = 8 };

struct survey { /* what a check of the instrumentation sees */
	struct labels *labels;
	struct reading *reading;
	struct place_table facts;
	struct mistake found[FOUND_MAX];
	uint32_t nfound;
};

static bool
look(void *ctx, const struct trace *t)
{
	struct survey *s = ctx;

	return place_table_add(&s->facts, t, s->labels);
}

static struct span
made(uint64_t trace, uint64_t id, uint64_t parent, const char *name, int64_t begin, int64_t end)
{
	return (struct span){ .trace = { 0, trace },
		.id = id,
		.parent = parent,
		.has_parent = parent != 0,
		.begin_ns = 1000 * (int64_t)trace + begin,
		.end_ns = 1000 * (int64_t)trace + end,
		.service = { parent == 0 ? "front" : "back", parent == 0 ? 5 : 4 },
		.name = { name, (uint32_t)strlen(name) } };
}

static void
give(struct survey *s, struct span span)
{
	struct err e;

	assert_int_equal(reading_span(s->reading, &span, &e), 0);
}

/* Requests of which each asks `back`, which stores; `break_one` changes some of a request's spans. */
static void
survey_of(struct survey *s, void (*break_one)(struct span spans[4], uint32_t *n))
{
	const struct mistake_limits limits = mistake_defaults();
	struct reading_options o = { .look = look, .ctx = s };
	struct err e;

	*s = (struct survey){ .labels = labels_new() };
	assert_int_equal(reading_new(&s->reading, &o, s->labels, &e), 0);
	for (uint64_t i = 1; i <= TRACES; i++) {
		struct span spans[4] = { made(i, 10 * i, 0, "home", 0, 900),
			made(i, 10 * i + 1, 10 * i, "get", 100, 800),
			made(i, 10 * i + 2, 10 * i + 1, "store", 200, 300) };
		uint32_t n = 3;

		if (break_one != NULL && i % 2 == 0)
			break_one(spans, &n);
		for (uint32_t k = n; k-- > 0;) /* children before their parents */
			give(s, spans[k]);
	}
	assert_int_equal(reading_end(s->reading, &e), 0);
	s->nfound = mistakes_find(s->found, FOUND_MAX, &s->facts, s->labels, NULL, &limits);
}

static void
survey_end(struct survey *s)
{
	reading_free(s->reading);
	place_table_release(&s->facts);
	labels_free(s->labels);
}

static void
only(void (*break_one)(struct span spans[4], uint32_t *n), enum mistake_kind kind, const char *at)
{
	struct survey s;

	survey_of(&s, break_one);
	assert_int_equal(s.facts.traces, TRACES);
	assert_int_equal(s.nfound, 1);
	assert_string_equal(mistake_word(s.found[0].kind), mistake_word(kind));
	assert_string_equal(labels_get(s.labels, s.found[0].at)->text, at);
	assert_int_equal(s.found[0].count, TRACES / 2);
	assert_int_equal(s.found[0].of, kind == MISTAKE_FORK_REUSED ? TRACES / 2 * 3 : TRACES);
	survey_end(&s);
}

static void
complete_spans_are_right_and_their_forks_are_counted(void **state)
{
	struct survey s;
	(void)state;

	survey_of(&s, NULL);
	assert_int_equal(s.nfound, 0);
	assert_int_equal(s.facts.traces, TRACES);
	assert_int_equal(s.facts.lossy, 0);
	for (uint32_t i = 0, forks = 0; i < s.facts.n; i++) {
		const struct place_facts *f = &s.facts.items[i];
		const char *label = labels_get(s.labels, f->label)->text;

		forks += f->forked > 0;
		if (f->forked == 0)
			continue;
		assert_true(strcmp(label, "front/hone:fork(get)") == 0 ||
			    strcmp(label, "back/hone:fork(store)") == 0);
		assert_int_equal(f->forked, TRACES);
		assert_int_equal(f->begun, TRACES);
		assert_int_equal(f->ended, TRACES);
		assert_int_equal(f->joined, TRACES);
		assert_true(forks <= 2);
	}
	survey_end(&s);
}

static void
open_child(struct span spans[4], uint32_t *n)
{
	(void)n;
	spans[2].no_end = true;
}

static void
open_root(struct span spans[4], uint32_t *n)
{
	(void)n;
	spans[0].no_end = true;
}

static void
no_parent_there(struct span spans[4], uint32_t *n)
{
	(void)n;
	spans[2].parent += 7;
}

static void
one_id_for_two(struct span spans[4], uint32_t *n)
{
	spans[3] = spans[2];
	spans[3].begin_ns += 150;
	spans[3].end_ns += 150;
	*n = 4;
}

static void
parent_lost(struct span spans[4], uint32_t *n)
{
	(void)n;
	spans[1].has_parent = false;
}

static void
root_is_not_there(struct span spans[4], uint32_t *n)
{
	spans[0] = spans[1];
	spans[1] = spans[2];
	*n = 2;
}

static void
each_mistake_of_spans_is_named_with_its_place(void **state)
{
	(void)state;
	only(open_child, MISTAKE_UNIT_OPEN, "back/hone:unit_begin(store)");
	only(open_root, MISTAKE_REQUEST_OPEN, "front/hone:request_begin(home)");
	only(no_parent_there, MISTAKE_FORK_UNSEEN, "back/hone:unit_begin(store)");
	only(one_id_for_two, MISTAKE_FORK_REUSED, "back/hone:fork(store)");
	only(parent_lost, MISTAKE_REQUEST_INSIDE, "back/hone:request_begin(get)");
	only(root_is_not_there, MISTAKE_REQUEST_UNSEEN, "back/hone:unit_begin(get)");
}

static void
twice_the_same(struct span spans[4], uint32_t *n)
{
	spans[3] = spans[2];
	*n = 4;
}

static void
once_open_once_ended(struct span spans[4], uint32_t *n)
{
	spans[3] = spans[2];
	spans[3].no_end = true;
	*n = 4;
}

static void
nobody_waits(struct span spans[4], uint32_t *n)
{
	(void)n;
	spans[2].follows = true;
	spans[2].end_ns += 700;
}

static void
other_clock(struct span spans[4], uint32_t *n)
{
	(void)n;
	spans[1].begin_ns -= 500;
	spans[1].end_ns -= 500;
}

static void
what_is_no_mistake_is_none(void **state)
{
	void (*const all[])(struct span *, uint32_t *) = { twice_the_same, once_open_once_ended,
		nobody_waits, other_clock };
	struct survey s;
	(void)state;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		survey_of(&s, all[i]);
		assert_int_equal(s.nfound, 0);
		survey_end(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_spans_are_right_and_their_forks_are_counted),
		cmocka_unit_test(each_mistake_of_spans_is_named_with_its_place),
		cmocka_unit_test(what_is_no_mistake_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
