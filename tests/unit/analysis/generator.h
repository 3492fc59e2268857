/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulates a distributed program and writes its records. One random seed determines what the
 * program does, another how long it takes: requests of one type have the same structure and
 * different times.
 */
#ifndef TESTS_ANALYSIS_GENERATOR_H
#define TESTS_ANALYSIS_GENERATOR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "wire/record.h"

enum { GEN_LABELS = 4096, GEN_NODES = 4, GEN_OPEN = 6 };

struct gen_record {
	uint32_t node;
	struct record r;
	struct value values[3];
};

struct gen {
	struct rng what, when;
	int64_t offset_ns[GEN_NODES]; /* of the nodes' clocks */
	double no_end;                /* fraction of units whose unit_end is missing */
	double late_end;              /* fraction of units that answer before they end */
	int budget;                   /* records that this request may still make */
	uint32_t depth_max;
	uint64_t next_id;
	uint32_t nlabels;
	struct batch_label labels[GEN_LABELS];
	char texts[GEN_LABELS][96];
	struct gen_record *records;
	size_t nrecords, cap;
};

static const char *gen_fields[3] = { "size", "hit", "name" };
static const char *gen_begin_fields[1] = { "probed" };

static inline struct gen *
gen_new(uint64_t seed)
{
	struct gen *g = calloc(1, sizeof *g);

	rng_seed(&g->when, seed);
	g->next_id = 1 + (seed << 32);
	g->budget = 60;
	g->depth_max = 4;
	return g;
}

static inline void
gen_free(struct gen *g)
{
	free(g->records);
	free(g);
}

static inline uint32_t
gen_label(struct gen *g, enum record_kind kind, const char *text)
{
	uint32_t i;
	bool begins = kind == RECORD_REQUEST_BEGIN || kind == RECORD_UNIT_BEGIN;

	for (i = 0; i < g->nlabels; i++)
		if (strcmp(g->texts[i], text) == 0)
			return i;
	if (i == GEN_LABELS)
		abort();
	g->nlabels++;
	snprintf(g->texts[i], sizeof g->texts[i], "%s", text);
	g->labels[i] = (struct batch_label){ .kind = (uint8_t)kind,
		.len = (uint32_t)strlen(text),
		.text = g->texts[i],
		.nfields = kind == RECORD_POINT ? 3
		           : begins             ? 1
		                                : 0,
		.fields = kind == RECORD_POINT ? gen_fields : gen_begin_fields };
	return i;
}

static inline struct gen_record *
gen_emit(struct gen *g, uint64_t trace, uint64_t unit, uint32_t node, int64_t t,
    enum record_kind kind, uint64_t link, const char *name)
{
	static const char *const events[RECORD_KINDS] = { "", "request_begin", "request_end",
		"fork", "unit_begin", "unit_end", "join" };
	struct gen_record *to;
	char text[96];

	if (kind == RECORD_POINT)
		snprintf(text, sizeof text, "service%u/app:%s", node, name);
	else
		snprintf(text, sizeof text, "service%u/hone:%s(%s)", node, events[kind], name);
	if (g->nrecords == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 1024;
		g->records = realloc(g->records, g->cap * sizeof *g->records);
	}
	to = &g->records[g->nrecords++];
	memset(to, 0, sizeof *to);
	to->node = node;
	to->r = (struct record){ .trace_id = trace,
		.unit_id = unit,
		.link_id = link,
		.time_ns = t + g->offset_ns[node],
		.label = gen_label(g, kind, text),
		.pid = 100 + node,
		.tid = 1000 + (uint32_t)(unit % 7) };
	to->r.nvalues = g->labels[to->r.label].nfields;
	if (kind == RECORD_POINT) {
		to->values[0] = (struct value){ .type = VALUE_UINT,
			.u = rng_below(&g->when, 4096) };
		to->values[1] = (struct value){ .type = VALUE_INT,
			.i = (int64_t)rng_below(&g->when, 2) };
		to->values[2] = (struct value){ .type = VALUE_TEXT,
			.len = (uint32_t)strlen(name),
			.text = g->texts[to->r.label] };
	} else if (to->r.nvalues > 0) {
		to->values[0] = (struct value){ .type = VALUE_UINT, .u = trace % 2 };
	}
	g->budget--;
	return to;
}

static inline int64_t
gen_took(struct gen *g, int64_t mean_ns)
{
	return 1 + (int64_t)rng_below(&g->when, 2 * (uint64_t)mean_ns);
}

static int64_t gen_work(
    struct gen *g, uint64_t trace, uint64_t unit, uint32_t node, int64_t t, uint32_t depth);

struct gen_call {
	uint64_t link;
	int64_t answered_ns;
	char name[32];
};

