/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/level_rules.h"

#include <assert.h>
#include <string.h>

#include "base/glob.h"

static int
check_pattern(const char *pattern, struct err *e)
{
	size_t len = strlen(pattern);

	if (len == 0 || len > LEVEL_PATTERN_MAX)
		return err_set(e, ERR_INPUT,
		    "a pattern of services has 1 to %d bytes, and this one has %zu",
		    LEVEL_PATTERN_MAX, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)pattern[i] < ' ' || pattern[i] == 0x7f)
			return err_set(
			    e, ERR_INPUT, "a pattern of services has no control characters");
	return 0;
}

int
level_rules_set(struct level_rules *r, const char *pattern, uint8_t level, struct err *e)
{
	struct level_rules kept = { 0 };
	struct level_rule *last = &kept.items[0];
	bool matters = level != LOGLEVEL_NONE;
	int rc;

	assert(loglevel_fits(level));
	if ((rc = check_pattern(pattern, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < r->n; i++)
		if (!glob_matches(pattern, r->items[i].pattern))
			kept.items[kept.n++] = r->items[i];
	/* "off" is a rule of its own only where another one would hold instead: for some of its services, or for others. */
	for (uint32_t i = 0; i < kept.n; i++)
		matters |= kept.items[i].level != LOGLEVEL_NONE &&
		           (glob_matches(kept.items[i].pattern, pattern) ||
			       strchr(pattern, '*') != NULL);
	if (matters) {
		if (kept.n == LEVEL_RULES_MAX)
			return err_set(e, ERR_FULL,
			    "%d rules of levels are the most; one for \"*\" replaces them all",
			    LEVEL_RULES_MAX);
		last = &kept.items[kept.n++];
		strcpy(last->pattern, pattern);
		last->level = level;
	}
	*r = kept;
	return 0;
}

uint8_t
level_rules_of(const struct level_rules *r, const char *service)
{
	for (uint32_t i = r->n; i > 0; i--)
		if (glob_matches(r->items[i - 1].pattern, service))
			return r->items[i - 1].level;
	return LOGLEVEL_NONE;
}
