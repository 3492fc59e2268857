/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packs records into batches. The first records after a pause go to the outbox at once; from then on
 * a batch is sent batch_ns after the one before, or when it has batch_bytes; without records, after
 * watermark_ns, and after calm_ns once there were none for 2 s: of thousands of nodes most have none. So batches grow with the load, and no record waits longer than batch_ns. Each batch
 * has its watermark: where one poll of the source fills several batches, that of all but the last is
 * just before their last record. Where the records of one poll may be later than those of the next,
 * it is that of the poll before.
 */
#ifndef AGENT_LINK_PACK_H
#define AGENT_LINK_PACK_H

#include "agent/link/outbox.h"
#include "base/clock.h"
#include "wire/source_output.h"

struct pack;

#define PACK_CALM_NS INT64_C(2000000000)

struct pack_options {
	size_t batch_bytes;
	int64_t batch_ns;     /* between two batches, the later with records */
	int64_t watermark_ns; /* the same, the later without records */
	bool unordered; /* a poll can have records that are later than those of the next poll */
	int64_t
	    calm_ns; /* as watermark_ns, of a node that had neither records nor losses for PACK_CALM_NS; 0: the same */
};

struct pack *pack_new(const struct pack_options *o, struct outbox *out); /* NULL: out of memory */
void pack_free(struct pack *p);

/* Takes what one poll returned. labels: all labels of the source so far. Out of memory: the records
 * are reported as a loss. O(records). */
void pack_take(struct pack *p, const struct source_output *t, const struct batch_label *labels,
    uint32_t nlabels, struct mono now);
/* Adds a loss that the source does not know of. */
void pack_loss(struct pack *p, const struct loss *l);
/* Raises the watermark, while there is no source that does. A lower one is ignored. */
void pack_watermark(struct pack *p, int64_t watermark_ns);
/* Puts the batch into the outbox if it is due. True: it did. */
bool pack_tick(struct pack *p, struct mono now);
/* Time until pack_tick() puts a batch, if no more records come; in ms, rounded up, at least 1.
 * INT_MAX: there is no watermark yet. */
int pack_due_ms(const struct pack *p, struct mono now);
/* Puts the batch into the outbox, due or not. False: there is no watermark yet. */
bool pack_flush(struct pack *p, struct mono now);
/* Another source, with other labels, follows. */
void pack_forget_labels(struct pack *p);
/* INT64_MIN: there is none yet. */
int64_t pack_watermark_ns(const struct pack *p);

#endif
