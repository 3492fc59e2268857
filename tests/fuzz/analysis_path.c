/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Malformed records, through all of the analysis to findings: units that begin each other, links
 * joined before they are forked, times that run backwards, ends without begins. Four bytes of input
 * are a record; ids are few, so that records refer to each other. Invariants: time goes forward
 * along a path, and the edges add up.
 */
#include "analysis/assemble.h"
#include "analysis/bins.h"
#include "analysis/critpath.h"
#include "analysis/group.h"
#include "analysis/variance.h"
#include "tests/fuzz/common/fuzz.h"

enum { NODES = 3, LABELS = 12, BATCH = 16 };

struct engine {
	struct labels *labels;
	struct assemble *assemble;
	struct groups *groups[2], *merged;
	struct bins *bins;
	bool silence;
	struct arena arena;
};

static const char *const FIELDS[2] = { "a", "b" };
static const char *const IGNORE[] = { "*join(g)", NULL };

static const struct batch_label KNOWN[LABELS] = {
	{ RECORD_REQUEST_BEGIN, 0, 0, "s/hone:request_begin(R)", NULL },
	{ RECORD_REQUEST_END, 0, 0, "s/hone:request_end(R)", NULL },
	{ RECORD_FORK, 0, 0, "s/hone:fork(f)", NULL },
	{ RECORD_FORK, 0, 0, "s/hone:fork(g)", NULL },
	{ RECORD_UNIT_BEGIN, 0, 0, "s/hone:unit_begin(f)", NULL },
	{ RECORD_UNIT_BEGIN, 0, 0, "s/hone:unit_begin(g)", NULL },
	{ RECORD_UNIT_END, 0, 0, "s/hone:unit_end(f)", NULL },
	{ RECORD_JOIN, 0, 0, "s/hone:join(f)", NULL },
	{ RECORD_JOIN, 0, 0, "s/hone:join(g)", NULL },
	{ RECORD_POINT, 0, 2, "s/p:a", (const char **)FIELDS },
	{ RECORD_POINT, 0, 2, "s/p:b", (const char **)FIELDS },
	{ RECORD_POINT, 0, 0, "bad", NULL },
};

static void
check_loops(const struct shape *s)
{
	check(s->nedges == s->ntokens - 1 + s->nloops);
	for (uint32_t i = 0; i < s->nedges; i++)
		check(s->passes[i] > 0 && s->times_ns[i] >= 0);
	for (uint32_t i = 0; i < s->nloops; i++) {
		check(s->loops[i].first <= s->loops[i].last && s->loops[i].last < s->ntokens);
		check(s->iterations[i] >= 2 &&
		      s->iterations[i] == shape_runs(s, s->loops[i].first, s->loops[i].last));
	}
}

static void
take_trace(struct engine *x, struct trace *t)
{
	static const char *const names[NODES] = { "a", "b", "c" };
	struct critpath p;
	struct shape s;
	int64_t sum = 0;

	if (x->silence) /* as if a reader of trace files had added the structure */
		for (uint32_t i = 0; i < t->nevents; i++) {
			uint8_t kind = labels_get(x->labels, t->events[i].label)->kind;

			if (kind == RECORD_FORK || kind == RECORD_JOIN || kind == RECORD_UNIT_BEGIN)
				t->events[i].label = labels_silent(x->labels, kind);
		}
	if (critpath_extract(&p, t, x->labels, NULL, &x->arena, NULL) == 0) {
		bins_apply(x->bins, t, x->labels, &p);
		check(p.nsteps >= 2 && p.nsteps <= t->nevents);
		check(p.steps[0].time_ns == t->begin_ns &&
		      p.steps[p.nsteps - 1].time_ns == t->end_ns);
		for (uint32_t i = 1; i < p.nsteps; i++)
			check(p.steps[i].time_ns >= p.steps[i - 1].time_ns);
		check(shape_of(&s, &p, x->labels, &x->arena, NULL) == 0);
		for (uint32_t i = 0; i < s.nedges; i++)
			sum += s.times_ns[i];
		check(sum == t->end_ns - t->begin_ns);
		check_loops(&s);
		groups_add(x->groups[t->id % 2], t, &p, &s, names);
	}
	arena_reset(&x->arena);
	trace_free(t);
}

static void
drain(struct engine *x)
{
	struct trace *t;

	while ((t = assemble_next(x->assemble)) != NULL)
		take_trace(x, t);
}

