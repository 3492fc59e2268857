/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows: assembled traces of one partition, as messages of hone.rows. A shard sends them in order of (due, id) (assemble_due_ns()), and says up
 * to where that is all. Texts of labels and nodes stand once in a message, since numbers of labels and nodes are one process's own.
 *
 *	head (its items: rows) | partition uint | upto int, ns | counts 11 x uint | nlabels uint | labels | nnodes uint | nodes, texts |
 *	nrows uint | rows
 *	label	kind u8 | text | nfields uint | fields, texts
 *	row	flags u8 | incomplete u8 | incomplete label + 1 uint | id u64 | id_high u64 | type + 1 uint | root + 1 uint | begin int |
 *		end - begin int | due - end int | nunits uint | units | nevents uint | events | nbelow uint | below: unit uint, event
 *	unit	id u64 | count uint | fork + 1 uint | is_shared uint | [ns from the begin until it was shared int]
 *	event	label * 2 + has_link uint | ns since the event before int | [link u64] | node uint | pid uint | tid uint | values
 *	value	as in wire/record.h; as many as the label has fields, or none: then the label is followed by a flag
 *
 * All numbers are checked when a message is read: what an engine gets is a trace as analysis/assemble.h makes it.
 */
#ifndef CONTROLPLANE_RELAY_ROWS_H
#define CONTROLPLANE_RELAY_ROWS_H

#include "analysis/label.h"
#include "analysis/trace.h"
#include "controlplane/relay/numbers.h"
#include "wire/agent_messages.h"

enum { ROWS_MAX = 65536, ROW_EVENTS_MAX = 4194304 };

/* What a partition's shard has counted since it took the partition (analysis/assemble.h). */
struct row_counts {
	uint64_t records, used, held, late, duplicate, given_up, outside; /* records */
	uint64_t lost;            /* that agents or the log lost */
	uint64_t complete, lossy; /* traces */
	uint64_t refused;         /* messages and sections that were malformed */
};

/* ---- writing ---- */

struct rows_writer { /* one message; all zeroes before the first */
	struct buf labels, nodes, rows;
	uint32_t nlabels, nnodes, nrows;
	struct {
		size_t labels_len, nodes_len, rows_len;
		uint32_t nlabels, nnodes;
	} before;                               /* the last row */
	uint32_t *label_numbers, *node_numbers; /* of ours: number in the message + 1 */
	uint32_t labels_cap, nodes_cap;
	uint32_t *used; /* our labels in the order of the message */
	uint32_t used_cap;
};

void rows_release(struct rows_writer *w);
void rows_begin(struct rows_writer *w);
/* Adds a trace that was due then; node_names: of the numbers in it. False: out of memory; the message is as before. O(events). */
bool rows_add(struct rows_writer *w, const struct trace *t, int64_t due_ns,
    const struct labels *labels, const char *const *node_names);
/* Takes the last row back; once after each rows_add() that succeeded. O(nodes + its labels). */
void rows_take_back(struct rows_writer *w);
size_t rows_size(const struct rows_writer *w); /* bytes so far, without the head */
/* Appends the message; h->items must be w->nrows. ERR_MEMORY. */
int rows_end(struct rows_writer *w, const struct relay_head *h, uint32_t partition, int64_t upto_ns,
    const struct row_counts *counts, struct buf *out, struct err *e);

/* ---- reading ---- */

struct rows_message {
	uint32_t partition;
	int64_t upto_ns;
	struct row_counts counts;
	uint32_t nlabels, nnodes, nrows;
	const struct labels *known; /* the reader's table, */
	uint32_t *labels;           /* and the message's labels in it */
	uint32_t *nfields;          /* in the message */
	uint8_t **from;             /* of each field there the message's; NULL: the same */
	uint32_t *nodes; /* the reader's numbers; TRACE_NONE: the reader does not know it */
};

/* The reader's number of a node, or TRACE_NONE. */
typedef uint32_t rows_node(void *ctx, const char *name);

/* The partition that stands behind the head; UINT32_MAX: malformed. */
uint32_t rows_partition(struct reader r);
/* Reads what stands behind the head up to the first row; the tables are in the arena. ERR_INPUT, ERR_MEMORY. */
int rows_open(struct rows_message *ret, struct reader *r, struct labels *labels, rows_node *node,
    void *ctx, struct arena *a, struct err *e);
/* The next row and when it was due, shift_ns later: the caller frees it with trace_free(). *ret NULL and 0: it has a node that the reader does not know.
 * Memory is at most 64 times the row's bytes. ERR_INPUT, ERR_MEMORY. O(events). */
int rows_next(struct trace **ret, int64_t *due_ns, const struct rows_message *m, struct reader *r,
    int64_t shift_ns, struct err *e);

/* A number that is the same for two traces with equal events, whatever numbers labels and nodes have, and whenever they began: for tests. O(events). */
uint64_t row_digest(
    const struct trace *t, const struct labels *labels, const char *const *node_names);

#endif
