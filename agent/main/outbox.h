/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batches that the controller does not have yet: those never sent wait, those
 * sent are kept until they are acknowledged, so that a connection or a
 * controller may die and nothing is lost.
 *
 *	oldest                                                     newest
 *	+----------------------------+------+----------------------------+
 *	| sent, numbered 7 8 9 10 11 | hole | waiting, no numbers yet    |
 *	+----------------------------+------+----------------------------+
 *
 * A batch gets its sequence number when it is sent for the first time, so the
 * numbers have no gaps, ever. When memory is full, the oldest waiting batch is
 * dropped, never one that was sent, since that may have arrived. What was
 * dropped is the hole: it is sent in its place, as a batch that holds nothing but
 * the losses. So whoever reads in order hears of a loss before what came after.
 *
 * Any thread may call; one thread at a time sends.
 */
#ifndef AGENT_MAIN_OUTBOX_H
#define AGENT_MAIN_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/record.h"

struct outbox;

struct parcel {           /* a batch and what has to be known of it should it be dropped */
	struct buf bytes; /* encoded */
	uint64_t records;
	int64_t from_ns, to_ns; /* of the records */
	int64_t watermark_ns;
	struct loss
	    losses[LOSS_REASONS]; /* those reported in it, added up; by reason; count 0: none */
};

struct outbox_stats {
	size_t held_bytes, waiting_bytes, limit_bytes;
	uint32_t unacknowledged;                         /* sent batches */
	uint64_t sent, dropped_batches, dropped_records; /* since the start */
};

struct outbox *outbox_new(size_t limit_bytes); /* NULL: out of memory */
void outbox_free(struct outbox *o);

/* Takes the parcel's bytes, which are empty after it. Never fails: drops the oldest that waits, or,
 * when all that is held was sent, this one. O(1), and O(dropped). */
void outbox_put(struct outbox *o, struct parcel *p);

/* The number of the oldest sent batch, or of the next to be made. */
uint64_t outbox_first(struct outbox *o);

/* A new connection: the controller has all up to have_seq. What is held beyond is sent again,
 * oldest first. ERR_INPUT: it claims to have what was never sent. */
int outbox_restart(struct outbox *o, uint64_t have_seq, struct err *e);

/* The next batch to send, if fewer than `window` are unacknowledged: its number, or 0 for none. The
 * bytes are valid until outbox_sent(), which must follow, sent or not. */
uint64_t outbox_next(struct outbox *o, uint32_t window, const uint8_t **data, size_t *len);
void outbox_sent(struct outbox *o);
bool outbox_ready(struct outbox *o, uint32_t window);

/* All up to seq have arrived. ERR_INPUT: that was never sent on this connection. */
int outbox_ack(struct outbox *o, uint64_t seq, struct err *e);

void outbox_stats(struct outbox *o, struct outbox_stats *ret);

#endif
