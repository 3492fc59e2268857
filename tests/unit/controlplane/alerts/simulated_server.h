/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two servers for tests of alerts. At the first, requests come at random and are served one after the other, in lognormal times of 20 ms
 * on average. The second has three workers, and a cache: 15 % of its requests, a share that drifts, miss it and take 88 ms on average,
 * the others 8 ms. The load follows a day's cycle between 0.3 and 0.85, with a slow drift and bursts. So response times vary with the
 * load by a factor of four, and neighbouring requests depend on each other.
 */
#ifndef TESTS_UNIT_CONTROLPLANE_ALERTS_SIMULATED_SERVER_H
#define TESTS_UNIT_CONTROLPLANE_ALERTS_SIMULATED_SERVER_H

#include <math.h>
#include <stdint.h>

#include "base/rng.h"

enum server_fault {
	FAULT_NONE,
	FAULT_TENTH,    /* 10 % of the requests take 80 ms more after their service */
	FAULT_ALL,      /* all take 6 ms more */
	FAULT_FIFTIETH, /* 2 % take 400 ms more */
	SERVER_FAULTS
};

enum { SERVER_WORKERS_MAX = 3 };

struct simulated_server {
	struct rng rng;
	uint32_t workers; /* 1: the first server; SERVER_WORKERS_MAX: the second one */
	double now_s, free_s[SERVER_WORKERS_MAX]; /* when each worker has served what has come */
	double drift;                             /* of the logarithm of the load */
	double misses;      /* drift of the logarithm of the share that misses the cache */
	double fault_scale; /* 1: the faults are as below; 0.5: half as long */
	double burst_until_s;
};

static inline void
simulated_server_init(struct simulated_server *s, uint64_t seed)
{
	*s = (struct simulated_server){ .workers = 1, .fault_scale = 1 };
	rng_seed(&s->rng, seed);
}

static inline double
server_exponential(struct simulated_server *s, double mean)
{
	return -mean * log(1 - rng_unit(&s->rng));
}

/* Requests in a second at this moment. */
static inline double
server_rate(struct simulated_server *s)
{
	double day = 0.5 - 0.5 * cos(2 * M_PI * s->now_s / 86400);
	double load = (0.3 + 0.55 * day) * exp(s->drift) * (s->now_s < s->burst_until_s ? 1.15 : 1);

	return (load < 0.9 ? load : 0.9) / 0.020 * s->workers;
}

/* How long the next request is served, in seconds: lognormal, 20 ms on average. */
static inline double
server_service_s(struct simulated_server *s)
{
	double mean = s->workers == 1                             ? 0.020
	              : rng_unit(&s->rng) < 0.15 * exp(s->misses) ? 0.088
	                                                          : 0.008;

	return mean * exp(0.5 * rng_normal(&s->rng) - 0.125);
}

/* The worker that is free first. */
static inline uint32_t
server_worker(const struct simulated_server *s)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < s->workers; i++)
		if (s->free_s[i] < s->free_s[first])
			first = i;
	return first;
}

/* Serves a window of `seconds`; calls take(of, when it came, response time in ns) for each request. Returns how many there were. */
static inline uint64_t
simulated_server_window(struct simulated_server *s, double seconds, enum server_fault fault,
    void (*take)(void *of, int64_t begin_ns, int64_t ns), void *of)
{
	double end_s = s->now_s + seconds, rate;
	uint64_t n = 0;

	s->drift = 0.98 * s->drift + 0.01 * rng_normal(&s->rng);
	if (s->workers > 1)
		s->misses = 0.98 * s->misses + 0.01 * rng_normal(&s->rng);
	if (rng_unit(&s->rng) < 0.02) /* some 30 bursts a day, of half a minute on average */
		s->burst_until_s = s->now_s + server_exponential(s, 30);
	rate = server_rate(s);
	while ((s->now_s += server_exponential(s, 1 / rate)) < end_s) {
		double service = server_service_s(s), took, u = rng_unit(&s->rng);
		double *free_s = &s->free_s[server_worker(s)];

		*free_s = fmax(*free_s, s->now_s) + service;
		took = *free_s - s->now_s;
		took += s->fault_scale * (fault == FAULT_TENTH && u < 0.1          ? 0.080
					     : fault == FAULT_ALL                  ? 0.006
					     : fault == FAULT_FIFTIETH && u < 0.02 ? 0.400
										   : 0);
		take(of, (int64_t)(s->now_s * 1e9), (int64_t)(took * 1e9));
		n++;
		if ((n & 63) == 0)
			rate = server_rate(s);
	}
	s->now_s = end_s;
	return n;
}

#endif
