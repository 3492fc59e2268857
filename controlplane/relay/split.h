/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batches of agents, cut into partitions by trace id, as messages of hone.records:
 *
 *	head (its items: records) | when it was made int, ns on the time base of the log | nsections uint | sections
 *	section	node text | state u8 | incarnation of the agent u64 | the batch's number there uint | length uint | batch (wire/record.h)
 *
 * The times of the batch are on the time base of the log. Every partition has every node, with its watermark and its losses, since a
 * trace waits for nodes that have no record in its partition, too. A section of state LEFT says that the node's agent has left. By the
 * agent's own number a batch is recognised that came through two gates, each of which has converted its times by its own estimate.
 */
#ifndef CONTROLPLANE_RELAY_SPLIT_H
#define CONTROLPLANE_RELAY_SPLIT_H

#include "base/arena.h"
#include "controlplane/relay/numbers.h"
#include "wire/agent_messages.h"
#include "wire/record.h"

enum { PARTITIONS_MAX = 256, RELAY_MESSAGE_MAX = 900 << 10, RELAY_SECTIONS_MAX = 65536 };

/* The partition of a trace among `partitions` > 0. The same for ever: a trace whose records are in two partitions is torn apart. */
uint32_t relay_partition(uint64_t trace_id, uint32_t partitions);

enum relay_section_state { RELAY_NODE_HERE, RELAY_NODE_LEFT, RELAY_NODE_STATES };

struct split_part { /* one partition: what waits for its next message */
	struct batch_writer writer;
	uint32_t *
	    labels; /* by the number of the present batch's: number in the writer + 1; 0: not written */
	struct buf sections;
	size_t section_at; /* where the last section begins, to go back to */
	uint32_t nsections;
	uint64_t items;          /* records in `sections` */
	uint64_t number, before; /* of the messages that were taken */
};

struct split {
	char source[RELAY_SOURCE_MAX + 1];
	uint64_t epoch;
	uint32_t n, labels_cap;
	struct split_part *parts;
};

/* ERR_INPUT: partitions is 0 or over PARTITIONS_MAX; ERR_MEMORY. */
int split_init(
    struct split *s, const char *source, uint64_t epoch, uint32_t partitions, struct err *e);
void split_release(struct split *s);

/* Adds the batch `seq` of this run of the node's agent to all partitions. ERR_MEMORY: to none; what waits is unchanged. O(records + partitions
 * x labels). */
int split_batch(struct split *s, const char *node, uint64_t incarnation, uint64_t seq,
    const struct batch *b, struct err *e);
/* The node's agent has left. ERR_MEMORY. O(partitions). */
int split_left(struct split *s, const char *node, struct err *e);

/* Bytes of the fullest partition. O(partitions). */
size_t split_waiting(const struct split *s);
bool split_empty(const struct split *s);
/* Appends the partition's next message, made at made_ns, to *out and counts it; *none: there is nothing to send. ERR_MEMORY: it still waits. */
int split_take(struct split *s, uint32_t partition, int64_t made_ns, struct buf *out, bool *none,
    struct err *e);

/* ---- reading ---- */

struct relay_section {
	char node[NODE_NAME_MAX + 1];
	enum relay_section_state state;
	uint64_t incarnation, seq; /* 0 of a node that has left */
	const uint8_t *batch;      /* in the message */
	size_t len;
};

/* Of a reader behind the head: when the message was made, 0 or more, and the number of sections. ERR_INPUT. */
int relay_sections(int64_t *made_ns, uint32_t *ret, struct reader *r, struct err *e);
int relay_section_decode(struct relay_section *ret, struct reader *r, struct err *e);

#endif
