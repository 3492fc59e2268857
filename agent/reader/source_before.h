/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stage that says what a thread did before it began a unit, where hone-below reports that also of threads in no probed request
 * (BELOW_FOLLOW_BEFORE):
 *
 *	waits and samples of the thread:   ...   W1   W2   S   |unit begins
 *	                                         '----'----'---'--> W1, W2, S again, as records of that unit, at its begin
 *
 * Their field before_ns says how long before the begin each was. Waits and samples without a trace go no further. The stage is a source
 * itself, in time order, with the watermark of the inner one.
 */
#ifndef AGENT_READER_SOURCE_BEFORE_H
#define AGENT_READER_SOURCE_BEFORE_H

#include "agent/reader/source.h"

enum {
	BEFORE_EACH_MAX = 24,      /* of a thread, the newest */
	BEFORE_THREADS_MAX = 1024, /* a newer one takes the place of another */
	BEFORE_VALUES_MAX = 16     /* of a wait or a sample; one with more is not remembered */
};
#define BEFORE_NS INT64_C(1000000000) /* what ended longer before the begin is not said */

/* Takes ownership of *inner, also on failure (then it is closed). *wanted: whether some process is followed so; while it is not, records
 * pass untouched and nothing is remembered. Must live as long as the source. At most 16 MiB. O(1) for each wait and sample, and
 * O(those of the thread) for each begin of a unit. ERR_MEMORY. */
int source_before_open(
    struct source *ret, const struct source *inner, const bool *wanted, struct err *e);

#endif
