/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batches that the controller does not have yet: those that were not sent wait, those that were sent
 * are kept until they are acknowledged, so that no record is lost with a connection or a controller.
 *
 *	oldest                                                     newest
 *	+----------------------------+------+----------------------------+
 *	| sent, numbered 7 8 9 10 11 | hole | waiting, no numbers yet    |
 *	+----------------------------+------+----------------------------+
 *
 * A batch gets its sequence number when it is sent for the first time, so the numbers have no gaps.
 * At the limit of memory the oldest waiting batch is dropped, never one that was sent, since that may
 * have arrived. Dropped batches are the hole: in their place a batch is sent that holds only their
 * losses. So a reader learns of a loss before it reads what came after it.
 *
 * Any thread may call; one thread at a time may use outbox_next() and outbox_sent().
 */
#ifndef AGENT_LINK_OUTBOX_H
#define AGENT_LINK_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/record.h"

struct outbox;

struct parcel {           /* a batch, and what is reported if it is dropped */
	struct buf bytes; /* encoded */
	uint64_t records;
	int64_t from_ns, to_ns; /* of the records */
	int64_t watermark_ns;
	struct loss losses[LOSS_REASONS]; /* sums of those in it, by reason; count 0: none */
};

struct outbox_stats {
	size_t held_bytes, waiting_bytes, limit_bytes;
	uint32_t unacknowledged;                         /* sent batches */
	uint64_t sent, dropped_batches, dropped_records; /* since the start */
};

struct outbox *outbox_new(size_t limit_bytes); /* NULL: out of memory */
void outbox_free(struct outbox *o);

/* Takes the parcel, which is empty afterwards. At the limit of memory it drops the oldest that wait,
 * or, if all were sent, this one. Out of memory: all that wait and this one. O(1 + dropped). */
void outbox_put(struct outbox *o, struct parcel *p);

/* The number of the oldest batch that was sent and not acknowledged, or of the next to be sent. */
uint64_t outbox_first(struct outbox *o);

/* A new connection: the controller has all up to have_seq. Later ones are sent again, oldest first.
 * ERR_INPUT: have_seq was never sent. */
int outbox_restart(struct outbox *o, uint64_t have_seq, struct err *e);

/* The number of the next batch to send, if fewer than `window` were sent on this connection and not
 * acknowledged; else 0. After another number outbox_sent() must follow, whether it was sent or not;
 * until then the bytes are valid. */
uint64_t outbox_next(struct outbox *o, uint32_t window, const uint8_t **data, size_t *len);
void outbox_sent(struct outbox *o);
/* outbox_next() has a batch. */
bool outbox_ready(struct outbox *o, uint32_t window);

/* All up to seq have arrived. ERR_INPUT: seq was not sent on this connection. */
int outbox_ack(struct outbox *o, uint64_t seq, struct err *e);

void outbox_stats(struct outbox *o, struct outbox_stats *ret);

#endif
