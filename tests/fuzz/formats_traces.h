/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helper for fuzz targets of formats: receives traces, checks the contract of each, and hashes
 * all of them. */
#ifndef TESTS_FUZZ_FORMATS_TRACES_H
#define TESTS_FUZZ_FORMATS_TRACES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/critpath.h"
#include "base/hash.h"
#include "formats/reading.h"

struct seen {
	struct labels *labels;
	struct reading *r;
	uint64_t hash;
};

static inline void
check(int ok)
{
	if (!ok)
		abort();
}

static inline void
seen_mix(struct seen *s, uint64_t x)
{
	s->hash = hash_u64(s->hash ^ x) + 1;
}

/* Texts are read, too, so that an invalid pointer is detected. */
static inline void
seen_event(struct seen *s, const struct trace *t, const struct event *e)
{
	const struct label *l = labels_get(s->labels, e->label);

	check(e->label < labels_count(s->labels) && e->unit < t->nunits);
	check(e->nvalues == 0 || e->nvalues == l->nfields);
	check(reading_nodes(s->r)[e->node] != NULL);
	seen_mix(s, (uint64_t)e->time_ns ^ e->link_id);
	seen_mix(s, hash_bytes(1, l->text, strlen(l->text)));
	for (uint32_t i = 0; i < e->nvalues; i++) {
		check(e->values[i].type <= VALUE_TEXT);
		if (e->values[i].type == VALUE_TEXT) {
			check(e->values[i].len <= VALUE_TEXT_MAX);
			seen_mix(s, hash_bytes(1, e->values[i].text, e->values[i].len));
		}
	}
}

/* Units are contiguous and in order; the path's edges add up to the response time. */
static inline int
seen_take(void *ctx, struct trace *t, struct err *e)
{
	struct seen *s = ctx;
	struct arena a = { 0 };
	struct critpath p;
	uint32_t at = 0;
	int rc;

	for (uint32_t u = 0; u < t->nunits; u++) {
		check(t->units[u].first == at &&
		      (t->units[u].fork == TRACE_NONE || t->units[u].fork < t->nevents));
		at += t->units[u].count;
	}
	check(at == t->nevents && t->root < t->nunits && t->end_ns >= t->begin_ns);
	for (uint32_t i = 0; i < t->nevents; i++)
		seen_event(s, t, &t->events[i]);
	for (uint32_t u = 0; u < t->nunits; u++)
		for (uint32_t i = 1; i < t->units[u].count; i++)
			check(t->events[t->units[u].first + i - 1].time_ns <=
			      t->events[t->units[u].first + i].time_ns);
	rc = critpath_extract(&p, t, s->labels, NULL, &a, e);
	check(rc == 0 || rc == ERR_INPUT);
	if (rc == 0) {
		int64_t sum = 0;

		for (uint32_t i = 1; i < p.nsteps; i++) {
			check(p.steps[i].time_ns >= p.steps[i - 1].time_ns);
			sum += p.steps[i].time_ns - p.steps[i - 1].time_ns;
		}
		check(sum == t->end_ns - t->begin_ns);
		seen_mix(s, p.nsteps);
	}
	arena_release(&a);
	trace_free(t);
	return 0;
}

static inline void
seen_begin(struct seen *s, size_t memory_max_bytes)
{
	struct reading_options o = {
		.memory_max_bytes = memory_max_bytes, .take = seen_take, .ctx = s
	};
	struct err e;

	*s = (struct seen){ .labels = labels_new() };
	check(s->labels != NULL && reading_new(&s->r, &o, s->labels, &e) == 0);
}

/* A hash of all traces and all counters. */
static inline uint64_t
seen_end(struct seen *s)
{
	struct reading_counts c;
	struct err e;

	check(reading_end(s->r, &e) == 0);
	reading_counts(s->r, &c);
	for (int i = 0; i < SKIPS; i++)
		seen_mix(s, c.skipped[i].count);
	seen_mix(s, c.spans);
	seen_mix(s, c.events);
	seen_mix(s, c.traces);
	reading_free(s->r);
	labels_free(s->labels);
	return s->hash;
}

/* Reads the bytes by one format, from a window that moves after the given number of bytes. */
static inline uint64_t
seen_read(const struct format *f, const uint8_t *data, size_t len, size_t piece)
{
	struct seen s;
	struct input in;
	struct err e;
	int rc;

	seen_begin(&s, 0);
	check(input_memory(&in, data, len, piece, &e) == 0);
	rc = f->read(s.r, &in, &e);
	check(rc == 0 || rc == ERR_INPUT);
	seen_mix(&s, (uint64_t)rc);
	input_close(&in);
	return seen_end(&s);
}

#endif
