/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/record_numbers.h"

#include <stdlib.h>

struct queue {
	uint64_t settled,
	    settled_ns; /* all up to this number have come, or are told to be missing; when that one was written */
	uint64_t due, due_ns;   /* the highest of the turn before */
	uint64_t high, high_ns; /* the highest of all */
	uint64_t ncame, nnew;   /* of those up to `due`, and above it */
};

struct record_numbers {
	uint32_t nqueues;
	struct queue queues[];
};

struct record_numbers *
record_numbers_new(uint32_t queues, uint64_t now_ns)
{
	struct record_numbers *n = queues > 0 ? calloc(1, sizeof *n + queues * sizeof *n->queues)
	                                      : NULL;

	if (n == NULL)
		return NULL;
	n->nqueues = queues;
	for (uint32_t i = 0; i < queues; i++)
		n->queues[i].settled_ns = n->queues[i].due_ns = n->queues[i].high_ns = now_ns;
	return n;
}

void
record_numbers_free(struct record_numbers *n)
{
	free(n);
}

void
record_numbers_take(struct record_numbers *n, uint32_t queue, uint64_t number, uint64_t time_ns)
{
	struct queue *q = queue < n->nqueues ? &n->queues[queue] : NULL;

	if (q == NULL || number <= q->settled)
		return; /* too late: it was told to be missing */
	if (number <= q->due)
		q->ncame++;
	else
		q->nnew++;
	if (number > q->high) {
		q->high = number;
		q->high_ns = time_ns;
	}
}

uint64_t
record_numbers_turn(struct record_numbers *n, uint64_t *from_ns, uint64_t *to_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n->nqueues; i++) {
		struct queue *q = &n->queues[i];
		uint64_t missing = q->due - q->settled - q->ncame;

		if (missing > 0) {
			*from_ns = sum == 0 || q->settled_ns < *from_ns ? q->settled_ns : *from_ns;
			*to_ns = sum == 0 || q->due_ns > *to_ns ? q->due_ns : *to_ns;
			sum += missing;
		}
		*q = (struct queue){ .settled = q->due,
			.settled_ns = q->due_ns,
			.due = q->high,
			.due_ns = q->high_ns,
			.high = q->high,
			.high_ns = q->high_ns,
			.ncame = q->nnew };
	}
	return sum;
}
