/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watches the response times of request types: a window of each type each minute, judged by its healthy range and by its objectives. It
 * keeps the alerts that are firing, and the last ones that ended. Pure: a function of traces and times.
 */
#ifndef CONTROLPLANE_ALERTS_WATCHER_H
#define CONTROLPLANE_ALERTS_WATCHER_H

#include "controlplane/alerts/group_profiles.h"
#include "controlplane/alerts/self_start.h"
#include "controlplane/alerts/slo.h"

enum {
	WATCHED_MAX = 512,
	ALERTS_MAX = 256,
	GROUPS_ALL_MAX =
	    64, /* groups of all types whose profiles are watched; 700 KB each at most */
};

struct watcher_settings {  /* texts are copied */
	const char *types; /* patterns, separated by blanks, of NAME or SERVICE/NAME; "": none */
	const char *objectives; /* see slo_rules() */
	double cost_min;        /* the least cost_share of an alert */
	/* 0: nothing is watched */
	int64_t window_ns, learn_ns; /* healthy time that is learned before anything is judged */
	struct self_start_limits self_start;
};

enum alert_kind { ALERT_RANGE, ALERT_OBJECTIVE, ALERT_KINDS };
const char *alert_kind_word(enum alert_kind k); /* "range", "objective"; "?" */

struct alert {
	uint64_t number; /* from 1, in the order in which they began */
	enum alert_kind kind;
	uint32_t label; /* of the request type */
	struct slo slo; /* of OBJECTIVE */
	bool
	    of_group; /* RANGE: the response times of this group left their range; else those of all */
	struct hash128 group;
	struct wall since, ended;     /* ended.ns 0: it is firing */
	struct range_judgement range; /* RANGE: the newest window outside */
	struct slo_burn burn;         /* OBJECTIVE: the newest one */
	/* What came of its diagnosis: whether it was started, and which; run 0: none. */
	enum self_start self_start;
	uint64_t run;
};

struct watched_type {
	uint32_t label; /* LABEL_NONE: the place is empty */
	char *service, *name;
	bool watched;   /* the patterns name it */
	bool firing;    /* an alert of kind RANGE */
	double offered; /* requests in the window that lasts, sampled or not: an estimate */
	struct latency_profile all;
	struct group_profiles groups;
	struct type_slo {                    /* the objectives of this type */
		uint32_t rule;               /* in watcher.slos */
		uint32_t requests, failures; /* of the window that lasts */
		struct slo_counts counts;
		bool firing;
		struct slo_burn burn;
	} * slos;
	uint32_t nslos;
	bool accepted; /* for who stores what is healthy: it was emptied */
};

struct watcher {
	struct watcher_settings settings;
	char *patterns;
	struct slo *slos;
	uint32_t nslos;
	struct watched_type
	    *types[WATCHED_MAX]; /* by the index of the request type; NULL: not seen */
	struct mono begin;       /* of the window that lasts; ns 0: none does */
	struct wall begin_wall;
	struct alert
	    alerts[ALERTS_MAX]; /* oldest first; one that has ended gives its place to a new one */
	uint32_t nalerts;
	uint64_t number;   /* of the newest alert */
	uint64_t left_out; /* alerts for which there was no place: ALERTS_MAX are firing */
	struct self_starts starts;
	uint32_t ngroups; /* watched, of all types */
	/* Profiles that were judged in the last window, and until now in this one. */
	uint32_t judged_before, judged;
};

/* ERR_INPUT: an objective is malformed; ERR_MEMORY. On failure *w is released. */
int watcher_init(struct watcher *w, const struct watcher_settings *s, struct err *e);
void watcher_release(struct watcher *w); /* all zeroes is fine */

/* The type with this index, which is < WATCHED_MAX and belongs to `label` from now on. NULL: out of memory. O(1); the first time
 * O(patterns + objectives). */
struct watched_type *watcher_type(
    struct watcher *w, uint32_t index, uint32_t label, const char *service, const char *name);
/* A complete request. group: the key of its shape; NULL: not known. weight: how many requests it stands for, 1 / share that is sampled.
 * O(1), amortised. ERR_MEMORY. */
int watcher_request(struct watcher *w, struct watched_type *t, const struct hash128 *group,
    int64_t begin_ns, int64_t took_ns, double weight, struct err *e);

/* Whether the window has ended; then watcher_end_window() of each type, and watcher_begin_window(). */
bool watcher_is_due(const struct watcher *w, struct mono now);
void watcher_begin_window(struct watcher *w, struct mono now, struct wall when);
/* Judges the type's window, and those of its groups: the type has an alert while one of them has. diagnosed: a diagnosis of it was active
 * during it. Alerts that begin have self_start UNDECIDED; the caller decides. What latency_profile_end_window() costs, for
 * the type and each of its groups. ERR_MEMORY. */
int watcher_end_window(
    struct watcher *w, struct watched_type *t, bool diagnosed, struct mono now, struct err *e);

uint32_t watcher_firing(const struct watcher *w); /* alerts that have not ended; O(alerts) */

/* Forgets what was healthy for the type with this label, and ends its alert: what it does now is usual. False: it is not watched. */
bool watcher_accept(struct watcher *w, uint32_t label, struct wall when);

#endif
