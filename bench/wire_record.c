/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of a record between agent and controller: ns of processor time to encode and to decode one,
 * and as a multiple of copying its bytes. The best of many rounds, to reduce the effect of other
 * load.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "wire/record.h"

enum { RECORDS = 1000, LABELS = 20, ROUNDS = 2000 };

struct load {
	const char *name;
	uint32_t nvalues;
	struct record records[RECORDS];
	struct value values[RECORDS][RECORD_VALUES_MAX];
};

static const char *const fields[] = { "size", "hit", "waiters", "key", "length", "level" };

/* Records as the shop example makes them: random ids, times some microseconds apart, small
 * values, one text. */
static void
fill(struct load *l, struct rng *r)
{
	int64_t time_ns = 1000000000000;

	for (int i = 0; i < RECORDS; i++) {
		for (uint32_t j = 0; j < l->nvalues; j++)
			l->values[i][j] = j == 3 ? (struct value){ VALUE_TEXT, 13,
				{ .text = "cart:00000042" } }
			                         : (struct value){ VALUE_INT, 0,
							   { .i = (int64_t)rng_below(r, 5000) } };
		time_ns += (int64_t)rng_below(r, 20000);
		l->records[i] = (struct record){ rng_next(r), rng_next(r),
			i % 4 == 0 ? rng_next(r) : 0, time_ns,
			(uint32_t)(i % 4 == 0 ? rng_below(r, 5) : 5 + rng_below(r, LABELS - 5)),
			4000 + (uint32_t)rng_below(r, 8), 4000 + (uint32_t)rng_below(r, 64),
			l->nvalues, l->values[i] };
	}
}

static void
encode(const struct load *l, struct batch_writer *w, struct buf *out)
{
	batch_begin(w);
	for (int i = 0; i < LABELS; i++)
		batch_label(w, i < 5 ? RECORD_FORK : RECORD_POINT, "frontend/shop:cart_lookup", 25,
		    fields, l->nvalues);
	for (int i = 0; i < RECORDS; i++)
		batch_record(w, &l->records[i]);
	buf_reset(out);
	if (batch_end(w, 0, out, NULL) != 0)
		abort();
}

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
keep_least(double *least, double began)
{
	double ns = (now_ns() - began) / RECORDS;

	if (*least == 0 || ns < *least)
		*least = ns;
}

static void
measure(struct load *l)
{
	double encode_ns = 0, decode_ns = 0, crc_ns = 0, copy_ns = 0, began;
	static uint8_t copy[1 << 20];
	volatile uint32_t sink = 0;
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct batch got;

	for (int i = 0; i < ROUNDS; i++) {
		began = now_ns();
		encode(l, &w, &out);
		keep_least(&encode_ns, began);
		began = now_ns();
		if (batch_decode(&got, &a, out.data, out.len, NULL) != 0)
			abort();
		keep_least(&decode_ns, began);
		arena_reset(&a);
		began = now_ns();
		sink += crc32c(0, out.data, out.len);
		keep_least(&crc_ns, began);
		began = now_ns();
		memcpy(copy, out.data, out.len);
		keep_least(&copy_ns, began);
		sink += copy[i];
	}
	printf("%-16s %8.1f %8.1f %8.1f %8.1f %8.1f %9.1fx %9.1fx\n", l->name,
	    (double)out.len / RECORDS, copy_ns, crc_ns, encode_ns, decode_ns, encode_ns / copy_ns,
	    decode_ns / copy_ns);
	batch_release(&w);
	buf_release(&out);
	arena_release(&a);
}

int
main(void)
{
	static struct load loads[] = { { "no values", 0 }, { "2 integers", 2 },
		{ "5 and a text", 6 } };
	struct rng r;

	printf("ns per record, batches of %d\n", RECORDS);
	printf("%-16s %8s %8s %8s %8s %8s %10s %10s\n", "record", "bytes", "memcpy", "crc32c",
	    "encode", "decode", "encode", "decode");
	rng_seed(&r, 1);
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		fill(&loads[i], &r);
		measure(&loads[i]);
	}
	return 0;
}
