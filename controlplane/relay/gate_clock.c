/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/gate_clock.h"

void
gate_clock_sample(struct gate_clock *g, int64_t late_ns)
{
	if (g->n == GATE_CLOCK_SAMPLES) {
		g->before_ns = g->least_ns;
		g->known = true;
		g->n = 0;
	}
	if (g->n++ == 0 || late_ns < g->least_ns)
		g->least_ns = late_ns;
}

bool
gate_clock_least(const struct gate_clock *g, int64_t *ret)
{
	*ret = g->known && g->before_ns < g->least_ns ? g->before_ns : g->least_ns;
	return g->known || g->n == GATE_CLOCK_SAMPLES;
}

bool
gate_clocks_differ(int64_t a_ns, int64_t b_ns, int64_t skew_ns)
{
	int64_t apart_ns = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;

	return apart_ns > skew_ns + GATE_CLOCK_WAY_NS;
}
