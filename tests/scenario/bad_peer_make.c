/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/scenario/bad_peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "wire/agent_messages.h"
#include "wire/record.h"
#include "wire/toggle.h"

static bool
one_in(struct rng *dice, uint64_t n)
{
	return rng_below(dice, n) == 0;
}

static uint64_t
any_u64(struct rng *dice)
{
	static const uint64_t edges[] = { 0, 1, 2, 255, 65535, UINT32_MAX, INT64_MAX, UINT64_MAX,
		UINT64_C(1) << 63 };

	return one_in(dice, 2) ? edges[rng_below(dice, 9)] : rng_next(dice) >> rng_below(dice, 64);
}

static double
any_double(struct rng *dice)
{
	static const double edges[] = { 0, 1, -1, 0.5, 1e300, -1e300, 1e-320, INFINITY, -INFINITY,
		NAN };

	return one_in(dice, 2) ? rng_unit(dice) : edges[rng_below(dice, 10)];
}

/* Mostly near the present, otherwise any time. */
static int64_t
any_time(struct rng *dice)
{
	int64_t now = clock_mono().ns;

	return one_in(dice, 4) ? (int64_t)any_u64(dice)
	                       : now - 1000000000 + (int64_t)rng_below(dice, 2000000000);
}

void
make_hello(struct rng *dice, const char *node, struct buf *b)
{
	struct hello h = { node, any_u64(dice), one_in(dice, 2) ? 1 : any_u64(dice), "bad 1.0",
		any_time(dice) };

	hello_encode(&h, b);
}

static void
make_labels(struct rng *dice, struct batch_writer *w, uint32_t n)
{
	static const char *const fields[] = { "n", "status", "words", "\x1b[31m" };
	static const char *const known[] = { "soak_steady/hone:request_begin(WORK)",
		"soak_steady/hone:request_end(WORK)", "soak_steady/soak:read_begin",
		"soak_steady/hone:fork(x)", "soak_steady/hone:join(x)" };
	char text[LABEL_TEXT_MAX + 1];

	for (uint32_t i = 0; i < n; i++) {
		int len = i < 5 ? snprintf(text, sizeof text, "%s", known[i])
		                : snprintf(text, sizeof text, "bad_%x/hone:request_begin(TYPE_%x)",
				      (unsigned)rng_below(dice, 1 << 20), i);

		batch_label(w, (enum record_kind)rng_below(dice, RECORD_KINDS), text, (size_t)len,
		    fields, (uint32_t)rng_below(dice, 4));
	}
}

void
make_records(struct rng *dice, struct buf *b)
{
	struct batch_writer w = { 0 };
	uint32_t nlabels = one_in(dice, 20) ? 10000 : 1 + (uint32_t)rng_below(dice, 20),
		 n = (uint32_t)rng_below(dice, 300);
	struct value values[RECORD_VALUES_MAX];
	int64_t time_ns = any_time(dice);

	batch_begin(&w);
	make_labels(dice, &w, nlabels);
	for (uint32_t i = 0; i < n; i++) {
		struct record r = { one_in(dice, 2) ? rng_below(dice, 50) : any_u64(dice),
			rng_below(dice, 20), rng_below(dice, 20), time_ns,
			(uint32_t)rng_below(dice, nlabels), (uint32_t)any_u64(dice),
			(uint32_t)any_u64(dice), (uint32_t)rng_below(dice, 4), values };

		for (int v = 0; v < 4; v++)
			values[v] = one_in(dice, 2)
			                ? (struct value){ VALUE_UINT, 0, .u = any_u64(dice) }
			                : (struct value){ VALUE_REAL, 0, .d = any_double(dice) };
		batch_record(&w, &r);
		time_ns += (int64_t)rng_below(dice, 1000000);
	}
	for (uint64_t i = rng_below(dice, 3); i > 0; i--)
		batch_loss(&w, &(struct loss){ (uint8_t)rng_below(dice, LOSS_REASONS),
				   any_u64(dice), any_time(dice), any_time(dice) });
	batch_end(&w, any_time(dice), b, NULL);
	batch_release(&w);
}

