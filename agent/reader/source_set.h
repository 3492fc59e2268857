/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several sources as one: their records in one time order, under the least of their watermarks,
 * with one numbering of labels.
 *
 *	member 0: poll -> records up to its watermark --.
 *	member 1: poll -> records up to its watermark ---+-> records up to the least watermark
 *	                                                 '-> later ones are copied and pending
 */
#ifndef AGENT_READER_SOURCE_SET_H
#define AGENT_READER_SOURCE_SET_H

#include "agent/reader/source.h"

enum { SOURCE_SET_MAX = 8 };

/*
 * Takes ownership of the n members (1 to SOURCE_SET_MAX), also on failure: then they are closed. Of
 * one member *ret is that member, at no cost. ERR_MEMORY.
 *
 * A member must not hold its watermark back for good (source_options.stall_ns): if more than
 * memory_bytes (0: 64 MiB) of records are pending, the watermark goes on without the last member,
 * whose records up to there are late then. A member whose poll fails delivers no records in that
 * poll and its error is the trouble; the set's poll fails if those of all members do. Cost: a copy
 * and O(log n) of sorting for each pending record.
 */
int source_set_open(struct source *ret, const struct source *members, uint32_t n,
    size_t memory_bytes, struct err *e);

#endif
