/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often alerts begin without a fault, and after how many minutes with one, on simulated days of a server with queueing
 * (tests/unit/controlplane/alerts/simulated_server.h). A day is learned; then come healthy days; then each fault, at twelve moments of
 * the day, for 30 minutes.
 *
 * By load it prints how many were seen within five windows, and how far apart the windows with and without the fault are: the distance
 * of Mahalanobis (1936) between them, of the logarithms of all quantiles, mean and rate. The best linear test of one window that
 * knows the fault and what is usual at this load has this distance between its means, in standard deviations. An alert that is false
 * once in 10 days by 4 of 5 independent windows has a limit at 1.55 of them, and is seen within five windows, one time in two, at 2.0.
 *
 * controlplane_alerts_days [DAYS [SEED [REQUESTS PER SECOND THAT ARE SAMPLED [SERVER [SCALE [GROUPS]]]]]]: default 100, 1, 10, 1, 1, 0.
 * SERVER: 1 or 2, see there; SCALE: of the delays of the faults; GROUPS: so many, of equal size, whose profiles are judged, too
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/alerts/watcher.h"
#include "tests/unit/controlplane/alerts/simulated_server.h"

#define MINUTE_NS INT64_C(60000000000)

enum { FEATURES = RANGE_VALUES + 2, LOADS = 7 };
static const double LOAD_LEAST = 0.25, LOAD_STEP = 0.1;

struct windows { /* of one load */
	double n, sum[FEATURES], products[FEATURES][FEATURES];
};

struct trial {
	struct windows of[SERVER_FAULTS][LOADS];
	struct watcher watcher;
	struct simulated_server server;
	struct watched_type *type;
	struct mono now;
	double sampled; /* share of the requests, of this window */
	uint32_t groups;
	uint64_t judged, outside, alerts;
	uint64_t answers[RANGE_ANSWERS];
};

static void
fail(const struct err *e)
{
	fprintf(stderr, "%s\n", e->text);
	exit(1);
}

static void
take_time(void *of, int64_t begin_ns, int64_t ns)
{
	struct hash128 group = { 0 };
	struct trial *t = of;
	struct err e;

	if (rng_unit(&t->server.rng) >= t->sampled)
		return;
	if (t->groups > 0)
		group.a = rng_below(&t->server.rng, t->groups);
	if (watcher_request(&t->watcher, t->type, t->groups > 0 ? &group : NULL, begin_ns, ns,
		1 / t->sampled, &e) < 0)
		fail(&e);
}

static unsigned
load_of(const struct trial *t, double per_second)
{
	double at = (per_second / t->server.workers * 0.020 - LOAD_LEAST) / LOAD_STEP;

	return at < 0 ? 0 : at >= LOADS ? LOADS - 1 : (unsigned)at;
}

static void
count_window(struct windows *s, const struct latency_window *w)
{
	double x[FEATURES];

	memcpy(x, w->log_ns, sizeof w->log_ns);
	x[RANGE_VALUES] = log(w->mean_ns);
	x[RANGE_VALUES + 1] = log(w->per_second);
	s->n++;
	for (unsigned i = 0; i < FEATURES; i++) {
		s->sum[i] += x[i];
		for (unsigned k = 0; k < FEATURES; k++)
			s->products[i][k] += x[i] * x[k];
	}
}

/* sqrt(d' S^-1 d): d the difference of the means but of the rate, which the fault leaves as it is, S the covariance without the fault. */
static double
distance(const struct windows *healthy, const struct windows *fault)
{
	double s[FEATURES][FEATURES + 1], d[FEATURES], sum = 0;

	for (unsigned i = 0; i < FEATURES; i++) {
		d[i] = i == FEATURES - 1 ? 0
		                         : fault->sum[i] / fault->n - healthy->sum[i] / healthy->n;
		for (unsigned k = 0; k < FEATURES; k++)
			s[i][k] = healthy->products[i][k] / healthy->n -
			          healthy->sum[i] * healthy->sum[k] / healthy->n / healthy->n;
		s[i][i] *= 1.0001;
		s[i][FEATURES] = d[i];
	}
	for (unsigned i = 0; i < FEATURES; i++) { /* Gauss-Jordan; S is positive definite */
		for (unsigned k = FEATURES + 1; k-- > i;)
			s[i][k] /= s[i][i];
		for (unsigned r = 0; r < FEATURES; r++)
			for (unsigned k = FEATURES + 1; r != i && k-- > i;)
				s[r][k] -= s[r][i] * s[i][k];
	}
	for (unsigned i = 0; i < FEATURES; i++)
		sum += d[i] * s[i][FEATURES];
	return sqrt(sum > 0 ? sum : 0);
}

