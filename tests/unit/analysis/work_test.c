/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The work for a trace is in proportion to its records, whatever a traced program records. Not the time is
 * measured, but the basic blocks that run: the Makefile compiles what is tested (COUNTED) so that each one calls
 * __sanitizer_cov_trace_pc(). A test that goes over its bound ends at once, whatever it would have cost.
 */
#include "tests/unit/analysis/kit.h"

#include "analysis/always_on_path.h"

enum {
	REPLAYED =
	    302000, /* records that a program makes in 0.4 s with the public calls of libhone */
	EXAMINED = 100000, /* of a trace, unless honed is configured otherwise */
	BATCH = 4096,
	/* A record takes 70 to 460, with its part of the sorts, of 100,000 as of 302,000. */
	BLOCKS_PER_RECORD = 1000
};

void __sanitizer_cov_trace_pc(void);

static uint64_t blocks, blocks_max;

void
__sanitizer_cov_trace_pc(void)
{
	if (++blocks == blocks_max)
		fail_msg("more than %llu basic blocks", (unsigned long long)blocks_max);
}

/* ---- a request of any shape ---- */

struct made {
	enum record_kind kind;
	uint64_t unit, link;
	int64_t time_ns;
};

/* The i-th of n records between the begin and the end of the request. */
typedef struct made make(uint32_t i, uint32_t n);

/* A third of the records each: units of one link begin, end, and are joined. */
static struct made
joins_of_one_link(uint32_t i, uint32_t n)
{
	uint32_t third = n / 3;
	struct made m = { RECORD_JOIN, 1, 7, i };

	if (i < 2 * third) {
		m.kind = i < third ? RECORD_UNIT_BEGIN : RECORD_UNIT_END;
		m.unit = 2 + i % third;
	}
	return m;
}

/* All units are done after all joins, so that the first one done later is looked for. */
static struct made
joins_before_the_units_are_done(uint32_t i, uint32_t n)
{
	struct made m = joins_of_one_link(i, n);

	m.time_ns = m.kind == RECORD_UNIT_END ? n + i : m.kind == RECORD_JOIN ? i - n / 3 : i;
	return m;
}

static struct made
joins_of_a_unit_that_was_walked(uint32_t i, uint32_t n)
{
	(void)n;
	return i == 0 ? (struct made){ RECORD_UNIT_BEGIN, 2, 7, 0 }
	              : (struct made){ i % 2 ? RECORD_JOIN : RECORD_POINT, 1 + i % 2, i % 2 ? 7 : 0,
				i };
}

static struct made
forks_of_one_link(uint32_t i, uint32_t n)
{
	(void)n;
	return (struct made){ i % 2 ? RECORD_UNIT_BEGIN : RECORD_FORK, i % 2 ? 2 + i : 1, 7, i };
}

/* Each unit forks the next one and waits for it. */
static struct made
units_within_units(uint32_t i, uint32_t n)
{
	uint32_t quarter = n / 4, part = i / quarter, at = part < 3 ? i % quarter : i - 3 * quarter;

	switch (part) {
	case 0:
		return (struct made){ RECORD_FORK, 1 + at, 10 + at, 2 * at };
	case 1:
		return (struct made){ RECORD_UNIT_BEGIN, 2 + at, 10 + at, 2 * at + 1 };
	case 2:
		return (struct made){ RECORD_UNIT_END, 2 + at, 10 + at, 6 * (int64_t)n - 2 * at };
	default:
		return (struct made){ RECORD_JOIN, 1 + at, 10 + at, 6 * (int64_t)n - 2 * at + 1 };
	}
}

/* The units of each pair fork each other. */
static struct made
units_that_contain_each_other(uint32_t i, uint32_t n)
{
	uint32_t pair = i / 4;
	(void)n;

	return (struct made){ i % 2 ? RECORD_UNIT_BEGIN : RECORD_FORK,
		2 + 2 * pair + (i % 4 == 1 || i % 4 == 2), 10 + 2 * pair + i % 4 / 2, i };
}

static struct made
all_at_one_time(uint32_t i, uint32_t n)
{
	struct made m = joins_of_one_link(i, n);

	m.time_ns = 0;
	return m;
}

static struct made
backwards(uint32_t i, uint32_t n)
{
	return (struct made){ RECORD_POINT, 1 + i % 100, 0, n - i };
}

/* ---- its way to the critical path ---- */

