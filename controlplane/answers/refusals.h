/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agents that were not let in lately, for who wonders where one is. The last few, told apart by
 * their words. */
#ifndef CONTROLPLANE_ANSWERS_REFUSALS_H
#define CONTROLPLANE_ANSWERS_REFUSALS_H

#include <stdint.h>

#include "base/clock.h"

enum { REFUSALS_MAX = 8 };

struct refusal {
	struct wall at; /* the last time */
	uint64_t times;
	char words[400];
};

struct refusals { /* all zeroes: none; the first n, in no order */
	struct refusal all[REFUSALS_MAX];
	uint32_t n;
};

/* One of other words goes in place of the one that was longest ago. O(REFUSALS_MAX). */
void refusals_add(struct refusals *r, const char *words, uint64_t times, struct wall at);

#endif
