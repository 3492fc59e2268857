/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "instrument/inside.h"
#include "instrument/via.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
#define VALID "00-" TRACE "-" PARENT "-01"
#define STATE                            \
	"hone=00f067aa0ba902b7-12345678" \
	"3"

static const struct hone_carrier NONE;

/* 16 bits of PARENT, b7ad ^ 6b71 ^ 6920 ^ 3331 */
enum { VIA_PARENT = 0x86cd };

static const struct hone_carrier FULL = {
	.trace_id_high = UINT64_C(0x0af7651916cd43dd),
	.trace_id = UINT64_C(0x8448eb211c80319c),
	.link_id = UINT64_C(0x00f067aa0ba902b7),
	.request_type = 0x12345678,
	.sampled = 1,
	.probed = 1,
};

static void
assert_same(const struct hone_carrier *a, const struct hone_carrier *b)
{
	assert_memory_equal(a, b, sizeof *a);
}

static void
assert_refused(const char *traceparent)
{
	struct hone_carrier c;

	memset(&c, 0x55, sizeof c);
	assert_int_equal(hone_carrier_read(&c, traceparent, STATE), -1);
	assert_same(&c, &NONE);
	assert_int_equal(hone_from_known(&c), 0);
}

static void
what_is_written_has_the_form_that_w3c_gives(void **state)
{
	char parent[HONE_TRACEPARENT_SIZE], member[HONE_TRACESTATE_SIZE];
	(void)state;

	assert_int_equal(hone_traceparent(&FULL, parent), 55);
	assert_string_equal(parent, "00-" TRACE "-00f067aa0ba902b7-01");
	assert_int_equal(hone_tracestate(&FULL, member), 31);
	assert_string_equal(member, STATE);
}

static void
what_is_written_is_read_back(void **state)
{
	char parent[HONE_TRACEPARENT_SIZE], member[HONE_TRACESTATE_SIZE];
	(void)state;

	for (int i = 0; i < 2000; i++) {
		struct hone_carrier out,
		    in = { mix64(4 * i), mix64(4 * i + 1) | 1, mix64(4 * i + 2) | 1 };

		in.request_type = (uint32_t)(mix64(4 * i + 3) & INT32_MAX) | 1;
		in.sampled = i & 1;
		in.probed = i >> 1 & 1;
		hone_traceparent(&in, parent);
		hone_tracestate(&in, member);
		assert_int_equal(hone_carrier_read(&out, parent, member), 0);
		assert_same(&out, &in);
		assert_int_equal(hone_from_known(&out), 1);
	}
}

static void
without_a_request_nothing_is_written(void **state)
{
	char parent[HONE_TRACEPARENT_SIZE] = "x", member[HONE_TRACESTATE_SIZE] = "x";
	(void)state;

	assert_int_equal(hone_traceparent(&NONE, parent), 0);
	assert_int_equal(hone_tracestate(&NONE, member), 0);
	assert_string_equal(parent, "");
	assert_string_equal(member, "");
	assert_int_equal(hone_traceparent(NULL, parent), 0);
	assert_int_equal(hone_tracestate(NULL, member), 0);
	assert_int_equal(hone_traceparent(&FULL, NULL), 0);
	assert_int_equal(hone_tracestate(&FULL, NULL), 0);
	assert_int_equal(hone_carrier_read(NULL, VALID, NULL), -1);
}

static void
another_tracers_header_gives_ids_but_no_flags(void **state)
{
	struct hone_carrier c;
	(void)state;

	assert_int_equal(hone_carrier_read(&c, VALID, NULL), 0);
	assert_int_equal(hone_from_known(&c), 0);
	assert_true(c.trace_id_high == FULL.trace_id_high && c.trace_id == FULL.trace_id);
	assert_true(c.link_id == UINT64_C(0xb7ad6b7169203331));
	assert_true(c.sampled == 0 && c.probed == 0);
}

/* Every position with a wrong byte, and every length that is too short. */
static void
any_wrong_byte_or_length_is_refused(void **state)
{
	char s[sizeof(VALID)];
	(void)state;

	for (size_t i = 0; i < sizeof(VALID) - 1; i++) {
		for (const char *bad = "gGA -\xff"; *bad != '\0'; bad++) {
			if (*bad == VALID[i])
				continue;
			memcpy(s, VALID, sizeof s);
			s[i] = *bad;
			assert_refused(s);
		}
		memcpy(s, VALID, sizeof s);
		s[i] = '\0';
		assert_refused(s);
	}
	assert_refused(NULL);
	assert_refused(" " VALID);
	assert_refused("00-"
		       "0AF7651916CD43DD8448EB211C80319C-" PARENT "-01");
}

static void
ids_of_zeroes_are_refused(void **state)
{
	(void)state;

	assert_refused("00-00000000000000000000000000000000-" PARENT "-01");
	assert_refused("00-" TRACE "-0000000000000000-01");
	assert_refused("00-0af7651916cd43dd0000000000000000-" PARENT
		       "-01"); /* no part remains that could distinguish it */
}

static void
old_tracers_with_64_bit_ids_are_understood(void **state)
{
	struct hone_carrier c;
	(void)state;

	assert_int_equal(
	    hone_carrier_read(&c, "00-00000000000000008448eb211c80319c-" PARENT "-00", NULL), 0);
	assert_true(c.trace_id_high == 0 && c.trace_id == FULL.trace_id);
}

