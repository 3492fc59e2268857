/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/record_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct kept {
	uint64_t time_ns;
	size_t at, len; /* in the bytes */
};

struct record_sort {
	uint64_t *words; /* the records, each at a word */
	size_t nwords, words_cap;
	struct kept *list;
	uint32_t n, cap;
};

enum { WORD = sizeof(uint64_t) };

struct record_sort *
record_sort_new(void)
{
	return calloc(1, sizeof(struct record_sort));
}

void
record_sort_free(struct record_sort *s)
{
	if (s == NULL)
		return;
	free(s->words);
	free(s->list);
	free(s);
}

bool
record_sort_add(struct record_sort *s, uint64_t time_ns, const void *record, size_t len)
{
	size_t words = (len + WORD - 1) / WORD;

	if (!array_reserve(s->words, s->words_cap, s->nwords + words) ||
	    !array_reserve(s->list, s->cap, s->n + 1))
		return false;
	memcpy(s->words + s->nwords, record, len);
	s->list[s->n++] = (struct kept){ time_ns, s->nwords, len };
	s->nwords += words;
	return true;
}

static int
by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int
by_place(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void
record_sort_take(struct record_sort *s, uint64_t until_ns, record_sort_taken *take, void *of)
{
	uint32_t taken = 0;

	if (s->n > 1)
		qsort(s->list, s->n, sizeof *s->list, by_time);
	for (; taken < s->n && s->list[taken].time_ns <= until_ns; taken++)
		take(of, s->words + s->list[taken].at, s->list[taken].len);
	s->n -= taken;
	s->nwords = 0;
	if (s->n == 0)
		return;
	memmove(s->list, s->list + taken, s->n * sizeof *s->list);
	/* moved to the begin, the first first, so that none is written over */
	qsort(s->list, s->n, sizeof *s->list, by_place);
	for (uint32_t i = 0; i < s->n; i++) {
		size_t words = (s->list[i].len + WORD - 1) / WORD;

		memmove(s->words + s->nwords, s->words + s->list[i].at, words * WORD);
		s->list[i].at = s->nwords;
		s->nwords += words;
	}
}
