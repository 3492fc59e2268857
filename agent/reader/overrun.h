/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides which programs are not read any more because they do not obey the table of rates. The controller lowers the shares of
 * requests until a node's cost is within its limit. Where it says that the node is over it although all shares are at their
 * least (struct want, `overrun`), and one user's programs still write more than programs that obey would, the shares of
 * everybody else are so low because of these. Pure.
 */
#ifndef AGENT_READER_OVERRUN_H
#define AGENT_READER_OVERRUN_H

#include <stdbool.h>
#include <stdint.h>

/* Records a second of one user's programs: at the least share, 1 % of the requests, two million a second if all were sampled. */
#define OVERRUN_RECORDS 20000.0
#define OVERRUN_NS INT64_C(10000000000)

struct writer {
	void *of;         /* the caller's */
	uint32_t user;    /* UINT32_MAX: not known */
	uint64_t records; /* since the last look */
	bool ended;       /* result: it is not read any more */
};

struct overrun { /* all zeroes: nothing was seen */
	int64_t looked_ns;
	int64_t
	    told_ns; /* how long the controller has said so, less the time in which it has not */
};

/*
 * Once a second or less often.
 *
 * 1. The controller has said for OVERRUN_NS longer than not that the node is over its limit.
 * 2. The user whose programs wrote the most since the last look, OVERRUN_RECORDS a second or more.
 * 3. Of them the program that wrote the most, and the next, until the others write less than that.
 *
 * The list is in another order afterwards, and has no programs of mappings, which write whatever the shares are. Returns how many
 * have ended. At most 2 s between two looks count. O(n log n).
 */
uint32_t overrun_decide(
    struct overrun *o, bool told, struct writer *list, uint32_t n, int64_t now_ns);

#endif
