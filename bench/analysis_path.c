/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From bytes of a batch to a group, on one core: decoding, assembly, critical
 * path, shape, group. The stream is of several nodes and request types, many
 * requests at a time. Prints one row for each stream, and how much slower that
 * is than copying the same bytes. It only tells; nothing here fails on time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/assemble.h"
#include "analysis/critpath.h"
#include "analysis/group.h"
#include "tests/unit/analysis/generator.h"

enum { BATCH_RECORDS = 1000, TARGET_PER_S = 1000000, ROUNDS = 5 };

struct piece {
	uint32_t node;
	int64_t watermark_ns;
	size_t at, len;		/* in the bytes */
};

struct stream {
	struct buf bytes;
	struct piece *pieces;
	uint32_t npieces;
	size_t nrecords, ntraces;
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
			numbers[r.label] = batch_label(&w, l->kind, l->text, l->len, l->fields, l->nfields);
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

/* Request types whose requests have about so many records, in 4 to 6 units or more. */
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
	s->pieces = calloc(g->nrecords / BATCH_RECORDS + 2 * GEN_NODES, sizeof *s->pieces);
	for (uint32_t node = 0; node < GEN_NODES; node++) {
		for (size_t at = first[node]; at < first[node + 1]; at = end) {
			end = at + BATCH_RECORDS < first[node + 1] ? at + BATCH_RECORDS : first[node + 1];
			while (end < first[node + 1] && g->records[end].r.time_ns == g->records[end - 1].r.time_ns)
				end++;
			encode(s, g, at, end, end < first[node + 1] ? g->records[end - 1].r.time_ns : INT64_MAX / 8);
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

/* What a run says of the stream. */
struct seen {
	double seconds;
	size_t steps;
	uint32_t groups;
	uint64_t other;
};

static void
drain(struct engine *x)
{
	static const char *const nodes[GEN_NODES] = { "a", "b", "c", "d" };
	struct critpath path;
	struct shape shape;
	struct trace *t;
	struct err e;

	for (; (t = assemble_next(x->assemble)) != NULL; x->traces++) {
		if (critpath_extract(&path, t, x->labels, NULL, &x->scratch, &e) != 0 ||
		    shape_of(&shape, &path, x->labels, &x->scratch, &e) != 0)
			die(e.text);
		groups_add(x->groups, t, &path, &shape, nodes);
		x->steps += path.nsteps;
		arena_reset(&x->scratch);
		trace_free(t);
	}
}

static struct seen
run(const struct stream *s)
{
	struct seen seen;
	struct assemble_options o = { 1 << 30, 1000000, INT64_C(10000000000) };
	struct groups_options go = { 1024, 512, 1 };
	struct engine x = { .labels = labels_new() };
	struct arena batch_arena = { 0 };
	struct batch b;
	struct err e;
	double began;

	if (assemble_new(&x.assemble, &o, x.labels, &e) != 0)
		die(e.text);
	x.groups = groups_new(&go, x.labels);
	for (uint32_t node = 0; node < GEN_NODES; node++)
		assemble_join(x.assemble, node, &e);
	began = now_s();
	for (uint32_t i = 0; i < s->npieces; i++) {
		const struct piece *p = &s->pieces[i];

		if (batch_decode(&b, &batch_arena, s->bytes.data + p->at, p->len, &e) != 0 ||
		    assemble_batch(x.assemble, p->node, &b, &e) != 0)
			die(e.text);
		drain(&x);
		arena_reset(&batch_arena);
	}
	seen = (struct seen){ now_s() - began, x.steps, groups_count(x.groups), groups_other(x.groups) };
	if (x.traces != s->ntraces)
		die("traces are missing");
	arena_release(&batch_arena);
	arena_release(&x.scratch);
	groups_free(x.groups);
	assemble_free(x.assemble);
	labels_free(x.labels);
	return seen;
}

static double
copy(const struct stream *s)
{
	char *to = malloc(s->bytes.len);
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		double began = now_s();

		memcpy(to, s->bytes.data, s->bytes.len);
		__asm__ volatile("" : : "r"(to) : "memory");
		began = now_s() - began;
		best = began < best ? began : best;
	}
	free(to);
	return best;
}

int
main(int argc, char **argv)
{
	static const size_t sizes[] = { 40, 250 };
	size_t records = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;

	printf("%-20s %9s %7s %7s %11s %11s %10s %10s\n", "stream", "records", "steps", "groups", "records/s",
	    "target", "of target", "of memcpy");
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct stream s;
		struct seen best = { .seconds = 1e9 };
		double rate;
		char name[32];

		make_stream(&s, sizes[i], records / sizes[i]);
		for (int j = 0; j < ROUNDS; j++) {
			struct seen t = run(&s);

			best = t.seconds < best.seconds ? t : best;
		}
		rate = (double)s.nrecords / best.seconds;
		snprintf(name, sizeof name, "about %zu a trace", sizes[i]);
		printf("%-20s %9zu %7.1f %7u %11.0f %11d %9.2fx %9.4fx\n", name, s.nrecords,
		    (double)best.steps / (double)s.ntraces, best.groups, rate, TARGET_PER_S, rate / TARGET_PER_S,
		    copy(&s) / best.seconds);
		if (best.other > 0)
			printf("  %llu traces found no room in a group\n", (unsigned long long)best.other);
		buf_release(&s.bytes);
		free(s.pieces);
	}
	return 0;
}
