/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of the analysis on one core, and how it depends on the amount of data. Three tables:
 *
 * 	records to groups	assembly, critical path, shape, group of records in memory, in
 * 				streams of 10^3 to 10^7 records of many requests at a time on
 * 				four nodes; the time for decoding their batches is separate
 * 	traces to groups	the same without assembly: traces as file readers make them of
 * 				spans, four events each
 * 	folding			the shape of single long paths, including the worst cases
 *
 * Measures only: no time makes it fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/assemble.h"
#include "analysis/critpath.h"
#include "analysis/group.h"
#include "base/rng.h"
#include "tests/unit/analysis/generator.h"

enum {
	BATCH_RECORDS = 1000,
	STREAM_RECORDS =
	    100000, /* a longer stream repeats this one with later times and other ids */
	TARGET_PER_S = 10000000,
	ROUNDS = 3 /* the fastest repetition is reported */
};

struct piece {
	uint32_t node;
	int64_t watermark_ns;
	size_t at, len; /* in the encoded bytes */
};

struct stream {
	struct buf bytes;
	struct piece *pieces;
	uint32_t npieces;
	size_t nrecords, ntraces;
	int64_t span_ns; /* from its first record until after its last */
};

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
die(const char *what)
{
	fprintf(stderr, "analysis_path: %s\n", what);
	exit(1);
}

/* As an agent does it: a batch has the labels that its records use. */
static void
encode(struct stream *s, struct gen *g, size_t from, size_t to, int64_t watermark_ns)
{
	struct batch_writer w = { 0 };
	struct piece *p = &s->pieces[s->npieces++];
	uint32_t *numbers = malloc(g->nlabels * sizeof *numbers);
	struct err e;

	memset(numbers, 255, g->nlabels * sizeof *numbers);
	batch_begin(&w);
	*p = (struct piece){ from < to ? g->records[from].node : 0, watermark_ns, s->bytes.len, 0 };
	for (size_t i = from; i < to; i++) {
		struct record r = g->records[i].r;
		const struct batch_label *l = &g->labels[r.label];

		if (numbers[r.label] == UINT32_MAX)
			numbers[r.label] = batch_label(
			    &w, l->kind, l->text, l->len, l->fields, l->nfields);
		r.label = numbers[r.label];
		batch_record(&w, &r);
	}
	if (batch_end(&w, watermark_ns, &s->bytes, &e) != 0)
		die(e.text);
	p->len = s->bytes.len - p->at;
	batch_release(&w);
	free(numbers);
}

static int
by_watermark(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->watermark_ns > y->watermark_ns) - (x->watermark_ns < y->watermark_ns);
}

/* Request types whose requests have approximately this number of records, in 4 to 6 units or
 * more. */
static uint32_t
find_types(uint64_t *types, uint32_t most, size_t records)
{
	uint32_t n = 0;

	for (uint64_t seed = 1; n < most && seed < 100000; seed++) {
		struct gen *g = gen_new(seed);

		gen_request(g, 1, seed, 1000, (int)(records * 9 / 10));
		if (g->nrecords > records * 9 / 10 && g->nrecords < records * 11 / 10)
			types[n++] = seed;
		gen_free(g);
	}
	return n;
}

static void
make_stream(struct stream *s, size_t records_each, size_t ntraces)
{
	struct gen *g = gen_new(7);
	uint64_t types[4];
	uint32_t ntypes = find_types(types, 4, records_each);
	size_t first[GEN_NODES + 1], end;

	if (ntypes == 0)
		die("no request type of that size");
	for (size_t i = 0; i < ntraces; i++)
		gen_request(g, 1 + (i + 1) * UINT64_C(0x9e3779b97f4a7c15), types[i % ntypes],
		    1000000 + (int64_t)i * 100000, (int)(records_each * 9 / 10));
	gen_sort(g, first);
	*s = (struct stream){ .nrecords = g->nrecords, .ntraces = ntraces };
	for (size_t i = 0; i < g->nrecords; i++)
		if (g->records[i].r.time_ns >= s->span_ns)
			s->span_ns = g->records[i].r.time_ns + 1;
	s->pieces = calloc(g->nrecords / BATCH_RECORDS + 2 * GEN_NODES, sizeof *s->pieces);
	for (uint32_t node = 0; node < GEN_NODES; node++) {
		for (size_t at = first[node]; at < first[node + 1]; at = end) {
			end = at + BATCH_RECORDS < first[node + 1] ? at + BATCH_RECORDS
			                                           : first[node + 1];
			while (end < first[node + 1] &&
			       g->records[end].r.time_ns == g->records[end - 1].r.time_ns)
				end++;
			encode(s, g, at, end,
			    end < first[node + 1] ? g->records[end - 1].r.time_ns : s->span_ns);
		}
	}
	qsort(s->pieces, s->npieces, sizeof *s->pieces, by_watermark);
	gen_free(g);
}

