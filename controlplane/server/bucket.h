/* SPDX-License-Identifier: GPL-3.0-or-later */
/* So much a second, and so much at once: a bucket that fills with time and is emptied by what comes
 * (token bucket, as of J. Turner, "New directions in communications", 1986). Pure; all zeroes is
 * one that holds nothing up. */
#ifndef CONTROLPLANE_SERVER_BUCKET_H
#define CONTROLPLANE_SERVER_BUCKET_H

#include "base/clock.h"

struct bucket {
	double per_s, most; /* 0, 0: no bound. most: at once, after a rest */
	double left;
	struct mono at;
};

void bucket_init(struct bucket *p, double per_s, double most, struct mono now); /* full */
/* Takes one where there is one: 0; else how long until there is, in ns, and takes none. O(1). */
int64_t bucket_wait_ns(struct bucket *p, struct mono now);

#endif
