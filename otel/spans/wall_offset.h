/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the wall clock, by which spans are stamped, to this node's CLOCK_MONOTONIC, by which records are. Both advance at
 * the same rate, except that the wall clock is set at times. The offset of the two is looked at again and again: it
 * follows a wall clock that is slewed (at most 500 ppm, so a time that is 10 s old is wrong by 5 ms at most), and a jump
 * of more than WALL_STEP_NS is a step: what was stamped before it may be converted wrongly. Pure.
 */
#ifndef OTEL_SPANS_WALL_OFFSET_H
#define OTEL_SPANS_WALL_OFFSET_H

#include <stdbool.h>

#include "base/clock.h"

#define WALL_STEP_NS INT64_C(20000000)

struct wall_offset { /* all zeroes: nothing is known yet */
	bool known;
	int64_t offset_ns; /* monotonic - wall */
	uint64_t steps;
};

/* Takes both clocks, read at one moment: mono before, wall, mono after; the middle of the first and the last counts. A
 * reading that took over WALL_STEP_NS is ignored, unless it is the first. True: the wall clock was set since the last
 * time. */
bool wall_offset_look(
    struct wall_offset *o, struct mono before, struct wall wall, struct mono after);

/* The monotonic time, clamped to half of what int64_t holds, so that differences fit. */
int64_t wall_offset_mono_ns(const struct wall_offset *o, int64_t wall_ns);

#endif
