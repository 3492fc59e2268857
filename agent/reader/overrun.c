/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/overrun.h"

#include <stdlib.h>

#define STEP_MAX_NS INT64_C(2000000000)

/* By user; of one user, who wrote the most is first. */
static int
order(const void *a, const void *b)
{
	const struct writer *x = a, *y = b;

	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	return x->records == y->records ? 0 : x->records > y->records ? -1 : 1;
}

/* The first and the number of those of the user who wrote the most; returns how much that is. */
static uint64_t
most_of(const struct writer *list, uint32_t n, uint32_t *first, uint32_t *count)
{
	uint64_t most = 0, sum;

	*first = *count = 0;
	for (uint32_t i = 0, k; i < n; i = k) {
		sum = 0;
		for (k = i; k < n && list[k].user == list[i].user; k++)
			sum += list[k].records;
		if (sum > most) {
			most = sum;
			*first = i;
			*count = k - i;
		}
	}
	return most;
}

uint32_t
overrun_decide(struct overrun *o, bool told, struct writer *list, uint32_t n, int64_t now_ns)
{
	int64_t since_ns = o->looked_ns > 0 ? now_ns - o->looked_ns : 0;
	int64_t step_ns = since_ns < STEP_MAX_NS ? since_ns : STEP_MAX_NS;
	double least = OVERRUN_RECORDS * (double)since_ns / 1e9;
	uint32_t first, count, ended = 0;
	uint64_t wrote;

	o->looked_ns = now_ns;
	o->told_ns += told ? step_ns : -since_ns;
	if (o->told_ns < 0)
		o->told_ns = 0;
	if (!told || o->told_ns < OVERRUN_NS || since_ns <= 0) /* 1 */
		return 0;
	qsort(list, n, sizeof *list, order);
	wrote = most_of(list, n, &first, &count);                                    /* 2 */
	for (uint32_t i = first; i < first + count && (double)wrote >= least; i++) { /* 3 */
		list[i].ended = true;
		wrote -= list[i].records;
		ended++;
	}
	if (ended > 0)
		o->told_ns = 0; /* the controller has to look again */
	return ended;
}
