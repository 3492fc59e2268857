/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/search/preload_labels.h"

static const char *const PATTERNS[] = { "lttng_ust_pthread", "lttng_ust_cyg*", NULL };

static void
the_provider_decides_and_nothing_else(void **state)
{
	struct preload_labels p;
	(void)state;

	preload_init(&p, PATTERNS, NULL);
	assert_true(preload_is(&p, "lttng_ust_pthread:pthread_mutex_lock_req"));
	assert_true(preload_is(&p, "lttng_ust_cyg_profile_fast:func_entry"));
	assert_false(preload_is(&p, "lttng_ust_libc:malloc"));
	assert_false(preload_is(&p, "app:lttng_ust_pthread"));
	assert_false(preload_is(&p, "lttng_ust_pthread"));
	preload_init(&p, NULL, NULL);
	assert_false(preload_is(&p, "lttng_ust_pthread:pthread_mutex_lock_req"));
}

static uint32_t
intern(struct labels *l, enum record_kind kind, const char *text)
{
	return labels_intern(l, kind, text, strlen(text), NULL, 0);
}

static void
labels_that_come_later_are_found_too(void **state)
{
	struct labels *l = labels_new();
	struct preload_labels p;
	uint32_t own = intern(l, RECORD_POINT, "s/app:a"),
		 lock = intern(l, RECORD_POINT, "s/lttng_ust_pthread:lock"), later;
	(void)state;

	preload_init(&p, PATTERNS, l);
	assert_false(preload_label(&p, own));
	assert_true(preload_label(&p, lock));
	later = intern(l, RECORD_POINT, "t/lttng_ust_cyg_profile:func_exit");
	assert_true(preload_label(&p, later));
	assert_true(label_set_has(preload_set(&p), lock));
	assert_false(label_set_has(preload_set(&p), own));
	preload_release(&p);
	labels_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_provider_decides_and_nothing_else),
		cmocka_unit_test(labels_that_come_later_are_found_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
