/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Log levels of spans, which have none of their own: by patterns of their scopes and names. A pattern is "SCOPE" or "SCOPE:NAME", where "*"
 * stands for any text; several have commas between. The most severe level with a pattern that matches counts, and what none matches has
 * LOGLEVEL_USUAL, as a tracepoint whose author gave it no level. Pure.
 */
#ifndef OTEL_CONTROL_SPAN_LEVELS_H
#define OTEL_CONTROL_SPAN_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "wire/agent_messages.h"
#include "wire/loglevel.h"

enum { SPAN_LEVEL_LISTS = 4, SPAN_LEVEL_PATTERNS_MAX = 256, SPAN_LEVEL_PATTERN_MAX = 255 };

struct span_level_list {
	uint8_t level;
	const char *patterns; /* borrowed */
};

struct span_levels { /* all zeroes: every span has LOGLEVEL_USUAL */
	struct span_level_list lists[SPAN_LEVEL_LISTS]; /* the most severe first */
	uint32_t n;
};

/* Whether these are at most SPAN_LEVEL_PATTERNS_MAX patterns of at most SPAN_LEVEL_PATTERN_MAX bytes. O(len). */
bool span_levels_fit(const char *patterns);

/* Of a tracepoint that is one end of a span, "SCOPE:NAME_begin". LOGLEVEL_NONE: it is an event of spans, which is always on. O(patterns). */
uint8_t span_levels_of(const struct span_levels *s, const char *tracepoint);

/* Sets the levels of all names, in the arena. False: out of memory. O(names x patterns). */
bool span_levels_fill(const struct span_levels *s, struct programs *p, struct arena *a);

#endif
