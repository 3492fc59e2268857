/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

static json_t *
as_json(const struct table *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_t *all;

	assert_non_null(f);
	assert_int_equal(table_json(t, f, 1.5), 0);
	fclose(f);
	assert_non_null(all = json_loads(text, 0, NULL));
	free(text);
	return all;
}

static void
take_wait(struct table *t, struct below_wait w)
{
	table_take(t, &(struct below_message){ .kind = BELOW_WAIT, .wait = w });
}

static void
waits_of_one_state_and_place_are_one_row_and_being_ready_another(void **state)
{
	struct table *t = table_new();
	const struct below_wait w = { .begin_ns = 0,
		.woken_ns = 3000000,
		.end_ns = 4000000,
		.state = BELOW_LOCK,
		.place = 7,
		.owner_state = BELOW_DISK,
		.owner_place = 8 };
	json_t *all, *row;
	(void)state;

	assert_non_null(t);
	table_take(t, &(struct below_message){ .kind = BELOW_NAME,
			  .name = { .id = 7,
			      .function = "append",
			      .file = "dd.c",
			      .line = 27,
			      .called = "pthread_mutex_lock",
			      .folded = "" } });
	table_take(t,
	    &(struct below_message){ .kind = BELOW_NAME,
		.name = { .id = 8, .function = "flush", .file = "", .called = "", .folded = "" } });
	take_wait(t, w);
	{ /* another way to the same place */
		struct below_wait other = w;

		other.place = 9;
		table_take(t, &(struct below_message){ .kind = BELOW_NAME,
				  .name = { .id = 9,
				      .function = "append",
				      .file = "dd.c",
				      .line = 27,
				      .called = "pthread_mutex_lock",
				      .folded = "main" } });
		take_wait(t, other);
	}
	table_take(t, &(struct below_message){ .kind = BELOW_LOST, .lost = { .count = 3 } });
	all = as_json(t);
	assert_int_equal(json_array_size(json_object_get(all, "rows")), 2);
	row = json_array_get(json_object_get(all, "rows"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "state")), "lock");
	assert_string_equal(
	    json_string_value(json_object_get(row, "place")), "append() at dd.c:27");
	assert_int_equal(json_integer_value(json_object_get(row, "count")), 2);
	assert_true(json_number_value(json_object_get(row, "ms")) == 6);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(row, "holder"), "place")), "flush");
	row = json_array_get(json_object_get(all, "rows"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "state")), "ready");
	assert_true(json_is_null(json_object_get(row, "holder")));
	assert_int_equal(json_integer_value(json_object_get(all, "lost")), 3);
	json_decref(all);
	table_free(t);
}

static void
rows_beyond_its_room_are_counted_as_lost(void **state)
{
	struct table *t = table_new();
	json_t *all;
	(void)state;

	assert_non_null(t);
	for (uint32_t i = 0; i < 1030; i++)
		take_wait(
		    t, (struct below_wait){
			   .woken_ns = 1, .end_ns = 1, .place = i, .owner_state = BELOW_UNKNOWN });
	all = as_json(t);
	assert_int_equal(json_array_size(json_object_get(all, "rows")), 1024);
	assert_int_equal(json_integer_value(json_object_get(all, "lost")), 6);
	json_decref(all);
	table_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_of_one_state_and_place_are_one_row_and_being_ready_another),
		cmocka_unit_test(rows_beyond_its_room_are_counted_as_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
