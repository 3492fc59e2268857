/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether an alert starts a diagnosis by itself. Pure. */
#ifndef CONTROLPLANE_ALERTS_SELF_START_H
#define CONTROLPLANE_ALERTS_SELF_START_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum { SELF_STARTS_MAX = 1000 };

struct self_start_limits {
	int64_t
	    per_day; /* diagnoses of all types in 24 h, at most SELF_STARTS_MAX; 0: none is started */
	int64_t cool_down_ns; /* between two of one type */
};

struct self_starts { /* those of the last 24 h; all zeroes is empty */
	struct {
		struct wall when;
		uint32_t label; /* of the request type */
	} items[SELF_STARTS_MAX];
	uint32_t n;
};

enum self_start {
	SELF_START_UNDECIDED,
	SELF_START,
	SELF_START_OFF,       /* per_day is 0 */
	SELF_START_BUSY,      /* a diagnosis or learning is active */
	SELF_START_COOL_DOWN, /* one of this type was started cool_down_ns ago or later */
	SELF_START_DAY_FULL,  /* per_day were started in the last 24 h */
	SELF_START_FAILED,    /* it could not be started; the caller says so */
	SELF_START_ANSWERS
};
const char *self_start_word(enum self_start a); /* "undecided", "started", "off", ...; "?" */

/* OFF, BUSY, COOL_DOWN, DAY_FULL: the first that holds; else START. Forgets starts over 24 h ago. O(starts of a day). */
enum self_start self_start_may(struct self_starts *s, const struct self_start_limits *limits,
    uint32_t label, bool busy, struct wall now);
/* Notes a start that self_start_may() allowed. */
void self_start_note(struct self_starts *s, uint32_t label, struct wall now);

#endif
