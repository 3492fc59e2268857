/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hash table compared with the hand-written ones that it replaced: ns of processor time for one
 * operation, and the ratio. The median of pairs that run alternately, so that other load on the
 * machine affects both.
 *
 * 	trace	units of a trace, by 64-bit id, in a table that is emptied for each trace
 * 		(analysis/build.c)
 * 	large	100,000 ids in random order, found or added (struct map of base/hash.c)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/rng.h"

enum { PAIRS = 41, UNITS = 40, TRACES = 2000, RECORDS = 200, LARGE = 100000 };

/* ---- hand-made: open addressing, keys in the slots, emptied by counting `round` up ---- */

struct place {
	uint64_t key;
	uint32_t round;
	uint32_t value;
	bool begun, joined;
};

struct by_key {
	struct place *places;
	uint32_t mask, round;
};

static uint32_t
by_key_claim(struct by_key *t, uint64_t key, uint32_t value)
{
	uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & t->mask;
	struct place *p;

	while (t->places[at].round == t->round && t->places[at].key != key)
		at = (at + 1) & t->mask;
	p = &t->places[at];
	if (p->round != t->round)
		*p = (struct place){ .key = key, .round = t->round, .value = value };
	return p->value;
}

/* ---- hand-made: entries in the order of arrival, and an index of their numbers ---- */

struct indexed {
	uint64_t *keys;
	uint32_t *index; /* key + 1; 0: free */
	uint32_t mask, count;
};

static uint32_t
indexed_claim(struct indexed *t, uint64_t key)
{
	uint32_t at = (uint32_t)hash_u64(key) & t->mask;

	while (t->index[at] != 0 && t->keys[t->index[at] - 1] != key)
		at = (at + 1) & t->mask;
	if (t->index[at] == 0) {
		t->keys[t->count] = key;
		t->index[at] = ++t->count;
	}
	return t->index[at] - 1;
}

static uint64_t ids[LARGE];
static uint64_t sum;

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t
unit_at(int trace, int record)
{
	return ids[(trace * 7 + record * 13 % UNITS) % LARGE];
}

static double
trace_hand_made(void)
{
	static struct by_key t;
	double begin = now_ns();

	if (t.places == NULL) {
		t.places = calloc(512, sizeof *t.places);
		t.mask = 511;
	}
	for (int i = 0; i < TRACES; i++) {
		t.round++;
		for (int r = 0; r < RECORDS; r++)
			sum += by_key_claim(&t, unit_at(i, r), (uint32_t)r);
	}
	return (now_ns() - begin) / TRACES / RECORDS;
}

static double
trace_table(void)
{
	static struct hash_table t;
	double begin = now_ns();

	if (!hash_table_reserve(&t, RECORDS))
		abort();
	for (int i = 0; i < TRACES; i++) {
		hash_table_clear(&t);
		for (int r = 0; r < RECORDS; r++)
			sum += hash_table_claim(&t, hash_multiply(unit_at(i, r)), (uint32_t)r);
	}
	return (now_ns() - begin) / TRACES / RECORDS;
}

static double
large_hand_made(void)
{
	struct indexed t = { malloc(LARGE * sizeof(uint64_t)), calloc(262144, sizeof(uint32_t)),
		262143, 0 };
	double begin = now_ns();

	for (int i = 0; i < 4 * LARGE; i++)
		sum += indexed_claim(&t, ids[(uint64_t)i * 7919 % LARGE]);
	begin = now_ns() - begin;
	free(t.keys);
	free(t.index);
	return begin / (4 * LARGE);
}

static double
large_table(void)
{
	struct hash_table t = { 0 };
	double begin;

	if (!hash_table_reserve(&t, LARGE))
		abort();
	begin = now_ns();
	for (int i = 0; i < 4 * LARGE; i++)
		sum += hash_table_claim(&t, hash_u64(ids[(uint64_t)i * 7919 % LARGE]), t.count);
	begin = now_ns() - begin;
	hash_table_release(&t);
	return begin / (4 * LARGE);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
compare(const char *name, double (*old)(void), double (*new)(void))
{
	double olds[PAIRS], news[PAIRS], ratios[PAIRS];

	old();
	new ();
	for (int i = 0; i < PAIRS; i++) {
		olds[i] = old();
		news[i] = new ();
		ratios[i] = news[i] / olds[i];
	}
	qsort(olds, PAIRS, sizeof *olds, by_value);
	qsort(news, PAIRS, sizeof *news, by_value);
	qsort(ratios, PAIRS, sizeof *ratios, by_value);
	printf("%-8s hand-made %6.2f ns, hash_table %6.2f ns, ratio %.2f\n", name, olds[PAIRS / 2],
	    news[PAIRS / 2], ratios[PAIRS / 2]);
}

int
main(void)
{
	struct rng r;

	rng_seed(&r, 1);
	for (int i = 0; i < LARGE; i++)
		ids[i] = rng_next(&r);
	compare("trace", trace_hand_made, trace_table);
	compare("large", large_hand_made, large_table);
	return sum == 1;
}
