/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often alerts begin without a fault, and after how many minutes with one, on simulated days of a server with queueing
 * (tests/unit/controlplane/alerts/simulated_server.h). A day is learned; then come healthy days; then each fault, at twelve moments of
 * the day, for 30 minutes.
 *
 * controlplane_alerts [DAYS [SEED [REQUESTS PER SECOND THAT ARE SAMPLED]]]: default 100, 1, 10
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/alerts/watcher.h"
#include "tests/unit/controlplane/alerts/simulated_server.h"

#define MINUTE_NS INT64_C(60000000000)

struct trial {
	struct watcher watcher;
	struct simulated_server server;
	struct watched_type *type;
	struct mono now;
	double sampled; /* share of the requests, of this window */
	uint64_t judged, outside, alerts;
	uint64_t answers[RANGE_ANSWERS];
};

static void
take_time(void *of, int64_t ns)
{
	struct trial *t = of;

	if (rng_unit(&t->server.rng) < t->sampled)
		watcher_request(&t->watcher, t->type, ns, 1 / t->sampled);
}

static void
minute(struct trial *t, enum server_fault fault, double sampled_per_s)
{
	struct err e;
	double rate = server_rate(&t->server);

	t->sampled = sampled_per_s < rate ? sampled_per_s / rate : 1;
	simulated_server_window(&t->server, 60, fault, take_time, t);
	t->now.ns += MINUTE_NS;
	if (watcher_end_window(&t->watcher, t->type, false, t->now, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	t->answers[t->type->last.answer]++;
	watcher_begin_window(&t->watcher, t->now, (struct wall){ t->now.ns });
}

static void
days(struct trial *t, uint32_t n, double sampled)
{
	for (uint32_t i = 0; i < n * 1440; i++)
		minute(t, FAULT_NONE, sampled);
}

/* Minutes until the alert began; 0: not in 30. Then the fault is repaired, and the alert has to end. */
static uint32_t
until_seen(struct trial *t, enum server_fault fault, double sampled)
{
	uint32_t seen = 0;

	for (uint32_t i = 1; i <= 30; i++) {
		minute(t, fault, sampled);
		if (seen == 0 && t->type->state.firing)
			seen = i;
	}
	for (uint32_t i = 0; i < 90; i++)
		minute(t, FAULT_NONE, sampled);
	if (t->type->state.firing)
		printf("an alert did not end\n");
	return seen;
}

static int
by_minutes(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int
main(int argc, char **argv)
{
	static const char *const names[] = { "", "10 % of the requests +80 ms", "all +6 ms",
		"2 % +400 ms" };
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
	t->now.ns = 1;
	watcher_begin_window(&t->watcher, t->now, (struct wall){ 1 });
	days(t, 1, sampled);
	memset(t->answers, 0, sizeof t->answers);
	t->watcher.number = 0;
	days(t, n, sampled);
	printf(
	    "healthy: %u days, %llu alerts; windows %llu inside, %llu outside, %llu at a rate that was new\n",
	    n, (unsigned long long)t->watcher.number, (unsigned long long)t->answers[RANGE_INSIDE],
	    (unsigned long long)t->answers[RANGE_OUTSIDE],
	    (unsigned long long)t->answers[RANGE_RATE_UNKNOWN]);
	for (enum server_fault f = FAULT_TENTH; f < SERVER_FAULTS; f++) {
		int minutes[12], missed = 0;

		for (int i = 0; i < 12; i++) {
			minutes[i] = (int)until_seen(t, f, sampled);
			missed += minutes[i] == 0;
		}
		qsort(minutes, 12, sizeof minutes[0], by_minutes);
		printf("%-28s seen in %2d of 12, after %d minutes (median), %d at most\n", names[f],
		    12 - missed, minutes[missed + (12 - missed) / 2], minutes[11]);
	}
	watcher_release(&t->watcher);
	free(t);
	return 0;
}
