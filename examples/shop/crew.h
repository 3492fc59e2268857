/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pool of threads that take tasks from a queue. A task given within a request is
 * work handed over (hone_fork()): its carrier is in the entry of the queue.
 */
#ifndef SHOP_CREW_H
#define SHOP_CREW_H

#include <stdint.h>
#include "instrument/hone.h"

struct crew;

/* A task. The caller owns it, and keeps it unchanged until crew_wait() has returned. */
struct task {
	const char *name; /* of the unit */
	void (*run)(void *arg);
	void *arg;
	struct hone_carrier carrier; /* set by the crew, like the members below */
	struct task *next;
	int done;
};

/* Creates a crew, which lives as long as the program. NULL: the threads could not be created. */
struct crew *crew_new(int threads);
void crew_give(struct crew *c, struct task *t);
void crew_wait(struct crew *c, struct task *t);
int64_t crew_queued(struct crew *c); /* tasks given and not begun */

#endif
