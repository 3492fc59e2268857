/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/alert_state.h"

#include <string.h>

_Static_assert((int)RANGE_RECENT_AFTER == ALERT_WINDOWS + 1 && (int)RANGE_RUN == ALERT_DECIDES,
    "what healthy_range.c expects of windows in succession");

/* In how many of the newest windows value i is over its limit. */
static uint32_t
windows_over(const struct alert_state *s, unsigned i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->n; k++)
		n += s->judged[k].over >> i & 1;
	return n;
}

/* Mean of cost_share_most where value i is over its limit, which it is at least once; *since: the first of these windows. */
static double
cost_over(const struct alert_state *s, unsigned i, struct wall *since)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->n; k++) {
		if ((s->judged[k].over >> i & 1) == 0)
			continue;
		if (n++ == 0)
			*since = s->begins[k];
		sum += s->judged[k].cost_share_most;
	}
	return sum / n;
}

/* 3: the first value that decides so. */
static bool
begins(const struct alert_state *s, double cost_min, struct wall *since)
{
	for (unsigned i = 0; i < RANGE_VALUES; i++)
		if (windows_over(s, i) >= ALERT_DECIDES && cost_over(s, i, since) >= cost_min)
			return true;
	return false;
}

/* 4 */
static bool
ends(const struct alert_state *s)
{
	for (unsigned i = 0; i < RANGE_VALUES; i++)
		if (s->n - windows_over(s, i) < ALERT_DECIDES)
			return false;
	return true;
}

void
alert_state_exclude(struct alert_state *s)
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
		alert_state_exclude(s);
		return ALERT_ENDS;
	}
	s->unjudged = 0;
	note_judgement(s, w, j);
	/* 3 */
	if (!s->firing && begins(s, cost_min, &since)) {
		s->firing = true;
		s->since = since;
		alert_state_exclude(s);
		return ALERT_BEGINS;
	}
	/* 4 */
	if (s->firing && ends(s)) {
		s->firing = false;
		alert_state_exclude(s);
		return ALERT_ENDS;
	}
	return ALERT_STAYS;
}
