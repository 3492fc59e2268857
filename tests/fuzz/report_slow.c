/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs that take too long: a few bytes describe thousands of records, for the whole way from records to
 * a judged report. A record may take a constant amount of work and its part of a sort, whatever the
 * shape of the traces: all joins on one link, deep nesting, a label for each record, equal times.
 *
 *	input	RECORDS BLOCK...	RECORDS: 500 * 2^(0 to 5) of them at most
 *	block	OPS COUNT OP{OPS}	these one after the other, 2^COUNT times
 *	op	8 bytes: kind, unit, step of unit, link, step of link, time, label and its step, trace and node
 *
 * With the environment variable RECORDS the input may make as many, to measure by hand.
 */
#include <stdio.h>

#include "analysis/assemble.h"
#include "analysis/place_facts.h"
#include "analysis/thread_history.h"
#include "report/report.h"
#include "tests/fuzz/common/fuzz.h"
#include "tests/fuzz/common/work.h"

enum { BATCH = 500, OP_BYTES = 8, OPS_MAX = 6, LEAST = 500, WORK_PER_RECORD = 8000 };

struct slow {
	struct labels *labels;
	struct assemble *assemble;
	struct report *report;
	struct place_table places;
	struct thread_history *history;
	struct record records[BATCH];
	struct batch_label batch_labels[BATCH];
	char texts[BATCH][32];
	uint32_t n, made, most;
	int64_t now_ns;
};

static const char *const NODES[] = { "a", "b" };

static void
take_trace(struct slow *s, struct trace *t)
{
	check(place_table_add(&s->places, t, s->labels));
	check(thread_history_add(s->history, t, s->labels, NULL) == 0);
	if (trace_has_times(t))
		check(report_add(s->report, t, NODES, NULL) == 0);
	trace_free(t);
}

static void
send(struct slow *s, uint32_t node, int64_t watermark_ns)
{
	struct batch b = { .nrecords = s->n,
		.nlabels = s->n,
		.records = s->records,
		.labels = s->batch_labels,
		.watermark_ns = watermark_ns };
	struct trace *t;

	check(assemble_batch(s->assemble, node, &b, NULL) == 0);
	s->n = 0;
	while ((t = assemble_next(s->assemble)) != NULL)
		take_trace(s, t);
	while ((t = assemble_next_incomplete(s->assemble)) != NULL)
		take_trace(s, t);
}

static void
put(struct slow *s, enum record_kind kind, uint64_t trace, uint64_t unit, uint64_t link,
    uint32_t name)
{
	static const char *const events[RECORD_KINDS] = { "", "request_begin", "request_end",
		"fork", "unit_begin", "unit_end", "join" };
	char *text = s->texts[s->n];
	int len = kind == RECORD_POINT
	              ? snprintf(text, sizeof *s->texts, "s/p:p%u", name)
	              : snprintf(text, sizeof *s->texts, "s/hone:%s(f%u)", events[kind], name);

	if (s->made == s->most)
		return;
	s->made++;
	s->batch_labels[s->n] = (struct batch_label){ (uint8_t)kind, (uint32_t)len, 0, text, NULL };
	s->records[s->n] = (struct record){ .trace_id = trace,
		.unit_id = unit,
		.link_id = kind == RECORD_POINT ? 0 : link,
		.time_ns = s->now_ns,
		.label = s->n,
		.pid = 1,
		.tid = 1 + (uint32_t)unit % 3 };
	s->n++;
	if (s->n == BATCH)
		send(s, 0, 0);
}

/* One op for the i-th time. */
static void
run(struct slow *s, const uint8_t *op, int64_t i)
{
	static const uint8_t kinds[] = { RECORD_FORK, RECORD_UNIT_BEGIN, RECORD_UNIT_END,
		RECORD_JOIN, RECORD_POINT, RECORD_FORK, RECORD_JOIN, RECORD_REQUEST_END };
	uint64_t trace = 1 + (op[7] % 8 == 7 ? (uint64_t)i : 0);

	s->now_ns += (int8_t)op[5];
	s->now_ns = s->now_ns < 0 ? 0 : s->now_ns;
	put(s, (enum record_kind)kinds[op[0] % 8], trace, (uint64_t)(op[1] + i * (int8_t)op[2]),
	    1 + (uint64_t)(op[3] + i * (int8_t)op[4]),
	    (uint32_t)(op[6] % 16 + (op[6] >= 128 ? i % 100000 : op[6] / 16 * (i % 16))));
}

static void
run_block(struct slow *s, const uint8_t *ops, uint32_t nops, uint64_t times)
{
	for (uint64_t i = 0; i < times && s->made < s->most; i++)
		for (uint32_t k = 0; k < nops; k++)
			run(s, ops + (size_t)k * OP_BYTES, (int64_t)i);
}

static void
begin(struct slow *s, uint32_t most)
{
	const struct assemble_options o = { 512 << 20, 5, INT64_C(1) << 40, 0 };
	struct report_options ro = report_defaults();

	ro.threads = 1;
	ro.rounds = 4;
	*s = (struct slow){ .labels = labels_new(),
		.most = most,
		.history = thread_history_new(1024),
		.now_ns = 1000 };
	s->report = report_new(&ro, s->labels);
	check(s->labels != NULL && s->report != NULL && s->history != NULL &&
	      assemble_new(&s->assemble, &o, s->labels, NULL) == 0 &&
	      assemble_join(s->assemble, 0, NULL) == 0);
	put(s, RECORD_REQUEST_BEGIN, 1, 0, 0, 0);
}

static void
end(struct slow *s)
{
	s->most++;
	s->now_ns += 10;
	put(s, RECORD_REQUEST_END, 1, 0, 0, 0);
	send(s, 0, INT64_C(1) << 50);
	check(report_judge(s->report, NULL) == 0);
	thread_history_free(s->history);
	report_free(s->report);
	assemble_free(s->assemble);
	place_table_release(&s->places);
	labels_free(s->labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct slow s;
	const char *records = getenv("RECORDS");

	if (size == 0)
		return 0;
	begin(&s, records != NULL ? (uint32_t)atoi(records) : (uint32_t)LEAST << data[0] % 6);
	data++;
	size--;
	while (size >= 2) {
		uint32_t nops = 1 + data[0] % OPS_MAX;
		uint64_t times = UINT64_C(1) << data[1] % 32;

		if (size < 2 + (size_t)nops * OP_BYTES)
			break;
		run_block(&s, data + 2, nops, times);
		data += 2 + (size_t)nops * OP_BYTES;
		size -= 2 + (size_t)nops * OP_BYTES;
	}
	work_max = WORK_BASE + (uint64_t)WORK_PER_RECORD * s.made;
	end(&s);
	return 0;
}
