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

/* "off" is a rule of its own only where another one would hold instead: for some of its services, or for others. */
static bool
matters(const struct level_rules *before, const char *pattern, uint8_t level)
{
	if (level != LOGLEVEL_NONE)
		return true;
	for (uint32_t i = 0; i < before->n; i++)
		if (before->items[i].level != LOGLEVEL_NONE &&
		    (glob_matches(before->items[i].pattern, pattern) ||
			strchr(pattern, '*') != NULL))
			return true;
	return false;
}

int
level_rules_set(struct level_rules *r, const char *pattern, uint8_t level, struct err *e)
{
	struct level_rules kept = { 0 };
	struct level_rule *last;
	int rc;

	assert(loglevel_fits(level));
	if ((rc = check_pattern(pattern, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < r->n; i++)
		if (!glob_matches(pattern, r->items[i].pattern) &&
		    matters(&kept, r->items[i].pattern, r->items[i].level))
			kept.items[kept.n++] = r->items[i];
	if (matters(&kept, pattern, level)) {
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

const struct level_rule *
level_rules_find(const struct level_rules *r, const char *service)
{
	for (uint32_t i = r->n; i > 0; i--)
		if (glob_matches(r->items[i - 1].pattern, service))
			return &r->items[i - 1];
	return NULL;
}

uint8_t
level_rules_of(const struct level_rules *r, const char *service)
{
	const struct level_rule *rule = level_rules_find(r, service);

	return rule != NULL ? rule->level : LOGLEVEL_NONE;
}
