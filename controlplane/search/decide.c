/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a cycle's traces say to do. The thresholds and why they are what they are:
 * docs/search.md.
 */
#include "controlplane/search/search.h"

enum {
	MANY = 1000,   /* and after which what was seen before is forgotten */
	WEIGHTY = 8,   /* slow traces, so to speak, that a decision rests on */
	SIDE_MIN = 10, /* traces of each side of a separation */
	SIDE_LATE = 5
};
static const double SEPARATES_MIN = 0.5, SURE = 3, MUCH = 4;

/* The problem is back as it was when the gap was found: else what is seen now is not what is
 * searched. */
static bool
is_back(const struct measured *m, const struct search *s)
{
	return m->share >= s->share / 2 && m->carries >= s->carried / 4;
}

double
part_of_root(const struct search *s, const struct measured *m, const struct part *p)
{
	double now = s->root_share > 0 ? m->share * p->of_gap / s->root_share : 1,
	       then = s->of_root * p->of_gap;

	return now > then ? now : then;
}

/* Whether a separation is one, or waits for more traces of its smaller side. */
static bool
separates(struct separation *sep, const struct measured *m, bool late, bool *wait)
{
	double few = sep->nwith < sep->nwithout ? sep->nwith : sep->nwithout;

	if (sep->label == LABEL_NONE || sep->between < SEPARATES_MIN)
		return false;
	if (few >= SIDE_MIN || (few >= SIDE_LATE && (late || m->n >= MANY)))
		return true;
	*wait = !late && m->n < MANY;
	return false;
}

/*
 * What the slow side takes longer may be in any of its parts; but what the fast side
 * takes between the same two labels, the slow side may take as well, before it
 * leaves the fast one's path or after it has come back: in its first part or its last. So
 * what these have of the excess is known within bounds.
 */
static bool
excess_is_sure(struct measured *m, const struct search *s)
{
	double both = 0, least = -1, outer_most;
	uint32_t outer = 0;

	for (uint32_t i = 0; i < m->nparts; i++)
		if (m->parts[i].gap.from == s->since.from || m->parts[i].gap.to == s->since.to) {
			both += m->parts[i].mean_ns;
			outer++;
		}
	outer_most = both > s->sep.fast_ns ? both - s->sep.fast_ns : 0;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < m->nparts; i++) {
			struct part *p = &m->parts[i];
			bool is_outer = p->gap.from == s->since.from || p->gap.to == s->since.to;
			double most = is_outer && outer > 1 && p->mean_ns > outer_most ? outer_most
			                                                               : p->mean_ns;
			double its = !is_outer                     ? p->mean_ns
			             : p->mean_ns > s->sep.fast_ns ? p->mean_ns - s->sep.fast_ns
			                                           : 0;

			if (round == 0 && its > least) {
				least = its;
				m->top = i;
			}
			if (round == 1 && i != m->top && most > least)
				return false;
		}
	return true;
}

int
decide(struct decision *ret, struct search_port *g, const struct search *s, bool late,
    struct arena *a, struct err *e)
{
	struct measured *m = &ret->m;
	bool wait = false;
	const struct part *top;
	uint32_t by_mean;
	int rc = measure_gap(m, g, s, a, e);

	ret->what = DECIDE_WAIT;
	ret->sep = (struct separation){ .label = LABEL_NONE };
	if (rc != 0 || m->nmembers == 0 ||
	    m->n < g->settings.conditions.traces_min / (late ? 6 : 1) || m->carries <= 0)
		return rc;
	if (!late && m->n < MANY && !is_back(m, s))
		return 0;
	if (!s->by_latency && (rc = measure_separation(&ret->sep, m, g, s, a, e)) != 0)
		return rc;
	if (!separates(&ret->sep, m, late, &wait))
		ret->sep.label = LABEL_NONE;
	if (wait)
		return 0;
	if (ret->sep.label != LABEL_NONE && ret->sep.slow_ns >= MUCH * ret->sep.fast_ns) {
		ret->what = DECIDE_FOLLOW;
		return 0;
	}
	if ((rc = measure_parts(m, g, s, ret->sep.label != LABEL_NONE ? &ret->sep : NULL, a, e)) !=
	    0)
		return rc;
	if (!late && (m->pooled < g->settings.conditions.traces_min ||
			 (m->ahead < SURE && m->pooled < PLENTY) ||
			 (m->weighty < WEIGHTY && m->pooled < 2 * MANY)))
		return 0;
	by_mean = m->top;
	if (s->follows && m->nparts > 1 && !excess_is_sure(m, s)) {
		m->top = by_mean;
		if (!s->forced) {
			ret->what = DECIDE_UNSURE;
			return 0;
		}
	}
	top = &m->parts[m->top];
	ret->what = m->nparts == 1 || s->forced ||
	                    (top->of_gap >= g->settings.isolate_min &&
				part_of_root(s, m, top) >= OF_ROOT_MIN)
	                ? DECIDE_NARROW
	                : DECIDE_SPREAD;
	return 0;
}
