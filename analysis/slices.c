/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/slices.h"
#include "base/array.h"

/* 63      48 47    44 43  41 40     9 8      0
 *   slice     unused   what    of      bucket  */
static uint64_t
key_of(uint32_t slice, enum slice_what what, uint32_t of, uint32_t bucket)
{
	return (uint64_t)slice << 48 | (uint64_t)what << 41 | (uint64_t)of << 9 | bucket;
}

void
slices_init(struct slices *s, uint32_t counts_max)
{
	*s = (struct slices){ .counts_max = counts_max, .length_ns = SLICE_NS };
}

void
slices_release(struct slices *s)
{
	free(s->counts);
	hash_table_release(&s->index);
	*s = (struct slices){ 0 };
}

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Counts again what was counted, in slices of other numbers. */
static bool
renumber(struct slices *s, const uint32_t *number)
{
	uint32_t n = s->ncounts;

	s->ncounts = 0;
	hash_table_clear(&s->index);
	for (uint32_t i = 0; i < n; i++) {
		struct slice_count c = s->counts[i];
		uint32_t at;

		c.key = (c.key & ((UINT64_C(1) << 48) - 1)) | (uint64_t)number[slice_of(c.key)]
		                                                  << 48;
		if ((at = hash_table_claim(&s->index, hash_multiply(c.key), s->ncounts)) ==
		    HASH_TABLE_NONE)
			return false;
		if (at == s->ncounts)
			s->counts[s->ncounts++] = c;
		else
			s->counts[at].count += c.count;
	}
	s->open = number[s->open];
	return true;
}

/* The slice of this number; slices.n: there is none. */
static uint32_t
slice_at(const struct slices *s, int64_t at)
{
	uint32_t i = 0;

	while (i < s->n && s->at[i] != at)
		i++;
	return i;
}

/* Doubles the length. */
static bool
widen(struct slices *s)
{
	uint32_t number[SLICES_MAX], n = s->n;

	s->length_ns *= 2;
	s->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		int64_t at = floor_div(s->at[i], 2);

		number[i] = slice_at(s, at);
		s->at[number[i]] = at;
		s->n += number[i] == s->n;
	}
	return renumber(s, number);
}

bool
slices_open(struct slices *s, int64_t at_ns)
{
	while ((s->open = slice_at(s, floor_div(at_ns, s->length_ns))) == SLICES_MAX) {
		s->open = 0;
		if (!widen(s))
			return false;
	}
	if (s->open == s->n)
		s->at[s->n++] = floor_div(at_ns, s->length_ns);
	return true;
}

bool
slices_count(struct slices *s, enum slice_what what, uint32_t of, uint32_t bucket)
{
	uint32_t at;
	uint64_t key;

	assert(bucket < 512);
	while (s->ncounts == s->counts_max && s->n > 1)
		if (!widen(s))
			return false;
	key = key_of(s->open, what, of, bucket);
	if (s->ncounts == s->counts_max) {
		if ((at = hash_table_find(&s->index, hash_multiply(key))) == HASH_TABLE_NONE)
			s->lost++;
		else
			s->counts[at].count++;
		return true;
	}
	if (!array_reserve_max(s->counts, s->counts_cap, s->ncounts + 1, s->counts_max) ||
	    (at = hash_table_claim(&s->index, hash_multiply(key), s->ncounts)) == HASH_TABLE_NONE)
		return false;
	if (at == s->ncounts)
		s->counts[s->ncounts++] = (struct slice_count){ .key = key };
	s->counts[at].count++;
	return true;
}

static int
compare_counts(const void *a, const void *b)
{
	uint64_t x = ((const struct slice_count *)a)->key, y = ((const struct slice_count *)b)->key;

	return (x > y) - (x < y);
}

bool
slices_sort(struct slices *s)
{
	uint32_t number[SLICES_MAX];
	int64_t at[SLICES_MAX];

	for (uint32_t i = 0; i < s->n; i++) {
		number[i] = 0;
		for (uint32_t k = 0; k < s->n; k++)
			number[i] += s->at[k] < s->at[i];
		at[number[i]] = s->at[i];
	}
	memcpy(s->at, at, s->n * sizeof *at);
	if (s->n > 0 && !renumber(s, number))
		return false;
	if (s->ncounts > 1)
		qsort(s->counts, s->ncounts, sizeof *s->counts, compare_counts);
	for (uint32_t i = 0; i < s->n; i++)
		number[i] = i;
	return s->n == 0 || renumber(s, number); /* the index of the sorted counts */
}