static void
minute(struct trial *t, enum server_fault fault, double sampled_per_s)
{
	struct err e;
	double rate = server_rate(&t->server);

	t->sampled = sampled_per_s < rate ? sampled_per_s / rate : 1;
	simulated_server_window(&t->server, 60, fault, take_time, t);
	t->now.ns += MINUTE_NS;
	if (watcher_end_window(&t->watcher, t->type, false, t->now, &e) < 0)
		fail(&e);
	t->answers[t->type->all.last.answer]++;
	if (t->type->all.last_window.requests >= RANGE_REQUESTS_MIN)
		count_window(&t->of[fault][load_of(t, t->type->all.last_window.per_second)],
		    &t->type->all.last_window);
	watcher_begin_window(&t->watcher, t->now, (struct wall){ t->now.ns });
}

static void
days(struct trial *t, uint32_t n, double sampled)
{
	for (uint32_t i = 0; i < n * 1440; i++)
		minute(t, FAULT_NONE, sampled);
}

/* Minutes until the alert began; 0: not in 30. Then the fault is repaired, and the alert has to end. *rate: requests in a second. */
static uint32_t
until_seen(struct trial *t, enum server_fault fault, double sampled, double *rate)
{
	uint32_t seen = 0;

	*rate = 0;
	for (uint32_t i = 1; i <= 30; i++) {
		minute(t, fault, sampled);
		*rate += t->type->all.last_window.per_second / 30;
		if (seen == 0 && t->type->firing)
			seen = i;
	}
	for (uint32_t i = 0; i < 90; i++)
		minute(t, FAULT_NONE, sampled);
	if (t->type->firing)
		printf("an alert did not end\n");
	return seen;
}

static int
by_minutes(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* What is seen of each fault at twelve moments of the day. */
static void
faults(struct trial *t, double sampled)
{
	static const char *const names[] = { "", "10 % of the requests +80 ms", "all +6 ms",
		"2 % +400 ms" };

	for (enum server_fault f = FAULT_TENTH; f < SERVER_FAULTS; f++) {
		int minutes[12], missed = 0, soon[LOADS] = { 0 }, all[LOADS] = { 0 };
		double rate;

		for (int i = 0; i < 12; i++) {
			minutes[i] = (int)until_seen(t, f, sampled, &rate);
			missed += minutes[i] == 0;
			soon[load_of(t, rate)] += minutes[i] > 0 && minutes[i] <= ALERT_WINDOWS;
			all[load_of(t, rate)]++;
		}
		qsort(minutes, 12, sizeof minutes[0], by_minutes);
		printf("%-28s seen in %2d of 12, after %d minutes (median), %d at most\n", names[f],
		    12 - missed, minutes[missed + (12 - missed) / 2], minutes[11]);
		for (unsigned i = 0; i < LOADS; i++)
			if (all[i] > 0 && t->of[f][i].n > 0 && t->of[FAULT_NONE][i].n > FEATURES)
				printf(
				    "  load %.2f to %.2f: %d of %d within 5 windows; distance %.1f\n",
				    LOAD_LEAST + i * LOAD_STEP, LOAD_LEAST + (i + 1) * LOAD_STEP,
				    soon[i], all[i], distance(&t->of[FAULT_NONE][i], &t->of[f][i]));
	}
}

int
main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
	double sampled = argc > 3 ? atof(argv[3]) : 10;
	struct trial *t = calloc(1, sizeof *t);
	struct err e;

	if (t == NULL ||
	    watcher_init(&t->watcher,
		&(struct watcher_settings){ .types = "*",
		    .objectives = "",
		    .cost_min = 0.05,
		    .window_ns = MINUTE_NS,
		    .learn_ns = 1440 * MINUTE_NS },
		&e) < 0 ||
	    (t->type = watcher_type(&t->watcher, 0, 1, "server", "GET")) == NULL)
		return 1;
	simulated_server_init(&t->server, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
	if (argc > 4 && atoi(argv[4]) == 2)
		t->server.workers = SERVER_WORKERS_MAX;
	if (argc > 5)
		t->server.fault_scale = atof(argv[5]);
	if (argc > 6)
		t->groups = (uint32_t)atoi(argv[6]);
	t->now.ns = 1;
	watcher_begin_window(&t->watcher, t->now, (struct wall){ 1 });
	days(t, 1, sampled);
	memset(t->answers, 0, sizeof t->answers);
	t->watcher.number = 0;
	days(t, n, sampled);
	printf("%u profiles\n", 1 + t->type->groups.n);
	printf(
	    "healthy: %u days, %llu alerts; windows %llu inside, %llu outside, %llu at a rate that was new\n",
	    n, (unsigned long long)t->watcher.number, (unsigned long long)t->answers[RANGE_INSIDE],
	    (unsigned long long)t->answers[RANGE_OUTSIDE],
	    (unsigned long long)t->answers[RANGE_RATE_UNKNOWN]);
	faults(t, sampled);
	watcher_release(&t->watcher);
	free(t);
	return 0;
}
