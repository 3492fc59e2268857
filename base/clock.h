/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Monotonic and calendar time, two types that cannot be mixed. Only doors and programs read the clocks. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct mono { /* CLOCK_MONOTONIC of this machine */
	int64_t ns;
};

struct wall { /* since 1970-01-01 00:00 UTC */
	int64_t ns;
};

struct mono clock_mono(void);
struct wall clock_wall(void);

/* Writes "2026-11-21T04:18:26.123Z". */
void wall_print(struct wall w, char out[25]);

static inline int64_t
mono_since_ns(struct mono later, struct mono earlier)
{
	return later.ns - earlier.ns;
}

#endif
