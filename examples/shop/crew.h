/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that take work from a queue. Work that is given to a crew within a
 * request is handed on in Hone's sense: the carrier lies in the queue's entry.
 */
#ifndef SHOP_CREW_H
#define SHOP_CREW_H

#include <stdint.h>
#include "instrument/hone.h"

struct crew;

/* A piece of work. The caller owns it, until crew_wait() returned it need only stay. */
struct task {
	const char *name; /* the unit's */
	void (*run)(void *arg);
	void *arg;
	struct hone_carrier carrier; /* the rest belongs to the crew */
	struct task *next;
	int done;
};

/* Threads of its own; for the program's life. NULL: no threads to be had. */
struct crew *crew_new(int threads);
void crew_give(struct crew *c, struct task *t);
void crew_wait(struct crew *c, struct task *t);
int64_t crew_queued(struct crew *c); /* given, but not begun */

#endif
