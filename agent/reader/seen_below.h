/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What hone-below saw of threads whose requests are known later: their waits and samples, with places in the code, for a while. Those of the
 * last SEEN_NS at least, but no more than SEEN_MAX and SEEN_BYTES_MAX of them, twice.
 */
#ifndef AGENT_READER_SEEN_BELOW_H
#define AGENT_READER_SEEN_BELOW_H

#include "agent/reader/record_list.h"
#include "base/arena.h"

#define SEEN_NS INT64_C(5000000000)
enum { SEEN_MAX = 16384, SEEN_BYTES_MAX = 8 << 20 };

struct seen_below { /* all zeroes is empty */
	struct {
		struct record_list records; /* by time, almost */
		struct arena arena;
		int64_t from_ns, last_ns; /* of its first record; the latest */
	} parts[2];
	int now; /* part that records are added to */
};

void seen_below_release(struct seen_below *s);
/* Copies it. What comes late is dropped. False: out of memory. O(1). */
bool seen_below_add(struct seen_below *s, const struct record *r);

/* Calls `take` for each record of the thread from from_ns to to_ns. O(log n + records of that time). */
typedef void seen_below_take(void *of, const struct record *r);
void seen_below_find(const struct seen_below *s, uint32_t tid, int64_t from_ns, int64_t to_ns,
    seen_below_take *take, void *of);

#endif
