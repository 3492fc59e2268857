/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/mapped_losses.h"

#include "agent/reader/mapped_processes.h"
#include "agent/reader/mapped_state.h"

#include <string.h>

void
mapped_losses_report(struct mapped_source *s, uint64_t count, int64_t from_ns, int64_t to_ns)
{
	s->lost += count;
	losses_add(&s->losses, LOSS_QUEUE, count, from_ns, to_ns);
}

void
mapped_losses_add(struct mapped_source *s, int64_t to_ns)
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
