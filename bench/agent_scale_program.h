/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State and commands of a program of the scale bench, in a file that both the program and the bench
 * map. */
#ifndef AGENT_SCALE_PROGRAM_H
#define AGENT_SCALE_PROGRAM_H

#include <stdint.h>

struct scale_state { /* every word is stored whole */
	uint64_t ready;
	uint64_t on; /* scale:t0000 is armed */
	int64_t on_ns,
	    off_ns; /* CLOCK_MONOTONIC of the last change of each kind, detected within about 50 us */
	uint64_t
	    rate; /* set by the bench: requests a second, each of FIRED_EACH records of scale:t0001 and two of libhone's */
	uint64_t requests;
	uint64_t watching; /* set by the bench: watch the enabler state, 20000 times a second */
};

enum { FIRED_EACH = 18 };

#endif
