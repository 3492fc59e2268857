/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses of one poll, their totals, and the last problem: what every source reports. */
#ifndef AGENT_READER_SOURCE_LOSSES_H
#define AGENT_READER_SOURCE_LOSSES_H

#include "base/err.h"
#include "wire/record.h"

struct source_losses {     /* all zeroes is empty */
	struct loss *list; /* since the last losses_begin() */
	uint32_t count, cap;
	uint64_t total[LOSS_REASONS];
	struct err trouble; /* the last problem; text "": none so far */
};

void losses_begin(struct source_losses *l); /* of a new poll; totals and the problem stay */
/* `count` records are missing between the two times; to_ns < from_ns counts as from_ns. Without
 * memory the last loss is widened to cover this one as well. */
void losses_add(struct source_losses *l, enum loss_reason reason, uint64_t count, int64_t from_ns,
    int64_t to_ns);
void losses_release(struct source_losses *l);

void trouble_set(struct source_losses *l, const struct err *e);

#endif
