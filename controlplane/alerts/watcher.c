/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/alerts/watcher.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/label.h"
#include "base/glob.h"

const char *
alert_kind_word(enum alert_kind k)
{
	static const char *const words[ALERT_KINDS] = { "range", "objective" };

	return (unsigned)k < ALERT_KINDS ? words[k] : "?";
}

int
watcher_init(struct watcher *w, const struct watcher_settings *s, struct err *e)
{
	int rc;

	*w = (struct watcher){ .settings = *s };
	w->settings.types = w->settings.objectives = NULL;
	if (s->window_ns == 0)
		return 0;
	if ((rc = slo_rules(&w->slos, &w->nslos, s->objectives, e)) < 0)
		return err_prefix(e, "watch.objectives");
	if ((w->patterns = strdup(s->types)) == NULL) {
		watcher_release(w);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	return 0;
}

/* ---- types ---- */

static void
type_free(struct watcher *w, struct watched_type *t)
{
	if (t == NULL)
		return;
	w->ngroups -= t->groups.n;
	group_profiles_release(&t->groups);
	latency_profile_release(&t->all);
	free(t->service);
	free(t->name);
	free(t->slos);
	free(t);
}

void
watcher_release(struct watcher *w)
{
	for (uint32_t i = 0; i < WATCHED_MAX; i++)
		type_free(w, w->types[i]);
	free(w->patterns);
	free(w->slos);
	*w = (struct watcher){ 0 };
}

/* Whether the pattern is one of "NAME" or "SERVICE/NAME". */
static bool
names(const char *pattern, const struct watched_type *t)
{
	char *full;
	bool yes = glob_matches(pattern, t->name);

	if (yes || asprintf(&full, "%s/%s", t->service, t->name) < 0)
		return yes;
	yes = glob_matches(pattern, full);
	free(full);
	return yes;
}

static bool
any_names(const char *patterns, const struct watched_type *t)
{
	char one[SLO_NAME_MAX + 1];
	bool yes = false;

	while (!yes && *(patterns += strspn(patterns, " \t")) != '\0') {
		size_t len = strcspn(patterns, " \t");

		snprintf(one, sizeof one, "%.*s", (int)(len < sizeof one ? len : sizeof one - 1),
		    patterns);
		yes = names(one, t);
		patterns += len;
	}
	return yes;
}

static bool
find_objectives(const struct watcher *w, struct watched_type *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->nslos; i++)
		n += names(w->slos[i].name, t);
	if (n == 0)
		return true;
	if ((t->slos = calloc(n, sizeof *t->slos)) == NULL)
		return false;
	for (uint32_t i = 0; i < w->nslos; i++)
		if (names(w->slos[i].name, t))
			t->slos[t->nslos++].rule = i;
	return true;
}

static struct watched_type *
type_new(struct watcher *w, uint32_t label, const char *service, const char *name)
{
	struct watched_type *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->label = label;
	t->service = strdup(service);
	t->name = strdup(name);
	if (t->service == NULL || t->name == NULL)
		goto fail;
	t->watched = any_names(w->patterns, t);
	if (!find_objectives(w, t))
		goto fail;
	return t;
fail:
	type_free(w, t);
	return NULL;
}

struct watched_type *
watcher_type(
    struct watcher *w, uint32_t index, uint32_t label, const char *service, const char *name)
{
	struct watched_type **t = &w->types[index];

	assert(index < WATCHED_MAX);
	if (*t != NULL && (*t)->label == label)
		return *t;
	type_free(w, *t);
	return *t = type_new(w, label, service, name);
}

int
watcher_request(struct watcher *w, struct watched_type *t, const struct hash128 *group,
    int64_t begin_ns, int64_t took_ns, double weight, struct err *e)
{
	int rc;

	for (uint32_t i = 0; i < t->nslos; i++) {
		t->slos[i].requests++;
		t->slos[i].failures += took_ns > w->slos[t->slos[i].rule].limit_ns;
	}
	if (!t->watched)
		return 0;
	if ((rc = window_times_add(&t->all.times, begin_ns, took_ns, e)) < 0)
		return rc;
	t->offered += weight;
	return group != NULL ? group_profiles_request(&t->groups, *group, begin_ns, took_ns, e) : 0;
}

