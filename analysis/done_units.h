/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Units by the time at which they were done, to find the one whose result a join received. Units
 * are removed one by one, never added. So a position that was removed leads to its nearest
 * neighbours that are left, and the ways there become shorter as they are used (union-find with path
 * halving; Tarjan and van Leeuwen, 1984).
 */
#ifndef ANALYSIS_DONE_UNITS_H
#define ANALYSIS_DONE_UNITS_H

#include <stdint.h>

#define DONE_UNITS_NONE UINT32_MAX

struct done_unit {
	int64_t time_ns;
	uint32_t unit;
	uint32_t before, after; /* positions plus 1; of one that is left: its own */
};

/* Brings units into the order of (time_ns, unit), all of them left; sets before and after.
 * O(n log n). */
void done_units_sort(struct done_unit *units, uint32_t n);

/* The position of the last unit that was done by that time; if there is none, that of the last of
 * those that were done first after it. DONE_UNITS_NONE: no unit is left. O(log n) amortised. */
uint32_t done_units_find(struct done_unit *units, uint32_t n, int64_t time_ns);

void done_units_remove(struct done_unit *units, uint32_t at); /* not removed before. O(1) */

#endif
