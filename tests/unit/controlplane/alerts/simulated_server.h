/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server for tests of alerts: requests come at random and are served one after the other, in lognormal times of 20 ms on average.
 * The load follows a day's cycle between 0.3 and 0.85, with a slow drift and bursts. So response times vary with the load by a factor
 * of four, and neighbouring requests depend on each other.
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

struct simulated_server {
	struct rng rng;
	double now_s, free_s; /* when it has served what has come */
	double drift;         /* of the logarithm of the load */
	double burst_until_s;
};

static inline void
simulated_server_init(struct simulated_server *s, uint64_t seed)
{
	*s = (struct simulated_server){ .now_s = 0 };
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

	return (load < 0.9 ? load : 0.9) / 0.020;
}

/* Serves a window of `seconds`; calls take(of, response time in ns) for each request. Returns how many there were. */
static inline uint64_t
simulated_server_window(struct simulated_server *s, double seconds, enum server_fault fault,
    void (*take)(void *of, int64_t ns), void *of)
{
	double end_s = s->now_s + seconds, rate;
	uint64_t n = 0;

	s->drift = 0.98 * s->drift + 0.01 * rng_normal(&s->rng);
	if (rng_unit(&s->rng) < 0.02) /* some 30 bursts a day, of half a minute on average */
		s->burst_until_s = s->now_s + server_exponential(s, 30);
	rate = server_rate(s);
	while ((s->now_s += server_exponential(s, 1 / rate)) < end_s) {
		double service = 0.020 * exp(0.5 * rng_normal(&s->rng) - 0.125), took;
		double u = rng_unit(&s->rng);

		s->free_s = fmax(s->free_s, s->now_s) + service;
		took = s->free_s - s->now_s;
		took += fault == FAULT_TENTH && u < 0.1       ? 0.080
		        : fault == FAULT_ALL                  ? 0.006
		        : fault == FAULT_FIFTIETH && u < 0.02 ? 0.400
		                                              : 0;
		take(of, (int64_t)(took * 1e9));
		n++;
		if ((n & 63) == 0)
			rate = server_rate(s);
	}
	s->now_s = end_s;
	return n;
}

#endif
