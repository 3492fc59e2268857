/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/preload_step.h"

#include <assert.h>

#include "controlplane/search/enabled.h"
#include "controlplane/search/explore.h"
#include "searchspace/span.h"

/* Was seen inside the gap, and not enabled yet. */
static bool
is_left(const struct search *s, uint32_t label)
{
	return label_set_has(&s->layer.inside, label) && !label_set_has(&s->enabled.tried, label);
}

static uint32_t
other_end(const struct search_port *port, const struct search *s, uint32_t begin)
{
	for (uint32_t i = 0; i < s->layer.inside.nwords * 64; i++)
		if (is_left(s, i) &&
		    spans_pair(labels_get(port->labels, begin), labels_get(port->labels, i)))
			return i;
	return LABEL_NONE;
}

/* A pair into picks[2], or if none is left a point. How many labels. */
static uint32_t
next_picks(const struct search_port *port, const struct search *s, uint32_t picks[2])
{
	uint32_t point = LABEL_NONE;

	for (uint32_t i = 0; i < s->layer.inside.nwords * 64; i++) {
		if (!is_left(s, i))
			continue;
		picks[0] = i;
		if ((picks[1] = other_end(port, s, i)) != LABEL_NONE)
			return 2;
		point = point == LABEL_NONE ? i : point;
	}
	picks[0] = point;
	return point != LABEL_NONE;
}

static bool
all_affordable(
    const struct search_port *port, const struct search *s, const uint32_t *picks, uint32_t n)
{
	bool all = true;

	for (uint32_t i = 0; i < n; i++)
		all &= is_affordable(port, s, picks[i]);
	return all;
}

/* Enables the next pair or point that is affordable. How many tracepoints, or a negative code. */
static int
enable_next(struct search_port *port, struct search *s, struct err *e)
{
	uint32_t picks[2], n;
	int rc = 0;

	while ((n = next_picks(port, s, picks)) > 0) {
		if (!all_affordable(port, s, picks, n)) {
			s->layer.over_budget += n;
			for (uint32_t i = 0; i < n; i++)
				if (!label_set_add(&s->enabled.tried, picks[i]))
					return search_no_memory(s, e);
			continue;
		}
		s->diagnosis->run->cycles++;
		for (uint32_t i = 0; i < n && rc == 0; i++)
			rc = enable_candidate(port, s, picks[i], e);
		search_set_task(s, TASK_PROBE_LAYER);
		forest_touch_run(port->forest, s->diagnosis->run);
		return rc != 0 ? rc : (int)n;
	}
	return 0;
}

int
preload_step(struct search_port *port, struct search *s, struct err *e)
{
	const char *const *providers = port->preload->patterns;
	const struct run *run = s->diagnosis->run;
	int n;

	search_set_task(s, TASK_NARROW);
	if (providers == NULL || s->layer.state == LAYER_FOUND ||
	    s->at.gap.from_unit != s->at.gap.to_unit || run->cycles >= run->effort)
		return 0;
	if (s->layer.state == LAYER_CLOSED) {
		s->layer.state = LAYER_OPEN;
		s->layer.above = s->at.gap;
		s->exploration.done = 0;
	}
	while ((n = enable_next(port, s, e)) == 0 && providers[s->layer.provider] != NULL) {
		if ((n = explore(port, s, e)) != 0)
			return n;
		s->layer.provider++;
		s->exploration.done = 0;
	}
	return n;
}
