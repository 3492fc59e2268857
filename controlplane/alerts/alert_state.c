/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/alert_state.h"

#include <string.h>

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
			*since = s->begins[i];
		sum += s->judged[i].cost_share;
	}
	return sum / n;
}

static void
exclude_all(struct alert_state *s)
{
	for (uint32_t i = 0; i < s->nwaiting; i++)
		s->waiting[i].excluded = true;
}

/* The window joins those that wait; the oldest one leaves if its time is over. */
static void
wait_its_turn(struct alert_state *s, const struct latency_window *w, bool judged, bool excluded,
    struct latency_window *leaves)
{
	struct waiting_window *oldest = &s->waiting[0];

	if (s->nwaiting > 0 &&
	    (s->nwaiting == ALERT_WAITING_MAX || (judged && oldest->since >= ALERT_WINDOWS - 1))) {
		if (!s->firing && !oldest->excluded)
			*leaves = oldest->window;
		s->nwaiting--;
		memmove(oldest, oldest + 1, s->nwaiting * sizeof *oldest);
	}
	for (uint32_t i = 0; judged && i < s->nwaiting; i++)
		s->waiting[i].since++;
	s->waiting[s->nwaiting++] = (struct waiting_window){ .window = *w,
		.excluded = excluded || s->firing };
}

static void
note_judgement(
    struct alert_state *s, const struct latency_window *w, const struct range_judgement *j)
{
	if (s->n == ALERT_WINDOWS) {
		s->n--;
		memmove(s->begins, s->begins + 1, s->n * sizeof *s->begins);
		memmove(s->judged, s->judged + 1, s->n * sizeof *s->judged);
	}
	s->begins[s->n] = w->begin;
	s->judged[s->n++] = *j;
}

enum alert_change
alert_state_next(struct alert_state *s, const struct latency_window *w,
    const struct range_judgement *j, bool excluded, double cost_min, struct latency_window *leaves)
{
	bool judged = j->answer == RANGE_INSIDE || j->answer == RANGE_OUTSIDE;
	struct wall since = w->begin;

	*leaves = (struct latency_window){ 0 };
	/* 1 */
	if (judged || j->answer == RANGE_RATE_UNKNOWN)
		wait_its_turn(s, w, judged, excluded, leaves);
	/* 2 */
	if (!judged) {
		if (++s->unjudged < ALERT_WINDOWS)
			return ALERT_STAYS;
		s->n = 0; /* hours may lie between them and the next one */
		if (!s->firing)
			return ALERT_STAYS;
		s->firing = false;
		exclude_all(s);
		return ALERT_ENDS;
	}
	s->unjudged = 0;
	note_judgement(s, w, j);
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
