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
	struct buf payload; /* the whole WANT that was sent last */
	struct buf renewal; /* one that renews it */
	uint64_t epoch;
	int64_t lease_ms;
	bool any, told; /* told: the whole one was sent on this connection */
	struct mono at;
};

/*
 * The payload of the WANT that has to be sent now, in s and valid until the next call; NULL: none.
 *
 *	new epoch, safe		sent at once. safe: the desired state is in the database, and no queue
 *				is full
 *	new epoch, not safe	sent at once only if it enables no further tracepoint, so that a full
 *				disk does not keep tracepoints enabled that are no longer needed. One that enables some and disables others is not
 *				sent, and the last one is not renewed: all of it is off when its lease ends, also on a node that connects again
 *	else			the lease is renewed after 0.9 s: by epoch and lease alone if the agent has reported DONE for it on
 *				this connection (confirmed: the epoch of its last DONE, 0: none), else the last one is sent again
 *
 * If memory is out, a new epoch is tried again with the next call. O(1); O(n log n) of the toggles
 * if a new epoch is not safe.
 */
const struct buf *sent_due(struct sent *s, const struct want *desired, bool safe,
    uint64_t confirmed, struct mono now, struct arena *scratch);
/* When the lease is to be renewed if nothing changes; 0: nothing was sent yet. */
struct mono sent_renewal(const struct sent *s);
void sent_release(struct sent *s);

#endif