static void
send(struct kit *k, struct record *records, uint32_t *n)
{
	static const struct batch_label labels[RECORD_KINDS] = {
		[RECORD_POINT] = { RECORD_POINT, 7, 0, "s/app:x", NULL },
		[RECORD_REQUEST_BEGIN] = { RECORD_REQUEST_BEGIN, 23, 0, "s/hone:request_begin(R)",
		    NULL },
		[RECORD_REQUEST_END] = { RECORD_REQUEST_END, 21, 0, "s/hone:request_end(R)", NULL },
		[RECORD_FORK] = { RECORD_FORK, 14, 0, "s/hone:fork(c)", NULL },
		[RECORD_UNIT_BEGIN] = { RECORD_UNIT_BEGIN, 20, 0, "s/hone:unit_begin(c)", NULL },
		[RECORD_UNIT_END] = { RECORD_UNIT_END, 18, 0, "s/hone:unit_end(c)", NULL },
		[RECORD_JOIN] = { RECORD_JOIN, 14, 0, "s/hone:join(c)", NULL },
	};
	struct batch b = { .nlabels = RECORD_JOIN + 1,
		.labels = (struct batch_label *)(uintptr_t)labels,
		.nrecords = *n,
		.records = records };

	assert_int_equal(assemble_batch(k->assemble, 0, &b, &k->e), 0);
	*n = 0;
}

static void
put(struct kit *k, struct record *records, uint32_t *n, const struct made *m)
{
	records[(*n)++] = (struct record){ .trace_id = 1,
		.unit_id = m->unit,
		.link_id = m->link,
		.time_ns = 10 + m->time_ns,
		.label = m->kind,
		.pid = 1,
		.tid = 1 + (uint32_t)m->unit % 16 };
	if (*n == BATCH)
		send(k, records, n);
}

/* Makes a request of n records, sends them as an agent does, and extracts its path. */
static void
work_through(make *fn, uint32_t n, uint32_t records_max)
{
	struct assemble_options o = { 1 << 30, 5, INT64_C(1) << 40, records_max };
	struct kit *k = kit_new(&o);
	struct record *records = calloc(BATCH, sizeof *records);
	struct batch end = { .watermark_ns = INT64_C(1) << 50 };
	struct always_on_path path;
	struct trace *t;
	uint32_t held = 0;

	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	blocks = 0;
	blocks_max = (uint64_t)BLOCKS_PER_RECORD * n;
	put(k, records, &held, &(struct made){ RECORD_REQUEST_BEGIN, 1, 0, -1 });
	for (uint32_t i = 0; i < n - 2; i++) {
		struct made m = fn(i, n - 2);

		put(k, records, &held, &m);
	}
	put(k, records, &held, &(struct made){ RECORD_REQUEST_END, 1, 0, 10 * (int64_t)n });
	send(k, records, &held);
	assert_int_equal(assemble_batch(k->assemble, 0, &end, &k->e), 0);
	if (records_max == 0 || n <= records_max) {
		assert_non_null(t = assemble_next(k->assemble));
		assert_true(t->nevents > n / 2); /* all but exact copies */
		assert_int_equal(
		    always_on_path_extract(&path, t, k->labels, NULL, &k->arena, &k->e), 0);
		assert_true(path.path.nsteps >= 2);
	} else {
		assert_null(assemble_next(k->assemble));
		assert_non_null(t = assemble_next_incomplete(k->assemble));
		assert_int_equal(t->incomplete, INCOMPLETE_TOO_LONG);
		assert_int_equal(t->nevents, records_max);
	}
	assert_true(blocks > n); /* they are counted */
	trace_free(t);
	free(records);
	kit_free(k);
}

static make *const SHAPES[] = { joins_of_one_link, joins_before_the_units_are_done,
	joins_of_a_unit_that_was_walked, forks_of_one_link, units_within_units,
	units_that_contain_each_other, all_at_one_time, backwards };
enum { NSHAPES = sizeof SHAPES / sizeof *SHAPES };

static void
the_longest_request_that_is_examined_costs_work_in_its_length(void **state)
{
	(void)state;
	for (int i = 0; i < NSHAPES; i++)
		work_through(SHAPES[i], EXAMINED, EXAMINED);
}

/* Also without a bound on records: as when an operator has taken it away. */
static void
a_replay_of_302000_records_costs_work_in_its_length(void **state)
{
	(void)state;
	for (int i = 0; i < NSHAPES; i++)
		work_through(SHAPES[i], REPLAYED, 0);
}

static void
of_a_longer_request_no_more_is_examined(void **state)
{
	uint64_t longest;
	(void)state;

	work_through(joins_of_one_link, EXAMINED, EXAMINED);
	longest = blocks;
	work_through(joins_of_one_link, REPLAYED, EXAMINED);
	assert_true(blocks < 2 * longest);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_request_that_is_examined_costs_work_in_its_length),
		cmocka_unit_test(a_replay_of_302000_records_costs_work_in_its_length),
		cmocka_unit_test(of_a_longer_request_no_more_is_examined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
