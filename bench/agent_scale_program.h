/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State and commands of a program of the scale bench, in a file that both the program and the bench
 * map. */
#ifndef AGENT_SCALE_PROGRAM_H
#define AGENT_SCALE_PROGRAM_H

#include <stdint.h>

struct scale_state { /* every word is stored whole */
	uint64_t ready;
	uint64_t on;           /* scale:t0000 is armed */
	int64_t on_ns, off_ns; /* CLOCK_MONOTONIC, the last time each, seen within 50 us or so */
	uint64_t rate; /* told: requests a second, each of FIRED_EACH records of scale:t0001 and two
	                  of libhone's */
	uint64_t requests;
	uint64_t watching; /* told: look for on, 20000 times a second */
};

enum { FIRED_EACH = 18 };

#endif
