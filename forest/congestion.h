/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why nothing more is enabled: the queue that is full, or the agent that has shed load. */
#ifndef FOREST_CONGESTION_H
#define FOREST_CONGESTION_H

#include "forest/reason.h"
#include "wire/agent_messages.h"

struct congestion {                   /* all zeroes: none */
	enum reason reason;           /* MAILBOX_FULL, QUEUE_FULL, LOAD_SHED or NONE */
	char node[NODE_NAME_MAX + 1]; /* of the agent; MAILBOX_FULL: "" */
	enum queue queue;             /* of that agent; not of MAILBOX_FULL */
	double fill;                  /* of that queue, 0 to 1 */
	char program[NODE_NAME_MAX +
		     1];  /* whose ring buffer that is; "": another queue, or not known */
	uint32_t pid;     /* of that program */
	uint32_t others;  /* QUEUE_FULL: further agents with a full queue */
	double backoff_s; /* LOAD_SHED: nothing is enabled there for this long */
};

enum { CONGESTION_TEXT_MAX = 320 };
/* As text, for the log and for the error of a refused question: "agent n1: ring 93 % full (cart, process 7)". out has
 * CONGESTION_TEXT_MAX bytes and is returned; "" for NONE. */
const char *congestion_print(const struct congestion *c, char out[CONGESTION_TEXT_MAX]);

#endif
