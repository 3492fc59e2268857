/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "kit.h"

static uint32_t
intern(struct labels *l, enum record_kind kind, const char *text)
{
	return labels_intern(l, kind, text, strlen(text), NULL, 0);
}

static void
assert_parts(const struct label *l, const char *service, const char *event, const char *name)
{
	assert_int_equal(l->service_len, strlen(service));
	assert_memory_equal(l->text, service, strlen(service));
	assert_int_equal(l->event_len, strlen(event));
	assert_memory_equal(l->event, event, strlen(event));
	assert_int_equal(l->name_len, strlen(name));
	assert_memory_equal(l->name, name, strlen(name));
}

static void
a_label_is_parsed_into_its_parts(void **state)
{
	struct labels *l = labels_new();
	(void)state;

	assert_parts(
	    labels_get(l, intern(l, RECORD_POINT, "cart/redis:get")), "cart", "redis:get", "");
	assert_parts(labels_get(l, intern(l, RECORD_FORK, "cart/hone:fork(cart.get)")), "cart",
	    "hone:fork", "cart.get");
	assert_parts(
	    labels_get(l, intern(l, RECORD_REQUEST_BEGIN, "front/hone:request_begin(GET /a(b))")),
	    "front", "hone:request_begin", "GET /a(b)");
	assert_parts(
	    labels_get(l, intern(l, RECORD_JOIN, "front/hone:join()")), "front", "hone:join", "");
	/* brackets have a meaning in structure records only */
	assert_parts(labels_get(l, intern(l, RECORD_POINT, "a/b:c(d)")), "a", "b:c(d)", "");
	labels_free(l);
}

static void
equal_texts_have_equal_numbers(void **state)
{
	struct labels *l = labels_new();
	char text[32];
	(void)state;

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "s/p:e%u", i);
		assert_int_equal(intern(l, RECORD_POINT, text), i);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "s/p:e%u", i);
		assert_int_equal(intern(l, RECORD_POINT, text), i);
		assert_int_equal(labels_find(l, text, strlen(text)), i);
		assert_string_equal(labels_get(l, i)->text, text);
	}
	assert_int_equal(labels_count(l), 1000);
	assert_int_equal(labels_find(l, "s/p:e1000", 9), LABEL_NONE);
	labels_free(l);
}

static void
fields_stay_those_first_seen(void **state)
{
	const char *first[] = { "size", "hit" }, *second[] = { "other" };
	struct labels *l = labels_new();
	uint32_t id = labels_intern(l, RECORD_POINT, "s/p:e", 5, first, 2);
	(void)state;

	assert_int_equal(labels_intern(l, RECORD_POINT, "s/p:e", 5, second, 1), id);
	assert_int_equal(labels_get(l, id)->nfields, 2);
	assert_string_equal(labels_get(l, id)->fields[1], "hit");
	labels_free(l);
}

static void
malformed_labels_are_refused(void **state)
{
	struct labels *l = labels_new();
	char text[LABEL_TEXT_MAX + 2];
	(void)state;

	assert_int_equal(intern(l, RECORD_POINT, ""), LABEL_NONE);
	assert_int_equal(intern(l, RECORD_POINT, "noservice"), LABEL_NONE);
	assert_int_equal(intern(l, RECORD_POINT, "/p:e"), LABEL_NONE);
	assert_int_equal(intern(l, RECORD_POINT, "s/"), LABEL_NONE);
	assert_int_equal(labels_intern(l, RECORD_POINT, "s/p\0e", 5, NULL, 0), LABEL_NONE);
	memset(text, 'x', sizeof text);
	text[1] = '/';
	assert_int_equal(
	    labels_intern(l, RECORD_POINT, text, LABEL_TEXT_MAX + 1, NULL, 0), LABEL_NONE);
	assert_int_equal(labels_intern(l, RECORD_POINT, text, LABEL_TEXT_MAX, NULL, 0), 0);
	assert_int_equal(labels_count(l), 1);
	labels_free(l);
}