/* ---- alerts ---- */

static struct alert *
firing_alert(struct watcher *w, uint32_t label, enum alert_kind kind, const struct slo *slo)
{
	for (uint32_t i = w->nalerts; i-- > 0;) {
		struct alert *a = &w->alerts[i];

		if (a->label == label && a->kind == kind && a->ended.ns == 0 &&
		    (slo == NULL || memcmp(&a->slo, slo, sizeof *slo) == 0))
			return a;
	}
	return NULL;
}

/* Makes room by dropping the oldest alert that has ended. */
static bool
alert_room(struct watcher *w)
{
	uint32_t i = 0;

	if (w->nalerts < ALERTS_MAX)
		return true;
	while (i < w->nalerts && w->alerts[i].ended.ns == 0)
		i++;
	if (i == w->nalerts)
		return false;
	w->nalerts--;
	memmove(&w->alerts[i], &w->alerts[i + 1], (w->nalerts - i) * sizeof w->alerts[0]);
	return true;
}

static void
alert_begin(struct watcher *w, const struct alert *a)
{
	if (!alert_room(w)) {
		w->left_out++;
		return;
	}
	w->alerts[w->nalerts] = *a;
	w->alerts[w->nalerts].number = ++w->number;
	w->alerts[w->nalerts++].self_start = SELF_START_UNDECIDED;
}

static void
alert_end(struct watcher *w, uint32_t label, enum alert_kind kind, const struct slo *slo,
    struct wall when)
{
	struct alert *a = firing_alert(w, label, kind, slo);

	if (a != NULL)
		a->ended = when;
}

uint32_t
watcher_firing(const struct watcher *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->nalerts; i++)
		n += w->alerts[i].ended.ns == 0;
	return n;
}

/* ---- windows ---- */

bool
watcher_is_due(const struct watcher *w, struct mono now)
{
	return w->begin.ns == 0 || mono_since_ns(now, w->begin) >= w->settings.window_ns;
}

void
watcher_begin_window(struct watcher *w, struct mono now, struct wall when)
{
	w->begin = now;
	w->begin_wall = when;
	for (uint32_t i = 0; i < WATCHED_MAX; i++) {
		struct watched_type *t = w->types[i];

		if (t == NULL)
			continue;
		for (uint32_t k = 0; k < t->nslos; k++)
			t->slos[k].requests = t->slos[k].failures = 0;
		window_times_clear(&t->all.times);
		for (uint32_t k = 0; k < t->groups.n; k++)
			window_times_clear(&t->groups.items[k]->profile.times);
		t->groups.ncounted = 0;
		t->offered = 0;
	}
	w->judged_before = w->judged;
	w->judged = 0;
}

static void
end_objectives(struct watcher *w, struct watched_type *t, struct wall when)
{
	for (uint32_t i = 0; i < t->nslos; i++) {
		struct type_slo *s = &t->slos[i];
		const struct slo *rule = &w->slos[s->rule];
		struct alert *a;

		slo_counts_add(&s->counts, s->requests, s->failures);
		s->burn = slo_burn_of(&s->counts, rule->goal);
		if (s->burn.firing && !s->firing)
			alert_begin(w, &(struct alert){ .kind = ALERT_OBJECTIVE,
					   .label = t->label,
					   .slo = *rule,
					   .since = when,
					   .burn = s->burn });
		else if (!s->burn.firing && s->firing)
			alert_end(w, t->label, ALERT_OBJECTIVE, rule, when);
		else if (s->firing &&
			 (a = firing_alert(w, t->label, ALERT_OBJECTIVE, rule)) != NULL)
			a->burn = s->burn;
		s->firing = s->burn.firing;
	}
}

static uint32_t
windows_min(const struct watcher_settings *s)
{
	int64_t n = s->learn_ns / s->window_ns;

	return n < RANGE_WINDOWS_MIN   ? RANGE_WINDOWS_MIN
	       : n < RANGE_WINDOWS_MAX ? (uint32_t)n
	                               : RANGE_WINDOWS_MAX;
}

