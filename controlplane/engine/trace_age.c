/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/trace_age.h"

/* Without a bound the offset came with the agent's HELLO, which takes less than this. */
#define UNBOUNDED_NS INT64_C(500000000)

bool
trace_began_after(const struct clocks *clocks, const struct trace *t, int64_t time_ns)
{
	struct clock_state clock;
	int64_t uncertain_ns = 0;

	clocks_state(clocks, t->events[t->units[t->root].first].node, t->begin_ns, &clock);
	if (clock.known && !clock.here)
		uncertain_ns = clock.bounded ? clock.uncertain_ns : UNBOUNDED_NS;
	return t->begin_ns - uncertain_ns > time_ns;
}
