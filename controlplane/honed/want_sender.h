/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an agent was told to do, and when it has to be told again. */
#ifndef CONTROLPLANE_HONED_WANT_SENDER_H
#define CONTROLPLANE_HONED_WANT_SENDER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "wire/toggle.h"

struct sent {               /* all zeroes: nothing yet */
	struct buf payload; /* the WANT that was sent last */
	uint64_t epoch;
	bool any;
	struct mono at;
};

/*
 * Must something be sent now? Then payload holds it. A new epoch goes at once when it is `safe` (in
 * the database, and no queue is full); when it is not, only if it turns nothing more on: a full
 * disk must not keep tracepoints on that were given up. Else the last one goes again, at least each
 * second, to renew the lease. O(1), and O(n log n) of the toggles when not safe.
 */
bool sent_due(struct sent *s, const struct want *now_wanted, bool safe, struct mono now,
    struct arena *scratch);
void sent_release(struct sent *s);

#endif