static int
end_profile(struct watcher *w, struct latency_profile *p, const struct latency_profile_window *by,
    struct err *e)
{
	int rc = latency_profile_end_window(p, by, e);

	w->judged += rc == 0 && (p->last.answer == RANGE_INSIDE || p->last.answer == RANGE_OUTSIDE);
	return rc;
}

/* The profile with an alert, the type's before its groups'; NULL: none. *group: its group; NULL: the type's. */
static struct latency_profile *
firing_profile(struct watched_type *t, const struct hash128 **group)
{
	*group = NULL;
	if (t->all.state.firing)
		return &t->all;
	for (uint32_t i = 0; i < t->groups.n; i++) {
		*group = &t->groups.items[i]->key;
		if (t->groups.items[i]->profile.state.firing)
			return &t->groups.items[i]->profile;
	}
	return NULL;
}

static void
exclude_all(struct watched_type *t)
{
	alert_state_exclude(&t->all.state);
	for (uint32_t i = 0; i < t->groups.n; i++)
		alert_state_exclude(&t->groups.items[i]->profile.state);
}

/* Begins, ends or renews the alert of the type by the states of its profiles. */
static void
decide(struct watcher *w, struct watched_type *t)
{
	const struct hash128 *group;
	const struct latency_profile *p = firing_profile(t, &group);
	struct alert *a;

	if (p == NULL) {
		if (t->firing)
			alert_end(w, t->label, ALERT_RANGE, NULL, w->begin_wall);
	} else if (!t->firing) {
		alert_begin(w, &(struct alert){ .kind = ALERT_RANGE,
				   .label = t->label,
				   .of_group = group != NULL,
				   .group = group != NULL ? *group : (struct hash128){ 0 },
				   .since = p->state.since,
				   .range = p->last });
	} else if (p->last.answer == RANGE_OUTSIDE &&
		   (a = firing_alert(w, t->label, ALERT_RANGE, NULL)) != NULL) {
		a->range = p->last;
		a->of_group = group != NULL;
		a->group = group != NULL ? *group : (struct hash128){ 0 };
	}
	if (t->firing != (p != NULL))
		exclude_all(t);
	t->firing = p != NULL;
}

static int
end_ranges(struct watcher *w, struct watched_type *t, bool diagnosed, double seconds, struct err *e)
{
	const struct latency_profile_window by = { .begin = w->begin_wall,
		.per_second = t->offered / seconds,
		.rules = { windows_min(&w->settings), range_over_part(w->judged_before),
		    w->settings.window_ns },
		.cost_min = w->settings.cost_min,
		.excluded = diagnosed || t->firing };
	uint32_t room = GROUPS_ALL_MAX - w->ngroups;
	int rc = end_profile(w, &t->all, &by, e);

	for (uint32_t i = 0; i < t->groups.n && rc == 0; i++)
		rc = end_profile(w, &t->groups.items[i]->profile, &by, e);
	decide(w, t);
	if (rc == 0)
		rc = group_profiles_choose(&t->groups, t->all.last_window.requests, &room, e);
	w->ngroups = GROUPS_ALL_MAX - room;
	return rc;
}

int
watcher_end_window(
    struct watcher *w, struct watched_type *t, bool diagnosed, struct mono now, struct err *e)
{
	double seconds = (double)mono_since_ns(now, w->begin) / 1e9;

	assert(w->begin.ns != 0);
	end_objectives(w, t, w->begin_wall);
	return t->watched && seconds > 0 ? end_ranges(w, t, diagnosed, seconds, e) : 0;
}

bool
watcher_accept(struct watcher *w, uint32_t label, struct wall when)
{
	for (uint32_t i = 0; i < WATCHED_MAX; i++) {
		struct watched_type *t = w->types[i];

		if (t == NULL || t->label != label || !t->watched)
			continue;
		latency_profile_accept(&t->all);
		for (uint32_t k = 0; k < t->groups.n; k++)
			latency_profile_accept(&t->groups.items[k]->profile);
		alert_end(w, label, ALERT_RANGE, NULL, when);
		t->firing = false;
		t->accepted = true;
		return true;
	}
	return false;
}
