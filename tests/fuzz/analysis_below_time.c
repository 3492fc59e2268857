/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits and samples of any times and lengths, readable or not, in two units: each time from one to another is divided into parts
 * that add up to it, in states that add up to it.
 *
 *	8 bytes a record	kind and unit, time, length, part of it that is ready, weight, unused
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/below_time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { RECORDS_MAX = 200, RECORD_BYTES = 8, UNITS = 2, STEP_NS = 500000 };

static const char WAIT[] = "s/below:lock(main;f() at a.c:1;futex)",
		  SAMPLE[] = "s/below:running(main;g() at a.c:2)";
static const char *WAIT_FIELDS[] = { "off_ns", "ready_ns" }, *SAMPLE_FIELDS[] = { "weight_ns" };

static int
earlier_first(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static struct value
value_of(uint8_t b)
{
	return b == 255 ? (struct value){ .type = VALUE_TEXT, .len = 1, .text = "x" }
	                : (struct value){ .type = VALUE_UINT, .u = (uint64_t)b * STEP_NS };
}

static void
check(const struct below_records *r, uint32_t unit, enum below_side side, int64_t from_ns,
    int64_t to_ns, struct arena *a)
{
	int64_t states = 0, parts = 0;
	struct below_time t;

	if (below_time_of(&t, r, unit, side, from_ns, to_ns, a, NULL) != 0)
		abort();
	for (unsigned s = 0; s < BELOW_STATES; s++)
		states += t.ns[s];
	for (uint32_t i = 0; i < t.nparts; i++) {
		parts += t.parts[i].ns;
		if (t.parts[i].ns <= 0)
			abort();
	}
	if (states != to_ns - from_ns || parts != states || t.unseen_ns > t.ns[BELOW_RUNNING])
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct value values[RECORDS_MAX][2];
	static struct event below[RECORDS_MAX];
	struct unit units[UNITS] = { 0 };
	struct trace t = { .nunits = UNITS, .units = units, .below = below };
	struct labels *labels = labels_new();
	struct below_records *r;
	struct arena a = { 0 };
	uint32_t wait = labels_intern(labels, RECORD_WAIT, WAIT, sizeof WAIT - 1, WAIT_FIELDS, 2),
		 sample = labels_intern(
		     labels, RECORD_SAMPLE, SAMPLE, sizeof SAMPLE - 1, SAMPLE_FIELDS, 1);

	for (; len >= RECORD_BYTES && t.nbelow < RECORDS_MAX;
	     data += RECORD_BYTES, len -= RECORD_BYTES) {
		struct value *v = values[t.nbelow];
		bool is_wait = data[0] & 1;

		v[0] = value_of(data[is_wait ? 2 : 4]);
		v[1] = value_of(data[3]);
		below[t.nbelow++] = (struct event){ .time_ns = (int64_t)data[1] * STEP_NS,
			.unit = data[0] >> 1 & 1,
			.label = is_wait ? wait : sample,
			.nvalues = is_wait ? 2 : 1,
			.values = v };
	}
	qsort(below, t.nbelow, sizeof *below, earlier_first);
	if (below_records_of(&r, &t, labels, &a, NULL) != 0)
		abort();
	for (uint32_t unit = 0; unit < UNITS; unit++)
		for (int64_t from = 0; from < 256; from += 51)
			for (int64_t to = from; to < 256; to += 85)
				check(r, unit, to % 2 == 0 ? BELOW_INSIDE : BELOW_BETWEEN,
				    from * STEP_NS, to * STEP_NS, &a);
	arena_release(&a);
	labels_free(labels);
	return 0;
}