static void
feed(struct engine *x, const uint8_t *data, size_t n, struct batch_label *labels, int64_t *now)
{
	struct value values[BATCH][2];
	struct record records[BATCH];
	struct loss loss = { LOSS_RING, 1, *now, *now + 10 };
	struct batch b = {
		.nlabels = LABELS, .labels = labels, .records = records, .losses = &loss
	};
	uint32_t node = data[0] % NODES;

	for (size_t i = 0; i < n; i++, data += 4) {
		uint32_t label = data[0] / NODES % LABELS;

		values[i][0] = (struct value){ .type = VALUE_UINT, .u = data[3] };
		values[i][1] = (struct value){
			.type = VALUE_TEXT, .len = data[2] % 3, .text = "xyz"
		};
		*now += data[3] % 16;
		records[b.nrecords++] = (struct record){ .trace_id = data[1] % 4,
			.unit_id = data[1] / 4 % 8,
			.link_id = labels[label].kind == RECORD_POINT ? 0 : data[2] % 8,
			.time_ns = *now - data[2] / 8,
			.label = label,
			.nvalues = labels[label].nfields,
			.values = values[i] };
		b.nlosses = data[3] == 255;
	}
	b.watermark_ns = *now - 20;
	check(assemble_batch(x->assemble, node, &b, NULL) == 0);
	drain(x);
}

static void
judge(struct engine *x)
{
	const struct conditions c = { 0.1, 0.95, 2, 0.95 };
	struct key_finding *keys;
	struct finding f;
	struct what_if w;

	check(groups_merge(x->merged, x->groups[0], NULL) == 0 &&
	      groups_merge(x->merged, x->groups[1], NULL) == 0);
	check(groups_other(x->merged)->inexact == 0);
	for (uint32_t i = 0; i < groups_count(x->merged); i++) {
		const struct group *g = groups_at(x->merged, i);
		struct buf out = { 0 };

		for (uint32_t k = 0; k < g->nsamples; k++) {
			double sum = 0;

			for (uint32_t j = 0; j < g->shape.nedges; j++)
				sum += g->samples[k].edges_ns[j];
			check(sum == (double)g->samples[k].total_ns);
		}

		check(finding_of(&f, g, &c, 100, 5, 1, &x->arena, NULL) == 0);
		check(keys_explain(&keys, g, f.top, 0.5, 0.1, &x->arena, NULL) >= 0);
		check(what_if_of(&w, g, f.top, 0.95, 5, 1, &x->arena, NULL) == 0);
		shape_print(&g->shape, x->labels, 5, &out);
		for (uint32_t k = 0; k < g->nkeys; k++)
			key_print(g, &g->keys[k], x->labels, &out);
		buf_release(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool early = size > 0 && data[0] & 2; /* traces need not wait for all nodes */
	const struct assemble_options o = { .memory_max_bytes = 20000,
		.skew_ns = 5,
		.patience_ns = 2000,
		.order_ns = early ? 20 : 0,
		.open_ns = early ? 100 : 0,
		.late_ends_ns = early ? 7 : 0 };
	const struct groups_options go = { .groups_max = 16,
		.slow_max = 4,
		.samples_max = 8,
		.seed = 1,
		.memory_max_bytes = 200000,
		.ignore = IGNORE };
	struct engine x = { .labels = labels_new() };
	struct batch_label labels[LABELS];
	int64_t now = 1000;

	memcpy(labels, KNOWN, sizeof labels);
	for (int i = 0; i < LABELS; i++)
		labels[i].len = (uint32_t)strlen(labels[i].text);
	check(assemble_new(&x.assemble, &o, x.labels, NULL) == 0);
	for (int i = 0; i < 2; i++)
		x.groups[i] = groups_new(&go, x.labels);
	x.merged = groups_new(&go, x.labels);
	x.bins = bins_new();
	check(bins_add(x.bins, "s/p:a.a=100,200", NULL) == 0 && bins_add(x.bins, "*.b", NULL) == 0);
	x.silence = size > 0 && data[0] % 2;
	for (uint32_t node = 0; node < NODES; node++)
		check(assemble_join(x.assemble, node, NULL) == 0);
	for (size_t n; size >= 4; data += 4 * n, size -= 4 * n) {
		n = size / 4 < BATCH ? size / 4 : BATCH;
		feed(&x, data, n, labels, &now);
	}
	for (uint32_t node = 1; node < NODES; node++)
		assemble_leave(x.assemble, node);
	drain(&x);
	judge(&x);
	groups_free(x.groups[0]);
	groups_free(x.groups[1]);
	groups_free(x.merged);
	bins_free(x.bins);
	assemble_free(x.assemble);
	labels_free(x.labels);
	arena_release(&x.arena);
	return 0;
}