/* Hands work over at time t. Returns the time and the link of the answer. */
static inline struct gen_call
gen_fork(struct gen *g, uint64_t trace, uint64_t unit, uint32_t node, int64_t t, uint32_t depth,
    int64_t queue_ns)
{
	struct gen_call c = { .link = g->next_id++ };
	uint64_t child = g->next_id++;
	uint32_t there = (uint32_t)rng_below(&g->what, GEN_NODES);
	int64_t begin, end;

	snprintf(c.name, sizeof c.name, "call%u", (unsigned)rng_below(&g->what, 50));
	gen_emit(g, trace, unit, node, t, RECORD_FORK, c.link, c.name);
	begin = t + gen_took(g, 20000) + queue_ns;
	gen_emit(g, trace, child, there, begin, RECORD_UNIT_BEGIN, c.link, c.name);
	end = gen_work(g, trace, child, there, begin, depth + 1);
	c.answered_ns = end + gen_took(g, 20000);
	if (rng_unit(&g->when) < g->late_end)
		end = c.answered_ns + gen_took(g, 50000);
	if (rng_unit(&g->when) >= g->no_end)
		gen_emit(g, trace, child, there, end, RECORD_UNIT_END, c.link, c.name);
	return c;
}

static inline int64_t
gen_join(struct gen *g, uint64_t trace, uint64_t unit, uint32_t node, int64_t t,
    const struct gen_call *c)
{
	t = (t > c->answered_ns ? t : c->answered_ns) + gen_took(g, 500);
	gen_emit(g, trace, unit, node, t, RECORD_JOIN, c->link, c->name);
	return t;
}

/*
 * The work of a unit: points, loops, calls that it waits for, concurrent calls, work that no join
 * waits for.
 */
static inline int64_t
gen_work(struct gen *g, uint64_t trace, uint64_t unit, uint32_t node, int64_t t, uint32_t depth)
{
	struct gen_call open[GEN_OPEN], c;
	uint32_t nopen = 0, steps = 2 + (uint32_t)rng_below(&g->what, 6);
	char name[32];

	for (uint32_t i = 0; i < steps && g->budget > 0; i++) {
		uint32_t does = (uint32_t)rng_below(&g->what, depth < g->depth_max ? 10 : 5);
		uint32_t times = does == 4 ? 1 + (uint32_t)rng_below(&g->when, 4) : 1;

		t += gen_took(g, 30000);
		if (does < 5) {
			for (uint32_t k = 0; k < 2 * times; k++, t += gen_took(g, 10000)) {
				snprintf(name, sizeof name, "step_%u_%u_%u", depth, i, k % 2);
				gen_emit(g, trace, unit, node, t, RECORD_POINT, 0, name);
			}
		} else if (does < 7) {
			c = gen_fork(g, trace, unit, node, t, depth, 0);
			t = gen_join(g, trace, unit, node, t, &c);
		} else if (does < 9 && nopen < GEN_OPEN) {
			open[nopen++] = gen_fork(
			    g, trace, unit, node, t, depth, does == 8 ? gen_took(g, 300000) : 0);
		} else {
			gen_fork(g, trace, unit, node, t, depth, 0);
		}
	}
	for (uint32_t i = 0; i < nopen; i++)
		t = gen_join(g, trace, unit, node, t, &open[i]);
	return t + gen_took(g, 10000);
}

/* One request: appends its records and returns its response time. */
static inline int64_t
gen_request(struct gen *g, uint64_t trace, uint64_t what, int64_t t, int budget)
{
	uint64_t unit = g->next_id++;
	char name[32];
	int64_t end;

	rng_seed(&g->what, what);
	g->budget = budget;
	snprintf(name, sizeof name, "GET_%llu", (unsigned long long)what % 100);
	gen_emit(g, trace, unit, 0, t, RECORD_REQUEST_BEGIN, 0, name);
	end = gen_work(g, trace, unit, 0, t, 0);
	gen_emit(g, trace, unit, 0, end, RECORD_REQUEST_END, 0, name);
	return end - t;
}

static inline int
gen_by_time(const void *a, const void *b)
{
	const struct gen_record *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->r.time_ns != y->r.time_ns)
		return x->r.time_ns < y->r.time_ns ? -1 : 1;
	return 0; /* qsort of glibc 2.36 is a merge sort, stable unless memory is short */
}

/*
 * Sorts by node, then time, as agents would send them; first[node]: index of the node's first
 * record.
 */
static inline void
gen_sort(struct gen *g, size_t first[GEN_NODES + 1])
{
	size_t at = 0;

	qsort(g->records, g->nrecords, sizeof *g->records, gen_by_time);
	for (uint32_t node = 0; node <= GEN_NODES; node++) {
		while (at < g->nrecords && g->records[at].node < node)
			at++;
		first[node] = at;
	}
	for (size_t i = 0; i < g->nrecords; i++)
		g->records[i].r.values = g->records[i].values;
}

#endif
