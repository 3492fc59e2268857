/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A token bucket (J. Turner, "New directions in communications", 1986): limits a rate, and what may
 * come at once. Pure; all zeroes limits nothing. */
#ifndef CONTROLPLANE_SERVER_BUCKET_H
#define CONTROLPLANE_SERVER_BUCKET_H

#include <stdbool.h>

#include "base/clock.h"

struct bucket {
	double per_s, most; /* 0, 0: no limit. most: tokens of a full bucket */
	double left;
	struct mono at;
};

void bucket_init(struct bucket *p, double per_s, double most, struct mono now); /* full */
/* Takes a token and returns 0; if there is none, the time until there is one, in ns. O(1). */
int64_t bucket_wait_ns(struct bucket *p, struct mono now);
/* Whether there is no token; takes none. O(1). */
bool bucket_empty(struct bucket *p, struct mono now);

#endif
