/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a program is not read any more, and the decision where it is about its ring buffers: what it writes to its own
 * ones, which it can, would blind the agent to all other programs. A full ring makes the controller pause all
 * diagnoses, and one that is not drained holds the watermark back. Pure: no clock, no file.
 */
#ifndef AGENT_READER_QUARANTINE_H
#define AGENT_READER_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

enum quarantine {
	QUARANTINE_NONE,
	QUARANTINE_DAMAGED,   /* it shortened the file of a ring, or overwrote its beginning */
	QUARANTINE_POSITIONS, /* its positions are impossible */
	QUARANTINE_STUCK,     /* it is full, or not drained, for most of the time */
	QUARANTINE_OVERRUN,   /* it does not obey the table of rates (overrun.h) */
	QUARANTINE_USER,      /* of a user that agent.users does not list */
};

/* A program's rings at one poll. */
struct ring_looks {
	bool damaged;
	bool invalid; /* impossible positions in one of them */
	bool stuck;   /* one is over 90 % full, lost records since the last poll, or is stalled */
	bool drains;  /* the consumer daemon is known to read other rings, or this one */
};

struct suspicion { /* all zeroes: none */
	int64_t looked_ns;
	int64_t invalid_ns, stuck_ns, alone_ns; /* sums, see quarantine_decide() */
};

/*
 * 1. damaged: at once.
 * 2. Positions that were impossible for 1 s: an honest program's never are.
 * 3. Stuck for 10 s longer than not, while the consumer daemon drains rings. An honest program that
 *    overflows its ring writes less within seconds, since the controller samples fewer requests.
 * 4. The same for 60 s, whatever the consumer daemon does: if it hangs, all that is lost is a program
 *    that would not be read anyhow, until the session is made again.
 *
 * now_ns: CLOCK_MONOTONIC, of the poll. At most 0.5 s between two polls counts as stuck, since nobody
 * looked. O(1).
 */
enum quarantine quarantine_decide(
    struct suspicion *s, const struct ring_looks *looks, int64_t now_ns);

#endif
