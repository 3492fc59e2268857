/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a traced program, in a file that the program and its observers map. */
#ifndef AGENT_PROGRAM_H
#define AGENT_PROGRAM_H

#include <stdint.h>

struct program_state {                  /* every word is stored whole */
	uint64_t on;                    /* agentp:ev000 is armed */
	uint64_t turned_on, turned_off; /* how often */
	int64_t on_ns, off_ns; /* CLOCK_MONOTONIC, the last time each, seen within 20 us or so */
	uint64_t fired;        /* agentp:ev000 passed its filter */
	uint64_t requests, probed;
};

#endif
