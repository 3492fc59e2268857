/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What Redis' event loop does, so that a request can say what it waited for.
 * Redis wakes, reads and executes the commands of all clients that have sent
 * some, one after the other, and only then writes the replies. So a request waits
 * for the commands before it, and its reply for those after it.
 *
 * The clock is asked only while somebody listens to the tracepoints that tell.
 */
#ifndef HONE_REDIS_LOOP_H
#define HONE_REDIS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "instrument/redis/redis_names.h"

/* The command that took longest. In `nth` place since the loop woke, from 1; 0: there was none. */
struct longest {
	const struct name *name;
	uint64_t ns;
	uint32_t nth;
};

struct loop {
	bool watched;    /* the members below but `served` are kept */
	bool cron;       /* serverCron() has run since the loop woke */
	bool closed;     /* the round is over: replies are being written, then it sleeps */
	uint32_t served; /* commands begun since the loop woke */
	uint64_t woke_ns, away_ns;  /* when, and how long it was away before that */
	struct longest now, before; /* since it woke; and in the round before */
	const struct name *running;
	uint64_t since_ns;
};
extern struct loop loop;

/* From the loop's events. */
void loop_woke(void);
void loop_sleeps(void);

/* A command begins: what was running has ended. */
void loop_begins(const char *name, size_t length);
void loop_ends(void);

/* What the command that has just begun may have waited for. What came before this round counts if
 * the loop was not away: then the request had come meanwhile. And what a reply has waited for, of
 * the command that was the nth. */
struct longest loop_before(void);
struct longest loop_after(uint32_t nth);

const char *longest_name(const struct longest *l);
uint64_t loop_awake_us(void);

#endif
