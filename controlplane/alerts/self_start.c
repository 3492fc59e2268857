/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/self_start.h"

#include <assert.h>

#define DAY_NS INT64_C(86400000000000)

const char *
self_start_word(enum self_start a)
{
	static const char *const words[SELF_START_ANSWERS] = { "undecided", "started", "off",
		"busy", "cool-down", "day-full", "failed" };

	return (unsigned)a < SELF_START_ANSWERS ? words[a] : "?";
}

static void
forget(struct self_starts *s, struct wall now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (now.ns - s->items[i].when.ns < DAY_NS)
			s->items[kept++] = s->items[i];
	s->n = kept;
}

enum self_start
self_start_may(struct self_starts *s, const struct self_start_limits *limits, uint32_t label,
    bool busy, struct wall now)
{
	forget(s, now);
	if (limits->per_day == 0)
		return SELF_START_OFF;
	if (busy)
		return SELF_START_BUSY;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->items[i].label == label &&
		    now.ns - s->items[i].when.ns < limits->cool_down_ns)
			return SELF_START_COOL_DOWN;
	return s->n >= limits->per_day || s->n == SELF_STARTS_MAX ? SELF_START_DAY_FULL
	                                                          : SELF_START;
}

void
self_start_note(struct self_starts *s, uint32_t label, struct wall now)
{
	assert(s->n < SELF_STARTS_MAX);
	s->items[s->n].when = now;
	s->items[s->n++].label = label;
}
