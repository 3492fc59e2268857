/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/alert_state.h"

#include <string.h>

static void
shift(struct alert_state *s)
{
	s->n--;
	memmove(s->windows, s->windows + 1, s->n * sizeof *s->windows);
	memmove(s->judged, s->judged + 1, s->n * sizeof *s->judged);
	memmove(s->excluded, s->excluded + 1, s->n * sizeof *s->excluded);
}

static uint32_t
count(const struct alert_state *s, enum range_answer answer)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->judged[i].answer == answer;
	return n;
}

/* Mean cost of those outside; *since: the first of them. At least one is. */
static double
cost_outside(const struct alert_state *s, struct wall *since)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->judged[i].answer != RANGE_OUTSIDE)
			continue;
		if (n++ == 0)
			*since = s->windows[i].begin;
		sum += s->judged[i].cost_share;
	}
	return sum / n;
}

static void
exclude_all(struct alert_state *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		s->excluded[i] = true;
}

enum alert_change
alert_state_next(struct alert_state *s, const struct latency_window *w,
    const struct range_judgement *j, bool excluded, double cost_min, struct latency_window *leaves)
{
	struct wall since = w->begin;

	*leaves = (struct latency_window){ 0 };
	/* 1 */
	if (j->answer != RANGE_INSIDE && j->answer != RANGE_OUTSIDE) {
		if (++s->unjudged < ALERT_WINDOWS || !s->firing)
			return ALERT_STAYS;
		s->firing = false;
		s->n = 0;
		return ALERT_ENDS;
	}
	s->unjudged = 0;
	/* 2 */
	if (s->n == ALERT_WINDOWS) {
		if (!s->firing && !s->excluded[0])
			*leaves = s->windows[0];
		shift(s);
	}
	s->windows[s->n] = *w;
	s->judged[s->n] = *j;
	s->excluded[s->n++] = excluded || s->firing;
	/* 3 */
	if (!s->firing && count(s, RANGE_OUTSIDE) >= ALERT_DECIDES &&
	    cost_outside(s, &since) >= cost_min) {
		s->firing = true;
		s->since = since;
		exclude_all(s);
		return ALERT_BEGINS;
	}
	/* 4 */
	if (s->firing && count(s, RANGE_INSIDE) >= ALERT_DECIDES) {
		s->firing = false;
		exclude_all(s);
		return ALERT_ENDS;
	}
	return ALERT_STAYS;
}
