/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The iterations of Redis' event loop, which determine what a request waits for.
 * In an iteration Redis wakes, reads and executes the commands of all clients that
 * have sent some, one after the other, and only then writes the replies. So a
 * request waits for the commands before it, and its reply for those after it.
 *
 * Time is measured only while a tracepoint that records it is enabled.
 */
#ifndef HONE_REDIS_LOOP_H
#define HONE_REDIS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "instrument/redis/redis_names.h"

/* The command that took longest: `ns` nanoseconds, as the nth command since the loop woke, counted
 * from 1; 0: there was no command. */
struct longest {
	const struct name *name;
	uint64_t ns;
	uint32_t nth;
};

struct loop {
	bool watched;    /* times are measured in this iteration */
	bool cron;       /* serverCron() has run since the loop woke */
	bool closed;     /* all commands were executed: replies are written, then the loop sleeps */
	uint32_t served; /* commands begun since the loop woke */
	uint64_t woke_ns, away_ns;  /* when it woke (CLOCK_MONOTONIC), after how long */
	struct longest now, before; /* of this iteration; of the one before */
	const struct name *running;
	uint64_t since_ns; /* when the command that began last did */
};
extern struct loop loop;

/* To be called on the loop's events: after sleep, and before sleep. */
void loop_woke(void);
void loop_sleeps(void);

/* A command begins, and the one that ran has ended; the running command has ended. */
void loop_begins(const char *name, size_t length);
void loop_ends(void);

/* loop_before(): the longest command that the one that has just begun may have waited for. Commands of
 * the iteration before count if the loop did not sleep in between, since the request may have arrived
 * during that iteration. loop_after(): the longest command that the reply to the nth command has
 * waited for; all zeroes if the longest one came before. */
struct longest loop_before(void);
struct longest loop_after(uint32_t nth);

/* The command's name, or "none". */
const char *longest_name(const struct longest *l);
/* Microseconds from the waking of the loop to the begin of the last command; 0 if not measured. */
uint64_t loop_awake_us(void);

#endif