void
make_status(struct rng *dice, struct buf *b)
{
	struct status s = { .records = any_u64(dice),
		.batches = any_u64(dice),
		.cpu_us = (int64_t)any_u64(dice),
		.tracer_cpu_us = (int64_t)any_u64(dice),
		.memory_bytes = (int64_t)any_u64(dice),
		.epoch = any_u64(dice),
		.added = (uint32_t)any_u64(dice),
		.record_ns = any_double(dice),
		.rejected_ns = any_double(dice),
		.tracer_ok = one_in(dice, 2),
		.trouble = { .kind = one_in(dice, 2) ? NODE_TROUBLE_NONE : NODE_TROUBLE_UNTRACED,
		    .subject = "\x1b]0;bad\x07\xff\xfe",
		    .text = "\xff\x1b[2J" } };

	for (int q = 0; q < QUEUES; q++)
		s.fill[q] = any_double(dice);
	for (int r = 0; r < LOSS_REASONS; r++)
		s.lost[r] = any_u64(dice);
	status_encode(&s, b);
}

void
make_programs(struct rng *dice, struct buf *b)
{
	uint32_t nnames = one_in(dice, 10) ? 100000 : (uint32_t)rng_below(dice, 200);
	uint32_t nprograms = one_in(dice, 10) ? PROGRAMS_MAX : (uint32_t)rng_below(dice, 20);
	struct program *programs = calloc(nprograms + 1, sizeof *programs);
	const char **names = calloc(nnames + 1, sizeof *names);
	char *texts = malloc((size_t)nnames * 40 + 1);

	if (programs == NULL || names == NULL || texts == NULL)
		abort();
	for (uint32_t i = 0; i < nnames; i++) {
		names[i] = texts + (size_t)i * 40;
		snprintf(
		    texts + (size_t)i * 40, 40, "bad%u:ev%u", (unsigned)rng_below(dice, 50), i);
	}
	for (uint32_t i = 0; i < nprograms; i++) {
		uint32_t first = nnames > 0 ? (uint32_t)rng_below(dice, nnames) : 0;

		programs[i] = (struct program){ i % 2 ? "soak_steady" : "bad",
			(uint32_t)any_u64(dice), first,
			nnames > 0 ? (uint32_t)rng_below(dice, nnames - first) : 0 };
	}
	programs_encode(&(struct programs){ nprograms, nnames, programs, names }, b);
	free(programs);
	free(names);
	free(texts);
}

void
make_done(struct rng *dice, struct buf *b)
{
	static uint8_t results[TOGGLES_MAX];
	struct done d = { any_u64(dice), any_time(dice),
		one_in(dice, 10) ? TOGGLES_MAX : (uint32_t)rng_below(dice, 20), results, "bad" };

	for (uint32_t i = 0; i < d.nresults; i++)
		results[i] = (uint8_t)rng_below(dice, 3);
	done_encode(&d, b);
}

/* Mostly few existing tracepoints; sometimes as many as the limit permits, sometimes more. */
void
make_want(struct rng *dice, uint64_t epoch, struct buf *b)
{
	static const char *const real[] = { "soak:read_begin", "soak:read_end", "soak:think_begin",
		"soak:*", "hone:request_begin", "soak:*x*", "lttng_ust_statedump:start", "" };
	uint32_t most = one_in(dice, 300) ? 100000 : one_in(dice, 30) ? 300 : 6;
	uint32_t n = (uint32_t)rng_below(dice, most + 1),
		 nrates = one_in(dice, 20) ? RATES_MAX : (uint32_t)rng_below(dice, 3);
	struct toggle *toggles = calloc(n + 1, sizeof *toggles);
	struct rate rates[RATES_MAX];
	char *texts = malloc((size_t)n * 32 + 1), types[RATES_MAX][16];
	int64_t lease_ms = one_in(dice, 4) ? (int64_t)any_u64(dice)
	                                   : (int64_t)rng_below(dice, 1000);

	if (toggles == NULL || texts == NULL)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		toggles[i].name = texts + (size_t)i * 32;
		if (n <= 6)
			snprintf(texts + (size_t)i * 32, 32, "%s", real[rng_below(dice, 8)]);
		else
			snprintf(texts + (size_t)i * 32, 32, "bad:ev%u", i);
	}
	for (uint32_t i = 0; i < nrates; i++) {
		snprintf(types[i], sizeof types[i], i == 0 ? "WORK" : "TYPE_%u",
		    (unsigned)rng_below(dice, 2000));
		rates[i] = (struct rate){ types[i], any_double(dice), any_double(dice) };
	}
	/* An endless lease still ends when the connection is silent; it must not disturb anything
	 * else. */
	want_encode(
	    &(struct want){ epoch, lease_ms, any_double(dice), nrates, n, rates, toggles }, b);
	free(toggles);
	free(texts);
}