static void
version_00_ends_after_its_flags(void **state)
{
	(void)state;

	assert_refused(VALID "-");
	assert_refused(VALID "-more");
	assert_refused(VALID "0");
	assert_refused(VALID " ");
}

static void
later_versions_are_read_by_their_first_four_fields(void **state)
{
	struct hone_carrier c;
	(void)state;

	assert_int_equal(hone_carrier_read(&c, "cc-" TRACE "-" PARENT "-01", NULL), 0);
	assert_int_equal(
	    hone_carrier_read(&c, "01-" TRACE "-" PARENT "-01-what-the-future-brings", NULL), 0);
	assert_true(c.trace_id == FULL.trace_id);
	assert_refused("01-" TRACE "-" PARENT "-01what");
	assert_refused("ff-" TRACE "-" PARENT "-01");
}

static void
our_member_is_found_among_others(void **state)
{
	static const char *const states[] = {
		STATE,
		"rojo=00f067aa0ba902b7," STATE,
		STATE ",congo=t61rcWkgMzE",
		"a=1 ,\t " STATE " , b=2",
		"xhone=1," STATE,
		"hones=1," STATE,
		",,," STATE ",,",
		"a=hone=2," STATE,
		STATE "-later",
	};
	struct hone_carrier c;
	(void)state;

	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		assert_int_equal(hone_carrier_read(&c, VALID, states[i]), 0);
		assert_int_equal(c.via, VIA_PARENT);
		c.via = 0;
		assert_same(&c, &FULL);
	}
}

static void
a_member_of_another_vendor_is_not_read_as_ours(void **state)
{
	static const char *const states[] = {
		"",
		",",
		"hone",
		"hone=",
		"honer=1",
		"rojo=1",
		"hone =00f067aa0ba902b7-123456783",
		"hone=00f067aa0ba902b7",
		"hone=00f067aa0ba902b7-",
		"hone=00f067aa0ba902b7-12345678",
		"hone=00f067aa0ba902b7-1234567833",
		"hone=00F067aa0ba902b7-123456783",
		"hone=0000000000000000-123456783",
		"hone=00f067aa0ba902b7-000000003",
		"hone=00f067aa0ba902b7-923456783",
		"hone=00f067aa0ba902b7,123456783",
	};
	struct hone_carrier c;
	(void)state;

	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		assert_int_equal(hone_carrier_read(&c, VALID, states[i]), 0);
		assert_int_equal(hone_from_known(&c), 0);
		assert_true(c.trace_id == FULL.trace_id && c.sampled == 0 && c.probed == 0);
		assert_int_equal(c.via, 0);
	}
}

/* The parent id in VALID is not the link in STATE: another tracer was between. */
static void
the_link_survives_another_tracer_in_between(void **state)
{
	struct hone_carrier c;
	(void)state;

	assert_int_equal(hone_carrier_read(&c, VALID, "stranger=b7ad6b7169203331," STATE), 0);
	assert_true(c.link_id == FULL.link_id);
}

static void
who_was_in_between_is_kept_and_not_handed_on(void **state)
{
	char parent[HONE_TRACEPARENT_SIZE], member[HONE_TRACESTATE_SIZE];
	struct hone_carrier c, next;
	(void)state;

	assert_int_equal(hone_carrier_read(&c, VALID, STATE), 0);
	assert_int_equal(c.via, VIA_PARENT);
	assert_int_equal(hone_carrier_read(&c, "00-" TRACE "-00f067aa0ba902b7-01", STATE), 0);
	assert_int_equal(c.via, 0); /* the parent is the link: nobody was */
	assert_int_equal(hone_carrier_read(&c, VALID, STATE), 0);
	hone_unit_begin(&c, "unit");
	hone_fork("next", &next);
	assert_int_equal(next.via, 0);
	hone_traceparent(&next, parent);
	hone_tracestate(&next, member);
	assert_int_equal(hone_carrier_read(&c, parent, member), 0);
	assert_same(&c, &next);
	hone_unit_end();
}

/* 0 says that nobody was in between. */
static void
the_bits_of_an_id_are_never_0(void **state)
{
	(void)state;

	assert_int_equal(hone_via_of(0), 1);
	assert_int_equal(hone_via_of(UINT64_C(0x1234123400000000)), 1);
	assert_int_equal(hone_via_of(UINT64_C(0x1234000000000001)), 0x1235);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_has_the_form_that_w3c_gives),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(without_a_request_nothing_is_written),
		cmocka_unit_test(another_tracers_header_gives_ids_but_no_flags),
		cmocka_unit_test(any_wrong_byte_or_length_is_refused),
		cmocka_unit_test(ids_of_zeroes_are_refused),
		cmocka_unit_test(old_tracers_with_64_bit_ids_are_understood),
		cmocka_unit_test(version_00_ends_after_its_flags),
		cmocka_unit_test(later_versions_are_read_by_their_first_four_fields),
		cmocka_unit_test(our_member_is_found_among_others),
		cmocka_unit_test(a_member_of_another_vendor_is_not_read_as_ours),
		cmocka_unit_test(the_link_survives_another_tracer_in_between),
		cmocka_unit_test(who_was_in_between_is_kept_and_not_handed_on),
		cmocka_unit_test(the_bits_of_an_id_are_never_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