struct engine {
	struct labels *labels;
	struct assemble *assemble;
	struct groups *groups;
	struct arena scratch;
	size_t traces, steps;
};

/* What a run reports about the stream. */
struct seen {
	double decode_s, seconds;
	size_t records, traces, steps;
	uint32_t groups;
	uint64_t other, inexact;
};

static const char *const NODES[GEN_NODES] = { "a", "b", "c", "d" };

static void
engine_begin(struct engine *x)
{
	struct assemble_options o = { 1 << 30, 1000000, INT64_C(10000000000) };
	struct groups_options go = { .groups_max = 1024, .samples_max = 512, .seed = 1 };
	struct err e;

	*x = (struct engine){ .labels = labels_new() };
	if (assemble_new(&x->assemble, &o, x->labels, &e) != 0)
		die(e.text);
	x->groups = groups_new(&go, x->labels);
	for (uint32_t node = 0; node < GEN_NODES; node++)
		assemble_join(x->assemble, node, &e);
}

static void
engine_end(struct engine *x)
{
	arena_release(&x->scratch);
	groups_free(x->groups);
	assemble_free(x->assemble);
	labels_free(x->labels);
}

static void
take_trace(struct engine *x, const struct trace *t)
{
	struct critpath path;
	struct shape shape;
	struct err e;

	if (critpath_extract(&path, t, x->labels, NULL, &x->scratch, &e) != 0 ||
	    shape_of(&shape, &path, x->labels, &x->scratch, &e) != 0)
		die(e.text);
	groups_add(x->groups, t, &path, &shape, NODES);
	x->traces++;
	x->steps += path.nsteps;
	arena_reset(&x->scratch);
}

static void
take_batch(struct engine *x, uint32_t node, const struct batch *b)
{
	struct trace *t;
	struct err e;

	if (assemble_batch(x->assemble, node, b, &e) != 0)
		die(e.text);
	while ((t = assemble_next(x->assemble)) != NULL) {
		take_trace(x, t);
		trace_free(t);
	}
}

/* The same batch, `round` spans later, of other requests. */
static void
shift(struct batch *b, struct record *records, uint64_t round, int64_t span_ns)
{
	for (uint32_t i = 0; i < b->nrecords; i++) {
		records[i] = b->records[i];
		records[i].time_ns += (int64_t)round * span_ns;
		records[i].trace_id = hash_u64(records[i].trace_id + round);
	}
	b->records = records;
	b->watermark_ns += (int64_t)round * span_ns;
}

static struct seen
run(const struct stream *s, uint64_t rounds)
{
	struct record *records = malloc(2 * BATCH_RECORDS * sizeof *records);
	struct batch b, last = { .watermark_ns = INT64_MAX / 8 };
	struct arena batch_arena = { 0 };
	struct seen seen = { 0 };
	struct engine x;
	struct err e;
	double at[4];

	engine_begin(&x);
	for (uint64_t round = 0; round < rounds; round++)
		for (uint32_t i = 0; i < s->npieces; i++) {
			const struct piece *p = &s->pieces[i];

			at[0] = now_s();
			if (batch_decode(&b, &batch_arena, s->bytes.data + p->at, p->len, &e) != 0)
				die(e.text);
			at[1] = now_s();
			shift(&b, records, round, s->span_ns);
			at[2] = now_s();
			take_batch(&x, p->node, &b);
			at[3] = now_s();
			seen.decode_s += at[1] - at[0];
			seen.seconds += at[3] - at[2];
			arena_reset(&batch_arena);
		}
	at[0] = now_s();
	for (uint32_t node = 0; node < GEN_NODES; node++)
		take_batch(&x, node, &last);
	seen.seconds += now_s() - at[0];
	seen.records = s->nrecords * rounds;
	seen.traces = x.traces;
	seen.steps = x.steps;
	seen.groups = groups_count(x.groups);
	seen.other = groups_other(x.groups)->traces;
	seen.inexact = groups_other(x.groups)->inexact;
	if (x.traces != s->ntraces * rounds)
		die("traces are missing");
	arena_release(&batch_arena);
	free(records);
	engine_end(&x);
	return seen;
}

