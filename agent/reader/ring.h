/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The head of an LTTng-UST ring buffer, mapped from the file that
 * lttng_set_session_shm_path() makes of it. Its layout is the one that
 * lttng-crash(1) reads ("crash ABI" 0.0), so it may be relied on.
 */
#ifndef AGENT_READER_RING_H
#define AGENT_READER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ring { /* all zeroes: not mapped */
	const uint8_t *head;
	size_t head_bytes;
	uint32_t produced_at, consumed_at;
	uint64_t bytes, packet_bytes; /* of the ring, of one of its sub-buffers */
	bool no_lost;                 /* ring_lost() has been found to be something else */
};

/* 0; ERR_MISSING: there, but not made up yet, try again; ERR_VERSION: of another layout;
 * ERR_SYSTEM. The mapping holds when the file is removed. */
int ring_map(struct ring *r, int dir, const char *name, struct err *e);
void ring_unmap(struct ring *r);

/* Bytes since the ring was made: written so far (by reservation), and read out by the consumer
 * daemon. Whole packets in steps of packet_bytes; what is reserved before the call is counted. One
 * load. */
uint64_t ring_produced(const struct ring *r);
const uint64_t *ring_produced_word(const struct ring *r); /* where it stands; valid while mapped */
uint64_t ring_consumed(const struct ring *r);

/* Records that found the ring full since it was made. Not part of the ABI, only known of
 * liblttng-ust 2.13: false where it cannot be right. The caller compares it with what packets say
 * and sets no_lost where they differ. */
bool ring_lost(const struct ring *r, uint64_t *ret);

#endif
