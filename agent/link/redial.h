/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When an agent connects again, and to which of its controllers. Pure.
 *
 * Controllers are tried in the order of the configuration, one after the other, and after the last one the agent waits: 50 ms at first, then
 * twice as long after each round, up to a limit. When a connection that held has ended, it begins with the first controller again. All
 * agents lose their connections in the same moment if a controller ends, so each waits between half of that time and all of it, by
 * chance ("equal jitter": M. Brooker, Exponential Backoff and Jitter, AWS Architecture Blog, 2015).
 */
#ifndef AGENT_LINK_REDIAL_H
#define AGENT_LINK_REDIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

enum { REDIAL_FIRST_MS = 50, REDIAL_URLS_MAX = 8, REDIAL_URL_MAX = 255 };

struct redial {
	struct rng rng;
	uint32_t nurls, at; /* the controller to try now */
	int wait_ms, most_ms;
	int refused_ms; /* the longest wait that a controller of this round asked for by refusing */
};

/* most_ms: the longest wait. seed: differs from agent to agent. */
void redial_init(struct redial *r, uint32_t nurls, int most_ms, uint64_t seed);

/* An attempt has failed, or its connection has ended. held: it was a good one. refused_ms: how long to wait if no controller takes this agent;
 * 0: it was not refused. Time until the next attempt, in ms, and r->at is for that. O(1). */
int redial_ended(struct redial *r, bool held, int refused_ms);

/* How many words the list has, which is separated by blanks. O(length). */
uint32_t redial_words(const char *list);
/* Copies URL i of a list that is separated by blanks. False: there are fewer, or it is longer than REDIAL_URL_MAX. */
bool redial_url(const char *list, uint32_t i, char url[REDIAL_URL_MAX + 1]);

#endif