/* ---- questions ---- */

static void
put_value(struct rng *dice, struct buf *b, int depth)
{
	static const char *const words[] = { "\"WORK\"", "\"GET_HOME\"", "\"\"", "\"\\u0000\"",
		"\"\\ud800\"", "null", "true", "-1", "0", "1e400", "-1e-400", "9223372036854775808",
		"123456789012345678901234567890", "\"\x1b[31m\xc3\"", "[]", "{}", "\"flat\"",
		"\"0123456789abcdef\"", "\"soak:read_begin\"", "[1,2]", "[-1,99999999999]" };

	if (one_in(dice, 200)) {
		for (int i = 0; i < 30000; i++)
			buf_u8(b, one_in(dice, 2) ? '[' : 'x');
	} else if (one_in(dice, 100)) {
		for (int i = 0; i < 20000; i++)
			buf_u8(b, '[');
		for (int i = 0; i < 20000; i++)
			buf_u8(b, ']');
	} else if (one_in(dice, 100)) {
		buf_u8(b, '"');
		for (uint64_t i = rng_below(dice, 60000); i > 0; i--)
			buf_u8(b, 'a');
		buf_u8(b, '"');
	} else if (depth < 3 && one_in(dice, 10)) {
		buf_printf(b, "{\"type\":");
		put_value(dice, b, depth + 1);
		buf_u8(b, '}');
	} else {
		const char *w = words[rng_below(dice, sizeof words / sizeof *words)];

		buf_bytes(b, w, strlen(w));
	}
}

/* folder: contains the files that a question may name: random bytes, another database, a fifo. */
void
make_question(struct rng *dice, const char *folder, struct buf *b)
{
	static const char *const asks[] = { "status", "agents", "tracepoints", "start", "stop",
		"learn", "forest", "verdict", "history", "why", "diff", "space", "space_import",
		"space_use", "report", "no_such" };
	static const char *const fields[] = { "type", "strategy", "k", "seed", "effort", "seconds",
		"name", "run", "limit", "trace", "tracepoint", "runs", "samples", "reset",
		"unknown" };
	static const char *const files[] = { "fifo", "rubbish", "none", "." };
	const char *ask = asks[rng_below(dice, 16)];

	buf_printf(b, "{\"ask\":\"%s\"", ask);
	if (strcmp(ask, "space_import") == 0)
		buf_printf(b, ",\"path\":\"%s/%s\"", one_in(dice, 8) ? "/dev/zero" : folder,
		    files[rng_below(dice, 4)]);
	for (uint64_t i = rng_below(dice, 4); i > 0; i--) {
		buf_printf(b, ",\"%s\":", fields[rng_below(dice, 15)]);
		put_value(dice, b, 0);
	}
	buf_u8(b, '}');
}

/* ---- damage ---- */

void
make_rubbish(struct rng *dice, size_t most, struct buf *b)
{
	for (uint64_t i = rng_below(dice, most + 1); i > 0; i--)
		buf_u8(b, (uint8_t)rng_next(dice));
}

void
mutate(struct rng *dice, struct buf *b)
{
	for (uint64_t i = rng_below(dice, 8); i > 0 && b->len > 0; i--) {
		size_t at = rng_below(dice, b->len), n = rng_below(dice, b->len - at) % 64;

		switch (rng_below(dice, 5)) {
		case 0:
			b->data[at] = (uint8_t)rng_next(dice);
			break;
		case 1:
			b->data[at] ^= (uint8_t)(1u << rng_below(dice, 8));
			break;
		case 2:
			b->data[at] = one_in(dice, 2) ? 0xff : 0;
			break;
		case 3:
			b->len -= one_in(dice, 4) ? b->len - at : 0;
			break;
		case 4:
			if (buf_reserve(b, n) != NULL)
				buf_bytes(b, b->data + at, n);
			break;
		}
	}
}
