/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/source_labels.h"

static const char *AB[] = { "a", "b" };

static void
equal_labels_have_equal_indexes(void **state)
{
	struct source_labels l;
	(void)state;

	assert_int_equal(source_labels_init(&l, 100), 0);
	uint32_t one = source_labels_get(&l, RECORD_POINT, "cart", "p:e", AB, 2);
	assert_int_equal(source_labels_get(&l, RECORD_POINT, "cart", "p:e", AB, 2), one);
	assert_int_not_equal(source_labels_get(&l, RECORD_POINT, "cart", "p:e", AB, 1),
	    one); /* another version of the event */
	assert_int_not_equal(source_labels_get(&l, RECORD_POINT, "order", "p:e", AB, 2), one);
	assert_string_equal(l.labels[one].text, "cart/p:e");
	assert_string_equal(l.labels[one].fields[1], "b");
	uint32_t clean = source_labels_get(&l, RECORD_POINT, "a/b\n", "p:e", AB, 0);
	assert_string_equal(l.labels[clean].text, "a_b_/p:e");
	source_labels_release(&l);
}

static uint32_t
named(struct source_labels *l, uint32_t base, const char *name)
{
	return source_labels_named(l, base, RECORD_FORK, name, strlen(name), AB, 0);
}

static void
names_become_part_of_the_label(void **state)
{
	struct source_labels l;
	char name[100];
	uint32_t numbers[600];
	(void)state;

	assert_int_equal(source_labels_init(&l, 4000), 0);
	uint32_t base = source_labels_base(&l, RECORD_FORK, "cart", "hone:fork", AB, 0);
	uint32_t other = source_labels_base(&l, RECORD_FORK, "order", "hone:fork", AB, 0);
	assert_int_not_equal(base, other);
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof name, "n%d", i);
		numbers[i] = named(&l, base, name);
	}
	for (int i = 0; i < 600; i++) {
		char text[200];
		snprintf(name, sizeof name, "n%d", i);
		snprintf(text, sizeof text, "cart/hone:fork(n%d)", i);
		assert_int_equal(named(&l, base, name), numbers[i]);
		assert_string_equal(l.labels[numbers[i]].text, text);
		assert_int_equal(l.labels[numbers[i]].kind, RECORD_FORK);
		assert_int_not_equal(named(&l, other, name), numbers[i]);
	}
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	uint32_t cut = named(
	    &l, base, name); /* taken before l.labels is read: named() may move that array */
	assert_int_equal(l.labels[cut].len, strlen("cart/hone:fork()") + 63);
	source_labels_release(&l);
}

static void
too_many_names_share_one_label(void **state)
{
	struct source_labels l;
	char name[20];
	(void)state;

	assert_int_equal(source_labels_init(&l, 10), 0);
	uint32_t base = source_labels_base(&l, RECORD_FORK, "cart", "hone:fork", AB, 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "n%d", i);
		named(&l, base, name);
	}
	assert_int_equal(l.count, 6);
	uint32_t last = named(&l, base, "n999"), third = named(&l, base, "n3");
	assert_string_equal(l.labels[last].text, "cart/hone:fork(other)");
	assert_string_equal(l.labels[third].text, "cart/hone:fork(n3)");
	source_labels_release(&l);
}

static void
a_service_that_invents_names_leaves_those_of_others_their_part(void **state)
{
	struct source_labels l;
	char name[20];
	(void)state;

	assert_int_equal(source_labels_init(&l, 1000), 0);
	uint32_t inventor = source_labels_base(&l, RECORD_FORK, "inventor", "hone:fork", AB, 0);
	uint32_t cart = source_labels_base(&l, RECORD_FORK, "cart", "hone:fork", AB, 0);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "n%d", i);
		named(&l, inventor, name);
	}
	uint32_t order = source_labels_base(&l, RECORD_FORK, "order", "hone:fork", AB, 0);
	for (int i = 0; i < 30; i++) {
		char text[64];

		snprintf(name, sizeof name, "work%d", i);
		snprintf(text, sizeof text, "cart/hone:fork(%s)", name);
		assert_string_equal(l.labels[named(&l, cart, name)].text, text);
		assert_string_not_equal(
		    l.labels[named(&l, order, name)].text, "order/hone:fork(other)");
	}
	assert_string_equal(
	    l.labels[named(&l, inventor, "one more")].text, "inventor/hone:fork(other)");
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "s%d", i);
		named(&l, source_labels_base(&l, RECORD_FORK, name, "hone:fork", AB, 0), "x");
	}
	assert_true(l.count <= 1000 + 5000); /* an "other" of each */
	source_labels_release(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_labels_have_equal_indexes),
		cmocka_unit_test(names_become_part_of_the_label),
		cmocka_unit_test(too_many_names_share_one_label),
		cmocka_unit_test(a_service_that_invents_names_leaves_those_of_others_their_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
