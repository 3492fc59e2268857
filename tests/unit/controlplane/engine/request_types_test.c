/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/engine/request_types.h"
#include "controlplane/search/diagnose.h"

#define SECOND INT64_C(1000000000)

struct made {
	struct labels *labels;
	struct request_types *types;
};

static void
made_new(struct made *m)
{
	*m = (struct made){ labels_new(), calloc(1, sizeof *m->types) };
	assert_true(m->labels != NULL && m->types != NULL);
}

static void
made_free(struct made *m)
{
	request_types_release(m->types);
	free(m->types);
	labels_free(m->labels);
}

static uint32_t
label_of(struct made *m, const char *service, int number)
{
	char text[100];
	int len = snprintf(text, sizeof text, "%s/hone:request_begin(T%d)", service, number);

	return labels_intern(m->labels, RECORD_REQUEST_BEGIN, text, (size_t)len, NULL, 0);
}

static struct request_type *
come(struct made *m, const char *service, int number, int64_t at_ns, bool *replaced)
{
	struct mono now = { at_ns };
	struct request_type *type = request_types_of(
	    m->types, m->labels, label_of(m, service, number), now, true, replaced);

	if (type != NULL)
		type->last = now;
	return type;
}

static void
fill(struct made *m, const char *service, int n, int64_t at_ns)
{
	bool replaced;

	for (int i = 0; i < n; i++) {
		assert_non_null(come(m, service, i, at_ns + i, &replaced));
		assert_false(replaced);
	}
}

static void
a_full_table_takes_a_new_type_in_the_place_of_one_that_is_gone(void **state)
{
	struct request_type *type;
	bool replaced;
	struct made m;
	(void)state;

	made_new(&m);
	fill(&m, "flood", TYPES_MAX, SECOND);
	assert_null(come(&m, "flood", TYPES_MAX, TYPE_IDLE_NS, &replaced)); /* none is idle yet */
	come(&m, "flood", 0, 2 * SECOND, &replaced); /* the first one is busy */
	type = come(&m, "flood", TYPES_MAX, SECOND + TYPE_IDLE_NS + 1, &replaced);
	assert_non_null(type);
	assert_true(replaced);
	assert_int_equal(type->index, 1);
	assert_int_equal(type->traces, 0);
	assert_string_equal(type->name, "T512");
	assert_ptr_equal(request_types_known(m.types, label_of(&m, "flood", TYPES_MAX)), type);
	assert_null(request_types_known(m.types, label_of(&m, "flood", 1)));
	assert_non_null(request_types_known(m.types, label_of(&m, "flood", 0)));
	assert_int_equal(m.types->n, TYPES_MAX);
	assert_int_equal(m.types->replaced, 1);
	made_free(&m);
}

static void
one_service_cannot_keep_others_out(void **state)
{
	bool replaced;
	struct made m;
	(void)state;

	made_new(&m);
	fill(&m, "honest", 10, SECOND);
	fill(&m, "flood", TYPES_MAX - 10, 2 * SECOND);
	for (int i = 10; i < 100; i++) { /* all of the flood is busy */
		assert_non_null(come(&m, "honest", i, 3 * SECOND, &replaced));
		assert_true(replaced);
	}
	for (int i = 0; i < 100; i++)
		assert_non_null(request_types_known(m.types, label_of(&m, "honest", i)));
	assert_null(come(&m, "flood", TYPES_MAX, 3 * SECOND, &replaced));
	made_free(&m);
}

static void
services_with_half_of_the_places_or_less_keep_them(void **state)
{
	bool replaced;
	struct made m;
	(void)state;

	made_new(&m);
	fill(&m, "a", TYPES_MAX / 2, SECOND);
	fill(&m, "b", TYPES_MAX / 2, SECOND);
	assert_null(come(&m, "c", 0, 2 * SECOND, &replaced));
	made_free(&m);
}

static void
a_type_that_was_diagnosed_keeps_its_place(void **state)
{
	struct request_type *type;
	bool replaced;
	struct made m;
	(void)state;

	made_new(&m);
	fill(&m, "s", TYPES_MAX, SECOND);
	m.types->items[0].diagnosis = calloc(1, sizeof(struct diagnosis));
	type = come(&m, "s", TYPES_MAX, 2 * TYPE_IDLE_NS, &replaced);
	assert_non_null(type);
	assert_int_equal(type->index, 1);
	free(m.types->items[0].diagnosis);
	m.types->items[0].diagnosis = NULL;
	made_free(&m);
}

static void
while_types_are_learned_none_is_replaced(void **state)
{
	bool replaced = true;
	struct made m;
	(void)state;

	made_new(&m);
	fill(&m, "s", TYPES_MAX, SECOND);
	assert_null(request_types_of(m.types, m.labels, label_of(&m, "s", TYPES_MAX),
	    (struct mono){ 2 * TYPE_IDLE_NS }, false, &replaced));
	assert_false(replaced);
	made_free(&m);
}

/* Types of three services come and go in any order: each that is known is found under its label, at its index, once. */
static void
any_coming_and_going_keeps_the_table_whole(void **state)
{
	static const char *const SERVICES[] = { "a", "b", "flood" };
	struct rng rng;
	struct made m;
	(void)state;

	made_new(&m);
	rng_seed(&rng, 7);
	for (int i = 0; i < 20000; i++) {
		const char *service = SERVICES[rng_below(&rng, 10) < 8 ? 2 : rng_below(&rng, 2)];
		bool replaced;

		come(&m, service, (int)rng_below(&rng, 900), (int64_t)i * SECOND / 4, &replaced);
	}
	assert_int_equal(m.types->n, TYPES_MAX);
	assert_int_equal(m.types->by_label.count, TYPES_MAX);
	assert_true(m.types->replaced > 1000);
	for (uint32_t i = 0; i < m.types->n; i++) {
		const struct request_type *type = &m.types->items[i];

		assert_int_equal(type->index, i);
		assert_ptr_equal(request_types_known(m.types, type->label), type);
	}
	made_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_table_takes_a_new_type_in_the_place_of_one_that_is_gone),
		cmocka_unit_test(one_service_cannot_keep_others_out),
		cmocka_unit_test(services_with_half_of_the_places_or_less_keep_them),
		cmocka_unit_test(a_type_that_was_diagnosed_keeps_its_place),
		cmocka_unit_test(while_types_are_learned_none_is_replaced),
		cmocka_unit_test(any_coming_and_going_keeps_the_table_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
