/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A snapshot of the flight recorder as a folder of the tracer: what its rings held of some traces.
 *
 *	FOLDER/NAME/ust/pid/COMM-PID-DATE-TIME/metadata		text in packets
 *	                                      /CHANNEL_CPU	the packets of one ring, the oldest first
 *
 * Packets of a ring are numbered from 0, so it is known whether older ones were replaced: then the first of those that are left says
 * since when the ring has everything.
 */
#ifndef AGENT_READER_SNAPSHOT_H
#define AGENT_READER_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/reader/listed_users.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/keep.h"

enum {
	SNAPSHOT_PROCESSES_MAX = 4096,
	SNAPSHOT_METADATA_MAX = 8 << 20, /* bytes of one program; more is malformed */
	SNAPSHOT_RING_MAX = 64 << 20,    /* the same of one ring */
	/* Records of all keeps together; beyond it they are cut. */
	SNAPSHOT_RECORDS_MAX = 4 * KEPT_RECORDS_MAX,
};

struct snapshot;

/* Finds the programs in the folder. keeps: at most KEEPS_MAX, copied. users: NULL or empty: everybody's programs are read. ERR_INPUT: it
 * is no snapshot; ERR_MEMORY, ERR_SYSTEM. */
int snapshot_open(struct snapshot **ret, const char *folder, const char *channel,
    const struct keep *keeps, uint32_t nkeeps, const struct listed_users *users, struct err *e);
void snapshot_close(struct snapshot *s); /* NULL is fine; the folder stays */

/* Reads one ring. False: there is none left. O(bytes of the ring), about 0.2 us for a record. */
bool snapshot_step(struct snapshot *s);

/* After the last step: the answer to keeps[i], with its records encoded into *batch, to which ret->batch points. ERR_MEMORY. O(n log n) in its
 * records. */
int snapshot_kept(
    struct snapshot *s, uint32_t i, struct kept *ret, struct buf *batch, struct err *e);

/* Records of all traces that were read so far, and the bytes that they take in the rings. */
void snapshot_size(const struct snapshot *s, uint64_t *records, uint64_t *bytes);

#endif
