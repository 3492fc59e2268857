/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records that are missing: told when, and what they leave in doubt is given up once time has come
 * there. */
#include "agent/reader/source_mapped_inside.h"

#include <string.h>

void
mapped_lose(struct mapped_source *s, uint64_t count, int64_t from_ns, int64_t to_ns)
{
	s->lost += count;
	if (mapped_grow(&s->losses, &s->losses_cap, s->nlosses + 1, sizeof *s->losses))
		s->losses[s->nlosses++] = (struct loss){ LOSS_QUEUE, count, from_ns, to_ns };
}

/* In order; where there are too many at once, the last of them stands for more. */
void
mapped_loss_await(struct mapped_source *s, int64_t to_ns)
{
	uint32_t at = s->nlost;

	if (at == LOSSES_MAX) {
		if (to_ns > s->lost_ns[at - 1])
			s->lost_ns[at - 1] = to_ns;
		return;
	}
	for (; at > 0 && s->lost_ns[at - 1] > to_ns; at--)
		s->lost_ns[at] = s->lost_ns[at - 1];
	s->lost_ns[at] = to_ns;
	s->nlost++;
}

/* What was open when records were lost: an end may have been among them. Requests that begin after
 * are as they are. */
void
mapped_losses_reached(struct mapped_source *s, int64_t time_ns)
{
	uint32_t n = 0;

	while (n < s->nlost && s->lost_ns[n] < time_ns)
		n++;
	if (n == 0)
		return;
	mapped_give_up(s);
	memmove(s->lost_ns, s->lost_ns + n, (s->nlost - n) * sizeof *s->lost_ns);
	s->nlost -= n;
}
