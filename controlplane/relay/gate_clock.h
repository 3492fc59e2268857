/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the times of day of gates agree. A message with a time comes later than that by the way that it takes, which is never negative and, at
 * its least, some ms: so the least lateness of many is how far the reader's clock is ahead of the writer's, and some ms more. The leasts of two gates
 * differ by what their clocks differ, and by what their ways do.
 */
#ifndef CONTROLPLANE_RELAY_GATE_CLOCK_H
#define CONTROLPLANE_RELAY_GATE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { GATE_CLOCK_SAMPLES = 32 };
#define GATE_CLOCK_WAY_NS INT64_C(250000000) /* by which the ways of two gates may differ */

struct gate_clock { /* all zeroes: nothing has come */
	int64_t least_ns,
	    before_ns; /* of the present samples, and of the GATE_CLOCK_SAMPLES before */
	uint32_t n;
	bool known; /* before_ns is there */
};

/* late_ns: when a message came, minus its time. */
void gate_clock_sample(struct gate_clock *g, int64_t late_ns);
/* The least of the last 32 to 64. False: there are fewer. */
bool gate_clock_least(const struct gate_clock *g, int64_t *ret);
/* Whether two gates whose leasts these are have clocks that differ by more than skew_ns, whatever their ways are, up to GATE_CLOCK_WAY_NS. */
bool gate_clocks_differ(int64_t a_ns, int64_t b_ns, int64_t skew_ns);

#endif
