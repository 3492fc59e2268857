/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions of gates, in any bytes, one on each line: what is read keeps its bounds; programs that are told encode and decode; answers
 * are written. A line that begins with '!' is what the controller wants: a name.
 */
#include "otel/control/gate_table.h"
#include "otel/spans/span_points.h"
#include "tests/fuzz/common/fuzz.h"

static void
check_question(const struct gate_question *q)
{
	check(q->service[0] != '\0' && strlen(q->service) <= GATE_SERVICE_MAX);
	check(strchr(q->service, '/') == NULL);
	check(q->instance[0] != '\0' && strlen(q->instance) <= GATE_INSTANCE_MAX);
	check(q->nnames <= GATE_NAMES_MAX && q->on_ns >= 0 && q->off_ns >= 0);
	for (uint32_t i = 0; i < q->nnames; i++)
		check(point_name_fits(q->names[i], strlen(q->names[i])));
}

static void
check_table(const struct gate_table *t, struct arena *a, struct mono now)
{
	struct gate_table_stats stats;
	struct programs p, back;
	struct buf b = { 0 };
	struct err e;
	double share = gate_table_share(t, now);

	check(share >= 0 && share <= 1);
	gate_table_stats(t, &stats);
	check(stats.on <= stats.names && stats.gates <= GATES_MAX && stats.off_ns <= stats.on_ns);
	check(gate_table_programs(t, &p, a, &e) == 0 && p.nprograms == stats.gates);
	check(p.nnames == 2 * stats.names);
	programs_encode(&p, &b);
	check(programs_decode(&back, a, b.data, b.len, &e) == 0);
	for (uint32_t i = 0; i < p.nnames; i++)
		check(gate_table_has(t, p.names[i]));
	buf_release(&b);
}

static void
take_line(struct gate_table *t, const char *line, size_t len, struct mono now)
{
	struct arena a = { 0 };
	struct gate_question q;
	struct gate_answer told;
	struct buf b = { 0 };
	struct err e;
	bool is_new;

	if (len > 0 && line[0] == '!') {
		struct toggle toggle = { arena_text(&a, line + 1, len - 1) };
		struct rate rate = { "x", 1, 0.5 };
		struct want w = { .ntoggles = 1, .toggles = &toggle, .nrates = 1, .rates = &rate };

		check(gate_table_want(t, &w, (struct mono){ now.ns + 3000 }, &e) == 0);
	} else if (gate_question_read(&q, &a, line, len, &e) == 0) {
		check_question(&q);
		check(gate_table_ask(t, &q, now, &told, &is_new, &a, &e) == 0);
		check(told.non <= GATE_NAMES_OF_ONE && told.lease_ms >= 0);
		check(gate_answer_write(&told, &b, &e) == 0);
	}
	check_table(t, &a, now);
	buf_release(&b);
	arena_release(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct gate_table_options o = { 10000, 1000, 1000, 1 };
	struct gate_table *t = gate_table_new(&o);
	const char *at = (const char *)data, *end = at + len;
	struct mono now = { 1 };

	check(t != NULL);
	for (int lines = 0; at < end && lines < 64; lines++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline != NULL ? newline : end) - at);

		now.ns += 1000;
		take_line(t, at, n, now);
		at += n + 1;
	}
	gate_table_free(t);
	return 0;
}