static void
a_set_contains_the_labels_added(void **state)
{
	struct label_set a = { 0 }, b = { 0 };
	(void)state;

	assert_false(label_set_has(&a, 5));
	for (uint32_t i = 0; i < 1000; i += 3)
		assert_true(label_set_add(&a, i));
	assert_true(label_set_add(&b, 5000));
	assert_true(label_set_copy(&b, &a));
	label_set_del(&b, 3);
	label_set_del(&b, 100000);
	for (uint32_t i = 0; i < 6000; i++) {
		assert_int_equal(label_set_has(&a, i), i < 1000 && i % 3 == 0);
		assert_int_equal(label_set_has(&b, i), i < 1000 && i % 3 == 0 && i != 3);
	}
	label_set_release(&a);
	label_set_release(&b);
	assert_false(label_set_has(&a, 0));
}

/* Structure that no program recorded: one label for each kind, not found by text. */
static void
silent_labels_have_a_kind_and_no_text(void **state)
{
	struct labels *l = labels_new();
	uint32_t fork = labels_silent(l, RECORD_FORK), join = labels_silent(l, RECORD_JOIN), loud;
	(void)state;

	loud = labels_intern(l, RECORD_FORK, "s/hone:fork(x)", 14, NULL, 0);
	assert_int_equal(labels_silent(l, RECORD_FORK), fork);
	assert_int_not_equal(fork, join);
	assert_int_not_equal(fork, loud);
	assert_string_equal(labels_get(l, fork)->text, "");
	assert_true(labels_get(l, fork)->silent && !labels_get(l, loud)->silent);
	assert_int_equal(labels_get(l, join)->kind, RECORD_JOIN);
	assert_int_equal(kind_in(labels_kinds(l), fork), RECORD_FORK | KIND_SILENT);
	assert_int_equal(kind_in(labels_kinds(l), loud), RECORD_FORK);
	assert_int_equal(labels_find(l, "", 0), LABEL_NONE);
	assert_int_equal(labels_count(l), 3);
	labels_free(l);
}

enum { HANDED = 20000 };

struct hand {
	struct labels *labels;
	_Atomic uint32_t count; /* labels 0 to count - 1 are published */
};

static void *
look_up(void *arg)
{
	struct hand *h = arg;
	char expected[32];

	for (uint32_t i = 0; i < HANDED; i++) {
		while (atomic_load(&h->count) <= i)
			sched_yield();
		snprintf(expected, sizeof expected, "s/p:%u", i);
		if (strcmp(labels_get(h->labels, i)->text, expected) != 0 ||
		    labels_hash(h->labels, i).a == 0 ||
		    kind_in(labels_kinds(h->labels), i) != RECORD_POINT)
			return arg;
	}
	return NULL;
}

/*
 * One thread adds labels while another looks up the published ones. (A build with SAN=thread also
 * detects races.)
 */
static void
labels_can_be_looked_up_while_others_are_added(void **state)
{
	struct hand h = { .labels = labels_new() };
	pthread_t thread;
	void *failed;
	char text[32];
	(void)state;

	assert_int_equal(pthread_create(&thread, NULL, look_up, &h), 0);
	for (uint32_t i = 0; i < HANDED; i++) {
		int len = snprintf(text, sizeof text, "s/p:%u", i);

		assert_int_equal(
		    labels_intern(h.labels, RECORD_POINT, text, (size_t)len, NULL, 0), i);
		atomic_store(&h.count, i + 1);
	}
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	labels_free(h.labels);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_is_parsed_into_its_parts),
		cmocka_unit_test(equal_texts_have_equal_numbers),
		cmocka_unit_test(fields_stay_those_first_seen),
		cmocka_unit_test(malformed_labels_are_refused),
		cmocka_unit_test(a_set_contains_the_labels_added),
		cmocka_unit_test(silent_labels_have_a_kind_and_no_text),
		cmocka_unit_test(labels_can_be_looked_up_while_others_are_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
