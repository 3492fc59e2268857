/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sources that this test plays, of which the second may take over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/source_fallback.h"

/* What a played source returns; set by the test before a poll. */
struct played {
	int opened, closed;
	struct record records[4];
	uint32_t nrecords;
	int64_t watermark_ns;
	struct source_stats stats;
};

static struct played one, two;
static int find_rc;

static int
played_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct played *p = state;
	(void)now;
	(void)e;

	*ret = (struct source_output){
		.records = p->records, .nrecords = p->nrecords, .watermark_ns = p->watermark_ns
	};
	p->stats.records += p->nrecords;
	p->nrecords = 0;
	return 0;
}

static void
played_stats(void *state, struct source_stats *ret)
{
	*ret = ((struct played *)state)->stats;
}

static const struct batch_label *
played_labels(void *state, uint32_t *count)
{
	*count = ((struct played *)state)->stats.records > 0;
	return NULL;
}

static void
played_close(void *state)
{
	((struct played *)state)->closed++;
}

static int
played_open(struct source *ret, struct played *p)
{
	p->opened++;
	*ret = (struct source){ p, played_poll, played_stats, played_labels, played_close };
	return 0;
}

static int
open_one(struct source *ret, const struct source_place *place, const struct source_options *options,
    struct err *e)
{
	(void)options;
	(void)e;
	assert_string_equal(place->folder, "/sessions");
	return played_open(ret, &one);
}

static int
open_two(struct source *ret, const struct source_place *place, const struct source_options *options,
    struct err *e)
{
	(void)e;
	assert_string_equal(place->folder, "/sessions");
	assert_string_equal(place->channel, "hone");
	assert_int_equal(options->labels_max, 7);
	return played_open(ret, &two);
}

static int
find_two(source_open_fn **ret, struct err *e)
{
	*ret = open_two;
	return find_rc == 0 ? 0 : err_set(e, find_rc, "it is not installed");
}

static struct source
open_fallback(void)
{
	static const struct source_second second = { "two", find_two };
	const struct source_place place = { "/sessions", "hone" };
	const struct source_options o = { .labels_max = 7 };
	struct source s;
	struct err e;

	memset(&one, 0, sizeof one);
	memset(&two, 0, sizeof two);
	one.stats.trouble = two.stats.trouble = "";
	find_rc = 0;
	assert_int_equal(source_fallback_open(&s, open_one, &second, &place, &o, &e), 0);
	return s;
}

static struct source_output
poll_once(struct source *s)
{
	struct source_output o;
	struct err e;

	assert_int_equal(s->poll(s->state, (struct mono){ 1 }, &o, &e), 0);
	return o;
}

static struct source_stats
stats_of(struct source *s)
{
	struct source_stats ret;

	s->stats(s->state, &ret);
	return ret;
}

static void
the_format_is_unknown(void)
{
	one.stats.unknown_format = true;
	one.stats.trouble = "CTF 2 is unknown";
}

static void
the_second_takes_over_when_the_format_is_unknown_and_the_trouble_says_why(void **state)
{
	struct source s = open_fallback();
	(void)state;

	poll_once(&s);
	assert_int_equal(two.opened, 0);
	one.stats.changes = 3;
	the_format_is_unknown();
	poll_once(&s);
	poll_once(&s);
	assert_int_equal(two.opened, 1);
	assert_int_equal(one.closed, 1);
	assert_string_equal(stats_of(&s).trouble,
	    "two is used instead, which takes more processor time: CTF 2 is unknown");
	assert_false(stats_of(&s).unknown_format);
	assert_true(stats_of(&s).changes > 3); /* the list of processes has changed */
	two.stats.trouble = "its own";
	assert_string_equal(stats_of(&s).trouble, "its own");
	s.close(s.state);
	assert_int_equal(two.closed, 1);
	assert_int_equal(one.closed, 1);
}

static void
a_first_that_has_delivered_a_record_stays(void **state)
{
	struct source s = open_fallback();
	(void)state;

	one.nrecords = 1;
	poll_once(&s);
	the_format_is_unknown();
	poll_once(&s);
	poll_once(&s);
	assert_int_equal(two.opened, 0);
	assert_string_equal(stats_of(&s).trouble, "CTF 2 is unknown");
	s.close(s.state);
	assert_int_equal(one.closed, 1);
}

static void
a_second_that_cannot_be_opened_leaves_the_first_with_both_reasons(void **state)
{
	struct source s = open_fallback();
	(void)state;

	find_rc = ERR_SYSTEM;
	the_format_is_unknown();
	for (int i = 0; i < 3; i++)
		poll_once(&s);
	assert_int_equal(one.closed, 0);
	assert_string_equal(stats_of(&s).trouble, "CTF 2 is unknown; two: it is not installed");
	s.close(s.state);
	assert_int_equal(one.closed, 1);
}

static void
the_watermark_does_not_decrease_and_records_before_it_are_late(void **state)
{
	struct source s = open_fallback();
	struct source_output o;
	(void)state;

	the_format_is_unknown();
	one.watermark_ns = 100;
	one.stats.late = 2;
	assert_int_equal(poll_once(&s).watermark_ns, 100);
	two.watermark_ns = 80;
	two.nrecords = 2;
	two.records[0].time_ns = 70;
	two.records[1].time_ns = 75;
	o = poll_once(&s);
	assert_int_equal(o.watermark_ns, 100);
	assert_int_equal(o.nlate, 2);
	two.watermark_ns = 120;
	two.nrecords = 2;
	two.records[0].time_ns = 100;
	two.records[1].time_ns = 101;
	o = poll_once(&s);
	assert_int_equal(o.watermark_ns, 120);
	assert_int_equal(o.nlate, 1);
	assert_int_equal(stats_of(&s).late, 5);
	s.close(s.state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    the_second_takes_over_when_the_format_is_unknown_and_the_trouble_says_why),
		cmocka_unit_test(a_first_that_has_delivered_a_record_stays),
		cmocka_unit_test(a_second_that_cannot_be_opened_leaves_the_first_with_both_reasons),
		cmocka_unit_test(the_watermark_does_not_decrease_and_records_before_it_are_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
