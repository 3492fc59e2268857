/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "analysis/moments.h"

void
moments_add(struct moments *m, double x)
{
	double apart = x - m->mean;

	m->n++;
	m->mean += apart / (double)m->n;
	m->m2 += apart * (x - m->mean);
}

/*
 * Parts are counted apart and added up later, in any order; so merging must give
 * what one run over everything would. Sums of x and x*x would too, but at 1e9 ns
 * the squares swallow the digits that a variance lives in.
 */
void
moments_merge(struct moments *into, const struct moments *from)
{
	double apart = from->mean - into->mean;
	double n = (double)into->n + (double)from->n;

	if (from->n == 0)
		return;
	into->m2 += from->m2 + apart * apart * (double)into->n * (double)from->n / n;
	into->mean += apart * (double)from->n / n;
	into->n += from->n;
}

double
moments_variance(const struct moments *m)
{
	return m->n > 0 ? m->m2 / (double)m->n : 0;
}

double
moments_cv(const struct moments *m)
{
	return m->mean != 0 ? sqrt(moments_variance(m)) / m->mean : 0;
}

void
comoments_add(struct comoments *m, double x, double y)
{
	double apart_x = x - m->mean_x, apart_y = y - m->mean_y;
	double each = 1 / (double)++m->n;

	m->mean_x += apart_x * each;
	m->mean_y += apart_y * each;
	m->m2_x += apart_x * (x - m->mean_x);
	m->c_xy += apart_x * (y - m->mean_y);
}

void
comoments_merge(struct comoments *into, const struct comoments *from)
{
	double apart_x = from->mean_x - into->mean_x, apart_y = from->mean_y - into->mean_y;
	double n = (double)into->n + (double)from->n, both;

	if (from->n == 0)
		return;
	both = (double)into->n * (double)from->n / n;
	into->m2_x += from->m2_x + apart_x * apart_x * both;
	into->c_xy += from->c_xy + apart_x * apart_y * both;
	into->mean_x += apart_x * (double)from->n / n;
	into->mean_y += apart_y * (double)from->n / n;
	into->n += from->n;
}

double
comoments_covariance(const struct comoments *m)
{
	return m->n > 0 ? m->c_xy / (double)m->n : 0;
}
