/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The response times of a window, in memory that does not grow with the traffic. Pure.
 *
 * Requests that begin after each other wait alike: how long depends on the load, and on chance. What a request took beyond the mean of
 * the one that began before it and the one that began after it, its excess, is therefore nearly the same at any load; a request that
 * is slow by itself has the whole delay in its excess (Rice, "Bandwidth choice for nonparametric regression", Annals of Statistics
 * 12(4), 1984, and Gasser, Sroka and Jennen-Steinmetz, "Residual variance and residual pattern in nonlinear regression", Biometrika
 * 73(3), 1986, estimate noise from such differences).
 */
#ifndef CONTROLPLANE_ALERTS_WINDOW_TIMES_H
#define CONTROLPLANE_ALERTS_WINDOW_TIMES_H

#include <stdint.h>

#include "base/err.h"

enum { WINDOW_TIMES_MAX = 4096 }; /* 64 KiB */

struct window_times { /* all zeroes is empty */
	struct window_time {
		int64_t begin_ns, took_ns;
	} * items;
	uint32_t n, cap;
	uint32_t
	    shift; /* each (2^shift)-th request is in items: with WINDOW_TIMES_MAX of them, each second one is dropped */
	uint64_t requests;
	double sum_ns; /* of all requests */
};

/* A request. begin_ns: by any clock that all have in common; they may come in any order. O(1), amortised. ERR_MEMORY: it is not added. */
int window_times_add(struct window_times *t, int64_t begin_ns, int64_t took_ns, struct err *e);
/* Empties it, and keeps its memory. */
void window_times_clear(struct window_times *t);
void window_times_release(struct window_times *t);

/* Sorts the items by their begins, and sets times_ns[n], ascending, and *excess_ns: n - 2 values, ascending, 0 with n < 3. times_ns and
 * excess_ns: room for n each. O(n log n). */
void window_times_sorted(struct window_times *t, double *times_ns, double *excess_ns);

#endif
