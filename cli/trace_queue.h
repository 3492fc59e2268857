/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traces on their way from the thread that reads files to the one that analyses
 * them, in order. They travel in batches, so that the lock is taken once for many,
 * and no more of them wait than the queue has room for.
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
void trace_queue_free(
    struct trace_queue *q); /* and the traces still in it; nobody may be in a call on it */

/* ---- the reader's ---- */
/* Takes the trace; waits while the queue is full. false: it was closed, and the trace freed. */
bool trace_queue_put(struct trace_queue *q, struct trace *t);
void trace_queue_end(struct trace_queue *q); /* nothing more comes; hands over what there is */

/* ---- the analyst's ---- */
/* The next batch, the traces in it the caller's, itself until the next call; waits up to wait_ms.
 * NULL and *over: nothing more comes; NULL: nothing came meanwhile. */
struct trace_batch *trace_queue_take(struct trace_queue *q, int wait_ms, bool *over);
void trace_queue_close(struct trace_queue *q); /* takes no more: the reader is to stop */

#endif
