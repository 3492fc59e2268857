/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records, and batches of them. A batch is self-contained: it begins with the labels that its records use, so
 * it can be sent again on another connection or to another controller.
 */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum record_kind {
	RECORD_POINT,         /* a tracepoint that is not a structure tracepoint */
	RECORD_REQUEST_BEGIN, /* hone:request_begin */
	RECORD_REQUEST_END,
	RECORD_FORK,
	RECORD_UNIT_BEGIN,
	RECORD_UNIT_END,
	RECORD_JOIN,
	/*
	 * What a thread of a probed request did below its tracepoints (wire/below.h). They are no points of a path: they belong
	 * to their trace and unit, and say something about the edge that they lie in. Label: "SERVICE/below:STATE(STACK)",
	 * with a word of below_states.tbl.h, and the folded stack, or its innermost entries. Fields are found by name.
	 *
	 * WAIT: an interval off the CPU; time_ns is its end. off_ns: its length; ready_ns: of that, after it was woken, when the
	 * state is READY; lock: address, 0: none; owner: thread that held it; owner_state, owner_place: what that did
	 * meanwhile, as words; owner_trace, owner_type: the request that it served then, 0: none, no value: not known; waker: thread;
	 * waker_trace: its request; waker_type; owner_name, waker_name: of these threads.
	 * SAMPLE: the thread was seen on a CPU. weight_ns: for how much running it stands.
	 * before_ns of both: that much earlier than time_ns, before the unit began on this thread.
	 */
	RECORD_WAIT,
	RECORD_SAMPLE,
	RECORD_KINDS
};

enum value_type { VALUE_NONE, VALUE_INT, VALUE_UINT, VALUE_REAL, VALUE_TEXT };

struct value {
	uint8_t type; /* enum value_type */
	uint32_t len; /* of a text, at most VALUE_TEXT_MAX bytes; the agent cuts longer ones */
	union {
		int64_t i;
		uint64_t u;
		double d;
		const char *text; /* not terminated; in the batch's bytes */
	};
};

enum {
	VALUE_TEXT_MAX = 255,
	RECORD_VALUES_MAX = 32, /* further fields of a tracepoint are omitted */
	LABEL_TEXT_MAX = 384,
	BATCH_LABELS_MAX = 65536,
	BATCH_RECORDS_MAX = 65536
};

/*
 * A label: "service/provider:event"; of structure records with their name, as in
 * "service/hone:fork(cart.get)" and "service/hone:request_begin(GET_HOME)". The fields are the
 * payload's, without those that are part of the record (name, link_id).
 */
struct batch_label {
	uint8_t kind; /* enum record_kind */
	uint32_t len, nfields;
	const char *text;    /* not terminated */
	const char **fields; /* names, terminated */
};

struct record {
	uint64_t trace_id, unit_id;
	uint64_t link_id; /* of structure records, else 0 */
	int64_t time_ns;  /* the node's CLOCK_MONOTONIC */
	uint32_t label;   /* index into the batch's labels */
	uint32_t pid, tid;
	uint32_t nvalues; /* as many as the label has fields */
	const struct value *values;
};

enum loss_reason { LOSS_RING, LOSS_QUEUE, LOSS_DECODE, LOSS_REASONS };

/* Lost records and their time span. A trace that overlaps it may be incomplete, and is no evidence. */
struct loss {
	uint8_t
	    reason; /* RING: ring buffer full; QUEUE: the agent's queue full; DECODE: malformed */
	uint64_t count;
	int64_t from_ns, to_ns;
};

struct batch {
	int64_t
	    watermark_ns; /* all records of the node up to then are in this batch or earlier ones */
	uint32_t nlabels, nrecords, nlosses;
	struct batch_label *labels;
	struct record *records; /* in time order */
	struct loss *losses;
};

/* Decodes into the arena; texts point into data, which must outlive *ret. Counts, indexes and
 * lengths are checked before memory is allocated, at most 64 times len. ERR_INPUT, ERR_MEMORY: *ret is
 * unchanged. O(len). */
int batch_decode(struct batch *ret, struct arena *a, const void *data, size_t len, struct err *e);

/* To write a batch: begin, then labels (each once, numbered from 0 in order), records in time order,
 * losses, end. Texts, fields and values over their limits are cut. The caller keeps to the limits of
 * counts, gives each record the values of its label, and keeps the order in time; batch_decode()
 * refuses other batches. */
struct batch_writer { /* all zeroes before the first begin */
	struct buf labels, records, losses;
	uint32_t nlabels, nrecords, nlosses;
	int64_t last_ns;
};

void batch_begin(struct batch_writer *w);
uint32_t batch_label(struct batch_writer *w, enum record_kind kind, const char *text, size_t len,
    const char *const *fields, uint32_t nfields);
void batch_record(
    struct batch_writer *w, const struct record *r); /* r->label: a number from batch_label() */
void batch_loss(struct batch_writer *w, const struct loss *l);
size_t batch_size(const struct batch_writer *w); /* bytes so far, at most 25 too many */
/* Appends the whole batch to *out. 0 or ERR_MEMORY. */
int batch_end(struct batch_writer *w, int64_t watermark_ns, struct buf *out, struct err *e);
void batch_release(struct batch_writer *w);

#endif
