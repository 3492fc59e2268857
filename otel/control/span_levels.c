/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/control/span_levels.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "otel/spans/event_names.h"
#include "otel/spans/span_points.h"

#define BLANKS " \t"

/* The next pattern of the list, without blanks around it; NULL: there is none. */
static const char *
next_pattern(const char *at, const char **pattern, size_t *len)
{
	at += strspn(at, "," BLANKS);
	if (*at == '\0')
		return NULL;
	*pattern = at;
	*len = strcspn(at, ",");
	at += *len;
	while (strchr(BLANKS, (*pattern)[*len - 1]) != NULL)
		--*len;
	return at;
}

bool
span_levels_fit(const char *patterns)
{
	const char *pattern;
	uint32_t n = 0;
	size_t len;

	while ((patterns = next_pattern(patterns, &pattern, &len)) != NULL)
		if (len > SPAN_LEVEL_PATTERN_MAX || ++n > SPAN_LEVEL_PATTERNS_MAX)
			return false;
	return true;
}

/* scope: the same name up to its colon. */
static bool
is_listed(const char *patterns, const char *name, const char *scope)
{
	char text[SPAN_LEVEL_PATTERN_MAX + 1];
	const char *pattern;
	size_t len;

	while ((patterns = next_pattern(patterns, &pattern, &len)) != NULL) {
		if (len > SPAN_LEVEL_PATTERN_MAX)
			continue;
		memcpy(text, pattern, len);
		text[len] = '\0';
		if (glob_matches(text, strchr(text, ':') != NULL ? name : scope))
			return true;
	}
	return false;
}

/* Cuts the ending of one end of a span. */
static void
cut_end(char *name)
{
	static const char *const ends[] = { POINT_BEGIN, POINT_END };
	size_t len = strlen(name);

	for (int i = 0; i < 2; i++) {
		size_t end = strlen(ends[i]);

		if (len > end && strcmp(name + len - end, ends[i]) == 0) {
			name[len - end] = '\0';
			return;
		}
	}
}

uint8_t
span_levels_of(const struct span_levels *s, const char *tracepoint)
{
	char name[TOGGLE_NAME_MAX + 1], scope[TOGGLE_NAME_MAX + 1];

	if (strncmp(tracepoint, EVENT_PROVIDER, strlen(EVENT_PROVIDER)) == 0)
		return LOGLEVEL_NONE;
	snprintf(name, sizeof name, "%s", tracepoint);
	cut_end(name);
	snprintf(scope, sizeof scope, "%.*s", (int)strcspn(name, ":"), name);
	for (uint32_t i = 0; i < s->n; i++)
		if (is_listed(s->lists[i].patterns, name, scope))
			return s->lists[i].level;
	return LOGLEVEL_USUAL;
}

bool
span_levels_fill(const struct span_levels *s, struct programs *p, struct arena *a)
{
	uint8_t *levels = arena_alloc(a, (size_t)p->nnames + 1);

	for (uint32_t i = 0; i < p->nnames && levels != NULL; i++)
		levels[i] = span_levels_of(s, p->names[i]);
	p->levels = levels;
	return levels != NULL;
}
