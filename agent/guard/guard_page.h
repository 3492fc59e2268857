/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent (guard.c) and its guardian (guardian.c) share: descriptors and a page of memory.
 */
#ifndef AGENT_GUARD_GUARD_PAGE_H
#define AGENT_GUARD_GUARD_PAGE_H

#include <stdint.h>

/* The guardian's descriptors. */
enum { GUARD_PIPE = 3, GUARD_PAGE, GUARD_TABLE, GUARD_FILES = 3 };

/* A look that comes later than hang_ns / GUARD_GAPS after the one before is not a regular one. */
enum { GUARD_GAPS = 4 };

/* Each member is loaded and stored atomically. */
struct guard_page {
	uint64_t turns;   /* of the agent */
	uint64_t looks;   /* of the guardian */
	uint64_t burying; /* 1 while the guardian ends the sessions of an agent that hangs */
	uint64_t burials; /* number of times that it has ended them */
};

#endif
