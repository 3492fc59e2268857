/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs hone-below --record and takes the kernel events that it delivers. */
#ifndef CLI_BELOW_RECORD_H
#define CLI_BELOW_RECORD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "kernel/kernel_stream.h"

enum { BELOW_RECORD_ARGUMENTS_MAX = 32 };

struct below_record;

struct below_record_options {
	const char *arguments
	    [BELOW_RECORD_ARGUMENTS_MAX]; /* of hone-below, behind --record and --reader; NULL after the last */
	struct kernel_reader_options reader;
};

/* Starts it. From here on SIGINT and SIGTERM do not end this process: below_record_wait() says that they came. ERR_MISSING: hone-below
 * is not installed; ERR_SYSTEM, ERR_MEMORY. */
int below_record_start(
    struct below_record **ret, const struct below_record_options *o, struct err *e);
/* Ends it, if it has not ended, and waits for that: 10 s at most, then it is killed. NULL is fine. */
void below_record_close(struct below_record *b);

enum below_record_turn {
	BELOW_RECORD_RUNS,
	BELOW_RECORD_ASKED, /* SIGINT or SIGTERM has come: it is asked to end, and what it has is still to come */
	BELOW_RECORD_ENDED /* all was taken */
};

/* Takes what comes within that time. Returns an enum below_record_turn; ERR_PEER: it has ended in the middle of something, ERR_INPUT, or an
 * error of a taker. */
int below_record_wait(struct below_record *b, int ms, struct err *e);

/* Asks it to end. */
void below_record_stop(struct below_record *b);

#endif
