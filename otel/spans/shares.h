/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which share of traces points were on, by time. Programs follow a new share one after the other, and a trace is looked at when it is
 * over: it has all of its points only if its draw is under the least share of its time. Pure.
 */
#ifndef OTEL_SPANS_SHARES_H
#define OTEL_SPANS_SHARES_H

#include <stdint.h>

enum { SHARES_KEPT = 128 };

struct shares {     /* all zeroes: nothing is known yet, the share is 0 */
	uint32_t n; /* added so far; item i is at i % SHARES_KEPT */
	struct {
		int64_t from_ns;
		double share;
	} items[SHARES_KEPT];
};

/* From from_ns on, which does not decrease. An equal share changes nothing; past SHARES_KEPT changes the oldest one is forgotten. */
void shares_add(struct shares *s, double share, int64_t from_ns);

/* The least share from begin_ns to end_ns; 0: some of that time is not known. O(SHARES_KEPT). */
double shares_least(const struct shares *s, int64_t begin_ns, int64_t end_ns);

#endif
