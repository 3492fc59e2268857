/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records into batches. What comes after a pause goes to the outbox at once; from then
 * on a batch goes batch_ns after the one before, or when it is big; or when it is time to say that
 * nothing happened. So with little to do nothing waits, with much to do batches grow with the
 * load, and nothing waits for longer than batch_ns. Each batch carries a watermark
 * that is true of it: of a take of many records that fills several batches, all
 * but the last promise no more than what they hold.
 */
#ifndef AGENT_MAIN_PACK_H
#define AGENT_MAIN_PACK_H

#include "agent/main/outbox.h"
#include "agent/reader/source.h"
#include "base/clock.h"

struct pack;

struct pack_options {
	size_t batch_bytes;
	int64_t batch_ns, watermark_ns; /* between two batches, the later with records; without */
};

struct pack *pack_new(const struct pack_options *o, struct outbox *out); /* NULL: out of memory */
void pack_free(struct pack *p);

/* labels: the source's, all so far. O(records). */
void pack_take(struct pack *p, const struct source_output *t, const struct batch_label *labels,
    uint32_t nlabels, struct mono now);
/* A loss that the source cannot know of. */
void pack_loss(struct pack *p, const struct loss *l);
/* The tracer is away: no source will promise anything, so this does. */
void pack_watermark(struct pack *p, int64_t watermark_ns);
/* Gives to the outbox what is due. Returns whether it gave something. */
bool pack_tick(struct pack *p, struct mono now);
/* So long until pack_tick() has something to give, if nothing else is taken; rounded up, at
 * least 1. INT_MAX: nothing can be promised yet. */
int pack_due_ms(const struct pack *p, struct mono now);
bool pack_flush(struct pack *p, struct mono now);
/* Another source: its labels are others. */
void pack_forget_labels(struct pack *p);
int64_t pack_watermark_ns(const struct pack *p);

#endif
