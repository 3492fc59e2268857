/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The desired state that was last sent to an agent, and when one has to be sent again. */
#ifndef CONTROLPLANE_HONED_WANT_SENDER_H
#define CONTROLPLANE_HONED_WANT_SENDER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "wire/toggle.h"

struct sent {               /* all zeroes: none was sent */
	struct buf payload; /* the WANT that was sent last */
	uint64_t epoch;
	bool any;
	struct mono at;
};

/*
 * Whether a WANT has to be sent now; s->payload is then the frame to send.
 *
 *	new epoch, safe		sent at once. safe: the desired state is in the database, and no queue
 *				is full
 *	new epoch, not safe	sent at once only if it enables no further tracepoint, so that a full
 *				disk does not keep tracepoints enabled that are no longer needed
 *	else			the last one is sent again after 0.9 s, which renews the lease
 *
 * If memory is out, a new epoch is tried again with the next call. O(1); O(n log n) of the toggles
 * if a new epoch is not safe.
 */
bool sent_due(
    struct sent *s, const struct want *desired, bool safe, struct mono now, struct arena *scratch);
void sent_release(struct sent *s);

#endif
