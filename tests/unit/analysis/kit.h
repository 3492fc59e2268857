/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers of this room's tests: traces written as rows, and exact comparison of doubles. */
#ifndef TESTS_ANALYSIS_KIT_H
#define TESTS_ANALYSIS_KIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/assemble.h"
#include "analysis/critpath.h"

/* cmocka compares as float, which hides small differences. */
static inline void
near_at(double a, double b, double within, const char *file, int line)
{
	if (!(fabs(a - b) <= within)) {
		print_error("%.17g is not within %g of %.17g\n", a, within, b);
		_fail(file, line);
	}
}
#define assert_near(a, b, within) near_at(a, b, within, __FILE__, __LINE__)

/* One record of a trace. Kinds: B E (request), F (fork), b e (unit), J (join), . (point). */
struct row {
	int64_t time_ns;
	uint32_t node;
	uint64_t unit;
	char kind;
	uint64_t link;
	const char *name;
	uint64_t trace; /* 0: trace 1 */
	uint16_t via;   /* not 0: the record has the fields probed and via */
};

struct kit {
	struct labels *labels;
	struct assemble *assemble;
	struct arena arena;
	struct err e;
};

static inline struct kit *
kit_new(const struct assemble_options *o)
{
	static const struct assemble_options usual = { 64 << 20, 5000, INT64_C(1000000000) };
	struct kit *k = calloc(1, sizeof *k);

	k->labels = labels_new();
	assert_int_equal(assemble_new(&k->assemble, o != NULL ? o : &usual, k->labels, &k->e), 0);
	return k;
}

static inline void
kit_free(struct kit *k)
{
	assemble_free(k->assemble);
	labels_free(k->labels);
	arena_release(&k->arena);
	free(k);
}

static inline enum record_kind
row_kind(char c)
{
	switch (c) {
	case 'B':
		return RECORD_REQUEST_BEGIN;
	case 'E':
		return RECORD_REQUEST_END;
	case 'F':
		return RECORD_FORK;
	case 'b':
		return RECORD_UNIT_BEGIN;
	case 'e':
		return RECORD_UNIT_END;
	case 'J':
		return RECORD_JOIN;
	case 'w':
		return RECORD_WAIT;
	case 's':
		return RECORD_SAMPLE;
	default:
		return RECORD_POINT;
	}
}

static inline void
row_label(const struct row *r, char out[96])
{
	static const char *const events[RECORD_KINDS] = { "", "request_begin", "request_end",
		"fork", "unit_begin", "unit_end", "join", "wait", "sample" };
	const char *name = r->name != NULL ? r->name : "x";

	if (row_kind(r->kind) == RECORD_POINT)
		snprintf(out, 96, "s/app:%s", name);
	else
		snprintf(out, 96, "s/hone:%s(%s)", events[row_kind(r->kind)], name);
}

/* Sends the rows of one node, in their order, as one batch. Rows of other nodes are ignored. */
static inline void
kit_batch(struct kit *k, uint32_t node, const struct row *rows, size_t n, int64_t watermark_ns)
{
	static const char *const fields[] = { "probed", "via" };
	struct batch_label labels[256];
	struct record records[256];
	struct value values[256][2];
	char texts[256][96];
	struct batch b = { .watermark_ns = watermark_ns, .labels = labels, .records = records };

	for (size_t i = 0; i < n; i++) {
		if (rows[i].node != node)
			continue;
		row_label(&rows[i], texts[b.nrecords]);
		labels[b.nrecords] = (struct batch_label){ (uint8_t)row_kind(rows[i].kind),
			(uint32_t)strlen(texts[b.nrecords]), rows[i].via != 0 ? 2 : 0,
			texts[b.nrecords], (const char **)(uintptr_t)fields };
		values[b.nrecords][0] = (struct value){ .type = VALUE_UINT };
		values[b.nrecords][1] = (struct value){ .type = VALUE_UINT, .u = rows[i].via };
		records[b.nrecords] = (struct record){
			.trace_id = rows[i].trace != 0 ? rows[i].trace : 1,
			.unit_id = rows[i].unit,
			.link_id = rows[i].link,
			.time_ns = rows[i].time_ns,
			.label = b.nrecords,
			.pid = 1,
			.tid = 1,
			.nvalues = rows[i].via != 0 ? 2 : 0,
			.values = values[b.nrecords]
		};
		b.nrecords++;
	}
	b.nlabels = b.nrecords;
	assert_int_equal(assemble_batch(k->assemble, node, &b, &k->e), 0);
}

/* Sends all rows, node by node; all traces are complete afterwards. */
static inline void
kit_rows(struct kit *k, const struct row *rows, size_t n)
{
	uint32_t nodes = 0;

	for (size_t i = 0; i < n; i++)
		nodes = rows[i].node + 1 > nodes ? rows[i].node + 1 : nodes;
	for (uint32_t node = 0; node < nodes; node++)
		assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
	for (uint32_t node = 0; node < nodes; node++)
		kit_batch(k, node, rows, n, INT64_MAX / 8);
}

/* Checks that every record is counted in exactly one class. */
static inline struct assemble_counts
kit_counts(const struct kit *k)
{
	struct assemble_counts c;

	assemble_counts(k->assemble, &c);
	assert_int_equal(c.records, c.used + c.late + c.duplicate + c.given_up + c.held);
	return c;
}

#define ROWS(...)                            \
	(const struct row[]){ __VA_ARGS__ }, \
	    sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row)

#endif
