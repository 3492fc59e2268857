/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/cpu_merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct waiting {
	uint64_t time_ns;
	size_t at, len; /* in the words; bytes */
};

struct merge_queue {
	uint64_t *words; /* the records, each at a word, in the order in which they came */
	size_t nwords, words_cap;
	struct waiting *list; /* by time */
	size_t first, n, cap; /* list[first, n) waits */
};

struct cpu_merge {
	struct merge_queue *queues;
	uint32_t nqueues;
	uint32_t *heap; /* queues with records, the one with the earliest on top */
	uint32_t nheap;
	uint64_t *spare; /* for what is kept; swapped with a queue's words */
	size_t spare_cap, nbytes;
};

enum { WORD = sizeof(uint64_t) };

struct cpu_merge *
cpu_merge_new(uint32_t queues)
{
	struct cpu_merge *m = calloc(1, sizeof *m);

	assert(queues > 0);
	if (m == NULL)
		return NULL;
	m->queues = calloc(queues, sizeof *m->queues);
	m->heap = calloc(queues, sizeof *m->heap);
	if (m->queues == NULL || m->heap == NULL) {
		cpu_merge_free(m);
		return NULL;
	}
	m->nqueues = queues;
	return m;
}

void
cpu_merge_free(struct cpu_merge *m)
{
	if (m == NULL)
		return;
	for (uint32_t i = 0; i < m->nqueues; i++) {
		free(m->queues[i].words);
		free(m->queues[i].list);
	}
	free(m->queues);
	free(m->heap);
	free(m->spare);
	free(m);
}

bool
cpu_merge_add(struct cpu_merge *m, uint32_t queue, uint64_t time_ns, const void *record, size_t len)
{
	struct merge_queue *q = &m->queues[queue];
	size_t words = (len + WORD - 1) / WORD, at;

	assert(queue < m->nqueues);
	if (!array_reserve(q->words, q->words_cap, q->nwords + words) ||
	    !array_reserve(q->list, q->cap, q->n + 1))
		return false;
	memcpy(q->words + q->nwords, record, len);
	for (at = q->n; at > q->first && q->list[at - 1].time_ns > time_ns; at--)
		q->list[at] = q->list[at - 1];
	q->list[at] = (struct waiting){ time_ns, q->nwords, len };
	q->n++;
	q->nwords += words;
	m->nbytes += len;
	return true;
}

static bool
is_before(const struct cpu_merge *m, uint32_t a, uint32_t b)
{
	const struct merge_queue *x = &m->queues[a], *y = &m->queues[b];
	uint64_t x_ns = x->list[x->first].time_ns, y_ns = y->list[y->first].time_ns;

	return x_ns != y_ns ? x_ns < y_ns : a < b;
}

/* The queue at heap[at] may be later than those below it. */
static void
sink(struct cpu_merge *m, uint32_t at)
{
	for (;;) {
		uint32_t least = at;

		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < m->nheap; child++)
			if (is_before(m, m->heap[child], m->heap[least]))
				least = child;
		if (least == at)
			return;
		uint32_t held = m->heap[at];

		m->heap[at] = m->heap[least];
		m->heap[least] = held;
		at = least;
	}
}

/* Moves what is kept to the begin. Without memory it stays where it is. */
static void
compact(struct cpu_merge *m, struct merge_queue *q)
{
	size_t nwords = 0;

	for (size_t i = q->first; i < q->n; i++)
		nwords += (q->list[i].len + WORD - 1) / WORD;
	if (q->first == 0 || !array_reserve(m->spare, m->spare_cap, nwords + 1))
		return;
	nwords = 0;
	for (size_t i = q->first; i < q->n; i++) {
		size_t words = (q->list[i].len + WORD - 1) / WORD;

		memcpy(m->spare + nwords, q->words + q->list[i].at, words * WORD);
		q->list[i - q->first] = (struct waiting){ q->list[i].time_ns, nwords,
			q->list[i].len };
		nwords += words;
	}
	uint64_t *words = q->words;
	size_t cap = q->words_cap;

	q->words = m->spare;
	q->words_cap = m->spare_cap;
	m->spare = words;
	m->spare_cap = cap;
	q->nwords = nwords;
	q->n -= q->first;
	q->first = 0;
}

void
cpu_merge_take(struct cpu_merge *m, uint64_t until_ns, cpu_merge_taken *take, void *of)
{
	m->nheap = 0;
	for (uint32_t i = 0; i < m->nqueues; i++)
		if (m->queues[i].first < m->queues[i].n)
			m->heap[m->nheap++] = i;
	for (uint32_t i = m->nheap / 2; i-- > 0;)
		sink(m, i);
	while (m->nheap > 0) {
		uint32_t queue = m->heap[0];
		struct merge_queue *q = &m->queues[queue];
		const struct waiting *w = &q->list[q->first];

		if (w->time_ns > until_ns)
			break;
		m->nbytes -= w->len;
		take(of, queue, q->words + w->at, w->len);
		if (++q->first == q->n)
			m->heap[0] = m->heap[--m->nheap];
		sink(m, 0);
	}
	for (uint32_t i = 0; i < m->nqueues; i++)
		compact(m, &m->queues[i]);
}

size_t
cpu_merge_bytes(const struct cpu_merge *m)
{
	return m->nbytes;
}
