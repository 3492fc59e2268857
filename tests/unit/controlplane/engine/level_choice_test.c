/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "controlplane/engine/level_choice.h"

struct bench {
	struct binaries binaries;
	struct level_rules rules;
	struct preload_labels preload;
	struct arena arena;
	struct level_choice choice; /* the last */
};

static const char *const PRELOAD[] = { "lttng_ust_pthread", NULL };

static void
program(struct bench *b, const char *service, uint32_t n, const char *const *names,
    const uint8_t *levels)
{
	assert_non_null(binaries_ref(&b->binaries, service, names, levels, n));
}

static void
set(struct bench *b, const char *pattern, uint8_t level)
{
	struct err e;

	assert_int_equal(level_rules_set(&b->rules, pattern, level, &e), 0);
}

/* The names in one line, with blanks between. */
static const char *
chosen(struct bench *b, char *out, size_t size)
{
	struct level_choice c;
	size_t len = 0;

	assert_true(
	    level_choose(&c, &b->rules, &b->preload, b->binaries.items, b->binaries.n, &b->arena));
	assert_int_equal(c.left_out, 0);
	out[0] = '\0';
	for (uint32_t i = 0; i < c.n; i++)
		len += (size_t)snprintf(
		    out + len, size - len, "%s%s", i > 0 ? " " : "", c.names[i]);
	b->choice = c;
	return out;
}

static int
begin(void **state)
{
	static const char *const cart[] = { "shop:full", "shop:taken", "shop:step", "usdt.cart:go",
		"lttng_ust_pthread:lock", "net:sent" },
				 *const order[] = { "shop:step", "db:read" };
	static const uint8_t of_cart[] = { LOGLEVEL_ERR, LOGLEVEL_INFO, LOGLEVEL_DEBUG,
		LOGLEVEL_NONE, LOGLEVEL_DEBUG_LINE, LOGLEVEL_DEBUG_LINE },
			     of_order[] = { LOGLEVEL_DEBUG, LOGLEVEL_WARNING };
	struct bench *b = calloc(1, sizeof *b);

	preload_init(&b->preload, PRELOAD, NULL);
	program(b, "cart", 6, cart, of_cart);
	program(b, "order", 2, order, of_order);
	*state = b;
	return 0;
}

static int
end(void **state)
{
	struct bench *b = *state;

	binaries_release(&b->binaries);
	preload_release(&b->preload);
	arena_release(&b->arena);
	free(b);
	return 0;
}

static void
tracepoints_up_to_the_level_are_chosen_and_no_others(void **state)
{
	struct bench *b = *state;
	char out[200];

	assert_string_equal(chosen(b, out, sizeof out), "");
	set(b, "cart", LOGLEVEL_ERR);
	assert_string_equal(chosen(b, out, sizeof out), "shop:full");
	set(b, "cart", LOGLEVEL_INFO);
	assert_string_equal(chosen(b, out, sizeof out), "shop:full shop:taken");
	set(b, "order", LOGLEVEL_WARNING);
	assert_string_equal(chosen(b, out, sizeof out), "db:read shop:full shop:taken");
	set(b, "cart", LOGLEVEL_NONE);
	assert_string_equal(chosen(b, out, sizeof out), "db:read");
}

/* A provider with one tracepoint needs no wildcard; USDT probes and the preload layer are never chosen. */
static void
a_provider_whose_tracepoints_are_all_on_is_one_name(void **state)
{
	struct bench *b = *state;
	char out[200];

	set(b, "cart", LOGLEVEL_DEBUG);
	assert_string_equal(chosen(b, out, sizeof out), "net:sent shop:*");
	set(b, "cart", LOGLEVEL_DEBUG_LINE); /* not shop:step */
	assert_string_equal(chosen(b, out, sizeof out), "net:sent shop:full shop:taken");
	set(b, "*", LOGLEVEL_DEBUG);
	assert_string_equal(chosen(b, out, sizeof out), "db:read net:sent shop:*");
}

static void
a_tracepoint_is_found_by_its_name_or_its_providers(void **state)
{
	struct bench *b = *state;
	char out[200];

	assert_string_equal(chosen(b, out, sizeof out), "");
	assert_false(level_choice_has(&b->choice, "shop:full"));
	set(b, "cart", LOGLEVEL_DEBUG);
	assert_string_equal(chosen(b, out, sizeof out), "net:sent shop:*");
	assert_true(level_choice_has(&b->choice, "shop:full"));
	assert_false(level_choice_names(&b->choice, "shop:full"));
	assert_true(level_choice_has(&b->choice, "net:sent"));
	assert_true(level_choice_names(&b->choice, "net:sent"));
	assert_false(level_choice_has(&b->choice, "net:send"));
	assert_false(level_choice_has(&b->choice, "shops:full"));
	assert_false(level_choice_has(&b->choice, "usdt.cart:go"));
	assert_int_equal(b->choice.tracepoints, 4); /* three of shop, one of net */
}

/* shop:step alone is on in "order": the others of its provider, which another program has, are not. */
static void
a_tracepoint_of_two_services_is_on_if_one_of_them_wants_it(void **state)
{
	struct bench *b = *state;
	char out[200];

	set(b, "order", LOGLEVEL_DEBUG);
	assert_string_equal(chosen(b, out, sizeof out), "db:read shop:step");
}

static void
the_most_severe_are_kept_where_there_are_too_many(void **state)
{
	enum { MANY = LEVEL_NAMES_MAX + 100 };
	struct bench *b = *state;
	const char **names = calloc(MANY, sizeof *names);
	uint8_t *levels = calloc(MANY, 1);
	struct level_choice c;

	for (uint32_t i = 0; i < MANY; i++) {
		char text[32];
		int len = snprintf(text, sizeof text, "p%04u:x", i);

		names[i] = arena_text(&b->arena, text, (size_t)len);
		levels[i] = i < 50 ? LOGLEVEL_DEBUG : LOGLEVEL_INFO;
	}
	program(b, "many", MANY, names, levels);
	set(b, "many", LOGLEVEL_DEBUG);
	assert_true(
	    level_choose(&c, &b->rules, &b->preload, b->binaries.items, b->binaries.n, &b->arena));
	assert_int_equal(c.n, LEVEL_NAMES_MAX);
	assert_int_equal(c.left_out, 100);
	/* 1,074 are info: of these the last in the alphabet are left out, and all of debug */
	assert_string_equal(c.names[0], "p0050:x");
	assert_string_equal(c.names[c.n - 1], "p1073:x");
	free(names);
	free(levels);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    tracepoints_up_to_the_level_are_chosen_and_no_others, begin, end),
		cmocka_unit_test_setup_teardown(
		    a_provider_whose_tracepoints_are_all_on_is_one_name, begin, end),
		cmocka_unit_test_setup_teardown(
		    a_tracepoint_is_found_by_its_name_or_its_providers, begin, end),
		cmocka_unit_test_setup_teardown(
		    a_tracepoint_of_two_services_is_on_if_one_of_them_wants_it, begin, end),
		cmocka_unit_test_setup_teardown(
		    the_most_severe_are_kept_where_there_are_too_many, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
