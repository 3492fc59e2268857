/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forest/hypothesis.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	bool settled;
} states[] = {
#define STATE(name, number, word, settled, help) [number] = { word, settled },
#include "forest/states.tbl.h"
#undef STATE
};

enum { STATES = sizeof states / sizeof states[0] };

const char *
hypothesis_word(enum hypothesis_state s)
{
	return (unsigned)s < STATES ? states[s].word : "?";
}

bool
hypothesis_settled(enum hypothesis_state s)
{
	return (unsigned)s < STATES && states[s].settled;
}

bool
hypothesis_may(enum hypothesis_state from, enum hypothesis_state to)
{
#define TRANSITION(a, b, when)                              \
	if (from == HYPOTHESIS_##a && to == HYPOTHESIS_##b) \
		return true;
#include "forest/transitions.tbl.h"
#undef TRANSITION
	return false;
}

void
hypothesis_enter(struct hypothesis *h, enum hypothesis_state s, struct wall when)
{
	assert(hypothesis_may(h->state, s));
	assert(!hypothesis_settled(h->state));
	h->state = s;
	if (hypothesis_settled(s))
		h->settled = when;
}

bool
hypothesis_text(char **field, const char *text)
{
	char *copy = strdup(text != NULL ? text : "");

	if (copy == NULL)
		return false;
	free(*field);
	*field = copy;
	return true;
}

bool
hypothesis_copy(struct hypothesis *to, const struct hypothesis *from)
{
	*to = *from;
	to->tracepoint = to->edge_from = to->edge_to = to->group_shape = to->key = NULL;
	if (hypothesis_text(&to->tracepoint, from->tracepoint) &&
	    hypothesis_text(&to->edge_from, from->edge_from) &&
	    hypothesis_text(&to->edge_to, from->edge_to) &&
	    hypothesis_text(&to->group_shape, from->group_shape) &&
	    hypothesis_text(&to->key, from->key))
		return true;
	hypothesis_release(to);
	return false;
}

void
hypothesis_release(struct hypothesis *h)
{
	free(h->tracepoint);
	free(h->edge_from);
	free(h->edge_to);
	free(h->group_shape);
	free(h->key);
	memset(h, 0, sizeof *h);
}
