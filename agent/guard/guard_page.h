/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent and its guardian agree on; for guard.c and guardian.c. */
#ifndef AGENT_GUARD_GUARD_PAGE_H
#define AGENT_GUARD_GUARD_PAGE_H

#include <stdint.h>

enum {
	GUARD_PIPE = 3,
	GUARD_PAGE,
	GUARD_TABLE,
	GUARD_FILES = 3
}; /* where the guardian finds its files */
enum {
	GUARD_GAPS = 4
}; /* a look that comes later than this part of the limit is not a regular one */

struct guard_page {       /* words are stored whole */
	uint64_t turns;   /* of the agent */
	uint64_t looks;   /* of the guardian */
	uint64_t burying; /* 1: it ends the sessions of an agent that hangs */
	uint64_t burials; /* how often it has */
};

#endif
