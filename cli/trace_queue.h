/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A bounded queue of traces, in order, from the thread that reads files to the thread that analyses
 * them. Traces are handed over in batches, so that the lock is taken once for up to 64 traces.
 */
#ifndef CLI_TRACE_QUEUE_H
#define CLI_TRACE_QUEUE_H

#include "analysis/trace.h"

enum { QUEUE_BATCHES = 8, QUEUE_BATCH_TRACES = 64, QUEUE_BATCH_BYTES = 1 << 20 };

struct trace_batch {
	uint32_t n;
	size_t bytes;
	struct trace *traces[QUEUE_BATCH_TRACES];
};

struct trace_queue;

struct trace_queue *trace_queue_new(void); /* NULL: out of memory */
/* Also frees the traces still in it. No other thread may use the queue any more. NULL is fine. */
void trace_queue_free(struct trace_queue *q);

/* ---- for the reading thread ---- */

/* Takes ownership of the trace. Waits while all 8 batches are full. false: the queue was closed,
 * and the reader should stop. */
bool trace_queue_put(struct trace_queue *q, struct trace *t);
/* Hands over the last batch. Call it once, after the last trace_queue_put(). */
void trace_queue_end(struct trace_queue *q);

/* ---- for the analysing thread ---- */

/* Returns the next batch after at most wait_ms; NULL with *over true: the queue has ended; NULL
 * with *over false: no batch in that time. The traces in the batch are the caller's; the batch
 * itself is valid until the next call. */
struct trace_batch *trace_queue_take(struct trace_queue *q, int wait_ms, bool *over);
/* Accepts no more traces; a waiting trace_queue_put() returns false. */
void trace_queue_close(struct trace_queue *q);

#endif
