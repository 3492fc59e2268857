/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measures of an operation, and patterns as text. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "kernel/patterns/mine.h"
#include "kernel/patterns/states_baseline.h"

double
states_floor(double mean, double resolution, bool is_count)
{
	return is_count ? 0.05 + 0.5 / (mean + 1) : 0.02 + resolution / 3 / (mean + resolution);
}

static bool
is_count(const struct states_place *p, uint32_t measure)
{
	return measure % 2 == 1 && measure < 2 * BELOW_STATES * p->nintervals;
}

double
states_scaled(double x, const struct states_place *p, uint32_t measure)
{
	return limits_log(x, is_count(p, measure) ? 1 : p->resolution_ns);
}

/* The patterns of an interval whose sequence is runs[0 .. n). */
static void
measure_patterns(double *x, bool *absent, const struct states_interval *in, uint32_t gap_max,
    const struct state_run *runs, uint32_t n)
{
	uint8_t items[MINE_LENGTH_MAX];
	uint32_t at[MINE_LENGTH_MAX];

	n = n < MINE_LENGTH_MAX ? n : MINE_LENGTH_MAX;
	for (uint32_t i = 0; i < n; i++)
		items[i] = runs[i].state;
	for (uint32_t k = 0; k < in->npatterns; k++) {
		const struct states_pattern *p = &in->patterns[k];
		bool has = mine_match(at, p->states, p->len, items, n, 0, in->coarse ? 0 : gap_max);

		for (uint32_t i = 0; i < p->len; i++)
			x[p->measure + i] = has ? (double)runs[at[i]].ns : 0;
		if (absent != NULL)
			absent[k] = !has;
	}
}

void
states_measures(double *x, bool *absent, const struct states_place *p, uint32_t gap_max,
    const struct operation_states *o)
{
	uint32_t from = 0;

	memset(x, 0, p->limits.nmeasures * sizeof *x);
	for (uint32_t i = 0; i < o->n; i++) {
		const struct state_run *r = &o->runs[i];
		uint32_t m = states_measure(r->interval, (enum below_state)r->state);

		if (r->state == BELOW_UNKNOWN || r->interval >= p->nintervals)
			continue;
		x[m] += (double)r->ns;
		x[m + 1] += r->passes;
	}
	for (uint32_t k = 0; k < p->nintervals; k++) {
		uint32_t first, n = 0;

		while (from < o->n && o->runs[from].interval < k)
			from++;
		for (first = from;
		     from < o->n && o->runs[from].interval == k && !o->runs[from].loose;)
			from++, n++;
		measure_patterns(x, absent, &p->intervals[k], gap_max, o->runs + first, n);
		if (absent != NULL)
			absent += p->intervals[k].npatterns;
	}
}

void
states_pattern_text(struct buf *ret, const struct states_pattern *p)
{
	for (uint32_t i = 0; i < p->len; i++) {
		bool pair = i + 1 < p->len && p->looped[i] && p->looped[i + 1];

		buf_printf(ret, "%s", i > 0 ? "-" : "");
		if (pair)
			buf_printf(ret, "(%c-%c)+", state_letter((enum below_state)p->states[i]),
			    state_letter((enum below_state)p->states[i + 1]));
		else
			buf_printf(ret, "%c", state_letter((enum below_state)p->states[i]));
		i += pair;
	}
}
