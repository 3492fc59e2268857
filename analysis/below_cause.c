/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/below_cause.h"

#include <stdlib.h>

static bool
is_work(unsigned state)
{
	return state != BELOW_READY && state != BELOW_UNKNOWN;
}

static double
work_of(const struct part_row *row)
{
	double sum = 0;

	for (unsigned s = 0; s < BELOW_STATES; s++)
		sum += is_work(s) ? row->parts_ns[s] : 0;
	return sum;
}

static int
slowest_first(const void *x, const void *y)
{
	const struct part_row *a = *(const struct part_row *const *)x,
			      *b = *(const struct part_row *const *)y;

	return a->total_ns != b->total_ns ? (a->total_ns > b->total_ns ? -1 : 1)
	                                  : (a > b) - (a < b);
}

static double
mean_work(const struct part_row *const *rows, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += work_of(rows[i]);
	return n > 0 ? sum / n : 0;
}

int
below_cause_rate(
    double *ret, const struct part_row *rows, uint32_t n, struct arena *a, struct err *e)
{
	const struct part_row **order = arena_calloc(a, (size_t)n + 1, sizeof *order);
	uint32_t slow = (uint32_t)(BELOW_CAUSE_SLOW * n);
	double ready = 0, work = 0, covariance = 0, variance = 0;

	*ret = 0;
	if (order == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the states of %u requests", n);
	/* 1 */
	if (n < BELOW_CAUSE_REQUESTS_MIN)
		return 0;
	/* 2 */
	for (uint32_t i = 0; i < n; i++)
		order[i] = &rows[i];
	qsort(order, n, sizeof *order, slowest_first);
	if (mean_work(order, slow) < BELOW_CAUSE_MORE * mean_work(order + slow, n - slow))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		ready += rows[i].parts_ns[BELOW_READY] / n;
		work += work_of(&rows[i]) / n;
	}
	for (uint32_t i = 0; i < n; i++) {
		double apart = work_of(&rows[i]) - work;

		covariance += apart * (rows[i].parts_ns[BELOW_READY] - ready);
		variance += apart * apart;
	}
	/* 3 and 4 */
	*ret = covariance > 0 && variance > 0 ? covariance / variance : 0;
	return 0;
}

struct part_row *
below_cause_rows(const struct part_row *rows, uint32_t n, double rate, struct arena *a)
{
	struct part_row *ret = arena_calloc(a, (size_t)n + 1, sizeof *ret);
	double *x = arena_calloc(a, ((size_t)n + 1) * BELOW_STATES, sizeof *x);

	for (uint32_t i = 0; i < n && ret != NULL && x != NULL; i++, x += BELOW_STATES) {
		for (unsigned s = 0; s < BELOW_STATES; s++)
			x[s] = rows[i].parts_ns[s] * (is_work(s) ? 1 + rate : 1);
		x[BELOW_READY] -= rate * work_of(&rows[i]);
		ret[i] = (struct part_row){ rows[i].total_ns, x };
	}
	return x != NULL ? ret : NULL;
}
