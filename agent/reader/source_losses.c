/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/source_losses.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"

void
losses_begin(struct source_losses *l)
{
	l->count = 0;
}

void
losses_release(struct source_losses *l)
{
	free(l->list);
	*l = (struct source_losses){ 0 };
}

void
losses_add(struct source_losses *l, enum loss_reason reason, uint64_t count, int64_t from_ns,
    int64_t to_ns)
{
	assert(reason < LOSS_REASONS && count > 0);
	l->total[reason] += count;
	if (!array_reserve(l->list, l->cap, l->count + 1)) {
		if (l->count == 0)
			return;
		struct loss *last = &l->list[l->count - 1];
		last->count += count;
		last->from_ns = from_ns < last->from_ns ? from_ns : last->from_ns;
		last->to_ns = to_ns > last->to_ns ? to_ns : last->to_ns;
		return;
	}
	l->list[l->count++] = (struct loss){
		.reason = (uint8_t)reason,
		.count = count,
		.from_ns = from_ns,
		.to_ns = to_ns < from_ns ? from_ns : to_ns,
	};
}

void
trouble_set(struct source_losses *l, const struct err *e)
{
	l->trouble = *e;
}
