/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two passes over the events: 1. find the pairs; 2. find the span around each event. A begin
 * whose end never comes (its tracepoint is disabled, or the function returned elsewhere) must
 * not contain the rest of the unit, and that is known only after the first pass.
 */
#include "searchspace/span.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	END = 1,
	EXIT = 2,
	LEAVE = 4,
	ACQ = 8,
	ENDS = 4
}; /* kinds of ends, as a set; number of kinds */

static const struct {
	const char *ending;
	uint8_t opens, closes;
} endings[] = {
	{ "_begin", END, 0 },
	{ "_start", END, 0 },
	{ "_entry", EXIT, 0 },
	{ "_enter", EXIT | LEAVE, 0 },
	{ "_req", ACQ, 0 },
	{ "_end", 0, END },
	{ "_done", 0, END },
	{ "_exit", 0, EXIT },
	{ "_leave", 0, LEAVE },
	{ "_acq", 0, ACQ },
};

struct span_role {
	bool known;
	uint8_t opens, closes;
	uint32_t base;
};

/* Length of a label's text before such an ending; 0: it has none. */
static size_t
name_split(const struct label *l, uint8_t *opens, uint8_t *closes)
{
	size_t len = (size_t)(l->event - l->text) + l->event_len;

	for (size_t i = 0; i < sizeof endings / sizeof endings[0] && l->kind == RECORD_POINT; i++) {
		size_t ending = strlen(endings[i].ending);

		if (len <= ending || memcmp(l->text + len - ending, endings[i].ending, ending) != 0)
			continue;
		*opens = endings[i].opens;
		*closes = endings[i].closes;
		return len - ending;
	}
	return 0;
}

bool
spans_pair(const struct label *begin, const struct label *end)
{
	uint8_t opens = 0, closes = 0, none;
	size_t base;

	/* Most names have no such ending, which their last letter shows. */
	if (end->event_len == 0 || strchr("dteq", end->event[end->event_len - 1]) == NULL)
		return false;
	base = name_split(end, &none, &closes);
	return closes != 0 && name_split(begin, &opens, &none) == base && (opens & closes) != 0 &&
	       memcmp(begin->text, end->text, base) == 0;
}

static bool
role_find(struct spans *s, const struct label *l, struct span_role *ret)
{
	size_t base;

	*ret = (struct span_role){ .known = true };
	if ((base = name_split(l, &ret->opens, &ret->closes)) == 0)
		return true;
	ret->base = texts_intern(s->bases, l->text, base);
	return ret->base != UINT32_MAX;
}

/* Finds the roles of all labels of these events, and makes room for the counts of open spans. */
static bool
roles_ready(struct spans *s, const struct labels *labels, const struct event *events, uint32_t n)
{
	uint32_t all = labels_count(labels), open;

	if (s->bases == NULL && (s->bases = texts_new()) == NULL)
		return false;
	if (!array_reserve(s->roles, s->roles_cap, all))
		return false;
	for (; s->nroles < all; s->nroles++)
		s->roles[s->nroles] = (struct span_role){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		struct span_role *r = &s->roles[events[i].label];

		if (!r->known && !role_find(s, labels_get(labels, events[i].label), r))
			return false;
	}
	open = texts_count(s->bases) * ENDS;
	if (!array_reserve(s->open, s->open_cap, open))
		return false;
	for (; s->nopen < open; s->nopen++)
		s->open[s->nopen] = 0;
	return true;
}

/* Adds `by` to the counts of the ends that the label waits for: 1, or UINT32_MAX for -1. */
static void
count_open(struct spans *s, const struct span_role *r, uint32_t by)
{
	for (uint32_t kind = 0; kind < ENDS; kind++)
		if ((r->opens >> kind & 1) != 0)
			s->open[r->base * ENDS + kind] += by;
}

static bool
any_waits(const struct spans *s, const struct span_role *r)
{
	return s->open[r->base * ENDS + (uint32_t)__builtin_ctz(r->closes)] > 0;
}

/* Sets partner[i]: the event at the other end of the span, or TRACE_NONE. Begins that are
 * popped before their end have lost it. */
static void
match(struct spans *s, const struct event *events, uint32_t n, uint32_t *partner, uint32_t *stack)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct span_role *r = &s->roles[events[i].label], *top;

		partner[i] = TRACE_NONE;
		if (r->opens != 0) {
			count_open(s, r, 1);
			stack[depth++] = i;
		}
		while (r->closes != 0 && partner[i] == TRACE_NONE && any_waits(s, r)) {
			assert(depth > 0);
			top = &s->roles[events[stack[--depth]].label];
			count_open(s, top, UINT32_MAX);
			if (top->base == r->base && (top->opens & r->closes) != 0) {
				partner[i] = stack[depth];
				partner[stack[depth]] = i;
			}
		}
	}
	while (depth > 0)
		count_open(s, &s->roles[events[stack[--depth]].label], UINT32_MAX);
}

const uint32_t *
spans_of(struct spans *s, const struct labels *labels, const struct event *events, uint32_t n)
{
	uint32_t *partner, *stack, *span, depth = 0;

	if (!array_reserve(s->scratch, s->scratch_cap, 3 * (size_t)n))
		return NULL;
	if (!roles_ready(s, labels, events, n))
		return NULL;
	span = s->scratch;
	partner = span + n;
	stack = partner + n;
	match(s, events, n, partner, stack);
	for (uint32_t i = 0; i < n; i++) {
		if (partner[i] != TRACE_NONE && partner[i] < i)
			depth--;
		span[i] = depth > 0 ? events[stack[depth - 1]].label : LABEL_NONE;
		if (partner[i] != TRACE_NONE && partner[i] > i)
			stack[depth++] = i;
	}
	return span;
}

void
spans_release(struct spans *s)
{
	texts_free(s->bases);
	free(s->roles);
	free(s->open);
	free(s->scratch);
	*s = (struct spans){ 0 };
}