static void
row(size_t records, size_t each, double *smallest_ns)
{
	size_t one = records < STREAM_RECORDS ? records : STREAM_RECORDS;
	int rounds = records > 1000000 ? 1 : records > 100000 ? ROUNDS : 10 * ROUNDS;
	struct seen best = { .seconds = 1e9 };
	struct stream s;
	double ns;

	make_stream(&s, each, one / each);
	for (int i = 0; i < rounds; i++) {
		struct seen seen = run(&s, records / one);

		best = seen.seconds < best.seconds ? seen : best;
	}
	ns = best.seconds * 1e9 / (double)best.records;
	if (*smallest_ns == 0)
		*smallest_ns = ns;
	printf("%10zu %9zu %7.1f %7u %7.1f %7.1f %9.1f %9.2fx %11.2fx\n", best.records, best.traces,
	    (double)best.steps / (double)best.traces, best.groups,
	    best.decode_s * 1e9 / (double)best.records, ns, 1e3 / ns, 1e9 / ns / TARGET_PER_S,
	    ns / *smallest_ns);
	if (best.other > 0)
		printf("  %llu traces found no room in a group, %llu were not exact\n",
		    (unsigned long long)best.other, (unsigned long long)best.inexact);
	buf_release(&s.bytes);
	free(s.pieces);
}

static void
records_to_groups(size_t most)
{
	static const size_t each[] = { 40, 250 };

	for (unsigned i = 0; i < sizeof each / sizeof each[0]; i++) {
		double smallest_ns = 0;

		printf("records to groups, about %zu records a trace (target %d M/s)\n", each[i],
		    TARGET_PER_S / 1000000);
		printf("%10s %9s %7s %7s %7s %7s %9s %10s %12s\n", "records", "traces", "steps",
		    "groups", "decode", "ns each", "M/s", "of target", "of smallest");
		for (size_t n = 1000; n <= most; n *= 10)
			row(n, each[i], &smallest_ns);
	}
}

/* ---- traces of spans ---- */

struct spans {
	struct labels *labels;
	uint32_t fork, join; /* silent */
	uint32_t begin[64], end[64];
	struct trace t;
	uint64_t next_link;
	struct rng rng;
};

static uint32_t
span_label(struct labels *l, enum record_kind kind, const char *event, uint32_t i)
{
	char text[64];
	int len = snprintf(text, sizeof text, "service%u/span:%s(op%u)", i % 7, event, i);

	return labels_intern(l, kind, text, (size_t)len, NULL, 0);
}

static void
spans_begin(struct spans *s)
{
	*s = (struct spans){ .labels = labels_new(), .next_link = 1 };
	s->fork = labels_silent(s->labels, RECORD_FORK);
	s->join = labels_silent(s->labels, RECORD_JOIN);
	for (uint32_t i = 0; i < 64; i++) {
		s->begin[i] = span_label(
		    s->labels, i == 0 ? RECORD_REQUEST_BEGIN : RECORD_UNIT_BEGIN, "begin", i);
		s->end[i] = span_label(
		    s->labels, i == 0 ? RECORD_REQUEST_END : RECORD_UNIT_END, "end", i);
	}
	rng_seed(&s->rng, 1);
}

/* A span with the given number of children, each of which has some children of its own; returns
 * when it ends. */
static int64_t
put_span(struct spans *s, uint32_t unit, uint32_t op, uint32_t below, int64_t at, uint64_t link,
    struct event *own)
{
	struct trace *t = &s->t;
	struct event *mine = own;
	uint32_t first = t->nunits, children = below < 3 ? below : 3, share;

	*mine++ = (struct event){
		.time_ns = at, .link_id = link, .label = s->begin[op], .unit = unit
	};
	t->nunits += children;
	for (uint32_t i = 0; i < children; i++) {
		struct unit *u = &t->units[first + i];
		uint64_t next = s->next_link++;

		share = (below - children) / children + (i < (below - children) % children);
		*u = (struct unit){ next, t->nevents, 2 + 2 * (share < 3 ? share : 3),
			(uint32_t)(mine - t->events) };
		t->nevents += u->count;
		at += 10 + (int64_t)rng_below(&s->rng, 1000);
		*mine++ = (struct event){
			.time_ns = at, .link_id = next, .label = s->fork, .unit = unit
		};
		at = put_span(
		    s, first + i, 1 + (op * 3 + i) % 63, share, at, next, &t->events[u->first]);
		*mine++ = (struct event){
			.time_ns = at, .link_id = next, .label = s->join, .unit = unit
		};
	}
	at += 10 + (int64_t)rng_below(&s->rng, 1000);
	*mine++ = (struct event){
		.time_ns = at, .link_id = link, .label = s->end[op], .unit = unit
	};
	return at;
}

