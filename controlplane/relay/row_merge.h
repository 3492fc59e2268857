/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of all partitions, in order of (due, id): what one assembler that has all records would return. A row is passed on when each
 * partition is past the time at which it was due. What a shard sends twice, or its successor makes again, has an (due, id) that is not later than the last one
 * of its partition, and is dropped.
 *
 * A partition that nobody works on holds all others back, wait_ns at most; then they go on without it, until it is back. Its rows that are
 * then too late are dropped and counted, and so is what is over the memory bound.
 */
#ifndef CONTROLPLANE_RELAY_ROW_MERGE_H
#define CONTROLPLANE_RELAY_ROW_MERGE_H

#include "base/clock.h"
#include "controlplane/relay/rows.h"

struct row_merge;

struct row_merge_options {
	uint32_t partitions; /* 1 to PARTITIONS_MAX */
	int64_t wait_ns;
	size_t memory_max_bytes; /* of rows that wait */
	int64_t shift_ns;        /* our clock minus the time base of the log */
};

struct row_merge_counts {
	struct relay_counts numbers; /* items are rows */
	struct row_counts shards;    /* sums over the partitions */
	uint64_t taken;              /* rows that were passed on, with those that were given up, */
	uint64_t waiting;            /* or wait, */
	uint64_t again;              /* or had come before, or came too late, */
	uint64_t strange;            /* or have a node that is not known, */
	uint64_t full;               /* or were over the memory bound, */
	uint64_t refused; /* messages that were malformed; their rows are in no other count */
	uint32_t partitions, behind; /* behind: partitions that are not waited for */
	size_t memory_bytes;
	/* Of the rows that were passed on, in their order: ids, response times, numbers of events, lossy or not. */
	uint64_t digest;
};

int row_merge_new(struct row_merge **ret, const struct row_merge_options *o, struct labels *labels,
    struct mono now, struct err *e);
void row_merge_free(struct row_merge *m);

/* A message of hone.rows. node: the reader's numbers of nodes. ERR_INPUT: malformed, and counted; ERR_MEMORY. */
int row_merge_take(struct row_merge *m, const void *data, size_t len, rows_node *node, void *ctx,
    struct mono now, struct err *e);
/* The next row, or NULL; the caller frees it. O(partitions). */
struct trace *row_merge_next(struct row_merge *m, struct mono now);
/* So, too, of those that were given up. */
struct trace *row_merge_next_incomplete(struct row_merge *m);

void row_merge_counts(const struct row_merge *m, struct mono now, struct row_merge_counts *ret);

#endif
