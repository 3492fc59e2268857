/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings that others made: facts that babeltrace2's own text of them shows. */
#include "tests/unit/kernel/files/kit.h"

static uint64_t
slept(const struct kit *k, uint8_t flag)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->nevents; i++)
		n += k->events[i].kind == KERNEL_SWITCH && k->events[i].flags & flag;
	return n;
}

static void
a_trace_of_lttng_gives_each_of_its_events(void **state)
{
	char folder[64];
	struct kit k;

	(void)state;
	if (!kit_unpack("many-threads.tar.gz", folder))
		return;
	assert_true(kernel_files_is(folder));
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.events, 240644);
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 28325);
	assert_int_equal(k.counts.given[KERNEL_WAKING], 6743);
	assert_int_equal(k.counts.given[KERNEL_FORK], 8003);
	assert_int_equal(k.counts.given[KERNEL_EXIT], 8003);
	assert_int_equal(slept(&k, SWITCH_ENDED), 8003);
	assert_int_equal(slept(&k, SWITCH_UNINTERRUPTIBLE), 748);
	assert_int_equal(slept(&k, SWITCH_ASLEEP), 5993 + 748);
	assert_int_equal(k.counts.cpus, 8);
	assert_int_equal(k.counts.hosts, 1);
	assert_string_equal(texts_get(k.names.hosts, 0), "wilbrod");
	kit_release(&k);
	kit_remove(folder);
}

static void
states_of_later_kernels_are_understood(void **state)
{
	char folder[64];
	struct kit k;

	(void)state;
	if (!kit_unpack("lttng-tracefile-rotation.tar.gz", folder))
		return;
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.events, 12305);
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 4687);
	assert_int_equal(k.counts.given[KERNEL_WAKING], 2378 + 5);
	assert_int_equal(k.counts.given_new, 5);
	assert_int_equal(slept(&k, SWITCH_ASLEEP), 2060 + 277 + 30 + 9);
	assert_int_equal(slept(&k, SWITCH_ENDED), 6);
	assert_int_equal(slept(&k, SWITCH_UNINTERRUPTIBLE), 277 + 30 + 9);
	kit_release(&k);
	kit_remove(folder);
}

static void
a_recording_of_perf_is_read(void **state)
{
	char folder[64];
	struct kit k;

	(void)state;
	if (!kit_unpack("perf-taskset2.tar.gz", folder))
		return;
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.events, 1500);
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 562);
	assert_int_equal(k.counts.given[KERNEL_WAKING], 346);
	assert_int_equal(slept(&k, SWITCH_ASLEEP), 292 + 30 + 10);
	assert_string_equal(texts_get(k.names.hosts, 0), "stih418_family");
	kit_release(&k);
	kit_remove(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_of_lttng_gives_each_of_its_events),
		cmocka_unit_test(states_of_later_kernels_are_understood),
		cmocka_unit_test(a_recording_of_perf_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
