/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flight recorder of a node: tracepoints that are recorded into memory, where the newest records replace the oldest, and of which
 * the controller asks for those of one trace after it has ended (keep). The agent answers each keep once (kept), with what it has
 * and with what it may lack.
 */
#ifndef WIRE_KEEP_H
#define WIRE_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/record.h"

enum {
	KEPT_RECORDS_MAX = 8192, /* of one trace and node; further ones are counted in `cut` */
	KEPT_BATCH_MAX = 900000, /* bytes of its batch */
	KEPT_FAILURE_MAX = 255,
	KEEPS_MAX = 64, /* that wait in an agent; further ones are answered BUSY */
};

struct keep {
	uint64_t number;        /* the controller's, which the answer repeats */
	uint64_t trace_id;      /* not 0 */
	int64_t from_ns, to_ns; /* the trace lasted so long, by the node's CLOCK_MONOTONIC */
};

enum kept_result {
	KEPT_READ,        /* the rings were read; what they lack is in the counts */
	KEPT_NO_RECORDER, /* the node's flight recorder was not on */
	KEPT_REFUSED,     /* the tracer made no snapshot */
	KEPT_UNREADABLE,  /* the snapshot could not be read */
	KEPT_BUSY,        /* KEEPS_MAX keeps were waiting */
	KEPT_SILENT,      /* of the controller alone: the agent did not answer, or is gone */
	KEPT_RESULTS
};

/* "read", "no-recorder", "refused", "unreadable", "busy", "silent". */
const char *kept_result_word(enum kept_result r);

struct kept {
	uint64_t number, trace_id;
	uint8_t result;
	uint32_t rings; /* that were read: one for each process and processor */
	/* Of these, whose records of the time of the trace were replaced, all or some, before the snapshot. */
	uint32_t overwritten;
	uint32_t
	    unlisted; /* programs that were not read, since agent.users does not list their users */
	uint64_t undecoded; /* packets, or parts of them, that are malformed */
	uint64_t cut;       /* records beyond KEPT_RECORDS_MAX or KEPT_BATCH_MAX */
	int64_t
	    horizon_ns; /* all rings have everything since then, by the node's CLOCK_MONOTONIC; 0: no ring was read */
	const char *failure; /* why not READ; NULL is "" */
	const void *
	    batch; /* the records in time order, encoded as a batch (wire/record.h); nothing unless READ */
	size_t batch_len;
};

/* Encoders append to *b; its `failed` reports lack of memory. Decoders check everything and leave *ret unchanged on failure:
 * ERR_INPUT, ERR_MEMORY; the batch is not looked into, and points into data. O(len). */
void keep_encode(const struct keep *k, struct buf *b);
int keep_decode(struct keep *ret, const void *data, size_t len, struct err *e);
void kept_encode(const struct kept *k, struct buf *b);
int kept_decode(struct kept *ret, struct arena *a, const void *data, size_t len, struct err *e);

#endif
