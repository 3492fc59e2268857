/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One partition of a shard: records in, rows out. Pure: what comes and when are arguments, so a test runs any number of them beside one
 * assembler that has all records.
 *
 *	hone.records[p] --> numbers --> sections --> assembler --> rows --> hone.rows
 *
 * - Each trace waits for the watermarks of all nodes, as with analysis.order = 0s, so that rows come in order of (due, id) (assemble_due_ns()): by that the
 *   decider knows what it has had already.
 * - Missing messages of a gate are a loss in the time between the watermarks before and after them, on each node of that gate: traces
 *   there are lossy, and no evidence.
 * - A gate whose watermarks are silent_ns behind those of another one, or that begins a new run, has left: nobody waits for its nodes.
 *   So nothing depends on when a message is read: whoever reads the same messages makes the same rows, also after a standstill.
 * - Which nodes there are is known only when all have spoken. So no row is made in the first hello_ns by the times at which gates have made
 *   messages: watermarks of a node that lags behind may pass that in a moment.
 * - partition_shard_keep() is the first message that is still needed. Whoever takes the partition over reads from there; what it makes again has
 *   the same (due, id), and the decider drops it.
 */
#ifndef CONTROLPLANE_RELAY_PARTITION_SHARD_H
#define CONTROLPLANE_RELAY_PARTITION_SHARD_H

#include "analysis/assemble.h"
#include "controlplane/relay/rows.h"
#include "controlplane/relay/split.h"

struct partition_shard;

enum {
	SHARD_NODES_MAX = 16384
}; /* as many as a decider takes; sections of further ones are refused */

struct partition_shard_options {
	struct assemble_options assemble; /* order_ns is taken as 0 */
	int64_t silent_ns;
	int64_t hello_ns; /* longer than any agent is silent, less than assemble.patience_ns */
	uint32_t partition;
};

int partition_shard_new(
    struct partition_shard **ret, const struct partition_shard_options *o, struct err *e);
void partition_shard_free(struct partition_shard *s);

/* Takes the message at `offset` of the partition. A malformed message, and malformed sections, are counted and left out: *e has the
 * first reason, and the return value is ERR_INPUT. ERR_MEMORY: free the shard, and read again from what was committed. O(bytes + nodes). */
int partition_shard_take(
    struct partition_shard *s, const void *data, size_t len, int64_t offset, struct err *e);

/* Appends the next message of rows to *out: at most about max_bytes and one row; that is left to the next message if this one had more than
 * most_bytes with it, and others. *none: there is no row, and the time up to
 * which that is all has not moved. *more: call again. source, epoch: the writer's. ERR_MEMORY as above. O(events + nodes). */
int partition_shard_rows(struct partition_shard *s, const char *source, uint64_t epoch,
    size_t max_bytes, size_t most_bytes, struct buf *out, bool *none, bool *more, struct err *e);

/* The oldest message that a trace may still have a record in; -1: none has come. */
int64_t partition_shard_keep(const struct partition_shard *s);

void partition_shard_counts(
    const struct partition_shard *s, struct row_counts *ret, struct relay_counts *numbers);

#endif
