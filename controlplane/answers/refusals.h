/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recent refusals of agents, for hone agents: the last few, distinguished by their text. */
#ifndef CONTROLPLANE_ANSWERS_REFUSALS_H
#define CONTROLPLANE_ANSWERS_REFUSALS_H

#include <stdint.h>

#include "base/clock.h"

enum { REFUSALS_MAX = 8 };

struct refusal {
	struct wall at; /* of the last one */
	uint64_t times;
	char words[400];
};

struct refusals { /* all zeroes: empty; the first n, unordered */
	struct refusal all[REFUSALS_MAX];
	uint32_t n;
};

/* Adds a refusal; a new text replaces the least recent one if the list is full. O(REFUSALS_MAX). */
void refusals_add(struct refusals *r, const char *words, uint64_t times, struct wall at);

#endif