static void
make_trace(struct spans *s, uint32_t nspans)
{
	s->t.id++;
	s->t.nunits = 1;
	s->t.units[0] = (struct unit){ 1, 0, 2 + 2 * (nspans > 3 ? 3 : nspans - 1), TRACE_NONE };
	s->t.nevents = s->t.units[0].count;
	s->t.begin_ns = 1000;
	s->t.type = s->begin[0];
	s->t.end_ns = put_span(s, 0, 0, nspans - 1, 1000, 0, s->t.events);
}

static void
traces_to_groups(void)
{
	static const uint32_t sizes[] = { 10, 44, 400, 4000 };

	printf("traces to groups, by spans in a trace (4 events each)\n%10s %9s %9s %9s %9s\n",
	    "spans", "steps", "ns/span", "ns/event", "traces/s");
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		uint32_t n = sizes[i], traces = 400000 / n;
		struct spans s;
		struct engine x;
		double took = 0, began;

		engine_begin(&x);
		labels_free(x.labels);
		spans_begin(&s);
		x.labels = s.labels;
		groups_free(x.groups);
		x.groups = groups_new(
		    &(struct groups_options){ .groups_max = 64, .samples_max = 512, .seed = 1 },
		    s.labels);
		s.t.events = calloc(4 * (size_t)n, sizeof *s.t.events);
		s.t.units = calloc(n, sizeof *s.t.units);
		for (uint32_t k = 0; k < traces; k++) {
			make_trace(&s, n);
			began = now_s();
			take_trace(&x, &s.t);
			took += now_s() - began;
		}
		printf("%10u %9.1f %9.1f %9.1f %9.0f\n", n, (double)x.steps / traces,
		    took * 1e9 / traces / n, took * 1e9 / traces / s.t.nevents, traces / took);
		free(s.t.events);
		free(s.t.units);
		engine_end(&x);
	}
}

/* ---- folding ---- */

/* The Thue-Morse sequence gives a square-free word over three letters: the numbers of 1s between
 * successive 0s. */
static uint32_t
squarefree(uint32_t i)
{
	uint32_t a = (uint32_t)__builtin_popcount(i) % 2,
		 b = (uint32_t)__builtin_popcount(i + 1) % 2;

	return 1 + a - b;
}

static uint32_t
letter(int how, uint32_t i, struct rng *rng)
{
	switch (how) {
	case 0:
		return i; /* no label occurs twice */
	case 1:
		return i % 60; /* one long loop */
	case 2:
		return i % 7 < 4 ? i % 7 % 2 : i % 7; /* a loop inside a loop */
	case 3:
		return squarefree(i); /* many positions to examine, and no repeat */
	default:
		return (uint32_t)rng_below(rng, 4); /* crossing loops at every position */
	}
}

static void
folding(void)
{
	static const char *const names[] = { "no repeat", "a loop of 60", "nested", "square-free",
		"four letters" };

	printf("folding of one path\n%-14s %9s %9s %9s %9s\n", "path", "steps", "labels", "loops",
	    "ns/step");
	for (int how = 0; how < 5; how++)
		for (uint32_t n = 1000; n <= 100000; n *= 100) {
			struct step *steps = calloc(n, sizeof *steps);
			struct critpath p = { n, steps, 0 };
			struct labels *l = labels_new();
			struct arena a = { 0 };
			double best = 1e9;
			struct shape shape;
			struct rng rng;
			struct err e;

			rng_seed(&rng, 5);
			for (uint32_t i = 0; i < n; i++) {
				char text[32];
				int len = snprintf(
				    text, sizeof text, "s/p:%u", letter(how, i, &rng));

				steps[i] = (struct step){ .time_ns = i,
					.event = i,
					.label = labels_intern(
					    l, RECORD_POINT, text, (size_t)len, NULL, 0) };
			}
			for (int round = 0; round < ROUNDS; round++) {
				double began = now_s();

				if (shape_of(&shape, &p, l, &a, &e) != 0)
					die(e.text);
				began = now_s() - began;
				best = began < best ? began : best;
				if (round + 1 < ROUNDS)
					arena_reset(&a);
			}
			printf("%-14s %9u %9u %9u %9.1f\n", names[how], n, shape.ntokens,
			    shape.nloops, best * 1e9 / n);
			arena_release(&a);
			labels_free(l);
			free(steps);
		}
}

int
main(int argc, char **argv)
{
	records_to_groups(argc > 1 ? strtoul(argv[1], NULL, 10) : 10000000);
	traces_to_groups();
	folding();
	return 0;
}
