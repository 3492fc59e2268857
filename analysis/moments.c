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

/* Chan, Golub & LeVeque 1979. Parts are counted separately and merged later, in any order, so
 * merging must equal one run over all values. Sums of x and x * x would do as well in theory,
 * but at 1e9 ns the squares lose the digits that hold the variance. */
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

/* ---- third and fourth moments ---- */

/*
 * Moves the central sums of powers when the mean moves: each of the n values is then `by`
 * further from the mean. The sum of first powers is 0 and left out. Two parts are merged by
 * moving both to the common mean and adding; a single value is a part whose sums are 0 before
 * it is moved. (Pebay 2008, section 2.)
 */
static inline void
move(struct moments_high *h, double n, double m2, double by)
{
	h->m4 += by * (4 * h->m3 + by * (6 * m2 + n * by * by));
	h->m3 += by * (3 * m2 + n * by * by);
}

/* The same for the mixed sums of x and y. The highest comes first: each uses lower sums before
 * they are moved. y2, y3: m2 and m3 of y. */
static inline void
move_pair(struct comoments *m, double n, double by_x, double by_y, double y2, double y3)
{
	double xy = n * by_x * by_y;

	m->c_xyyy += by_x * (y3 + 3 * by_y * y2) +
	             by_y * (3 * m->c_xyy + by_y * (3 * m->c_xy + xy));
	m->c_xxyy += 2 * (by_y * m->c_xxy + by_x * m->c_xyy) + by_y * by_y * m->m2_x +
	             by_x * by_x * y2 + by_x * by_y * (4 * m->c_xy + xy);
	m->c_xyy += by_x * y2 + by_y * (2 * m->c_xy + xy);
	m->c_xxy += by_y * m->m2_x + by_x * (2 * m->c_xy + xy);
}

void
moments_high_add(struct moments_high *h, const struct moments *m, double x)
{
	double by = (x - m->mean) / ((double)m->n + 1), off = x - m->mean - by;

	move(h, (double)m->n, m->m2, -by);
	h->m3 += off * off * off;
	h->m4 += off * off * off * off;
}

void
moments_high_merge(struct moments_high *into, const struct moments *m,
    const struct moments_high *from, const struct moments *from_m)
{
	double n = (double)m->n + (double)from_m->n, apart = from_m->mean - m->mean;
	struct moments_high moved = *from;

	if (from_m->n == 0)
		return;
	move(into, (double)m->n, m->m2, -apart * (double)from_m->n / n);
	move(&moved, (double)from_m->n, from_m->m2, apart * (double)m->n / n);
	into->m3 += moved.m3;
	into->m4 += moved.m4;
}

void
comoments_add_high(struct comoments *m, const double *x, uint32_t count, double y,
    const struct moments *y_m, const struct moments_high *y_h)
{
	double n = (double)y_m->n, each = 1 / (n + 1), apart_y = y - y_m->mean;
	double by_y = apart_y * each, off_y = apart_y - by_y;

	for (uint32_t i = 0; i < count; i++, m++) {
		double apart_x = x[i] - m->mean_x, by_x = apart_x * each, off_x = apart_x - by_x,
		       off = off_x * off_y;

		move_pair(m, n, -by_x, -by_y, y_m->m2, y_h->m3);
		m->c_xyyy += off * off_y * off_y;
		m->c_xxyy += off * off;
		m->c_xyy += off * off_y;
		m->c_xxy += off * off_x;
		m->n++;
		m->mean_x += by_x;
		m->mean_y += by_y;
		m->m2_x += apart_x * (x[i] - m->mean_x);
		m->c_xy += apart_x * (y - m->mean_y);
	}
}

void
comoments_merge_high(struct comoments *into, const struct moments *y_m,
    const struct moments_high *y_h, const struct comoments *from, const struct moments *from_y_m,
    const struct moments_high *from_y_h)
{
	double n = (double)into->n + (double)from->n;
	double apart_x = from->mean_x - into->mean_x, apart_y = from->mean_y - into->mean_y;
	double part_into = (double)into->n / n, part_from = (double)from->n / n;
	struct comoments moved = *from;

	if (from->n == 0)
		return;
	move_pair(
	    into, (double)into->n, -apart_x * part_from, -apart_y * part_from, y_m->m2, y_h->m3);
	move_pair(&moved, (double)from->n, apart_x * part_into, apart_y * part_into, from_y_m->m2,
	    from_y_h->m3);
	into->c_xyyy += moved.c_xyyy;
	into->c_xxyy += moved.c_xxyy;
	into->c_xyy += moved.c_xyy;
	into->c_xxy += moved.c_xxy;
	comoments_merge(into, from);
}
