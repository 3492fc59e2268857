/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which services have tracepoints that are on by their log level, and up to which level. The last rule whose pattern matches holds. Pure. */
#ifndef CONTROLPLANE_ENGINE_LEVEL_RULES_H
#define CONTROLPLANE_ENGINE_LEVEL_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/loglevel.h"

enum { LEVEL_RULES_MAX = 64, LEVEL_PATTERN_MAX = 127 };

struct level_rule {
	char pattern[LEVEL_PATTERN_MAX + 1]; /* of services; "*" is any text */
	uint8_t level;                       /* LOGLEVEL_NONE: none of its tracepoints */
};

struct level_rules { /* all zeroes: none */
	struct level_rule items[LEVEL_RULES_MAX];
	uint32_t n;
};

/* Sets the level of all services that the pattern matches: rules whose patterns it matches go. ERR_INPUT: the pattern is empty, too long,
 * or has control characters; ERR_FULL: LEVEL_RULES_MAX others; *r stays. O(rules). */
int level_rules_set(struct level_rules *r, const char *pattern, uint8_t level, struct err *e);

/* The rule that holds for the service; NULL: none. Valid until they change. O(rules). */
const struct level_rule *level_rules_find(const struct level_rules *r, const char *service);
/* LOGLEVEL_NONE: none of its tracepoints is on by its level. O(rules). */
uint8_t level_rules_of(const struct level_rules *r, const char *service);

/* Whether a tracepoint of this level is on where `upto` is set. */
static inline bool
level_covers(uint8_t upto, uint8_t level)
{
	return upto < LOGLEVELS && level <= upto;
}

#endif
