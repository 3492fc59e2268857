/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "searchspace/span.h"
#include "tests/unit/searchspace/made.h"

/* The surrounding span of each event: "- a_begin a_begin -". Static memory. */
static const char *
lies_in(struct spans *s, struct labels *labels, const char *words)
{
	static char text[8192];
	struct trace *t = made(labels, words);
	const uint32_t *in = spans_of(s, labels, t->events, t->nevents);

	text[0] = '\0';
	for (uint32_t i = 0; i < t->nevents; i++) {
		strcat(text, i > 0 ? " " : "");
		strcat(text,
		    in[i] == LABEL_NONE ? "-" : strchr(labels_get(labels, in[i])->text, ':') + 1);
	}
	made_free(t);
	return text;
}

static void
begin_and_end_are_paired_by_their_suffixes(void **state)
{
	static const char *const pairs[][2] = {
		{ "x_begin", "x_end" },
		{ "x_start", "x_end" },
		{ "x_entry", "x_exit" },
		{ "x_enter", "x_leave" },
		{ "x_enter", "x_exit" },
		{ "pthread_mutex_lock_req", "pthread_mutex_lock_acq" },
	};
	static const char *const not_pairs[][2] = {
		{ "x_begin", "y_end" },
		{ "x_begin", "x_exit" },
		{ "x_entry", "x_leave" },
		{ "x_start", "x_leave" },
		{ "xbegin", "xend" },
		{ "_begin", "x_end" },
		{ "x_end", "x_begin" },
		{ "x", "x_end" },
		{ "x_req", "x_end" },
		{ "x_begin", "x_acq" },
		{ "x_req", "y_acq" },
	};
	struct labels *labels = labels_new();
	struct spans s = { 0 };
	char words[64], wanted[64];
	(void)state;

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		snprintf(words, sizeof words, "R %s a %s b", pairs[i][0], pairs[i][1]);
		snprintf(wanted, sizeof wanted, "- - %s - -", pairs[i][0]);
		assert_string_equal(lies_in(&s, labels, words), wanted);
	}
	for (size_t i = 0; i < sizeof not_pairs / sizeof not_pairs[0]; i++) {
		snprintf(words, sizeof words, "R %s a %s b", not_pairs[i][0], not_pairs[i][1]);
		assert_string_equal(lies_in(&s, labels, words), "- - - - -");
	}
	spans_release(&s);
	labels_free(labels);
}

static void
spans_nest_repeat_and_recur(void **state)
{
	struct labels *labels = labels_new();
	struct spans s = { 0 };
	(void)state;

	assert_string_equal(lies_in(&s, labels, "a_begin b_begin p b_end q a_end r"),
	    "- a_begin b_begin a_begin a_begin - -");
	assert_string_equal(
	    lies_in(&s, labels, "a_begin p a_end a_begin p a_end"), "- a_begin - - a_begin -");
	assert_string_equal(lies_in(&s, labels, "a_begin a_begin p a_end q a_end"),
	    "- a_begin a_begin a_begin a_begin -");
	spans_release(&s);
	labels_free(labels);
}

static void
an_incomplete_span_is_no_span(void **state)
{
	struct labels *labels = labels_new();
	struct spans s = { 0 };
	(void)state;

	assert_string_equal(lies_in(&s, labels, "a_begin p q"), "- - -");
	assert_string_equal(lies_in(&s, labels, "p a_end q"), "- - -");
	assert_string_equal(lies_in(&s, labels, "a_begin b_begin p a_end q"),
	    "- a_begin a_begin - -"); /* b has no end */
	assert_string_equal(
	    lies_in(&s, labels, "a_begin b_begin p a_end q b_end r"), "- a_begin a_begin - - - -");
	assert_string_equal(
	    /* an open span does not continue in the next unit */
	    lies_in(&s, labels, "a_begin"), "-");
	assert_string_equal(lies_in(&s, labels, "p a_end"), "- -");
	spans_release(&s);
	labels_free(labels);
}

static void
programs_do_not_share_spans(void **state)
{
	struct labels *labels = labels_new();
	struct spans s = { 0 };
	struct event events[3] = { { .label = labels_intern(
					 labels, RECORD_POINT, "a/p:x_begin", 11, NULL, 0) },
		{ .label = labels_intern(labels, RECORD_POINT, "a/p:y", 5, NULL, 0) },
		{ .label = labels_intern(labels, RECORD_POINT, "b/p:x_end", 9, NULL, 0) } };
	(void)state;

	assert_int_equal(spans_of(&s, labels, events, 3)[1], LABEL_NONE);
	spans_release(&s);
	labels_free(labels);
}

/* ---- against a slow implementation that searches backwards for each end ---- */

static const char *const words[] = { "p", "x_begin", "x_end", "y_start", "y_end", "z_entry",
	"z_exit", "w_enter", "w_exit", "w_leave" };
static const int closes[][2] = { { 2, 1 }, { 4, 3 }, { 6, 5 }, { 8, 7 }, { 9, 7 } };

static bool
pairs_up(int end, int begin)
{
	for (size_t i = 0; i < sizeof closes / sizeof closes[0]; i++)
		if (closes[i][0] == end && closes[i][1] == begin)
			return true;
	return false;
}

static void
slow(const int *which, uint32_t n, int *in)
{
	int end_of[64]; /* index of the end of a begin; -1: open, -2: discarded */

	for (uint32_t i = 0; i < n; i++) {
		end_of[i] = -1;
		for (int b = (int)i - 1; b >= 0; b--)
			if (end_of[b] == -1 && pairs_up(which[i], which[b])) {
				end_of[b] = (int)i;
				for (uint32_t k = (uint32_t)b + 1; k <= i; k++)
					end_of[k] = end_of[k] == -1 ? -2 : end_of[k];
				break;
			}
	}
	for (uint32_t i = 0; i < n; i++) {
		in[i] = -1;
		for (uint32_t b = 0; b < i; b++) /* the last that contains it is the innermost */
			if (end_of[b] > (int)i)
				in[i] = which[b];
	}
}

static void
any_sequence_equals_the_slow_implementation(void **state)
{
	struct labels *labels = labels_new();
	struct spans s = { 0 };
	struct event events[64];
	int which[64], in[64];
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	for (int round = 0; round < 3000; round++) {
		uint32_t n = 1 + (uint32_t)rng_below(&r, 40);
		const uint32_t *got;

		for (uint32_t i = 0; i < n; i++) {
			which[i] = (int)rng_below(&r, sizeof words / sizeof words[0]);
			events[i] = (struct event){ .label = label_of(labels, words[which[i]]) };
		}
		slow(which, n, in);
		got = spans_of(&s, labels, events, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(
			    got[i], in[i] < 0 ? LABEL_NONE : label_of(labels, words[in[i]]));
	}
	spans_release(&s);
	labels_free(labels);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begin_and_end_are_paired_by_their_suffixes),
		cmocka_unit_test(spans_nest_repeat_and_recur),
		cmocka_unit_test(an_incomplete_span_is_no_span),
		cmocka_unit_test(programs_do_not_share_spans),
		cmocka_unit_test(any_sequence_equals_the_slow_implementation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
